//! Objects that cannot be decoded: set aside, counted, and reported once. Others are not affected.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use api::decode::Rejected;
use plan::Event;
use prometheus::IntGauge;
use tracing::{error, info};

use crate::client::object::Object;
use crate::reconcile::reconciler::Reconciler;
use crate::write::events::About;

/// Reason of the event on a Rollwright Deployment.
const UNREADABLE: &str = "Unreadable";

/// The objects of one watch that are set aside.
pub(crate) struct Quarantine {
    reconciler: Arc<Reconciler>,
    kind: &'static str,
    gauge: IntGauge,
    uids: Mutex<Uids>,
}

#[derive(Default)]
struct Uids {
    /// With their namespaces.
    now: HashMap<String, String>,
    /// Before the last list: reported already.
    before: HashSet<String>,
}

impl Quarantine {
    pub(crate) fn new(reconciler: &Arc<Reconciler>, kind: &'static str) -> Self {
        let labels = [reconciler.flavour.api_version(), kind];
        let gauge = reconciler.metrics.quarantined.with_label_values(&labels);
        Self { reconciler: reconciler.clone(), kind, gauge, uids: Mutex::default() }
    }

    /// All objects are about to be judged again.
    pub(crate) fn start_over(&self) {
        let mut uids = self.uids.lock().unwrap_or_else(PoisonError::into_inner);
        uids.before = std::mem::take(&mut uids.now).into_keys().collect();
        self.count(uids.before.len(), 0);
    }

    /// Sets an object aside because of a problem, or takes it back.
    pub(crate) fn judge(&self, object: &Object, problem: Option<&Rejected>) {
        let mut uids = self.uids.lock().unwrap_or_else(PoisonError::into_inner);
        let (uid, count_before) = (object.uid(), uids.now.len());
        match problem {
            Some(problem) => {
                let is_news = uids.now.insert(uid.to_owned(), object.namespace().to_owned()).is_none()
                    && !uids.before.contains(uid);
                if is_news {
                    self.tell(object, problem);
                }
            }
            None if uids.now.is_empty() => return,
            None => {
                if uids.now.remove(uid).is_some() {
                    info!(
                        namespace = object.namespace(),
                        name = object.name(),
                        kind = self.kind,
                        "taken back"
                    );
                }
            }
        }
        self.count(count_before, uids.now.len());
    }

    /// A namespace leaves the shard.
    pub(crate) fn let_go(&self, namespace: &str) {
        let mut uids = self.uids.lock().unwrap_or_else(PoisonError::into_inner);
        let count_before = uids.now.len();
        uids.now.retain(|_, of| of != namespace);
        self.count(count_before, uids.now.len());
    }

    /// The gauge is the sum over all watches of a kind.
    fn count(&self, before: usize, now: usize) {
        let number = |count| i64::try_from(count).unwrap_or(i64::MAX);
        self.gauge.add(number(now) - number(before));
    }

    fn tell(&self, object: &Object, problem: &Rejected) {
        let (namespace, name) = (object.namespace(), object.name());
        error!(namespace, name, kind = self.kind, %problem, "set aside: it cannot be understood");
        let flavour = self.reconciler.flavour;
        if flavour.has_status_extras() && self.kind == "deployments" {
            let message = format!("Nothing is done about this Deployment: {problem}");
            let about = About::object(flavour, object);
            self.reconciler.writer.events.record(about, Event::warning(UNREADABLE, message));
        }
    }
}
