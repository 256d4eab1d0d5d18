//! Scaling a Deployment in the middle of whatever it does (S8).

use crate::action::Purpose;
use crate::bug::{Bug, has};
use crate::draft::{Draft, SetDraft};
use crate::intstr::signed_decimal;
use crate::keys::DESIRED_REPLICAS;
use crate::observed::Strategy;
use crate::status::Status;

/// Whether `spec.replicas` changed since the sets were last scaled (S8.1).
pub(crate) fn is_scaling_event(draft: &mut Draft<'_>) -> bool {
    let replicas = draft.workload.replicas;
    let stale = |set: &SetDraft<'_>| {
        set.is_active() && set.desired_annotation().is_some_and(|desired| desired != replicas)
    };
    if !draft.sets.iter().any(stale) {
        return false;
    }
    let active = draft.sets.iter().filter(|set| set.is_active()).count();
    let is_rolling = matches!(draft.workload.strategy, Strategy::RollingUpdate { .. });
    if active > 1 && !is_rolling && !is_saturated(draft) && !has(Bug::RecreateNotScaled) {
        // S8.13: there is no proportional scaling under Recreate, and waiting for it would
        // wait for ever. The rollout itself takes the old sets down.
        draft.deviate("S8.13");
        return false;
    }
    true
}

/// Scales sets without rolling anything out: on a scaling event, and while paused (S8.3–S8.8).
pub(crate) fn scale(draft: &mut Draft<'_>) {
    let replicas = draft.workload.replicas;
    let active: Vec<_> = (0..draft.sets.len()).filter(|index| draft.size_of(*index) > 0).collect();
    match active.as_slice() {
        [] => {
            // The newest old set stands in for a missing new one.
            if let Some(index) = draft.new.or_else(|| draft.olds().next_back()) {
                draft.scale(index, replicas, Purpose::Scale);
            }
        }
        [only]
            if draft.size_of(*only) == replicas
                && !draft.workload.paused
                && !has(Bug::StaleAnnotationKept) =>
        {
            // S8.12: upstream leaves the stale annotation, and sees a scaling event for ever.
            draft.deviate("S8.12");
            draft.scale_and_annotate(*only, replicas, Purpose::Scale);
        }
        [only] => {
            draft.scale(*only, replicas, Purpose::Scale);
        }
        _ if is_saturated(draft) => {
            for index in draft.active_olds().into_iter().rev() {
                draft.scale(index, 0, Purpose::Scale);
            }
        }
        _ if matches!(draft.workload.strategy, Strategy::RollingUpdate { .. }) => {
            share_out(draft, active);
        }
        _ => {}
    }
}

/// Whether the new set is as large as it gets and fully available (S8.4).
fn is_saturated(draft: &Draft<'_>) -> bool {
    let replicas = draft.workload.replicas;
    draft.new_set().is_some_and(|set| {
        set_is_saturated(set.size, set.seen.status.available, set.annotation(DESIRED_REPLICAS), replicas)
    })
}

/// S8.4 for one set; the annotation is read as a signed integer and cut to 32 bits.
#[must_use]
pub fn set_is_saturated(size: i64, available: i64, desired: Option<&str>, replicas: i64) -> bool {
    let desired = desired.and_then(signed_decimal).map(low_32_bits);
    size == replicas && desired == Some(replicas) && (available == replicas || has(Bug::SaturatedBySize))
}

fn low_32_bits(wide: i64) -> i64 {
    let [a, b, c, d, ..] = wide.to_le_bytes();
    i64::from(i32::from_le_bytes([a, b, c, d]))
}

/// Shares the difference out in proportion to the sizes; the largest set gets what rounding
/// leaves over (S8.6–S8.8).
fn share_out(draft: &mut Draft<'_>, mut active: Vec<usize>) {
    let replicas = draft.workload.replicas;
    let allowed = if replicas > 0 { draft.max_total() } else { 0 };
    let total: i64 = active.iter().map(|index| draft.size_of(*index)).sum();
    let add = allowed - total;
    if add == 0 {
        // S8.6: no order; upstream lists old sets newest first, then the new one.
        active.sort_by_key(|index| (Some(*index) == draft.new, usize::MAX - index));
    } else {
        // Larger first; of equals the newest when adding and the oldest when removing.
        active.sort_by_key(|index| {
            let age = if add > 0 { usize::MAX - index } else { *index };
            (std::cmp::Reverse(draft.size_of(*index)), age)
        });
    }
    let mut sizes: Vec<(usize, i64)> = Vec::with_capacity(active.len());
    let mut added = 0;
    for index in active {
        let share = share(draft, index, add, added);
        sizes.push((index, draft.size_of(index).saturating_add(share)));
        added += share;
    }
    if let Some((_, largest)) = sizes.first_mut() {
        *largest = largest.saturating_add(add - added).max(0);
    }
    for (index, size) in sizes {
        if has(Bug::EqualSizeNotAnnotated) && draft.size_of(index) == size {
            continue;
        }
        draft.scale_and_annotate(index, size, Purpose::Scale);
    }
}

fn share(draft: &mut Draft<'_>, index: usize, add: i64, added: i64) -> i64 {
    let Some(set) = draft.sets.get(index) else { return 0 };
    let (size, annotated_max) = (set.size, set.max_annotation());
    let replicas = draft.workload.replicas;
    let unlimited = replicas.saturating_add(draft.max_surge);
    if i32::try_from(size.saturating_mul(unlimited)).is_err() {
        draft.deviate("S8.7");
    }
    let fraction = fraction(size, annotated_max, replicas, draft.max_total(), &draft.status);
    proportion(fraction, add, added)
}

/// The part of the remaining difference that a set takes (S8.7).
#[must_use]
pub fn proportion(fraction: i64, add: i64, added: i64) -> i64 {
    let left = add - added;
    if add == 0 || left == 0 {
        0
    } else if add > 0 {
        fraction.min(left)
    } else {
        fraction.max(left)
    }
}

/// By how much a set of `size` changes when the whole goes from its annotated maximum to
/// `maximum` (S8.7), without the 32-bit overflow of upstream.
#[must_use]
pub fn fraction(size: i64, annotated_max: Option<i64>, replicas: i64, maximum: i64, status: &Status) -> i64 {
    if replicas == 0 {
        return -size;
    }
    let base =
        annotated_max.filter(|max| *max != 0 || has(Bug::MaxAnnotationTrusted)).unwrap_or(status.replicas);
    if base == 0 && !has(Bug::MaxAnnotationTrusted) {
        return 0;
    }
    let mut product = i128::from(size) * i128::from(maximum);
    if has(Bug::ProductOverflows) {
        product = (product + 64).rem_euclid(128) - 64;
    }
    // No set can be larger than this, and no sum of such shares overflows.
    let largest = i128::from(i32::MAX);
    let rounded = round_half_away(product, i128::from(base)).clamp(-largest, largest);
    i64::try_from(rounded).unwrap_or(0) - size
}

/// `numerator / denominator`, a half rounded away from zero.
fn round_half_away(numerator: i128, denominator: i128) -> i128 {
    let (numerator, denominator) =
        if denominator < 0 { (-numerator, -denominator) } else { (numerator, denominator) };
    let magnitude = (2 * numerator.abs() + denominator) / (2 * denominator);
    if numerator < 0 { -magnitude } else { magnitude }
}

/// An unsigned decimal up to the largest replica count (S8.2).
#[must_use]
pub fn replica_count(text: &str) -> Option<i64> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse::<i64>().ok().filter(|count| *count <= i64::from(i32::MAX))
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
