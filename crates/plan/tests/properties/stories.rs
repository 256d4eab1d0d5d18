//! The records of rollouts in the status are for people: no action depends on them.

use jiff::Timestamp;
use plan::{
    Action, Author, Authors, HistoryHead, Outcome, Outline, Plan, Planned, Record, Scaler, Status,
    StatusWrite, Trigger, Workload,
};
use proptest::prelude::*;

use crate::world::written;

/// All records of the rollouts of a Deployment.
#[derive(Clone, Debug)]
pub(crate) struct Story {
    rollout: Option<Record>,
    history: HistoryHead,
    outline: Outline,
    /// The outline that is stored.
    known: Option<Outline>,
    authors: Authors,
    asked: Option<Author>,
    replicas: Option<i64>,
}

fn outline() -> impl Strategy<Value = Outline> {
    prop::collection::vec(0..=1_u8, 3).prop_map(|parts| {
        let mut outline = Outline::default();
        for (place, part) in outline.0.chunks_mut(4).zip(parts) {
            place.fill(part);
        }
        outline
    })
}

fn author() -> impl Strategy<Value = Option<Author>> {
    let texts = prop::sample::select(vec!["", "kubectl-edit", "x\"\\\u{7}…"]);
    let long = texts.clone().prop_map(|text| text.repeat(300));
    prop::option::of((prop_oneof![texts, Just("helm")], long).prop_map(|(manager, user)| Author {
        manager: manager.to_owned(),
        operation: "Update".to_owned(),
        user: Some(user),
    }))
}

fn time() -> impl Strategy<Value = Option<Timestamp>> {
    prop::option::of(prop::sample::select(vec![
        0,
        1_775_044_000,
        1_775_044_740,
        1_775_044_800,
        4_000_000_000_i64,
    ]))
    .prop_map(|seconds| seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()))
}

fn trigger() -> impl Strategy<Value = Option<Trigger>> {
    prop::option::of(prop::sample::select(Trigger::ALL.to_vec()))
}

fn record() -> impl Strategy<Value = Record> {
    let counts = (any::<i64>(), any::<i64>(), prop_oneof![9 => 1..30_i64, 1 => Just(plan::ID_MAX - 1)]);
    (0..=9_i64, counts, trigger(), author(), time()).prop_map(
        |(revision, (lowest_available, highest_pods, id), trigger, author, start_time)| Record {
            id,
            revision,
            hash: "5f9".to_owned(),
            trigger,
            author,
            start_time,
            lowest_available,
            highest_pods,
            ..Record::default()
        },
    )
}

pub(crate) fn story() -> impl Strategy<Value = Story> {
    let ids = prop_oneof![9 => 0..30_i64, 1 => Just(plan::ID_MAX - 1)];
    let odd = prop::collection::btree_set(0..25_usize, 0..4);
    let newest = (0..=9_i64, prop::option::of(0..=9_i64), trigger());
    let history = (ids, 0..25_usize, newest, time(), odd).prop_map(
        |(id, length, (revision, from, trigger), start_time, odd)| HistoryHead {
            id,
            length,
            revision,
            from,
            trigger,
            start_time,
            odd: odd.into_iter().filter(|place| *place < length).collect(),
        },
    );
    let outlines = (outline(), prop::option::of(outline()));
    let replicas = prop::option::of(prop::sample::select(vec![0, 3, 4, -1, i64::MAX]));
    let authors = (author(), author(), author(), time());
    (prop::option::of(record()), history, outlines, authors, author(), replicas).prop_map(
        |(rollout, history, (outline, known), (template, rollback, scaler, at), asked, replicas)| Story {
            rollout,
            history,
            outline,
            known,
            authors: Authors {
                template,
                rollback,
                pin: None,
                promotion: None,
                replicas: scaler.map(|it| Scaler {
                    manager: it.manager,
                    subresource: "scale".to_owned(),
                    time: at,
                }),
            },
            asked,
            replicas,
        },
    )
}

impl Story {
    pub(crate) fn tell(&self, workload: &mut Workload) {
        let ours = &mut workload.status.ours;
        ours.rollout = self.rollout.clone().map(Box::new);
        ours.history = self.history.clone();
        ours.outline = self.known;
        if let Some(record) = &mut ours.rollback {
            record.author.clone_from(&self.asked);
        }
        workload.template.outline = self.outline;
        workload.authors = self.authors.clone();
    }

    /// The same with another number of replicas before: `lastScale` depends on it.
    pub(crate) fn tell_all(&self, workload: &mut Workload) {
        self.tell(workload);
        workload.status.ours.replicas = self.replicas;
    }
}

/// A status without the records of rollouts.
pub(crate) fn without(status: &Status) -> Status {
    let mut status = status.clone();
    (status.ours.rollout, status.ours.history, status.ours.outline) = (None, HistoryHead::default(), None);
    if let Some(record) = &mut status.ours.rollback {
        record.author = None;
    }
    status
}

/// A plan without the records of rollouts.
pub(crate) fn untold(plan: &Plan) -> String {
    let strip = |planned: &Planned| match &planned.action {
        Action::WriteStatus(write) => {
            let status = without(&write.status);
            let write = StatusWrite { status, ended: Vec::new(), last_scale: None, ..(**write).clone() };
            Planned { action: Action::WriteStatus(Box::new(write)), events: planned.events.clone() }
        }
        _ => planned.clone(),
    };
    let actions: Vec<Planned> = plan.actions.iter().map(strip).collect();
    let Plan { events, requeue, why, status_waits, error, deviations, .. } = plan;
    format!("{actions:#?} {events:?} {requeue:?} {why:?} {status_waits} {error:?} {deviations:?}")
}

/// The records that a plan closes, and the one that runs after it.
pub(crate) fn told(plan: &Plan) -> impl Iterator<Item = &Record> {
    written(plan).into_iter().flat_map(|write| write.ended.iter().chain(write.status.ours.rollout.as_deref()))
}

pub(crate) fn outcomes(plan: &Plan) -> impl Iterator<Item = Outcome> {
    told(plan).filter_map(|record| record.end.as_ref()).map(|end| end.outcome)
}
