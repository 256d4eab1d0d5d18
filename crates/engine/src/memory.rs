//! What the operator remembers of a Deployment from one reconcile to the next. Losing it costs requests,
//! and changes no decision.

use std::time::Instant;

use crate::durations::{DRY_RUN_PATIENCE, DRY_RUN_SERIES};
use crate::reconcile::{Outcome, Refusal};
use jiff::Timestamp;
use plan::DryRun;
use plan::template::{Digest, Fingerprint};

/// Of one Deployment.
#[derive(Default)]
pub(crate) struct Memory {
    /// Names of orphans, once they were looked for.
    orphans: Option<Box<[String]>>,
    why: Box<str>,
    dry_run: Option<Box<(Fingerprint, DryRun)>>,
    dry_run_fails: Option<Box<Series>>,
    /// Since when there is news for the status that waits.
    pub(crate) status_waits_since: Option<Timestamp>,
}

/// Failures of the dry runs of one template, without a longer pause between two of them.
struct Series {
    of: Fingerprint,
    since: Instant,
    last: Instant,
}

impl Memory {
    /// Whether orphans were looked for already.
    pub(crate) fn has_scouted(&self) -> bool {
        self.orphans.is_some()
    }

    /// The operator has to look for orphans again.
    pub(crate) fn forget_scouting(&mut self) {
        self.orphans = None;
    }

    /// Others may have led since: the operator has to look for orphans again, and what failed before means nothing any
    /// more.
    pub(crate) fn start_over(&mut self) {
        (self.orphans, self.dry_run_fails) = (None, None);
    }

    /// Orphans were looked for, and these were found.
    pub(crate) fn note_scouted(&mut self, orphans: Vec<String>) {
        self.orphans = Some(orphans.into());
    }

    /// The orphans that were found.
    pub(crate) fn orphans(&self) -> Vec<String> {
        self.orphans.as_deref().unwrap_or_default().to_vec()
    }

    /// Notes why the rollout is where it is; true if that is news.
    pub(crate) fn note_why(&mut self, why: &str) -> bool {
        let is_news = *self.why != *why;
        if is_news {
            self.why = why.into();
        }
        is_news
    }

    /// A reconcile that began then is over.
    pub(crate) fn note_status(&mut self, outcome: &Outcome, begun: Timestamp) {
        if outcome.wrote_status || outcome.error.is_none() {
            self.status_waits_since = outcome.status_waits.then(|| self.status_waits_since.unwrap_or(begun));
        }
    }

    /// The answer of an earlier dry run of this template.
    pub(crate) fn dry_run(&self, fingerprint: &Fingerprint) -> Option<DryRun> {
        let (of, answer) = self.dry_run.as_deref()?;
        (of == fingerprint).then(|| answer.clone())
    }

    /// What a dry run comes to, and remembers it where that is of use: the template before is of
    /// none any more.
    ///
    /// # Errors
    /// When it is worth another try.
    pub(crate) fn settle_dry_run(
        &mut self,
        of: &Fingerprint,
        result: Result<Digest, Refusal>,
        now: Instant,
    ) -> Result<DryRun, Refusal> {
        let answer = match result {
            Ok(stored) => DryRun::Stored(stored),
            Err(refusal) => {
                if refusal.namespace_terminating || self.may_recover(of, &refusal, now) {
                    return Err(refusal);
                }
                if refusal.code == 403 {
                    // A quota is lifted some day: not remembered.
                    return Ok(DryRun::Refused);
                }
                DryRun::Refused
            }
        };
        self.dry_run_fails = None;
        self.dry_run = Some(Box::new((of.clone(), answer.clone())));
        Ok(answer)
    }

    /// Whether a failed dry run is worth another try: the server did not refuse, it was unwell. Creating a ReplicaSet
    /// for want of an answer could restart every pod, so it is given some time.
    fn may_recover(&mut self, of: &Fingerprint, refusal: &Refusal, now: Instant) -> bool {
        let is_unwell = matches!(refusal.code, 0 | 408 | 409 | 429 | 500..);
        if !is_unwell {
            self.dry_run_fails = None;
            return false;
        }
        let goes_on = |known: &Series| known.of == *of && now < known.last + DRY_RUN_SERIES;
        let since = self.dry_run_fails.take().filter(|known| goes_on(known)).map_or(now, |known| known.since);
        self.dry_run_fails = Some(Box::new(Series { of: of.clone(), since, last: now }));
        now.saturating_duration_since(since) < DRY_RUN_PATIENCE
    }
}

#[cfg(test)]
mod tests;
