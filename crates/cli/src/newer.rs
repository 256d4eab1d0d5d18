//! What a newer operator left on a Deployment. Until somebody removes that or upgrades the operator, it follows
//! `spec.replicas`, and does nothing else (docs/deviations.md, "An operator that is too old"; rollwright.dev only).

use api::DeploymentStatus;
use plan::keys::reason::NEWER_SPEC;

use crate::cluster::Deployment;
use crate::failed::stalled;
use crate::failure::Failure;

/// What it left, with the fix, in a sentence without its end.
pub(crate) fn left(status: &DeploymentStatus) -> Option<String> {
    stalled(status, &[NEWER_SPEC]).map(|(_, words)| words)
}

/// Refuses what the operator would not do.
pub(crate) fn none(deployment: &Deployment, what: &str) -> Result<(), Failure> {
    let Some(left) = left(&deployment.status()) else { return Ok(()) };
    let name = deployment.full_name();
    Err(Failure::Rollout(format!(
        "nothing would come of {what}, because the operator only scales {name}: {left}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pinned::samples;

    #[test]
    fn what_a_newer_operator_left_is_read_from_the_condition() {
        let resting = samples::resting_until_promoted();
        assert_eq!(left(&resting.status()), None);
        assert!(none(&resting, "a retry").is_ok());
        let newer = samples::newer(resting);
        let words = samples::NEWER.strip_prefix("blocked: ").unwrap();
        assert_eq!(left(&newer.status()).as_deref(), Some(words));
        let refused = none(&newer, "a retry").err().map(|error| error.to_string());
        let expected = "nothing would come of a retry, because the operator only scales \
                        deployment.rollwright.dev/web";
        assert_eq!(refused, Some(format!("{expected}: {words}")));
    }
}
