//! The watches, and the one order that their news are brought into.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::ObjectMeta;
use kube::core::DynamicResourceScope;
use kube::runtime::watcher;
use plan::Flavour;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::client::object::{Kind, Object};
use crate::client::{WatchClient, WatchPair};
use crate::serve::metrics::Metrics;
use crate::watch::renewal::Orders;
use crate::watch::{self, Sink};

/// How long news wait for older ones from the other watch.
const SETTLE: Duration = Duration::from_millis(300);

/// An object with what the server noted about its authors.
#[derive(Clone, Debug)]
pub(crate) struct Signed {
    pub(crate) object: Object,
    pub(crate) managed_fields: Value,
}

impl<'de> Deserialize<'de> for Signed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut body = Value::deserialize(deserializer)?;
        let metadata = body.get_mut("metadata").and_then(Value::as_object_mut);
        let managed_fields = metadata.and_then(|metadata| metadata.remove("managedFields"));
        Ok(Self { object: Object::new(body), managed_fields: managed_fields.unwrap_or_default() })
    }
}

impl kube::Resource for Signed {
    type DynamicType = Kind;
    type Scope = DynamicResourceScope;

    fn kind(kind: &Kind) -> Cow<'_, str> {
        Object::kind(kind)
    }

    fn group(kind: &Kind) -> Cow<'_, str> {
        Object::group(kind)
    }

    fn version(kind: &Kind) -> Cow<'_, str> {
        Object::version(kind)
    }

    fn plural(kind: &Kind) -> Cow<'_, str> {
        Object::plural(kind)
    }

    fn meta(&self) -> &ObjectMeta {
        self.object.meta()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.object.meta_mut()
    }
}

/// Which watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Which {
    Deployments,
    ReplicaSets,
}

impl Which {
    pub(crate) const ALL: [Self; 2] = [Self::Deployments, Self::ReplicaSets];

    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::Deployments => "deployments",
            Self::ReplicaSets => "replicasets",
        }
    }

    pub(crate) fn client(self, clients: &WatchPair) -> &WatchClient {
        match self {
            Self::Deployments => &clients.workloads,
            Self::ReplicaSets => &clients.sets,
        }
    }

    pub(crate) fn kind(self, flavour: Flavour) -> Kind {
        match self {
            Self::Deployments => Kind::Deployment(flavour),
            Self::ReplicaSets => Kind::ReplicaSet,
        }
    }
}

/// What a watch brings.
#[derive(Debug)]
pub(crate) enum News {
    /// An object was added or changed, or is gone.
    Object { which: Which, at: Timestamp, is_gone: bool, object: Box<Signed> },
    /// These are all objects there are.
    Listed { which: Which, at: Timestamp, objects: Vec<Signed> },
}

struct Feed {
    which: Which,
    metrics: Metrics,
    news: UnboundedSender<News>,
}

impl Feed {
    fn send(&self, news: News) {
        // Nobody listens any more: the program is about to end.
        let _ended = self.news.send(news);
    }

    fn object(&self, object: Signed, is_gone: bool) {
        let (which, at) = (self.which, Timestamp::now());
        self.send(News::Object { which, at, is_gone, object: Box::new(object) });
    }
}

impl Sink<Signed> for Feed {
    type Item = Signed;

    fn read(&self, object: Signed) -> Option<Signed> {
        Some(object)
    }

    fn reset(&self, objects: Vec<Signed>) {
        self.send(News::Listed { which: self.which, at: Timestamp::now(), objects });
    }

    fn apply(&self, object: Signed) {
        self.object(object, false);
    }

    fn delete(&self, object: &Signed) {
        self.object(object.clone(), true);
    }

    fn failed(&self, error: &watcher::Error, failures: u32) {
        watch::log_failure(&self.metrics, self.which.plural(), error, failures);
    }
}

/// Starts both watches.
pub(crate) fn start(
    clients: &WatchPair,
    flavour: Flavour,
    metrics: &Metrics,
    news: &UnboundedSender<News>,
    tasks: &mut JoinSet<()>,
) {
    for which in Which::ALL {
        let kind = which.kind(flavour);
        let own = which.client(clients);
        let api = match &clients.namespace {
            Some(namespace) => kube::Api::<Signed>::namespaced_with(own.client.clone(), namespace, &kind),
            None => kube::Api::all_with(own.client.clone(), &kind),
        };
        // Our own kind's controller sees labelled sets only.
        let labels = flavour.set_labels().filter(|_| which == Which::ReplicaSets);
        let labels = labels.map(|(key, value)| format!("{key}={value}"));
        let feed = Feed { which, metrics: metrics.clone(), news: news.clone() };
        let pulse = own.pulse.clone();
        tasks.spawn(watch::watch(api, watch::config(labels.as_deref()), pulse, Orders::none(), feed));
    }
}

/// News in the order of their resourceVersions. Two watches of one server share the numbers, not
/// the pace, so news wait a little for older ones.
#[derive(Default)]
pub(crate) struct Order {
    waiting: BTreeMap<(u64, u64), (Instant, News)>,
    count: u64,
}

impl Order {
    pub(crate) fn add(&mut self, version: u64, news: News) {
        self.count += 1;
        self.waiting.insert((version, self.count), (Instant::now(), news));
    }

    /// The next in order, if nothing older can be expected any more, or `at_once`.
    pub(crate) fn next(&mut self, at_once: bool) -> Option<(u64, News)> {
        let first = self.waiting.first_entry()?;
        if !at_once && first.get().0.elapsed() < SETTLE {
            return None;
        }
        let ((version, _), (_, news)) = first.remove_entry();
        Some((version, news))
    }
}
