//! The engine's port for one attempt: its requests go out, and what happened is logged, counted, and recorded as
//! events.

use std::time::Instant;

use engine::index::Key;
use engine::port::{Cause, Note, Port, Reply, Request};
use engine::reconcile::Refusal;
use jiff::Timestamp;
use plan::keys::reason;

use crate::client::object::Object;
use crate::client::requests::Authority;
use crate::clock;
use crate::reconcile::reconciler::Reconciler;
use crate::reconcile::rollouts;
use crate::write::events::About;
use crate::write::live::{self, Live};

/// One attempt at one Deployment.
pub(super) struct Attempt<'a> {
    pub(super) reconciler: &'a Reconciler,
    pub(super) key: &'a Key,
    /// The term of leadership that the attempt was begun in.
    pub(super) term: u64,
    /// The number of the namespace's stay in the shard, if it is there.
    pub(super) stay: Option<u64>,
}

impl Port for Attempt<'_> {
    type Object = Object;

    fn now(&self) -> Instant {
        clock::now()
    }

    fn timestamp(&self) -> Timestamp {
        self.reconciler.timestamp()
    }

    fn is_ours(&self) -> bool {
        self.stay.is_some()
    }

    fn epoch(&self) -> Option<[u64; 3]> {
        let process = self.reconciler.leadership().process();
        self.stay.map(|stay| [process, self.term, stay])
    }

    fn is_watch_broken(&self) -> bool {
        self.reconciler.watches.are_broken()
    }

    async fn send(&self, request: Request, _: Cause<'_>) -> Result<Reply<Object>, Refusal> {
        let place = self.stay.map(|stay| (self.key.namespace.as_str(), stay));
        let limit = self.reconciler.engine.state().answer_limit(self.key);
        let authority = Authority { term: Some(self.term), place, limit };
        Live { writer: &self.reconciler.writer, authority }.send(request).await
    }

    fn note(&self, note: Note<'_>) {
        live::log(self.key, &note);
        let (reconciler, key) = (self.reconciler, self.key);
        let (metrics, writer, api) =
            (&reconciler.metrics, &reconciler.writer, reconciler.flavour.api_version());
        match note {
            Note::CacheBehind => metrics.ledger_waits.inc(),
            Note::ReadsLive => metrics.ledger_overdue.inc(),
            Note::Acted(workload, action, Ok(())) => rollouts::acted(reconciler, key, workload, action),
            Note::OwnerChanged(change) => rollouts::owner_changed(reconciler, change),
            Note::Event(workload, event) => {
                if event.reason == reason::NEWER_SPEC {
                    metrics.newer_specs.with_label_values(&[api]).inc();
                }
                writer.events.record(About::workload(reconciler.flavour, workload), event.clone());
            }
            Note::LabelRestored(_) => metrics.relabelled.inc(),
            Note::Orphan(..) => metrics.orphans_reported.inc(),
            Note::Changed(..) => metrics.changed_sets.with_label_values(&[api]).inc(),
            Note::GivesWay(..) => metrics.rivalries.with_label_values(&[api]).inc(),
            Note::PodsNoMore => writer.pods.stop(key),
            Note::Forgotten => {
                reconciler.rollouts.forget(key);
                writer.pods.stop(key);
            }
            Note::Requeued => reconciler.queue.nudge(),
            _ => {}
        }
    }
}
