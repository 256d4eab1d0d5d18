//! The signs of life of a watch, or of other work that goes on without an end, and the server's clock.

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
    /// Whether the last request was a list: the watch after it goes on from there.
    has_listed: AtomicBool,
    /// When a watch started last.
    started: Mutex<Option<Instant>>,
    /// The version at which a watch was resumed, without a list before it.
    resumed: Mutex<Option<u64>>,
    resumes: Notify,
}

impl Pulse {
    pub(crate) fn new() -> Self {
        Self {
            last: Mutex::new(Instant::now()),
            is_broken: AtomicBool::new(false),
            spared_until: Mutex::default(),
            time: Mutex::default(),
            has_listed: AtomicBool::new(false),
            started: Mutex::default(),
            resumed: Mutex::default(),
            resumes: Notify::new(),
        }
    }

    /// It is alive now.
    pub(crate) fn beat(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// How long ago that was.
    pub(crate) fn age(&self) -> Duration {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// It failed, and is being tried again.
    pub(crate) fn fell_ill(&self) {
        self.is_broken.store(true, Ordering::SeqCst);
    }

    /// It works again.
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

    /// We lead from now on.
    pub(crate) fn measure_again(&self) {
        let mut time = self.time.lock().unwrap_or_else(PoisonError::into_inner);
        *time = time.map(ServerTime::old);
    }

    /// What time it is by the server; `None` before its first answer.
    pub(crate) fn server_time(&self) -> Option<Timestamp> {
        let time = *self.time.lock().unwrap_or_else(PoisonError::into_inner);
        time.map(|time| time.now(clock::now()))
    }

    /// A list is requested.
    pub(crate) fn lists(&self) {
        self.has_listed.store(true, Ordering::SeqCst);
    }

    /// A watch starts, at this version. If it does so without a list before it, and sooner after the last one than
    /// `planned`, something has ended that one.
    pub(crate) fn starts(&self, version: u64, planned: Duration) {
        let last = self.started.lock().unwrap_or_else(PoisonError::into_inner).replace(Instant::now());
        let has_listed = self.has_listed.swap(false, Ordering::SeqCst);
        if !has_listed && last.is_some_and(|last| last.elapsed() < planned) {
            *self.resumed.lock().unwrap_or_else(PoisonError::into_inner) = Some(version);
            self.resumes.notify_one();
        }
    }

    /// Waits until a watch is resumed that something has ended. Says at which version.
    pub(crate) async fn resumed(&self) -> u64 {
        loop {
            let version = self.resumed.lock().unwrap_or_else(PoisonError::into_inner).take();
            match version {
                Some(version) => return version,
                None => self.resumes.notified().await,
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
