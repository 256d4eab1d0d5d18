//! Whether this process may write: the leadership that the election renews, and every writer reads.
//!
//! Leadership ends by itself when its time is over, on the monotonic clock, whether or not the election
//! gets to run. So a process that was stopped for a while, or cannot reach the server, writes nothing from
//! the first moment on.

pub(crate) mod election;
pub(crate) mod terms;

use std::time::Instant;

use engine::reconcile::Refusal;
use lease::Lead;
use tokio::sync::watch;

use crate::clock;

/// The term of those that need no election.
const ONLY_TERM: u64 = 0;

/// Whether this process may write; cheap to clone.
#[derive(Clone)]
pub(crate) struct Leadership {
    /// `None` if nobody else is there.
    leads: Option<watch::Receiver<Option<Lead>>>,
    /// What no other process has.
    process: u64,
}

/// Where the election shows whether this operator leads.
pub(crate) type Announcer = watch::Sender<Option<Lead>>;

impl Leadership {
    /// Nobody else is there: no lead is needed.
    pub(crate) fn unneeded() -> Self {
        Self::of(None)
    }

    /// Nothing is written but by the one that leads.
    pub(crate) fn elected() -> (Announcer, Self) {
        let (announcer, lead) = watch::channel(None);
        (announcer, Self::of(Some(lead)))
    }

    fn of(leads: Option<watch::Receiver<Option<Lead>>>) -> Self {
        Self { leads, process: uuid::Uuid::new_v4().as_u64_pair().0 }
    }

    /// What no other process has, not even this one after a restart.
    pub(crate) fn process(&self) -> u64 {
        self.process
    }

    /// Whether there is an election.
    pub(crate) fn is_elected(&self) -> bool {
        self.leads.is_some()
    }

    fn lead(&self) -> Option<Lead> {
        let lead = *self.leads.as_ref()?.borrow();
        lead.filter(|lead| clock::now() < lead.until)
    }

    /// The term that work may be begun in now; `None` while the operator stands by.
    pub(crate) fn term(&self) -> Option<u64> {
        match &self.leads {
            None => Some(ONLY_TERM),
            Some(_) => self.lead().map(|lead| lead.term),
        }
    }

    /// Lets a write leave, and returns when the wait for its answer has to end, if ever: then another may lead. Work
    /// that was begun in an earlier term has seen an older cluster; its writes are refused as if the operator did not
    /// lead. `None` is work that belongs to no term.
    pub(crate) fn permit(&self, term: Option<u64>) -> Result<Option<Instant>, Refusal> {
        if !self.is_elected() {
            return Ok(None);
        }
        let lead = self.lead().ok_or_else(Refusal::not_leader)?;
        let is_of_this_term = term.is_none_or(|term| term == lead.term);
        if is_of_this_term { Ok(Some(lead.expires)) } else { Err(Refusal::not_leader()) }
    }

    /// Waits until this operator leads; returns the term.
    pub(crate) async fn won(&self) -> u64 {
        let Some(mut leads) = self.leads.clone() else { return ONLY_TERM };
        loop {
            if let Some(term) = self.term() {
                return term;
            }
            if leads.changed().await.is_err() {
                // The election has ended, and with it the process.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until this operator leads no more, or in another term.
    pub(crate) async fn lost(&self, term: u64) {
        let Some(mut leads) = self.leads.clone() else { return std::future::pending().await };
        loop {
            let Some(lead) = self.lead().filter(|lead| lead.term == term) else { return };
            tokio::select! {
                () = tokio::time::sleep_until(lead.until.into()) => {}
                changed = leads.changed() => if changed.is_err() {
                    return;
                },
            }
        }
    }
}

#[cfg(test)]
mod tests;
