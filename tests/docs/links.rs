//! Links among pages: the file is there, and so is the heading. A picture has words.

use std::fs;
use std::path::Path;

/// The links of a page that lead nowhere.
pub(crate) fn broken(root: &Path, page: &Path) -> Vec<String> {
    let text = fs::read_to_string(root.join(page)).unwrap_or_default();
    let directory = root.join(page.parent().unwrap_or(Path::new("")));
    let mut found = Vec::new();
    for (number, line) in prose(&text) {
        if line.contains("![](") {
            found.push(format!(
                "{}:{number}: a picture without words for those who cannot see it",
                page.display()
            ));
        }
        for target in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") || target.contains(' ') {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() { root.join(page) } else { directory.join(file) };
            let is_there = path.exists() && (anchor.is_empty() || has(&path, anchor));
            if !is_there {
                found.push(format!("{}:{number}: {target} leads nowhere", page.display()));
            }
        }
    }
    found
}

/// The name of a page below `docs`, unless the index has a link to it. Runbooks have one for all.
pub(crate) fn unlisted(root: &Path, page: &Path) -> Option<String> {
    let name = page.strip_prefix("docs").ok()?;
    if name.starts_with("how-to/runbooks") || name == Path::new("README.md") {
        return None;
    }
    let index = fs::read_to_string(root.join("docs/README.md")).unwrap_or_default();
    let link = format!("]({})", name.display());
    (!index.contains(&link)).then(|| format!("docs/README.md has no link to {}", name.display()))
}

/// Lines outside of fences, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_fence = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_fence ^= is_fence;
        (!in_fence && !is_fence).then_some((index + 1, line))
    })
}

/// Whether a page has this heading, or names a place so.
fn has(path: &Path, anchor: &str) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    let named = [format!("id=\"{anchor}\""), format!("name=\"{anchor}\"")];
    prose(&text).any(|(_, line)| {
        let heading = line.starts_with('#').then(|| slug(line.trim_start_matches('#').trim()));
        heading.as_deref() == Some(anchor) || named.iter().any(|name| line.contains(name.as_str()))
    })
}

/// What GitHub makes of a heading.
fn slug(heading: &str) -> String {
    let kept = |letter: char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
    let kept: String = heading.to_lowercase().chars().filter(|letter| kept(*letter)).collect();
    kept.replace(' ', "-")
}
