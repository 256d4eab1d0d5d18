//! Bytes as a snapshot: every byte is one choice, and missing ones choose the first.

use jiff::Timestamp;
use plan::intstr::IntOrPercent;
use plan::keys::{
    CHANGE_CAUSE, DESIRED_REPLICAS, FINGERPRINTS, MAX_REPLICAS, REVISION, REVISION_HISTORY, ROLLBACK_TO,
};
use plan::selector::LabelSelector;
use plan::{
    Condition, Flavour, Map, Pod, RecentRollback, RollbackRecord, SetFailure, SetStatus, Status, Strategy,
    Workload,
};

use crate::world::{self, OWNER, Server, Set, World, fingerprint, template};

const SETS_MAX: usize = 6;
const IMAGES: [&str; 4] = ["a", "b", "c", "d"];
const BORDERS: [i64; 8] = [2_147_483_647, 2_147_483_646, 1 << 30, 1 << 16, 46_341, 3000, 100, 99];
const GARBAGE: [&str; 12] = [
    "",
    "-1",
    "+3",
    "007",
    "abc",
    "1_0",
    "\u{ff17}",
    "2147483648",
    "4294967298",
    "9223372036854775806",
    "9223372036854775807",
    "9223372036854775808",
];

struct Choices<'a> {
    rest: &'a [u8],
    is_hostile: bool,
}

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        match self.rest.split_first() {
            Some((first, rest)) => {
                self.rest = rest;
                *first
            }
            None => 0,
        }
    }

    fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    fn one_in(&mut self, many: u8) -> bool {
        self.byte() % many == many - 1
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Small ones, now and then one at a border, and hostile ones of any kind.
    fn count(&mut self) -> i64 {
        match self.byte() {
            small @ 0..=199 => i64::from(small % 13),
            border @ 200..=239 => BORDERS[usize::from(border) % BORDERS.len()],
            odd if self.is_hostile => {
                [i64::from(i32::MIN), -1, i64::from(self.byte()) - 300][usize::from(odd % 3)]
            }
            other => i64::from(other),
        }
    }

    fn number_text(&mut self) -> Option<String> {
        match self.byte() % 9 {
            7 => None,
            8 => Some(self.of(&GARBAGE).to_owned()),
            _ => Some(self.count().to_string()),
        }
    }

    fn limit(&mut self) -> Option<IntOrPercent> {
        let wide = self.of(&["2147483647%", "-5%", "x%", "%", "9223372036854775807%", "5"]);
        Some(match self.byte() % 12 {
            0..=4 => IntOrPercent::Text(format!("{}%", i64::from(self.byte()) * 2)),
            5..=9 => IntOrPercent::Int(i64::from(self.byte() % 6)),
            10 if self.is_hostile => IntOrPercent::Text(wide.to_owned()),
            11 if self.is_hostile => return None,
            _ => IntOrPercent::Int(self.count()),
        })
    }
}

/// A Deployment, its ReplicaSets, and what the server would answer.
pub(crate) fn world(data: &[u8], is_hostile: bool) -> World {
    let choices = &mut Choices { rest: data, is_hostile };
    let flavour = choices.of(&[Flavour::Rollwright, Flavour::AppsV1]);
    let mut world = world::world(flavour).that(|workload| write(workload, choices));
    if flavour == Flavour::AppsV1 {
        let workload = &mut world.observed.workload;
        workload.status.ours = plan::Ours::default();
        let requested = workload.rollback_to.map(|revision| (ROLLBACK_TO.to_owned(), revision.to_string()));
        workload.annotations.extend(requested);
    }
    world.server = match choices.below(3) {
        0 => Server::Plain,
        1 => Server::Stores(template("b")),
        _ => Server::Refuses,
    };
    for index in 0..choices.below(SETS_MAX + 1) {
        add(&mut world, index, choices);
    }
    let pods = choices.below(3);
    world.pods = (0..pods).map(|_| pod(&world, choices)).collect();
    world
}

fn pod(world: &World, choices: &mut Choices<'_>) -> Pod {
    let set = world.observed.sets.get(choices.below(SETS_MAX));
    let phase = choices.of(&["Running", "Failed", "Succeeded", "Pending", ""]);
    Pod { controller_uid: set.map(|set| set.uid.clone()), phase: phase.to_owned() }
}

fn write(workload: &mut Workload, choices: &mut Choices<'_>) {
    workload.replicas = choices.count();
    workload.strategy = match choices.byte() % 12 {
        0..=7 => Strategy::RollingUpdate { max_surge: choices.limit(), max_unavailable: choices.limit() },
        8..=10 => Strategy::Recreate,
        _ => Strategy::Unknown("BlueGreen".to_owned()),
    };
    workload.paused = choices.one_in(5);
    workload.deleting = choices.one_in(12);
    match choices.byte() % 20 {
        18 => workload.selector = None,
        19 => workload.selector = Some(LabelSelector::default()),
        _ => {}
    }
    workload.revision_history_limit = (!choices.one_in(3)).then(|| i64::from(choices.byte() % 4));
    workload.progress_deadline_seconds = (!choices.one_in(2)).then(|| choices.count().max(1));
    workload.rollback_to = choices.one_in(5).then(|| match choices.byte() {
        255 => i64::MAX,
        254 => i64::MIN,
        small => i64::from(small % 11) - 1,
    });
    for key in [CHANGE_CAUSE, REVISION, "example.com/team", "rollwright.dev/note", DESIRED_REPLICAS] {
        if choices.one_in(4) {
            workload.annotations.insert(key.to_owned(), choices.number_text().unwrap_or_default());
        }
    }
    workload.status = status(choices);
}

fn status(choices: &mut Choices<'_>) -> Status {
    let (replicas, is_hostile) = (choices.count(), choices.is_hostile);
    let mut status = Status {
        observed_generation: i64::from(choices.byte() % 4),
        replicas,
        updated_replicas: choices.count().min(replicas),
        ready_replicas: choices.count().min(replicas),
        available_replicas: choices.count().min(replicas),
        // At the last count there is no other name to take.
        collision_count: choices.one_in(5).then_some(if is_hostile { i32::MAX } else { 7 }),
        ..Status::default()
    };
    for kind in ["Available", "Progressing", "ReplicaFailure", "RollbackRefused", "example.com/Foreign"] {
        if choices.one_in(3) {
            status.conditions.push(condition(kind, choices));
        }
    }
    status.ours.rollback = choices.one_in(3).then(|| record(choices));
    status
}

fn condition(kind: &str, choices: &mut Choices<'_>) -> Condition {
    let reason = choices.of(&[
        "NewReplicaSetAvailable",
        "ReplicaSetUpdated",
        "ProgressDeadlineExceeded",
        "DeploymentPaused",
        "DeploymentResumed",
        "FailedCreate",
        "RepeatedRollback",
    ]);
    let time = choices.of(&[None, Some(0), Some(1_775_044_700), Some(2_000_000_000)]);
    let time = time.map(|seconds| Timestamp::from_second(seconds).unwrap());
    let status = choices.of(&["True", "False", "Unknown"]);
    let condition = Condition::new(kind, status, reason, "as found".to_owned(), Timestamp::MIN);
    Condition { last_update_time: time, last_transition_time: time, ..condition }
}

fn record(choices: &mut Choices<'_>) -> RollbackRecord {
    let recent = (0..choices.below(5)).map(|_| RecentRollback {
        time: choices.of(&["2026-04-01T11:59:00Z", "2026-04-01T11:00:00Z", "yesterday"]).to_owned(),
        from: fingerprint(choices.of(&IMAGES)).as_str().to_owned(),
        to: fingerprint(choices.of(&IMAGES)).as_str().to_owned(),
    });
    let recent = recent.collect();
    let requested = i64::from(choices.byte() % 5);
    let result = choices.of(&["RolledBack", "Refused", "RevisionNotFound"]).to_owned();
    let time = "2026-04-01T11:59:00Z".to_owned();
    RollbackRecord { requested, revision: requested, result, message: None, time, author: None, recent }
}

fn add(world: &mut World, index: usize, choices: &mut Choices<'_>) {
    let (image, is_full) = (choices.of(&IMAGES), choices.one_in(5));
    let replicas = world.observed.workload.replicas;
    let size = if is_full { replicas } else { choices.count() };
    let mut set = marked(world::set(image, size).named(&format!("web-{index}")), image, choices);
    if world.observed.flavour == Flavour::AppsV1 {
        set.annotations.remove(FINGERPRINTS);
    }
    for key in [REVISION, DESIRED_REPLICAS, MAX_REPLICAS] {
        set.annotations.extend(choices.number_text().map(|text| (key.to_owned(), text)));
    }
    let history = choices.of(&[None, None, None, Some(""), Some(","), Some("1,2")]);
    set.annotations.extend(history.map(|text| (REVISION_HISTORY.to_owned(), text.to_owned())));
    if choices.one_in(2) {
        let max = replicas + world.observed.workload.strategy.max_surge(replicas);
        set = set.scaled_for(&replicas.to_string(), &max.to_string());
    }
    set.owner = choices
        .of(&[Some(OWNER), Some(OWNER), Some(OWNER), Some(OWNER), Some("other"), None])
        .map(str::to_owned);
    let mut added = world.replica_set(set);
    added.created = Timestamp::from_second(1_767_225_600 + i64::from(choices.byte() % 5)).unwrap();
    added.status = set_status(size, choices);
    added.deleting = choices.one_in(12);
    added.min_ready_seconds = if choices.one_in(10) { 5 } else { 0 };
    if choices.one_in(12) {
        added.labels = Map::from([("app".to_owned(), "other".to_owned())]);
    }
    world.observed.sets.push(added);
}

/// Which fingerprints rollwright.dev finds on it.
fn marked(set: Set, image: &str, choices: &mut Choices<'_>) -> Set {
    match choices.byte() % 8 {
        5 => set.without_fingerprint(),
        6 => set.fingerprints("v2:beef"),
        7 => set.fingerprints(&format!("{},{}", fingerprint("d").as_str(), fingerprint(image).as_str())),
        _ => set,
    }
}

fn set_status(size: i64, choices: &mut Choices<'_>) -> SetStatus {
    let replicas = if choices.one_in(3) { choices.count() } else { size };
    let part = |whole: i64, choices: &mut Choices<'_>| {
        if choices.one_in(3) { choices.count().min(whole) } else { whole }
    };
    let ready = part(replicas, choices);
    let available = part(ready, choices);
    let failure = choices.one_in(10).then(|| SetFailure {
        status: "True".to_owned(),
        reason: choices.of(&["FailedCreate", "FailedDelete"]).to_owned(),
        message: "quota".to_owned(),
        last_transition_time: None,
    });
    let terminating = (!choices.one_in(5)).then(|| choices.count());
    let observed_generation = i64::from(choices.byte() % 4);
    SetStatus { replicas, ready, available, terminating, observed_generation, failure }
}
