//! Invariants, checked after every action of a plan. The names are those of docs/internals/invariants.md.

use plan::intstr::{Round, signed_decimal};
use plan::keys::{DESIRED_REPLICAS, REVISION, condition, reason};
use plan::revision::{REVISION_MAX, Revision};
use plan::template::digest;
use plan::{Action, Flavour, Plan, Purpose, ReplicaSet, Status, Strategy, Target, replica_count};

use crate::world::{Kstatus, OWNER, Server, World, kstatus};

const SUMMARIES: [&str; 3] = [condition::READY, condition::RECONCILING, condition::STALLED];

/// What is remembered of the state before a plan.
struct Before {
    /// Whether the plan scales instead of rolling out.
    is_scaling: bool,
    available: i64,
    floor: i64,
    cap: i64,
    sizes: Vec<(String, i64)>,
}

fn is_owned(world: &World, set: &ReplicaSet) -> bool {
    let workload = &world.observed.workload;
    set.controller_uid.as_deref() == Some(OWNER)
        && workload.selector.as_ref().is_some_and(|selector| selector.matches(&set.labels))
}

fn owned(world: &World) -> impl Iterator<Item = &ReplicaSet> {
    world.observed.sets.iter().filter(|set| is_owned(world, set))
}

/// The oldest ReplicaSet that carries the template, or that has it as stored.
fn new_set(world: &World) -> Option<&ReplicaSet> {
    let fingerprint = &world.observed.workload.template.fingerprint;
    owned(world).filter(|set| set.carries(fingerprint)).min_by(|a, b| a.age_order(b))
}

/// Whether the ReplicaSet carries the template, or the server would store the template as it is there: such
/// a ReplicaSet is marked by the same plan, maybe after a status was written.
fn is_of_template(world: &World, set: &ReplicaSet) -> bool {
    let is_stored = match &world.server {
        Server::Plain => set.stored == digest(&world.template),
        Server::Stores(template) => set.stored == digest(template),
        Server::Refuses => false,
    };
    is_stored || set.carries(&world.observed.workload.template.fingerprint)
}

fn total(world: &World) -> i64 {
    owned(world).map(|set| set.size).sum()
}

impl Before {
    fn of(world: &World) -> Self {
        let workload = &world.observed.workload;
        let stale = |set: &ReplicaSet| {
            let desired = set.annotations.get(DESIRED_REPLICAS).and_then(|text| replica_count(text));
            set.is_active() && desired.is_some_and(|desired| desired != workload.replicas)
        };
        let surge = match &workload.strategy {
            Strategy::RollingUpdate { max_surge: Some(surge), .. } => {
                surge.of(workload.replicas, Round::Up).unwrap()
            }
            _ => 0,
        };
        Self {
            is_scaling: workload.paused || owned(world).any(stale),
            available: owned(world).map(|set| set.status.available).sum(),
            floor: workload.strategy.min_available(workload.replicas),
            cap: workload.replicas + surge,
            sizes: owned(world).map(|set| (set.uid.clone(), set.size)).collect(),
        }
    }

    /// Pods of old ReplicaSets that may have been available, and that the sizes have no room for now.
    fn lost(&self, world: &World) -> i64 {
        let new = new_set(world).map(|set| set.uid.clone());
        let olds = owned(world).filter(|set| Some(&set.uid) != new.as_ref());
        let lost = olds.map(|set| {
            let before = self.sizes.iter().find(|(uid, _)| *uid == set.uid).map_or(0, |(_, size)| *size);
            (set.status.available.min(before) - set.size).max(0)
        });
        lost.sum()
    }
}

/// Carries a plan out and checks after every action.
pub(crate) fn carry_out(world: &mut World, plan: &Plan) {
    let before = Before::of(world);
    let as_seen = world.clone();
    let writes = plan.actions.iter().filter(|planned| matches!(planned.action, Action::WriteStatus(_)));
    assert!(writes.count() <= 1, "more than one status write: {plan:#?}");
    let is_rolled_back = plan.actions.iter().any(|planned| matches!(planned.action, Action::RollBack(_)));
    let room = room(world);
    for (index, planned) in plan.actions.iter().enumerate() {
        allowed(world, &planned.action);
        if world.is_refused(plan, index) {
            return;
        }
        let (size, lost) = (total(world), before.lost(world));
        // OW-2: the world refuses an action on another version than that which was seen.
        world.act(&planned.action);
        assert!(world.observed.sets.iter().all(|set| set.size >= 0), "a negative size: {planned:?}");
        let is_rollout = !before.is_scaling && !matches!(planned.action, Action::SetSelector(_));
        if !is_rollout {
            continue;
        }
        let is_rolling = matches!(world.observed.workload.strategy, Strategy::RollingUpdate { .. });
        assert_no_pods_in_rollback(world, is_rolled_back, size);
        // S10.3: on apps/v1 a rollback first makes the ReplicaSet of the current template, under
        // Recreate at its full size.
        if total(world) > size && (is_rolling || !is_rolled_back) {
            assert!(total(world) <= before.cap, "SU-1: {} > {} after {planned:?}", total(world), before.cap);
        }
        if before.lost(world) > lost && is_rolling {
            let left = before.available - before.lost(world);
            assert!(left >= before.floor, "AV-1: {left} < {} after {planned:?}", before.floor);
        }
    }
    assert_bounded(&as_seen, world, room);
    // Neither a rollback nor a reconcile without a selector looks at sizes and revisions.
    let workload = &as_seen.observed.workload;
    let has_selector = workload.selector.as_ref().is_some_and(|selector| !selector.is_empty());
    let is_regular = has_selector && !is_rolled_back && !workload.deleting;
    if is_regular {
        assert_revision(world);
        assert_shares(&before, &as_seen, world);
    }
}

fn has_safeguards(world: &World) -> bool {
    world.observed.flavour == Flavour::Rollwright
}

/// AV-4, as far as a rollback goes.
fn assert_no_pods_in_rollback(world: &World, is_rolled_back: bool, size: i64) {
    let is_bound = has_safeguards(world) && is_rolled_back;
    assert!(!is_bound || total(world) <= size, "AV-4: {} > {size} in a rollback", total(world));
}

/// NS-2: how many ReplicaSets of size 0 there may be.
fn room(world: &World) -> usize {
    let limit = world.observed.workload.revision_history_limit;
    let limit = limit.filter(|_| has_safeguards(world));
    limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap() + 5)
}

/// NS-2: after a reconcile that created a ReplicaSet there are more than may be only if those that are left
/// could not be deleted.
fn assert_bounded(as_seen: &World, world: &World, room: usize) {
    let seen = |set: &ReplicaSet| as_seen.observed.sets.iter().find(|old| old.uid == set.uid);
    if owned(world).all(|set| seen(set).is_some()) {
        return;
    }
    let idle = |set: &&ReplicaSet| {
        seen(set).is_some_and(|set| {
            let is_up_to_date = set.status.observed_generation >= set.generation;
            set.size == 0 && set.status.replicas == 0 && is_up_to_date && !set.deleting
        }) && set.size == 0
    };
    let wanted = as_seen.observed.workload.rollback_to;
    let deletable = owned(world).filter(idle).count();
    let count = owned(world).filter(|set| set.size == 0).count();
    assert!(count <= room || deletable == 0 || wanted.is_some(), "NS-2: {count} > {room}, {deletable}");
}

/// Whether an action is allowed at all in a state.
fn allowed(world: &World, action: &Action) {
    let workload = &world.observed.workload;
    if workload.deleting {
        assert!(matches!(action, Action::WriteStatus(_)), "OW-3: {action:?} while deleting");
    }
    match action {
        Action::SetSelector(_) => assert!(workload.selector.is_none()),
        Action::CreateReplicaSet(new) => {
            assert!(!workload.paused, "PA-1: {action:?}");
            assert!(new_set(world).is_none(), "UN-1: {action:?}");
            assert!(workload.selector.as_ref().unwrap().matches(&new.labels), "{new:?}");
        }
        Action::UpdateReplicaSet(update) => {
            own(world, &update.target);
            assert!(!(workload.paused && update.purpose == Purpose::ScaleDownOld), "PA-1: {action:?}");
        }
        Action::DeleteReplicaSet(target) => {
            let set = own(world, target);
            assert!(set.size == 0 && set.status.replicas == 0, "HC-1: {set:?}");
            assert_ne!(new_set(world).map(|new| &new.uid), Some(&set.uid), "HC-1");
        }
        Action::CreateJob(_) | Action::DeleteJob { .. } => {
            assert!(workload.is_custom(), "no Job is drawn: {action:?}");
        }
        Action::RollBack(_) => assert!(!workload.paused && workload.rollback_to.is_some()),
        Action::WriteStatus(write) => {
            assert_counters(&write.status);
            assert_summary(world, &write.status);
        }
    }
}

/// KS-1: a client that waits for a rollout continues when it is complete, and not before; a failed rollout has a
/// message. KS-2: that costs no write.
fn assert_summary(world: &World, status: &Status) {
    let workload = &world.observed.workload;
    let summary = status.conditions.iter().filter(|entry| SUMMARIES.contains(&entry.kind.as_str()));
    if world.observed.flavour == Flavour::AppsV1 {
        // Foreign conditions of these names are left alone.
        return;
    }
    let holding: Vec<_> = summary.filter(|entry| entry.status == "True").collect();
    assert_eq!(holding.len(), 1, "KS-1: {holding:?}");
    match kstatus(workload, status) {
        Kstatus::Current => {
            assert!(status.is_complete(workload.replicas, workload.generation), "KS-1: {status:?}");
            let has_new = owned(world).any(|set| is_of_template(world, set));
            assert!(has_new || workload.deleting, "KS-1: no set: {status:?}");
        }
        Kstatus::Failed => {
            let is_cause = |entry: &plan::Condition| {
                let reasons = [reason::PROGRESS_DEADLINE_EXCEEDED, reason::REPLICA_SET_CREATE_ERROR];
                let kinds = [condition::COLLISION_LIMIT_REACHED, condition::ROLLBACK_REFUSED];
                reasons.contains(&entry.reason.as_str()) || kinds.contains(&entry.kind.as_str())
            };
            let has_selector = workload.selector.as_ref().is_some_and(|selector| !selector.is_empty());
            assert!(status.conditions.iter().any(is_cause) || !has_selector, "KS-1: {status:?}");
            assert!(!workload.paused || !has_selector, "KS-1: {status:?}");
        }
        Kstatus::InProgress | Kstatus::Terminating => {}
    }
    let rest = |status: &Status| {
        let mut rest = status.clone();
        rest.conditions.retain(|entry| !SUMMARIES.contains(&entry.kind.as_str()));
        rest
    };
    let is_first = workload.status.condition(condition::READY).is_none();
    // A rollout that waits at a step is news (SP-8).
    let is_at_step = holding.iter().any(|entry| entry.reason == reason::RESTING_AT_STEP);
    let is_news = is_first || is_at_step || rest(status) != rest(&workload.status);
    assert!(is_news, "KS-2: {status:?}");
}

/// ST-1.
fn assert_counters(status: &Status) {
    let Status { replicas, updated_replicas, ready_replicas, unavailable_replicas, .. } = status;
    assert!([replicas, updated_replicas, ready_replicas, unavailable_replicas].iter().all(|it| **it >= 0));
    assert!(updated_replicas <= replicas, "ST-1: {status:?}");
}

/// OW-3: the ReplicaSet is the Deployment's own.
fn own<'a>(world: &'a World, target: &Target) -> &'a ReplicaSet {
    let set = world.observed.sets.iter().find(|set| set.uid == target.uid).unwrap();
    assert!(is_owned(world, set), "OW-3: {set:?}");
    set
}

/// RV-1: the current ReplicaSet has the highest revision, as far as numbers go.
fn assert_revision(world: &World) {
    let Some(new) = new_set(world) else { return };
    let number =
        |set: &ReplicaSet| Revision::read(set.annotations.get(REVISION).map(String::as_str)).or_zero();
    let highest = owned(world).filter(|set| set.uid != new.uid).map(number).max().unwrap_or(0).max(0);
    assert!(number(new) > highest || highest == REVISION_MAX, "RV-1: {} <= {highest}", number(new));
}

/// SC-1: several active ReplicaSets together grow or shrink to what there may be, the new one being
/// neither as large nor as available as it gets.
fn assert_shares(before: &Before, as_seen: &World, world: &World) {
    let workload = &as_seen.observed.workload;
    let replicas = workload.replicas;
    let new = new_set(world).and_then(|new| owned(as_seen).find(|set| set.uid == new.uid));
    let is_saturated = new.is_some_and(|set| {
        let desired = set.annotations.get(DESIRED_REPLICAS).and_then(|text| signed_decimal(text));
        let is_sized = desired.map(|desired| desired as i32) == i32::try_from(replicas).ok();
        is_sized && set.size == replicas && set.status.available == replicas
    });
    let is_rolling = matches!(workload.strategy, Strategy::RollingUpdate { .. });
    let several = owned(as_seen).filter(|set| set.is_active()).count() > 1;
    // A size at either end was cut off there: garbled annotations ask for more than that.
    let ends = [0, i64::from(i32::MAX)];
    let is_cut_off = owned(world).any(|set| {
        ends.contains(&set.size) && before.sizes.iter().any(|(uid, size)| *uid == set.uid && *size > 0)
    });
    if before.is_scaling && is_rolling && several && !is_saturated && !is_cut_off {
        let wanted = if replicas > 0 { before.cap.min(i64::from(i32::MAX)) } else { 0 };
        // At a step, what is above the ceiling goes to nobody, and there is no surge (SP-7).
        let is_short = !workload.steps.is_empty() && total(world) <= wanted;
        assert!(is_short || total(world) == wanted, "SC-1: {} of {wanted}: {:?}", total(world), before.sizes);
    }
}
