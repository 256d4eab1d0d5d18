//! String formats.

use std::sync::LazyLock;

use regex::Regex;

static TIME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$").ok()
});
static DATE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^([0-9]{4})-([0-9]{2})-([0-9]{2})$").ok());

/// Whether the server takes a string for a `date-time`.
pub(crate) fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let Some((date, rest)) = lower.split_once('t') else { return false };
    let time = rest.split('t').next().unwrap_or_default();
    let Some(time) = TIME.as_ref().and_then(|time_of_day| time_of_day.captures(time)) else { return false };
    let part = |i: usize| time.get(i).map_or("", |part| part.as_str());
    is_date(date) && part(1) <= "23" && part(2) <= "59" && part(3) <= "59"
}

fn is_date(text: &str) -> bool {
    let Some(date) = DATE.as_ref().and_then(|date| date.captures(text)) else { return false };
    let part = |i: usize| date.get(i).and_then(|part| part.as_str().parse::<u32>().ok()).unwrap_or_default();
    let (year, month, day) = (part(1), part(2), part(3));
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 0,
    };
    (1..=days).contains(&day)
}
