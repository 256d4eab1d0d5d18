//! The annotations `revision` and `revision-history` (S5).

use plan::revision::{HISTORY_LENGTH_MAX, REVISION_MAX, Revision};

use crate::input;

/// Lines: a revision, a history, a new entry, and a list of revisions apart by commas.
pub(crate) fn run(data: &[u8]) {
    let lines = input::lines(data);
    let line = |index: usize| lines.get(index).map(String::as_str);
    assert_eq!(Revision::read(line(0)), by_hand(line(0)), "{:?}", line(0));
    history(line(1), line(2).unwrap_or_default());
    let listed = line(3).unwrap_or_default().split(',');
    next(&listed.map(|text| Revision::read(Some(text)).or_zero()).collect::<Vec<_>>());
}

/// Digit by digit, in numbers that are wide enough.
fn by_hand(annotation: Option<&str>) -> Revision {
    let text = annotation.unwrap_or_default().as_bytes();
    let (sign, digits) = match text {
        [] => return Revision::Absent,
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] | digits => (1, digits),
    };
    let mut number: i128 = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return Revision::Garbage;
        }
        number = (number * 10 + i128::from(digit - b'0')).min(i128::from(u64::MAX));
    }
    match i64::try_from(sign * number) {
        Ok(number) if number <= REVISION_MAX && !digits.is_empty() => Revision::Number(number),
        _ => Revision::Garbage,
    }
}

fn history(history: Option<&str>, entry: &str) {
    match Revision::with_history_entry(HISTORY_LENGTH_MAX, history, entry) {
        None => assert!(entry.len() > HISTORY_LENGTH_MAX),
        Some(new) => {
            assert!(new.ends_with(entry));
            assert!(new.len() <= HISTORY_LENGTH_MAX || new == entry, "{}", new.len());
            let kept = new.strip_suffix(entry).unwrap_or_default().trim_end_matches(',');
            assert!(history.unwrap_or_default().contains(kept), "{kept:?}");
        }
    }
}

fn next(revisions: &[i64]) {
    let highest = revisions.iter().copied().fold(0, i64::max);
    let next = Revision::next(revisions.iter().copied());
    assert!(next > highest || next == REVISION_MAX);
    let mut sorted = revisions.to_vec();
    sorted.extend([0, 0]);
    sorted.sort_unstable();
    assert_eq!(Revision::second_largest(revisions.iter().copied()), sorted[sorted.len() - 2]);
}
