//! The watches, and the one order that their news are brought into.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use kube::runtime::watcher;
use plan::Flavour;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use shadow::{News, Signed, Which};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::client::object::{Kind, Object, With};
use crate::client::{WatchClient, WatchPair};
use crate::serve::metrics::Metrics;
use crate::watch::renewal::Orders;
use crate::watch::{self, Sink};

/// How long news wait for older ones from the other watch.
const SETTLE: Duration = Duration::from_millis(300);

/// An object with what the server noted about its authors.
type Watched = With<Value>;

impl From<Watched> for Signed {
    fn from(watched: Watched) -> Self {
        Self { body: watched.object.body, managed_fields: watched.more }
    }
}

impl<'de> Deserialize<'de> for Watched {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Signed { body, managed_fields } = Signed::new(Value::deserialize(deserializer)?);
        Ok(Self { object: Object::new(body), more: managed_fields })
    }
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

impl Sink<Watched> for Feed {
    type Item = Signed;

    fn read(&self, object: Watched) -> Option<Signed> {
        Some(object.into())
    }

    fn reset(&self, objects: Vec<Signed>) {
        self.send(News::Listed { which: self.which, at: Timestamp::now(), objects });
    }

    fn apply(&self, object: Signed) {
        self.object(object, false);
    }

    fn delete(&self, object: &Watched) {
        self.object(object.clone().into(), true);
    }

    fn failed(&self, error: &watcher::Error, failures: u32) {
        watch::log_failure(&self.metrics, self.which.plural(), error, failures);
    }
}

/// What a watch watches.
pub(crate) fn kind(which: Which, flavour: Flavour) -> Kind {
    match which {
        Which::Deployments => Kind::Deployment(flavour),
        Which::ReplicaSets => Kind::ReplicaSet,
    }
}

/// With what it does.
pub(crate) fn client(which: Which, clients: &WatchPair) -> &WatchClient {
    match which {
        Which::Deployments => &clients.workloads,
        Which::ReplicaSets => &clients.sets,
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
        let kind = kind(which, flavour);
        let own = client(which, clients);
        let api = match &clients.namespace {
            Some(namespace) => kube::Api::<Watched>::namespaced_with(own.client.clone(), namespace, &kind),
            None => kube::Api::all_with(own.client.clone(), &kind),
        };
        // The controller of rollwright.dev sees labelled ReplicaSets only.
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
