//! The fields that the planner reads, in the order in which they are packed. The first ones can also be
//! read alone (`index/heads.rs`). A forgotten field does not compile.

use plan::intstr::IntOrPercent;
use plan::selector::{LabelSelector, Requirement};
use plan::template::Fingerprint;
use plan::{
    Author, Authors, BakeRecord, Blocker, CollisionRecord, Condition, End, FailureAction, FailurePolicy,
    FallbackRecord, HistoryHead, JobSpec, Marks, Ours, Outcome, Outline, Pin, Promotion, RecentRollback,
    Record, ReplicaSet, RollbackRecord, Scaler, SetFailure, SetStatus, Status, Strategy, TargetRecord,
    TemplateSummary, Trigger, Until, UpdateStep, Workload,
};

use super::codec::{Pack, Reader};

macro_rules! packed {
    ($type:ident { $($field:ident),* $(,)? }) => {
        impl Pack for $type {
            fn pack(&self, out: &mut Vec<u8>) {
                let Self { $($field),* } = self;
                $($field.pack(out);)*
            }

            fn unpack(from: &mut Reader<'_>) -> Self {
                $(let $field = Pack::unpack(from);)*
                Self { $($field),* }
            }
        }
    };
}

pub(crate) use packed;

packed!(Workload {
    uid,
    deleting,
    namespace,
    name,
    resource_version,
    generation,
    selector,
    replicas,
    status,
    created,
    annotations,
    strategy,
    steps,
    before_hook,
    after_hook,
    good_skips_steps,
    min_ready_seconds,
    revision_history_limit,
    progress_deadline_seconds,
    paused,
    resumes_by_word,
    rollback_to,
    pin,
    failure_policy,
    unknown_field,
    authors,
    template,
});

packed!(UpdateStep { updated, until, gate });

packed!(JobSpec { digest, timeout_seconds });

packed!(TemplateSummary { fingerprint, outline, labels, containers, images });

packed!(LabelSelector { match_labels, match_expressions });

packed!(Requirement { key, operator, values });

packed!(Status {
    observed_generation,
    replicas,
    updated_replicas,
    ready_replicas,
    available_replicas,
    unavailable_replicas,
    terminating_replicas,
    collision_count,
    conditions,
    ours,
});

packed!(Condition { kind, status, reason, message, last_update_time, last_transition_time, extra });

packed!(Ours {
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
    history,
});

packed!(TargetRecord { revision, hash, reason, declared_revision });

packed!(FallbackRecord { revision, hash });

packed!(BakeRecord { revision, since });

packed!(Marks { revision, replicas, updated, ready, available, complete });

packed!(FailurePolicy { action, deadline, restarts, stuck_seconds, min_pods, bake_seconds });

packed!(Pin { pod_template_hash, template_fingerprint, reason });

packed!(Blocker { cause, container, reason, pods, of, message, since });

packed!(CollisionRecord { template, count, time });

packed!(RollbackRecord { requested, revision, result, message, time, author, recent });

packed!(RecentRollback { time, from, to });

packed!(Authors { template, rollback, replicas, pin, promotion });

packed!(Author { manager, operation, user });

packed!(Scaler { manager, subresource, time });

packed!(HistoryHead { id, length, revision, from, trigger, start_time, odd });

packed!(Record {
    id,
    revision,
    hash,
    from,
    images,
    more_images,
    trigger,
    author,
    cause,
    start_time,
    lowest_available,
    highest_pods,
    step,
    steps,
    updated,
    target_pods,
    allowed,
    rest_start_time,
    promotions,
    end,
});

packed!(Promotion { step, manager, time, is_forced });

packed!(End { time, outcome, reason, message });

packed!(ReplicaSet {
    controller_uid,
    resource_version,
    deleting,
    uid,
    name,
    generation,
    size,
    status,
    labels,
    created,
    annotations,
    min_ready_seconds,
    fingerprints,
    stored,
    is_tracked,
});

packed!(SetStatus { replicas, ready, available, terminating, observed_generation, failure });

packed!(SetFailure { status, reason, message, last_transition_time });

impl Pack for Fingerprint {
    fn pack(&self, out: &mut Vec<u8>) {
        self.as_str().to_owned().pack(out);
    }

    fn unpack(from: &mut Reader<'_>) -> Self {
        Self::restored(String::unpack(from))
    }
}

impl Pack for Outline {
    fn pack(&self, out: &mut Vec<u8>) {
        self.0.pack(out);
    }

    fn unpack(from: &mut Reader<'_>) -> Self {
        Self(Pack::unpack(from))
    }
}

/// A word of a list, by its place.
macro_rules! packed_word {
    ($type:ident, $fallback:ident) => {
        impl Pack for $type {
            fn pack(&self, out: &mut Vec<u8>) {
                let place = Self::ALL.iter().position(|known| known == self);
                place.unwrap_or_default().pack(out);
            }

            fn unpack(from: &mut Reader<'_>) -> Self {
                Self::ALL.get(usize::unpack(from)).copied().unwrap_or(Self::$fallback)
            }
        }
    };
}

packed_word!(Trigger, TemplateChanged);
packed_word!(Outcome, Superseded);
packed_word!(FailureAction, Continue);

impl Pack for IntOrPercent {
    fn pack(&self, out: &mut Vec<u8>) {
        match self {
            Self::Int(number) => {
                out.push(0);
                number.pack(out);
            }
            Self::Text(text) => {
                out.push(1);
                text.pack(out);
            }
        }
    }

    fn unpack(from: &mut Reader<'_>) -> Self {
        match from.byte() {
            0 => Self::Int(i64::unpack(from)),
            _ => Self::Text(String::unpack(from)),
        }
    }
}

impl Pack for Until {
    fn pack(&self, out: &mut Vec<u8>) {
        match self {
            Self::Promoted => out.push(0),
            Self::Replicas => out.push(1),
            Self::Gate => out.push(3),
            Self::Process => out.push(4),
            Self::Seconds(seconds) => {
                out.push(2);
                seconds.pack(out);
            }
        }
    }

    fn unpack(from: &mut Reader<'_>) -> Self {
        match from.byte() {
            0 => Self::Promoted,
            1 => Self::Replicas,
            3 => Self::Gate,
            4 => Self::Process,
            _ => Self::Seconds(i64::unpack(from)),
        }
    }
}

impl Pack for Strategy {
    fn pack(&self, out: &mut Vec<u8>) {
        match self {
            Self::RollingUpdate { max_surge, max_unavailable } => {
                out.push(0);
                max_surge.pack(out);
                max_unavailable.pack(out);
            }
            Self::Recreate => out.push(1),
            Self::Unknown(kind) => {
                out.push(2);
                kind.pack(out);
            }
        }
    }

    fn unpack(from: &mut Reader<'_>) -> Self {
        match from.byte() {
            0 => Self::RollingUpdate { max_surge: Pack::unpack(from), max_unavailable: Pack::unpack(from) },
            1 => Self::Recreate,
            _ => Self::Unknown(String::unpack(from)),
        }
    }
}
