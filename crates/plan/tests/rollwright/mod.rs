//! What only rollwright.dev does, decided by [`plan::plan`] and read as lines of text.

mod bounds;
mod creating;
pub(crate) mod custom;
mod deadlines;
mod evidence;
mod failing;
mod failing_at_a_step;
mod finding;
mod gating;
mod going_back;
mod holding;
mod hooks;
mod judging;
mod kstatus;
mod meant;
mod newer;
mod pinning;
mod promoted;
mod promoting;
mod queueing;
mod records;
mod recreating;
mod reporting;
mod resting;
mod rolling_back;
mod stepping;
mod telling;
mod transitions;

use crate::world::World;

pub(crate) use failing::come_up;

/// Runs one reconcile for each entry of `reconciles` and compares what happened in it: the planner's
/// questions, its changes of owner, its actions and its events.
fn check(name: &str, mut world: World, reconciles: &[&[&str]]) -> World {
    for (number, expected) in reconciles.iter().enumerate() {
        let happened = world.reconcile();
        assert_eq!(happened, *expected, "{name}, pass {}", number + 1);
    }
    world
}
