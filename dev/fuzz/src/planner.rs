//! The planner over snapshots that bytes describe, with the invariants of docs/internals/invariants.md as
//! the judge.

use crate::invariants;
use crate::snapshot;
use crate::world::World;

/// A run settles within as many reconciles as the recordings of the real controller do.
const RECONCILES_MAX: usize = 12;

/// The first byte decides which numbers there may be, the others make every choice of the snapshot.
pub(crate) fn run(data: &[u8]) {
    let Some((first, choices)) = data.split_first() else { return };
    let is_hostile = first % 3 == 0;
    let world = snapshot::world(choices, is_hostile);
    match first % 3 {
        0 => hostile(&world),
        1 => prefixes(world),
        _ => at_rest(world),
    }
}

/// Total, and the same in whatever order the ReplicaSets are looked at.
fn hostile(world: &World) {
    let mut reversed = world.clone();
    reversed.observed.sets.reverse();
    assert_eq!(format!("{:?}", world.clone().plan()), format!("{:?}", reversed.plan()));
}

/// Whatever happens after whichever action, the state is a legal one.
fn prefixes(mut world: World) {
    for _ in 0..3 {
        let plan = world.plan();
        invariants::carry_out(&mut world, &plan);
    }
}

/// With nothing changing but what the plans change, there is an end, and it stays one.
fn at_rest(mut world: World) {
    world.settle(RECONCILES_MAX);
    assert!(world.plan().actions.is_empty());
}
