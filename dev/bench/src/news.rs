//! How old the numbers in Deployments' statuses are, field by field: one Deployment on an idle cluster, and many that
//! roll out together.

use std::path::Path;
use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ApiResource, DeleteParams, ListParams};

use crate::failure::Failure;
use crate::figure::Figure;
use crate::ground;
use crate::lag::{FIELDS, Lags};
use crate::side::Side;
use crate::stage::{Change, Stage};

/// Until a pod is ready, and until a deleted one is gone.
const POD: Duration = Duration::from_secs(1);
/// Longer than any controller waits with a write, and until deleted pods have been replaced.
const QUIET: Duration = Duration::from_secs(5);
/// Pods of the single Deployment that are deleted together.
const DELETED: u32 = 15;

pub(crate) const ABOUT: &str = "Seconds that pass from a change in the statuses of the ReplicaSets until the Deployment's status shows it, or \
     something newer. Pods are ready and gone after 1 s. One Deployment of 100 is created, rolled out, loses 15 pods, \
     and is scaled; 500 of 2 are created, and rolled out together.";

/// Name, Deployments, and replicas.
const LOADS: [(&str, usize, i64); 2] = [("one of 100", 1, 100), ("500 of 2", 500, 2)];

pub(crate) async fn play(operator: &Path, side: Side) -> Result<Vec<Figure>, Failure> {
    let mut figures = Vec::new();
    for (name, deployments, replicas) in LOADS {
        let lags = lags(operator, side, deployments, replicas).await?;
        for ((_, field), lags) in FIELDS.iter().zip(&lags) {
            for share in [50, 99] {
                figures.push(Figure::pooled(name, format!("{field}, p{share} (s)"), lags, share));
            }
        }
    }
    Ok(figures)
}

/// By field.
async fn lags(
    operator: &Path,
    side: Side,
    deployments: usize,
    replicas: i64,
) -> Result<[Vec<Duration>; FIELDS.len()], Failure> {
    let cluster = ground::start(POD, POD, Vec::new()).await?;
    let controller = side.start(&cluster, operator)?;
    let stage = Stage::new(&cluster, side).await?;
    let resource = ApiResource::erase::<ReplicaSet>(&());
    let sets = Api::namespaced_with(stage.client.clone(), &stage.namespace, &resource);
    let lags = Lags::follow(stage.deployments.clone(), sets);
    let start = Instant::now();
    // Waits until nothing follows any more, too.
    let change = async |change: Change| -> Result<(), Failure> {
        stage.change(deployments, &change).await?;
        tokio::time::sleep(QUIET).await;
        Ok(())
    };
    change(Change::Create(replicas)).await?;
    change(Change::template(2)).await?;
    if deployments == 1 {
        delete_some(&Api::namespaced(stage.client.clone(), &stage.namespace)).await?;
        change(Change::size(replicas / 2)).await?;
    }
    let measured = lags.since(start);
    drop((lags, stage));
    ground::end(controller).await?;
    ground::clear(cluster).await?;
    Ok(measured)
}

/// Deletes some pods, and waits until they are replaced.
async fn delete_some(pods: &Api<Pod>) -> Result<(), Failure> {
    let some = pods.list_metadata(&ListParams::default().limit(DELETED)).await?;
    for name in some.items.into_iter().filter_map(|pod| pod.metadata.name) {
        pods.delete(&name, &DeleteParams::default()).await?;
    }
    tokio::time::sleep(QUIET).await;
    Ok(())
}
