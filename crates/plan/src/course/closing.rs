//! The end of Jobs that nobody needs any more (GA-9; rollwright.dev only).

use crate::course::checkpoints::{JobWrite, Jobs};
use crate::course::memory::{Memory, Note};
use crate::course::view::View;
use crate::model::action::Ask;
use crate::model::checkpoint::{Job, JobState, Outlook};
use crate::model::keys::ROLLOUT;
use crate::model::observed::ReplicaSet;
use crate::model::runs::Runs;

impl Jobs {
    /// Forgets the Job of a ReplicaSet that does not run any more, one in each reconcile. Whether there is none.
    pub(super) fn tidy(&mut self, view: View<'_>, declared: Option<usize>) -> bool {
        let has_open =
            |set: &ReplicaSet| set.annotations.get(ROLLOUT).is_some_and(|it| it.contains("\"open\""));
        // One Job is read in a reconcile: that of the declared ReplicaSet comes first, also when it has just ended.
        if declared.and_then(|index| view.sets.all.get(index)).is_some_and(|set| has_open(set)) {
            return true;
        }
        let mut others = view.sets.all.iter().enumerate();
        let Some((index, set)) = others.find(|(index, set)| Some(*index) != declared && has_open(set)) else {
            return true;
        };
        let Some(memory) = Memory::of(set) else { return true };
        let Some(open) = &memory.runs.open else { return true };
        let name = memory.runs.name(&view.workload().name, memory.revision, open.at);
        if self.close(view, set, name) {
            let memory = Memory { runs: Runs { open: None, ..memory.runs.clone() }, ..memory };
            self.stray = Some(Box::new(Note { set: index, memory, events: Vec::new() }));
        }
        false
    }

    /// Deletes a Job of this ReplicaSet. Whether it is gone, with its pod.
    pub(super) fn close(&mut self, view: View<'_>, set: &ReplicaSet, name: String) -> bool {
        if self.write.is_some() {
            return false;
        }
        let known = view.observed.answers.job.as_ref();
        let Some(found) = known.filter(|found| found.name == name) else {
            // An answer takes the place of the one before: two Jobs would be asked for in turn, without end.
            match known {
                None => _ = self.ask.get_or_insert(Ask::Job { name }),
                Some(_) => self.look_again(view.now),
            }
            return false;
        };
        let is_its = |job: &&Job| job.controller_uid.as_ref() == Some(&set.uid);
        self.outlook = match found.job.as_ref().map(|job| job.as_ref().filter(is_its)) {
            Ok(None) => return true,
            Ok(Some(Job { uid, state, .. })) if *state != JobState::Deleting => {
                self.write = Some(JobWrite::Delete { name, uid: uid.clone() });
                return false;
            }
            Ok(Some(_)) => going(&name),
            Err(why) => Outlook::Unknown(why.clone()),
        };
        self.look_again(view.now);
        false
    }
}

/// GA-9: what its pod began, no other pod continues before that has ended.
pub(super) fn going(name: &str) -> Outlook {
    Outlook::Unknown(format!("Job {name} is being deleted, and its pod still runs"))
}
