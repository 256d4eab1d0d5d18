//! Works while this replica leads, and stands by with warm caches while it does not.
//!
//! A standby's watches may lag. Preconditions prevent its writes from overwriting anything. But a decision
//! counts the pods of all ReplicaSets of a Deployment, and a write names the version of only one. From
//! sizes older than the last leader's writes, it could start pods beyond the surge (SU-1), or end available
//! ones (AV-1). So a replica that has won the lease lists everything again before it decides from its caches,
//! unless their first lists began under this lease. By then the previous leader no longer writes, and a list shows
//! everything written before it began. Until the lists have come, only what users edit is looked at, from live reads.

use std::sync::Arc;

use tokio::time::Instant;
use tracing::info;

use crate::reconcile::reconciler::Reconciler;
use crate::watch::caches::{self, Cache};

/// Leads and stands by in alternation with the other replicas, until the task is dropped.
pub(crate) async fn lead_and_stand_by(reconciler: Arc<Reconciler>, caches: Vec<Cache>) {
    loop {
        let term = reconciler.leadership().won().await;
        let work = async {
            reconciler.begin(term);
            caches::all_filled(&caches).await;
            if reconciler.leadership().is_elected() && !caches::began_in(&caches, term) {
                renew(&reconciler, &caches).await;
            }
            reconciler.take_over();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            () = reconciler.leadership().lost(term) => {}
            () = work => {}
        }
        reconciler.stand_by();
    }
}

/// Makes sure that the caches show all writes of the leaders before this one.
async fn renew(reconciler: &Reconciler, caches: &[Cache]) {
    let begin = Instant::now();
    reconciler.start_over();
    caches::renew(caches).await;
    let took = begin.elapsed();
    info!(api = reconciler.flavour.api_version(), ?took, "everything has been listed anew; taking over");
}
