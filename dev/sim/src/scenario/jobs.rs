//! Gates and hooks as a scenario has them: Jobs that have to succeed.

use serde::{Deserialize, Serialize};

use super::Target;

/// A Job that has to succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// What its pod does.
    pub doing: Doing,
    /// `timeoutSeconds`.
    pub timeout: Option<i64>,
    /// Another number makes another template.
    pub number: u8,
}

/// What the pod of a Job does, until all is healed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Doing {
    /// The pod succeeds.
    Succeeds,
    /// The pod fails.
    Fails,
    /// The pod runs and does not end.
    Lasts,
    /// The image of the pod cannot be pulled.
    Waits,
}

/// What users do about Jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobAct {
    /// `spec.strategy.hooks`: before and after.
    Hooks(Option<Probe>, Option<Probe>),
    /// Somebody deletes a Job: which.
    Delete(u8),
    /// The declared revision is promoted past its gates; the number makes it another request.
    Force(Target, u8),
}
