//! Steps of the Deployment in a projection. At a rest, time passes, or somebody promotes the revision to the next step.

use std::fmt;

use plan::Until;
use plan::keys::PROMOTE;
use serde_json::{Map, Value};

use super::Row;
use super::world::World;
use crate::goal;

/// A step that is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    /// Counted from 1.
    step: i64,
    steps: i64,
    until: Vec<Until>,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {} of {}", self.step, self.steps)?;
        self.until.iter().try_for_each(|until| match until {
            Until::Promoted => f.write_str(", until promoted"),
            Until::Gate => f.write_str(", until its gate passes"),
            Until::Process => f.write_str(", until its deployment process allows more"),
            Until::Seconds(seconds) => write!(f, ", for {seconds} s"),
            Until::Replicas => Ok(()),
        })
    }
}

impl Stop {
    /// For programs.
    pub(crate) fn document(&self) -> Value {
        let member = |until: &Until| match until {
            Until::Promoted => Some(("approval".to_owned(), "Required".into())),
            Until::Seconds(seconds) => Some(("waitSeconds".to_owned(), (*seconds).into())),
            Until::Gate => Some(("gate".to_owned(), true.into())),
            Until::Process => Some(("process".to_owned(), true.into())),
            Until::Replicas => None,
        };
        let numbers = [("step".to_owned(), self.step.into()), ("steps".to_owned(), self.steps.into())];
        numbers.into_iter().chain(self.until.iter().filter_map(member)).collect::<Map<_, _>>().into()
    }
}

/// How far a rollout is.
pub(super) struct Passed {
    /// Its id.
    rollout: i64,
    /// The last step that was reached.
    step: i64,
}

impl Passed {
    pub(super) fn of(world: &World<'_>) -> Self {
        let record = world.observed.workload.status.ours.rollout.as_ref();
        let step = record.and_then(|record| record.step).map_or(0, |step| step - 1);
        Self { rollout: record.map_or(0, |record| record.id), step }
    }

    /// Notes the steps that the rollout has left since: it had reached them with the sizes of the last row.
    pub(super) fn note(&mut self, world: &World<'_>, rows: &mut [Row]) {
        let Some(record) = &world.observed.workload.status.ours.rollout else { return };
        if record.id != self.rollout {
            *self = Self { rollout: record.id, step: 0 };
        }
        let (Some((at, steps)), Some(row)) = (record.step.zip(record.steps), rows.last_mut()) else { return };
        let left = (self.step + 1)..at;
        // A gate passes by itself, where a Job succeeds.
        let gate = |step: i64| {
            let index = usize::try_from(step - 1).ok();
            let step = index.and_then(|index| world.observed.workload.steps.get(index));
            step.into_iter()
                .flat_map(|step| step.until.clone())
                .filter(|until| *until == Until::Gate)
                .collect()
        };
        row.stops.extend(left.map(|step| Stop { step, steps, until: gate(step) }));
        self.step = self.step.max(at - 1);
    }

    /// Ends the wait at a step; `false` if there is none.
    pub(super) fn go_on(&mut self, world: &mut World<'_>, rows: &mut [Row]) -> bool {
        let stop = rest(world).filter(|stop| stop.step > self.step);
        let (Some(stop), Some(row)) = (stop, rows.last_mut()) else { return false };
        self.step = stop.step;
        row.stops.push(stop);
        true
    }
}

/// The wait at a step, which is over after this.
fn rest(world: &mut World<'_>) -> Option<Stop> {
    let workload = &mut world.observed.workload;
    let record = workload.status.ours.rollout.as_ref()?;
    let (revision, step, steps, since) =
        (record.revision, record.step?, record.steps?, record.rest_start_time?);
    let index = usize::try_from(step - 1).ok()?;
    let until = workload.steps.get(index)?.until.clone();
    if let Some(end) = Until::end(&until, Some(since)) {
        world.now = world.now.max(end);
    } else {
        let next = goal::next(workload, index).name;
        workload.annotations.insert(PROMOTE.to_owned(), format!("{revision}/{next}"));
    }
    Some(Stop { step, steps, until })
}
