//! Random statuses of a Deployment: counters, conditions, and the record of a rollback.

use plan::{Condition, RecentRollback, RollbackRecord, Status};
use proptest::prelude::*;

use crate::properties::recipes::{IMAGES, Range, count};
use crate::world::fingerprint;

fn condition() -> impl Strategy<Value = Condition> {
    let kinds = vec!["Available", "Progressing", "ReplicaFailure", "RollbackRefused", "example.com/Foreign"];
    let reasons = vec![
        "NewReplicaSetAvailable",
        "ReplicaSetUpdated",
        "ProgressDeadlineExceeded",
        "DeploymentPaused",
        "DeploymentResumed",
        "FailedCreate",
        "MinimumReplicasAvailable",
        "RepeatedRollback",
    ];
    let (kinds, reasons) = (prop::sample::select(kinds), prop::sample::select(reasons));
    let statuses = prop::sample::select(vec!["True", "False", "Unknown"]);
    (kinds, reasons, statuses, prop::option::of(0..=2_000_000_000_i64)).prop_map(
        |(kind, reason, status, time)| {
            let time = time.map(|seconds| jiff::Timestamp::from_second(seconds).unwrap());
            let now = time.unwrap_or(jiff::Timestamp::MIN);
            let condition = Condition::new(kind, status, reason, "as found".to_owned(), now);
            Condition { last_update_time: time, last_transition_time: time, ..condition }
        },
    )
}

fn record() -> impl Strategy<Value = RollbackRecord> {
    let images = || prop::sample::select(IMAGES.to_vec());
    let time = prop::sample::select(vec!["2026-04-01T11:59:00Z", "2026-04-01T11:00:00Z", "yesterday"]);
    let recent = (images(), images(), time).prop_map(|(from, to, time)| RecentRollback {
        time: time.to_owned(),
        from: fingerprint(from).as_str().to_owned(),
        to: fingerprint(to).as_str().to_owned(),
    });
    let results = prop::sample::select(vec!["RolledBack", "Refused", "RevisionNotFound"]);
    (0..=4_i64, results, prop::collection::vec(recent, 0..5)).prop_map(|(requested, result, recent)| {
        let (result, time) = (result.to_owned(), "2026-04-01T11:59:00Z".to_owned());
        RollbackRecord { requested, revision: requested, result, time, recent, ..RollbackRecord::default() }
    })
}

pub(crate) fn status(range: Range) -> impl Strategy<Value = Status> {
    let conditions = prop::collection::vec(condition(), 0..4);
    // At the last count there is no other name to take.
    let last = if range == Range::Legal { 7 } else { i32::MAX };
    let collisions = prop::option::weighted(0.2, prop::sample::select(vec![0, 1, last]));
    let counters = (count(range), count(range), count(range), 0..=3_i64);
    (counters, conditions, collisions, prop::option::weighted(0.3, record())).prop_map(
        |((replicas, updated, available, generation), mut conditions, collision_count, rollback)| {
            conditions.sort_by(|a, b| a.kind.cmp(&b.kind));
            conditions.dedup_by(|a, b| a.kind == b.kind);
            let mut status = Status {
                observed_generation: generation,
                replicas,
                updated_replicas: updated.min(replicas),
                ready_replicas: available.min(replicas),
                available_replicas: available.min(replicas),
                collision_count,
                conditions,
                ..Status::default()
            };
            status.ours.rollback = rollback;
            status
        },
    )
}
