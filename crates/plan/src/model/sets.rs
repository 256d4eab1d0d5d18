//! The owned ReplicaSets, oldest first, and the one that the template declares (S4.1, S4.2).

use crate::model::intstr::signed_decimal;
use crate::model::keys::{DESIRED_REPLICAS, HASH_LABEL, MAX_REPLICAS};
use crate::model::observed::{ReplicaSet, Workload};
use crate::model::status::Status;

/// The owned ReplicaSets. One that is being deleted is still among them (S4.16).
#[derive(Debug)]
pub(crate) struct Sets<'a> {
    /// Oldest first, then by name.
    pub(crate) all: Vec<&'a ReplicaSet>,
    /// Index of the *declared* ReplicaSet: the one of the current template, if it is there. All others are *old*,
    /// younger ones of the same template too (S4.2).
    pub(crate) declared: Option<usize>,
    /// The numbers of each ReplicaSet, in the same order.
    pub(crate) counted: Vec<Counted>,
}

/// The numbers of a ReplicaSet, from which sizes are decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// `spec.replicas`.
    pub(crate) size: i64,
    /// `status.availableReplicas`.
    pub(crate) available: i64,
    /// The annotation `desired-replicas`, if it is a valid count (S8.2).
    pub(crate) desired: Option<i64>,
    /// The same as S8.4 reads it: a signed number, cut to 32 bits.
    pub(crate) desired_signed: Option<i64>,
    /// How many pods there could be when the ReplicaSet was last scaled (S8.7); 0 in reconciles that do not scale.
    pub(crate) base: i64,
}

impl<'a> Sets<'a> {
    pub(crate) fn new(all: Vec<&'a ReplicaSet>, declared: Option<usize>, workload: &Workload) -> Self {
        let counted = all.iter().enumerate();
        let mut counted: Vec<_> =
            counted.map(|(index, set)| Counted::of(set, Some(index) == declared)).collect();
        // Few reconciles scale (S8); the others do without reading one more annotation of each ReplicaSet.
        if workload.paused || counted.iter().any(|set| set.is_stale(workload.replicas)) {
            for (counted, set) in counted.iter_mut().zip(&all) {
                counted.base = workload.status.scaled_under(annotated(set, MAX_REPLICAS));
            }
        }
        Self { all, declared, counted }
    }

    pub(crate) fn get(&self, index: usize) -> Option<&'a ReplicaSet> {
        self.all.get(index).copied()
    }

    /// The oldest ReplicaSet with this label `pod-template-hash`.
    pub(crate) fn with_hash(&self, hash: &str) -> Option<usize> {
        self.all.iter().position(|set| set.labels.get(HASH_LABEL).is_some_and(|label| label == hash))
    }

    /// Whether one was last scaled for another number of pods (S8.1).
    pub(crate) fn is_any_stale(&self, replicas: i64) -> bool {
        self.counted.iter().any(|set| set.is_stale(replicas))
    }

    /// The declared ReplicaSet, if it is there.
    pub(crate) fn declared(&self) -> Option<&'a ReplicaSet> {
        self.declared.and_then(|index| self.get(index))
    }

    /// The old ReplicaSets with their indices, oldest first.
    pub(crate) fn olds(&self) -> impl DoubleEndedIterator<Item = (usize, &'a ReplicaSet)> {
        self.all.iter().copied().enumerate().filter(|(index, _)| Some(*index) != self.declared)
    }
}

impl Counted {
    /// `desired-replicas` is read where a rule asks for it: of ReplicaSets with a size, and of the declared one.
    fn of(set: &ReplicaSet, is_declared: bool) -> Self {
        let (size, available) = (set.size, set.status.available);
        if size <= 0 && !is_declared {
            return Self { size, available, ..Self::default() };
        }
        let desired = annotated(set, DESIRED_REPLICAS);
        let text = || set.annotations.get(DESIRED_REPLICAS).and_then(|text| signed_decimal(text));
        let desired_signed = desired.or_else(|| text().map(low_32_bits));
        Self { size, available, desired, desired_signed, base: 0 }
    }

    /// Whether it was last scaled for another number of pods (S8.1).
    pub(crate) fn is_stale(&self, replicas: i64) -> bool {
        self.is_active() && self.desired.is_some_and(|desired| desired != replicas)
    }

    /// Whether it should have pods.
    pub(crate) fn is_active(&self) -> bool {
        self.size > 0
    }
}

/// S8.2
fn annotated(set: &ReplicaSet, key: &str) -> Option<i64> {
    set.annotations.get(key).and_then(|text| replica_count(text))
}

fn low_32_bits(wide: i64) -> i64 {
    let [a, b, c, d, ..] = wide.to_le_bytes();
    i64::from(i32::from_le_bytes([a, b, c, d]))
}

/// The sum of all sizes.
pub(crate) fn total(sets: &[Counted]) -> i64 {
    sets.iter().map(|set| set.size).sum()
}

impl Status {
    /// How many pods there could be when a ReplicaSet was last scaled: as its annotation records, or else as many as
    /// the status reports (S8.7).
    #[must_use]
    pub fn scaled_under(&self, annotated_max: Option<i64>) -> i64 {
        annotated_max.filter(|max| *max != 0).unwrap_or(self.replicas)
    }
}

/// An unsigned decimal up to the largest replica count (S8.2).
#[must_use]
pub fn replica_count(text: &str) -> Option<i64> {
    if text.starts_with('+') {
        return None;
    }
    text.parse::<u32>().ok().map(i64::from).filter(|count| *count <= i64::from(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_digits_and_no_more_than_32_bits() {
        assert_eq!(replica_count("0"), Some(0));
        assert_eq!(replica_count("2147483647"), Some(2_147_483_647));
        for wrong in ["", "+5", "-1", " 5", "5 ", "0x5", "2147483648", "99999999999999999999"] {
            assert_eq!(replica_count(wrong), None, "{wrong:?}");
        }
    }
}
