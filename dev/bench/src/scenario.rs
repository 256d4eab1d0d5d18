//! What is played, by name.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use crate::failure::Failure;
use crate::figure::Figure;
use crate::rollouts::Load;
use crate::side::Side;
use crate::{idle, news, rollouts, surcharge};

/// What one side does in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// Many Deployments are created, rolled out, rolled back, and scaled together.
    Rollouts(Load),
    /// How old the numbers in a status are.
    News,
    /// What a request costs the API server.
    Surcharge,
    /// This many Deployments with which nothing happens.
    Idle(usize),
    /// This many Deployments as their old revisions pile up.
    Growth(usize),
}

impl Scenario {
    /// How often each side plays it.
    pub(crate) fn rounds(self) -> usize {
        match self {
            Self::Rollouts(_) | Self::News | Self::Surcharge => 3,
            Self::Idle(_) | Self::Growth(_) => 1,
        }
    }

    /// A sentence for below the heading.
    pub(crate) fn about(self) -> String {
        match self {
            Self::Rollouts(load) => load.about(),
            Self::News => news::ABOUT.to_owned(),
            Self::Surcharge => surcharge::ABOUT.to_owned(),
            Self::Idle(_) => idle::ABOUT_IDLE.to_owned(),
            Self::Growth(_) => idle::ABOUT_GROWTH.to_owned(),
        }
    }

    /// One side plays it, on a control plane of its own.
    pub(crate) async fn play(self, operator: &Path, side: Side) -> Result<Vec<Figure>, Failure> {
        match self {
            Self::Rollouts(load) => rollouts::play(operator, load, side).await,
            _ if side == Side::ArgoRollouts => Ok(Vec::new()),
            Self::News => news::play(operator, side).await,
            Self::Surcharge => surcharge::play(side).await,
            Self::Idle(deployments) => idle::play(operator, deployments, side).await,
            Self::Growth(deployments) => idle::grow(operator, deployments, side).await,
        }
    }

    fn parse(name: &str) -> Option<Self> {
        let size = |text: &str| text.parse().ok().filter(|size| *size > 0);
        Some(match name.split_once('-') {
            None if name == "news" => Self::News,
            None if name == "surcharge" => Self::Surcharge,
            None => return None,
            Some(("idle", deployments)) => Self::Idle(size(deployments)?),
            Some(("growth", deployments)) => Self::Growth(size(deployments)?),
            Some((load, time)) => {
                let (deployments, replicas) = load.split_once('x')?;
                let seconds = time.strip_suffix('s')?.parse().ok()?;
                Self::Rollouts(Load {
                    deployments: size(deployments)?,
                    replicas: replicas.parse().ok()?,
                    ready_after: Duration::try_from_secs_f64(seconds).ok()?,
                })
            }
        })
    }
}

impl FromStr for Scenario {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::parse(name).ok_or_else(|| format!("there is no scenario {name}"))
    }
}

/// `500x2-8s` has 500 Deployments of two pods that are ready after 8 s.
impl fmt::Display for Scenario {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rollouts(Load { deployments, replicas, ready_after }) => {
                write!(text, "{deployments}x{replicas}-{}s", ready_after.as_secs_f64())
            }
            Self::News => write!(text, "news"),
            Self::Surcharge => write!(text, "surcharge"),
            Self::Idle(deployments) => write!(text, "idle-{deployments}"),
            Self::Growth(deployments) => write!(text, "growth-{deployments}"),
        }
    }
}

/// What fits into five minutes on two cores.
pub(crate) const QUICK: &[&str] = &["50x2-0.1s", "50x2-8s"];
/// What fits into an hour on two cores.
pub(crate) const STANDARD: &[&str] =
    &["100x5-0.1s", "500x2-0.1s", "100x5-8s", "500x2-8s", "news", "surcharge"];
/// What docs/internals/benchmarks.md shows besides.
pub(crate) const MORE: &[&str] = &[
    "300x2-8s",
    "100x5-1s",
    "500x2-1s",
    "100x2-1s",
    "idle-1000",
    "idle-5000",
    "idle-10000",
    "growth-1000",
    "growth-5000",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_as_it_is_written() {
        for name in [QUICK, STANDARD, MORE].concat() {
            assert_eq!(name.parse::<Scenario>().unwrap().to_string(), name);
        }
        for wrong in ["", "idle", "idle-0", "growth-x", "500x2", "500-8s", "500x2--8s", "0x2-8s"] {
            assert!(wrong.parse::<Scenario>().is_err(), "{wrong}");
        }
    }
}
