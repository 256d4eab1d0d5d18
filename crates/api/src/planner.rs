//! Converts a status and its parts to the planner's types, and back. Every field is named, so a forgotten
//! one does not compile.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use plan::{
    BakeRecord, CollisionRecord, FallbackRecord, Ours, Outline, RollbackRecord, Status, TargetRecord,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::history;
use crate::memory::{Bake, Collisions, Marks, RecentRollback};
use crate::stored::read_time;
use crate::{Blocker, Condition, DeploymentStatus, Display, Fallback, Memory, Rollback, Target};

/// What of a stored status the planner reads; an absent count is zero.
impl From<DeploymentStatus> for Status {
    fn from(status: DeploymentStatus) -> Self {
        let count = |number: Option<i32>| number.map_or(0, i64::from);
        let Display { ready, containers, images, .. } = status.display.unwrap_or_default();
        let memory = status.memory.unwrap_or_default();
        let recent = memory.rollbacks.unwrap_or_default().into_iter().map(Into::into).collect();
        Self {
            observed_generation: status.observed_generation.unwrap_or(0),
            replicas: count(status.replicas),
            updated_replicas: count(status.updated_replicas),
            ready_replicas: count(status.ready_replicas),
            available_replicas: count(status.available_replicas),
            unavailable_replicas: count(status.unavailable_replicas),
            terminating_replicas: status.terminating_replicas.map(i64::from),
            collision_count: status.collision_count,
            conditions: status.conditions.unwrap_or_default().into_iter().map(Into::into).collect(),
            ours: Ours {
                revision: status.revision,
                selector: status.selector,
                scale_replicas: status.scale_replicas.map(i64::from),
                replicas: memory.replicas,
                outline: memory.outline.as_deref().and_then(Outline::read),
                ready,
                containers,
                images,
                rollback: status.rollback.map(|rollback| RollbackRecord { recent, ..rollback.into() }),
                collisions: memory.collisions.map(Into::into),
                target: status.target.map(Into::into),
                fallback: status.fallback.map(Into::into),
                bake: memory
                    .bake
                    .and_then(|it| Some(BakeRecord { revision: it.revision, since: it.start_time?.0 })),
                marks: memory.marks.map(Into::into),
                blockers: status.blockers.unwrap_or_default().into_iter().map(Into::into).collect(),
                rollout: status.rollout.map(|rollout| Box::new(rollout.into())),
                history: history::head(&status.history.unwrap_or_default()),
            },
        }
    }
}

/// The planner keeps what it does not know of a condition, `observedGeneration` too.
impl From<Condition> for plan::Condition {
    fn from(condition: Condition) -> Self {
        let mut extra: serde_json::Map<_, _> = condition.extra.into_iter().collect();
        if let Some(generation) = condition.observed_generation {
            extra.insert("observedGeneration".to_owned(), generation.into());
        }
        Self {
            kind: condition.kind,
            status: condition.status.to_string(),
            reason: condition.reason.unwrap_or_default(),
            message: condition.message.unwrap_or_default(),
            last_update_time: condition.last_update_time.map(|time| time.0),
            last_transition_time: condition.last_transition_time.map(|time| time.0),
            extra,
        }
    }
}

impl From<Rollback> for RollbackRecord {
    fn from(rollback: Rollback) -> Self {
        Self {
            requested: rollback.requested.unwrap_or(0),
            revision: rollback.revision.unwrap_or(0),
            result: rollback.result.map(|result| result.to_string()).unwrap_or_default(),
            message: rollback.message,
            time: written(rollback.time),
            author: rollback.author.map(Into::into),
            recent: Vec::new(),
        }
    }
}

impl From<RecentRollback> for plan::RecentRollback {
    fn from(RecentRollback { time, from, to }: RecentRollback) -> Self {
        Self { time: written(time), from: from.unwrap_or_default(), to: to.unwrap_or_default() }
    }
}

impl From<plan::RecentRollback> for RecentRollback {
    fn from(plan::RecentRollback { time, from, to }: plan::RecentRollback) -> Self {
        Self { time: read_time(&time), from: Some(from), to: Some(to) }
    }
}

impl From<Marks> for plan::Marks {
    fn from(marks: Marks) -> Self {
        let Marks { revision, replicas, updated, ready, available, complete } = marks;
        // Any writer may have written them, and they are compared with counts.
        let bound = |number: i64| number.clamp(0, i64::from(i32::MAX));
        let [updated, ready, available] = [updated, ready, available].map(bound);
        Self { revision, replicas, updated, ready, available, complete }
    }
}

impl From<plan::Marks> for Marks {
    fn from(marks: plan::Marks) -> Self {
        let plan::Marks { revision, replicas, updated, ready, available, complete } = marks;
        Self { revision, replicas, updated, ready, available, complete }
    }
}

impl From<Target> for TargetRecord {
    fn from(target: Target) -> Self {
        let Target { revision, pod_template_hash, reason, declared_revision } = target;
        let (hash, reason) = (pod_template_hash.unwrap_or_default(), reason.unwrap_or_default());
        Self { revision, hash, reason, declared_revision }
    }
}

impl From<TargetRecord> for Target {
    fn from(record: TargetRecord) -> Self {
        let TargetRecord { revision, hash, reason, declared_revision } = record;
        Self { revision, pod_template_hash: Some(hash), reason: Some(reason), declared_revision }
    }
}

impl From<Fallback> for FallbackRecord {
    fn from(Fallback { revision, pod_template_hash }: Fallback) -> Self {
        Self { revision, hash: pod_template_hash.unwrap_or_default() }
    }
}

impl From<FallbackRecord> for Fallback {
    fn from(FallbackRecord { revision, hash }: FallbackRecord) -> Self {
        Self { revision, pod_template_hash: Some(hash) }
    }
}

impl From<Blocker> for plan::Blocker {
    fn from(blocker: Blocker) -> Self {
        let count = |number: Option<i32>| number.map_or(0, i64::from);
        Self {
            cause: blocker.cause,
            container: blocker.container.unwrap_or_default(),
            reason: blocker.reason.unwrap_or_default(),
            pods: count(blocker.pods),
            of: count(blocker.total_pods),
            message: blocker.message.unwrap_or_default(),
            since: blocker.start_time.map(|time| time.0),
        }
    }
}

impl From<plan::Blocker> for Blocker {
    fn from(blocker: plan::Blocker) -> Self {
        let text = |text: String| (!text.is_empty()).then_some(text);
        Self {
            cause: blocker.cause,
            pods: Some(count(blocker.pods)),
            total_pods: Some(count(blocker.of)),
            container: text(blocker.container),
            reason: text(blocker.reason),
            message: text(blocker.message),
            start_time: blocker.since.map(Into::into),
        }
    }
}

impl From<Collisions> for CollisionRecord {
    fn from(collisions: Collisions) -> Self {
        Self {
            template: collisions.template.unwrap_or_default(),
            count: collisions.count.map_or(0, i64::from),
            time: written(collisions.time),
        }
    }
}

/// A time as the planner keeps it: in RFC 3339, empty for none.
fn written(time: Option<Time>) -> String {
    time.map(|time| time.0.to_string()).unwrap_or_default()
}

impl From<&Status> for DeploymentStatus {
    fn from(status: &Status) -> Self {
        let Ours {
            revision,
            selector,
            scale_replicas,
            replicas,
            outline,
            ready,
            containers,
            images,
            rollback,
            collisions,
            target,
            fallback,
            bake,
            marks,
            blockers,
            rollout,
            // Its records are added one by one.
            history: _,
        } = status.ours.clone();
        let recent = rollback.as_ref().map(|rollback| rollback.recent.clone());
        let recent: Option<Vec<_>> = recent.map(|recent| recent.into_iter().map(Into::into).collect());
        let memory = Memory {
            bake: bake.map(|it| Bake { revision: it.revision, start_time: Some(Time(it.since)) }),
            marks: marks.map(Into::into),
            replicas,
            outline: outline.map(|outline| outline.to_string()),
            collisions: collisions.map(Into::into),
            rollbacks: recent.filter(|recent| !recent.is_empty()),
        };
        Self {
            observed_generation: Some(status.observed_generation),
            replicas: Some(count(status.replicas)),
            updated_replicas: Some(count(status.updated_replicas)),
            ready_replicas: Some(count(status.ready_replicas)),
            available_replicas: Some(count(status.available_replicas)),
            unavailable_replicas: Some(count(status.unavailable_replicas)),
            terminating_replicas: status.terminating_replicas.map(count),
            collision_count: status.collision_count,
            conditions: Some(status.conditions.iter().map(Into::into).collect()),
            revision,
            selector,
            scale_replicas: scale_replicas.map(count),
            display: Some(Display { summary: None, ready, containers, images }),
            rollback: rollback.map(Into::into),
            target: target.map(Into::into),
            fallback: fallback.map(Into::into),
            memory: Some(memory),
            blockers: (!blockers.is_empty()).then(|| blockers.into_iter().map(Into::into).collect()),
            rollout: rollout.as_deref().map(Into::into),
            ..Self::default()
        }
    }
}

impl From<&plan::Condition> for Condition {
    fn from(condition: &plan::Condition) -> Self {
        let text = |text: &String| (!text.is_empty()).then(|| text.clone());
        Self {
            kind: condition.kind.clone(),
            status: from_word(&condition.status).unwrap_or_default(),
            reason: text(&condition.reason),
            message: text(&condition.message),
            last_update_time: condition.last_update_time.map(Into::into),
            last_transition_time: condition.last_transition_time.map(Into::into),
            // The generation is among the other fields, if it is there.
            observed_generation: None,
            extra: condition.extra.clone().into_iter().collect(),
        }
    }
}

impl From<RollbackRecord> for Rollback {
    fn from(record: RollbackRecord) -> Self {
        Self {
            requested: Some(record.requested),
            revision: Some(record.revision),
            result: from_word(&record.result),
            message: record.message,
            time: read_time(&record.time),
            author: record.author.map(Into::into),
        }
    }
}

impl From<CollisionRecord> for Collisions {
    fn from(record: CollisionRecord) -> Self {
        Self {
            template: Some(record.template),
            count: Some(count(record.count)),
            time: read_time(&record.time),
        }
    }
}

/// A count within the 32 bits that the API's types have.
fn count(number: i64) -> i32 {
    i32::try_from(number).unwrap_or(if number < 0 { i32::MIN } else { i32::MAX })
}

/// The variant that a word stands for in JSON.
fn from_word<T: DeserializeOwned>(word: &str) -> Option<T> {
    T::deserialize(Value::from(word)).ok()
}
