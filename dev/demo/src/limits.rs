//! The promise of a rolling update, held against every state that the API
//! server ever stored: never fewer pods that serve, never more than the surge.

use crate::world::World;

/// What must hold while a step runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Least number of pods that serve.
    pub(crate) floor: usize,
    /// Greatest number of pods that the ReplicaSets together ask for.
    pub(crate) ceiling: i64,
}

/// The limits of a step and how close it came to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Guard {
    pub(crate) limits: Limits,
    pub(crate) least: usize,
    pub(crate) most: i64,
}

impl Guard {
    /// A guard that has seen nothing yet.
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, least: usize::MAX, most: 0 }
    }

    /// Looks at one state.
    ///
    /// # Errors
    /// Returns in words which limit is broken.
    pub(crate) fn look(&mut self, world: &World) -> Result<(), String> {
        let (serving, asked_for) = (world.serving(), world.asked_for());
        self.least = self.least.min(serving);
        self.most = self.most.max(asked_for);
        let Limits { floor, ceiling } = self.limits;
        if serving < floor {
            return Err(format!("only {serving} pods serve; the rollout must leave at least {floor}"));
        }
        if asked_for > ceiling {
            return Err(format!("the ReplicaSets ask for {asked_for} pods; the surge allows {ceiling}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{Pod, Set};

    fn world(ready: usize, desired: i64) -> World {
        let mut world = World::default();
        world.sets.insert("s".to_owned(), Set { desired, ..Set::default() });
        for number in 0..ready {
            let pod = Pod { owner: "s".to_owned(), ready: true, ..Pod::default() };
            world.pods.insert(number.to_string(), pod);
        }
        world
    }

    #[test]
    fn both_limits_are_inclusive() {
        let mut guard = Guard::new(Limits { floor: 3, ceiling: 5 });
        assert_eq!(guard.look(&world(3, 5)), Ok(()));
        assert!(guard.look(&world(2, 5)).unwrap_err().contains("only 2 pods"));
        assert!(guard.look(&world(3, 6)).unwrap_err().contains("ask for 6"));
        assert_eq!((guard.least, guard.most), (2, 6));
    }

    #[test]
    fn pods_that_leave_do_not_serve() {
        let mut guard = Guard::new(Limits { floor: 1, ceiling: 5 });
        let mut world = world(1, 1);
        world.pods.values_mut().for_each(|pod| pod.deleting = true);
        assert!(guard.look(&world).is_err());
    }
}
