//! One task per watch, each with its own backoff: one watch's trouble never stops another.

pub(crate) mod caches;
pub(crate) mod jobs;
pub(crate) mod pods;
pub(crate) mod quarantine;
pub(crate) mod renewal;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use cli::explain;
use futures::StreamExt as _;
use kube::Api;
use kube::api::ListParams;
use kube::runtime::watcher;
use kube::runtime::watcher::Event;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::client::lifeline::IDLE_SECONDS;
use crate::client::object::Object;
use crate::client::pulse::Pulse;
use crate::client::refusal::refusal;
use crate::clock;
use crate::serve::metrics::Metrics;
use crate::watch::renewal::Orders;

/// The text of a page is held several times over while it is read, and both watches of an API list at the same time.
const PAGE_SIZE: u32 = 50;
const BACKOFF_BASE: Duration = Duration::from_millis(200);
const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// While the kind itself is missing: somebody is about to install it.
const BACKOFF_MISSING: Duration = Duration::from_secs(2);
/// A watch that has been well for this long since it failed begins with the shortest backoff again. Few events come on
/// a quiet watch, so these alone would not show it.
const WELL_AFTER: Duration = Duration::from_secs(60);

/// What a watch feeds; `O` is how much of an object it needs.
pub(crate) trait Sink<O = Object> {
    /// What is kept of an object; small, since a whole list of them is held.
    type Item;
    /// Reads an object; `None` sets it aside.
    fn read(&self, object: O) -> Option<Self::Item>;
    /// All objects are about to be read again.
    fn begin(&self) {}
    /// The newest version that it was shown.
    fn newest(&self) -> Option<u64> {
        None
    }
    /// The server's data was restored from a backup of this version. All objects are about to be read again.
    fn restored(&self, _version: u64) {}
    /// These are all objects there are.
    fn reset(&self, items: Vec<Self::Item>);
    /// An object was added or changed.
    fn apply(&self, item: Self::Item);
    /// An object left the watch.
    fn delete(&self, object: &O);
    /// The watch failed, for the given time in a row; it is tried again.
    fn failed(&self, error: &watcher::Error, failures: u32);
}

/// How a watch selects its objects.
pub(crate) fn config(labels: Option<&str>) -> watcher::Config {
    let config = watcher::Config::default().timeout(IDLE_SECONDS).page_size(PAGE_SIZE);
    match labels {
        Some(labels) => config.labels(labels),
        None => config,
    }
}

/// Watches until the task is dropped.
pub(crate) async fn watch<O, S>(
    api: Api<O>,
    config: watcher::Config,
    pulse: Arc<Pulse>,
    mut orders: Orders,
    sink: S,
) where
    O: kube::Resource + Clone + Debug + DeserializeOwned + Send + 'static,
    S: Sink<O>,
{
    // The list with which it starts is not of the server's cache, but of what has been written.
    let start = |orders: &mut Orders| {
        orders.begin();
        watcher(api.clone(), config.clone()).boxed()
    };
    let mut events = start(&mut orders);
    // The restore check runs while events come.
    let field = config.field_selector.as_deref();
    let mut restore = Box::pin(restore(&api, field, &pulse, &sink));
    let mut listed = Vec::new();
    let mut failures = 0;
    let mut well_since = Instant::now();
    loop {
        let event = tokio::select! {
            biased;
            () = orders.come() => {
                // Whatever the old connection is good for: it may be dead, and nobody has noticed.
                failures = 0;
                events = start(&mut orders);
                continue;
            }
            (version, known) = &mut restore => {
                restore = Box::pin(self::restore(&api, field, &pulse, &sink));
                warn!(version, known, "the API server's data was restored from a backup: everything is read again");
                sink.restored(version);
                // The watch would be silent until the server gets as far again.
                events = start(&mut orders);
                continue;
            }
            event = events.next() => event,
        };
        let Some(event) = event else { return };
        // An attempt that failed is a sign of life too: this task moves.
        pulse.beat();
        match event {
            Ok(Event::Init) => {
                listed = Vec::new();
                sink.begin();
            }
            Ok(Event::InitApply(object)) => listed.extend(sink.read(object)),
            Ok(Event::InitDone) => {
                failures = 0;
                sink.reset(std::mem::take(&mut listed));
                orders.deliver();
            }
            Ok(Event::Apply(object)) => {
                failures = 0;
                if let Some(item) = sink.read(object) {
                    sink.apply(item);
                }
            }
            Ok(Event::Delete(object)) => {
                failures = 0;
                sink.delete(&object);
            }
            Err(error) => {
                pulse.fell_ill();
                if well_since.elapsed() > WELL_AFTER {
                    failures = 0;
                }
                failures += 1;
                sink.failed(&error, failures);
                pause(delay(&error, failures), &pulse, &mut orders).await;
                if needs_a_new_list(&error) {
                    events = start(&mut orders);
                }
                well_since = Instant::now();
            }
        }
    }
}

/// Waits until the server turns out to have lost versions that it has shown before. Returns how far it has come, and
/// how far it had come.
///
/// A watch that starts at a later version than the server has is silent, so each start is compared with a list.
async fn restore<O, S>(api: &Api<O>, field: Option<&str>, pulse: &Pulse, sink: &S) -> (u64, u64)
where
    O: kube::Resource + Clone + Debug + DeserializeOwned,
    S: Sink<O>,
{
    loop {
        let start = pulse.start().await;
        // What is shown while the list is under way may be newer than the list.
        let known = sink.newest().map_or(start, |newest| newest.max(start));
        if let Some(version) = version_of_server(api, field, pulse).await
            && version < known
        {
            return (version, known);
        }
    }
}

/// How far the server has come; `None` if it does not report it.
async fn version_of_server<O>(api: &Api<O>, field: Option<&str>, pulse: &Pulse) -> Option<u64>
where
    O: kube::Resource + Clone + Debug + DeserializeOwned,
{
    let params = ListParams { field_selector: field.map(str::to_owned), ..ListParams::default().limit(1) };
    let mut failures = 0;
    loop {
        match api.list_metadata(&params).await {
            Ok(list) => return list.metadata.resource_version?.parse().ok(),
            Err(kube::Error::Api(status)) if matches!(status.code, 401 | 403 | 404) => return None,
            Err(_) => failures += 1,
        }
        tokio::time::sleep(backoff(failures, BACKOFF_MAX).max(pulse.patience().min(BACKOFF_MAX))).await;
    }
}

/// Waits before the next attempt: what the server asks for in any case, and the rest unless somebody
/// needs a list.
async fn pause(delay: Duration, pulse: &Pulse, orders: &mut Orders) {
    let asked = pulse.patience().min(BACKOFF_MAX);
    tokio::time::sleep(asked).await;
    tokio::select! {
        () = tokio::time::sleep(delay.saturating_sub(asked)) => {}
        () = orders.come() => {}
    }
}

/// Whether going on would be in vain, or leave something out.
///
/// kube's watcher lists again after a 410 in the stream. After one that answers the start of a watch it asks for the
/// same version again, for ever. And after a line that it cannot parse it continues with the next, although nobody
/// knows what the line contained.
fn needs_a_new_list(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::WatchStartFailed(kube::Error::Api(status)) => status.code == 410,
        watcher::Error::WatchFailed(kube::Error::SerdeError(_)) => true,
        _ => false,
    }
}

fn delay(error: &watcher::Error, failures: u32) -> Duration {
    backoff(failures, if is_missing(error) { BACKOFF_MISSING } else { BACKOFF_MAX })
}

/// Exponential, with jitter, so that the watches of many operators do not return at the same time.
fn backoff(failures: u32, max: Duration) -> Duration {
    let factor = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    let full = BACKOFF_BASE.saturating_mul(factor).min(max);
    full.mul_f64(jitter().mul_add(0.5, 0.5))
}

/// Something between 0 and 1, from the clock: good enough to spread retries.
pub(crate) fn jitter() -> f64 {
    f64::from(clock::timestamp().subsec_nanosecond().unsigned_abs() % 1000) / 1000.0
}

/// Whether the server does not know the kind to watch.
pub(crate) fn is_missing(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) => status.code == 404,
        _ => false,
    }
}

/// In the server's words if it has spoken.
fn text(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(cause)
        | watcher::Error::WatchStartFailed(cause)
        | watcher::Error::WatchFailed(cause) => refusal(cause).message,
        watcher::Error::WatchError(status) => status.message.clone(),
        watcher::Error::NoResourceVersion => explain(error),
    }
}

/// Logs a failure: an expiry of the watch's history is routine, repeated trouble is not.
pub(crate) fn log_failure(metrics: &Metrics, kind: &str, error: &watcher::Error, failures: u32) {
    metrics.watch_errors.with_label_values(&[kind]).inc();
    if failures < 2 {
        debug!(kind, error = text(error), "watch interrupted");
    } else {
        warn!(kind, failures, error = text(error), "watch keeps failing");
    }
}

#[cfg(test)]
mod tests;
