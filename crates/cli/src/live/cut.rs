//! Text in a room of a few columns. What does not fit is marked by an ellipsis, and the part that matters most stays.

use std::borrow::Cow;

use textwrap::core::display_width;
use textwrap::{Options, WordSplitter};

use crate::terminal::clean;

const MARK: &str = "…";
/// A cell of a table is cut to no less.
const LEAST: usize = 12;

/// The columns that a text takes.
pub(super) fn width(text: &str) -> usize {
    display_width(text)
}

/// As many letters as fit, from the side that the iterator begins with.
fn fitting(letters: impl Iterator<Item = char>, room: usize) -> Vec<char> {
    let mut left = room;
    let mut taken = Vec::new();
    for letter in letters {
        let columns = display_width(letter.encode_utf8(&mut [0; 4]));
        if columns > left {
            break;
        }
        left -= columns;
        taken.push(letter);
    }
    taken
}

/// The beginning, which matters most in a sentence.
pub(super) fn beginning(text: &str, room: usize) -> String {
    ends(text, room, room.saturating_sub(1))
}

/// The end, which matters most in an image.
pub(super) fn end(text: &str, room: usize) -> String {
    ends(text, room, 0)
}

/// Both ends: a crash line has the container at one and the exit code at the other.
pub(super) fn both_ends(text: &str, room: usize) -> String {
    ends(text, room, room.saturating_sub(1) / 2)
}

/// A text, with `head` columns of its beginning if it is too long.
fn ends(text: &str, room: usize, head: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    if room == 0 {
        return String::new();
    }
    let head: String = fitting(text.chars(), head).into_iter().collect();
    let tail = fitting(text.chars().rev(), room - 1 - width(&head));
    format!("{head}{MARK}{}", tail.into_iter().rev().collect::<String>())
}

/// A text in this many columns, whatever its length.
pub(super) fn padded(text: &str, room: usize) -> String {
    let shown = beginning(text, room);
    let gap = room - width(&shown);
    format!("{shown}{}", " ".repeat(gap))
}

/// A text in a few lines; both ends of it if these are too few.
pub(super) fn wrapped(text: &str, room: usize, rows: usize) -> Vec<String> {
    let lines = broken(text, room);
    if lines.len() <= rows {
        return lines;
    }
    // Words move when a line breaks elsewhere, so the text is made shorter until it fits.
    let shorter = (0..width(text)).rev().map(|columns| broken(&both_ends(text, columns), room));
    shorter.into_iter().find(|lines| lines.len() <= rows).unwrap_or_default()
}

/// A table in this many columns. The widest cells are cut first, and those of the last column are not: what still does
/// not fit stands below.
pub(super) fn table(lines: &[Vec<String>], room: usize) -> String {
    let clean = |line: &Vec<String>| line.iter().map(|cell| clean(cell)).collect();
    let lines: Vec<Vec<String>> = lines.iter().map(clean).collect();
    let columns = lines.first().map_or(0, Vec::len);
    let cells = |column: usize| lines.iter().filter_map(move |line| line.get(column));
    let widest = |column: usize| cells(column).map(|cell| width(cell)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(|column| widest(column).min(room.saturating_sub(2))).collect();
    let cut =
        [columns, columns.saturating_sub(1)].into_iter().find_map(|shown| narrowed(&widths, shown, room));
    let widths = cut.unwrap_or(widths);
    let mut text = String::new();
    for line in &lines {
        let mut row = String::new();
        for (cell, columns) in line.iter().zip(&widths) {
            if !row.is_empty() && width(&row) + columns > room {
                text.push_str(&format!("{}\n", row.trim_end()));
                row = "  ".to_owned();
            }
            row.push_str(&format!("{}   ", padded(&both_ends(cell, *columns), *columns)));
        }
        text.push_str(&format!("{}\n", row.trim_end()));
    }
    text
}

/// The widths with which the first columns fit, if the widest of them but the last become narrower.
fn narrowed(widths: &[usize], shown: usize, room: usize) -> Option<Vec<usize>> {
    let mut widths = widths.to_vec();
    let last = widths.len().saturating_sub(1);
    while widths.iter().take(shown).map(|width| width + 3).sum::<usize>() > room + 3 {
        let widest = widths.iter_mut().take(last).max().filter(|width| **width > LEAST)?;
        *widest -= 1;
    }
    Some(widths)
}

/// A text in lines. A name with hyphens stays whole if it fits.
fn broken(text: &str, room: usize) -> Vec<String> {
    let options = Options::new(room.max(1)).word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(text, options).into_iter().map(Cow::into_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_that_tells_most_stays() {
        assert_eq!(end("registry.example/team/app:v2", 12), "…team/app:v2");
        assert_eq!(both_ends("app: CrashLoopBackOff: back-off (exit code 137)", 21), "app: Crash… code 137)");
        assert_eq!(beginning("a sentence", 6), "a sen…");
        assert_eq!(padded("web", 5), "web  ");
        for cut in [end, both_ends, beginning] {
            assert_eq!(cut("web", 3), "web");
            assert_eq!(cut("web", 0), "");
            // A wide letter takes two columns.
            assert!(width(&cut("日本語日本語", 7)) <= 7);
        }
    }

    #[test]
    fn the_end_of_a_line_stays_readable() {
        let line = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        let lines = [
            line(["ID", "AUTHOR", "TOOK", "OUTCOME"]),
            line(["7", "dev-1 (kubectl-client)", "5s", "Failed: X"]),
        ];
        let wide =
            "ID   AUTHOR                   TOOK   OUTCOME\n7    dev-1 (kubectl-client)   5s     Failed: X\n";
        assert_eq!(table(&lines, 50), wide);
        let cut = "ID   AUTHOR             TOOK   OUTCOME\n7    dev-1 (…-client)   5s     Failed: X\n";
        assert_eq!(table(&lines, 40), cut);
        let below = "ID   AUTHOR           TOOK\n  OUTCOME\n7    dev-1 …client)   5s\n  Failed: X\n";
        assert_eq!(table(&lines, 26), below);
    }

    #[test]
    fn a_paragraph_loses_its_middle() {
        assert_eq!(wrapped("one two three", 7, 2), ["one two", "three"]);
        let lines = wrapped("the first words and many more until the last words", 12, 2);
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("the first") && lines[1].ends_with("words"), "{lines:?}");
        assert_eq!(wrapped("", 7, 2).concat(), "");
        assert!(wrapped("two lines", 4, 0).is_empty());
    }
}
