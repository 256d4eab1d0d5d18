//! NE-1: two runs of one seed, with the tenant and without it, and what the operator must do alike in both.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::{Value, json};
use world::{Object, Resource};

use super::{TENANT, Tenant, scenario};
use crate::checks::records;
use crate::engine::{Engine, MILLISECOND};
use crate::record::Coverage;
use crate::scenario::Scenario;

/// The name of what must hold.
pub const CHECK: &str = "NE-1";

/// The one thing that the tenant may change without a flood. What follows is not compared.
const MOVED_ON: &str = "an object of the tenant shows how new a watch is";
/// Without a flood, all is compared.
const AFTER_ALL: &str = "compared to the last byte";
/// A flood changes when something happens, or not even that.
const DELAYS: &str = "a flood that delays";
const IDLE: &str = "a flood that does not";

/// The outcome of a pair of runs.
#[derive(Debug)]
pub struct Pair {
    /// Where the two differ first.
    pub difference: Option<String>,
    /// What the tenant did, as the operator met it.
    pub lures: Coverage,
}

/// What has to happen in this many seeds of a hundred, so that a silence means something.
const WANTED: [(&str, u64); 12] = [
    ("a forged owner", 70),
    ("a forged owner of pods", 60),
    ("a forged owner, and a finalizer", 40),
    ("a pod with a forged owner", 25),
    ("an orphan that the selector matches", 35),
    ("the name of a ReplicaSet", 70),
    ("the name of a Deployment", 60),
    ("the fingerprints of a ReplicaSet", 50),
    ("the revision of a ReplicaSet", 70),
    ("an attempt at a Deployment of the tenant", 70),
    (DELAYS, 5),
    (AFTER_ALL, 80),
];

/// The outcome of many pairs.
#[derive(Debug, Default)]
pub struct Sum {
    /// How many were played.
    pub seeds: u64,
    /// In how many of them something happened, and how often.
    pub lures: BTreeMap<&'static str, (u64, u64)>,
    /// The seeds that differ, and where.
    pub differences: Vec<(u64, String)>,
}

impl Sum {
    /// Plays these seeds.
    #[must_use]
    pub fn of(seeds: Range<u64>) -> Self {
        let mut sum = Self::default();
        for seed in seeds {
            let pair = play(seed);
            sum.seeds += 1;
            for (lure, times) in pair.lures.iter() {
                let known = sum.lures.entry(lure).or_default();
                *known = (known.0 + 1, known.1 + times);
            }
            sum.differences.extend(pair.difference.map(|difference| (seed, difference)));
        }
        sum
    }

    /// What happened too seldom.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        let seeds = |lure| self.lures.get(lure).map_or(0, |(seeds, _)| *seeds);
        let rare = WANTED.iter().filter(|(lure, least)| seeds(lure) * 100 < least * self.seeds);
        rare.map(|(lure, _)| *lure).collect()
    }
}

/// What is compared of a run, each with its name.
type Account = Vec<(String, Value)>;

/// What is compared of a run.
struct Run {
    /// All requests for the others in their order, and each object of theirs at the end.
    whole: Account,
    /// What a flood may not change.
    outline: Account,
    tenant: Option<Tenant>,
}

/// Plays a seed with the tenant and without it.
#[must_use]
pub fn play(seed: u64) -> Pair {
    let (scenario, floods) = (scenario::of(seed), scenario::floods(seed));
    let mut alone = run(&scenario, None, seed);
    let mut beside = run(&scenario, Some(Tenant::new(seed, floods)), seed);
    let (mut lures, moved_on) = beside.tenant.map_or_else(Default::default, |it| (it.lures, it.moved_on));
    let is_same = alone.whole == beside.whole;
    if let Some(time) = moved_on.filter(|_| !floods && !is_same) {
        lures.hit(MOVED_ON);
        let is_before = |(_, one): &(String, Value)| {
            one.get("at").and_then(Value::as_u64).is_some_and(|at| at < time / MILLISECOND)
        };
        [&mut alone.whole, &mut beside.whole].into_iter().for_each(|account| account.retain(is_before));
    }
    let difference = if floods {
        lures.hit(if is_same { IDLE } else { DELAYS });
        difference(&alone.outline, &beside.outline)
    } else {
        if is_same {
            lures.hit(AFTER_ALL);
        }
        difference(&alone.whole, &beside.whole)
    };
    Pair { difference, lures }
}

fn run(scenario: &Scenario, tenant: Option<Tenant>, seed: u64) -> Run {
    let mut engine = Engine::new(scenario, false);
    engine.checks.is_mute = true;
    engine.checks.requests.kept = Some(Vec::new());
    if let Some(tenant) = tenant {
        engine.tenant_comes(tenant, &scenario::acts(seed, scenario));
    }
    crate::play_on(&mut engine);
    Run { whole: whole(&mut engine), outline: outline(&engine), tenant: engine.tenant }
}

fn whole(engine: &mut Engine<'_>) -> Account {
    let requests = engine.checks.requests.kept.take().unwrap_or_default();
    let requests = requests.into_iter().enumerate().map(|(nth, request)| (format!("request {nth}"), request));
    let objects = others(engine).map(|object| (name(object), object.to_value()));
    let mut account: Account = requests.chain(objects).collect();
    account.iter_mut().for_each(|(_, value)| localize(value, engine.tenant.as_ref()));
    account
}

/// The history of each ReplicaSet of the others, how each of their rollouts ended, and what there is at the end.
fn outline(engine: &Engine<'_>) -> Account {
    let mut sizes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for entry in engine.history.sets.iter().filter(|entry| entry.namespace != TENANT) {
        let set = &entry.set;
        let size = if entry.is_deleted { "gone".to_owned() } else { set.size.to_string() };
        let known = sizes.entry(&set.name).or_default();
        if known.last() != Some(&size) {
            known.push(size);
        }
    }
    let sizes = sizes.into_iter().map(|(set, sizes)| (format!("sizes of {set}"), json!(sizes)));
    let lasting = others(engine).filter(|object| object.resource != Resource::Pods);
    sizes.chain(lasting.map(|object| (name(object), gist(object)))).collect()
}

/// An object without its times and versions.
fn gist(object: &Object) -> Value {
    let conditions = object.status.get("conditions").and_then(Value::as_array).into_iter().flatten();
    // The conditions are listed in the order in which they came.
    let conditions: BTreeSet<String> = conditions
        .map(|one| json!([one.get("type"), one.get("status"), one.get("reason")]).to_string())
        .collect();
    let replicas = ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "revision"];
    let numbers = replicas.map(|number| object.status_number(number));
    match object.resource {
        Resource::ReplicaSets => {
            json!([
                *object.spec,
                numbers,
                object.annotation(plan::keys::REVISION),
                object.controller_uid().is_some()
            ])
        }
        _ => json!([*object.spec, numbers, conditions, records::summary(object)]),
    }
}

fn others<'a>(engine: &'a Engine<'_>) -> impl Iterator<Item = &'a Object> {
    engine.store.objects().filter(|object| object.namespace() != TENANT)
}

fn name(object: &Object) -> String {
    format!("{} {}", object.resource.kind(), object.name())
}

/// Counts versions as if the tenant were not there. The address of a pod depends on how many there were before.
fn localize(value: &mut Value, tenant: Option<&Tenant>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| localize(item, tenant)),
        Value::Object(members) => {
            members.retain(|name, _| !name.starts_with("podIP"));
            let is_version = members.get("path").is_some_and(|path| path == "/metadata/resourceVersion");
            for (name, member) in members {
                let version = member.as_str().and_then(|text| text.parse().ok());
                match version.filter(|_| name == "resourceVersion" || (is_version && name == "value")) {
                    Some(version) => *member = json!(tenant.map_or(version, |tenant| tenant.local(version))),
                    None => localize(member, tenant),
                }
            }
        }
        _ => {}
    }
}

/// So much of an account is shown around the place where it differs.
const SHOWN: usize = 300;

fn difference(alone: &Account, beside: &Account) -> Option<String> {
    let pairs = (0..alone.len().max(beside.len())).map(|nth| (alone.get(nth), beside.get(nth)));
    let (alone, beside) = pairs.into_iter().find(|(alone, beside)| alone != beside)?;
    let text = |one: Option<&(String, Value)>| {
        one.map_or("nothing".to_owned(), |(name, value)| format!("{name}: {value}"))
    };
    let (alone, beside) = (text(alone), text(beside));
    let same = alone.chars().zip(beside.chars()).take_while(|(one, other)| one == other).count();
    let shown =
        |text: &str| text.chars().skip(same.saturating_sub(SHOWN / 3)).take(SHOWN).collect::<String>();
    let name = alone.split(':').next().unwrap_or_default();
    Some(format!(
        "{name}\n    without the tenant …{}\n    with the tenant    …{}",
        shown(&alone),
        shown(&beside)
    ))
}
