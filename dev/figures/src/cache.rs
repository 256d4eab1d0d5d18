//! Bytes of heap that the operator's cache holds for an idle Deployment.

use std::sync::Arc;
use std::time::Instant;

use engine::index::{Index, Placed, Sight};
use plan::Flavour;

use crate::Failure;
use crate::record::Figures;
use crate::snapshots::{self, FLAVOURS, Specimen};

/// As many Deployments, and then twice as many: what is there with one already does not count.
const DEPLOYMENTS: u32 = 1_000;
/// Each has this many revisions beside the current one.
const OLD_REVISIONS: i64 = 5;

/// For both APIs. `held` returns how many bytes of heap this process holds.
///
/// # Errors
/// If what is made up for it cannot be decoded.
pub fn measure(held: impl Fn() -> usize) -> Result<Figures, Failure> {
    let each = FLAVOURS.map(|(api, flavour)| {
        let few = filled(flavour, DEPLOYMENTS, &held)?;
        let many = filled(flavour, 2 * DEPLOYMENTS, &held)?;
        Ok((
            format!("bytes per idle Deployment with {OLD_REVISIONS} old revisions, {api}"),
            (many - few) / f64::from(DEPLOYMENTS),
        ))
    });
    each.into_iter().collect()
}

/// What a cache of this many Deployments holds. They come in as lists do at the start, each object decoded from its
/// JSON.
fn filled(flavour: Flavour, deployments: u32, held: &impl Fn() -> usize) -> Result<f64, Failure> {
    let sight = if flavour.set_labels().is_some() { Sight::ByLabel } else { Sight::Whole };
    let mut index = Index::new(sight);
    let before = held();
    let (mut workloads, mut sets) = (Vec::new(), Vec::new());
    for number in 0..deployments {
        let specimen = Specimen { flavour, number };
        let observed = snapshots::told(specimen.snapshot(OLD_REVISIONS + 1, (0, snapshots::REPLICAS))?)?;
        let namespace = observed.workload.namespace.clone();
        workloads.push(observed.workload);
        sets.extend(
            observed.sets.into_iter().map(|set| Placed { namespace: namespace.clone(), set: Arc::new(set) }),
        );
    }
    drop(index.reset_workloads(None, workloads, Instant::now()));
    drop(index.reset_sets(None, sets));
    let bytes = held().saturating_sub(before);
    let there = u32::try_from(index.sizes().0).ok();
    if there != Some(deployments) {
        return Err(Failure::Subject(format!("the cache holds {there:?} Deployments, not {deployments}")));
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    Ok(bytes as f64)
}
