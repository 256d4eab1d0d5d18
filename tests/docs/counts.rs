//! README says how many deviations there are: as many as their page lists.

use std::fs;
use std::path::Path;

const LIST: &str = "docs/deviations.md";
const CLAIM: &str = "README.md";

/// What README should say, unless it does.
pub(crate) fn wrong(root: &Path) -> Option<String> {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let list = read(LIST);
    let (both, ours) = (rows(&list, "## On both APIs"), rows(&list, "## On rollwright.dev only"));
    let claim = format!("{} places: {both} on both APIs, and {ours} on", both + ours);
    // A line may break anywhere.
    let words: Vec<String> = read(CLAIM).split_whitespace().map(str::to_owned).collect();
    let is_right = both > 0 && ours > 0 && words.join(" ").contains(&claim);
    (!is_right).then(|| format!("{CLAIM} does not say \"{claim}\", which {LIST} lists"))
}

/// Rows of the table below this heading that link to a deviation.
fn rows(text: &str, heading: &str) -> usize {
    let section = text.lines().skip_while(|line| *line != heading).skip(1);
    section.take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with("| [")).count()
}
