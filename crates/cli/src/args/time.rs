//! Times on the command line.

use std::time::Duration;

/// A time as kubectl takes it: 90s, 5m, 1h30m; a bare number counts seconds.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let wrong = || "must be a time such as 30s, 5m or 1h30m".to_owned();
    if let Ok(seconds) = text.parse::<u32>() {
        return Ok(Duration::from_secs(seconds.into()));
    }
    let mut total = Duration::ZERO;
    let mut rest = text;
    loop {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit()).ok_or_else(wrong)?;
        let (count, tail) = rest.split_at(digits);
        let count: u32 = count.parse().map_err(|_| wrong())?;
        let (unit, tail) = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)]
            .iter()
            .find_map(|(unit, millis)| Some((*millis, tail.strip_prefix(unit)?)))
            .ok_or_else(wrong)?;
        total += Duration::from_millis(unit) * count;
        rest = tail;
        if rest.is_empty() {
            return Ok(total);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_kubectl() {
        assert_eq!(time("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(time("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(time("10"), Ok(Duration::from_secs(10)));
        for wrong in ["", "-1s", "s", "5x", "1h30", "99999999999s"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
