//! Working while we lead, and standing by with warm caches while we don't.
//!
//! A standby's watches may lag. Preconditions keep what it writes from overwriting anything, but a
//! decision counts the pods of all sets of a Deployment, and a write names the version of one: from
//! sizes older than the last leader's writes, pods beyond the surge could be started (SU-1), or
//! available ones ended (AV-1). So whoever has won the lease lists everything anew before anything
//! is decided. The leader before writes nothing any more by then, and a list shows all that was
//! written before it began.

use std::sync::Arc;

use tokio::time::Instant;
use tracing::info;

use crate::reconcile::controller::Controller;
use crate::watch::caches::{self, Cache};

/// Takes turns with the other replicas, until the task is dropped.
pub(crate) async fn take_turns(controller: Arc<Controller>, caches: Vec<Cache>) {
    caches::all_filled(&caches).await;
    loop {
        let term = controller.leadership.won().await;
        let work = async {
            if controller.leadership.is_elected() {
                renew(&controller, &caches).await;
            }
            controller.take_over(term);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            () = controller.leadership.lost(term) => {}
            () = work => {}
        }
        controller.stand_by();
    }
}

/// Sees to it that the caches show all that anybody wrote under the lease before us.
async fn renew(controller: &Controller, caches: &[Cache]) {
    let begin = Instant::now();
    controller.start_over();
    caches::renew(caches).await;
    let took = begin.elapsed();
    info!(api = controller.flavour.api_version(), ?took, "everything has been listed anew; taking over");
}
