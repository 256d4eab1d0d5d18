//! Counts, percentages, and what is computed from them (S6.1–S6.4, S8).

use plan::intstr::{IntOrPercent, Round, signed_decimal};
use plan::{Status, Strategy, fraction, grown, proportion, replica_count};
use serde_json::Value;

use crate::input;

const MAX: i64 = i32::MAX as i64;

/// Lines: a text that should be a number, two limits, and counts apart by spaces.
pub(crate) fn run(data: &[u8]) {
    let lines = input::lines(data);
    let line = |index: usize| lines.get(index).map_or("", String::as_str);
    texts(line(0));
    let counts: Vec<_> = input::numbers(line(3)).iter().map(|wide| (*wide).clamp(-MAX - 1, MAX)).collect();
    let count = |index: usize| counts.get(index).copied().unwrap_or(0);
    let limits = [limit(line(1)), limit(line(2))];
    for limit in &limits {
        resolved(limit, count(0));
    }
    let [surge, unavailable] = &limits;
    together(surge, unavailable, [count(0), count(1), count(2)]);
    let base = Status { replicas: count(1), ..Status::default() }.scaled_under(Some(count(3)));
    let fraction = fraction(count(2), base, count(0), count(4));
    assert!((count(2) + fraction).abs() <= MAX || count(0) == 0, "{counts:?}: {fraction}");
    let share = proportion(fraction, count(5), count(6));
    assert!(share.abs() <= fraction.abs().max((count(5) - count(6)).abs()));
}

fn texts(text: &str) {
    let is_ascii = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(count) = replica_count(text) {
        assert!((0..=MAX).contains(&count) && is_ascii(text), "{text:?}");
        assert_eq!(signed_decimal(text), Some(count));
    }
    if let Some(number) = signed_decimal(text) {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        assert!(is_ascii(digits), "{text:?}");
        let plain = digits.trim_start_matches('0');
        let plain = if plain.is_empty() { "0" } else { plain };
        assert_eq!(number.unsigned_abs().to_string(), plain);
        assert_eq!(number < 0, text.starts_with('-') && plain != "0");
    }
}

/// A limit as it stands in a manifest: JSON, or else text.
fn limit(text: &str) -> IntOrPercent {
    let read = |value: Value| -> Option<IntOrPercent> { serde_json::from_value(value).ok() };
    let limit = serde_json::from_str(text).ok().and_then(read);
    let limit = limit.unwrap_or_else(|| IntOrPercent::Text(text.to_owned()));
    let written = serde_json::to_value(&limit).unwrap();
    assert_eq!(read(written), Some(limit.clone()));
    limit
}

fn resolved(limit: &IntOrPercent, total: i64) {
    let (Ok(up), Ok(down)) = (limit.of(total, Round::Up), limit.of(total, Round::Down)) else {
        assert!(limit.of(total, Round::Up).is_err() && limit.of(total, Round::Down).is_err());
        return;
    };
    assert!((0..=1).contains(&(up - down)), "{limit:?} of {total}: {up}, {down}");
    assert!((-MAX - 1..=MAX).contains(&down) && up <= MAX);
}

fn together(surge: &IntOrPercent, unavailable: &IntOrPercent, [replicas, old, new]: [i64; 3]) {
    let strategy = Strategy::RollingUpdate {
        max_surge: Some(surge.clone()),
        max_unavailable: Some(unavailable.clone()),
    };
    if let Ok(limits) = strategy.limits(replicas) {
        assert_ne!(limits, (0, 0));
    }
    assert!(strategy.max_unavailable(replicas) <= replicas.max(0));
    let _total = strategy.min_available(replicas);
    if let (Ok(cap), Ok(surge)) = (strategy.cap(replicas), surge.of(replicas, Round::Up)) {
        let size = grown(new, old + new, replicas, cap);
        let total = old + size;
        assert!(size == new || total <= replicas + surge, "SU-1: {total} > {replicas} + {surge}");
    }
}
