//! Steps of the Deployment in a projection. At a rest, time passes, or somebody promotes the revision to the next step.

use std::fmt;

use plan::keys::PROMOTE;
use serde_json::{Value, json};

use super::Row;
use super::world::World;
use crate::{at_step, goal};

/// A step that is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    /// Counted from 1.
    step: i64,
    of: i64,
    pause: Pause,
}

/// What the rollout waits for at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pause {
    /// Nothing.
    None,
    Promoted,
    Seconds(i64),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {} of {}", self.step, self.of)?;
        match self.pause {
            Pause::Promoted => f.write_str(", until promoted"),
            Pause::Seconds(seconds) => write!(f, ", for {seconds} s"),
            Pause::None => Ok(()),
        }
    }
}

impl Stop {
    /// For programs.
    pub(crate) fn document(&self) -> Value {
        let pause = match self.pause {
            Pause::Promoted => json!({"until": "Promoted"}),
            Pause::Seconds(seconds) => json!({"seconds": seconds}),
            Pause::None => Value::Null,
        };
        json!({"step": self.step, "of": self.of, "pause": pause})
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
        let (Some((at, of)), Some(row)) = (record.step.zip(record.of), rows.last_mut()) else { return };
        let left = (self.step + 1)..at;
        row.stops.extend(left.map(|step| Stop { step, of, pause: Pause::None }));
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
    let (revision, step, of, since) = (record.revision, record.step?, record.of?, record.resting_since?);
    let index = usize::try_from(step - 1).ok()?;
    let pause = match workload.steps.get(index)?.seconds {
        None => {
            let next = goal::next(workload, index).name;
            workload.annotations.insert(PROMOTE.to_owned(), format!("{revision}/{next}"));
            Pause::Promoted
        }
        Some(seconds) => {
            world.now = world.now.max(at_step::end(since, seconds).unwrap_or(since));
            Pause::Seconds(seconds)
        }
    };
    Some(Stop { step, of, pause })
}
