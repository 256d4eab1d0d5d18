use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

use super::*;

const LIMIT: Duration = Duration::from_secs(180);

struct Setting {
    health: Health,
    pulse: Arc<Pulse>,
    progress: Arc<Progress>,
    due: Arc<Mutex<Option<Instant>>>,
}

fn setting() -> Setting {
    let (pulse, progress) = (Arc::new(Pulse::new()), Arc::new(Progress::new()));
    let due: Arc<Mutex<Option<Instant>>> = Arc::default();
    let next = due.clone();
    let overdue = move || {
        let due = *next.lock().unwrap_or_else(PoisonError::into_inner);
        due.map_or(Duration::ZERO, |due| Instant::now().saturating_duration_since(due))
    };
    let health = Health {
        stalled_after: LIMIT,
        watches: vec![WatchPulse {
            api: "apps/v1",
            kind: "replicasets",
            namespace: None,
            pulse: pulse.clone(),
        }],
        dispatchers: vec![Dispatcher {
            api: "apps/v1",
            progress: progress.clone(),
            overdue: Box::new(overdue),
        }],
    };
    Setting { health, pulse, progress, due }
}

#[tokio::test(start_paused = true)]
async fn complains_of_a_watch_that_is_silent() {
    let Setting { health, pulse, .. } = setting();
    tokio::time::advance(LIMIT).await;
    assert_eq!(health.complaints(), "");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(health.complaints(), "the watch of replicasets (apps/v1) has been silent for 181 s\n");
    pulse.beat();
    assert_eq!(health.complaints(), "");
}

#[tokio::test(start_paused = true)]
async fn complains_of_workers_that_are_stuck_in_reconciles() {
    let Setting { health, pulse, progress, .. } = setting();
    progress.start();
    progress.took();
    progress.took();
    progress.finished();
    tokio::time::advance(LIMIT + Duration::from_secs(1)).await;
    pulse.beat();
    assert_eq!(health.complaints(), "the workers (apps/v1) have not moved for 181 s\n");
    progress.finished();
    assert_eq!(health.complaints(), "");
    // Nothing to do for an hour, and then a reconcile.
    tokio::time::advance(Duration::from_secs(3600)).await;
    pulse.beat();
    progress.took();
    assert_eq!(health.complaints(), "");
}

#[tokio::test(start_paused = true)]
async fn complains_of_a_queue_that_nobody_empties() {
    let Setting { health, pulse, progress, due } = setting();
    if let Ok(mut due) = due.lock() {
        *due = Some(Instant::now());
    }
    tokio::time::advance(LIMIT + Duration::from_secs(1)).await;
    pulse.beat();
    // Before the caches are filled, no worker empties the queue.
    assert_eq!(health.complaints(), "");
    progress.start();
    assert_eq!(health.complaints(), "the workers (apps/v1) have not moved for 181 s\n");
}
