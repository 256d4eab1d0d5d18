//! The signs of life of a watch, or of other work without an end, and the server's clock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::client::server_time::ServerTime;
use crate::clock;

/// When something last gave a sign of life, and whether it is known to be broken.
#[derive(Debug)]
pub(crate) struct Pulse {
    last: Mutex<Instant>,
    is_broken: AtomicBool,
    spared_until: Mutex<Option<Instant>>,
    time: Mutex<Option<ServerTime>>,
    /// The version at which a watch started, until somebody asks for it.
    start: Mutex<Option<u64>>,
    starts: Notify,
}

impl Pulse {
    pub(crate) fn new() -> Self {
        Self {
            last: Mutex::new(Instant::now()),
            is_broken: AtomicBool::new(false),
            spared_until: Mutex::default(),
            time: Mutex::default(),
            start: Mutex::default(),
            starts: Notify::new(),
        }
    }

    /// The work is alive now.
    pub(crate) fn beat(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// How long ago that was.
    pub(crate) fn age(&self) -> Duration {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// The work failed, and is being tried again.
    pub(crate) fn fell_ill(&self) {
        self.is_broken.store(true, Ordering::SeqCst);
    }

    /// The work succeeds again.
    pub(crate) fn recovered(&self) {
        self.is_broken.store(false, Ordering::SeqCst);
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::SeqCst)
    }

    /// The server wrote an answer at this time.
    pub(crate) fn read(&self, date: Timestamp) {
        let mut time = self.time.lock().unwrap_or_else(PoisonError::into_inner);
        *time = Some(ServerTime::after(*time, date, clock::now()));
    }

    /// The operator leads from now on.
    pub(crate) fn measure_again(&self) {
        let mut time = self.time.lock().unwrap_or_else(PoisonError::into_inner);
        *time = time.map(ServerTime::old);
    }

    /// What time it is by the server; `None` before its first answer.
    pub(crate) fn server_time(&self) -> Option<Timestamp> {
        let time = *self.time.lock().unwrap_or_else(PoisonError::into_inner);
        time.map(|time| time.now(clock::now()))
    }

    /// A watch starts, at this version.
    pub(crate) fn starts(&self, version: u64) {
        *self.start.lock().unwrap_or_else(PoisonError::into_inner) = Some(version);
        self.starts.notify_one();
    }

    /// Waits until a watch starts. Returns at which version.
    pub(crate) async fn start(&self) -> u64 {
        loop {
            let version = self.start.lock().unwrap_or_else(PoisonError::into_inner).take();
            match version {
                Some(version) => return version,
                None => self.starts.notified().await,
            }
        }
    }

    /// The server asked to be spared for this long.
    pub(crate) fn spare(&self, asked: Duration) {
        let mut until = self.spared_until.lock().unwrap_or_else(PoisonError::into_inner);
        *until = (*until).max(Some(Instant::now() + asked));
    }

    /// For how long the server still wants to be spared.
    pub(crate) fn patience(&self) -> Duration {
        let until = *self.spared_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
    }
}
