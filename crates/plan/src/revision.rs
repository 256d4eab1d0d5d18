//! Revision numbers (S5).

use crate::bug::{Bug, has};
use crate::draft::{Draft, SetDraft};
use crate::intstr::signed_decimal;
use crate::keys::REVISION;

/// The largest revision that counts; one above it would be the end of the number line.
pub const REVISION_MAX: i64 = i64::MAX - 1;

/// The annotation of a set, read.
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
    /// The number, if there is one.
    #[must_use]
    pub fn number(self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Absent | Self::Garbage => None,
        }
    }

    /// The number that counts: 0 when there is none.
    #[must_use]
    pub fn or_zero(self) -> i64 {
        self.number().unwrap_or(0)
    }
}

/// Reads the annotation (S5.1).
#[must_use]
pub fn parse(annotation: Option<&str>) -> Revision {
    match annotation {
        None | Some("") => Revision::Absent,
        Some(text) => match signed_decimal(text) {
            Some(number) if counts(number) => Revision::Number(number),
            _ => Revision::Garbage,
        },
    }
}

fn counts(number: i64) -> bool {
    number <= REVISION_MAX || has(Bug::RevisionOverflows)
}

/// The number after the highest of some revisions; negative ones never win (S5.2).
pub fn next(revisions: impl IntoIterator<Item = i64>) -> i64 {
    let highest = if has(Bug::RevisionAsText) {
        revisions.into_iter().max_by_key(ToString::to_string).unwrap_or(0).max(0)
    } else {
        revisions.into_iter().fold(0, i64::max)
    };
    if has(Bug::RevisionOverflows) {
        return highest.wrapping_add(1);
    }
    highest.saturating_add(1).min(REVISION_MAX)
}

/// The revision that the new set should have at least (S5.2).
pub(crate) fn next_for(draft: &mut Draft<'_>) -> i64 {
    let sets = draft.sets.iter().enumerate();
    let olds = sets.filter(|(index, _)| Some(*index) != draft.new).map(|(_, set)| set);
    // Each is read once: this is most of what a pass over a long history costs.
    let written = olds.filter_map(|set| set.annotation(REVISION).and_then(signed_decimal));
    let mut is_any_out_of_range = false;
    let next = next(written.filter(|number| {
        is_any_out_of_range |= is_out_of_range(*number);
        counts(*number)
    }));
    if is_any_out_of_range {
        draft.deviate("S5.2");
    }
    next
}

/// The revision of a set after the actions so far.
pub(crate) fn of(set: &SetDraft<'_>) -> Revision {
    parse(set.annotation(REVISION))
}

/// Whether a number is there that upstream would take and overflow with.
fn is_out_of_range(number: i64) -> bool {
    number >= REVISION_MAX
}

/// The revision that "previous" means: the highest revision among the sets that are not the
/// current one (S5.7, without its defect that the current one can win).
pub(crate) fn previous(draft: &mut Draft<'_>) -> Option<i64> {
    let olds = draft.olds().filter_map(|index| draft.sets.get(index));
    let highest = olds.map(|set| of(set).or_zero()).fold(0, i64::max);
    if last_of_all(draft) != highest {
        draft.deviate("S5.7");
    }
    (highest > 0).then_some(highest)
}

/// Upstream's second largest over all sets, to know where ours differs (S5.7).
fn last_of_all(draft: &Draft<'_>) -> i64 {
    let order = draft.olds().chain(draft.new);
    let numbers = order.filter_map(|index| draft.sets.get(index)).map(|set| of(set).or_zero());
    let created = draft.created.as_ref().map(|created| created.revision);
    second_largest(numbers.chain(created))
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

/// The history annotation with an entry added: at most 2000 characters (S5.5).
#[must_use]
pub fn with_history_entry(history: Option<&str>, entry: &str) -> Option<String> {
    const HISTORY_LENGTH_MAX: usize = 2000;
    with_history_entry_within(HISTORY_LENGTH_MAX, history, entry)
}

/// As [`with_history_entry`], for any limit: the oldest entries go first. A history whose first
/// entry is empty is none. `None` when the new entry does not even fit alone.
#[must_use]
pub fn with_history_entry_within(limit: usize, history: Option<&str>, entry: &str) -> Option<String> {
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
