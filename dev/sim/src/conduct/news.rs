//! What the watches of an operator bring, and whether it is bad news.

use ::engine::next::Next;
use ::engine::reconcile::Outcome;

use crate::checks::news;
use crate::engine::{Engine, Time};
use crate::history::SetVersion;
use crate::link::Ended;
use crate::operator::{Operator, Watch};
use crate::rival::is_rival;
use crate::subject::{Which, called};

impl Operator {
    /// Its watch brought a version of a ReplicaSet. True if it is bad news.
    fn saw_set(&mut self, entry: &SetVersion, now: Time) -> bool {
        let uid = &entry.set.uid;
        let is_known = self.conduct.ahead.get(uid).is_some_and(|(_, known)| *known >= entry.version);
        // The watch does not show a ReplicaSet that has left it.
        let (before, is_shown) = if entry.is_deleted || !entry.is_marked {
            let before = self.conduct.sets.remove(uid);
            let is_shown = before.is_some();
            (before, is_shown)
        } else {
            (self.conduct.sets.insert(uid.clone(), entry.set.clone()), true)
        };
        let owner = entry.set.controller_uid.as_deref();
        let Some(of) = owner.and_then(|uid| self.owner(&entry.namespace, uid)) else {
            // A ReplicaSet without a known owner may be news for anybody.
            self.conduct.keys.values_mut().for_each(|known| known.is_stirred = true);
            return false;
        };
        let known = self.conduct.of(of);
        known.is_stirred = true;
        if !is_shown || is_known {
            return false;
        }
        known.hears(now);
        let is_bad = before.is_some_and(|before| match entry.is_deleted {
            true => before.status.replicas > 0,
            false => entry.is_marked && news::has_lost(entry.set.size, &before.status, &entry.set.status),
        });
        if is_bad {
            known.hears_bad(now);
        }
        is_bad
    }
}

impl Engine<'_> {
    /// A watch brought what happened after a version.
    pub(crate) fn saw_news(&mut self, id: u64, watch: Watch, after: u64) {
        let now = self.now;
        let Some(operator) = self.operators.get_mut(&id).filter(|_| self.scenario.fleet.is_some()) else {
            return;
        };
        match watch {
            Watch::Workloads => {
                for entry in self.history.workloads_after(after) {
                    let known = operator.conduct.of(called(&entry.workload.namespace, &entry.workload.name));
                    known.hears(now);
                    known.granted = None;
                    if entry.by_rival {
                        known.heard = now;
                    }
                }
            }
            Watch::Sets => {
                let news = self.history.sets_after(after).iter();
                let bad = news.filter(|entry| operator.saw_set(entry, now)).count();
                (0..bad).for_each(|_| self.coverage.hit("bad news"));
            }
        }
    }

    /// Pods of these changed that an operator watches.
    pub(crate) fn saw_pods(&mut self, id: u64, of: &[Which]) {
        let Some(operator) = self.operators.get_mut(&id).filter(|_| self.scenario.fleet.is_some()) else {
            return;
        };
        of.iter().for_each(|which| operator.conduct.of(*which).is_stirred = true);
    }

    /// An attempt is over: has it reported the bad news that it was begun with?
    pub(super) fn saw_bad_news_told(&mut self, id: u64, ended: &Ended) {
        let is_alone = self.operators.len() == 1;
        let Some(operator) = self.operators.get_mut(&id) else { return };
        let known = operator.conduct.of(ended.of);
        let mut verdict = news::holds_nothing(known);
        // Its counters may be left to the next reconcile, which sees the outcome.
        let writes = |outcome: &Outcome| outcome.writes > usize::from(outcome.wrote_status);
        let wrote_sets = ended.outcome.as_ref().is_some_and(writes);
        let is_through = match ended.next {
            Next::Nothing | Next::After(_) => !wrote_sets,
            Next::Wait(_) => false,
            Next::Failed(_) => known.has_given_up,
        };
        let tells_bad = known.tells_bad && is_through && ended.outcome.is_some();
        known.tells_bad &= !is_through;
        let written = known.known.0;
        let view = ended.view.as_ref().filter(|view| tells_bad && is_alone && !view.is_rolled_back);
        let workload = self.subjects.get(ended.of).and_then(|subject| subject.truth.workload.as_ref());
        if let (Ok(()), Some(view), Some(workload)) = (&verdict, view, workload) {
            // Nobody else has written it since.
            let is_ours = workload.resource_version == view.workload.resource_version
                || workload.resource_version.parse() == Ok(written);
            if is_ours {
                verdict = news::promises_no_more(view, workload);
                self.coverage.hit("bad news told");
            }
        }
        self.violates(ended.of, verdict.map_err(|text| ("BN-1", text)));
    }

    /// A watch has listed again.
    pub(crate) fn saw_list(&mut self, id: u64, watch: Watch, version: u64) {
        let now = self.now;
        let Some(operator) = self.operators.get_mut(&id).filter(|_| self.scenario.fleet.is_some()) else {
            return;
        };
        if watch == Watch::Sets {
            let listed = self.history.sets_at(version).into_iter();
            operator.conduct.sets = listed.map(|entry| (entry.set.uid.clone(), entry.set.clone())).collect();
            // When the lists of a start have come, everything is looked at.
            operator.conduct.keys.values_mut().for_each(|known| known.is_stirred = true);
            return;
        }
        for entry in self.history.workloads_at(version) {
            let known = operator.conduct.of(called(&entry.workload.namespace, &entry.workload.name));
            known.hears(now);
            known.granted = None;
            // A list shows a competing controller's status under an edit that came after it.
            if entry.writer.as_ref().is_some_and(is_rival) {
                known.heard = now;
            }
        }
    }
}
