//! Random worlds, described by values that proptest can shrink.

use plan::intstr::IntOrPercent;
use plan::keys::{
    CHANGE_CAUSE, DESIRED_REPLICAS, FINGERPRINTS, MAX_REPLICAS, REVISION, REVISION_HISTORY, ROLLBACK_TO,
};
use plan::selector::LabelSelector;
use plan::template::pod_template_hash;
use plan::{Flavour, Map, Pod, SetFailure, SetStatus, Status, Strategy as Rollout, Workload};
use proptest::prelude::*;

use crate::properties::statuses::status;
use crate::world::{self, OWNER, Server, World, fingerprint, template};

/// How many ReplicaSets there are at most.
pub(crate) const SETS_MAX: usize = 8;
pub(crate) const IMAGES: [&str; 4] = ["a", "b", "c", "d"];

/// Which numbers there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Range {
    /// Those that the API server lets pass.
    Legal,
    /// All that fit into 32 bits, and strategies that make no sense.
    Hostile,
}

#[derive(Clone, Debug)]
pub(crate) struct SetRecipe {
    image: usize,
    /// Which fingerprints rollwright.dev finds on it.
    marks: Marks,
    annotations: [Option<String>; 4],
    size: i64,
    /// Whether it is as large as the Deployment wants it, whatever `size` is.
    is_full: bool,
    /// Whether its replicas annotations are those of the Deployment, whatever they contain.
    is_current: bool,
    status: SetStatus,
    owner: Option<&'static str>,
    is_matching: bool,
    is_deleting: bool,
    age: i64,
    min_ready_seconds: i64,
}

#[derive(Clone, Copy, Debug)]
enum Marks {
    Own,
    None,
    Unknown,
    Several,
}

#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    flavour: Flavour,
    workload: WorkloadRecipe,
    switches: Switches,
    sets: Vec<SetRecipe>,
    server: u8,
    /// Whether the first ReplicaSet has the name that the new one would get.
    is_name_taken: bool,
    pods: Vec<(usize, &'static str)>,
}

#[derive(Clone, Debug)]
struct WorkloadRecipe {
    replicas: i64,
    strategy: Rollout,
    history_limit: Option<i64>,
    deadline: Option<i64>,
    rollback_to: Option<i64>,
    status: Status,
    annotations: Map,
}

#[derive(Clone, Copy, Debug)]
struct Switches {
    is_paused: bool,
    is_deleting: bool,
    selector: u8,
}

fn rarely() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.08)
}

pub(crate) fn count(range: Range) -> BoxedStrategy<i64> {
    let max = i64::from(i32::MAX);
    let legal = prop_oneof![
        8 => 0..=12_i64,
        2 => 0..=3000_i64,
        1 => prop::sample::select(vec![0, 1, max, max - 1, 1 << 30, 1 << 16, 46_341]),
    ];
    match range {
        Range::Legal => legal.boxed(),
        Range::Hostile => {
            let min = i64::from(i32::MIN);
            prop_oneof![4 => legal, 1 => min..=max, 1 => Just(min), 1 => Just(-1)].boxed()
        }
    }
}

fn limit(range: Range) -> BoxedStrategy<Option<IntOrPercent>> {
    let percent = (0..=300_u32).prop_map(|percent| IntOrPercent::Text(format!("{percent}%")));
    let legal = prop_oneof![
        3 => percent,
        3 => (0..=5_i64).prop_map(IntOrPercent::Int),
        1 => count(range).prop_map(IntOrPercent::Int),
        1 => Just(IntOrPercent::Text("2147483647%".to_owned())),
    ];
    let garbage = ["", "5", "-5%", "x%", "%", "9223372036854775807%", "-9223372036854775808%"];
    match range {
        Range::Legal => legal.prop_map(Some).boxed(),
        Range::Hostile => prop_oneof![
            4 => legal.prop_map(Some),
            1 => Just(None),
            1 => prop::sample::select(vec![i64::MIN, i64::MAX]).prop_map(|wide| Some(IntOrPercent::Int(wide))),
            1 => prop::sample::select(garbage.to_vec()).prop_map(|text| Some(IntOrPercent::Text(text.to_owned()))),
        ]
        .boxed(),
    }
}

fn strategy(range: Range) -> BoxedStrategy<Rollout> {
    let rolling = (limit(range), limit(range))
        .prop_map(|(max_surge, max_unavailable)| Rollout::RollingUpdate { max_surge, max_unavailable });
    let unknown = Just(Rollout::Unknown("BlueGreen".to_owned()));
    prop_oneof![8 => rolling, 3 => Just(Rollout::Recreate), 1 => unknown].boxed()
}

/// An annotation that should be a number.
fn number_text(numbers: BoxedStrategy<i64>) -> BoxedStrategy<Option<String>> {
    let garbage = [
        "",
        "-1",
        "+3",
        "007",
        "abc",
        "1_0",
        "2147483648",
        "4294967298",
        "9223372036854775806",
        "9223372036854775807",
        "9223372036854775808",
    ];
    prop_oneof![
        6 => numbers.prop_map(|number| Some(number.to_string())),
        2 => Just(None),
        1 => prop::sample::select(garbage.to_vec()).prop_map(|text| Some(text.to_owned())),
    ]
    .boxed()
}

fn history() -> BoxedStrategy<Option<String>> {
    let long = (0..600).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
    let texts = vec![String::new(), ",".to_owned(), "1,2".to_owned(), long, "9".repeat(3000)];
    prop_oneof![4 => Just(None), 1 => prop::sample::select(texts).prop_map(Some)].boxed()
}

fn set_status(range: Range, size: i64) -> BoxedStrategy<SetStatus> {
    let pods = prop_oneof![4 => Just(size), 3 => 0..=size.clamp(0, 5000), 1 => count(range)];
    let failure = prop::option::weighted(0.1, prop::sample::select(vec!["FailedCreate", "FailedDelete"]));
    let terminating = prop::option::weighted(0.8, count(range));
    (pods, 0..=100_i64, 0..=100_i64, terminating, 0..=3_i64, failure)
        .prop_map(|(replicas, ready, available, terminating, observed_generation, failure)| {
            // Mostly all of them.
            let part = |whole: i64, percent: i64| if percent > 50 { whole } else { whole * percent / 50 };
            let ready = part(replicas, ready);
            let failure = failure.map(|reason| SetFailure {
                status: "True".to_owned(),
                reason: reason.to_owned(),
                message: "quota".to_owned(),
                last_transition_time: None,
            });
            let available = part(ready, available);
            SetStatus { replicas, ready, available, terminating, observed_generation, failure }
        })
        .boxed()
}

fn set(range: Range) -> impl Strategy<Value = SetRecipe> {
    let size = prop_oneof![1 => Just(0), 2 => count(range)];
    let owner = prop_oneof![10 => Just(Some(OWNER)), 1 => Just(Some("other")), 1 => Just(None)];
    let marks = prop_oneof![
        6 => Just(Marks::Own), 1 => Just(Marks::None), 1 => Just(Marks::Unknown), 1 => Just(Marks::Several)
    ];
    let annotations =
        [number_text((0..=9_i64).boxed()), history(), number_text(count(range)), number_text(count(range))];
    let size_and_status = size.prop_flat_map(move |size| (Just(size), set_status(range, size)));
    let flags = (prop::bool::weighted(0.92), rarely(), prop::bool::weighted(0.15), prop::bool::weighted(0.4));
    let numbers = (0..=4_i64, prop_oneof![9 => Just(0), 1 => Just(5)]);
    (0..IMAGES.len(), marks, annotations, size_and_status, owner, flags, numbers).prop_map(
        |(image, marks, annotations, (size, status), owner, flags, numbers)| {
            let (is_matching, is_deleting, is_full, is_current) = flags;
            let (age, min_ready_seconds) = numbers;
            SetRecipe {
                image,
                marks,
                annotations,
                size,
                is_full,
                is_current,
                status,
                owner,
                is_matching,
                is_deleting,
                age,
                min_ready_seconds,
            }
        },
    )
}

fn workload(range: Range) -> impl Strategy<Value = WorkloadRecipe> {
    let keys = vec![CHANGE_CAUSE, REVISION, "example.com/team", "rollwright.dev/note", DESIRED_REPLICAS];
    let annotations = prop::collection::btree_map(
        prop::sample::select(keys).prop_map(str::to_owned),
        "[a-z0-9]{0,3}",
        0..4,
    );
    let limits = (prop::option::of(0..=4_i64), prop::option::of(1..=2_000_000_000_i64));
    let rollback = prop::option::weighted(0.2, prop_oneof![9 => -1..=9_i64, 1 => any::<i64>()]);
    (count(range), strategy(range), limits, rollback, status(range), annotations).prop_map(
        |(replicas, strategy, (history_limit, deadline), rollback_to, status, annotations)| WorkloadRecipe {
            replicas,
            strategy,
            history_limit,
            deadline,
            rollback_to,
            status,
            annotations,
        },
    )
}

pub(crate) fn recipe(range: Range) -> impl Strategy<Value = Recipe> {
    let flavour = prop::sample::select(vec![Flavour::Rollwright, Flavour::AppsV1]);
    let switches = (prop::bool::weighted(0.2), rarely(), 0..20_u8)
        .prop_map(|(is_paused, is_deleting, selector)| Switches { is_paused, is_deleting, selector });
    let phases = vec!["Running", "Failed", "Succeeded", "Pending", ""];
    let pods = prop::collection::vec((0..SETS_MAX, prop::sample::select(phases)), 0..3);
    let sets = prop::collection::vec(set(range), 0..=SETS_MAX);
    (flavour, workload(range), switches, sets, 0..3_u8, rarely(), pods).prop_map(
        |(flavour, workload, switches, sets, server, is_name_taken, pods)| Recipe {
            flavour,
            workload,
            switches,
            sets,
            server,
            is_name_taken,
            pods,
        },
    )
}

impl Recipe {
    pub(crate) fn world(&self) -> World {
        let mut world = world::world(self.flavour).that(|it| self.workload.write(it, self.switches));
        if self.flavour == Flavour::AppsV1 {
            world.observed.workload.status.ours = plan::Ours::default();
            if let Some(revision) = self.workload.rollback_to {
                let annotations = &mut world.observed.workload.annotations;
                annotations.insert(ROLLBACK_TO.to_owned(), revision.to_string());
            }
        }
        world.server = match self.server {
            0 => Server::Plain,
            1 => Server::Stores(template("b")),
            _ => Server::Refuses,
        };
        let mut names: Vec<_> = (0..self.sets.len()).map(|index| format!("web-{index}")).collect();
        if let Some(first) = names.first_mut().filter(|_| self.is_name_taken) {
            let collisions = world.observed.workload.status.collision_count;
            *first = format!("web-{}", pod_template_hash(&template("a"), collisions));
        }
        for (set, name) in self.sets.iter().zip(names) {
            set.add(&mut world, &name);
        }
        let owner = |index: usize| world.observed.sets.get(index).map(|set| set.uid.clone());
        let pod = |(index, phase): &(usize, &str)| Pod {
            controller_uid: owner(*index),
            phase: (*phase).to_owned(),
        };
        world.pods = self.pods.iter().map(pod).collect();
        world
    }
}

impl WorkloadRecipe {
    fn write(&self, workload: &mut Workload, switches: Switches) {
        workload.replicas = self.replicas;
        workload.strategy = self.strategy.clone();
        workload.revision_history_limit = self.history_limit;
        workload.progress_deadline_seconds = self.deadline;
        workload.rollback_to = self.rollback_to;
        workload.status = self.status.clone();
        workload.annotations.clone_from(&self.annotations);
        workload.paused = switches.is_paused;
        workload.deleting = switches.is_deleting;
        match switches.selector {
            0 => workload.selector = None,
            1 => workload.selector = Some(LabelSelector::default()),
            _ => {}
        }
    }
}

impl SetRecipe {
    fn add(&self, world: &mut World, name: &str) {
        let image = IMAGES.get(self.image).unwrap();
        let replicas = world.observed.workload.replicas;
        let size = if self.is_full { replicas } else { self.size };
        let mut set = world::set(image, size).named(name);
        match self.marks {
            Marks::Own => {}
            Marks::None => set = set.without_fingerprint(),
            Marks::Unknown => set = set.fingerprints("v2:beef"),
            Marks::Several => {
                let list = format!("{},{}", fingerprint("d").as_str(), fingerprint(image).as_str());
                set = set.fingerprints(&list);
            }
        }
        if world.observed.flavour == Flavour::AppsV1 {
            set.annotations.remove(FINGERPRINTS);
        }
        let keys = [REVISION, REVISION_HISTORY, DESIRED_REPLICAS, MAX_REPLICAS];
        for (key, value) in keys.into_iter().zip(&self.annotations) {
            set.annotations.extend(value.clone().map(|value| (key.to_owned(), value)));
        }
        if self.is_current {
            let max = replicas + world.observed.workload.strategy.max_surge(replicas);
            set = set.scaled_for(&replicas.to_string(), &max.to_string());
        }
        set.owner = self.owner.map(str::to_owned);
        let mut added = world.replica_set(set);
        added.created = jiff::Timestamp::from_second(1_767_225_600 + self.age).unwrap();
        added.status = self.status.clone();
        if self.is_full {
            added.status.replicas = size;
            added.status.available = added.status.available.min(size);
        }
        added.deleting = self.is_deleting;
        added.min_ready_seconds = self.min_ready_seconds;
        if !self.is_matching {
            added.labels = Map::from([("app".to_owned(), "other".to_owned())]);
        }
        world.observed.sets.push(added);
    }
}
