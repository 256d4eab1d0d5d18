//! Choices that are left open, and who makes them.

/// Makes the choices that Kubernetes leaves to chance: the simulator against Rollwright and from a seed, the sandbox
/// plainly.
pub trait Chance {
    /// One of `n` possibilities, as a number below `n`; `n` is at least 1.
    fn pick(&mut self, n: usize) -> usize;
}

/// Always takes the first possibility.
#[derive(Clone, Copy, Debug, Default)]
pub struct First;

impl Chance for First {
    fn pick(&mut self, _: usize) -> usize {
        0
    }
}
