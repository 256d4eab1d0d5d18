//! Revision numbers (S5).

use crate::model::intstr::signed_decimal;
use crate::model::keys::REVISION;
use crate::model::observed::ReplicaSet;
use crate::model::sets::Sets;

/// The largest revision that counts; one above it would be the end of the number line.
pub const REVISION_MAX: i64 = i64::MAX - 1;

/// The annotation of a ReplicaSet, read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revision {
    /// Missing or empty: counts as 0.
    Absent,
    /// A number.
    Number(i64),
    /// Not a number, or past [`REVISION_MAX`]: counts as absent and is repaired
    /// (deviation from S5.3).
    Garbage,
}

impl Revision {
    /// Reads the annotation (S5.1).
    #[must_use]
    pub fn read(annotation: Option<&str>) -> Self {
        match annotation {
            None | Some("") => Self::Absent,
            Some(text) => match signed_decimal(text) {
                Some(number) if counts(number) => Self::Number(number),
                _ => Self::Garbage,
            },
        }
    }

    /// The number after the highest of some revisions; negative ones never win (S5.2).
    pub fn next(revisions: impl IntoIterator<Item = i64>) -> i64 {
        revisions.into_iter().fold(0, i64::max).saturating_add(1).min(REVISION_MAX)
    }

    /// Second largest of some revisions, by upstream's rule (S5.7): 0 when there are fewer.
    pub fn second_largest(revisions: impl IntoIterator<Item = i64>) -> i64 {
        let (mut max, mut second) = (0, 0);
        for revision in revisions {
            if revision >= max {
                (max, second) = (revision, max);
            } else if revision > second {
                second = revision;
            }
        }
        second
    }

    /// The number, if there is one.
    #[must_use]
    pub fn number(self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Absent | Self::Garbage => None,
        }
    }

    /// The history annotation with an entry added, within a limit (S5.5): the oldest entries go first. A history with
    /// an empty first entry is none. `None` when the new entry does not even fit alone.
    #[must_use]
    pub fn with_history_entry(limit: usize, history: Option<&str>, entry: &str) -> Option<String> {
        let mut history = match history {
            None => return Some(entry.to_owned()),
            Some(history) if history.is_empty() || history.starts_with(',') => return Some(entry.to_owned()),
            Some(history) => history,
        };
        while history.len() + 1 + entry.len() > limit {
            history = match history.split_once(',') {
                Some((_, rest)) => rest,
                None => return (entry.len() <= limit).then(|| entry.to_owned()),
            };
        }
        Some(format!("{history},{entry}"))
    }

    /// The number that counts: 0 when there is none.
    #[must_use]
    pub fn or_zero(self) -> i64 {
        self.number().unwrap_or(0)
    }
}

fn counts(number: i64) -> bool {
    number <= REVISION_MAX
}

/// The revision that the declared ReplicaSet should have at least.
pub(crate) struct Next {
    pub(crate) number: i64,
    pub(crate) deviation: Option<&'static str>,
}

/// S5.2, S4.12.
pub(crate) fn next_of(sets: &Sets<'_>) -> Next {
    // Each is read once: this is most of what a reconcile over a long history costs.
    let written = sets.olds().filter_map(|(_, set)| text(set).and_then(signed_decimal));
    let mut is_any_out_of_range = false;
    let number = Revision::next(written.filter(|number| {
        is_any_out_of_range |= is_out_of_range(*number);
        counts(*number)
    }));
    Next { number, deviation: is_any_out_of_range.then_some("S5.2") }
}

/// The revision of a ReplicaSet as it was seen.
pub(crate) fn of(set: &ReplicaSet) -> Revision {
    Revision::read(text(set))
}

fn text(set: &ReplicaSet) -> Option<&str> {
    set.annotations.get(REVISION).map(String::as_str)
}

/// Whether a number is there that upstream would take and overflow with.
fn is_out_of_range(number: i64) -> bool {
    number >= REVISION_MAX
}

/// The revision that a request for a rollback means.
pub(crate) struct Wanted {
    /// `None` when there is no previous one.
    pub(crate) number: Option<i64>,
    pub(crate) deviation: Option<&'static str>,
}

/// S10.2, S10.4: 0 is the highest revision among the ReplicaSets that are not the declared one (S5.7, without
/// its defect that the declared one can win). `declared` is the revision of that one, if it is there or
/// about to be.
pub(crate) fn wanted(requested: i64, sets: &Sets<'_>, declared: Option<i64>) -> Wanted {
    if requested != 0 {
        return Wanted { number: Some(requested), deviation: None };
    }
    let olds = || sets.olds().map(|(_, set)| of(set).or_zero());
    let highest = olds().fold(0, i64::max);
    // Upstream takes the second largest over all ReplicaSets.
    let deviation = (Revision::second_largest(olds().chain(declared)) != highest).then_some("S5.7");
    Wanted { number: (highest > 0).then_some(highest), deviation }
}

/// The longest that the history annotation gets, in characters (S5.5).
pub const HISTORY_LENGTH_MAX: usize = 2000;
