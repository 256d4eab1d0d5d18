//! What each ReplicaSet has shown. None is judged yet: each is unproven.

use crate::sets::Sets;

/// What a set has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// Nothing yet, good or bad.
    Unproven,
}

/// What each of the owned sets has shown, in their order.
pub(crate) fn judge(sets: &Sets<'_>) -> Vec<Proof> {
    sets.all.iter().map(|_| Proof::Unproven).collect()
}
