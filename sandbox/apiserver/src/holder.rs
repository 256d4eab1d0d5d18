//! The store, shared between the server and the other actors in the cluster.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;
use tokio::time::Instant;
use world::Store;

/// Something that has a store in it.
pub trait Holder: Send + 'static {
    /// The store.
    fn store(&mut self) -> &mut Store;
}

impl Holder for Store {
    fn store(&mut self) -> &mut Store {
        self
    }
}

impl Holder for world::Cluster {
    fn store(&mut self) -> &mut Store {
        &mut self.store
    }
}

/// A holder behind a lock, with a clock and a signal for new versions.
///
/// The clock is tokio's: that of the wall, or, in a test, one that is paused.
pub struct Shared<H> {
    holder: Mutex<H>,
    version: watch::Sender<u64>,
    start: (Timestamp, Instant),
}

impl<H: Holder> Shared<H> {
    /// Shares a holder. Its clock starts at the store's time, and now.
    pub fn new(mut holder: H) -> Arc<Self> {
        let start = (holder.store().now(), Instant::now());
        let (version, _) = watch::channel(holder.store().version());
        Arc::new(Self { holder: Mutex::new(holder), version, start })
    }

    /// The time in the cluster.
    pub fn now(&self) -> Timestamp {
        let (start, origin) = self.start;
        let passed = SignedDuration::try_from(origin.elapsed()).unwrap_or(SignedDuration::MAX);
        start.checked_add(passed).unwrap_or(start)
    }

    /// The tokio time at which it is a time in the cluster; now, if that has passed.
    pub fn instant(&self, time: Timestamp) -> Instant {
        let (start, origin) = self.start;
        let ahead = time.duration_since(start);
        origin + std::time::Duration::try_from(ahead).unwrap_or_default()
    }

    /// Acts on the holder, at the present time, and notifies those that wait if there is a new version.
    pub fn act<R>(&self, action: impl FnOnce(&mut H) -> R) -> R {
        let mut holder = self.holder.lock().unwrap_or_else(PoisonError::into_inner);
        holder.store().set_now(self.now());
        let result = action(&mut holder);
        let version = holder.store().version();
        drop(holder);
        self.version.send_if_modified(|known| std::mem::replace(known, version) != version);
        result
    }

    /// Signals when there is a new version.
    pub fn versions(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }
}

/// The same without the holder's type.
pub(crate) trait Door: Send + Sync {
    fn with(&self, action: &mut dyn FnMut(&mut Store));
    fn versions(&self) -> watch::Receiver<u64>;
}

impl<H: Holder> Door for Shared<H> {
    fn with(&self, action: &mut dyn FnMut(&mut Store)) {
        self.act(|holder| action(holder.store()));
    }

    fn versions(&self) -> watch::Receiver<u64> {
        Self::versions(self)
    }
}

/// Acts on the store behind a door.
pub(crate) fn enter<R>(door: &dyn Door, action: impl FnOnce(&mut Store) -> R) -> Option<R> {
    let mut action = Some(action);
    let mut result = None;
    door.with(&mut |store| result = action.take().map(|action| action(store)));
    result
}
