//! Flags of leader election.

use std::time::Duration;

use clap::Args;
use lease::{JITTER_FACTOR, Timings, TimingsError};

use super::selector::Selector;
use super::values::{lease_name, namespace, period};

/// Name of the lease, unless another is given.
const LEASE_NAME: &str = "rollwright";

/// How a leader is elected among several replicas.
#[derive(Debug, Args)]
pub(crate) struct ElectionArguments {
    /// Elect a leader among several replicas; only the leader writes.
    #[arg(
        long,
        value_name = "BOOL",
        env = "ROLLWRIGHT_LEADER_ELECT",
        default_value_t = false,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = clap::ArgAction::Set
    )]
    pub(crate) leader_elect: bool,
    /// How long other replicas wait for a renewal of the lease before one takes over.
    #[arg(
        long,
        value_name = "TIME",
        env = "ROLLWRIGHT_LEADER_ELECT_LEASE_DURATION",
        default_value = "15s",
        value_parser = period
    )]
    pub(crate) leader_elect_lease_duration: Duration,
    /// How long a leader keeps writing without renewing the lease.
    #[arg(
        long,
        value_name = "TIME",
        env = "ROLLWRIGHT_LEADER_ELECT_RENEW_DEADLINE",
        default_value = "10s",
        value_parser = period
    )]
    pub(crate) leader_elect_renew_deadline: Duration,
    /// Time between two attempts to acquire or renew the lease.
    #[arg(
        long,
        value_name = "TIME",
        env = "ROLLWRIGHT_LEADER_ELECT_RETRY_PERIOD",
        default_value = "2s",
        value_parser = period
    )]
    pub(crate) leader_elect_retry_period: Duration,
    /// Namespace of the lease [default: the pod's namespace, or that of the kubeconfig's context].
    #[arg(
        long,
        value_name = "NAMESPACE",
        env = "ROLLWRIGHT_LEADER_ELECT_RESOURCE_NAMESPACE",
        value_parser = namespace
    )]
    pub(crate) leader_elect_resource_namespace: Option<String>,
    /// Name of the lease. Replicas that share it elect one leader [default: rollwright, or with --selector
    /// rollwright-DIGEST of the selector].
    #[arg(
        long,
        value_name = "NAME",
        env = "ROLLWRIGHT_LEADER_ELECT_RESOURCE_NAME",
        value_parser = lease_name
    )]
    pub(crate) leader_elect_resource_name: Option<String>,
}

impl ElectionArguments {
    /// Name of the lease. Shards must not share one: all but one of them would stand by.
    pub(crate) fn lease_name(&self, selector: Option<&Selector>) -> String {
        let default = || selector.map_or(LEASE_NAME.to_owned(), |selector| selector.lease_name(LEASE_NAME));
        self.leader_elect_resource_name.clone().unwrap_or_else(default)
    }

    /// The timings; `None` when there is no election.
    ///
    /// # Errors
    /// If they don't fit together: which flag, and what to do.
    pub(crate) fn timings(&self) -> Result<Option<Timings>, String> {
        if !self.leader_elect {
            return Ok(None);
        }
        let (lease, renew, retry) = (
            self.leader_elect_lease_duration,
            self.leader_elect_renew_deadline,
            self.leader_elect_retry_period,
        );
        let [lease_text, renew_text, retry_text] =
            [lease, renew, retry].map(|time| format!("{}s", time.as_secs()));
        let timings = Timings::new(lease, renew, retry).map_err(|error| match error {
            TimingsError::NotSeconds(name) => format!("the {name} time {error}"),
            TimingsError::LeaseTooShort => format!(
                "--leader-elect-lease-duration {lease_text} must be greater than \
                 --leader-elect-renew-deadline {renew_text}: raise the former or lower the latter"
            ),
            TimingsError::RenewTooShort => format!(
                "--leader-elect-renew-deadline {renew_text} must be greater than {JITTER_FACTOR} times \
                 --leader-elect-retry-period {retry_text}: raise the former or lower the latter"
            ),
        })?;
        Ok(Some(timings))
    }
}
