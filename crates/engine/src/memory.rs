//! What the operator remembers of a Deployment from one reconcile to the next. Losing it costs requests,
//! and changes no decision.

use std::collections::HashMap;
use std::time::Instant;

use crate::durations::{DRY_RUN_PATIENCE, DRY_RUN_SERIES};
use crate::reconcile::{Outcome, Refusal};
use jiff::Timestamp;
use plan::template::{Digest, Fingerprint};
use plan::{DryRun, Workload};

use crate::index::Key;

/// By Deployment, in one flavour.
#[derive(Default)]
pub struct Memory {
    entries: HashMap<Key, Entry>,
}

#[derive(Default)]
struct Entry {
    uid: String,
    /// Names of orphans, once they were looked for.
    orphans: Option<Vec<String>>,
    why: String,
    dry_run: Option<(Fingerprint, DryRun)>,
    dry_run_fails: Option<Series>,
    status_written: Option<Timestamp>,
    /// Since when there is news for the status that waits.
    status_held: Option<Timestamp>,
}

/// Failures of the dry runs of one template, without a longer pause between two of them.
struct Series {
    of: Fingerprint,
    since: Instant,
    last: Instant,
}

impl Memory {
    /// The entry of this very object; one that was deleted and created anew starts afresh.
    fn entry(&mut self, key: &Key, uid: &str) -> &mut Entry {
        let entry = self.entries.entry(key.clone()).or_default();
        if entry.uid != uid {
            *entry = Entry { uid: uid.to_owned(), ..Entry::default() };
        }
        entry
    }

    /// The Deployment is gone.
    pub fn forget(&mut self, key: &Key) {
        self.entries.remove(key);
    }

    /// Whether orphans were looked for already.
    pub fn has_scouted(&mut self, key: &Key, uid: &str) -> bool {
        self.entry(key, uid).orphans.is_some()
    }

    /// Orphans are to be looked for anew, of all Deployments.
    pub fn forget_scouting(&mut self) {
        self.entries.values_mut().for_each(|entry| entry.orphans = None);
    }

    /// Others may have led since: orphans are to be looked for anew, and what failed before says nothing any more.
    pub fn start_over(&mut self) {
        self.forget_scouting();
        self.entries.values_mut().for_each(|entry| entry.dry_run_fails = None);
    }

    /// Orphans were looked for, and these were found.
    pub fn note_scouted(&mut self, key: &Key, uid: &str, orphans: Vec<String>) {
        self.entry(key, uid).orphans = Some(orphans);
    }

    /// The orphans that were found.
    pub fn orphans(&mut self, key: &Key, uid: &str) -> Vec<String> {
        self.entry(key, uid).orphans.clone().unwrap_or_default()
    }

    /// Notes why the rollout is where it is; true if that is news.
    pub fn note_why(&mut self, key: &Key, uid: &str, why: &str) -> bool {
        let entry = self.entry(key, uid);
        let is_news = entry.why != why;
        if is_news {
            why.clone_into(&mut entry.why);
        }
        is_news
    }

    /// A reconcile that began then is over.
    pub fn note_status(&mut self, key: &Key, uid: &str, outcome: &Outcome, begun: Timestamp) {
        let entry = self.entry(key, uid);
        if outcome.wrote_status {
            entry.status_written = Some(begun);
        }
        if outcome.wrote_status || outcome.error.is_none() {
            entry.status_held = outcome.holds_status.then(|| entry.status_held.unwrap_or(begun));
        }
    }

    /// Since when there is news for the status that waits.
    pub fn status_held(&mut self, key: &Key, uid: &str) -> Option<Timestamp> {
        self.entry(key, uid).status_held
    }

    /// When the status was written last.
    pub fn status_written(&mut self, key: &Key, uid: &str) -> Option<Timestamp> {
        self.entry(key, uid).status_written
    }

    /// The answer of an earlier dry run of this template.
    pub fn dry_run(&mut self, key: &Key, uid: &str, fingerprint: &Fingerprint) -> Option<DryRun> {
        let (of, answer) = self.entry(key, uid).dry_run.as_ref()?;
        (of == fingerprint).then(|| answer.clone())
    }

    /// What a dry run comes to, and remembers it where that is of use: the template before is of
    /// none any more.
    ///
    /// # Errors
    /// When it is worth another try.
    pub fn settle_dry_run(
        &mut self,
        key: &Key,
        workload: &Workload,
        result: Result<Digest, Refusal>,
        now: Instant,
    ) -> Result<DryRun, Refusal> {
        let answer = match result {
            Ok(stored) => DryRun::Stored(stored),
            Err(refusal) => {
                if refusal.namespace_terminating || self.may_recover(key, workload, &refusal, now) {
                    return Err(refusal);
                }
                if refusal.code == 403 {
                    // A quota is lifted some day: not remembered.
                    return Ok(DryRun::Refused);
                }
                DryRun::Refused
            }
        };
        let entry = self.entry(key, &workload.uid);
        entry.dry_run_fails = None;
        entry.dry_run = Some((workload.template.fingerprint.clone(), answer.clone()));
        Ok(answer)
    }

    /// Whether a failed dry run is worth another try: the server did not say no, it was unwell.
    /// Creating a set for want of an answer could restart every pod, so it is given some time.
    fn may_recover(&mut self, key: &Key, workload: &Workload, refusal: &Refusal, now: Instant) -> bool {
        let of = &workload.template.fingerprint;
        let entry = self.entry(key, &workload.uid);
        let is_unwell = matches!(refusal.code, 0 | 408 | 409 | 429 | 500..);
        if !is_unwell {
            entry.dry_run_fails = None;
            return false;
        }
        let goes_on = |known: &Series| known.of == *of && now < known.last + DRY_RUN_SERIES;
        let since = entry.dry_run_fails.take().filter(goes_on).map_or(now, |known| known.since);
        entry.dry_run_fails = Some(Series { of: of.clone(), since, last: now });
        now.saturating_duration_since(since) < DRY_RUN_PATIENCE
    }
}

#[cfg(test)]
mod tests;
