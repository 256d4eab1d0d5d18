//! Compares writes with those that the planner would have made from the states that the active controller
//! may have read.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use plan::keys::{condition, reason};
use plan::template::Digest;
use plan::{Flavour, Status, Why, Workload};

use crate::agree;
use crate::fleet::{Fleet, Item, View};
use crate::intent::{Circumstances, Intent, intend};
use crate::sight::{Sighting, Write};
use engine::index::Key;

/// Rules that Rollwright carries out in another way with the same decisions: no excuse for another one.
const SAME_DECISIONS: [&str; 4] = ["S2.19", "S4.5", "S4.15", "S14.2"];
/// How much earlier than its write was seen a controller may have looked at its clock.
const CLOCK_SLACK: SignedDuration = SignedDuration::from_secs(2);

/// The outcome of a comparison.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The planner would have done the same.
    Agreed,
    /// The planner would not have done the same, on purpose: by this rule.
    Wanted(&'static str),
    /// The planner would not have done the same.
    Diverged(Box<Divergence>),
    /// Nothing is known of the states before it.
    Unknown,
}

/// A decision that the planner would not have made.
#[derive(Debug)]
pub(crate) struct Divergence {
    pub(crate) key: Key,
    /// Kind of the write, or `at-rest`.
    pub(crate) kind: &'static str,
    pub(crate) now: Timestamp,
    pub(crate) version: u64,
    /// The newest state that the controller can have seen.
    pub(crate) view: View,
    /// What it wrote; `None` if it did nothing.
    pub(crate) write: Option<Write>,
    /// What the planner would have done in that state.
    pub(crate) intent: Intent,
    /// With how many states the write was compared.
    pub(crate) views: usize,
}

/// Compares one write.
pub(crate) fn judge(fleet: &Fleet, sighting: &Sighting) -> Verdict {
    let Sighting { key, uid, version, write, .. } = sighting;
    let name = name_of_new(fleet, sighting);
    let refusal = refused(write);
    // The message about a ReplicaSet that could not be created has its name, too.
    let (refused_name, refusal) = refusal.unzip();
    let name = name.or(refused_name);
    let mut newest: Option<(View, Intent)> = None;
    let mut views = 0;
    let workloads = workload_moments(fleet, sighting);
    for sets_at in fleet.set_moments(key, uid, *version) {
        for &workload_at in &workloads {
            let Some(view) = fleet.view(key, workload_at, sets_at) else { continue };
            if view.workload.decoded.uid != *uid {
                continue;
            }
            views += 1;
            for now in moments(sighting) {
                let base = circumstances(fleet, &view, now);
                let base = Circumstances { refusal: refusal.clone(), ..base };
                let found = intents(&view, &base)
                    .find(|intent| agree::agrees(fleet.flavour, &view, intent, write, name.as_deref()));
                if found.is_some() {
                    return Verdict::Agreed;
                }
                newest = newest.or_else(|| Some((view.clone(), intend(&view, &base))));
            }
        }
    }
    let Some((view, intent)) = newest else { return Verdict::Unknown };
    match excuse(&intent.deviations) {
        Some(rule) => Verdict::Wanted(rule),
        None => Verdict::Diverged(Box::new(Divergence {
            key: key.clone(),
            kind: write.kind(),
            now: sighting.at,
            version: *version,
            view,
            write: Some(write.clone()),
            intent,
            views,
        })),
    }
}

/// A Deployment at which nothing has happened for a while: the planner should have nothing to do either.
pub(crate) fn judge_rest(fleet: &Fleet, key: &Key, now: Timestamp) -> Option<Verdict> {
    let view = fleet.newest(key)?;
    let progressing = view.workload.decoded.status.condition(condition::PROGRESSING);
    if progressing.is_some_and(|known| known.reason == reason::REPLICA_SET_CREATE_ERROR) {
        // The controller in charge tries again with growing delays; so would Rollwright.
        return None;
    }
    let base = circumstances(fleet, &view, now);
    if intents(&view, &base).any(|intent| intent.is_idle()) {
        return Some(Verdict::Agreed);
    }
    let intent = intend(&view, &base);
    Some(match excuse(&intent.deviations) {
        Some(rule) => Verdict::Wanted(rule),
        None => Verdict::Diverged(Box::new(Divergence {
            key: key.clone(),
            kind: "at-rest",
            now,
            version: view.workload.decoded.resource_version.parse().unwrap_or(0),
            view,
            write: None,
            intent,
            views: 1,
        })),
    })
}

/// Why the rollout is where it is, in the words of the planner.
pub(crate) fn why(fleet: &Fleet, key: &Key, now: Timestamp) -> Option<Why> {
    let view = fleet.newest(key)?;
    intend(&view, &Circumstances { old_pods: true, ..circumstances(fleet, &view, now) }).why
}

fn excuse(deviations: &BTreeSet<&'static str>) -> Option<&'static str> {
    deviations.iter().copied().find(|rule| !SAME_DECISIONS.contains(rule))
}

fn circumstances(fleet: &Fleet, view: &View, now: Timestamp) -> Circumstances {
    Circumstances {
        flavour: fleet.flavour,
        now,
        terminating_replicas: fleet.reports_terminating,
        old_pods: false,
        dry_run: dry_run(fleet, &view.workload),
        refusal: None,
    }
}

/// What may be intended, with the pods of a Recreate gone or not.
fn intents<'a>(view: &'a View, base: &'a Circumstances) -> impl Iterator<Item = Intent> + 'a {
    let first = intend(view, base);
    let second =
        first.asked_for_pods.then(|| intend(view, &Circumstances { old_pods: true, ..base.clone() }));
    [Some(first), second].into_iter().flatten()
}

/// A dry run would have returned the template that the ReplicaSet has by now which stands for this one.
fn dry_run(fleet: &Fleet, workload: &Item<Workload>) -> Option<Digest> {
    if fleet.flavour != Flavour::Rollwright {
        return None;
    }
    new_set(fleet, workload).map(|set| set.0)
}

/// Digest and name of the ReplicaSet that stands for the template, as far as is known by now.
fn new_set(fleet: &Fleet, workload: &Item<Workload>) -> Option<(Digest, String)> {
    let (namespace, name) = (workload.decoded.namespace.clone(), workload.decoded.name.clone());
    let view = fleet.newest(&Key { namespace, name })?;
    let mut sets: Vec<_> = view.sets.iter().map(|set| &set.decoded).collect();
    sets.sort_by(|a, b| a.age_order(b));
    let set = sets.into_iter().find(|set| set.carries(&workload.decoded.template.fingerprint))?;
    Some((set.stored, set.name.clone()))
}

fn name_of_new(fleet: &Fleet, sighting: &Sighting) -> Option<String> {
    match &sighting.write {
        Write::Status { before, .. } => new_set(fleet, before).map(|set| set.1),
        _ => None,
    }
}

/// The versions of the Deployment that the write can have been decided from. A write to it has the
/// version that was seen as its precondition, or the one that a write of the same reconcile came to.
fn workload_moments(fleet: &Fleet, sighting: &Sighting) -> Vec<u64> {
    let mut all = fleet.workload_moments(&sighting.key, sighting.version);
    if matches!(sighting.write, Write::Status { .. } | Write::Workload { .. }) {
        all.truncate(if fleet.carries_on { 2 } else { 1 });
    }
    all
}

/// Times that the controller may have taken for now: when the write was seen, what it wrote as
/// the time of a condition, and a little earlier.
fn moments(sighting: &Sighting) -> Vec<Timestamp> {
    let Write::Status { after, .. } = &sighting.write else { return vec![sighting.at] };
    let written = after.decoded.status.conditions.iter().filter_map(|condition| condition.last_update_time);
    let mut moments = vec![sighting.at];
    moments.extend(written.max());
    moments.extend(sighting.at.checked_sub(CLOCK_SLACK));
    moments
}

/// Name and words, if the status reports that a ReplicaSet could not be created (S4.15).
fn refused(write: &Write) -> Option<(String, String)> {
    let Write::Status { before, after } = write else { return None };
    let message = |status: &Status| {
        let progressing = status.condition(condition::PROGRESSING);
        let failed = progressing.filter(|known| known.reason == reason::REPLICA_SET_CREATE_ERROR);
        failed.map(|known| known.message.clone())
    };
    let told = message(&after.decoded.status)?;
    if message(&before.decoded.status).as_ref() == Some(&told) {
        return None;
    }
    let (name, text) = told.strip_prefix("Failed to create new replica set \"")?.split_once("\": ")?;
    Some((name.to_owned(), text.to_owned()))
}

/// For a line of the log.
impl std::fmt::Display for Divergence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let planned = |intent: &Intent| -> String {
            if intent.is_idle() {
                return "nothing".to_owned();
            }
            let owner_changes = intent.owner_changes.iter().map(|change| format!("{change:?}"));
            let actions = intent.actions.iter().map(crate::case::brief);
            owner_changes.chain(actions).collect::<Vec<_>>().join(", ")
        };
        let seen = self.write.as_ref().map_or("nothing".to_owned(), crate::case::brief_write);
        write!(f, "the controller did: {seen}; we would: {}", planned(&self.intent))
    }
}
