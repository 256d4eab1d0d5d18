//! README says how many deviations there are: as many as their page lists.

use std::fs;
use std::path::Path;

const LIST: &str = "docs/deviations.md";
const PAGE: &str = "README.md";

/// What README should say, unless it does.
pub(crate) fn wrong(root: &Path) -> Option<String> {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
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
