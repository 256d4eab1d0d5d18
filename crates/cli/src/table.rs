//! Tables as kubectl prints them: columns three blanks apart, no lines.

use std::fmt::Display;

use crate::terminal::clean;

/// What makes a text of the lines of a table.
pub(crate) type Draw<'a> = &'a dyn Fn(&[Vec<String>]) -> String;

/// Lines of cells; the first line has the headings. A cell has one line, whatever is in it.
pub(crate) fn table(lines: &[Vec<String>]) -> String {
    let lines: Vec<Vec<String>> =
        lines.iter().map(|line| line.iter().map(|cell| clean(cell)).collect()).collect();
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let mut row = String::new();
        for (cell, width) in line.iter().zip(&widths) {
            row.push_str(&format!("{cell:<width$}   "));
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

/// The text of an empty cell.
pub(crate) const NONE: &str = "<none>";

/// A line of cells.
pub(crate) fn line<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

/// A number of things, with the word for one of them: `1 pod`, `2 pods`.
pub(crate) fn counted<N: Copy + Display + From<u8> + PartialEq>(count: N, thing: &str) -> String {
    let plural = if count == N::from(1) { "" } else { "s" };
    format!("{count} {thing}{plural}")
}

/// How long ago something was, in kubectl's form.
pub(crate) fn age(since: &str, now: jiff::Timestamp) -> String {
    let Ok(since) = since.parse::<jiff::Timestamp>() else { return "<unknown>".to_owned() };
    let seconds = now.duration_since(since).as_secs().max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let years = days / 365;
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 if seconds % 60 > 0 => format!("{minutes}m{}s", seconds % 60),
        120..10_800 => format!("{minutes}m"),
        10_800..28_800 if minutes % 60 > 0 => format!("{hours}h{}m", minutes % 60),
        10_800..172_800 => format!("{hours}h"),
        _ if days < 8 && hours % 24 > 0 => format!("{days}d{}h", hours % 24),
        _ if years < 2 => format!("{days}d"),
        _ if years < 8 && days % 365 > 0 => format!("{years}y{}d", days % 365),
        _ => format!("{years}y"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let lines = [line(["NAME", "AGE"]), line(["web", "5s"]), line(["longer", ""])];
        assert_eq!(table(&lines), "NAME     AGE\nweb      5s\nlonger\n");
    }

    #[test]
    fn a_cell_can_neither_add_a_line_nor_move_the_cursor() {
        let lines =
            [line(["CHANGE-CAUSE", "AGE"]), line(["fix\n9\u{202e}", "5s"]), line(["\u{9b}2K\r", "6s"])];
        let expected = "CHANGE-CAUSE    AGE\nfix 9\\u{202e}   5s\n\\u{9b}2K\\u{d}   6s\n";
        assert_eq!(table(&lines), expected);
    }

    #[test]
    fn ages_are_those_of_kubectl() {
        let now: jiff::Timestamp = "2026-01-10T00:00:00Z".parse().unwrap_or_default();
        for (since, wanted) in [
            ("2026-01-09T23:59:55Z", "5s"),
            ("2026-01-09T23:55:30Z", "4m30s"),
            ("2026-01-09T23:30:00Z", "30m"),
            ("2026-01-09T19:30:00Z", "4h30m"),
            ("2026-01-09T00:00:00Z", "24h"),
            ("2026-01-06T12:00:00Z", "3d12h"),
            ("2025-12-01T00:00:00Z", "40d"),
            ("2024-01-11T00:00:00Z", "2y"),
            ("2023-12-31T00:00:00Z", "2y11d"),
            ("2016-01-10T00:00:00Z", "10y"),
            ("nonsense", "<unknown>"),
        ] {
            assert_eq!(age(since, now), wanted, "{since}");
        }
    }
}
