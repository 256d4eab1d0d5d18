//! README has the number of deviations: as many as their page lists. ARCHITECTURE stays short enough to be read in one
//! go.

use std::fs;
use std::path::Path;

const LIST: &str = "docs/deviations.md";
const PAGE: &str = "README.md";
const OVERVIEW: &str = "ARCHITECTURE.md";
const LINES_MAX: usize = 120;
const COLUMNS_MAX: usize = 110;

/// What is wrong with the numbers on both pages.
pub(crate) fn wrong(root: &Path) -> Vec<String> {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    deviations(read).into_iter().chain(size(&read(OVERVIEW))).collect()
}

/// What of ARCHITECTURE is too long, in lines or columns.
fn size(text: &str) -> Vec<String> {
    let lines = text.lines().count();
    let many = (!(1..=LINES_MAX).contains(&lines))
        .then(|| format!("{OVERVIEW} has {lines} lines, not 1 to {LINES_MAX}"));
    let columns = text.lines().enumerate().map(|(index, line)| (index + 1, line.chars().count()));
    let long = columns.filter(|(_, columns)| *columns > COLUMNS_MAX);
    let long = long.map(|(line, columns)| {
        format!("{OVERVIEW}:{line} has {columns} columns; the limit is {COLUMNS_MAX}")
    });
    many.into_iter().chain(long).collect()
}

/// What README should contain about deviations, unless it does.
fn deviations(read: impl Fn(&str) -> String) -> Option<String> {
    let list = read(LIST);
    let (both, ours) = (rows(&list, "## On both APIs"), rows(&list, "## On rollwright.dev only"));
    let sentence = format!("{} places: {both} on both APIs, and {ours} on", both + ours);
    // A line may break anywhere.
    let words: Vec<String> = read(PAGE).split_whitespace().map(str::to_owned).collect();
    let is_right = both > 0 && ours > 0 && words.join(" ").contains(&sentence);
    (!is_right).then(|| format!("{PAGE} does not say \"{sentence}\", which {LIST} lists"))
}

/// Rows of the table below this heading that link to a deviation.
fn rows(text: &str, heading: &str) -> usize {
    let section = text.lines().skip_while(|line| *line != heading).skip(1);
    section.take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with("| [")).count()
}
