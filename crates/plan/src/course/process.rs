//! `strategy.type: Custom`: how far the deployment process lets a rollout go (CU-1 to CU-4; rollwright.dev only).
//!
//! To the planner, the process is the gate of the only step. Its Job begins with the rollout, and this step has as many
//! pods as somebody asked for last: the process, or a person, whom it may not undercut.

use crate::course::advance::Advance;
use crate::course::memory::Memory;
use crate::course::requests::asked;
use crate::course::stage::Rollout;
use crate::course::view::View;
use crate::model::action::Event;
use crate::model::checkpoint::Checkpoint;
use crate::model::intstr::{IntOrPercent, Round};
use crate::model::keys::{PROMOTE, reason};
use crate::model::observed::{Observed, Workload};
use crate::model::position::Allowance;
use crate::model::record::Promotion;

/// What somebody asks for.
enum Word {
    /// A person allows this.
    Person(Allowance),
    /// The process allows this.
    Process(Allowance),
    /// Nothing that can be done, for this reason.
    Refused(String),
}

/// The snapshot with a step of the size that is allowed now; `None` where no process decides that.
pub(crate) fn allowed(view: View<'_>) -> Option<Observed> {
    let workload = view.workload();
    if !workload.is_custom() {
        return None;
    }
    let memory = view.begun().and_then(|(_, set)| Memory::valid(set));
    let known = memory.as_ref().and_then(|it| it.walk.as_ref()?.position()?.allowed.clone());
    // Where nobody knows, what runs is what was allowed.
    let known = known.unwrap_or_else(|| what_runs(view));
    let heard = memory.as_ref().and_then(|memory| heard(workload, memory, &known));
    let allowed = match heard {
        Some((_, Word::Person(allowed) | Word::Process(allowed))) => allowed,
        _ => known,
    };
    let mut observed = view.observed.clone();
    for step in &mut observed.workload.steps {
        step.updated = allowed.updated.clone();
    }
    Some(observed)
}

fn what_runs(view: View<'_>) -> Allowance {
    let size = view.sets.declared().map_or(0, |set| set.size);
    Allowance { updated: IntOrPercent::Int(size.min(view.workload().replicas).max(0)), least: None }
}

/// The request that nobody has handled yet, but for one that gives the rollout free.
fn heard(workload: &Workload, memory: &Memory, known: &Allowance) -> Option<(String, Word)> {
    let text =
        asked(workload, PROMOTE, memory.revision).filter(|text| memory.promote.as_ref() != Some(text))?;
    let mut parts = text.split('/').skip(1);
    let (name, by) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    if name == "all" {
        return None;
    }
    let revision = memory.revision;
    let Some(updated) = IntOrPercent::share(name) else {
        let words = format!(
            "{PROMOTE}={text} allows nothing: write {revision}/ followed by a number of pods, a percentage up to \
             100%, or all"
        );
        return Some((text, Word::Refused(words)));
    };
    let job = memory.runs.name(&workload.name, revision, Checkpoint::Process);
    let stem = |name: &str| name.rsplit_once('-').map(|(stem, _)| stem.to_owned());
    let is_open = memory.runs.open.as_ref().is_some_and(|open| open.at == Checkpoint::Process);
    let word = match &known.least {
        _ if stem(by) != stem(&job) => Word::Person(Allowance { least: Some(updated.clone()), updated }),
        _ if by != job || !is_open => Word::Refused(format!("{PROMOTE}={text}: Job {by} is over")),
        Some(least) if pods(&updated, workload) < pods(least, workload) => Word::Refused(format!(
            "{PROMOTE}={text}: somebody promoted revision {revision} to {least}, and the deployment process may not \
             go below"
        )),
        least => Word::Process(Allowance { updated, least: least.clone() }),
    };
    Some((text, word))
}

fn pods(share: &IntOrPercent, workload: &Workload) -> i64 {
    share.of(workload.replicas, Round::Up).unwrap_or(0)
}

impl Rollout<'_> {
    /// What is allowed of a rollout about which nobody remembers that; `None` where no process decides it.
    pub(crate) fn allowance(&self) -> Option<Allowance> {
        self.steps.is_custom().then(|| what_runs(self.view))
    }
}

impl Advance<'_> {
    /// CU-2: carries a request out, or refuses it. Whether there was one about how many pods are allowed.
    pub(crate) fn take_allowance(&mut self) -> bool {
        let workload = self.rollout.workload;
        if !workload.is_custom() {
            return false;
        }
        let Some(known) = self.position.allowed.clone().or_else(|| self.rollout.allowance()) else {
            return false;
        };
        let Some((text, word)) = heard(workload, &self.memory, &known) else { return false };
        let revision = self.memory.revision;
        let mut refused = |words| self.events.push(Event::warning(reason::PROMOTION_REFUSED, words));
        match word {
            Word::Refused(words) => refused(words),
            Word::Person(_) | Word::Process(_) if self.position.step.is_none() => {
                refused(format!("{PROMOTE}={text}: nothing holds revision {revision} back any more"));
            }
            Word::Person(allowed) => {
                self.memory.promotions.push(self.rollout.promotion(0, false));
                Promotion::cut(&mut self.memory.promotions);
                let words = format!("Revision {revision} may update {} of its pods", allowed.updated);
                self.events.push(Event::normal(reason::PROMOTED, words));
                self.allow(&known, allowed);
            }
            // An event for it would be one more for each step.
            Word::Process(allowed) => self.allow(&known, allowed),
        }
        self.memory.promote = Some(text);
        true
    }

    fn allow(&mut self, known: &Allowance, allowed: Allowance) {
        if allowed.updated != known.updated {
            self.position.rest = None;
        }
        self.position.allowed = Some(allowed);
    }
}
