//! The glossary's retired words do not return: in the pages, in what the programs print, in the names and help
//! texts of metrics, and in the files that users install.
//!
//! `dev/prose/run` reads the same table. It checks prose only, but also every rule of style.

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) const GLOSSARY: &str = "docs/reference/glossary.md";
const HEADING: &str = "## Retired words";
/// Pages that have to name the words that they forbid.
const ABOUT_WORDS: &[&str] = &[GLOSSARY, "docs/internals/style.md"];
/// Where the programs' texts are: messages, help, metrics.
const SOURCES: &[&str] =
    &["src", "crates/cli/src", "crates/engine/src", "crates/plan/src", "crates/admission/src"];
/// What users install, and what the commands print.
const FILES: &[&str] = &[
    "charts/rollwright/files",
    "charts/rollwright/templates",
    "charts/rollwright/values.yaml",
    "tests/chart/golden",
    "tests/e2e/transcript",
];
/// Names that the glossary keeps: values of metric labels, and a field of a pod.
const KEPT: &[&str] = &["rival", "claims"];

/// Every place with a retired word, or what is wrong with the test itself.
pub(crate) fn returned(root: &Path, pages: &[PathBuf]) -> Vec<String> {
    let retired = retired(&read(root, Path::new(GLOSSARY)), HEADING);
    if !["old sets", "its turn", "claims"].iter().all(|word| retired.iter().any(|it| it == word)) {
        return vec![format!("{GLOSSARY} has no table of retired words: {retired:?}")];
    }
    let mut found = Vec::new();
    let mut check = |path: &Path, line: usize, text: &str| {
        let word = retired.iter().find(|word| has(text, word));
        found.extend(
            word.map(|word| format!("{}:{line}: \"{word}\" is retired: see {GLOSSARY}", path.display())),
        );
    };
    let pages = pages.iter().filter(|page| !ABOUT_WORDS.iter().any(|path| page.as_path() == Path::new(path)));
    let plain = FILES.iter().flat_map(|place| files(root, Path::new(place)));
    for path in pages.cloned().chain(plain) {
        for (index, line) in read(root, &path).lines().enumerate() {
            check(&path, index + 1, without_code(line).trim_matches([' ', ':', '"']));
        }
    }
    let sources: Vec<PathBuf> = SOURCES.iter().flat_map(|place| files(root, Path::new(place))).collect();
    let mut many = 0;
    for path in sources.iter().filter(|path| path.extension().is_some_and(|end| end == "rs")) {
        for (line, text) in texts(path, &read(root, path)) {
            many += 1;
            check(path, line, &text);
        }
    }
    if many < 1000 {
        found.push(format!("only {many} texts were found in {SOURCES:?}"));
    }
    found
}

/// Retired words are found in prose, messages and names, and only there.
pub(crate) fn selftest() -> Result<(), String> {
    let code = "/// Old sets.\nlet old_sets = \"{old_sets} wait for\\n its turn\"; // a turn\n#[cfg(test)]\nmod tests {";
    let found = texts(Path::new("src/args/run.rs"), code);
    let help_and_message = found.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>();
    let words = retired(
        "## Retired words\n\n| retired | write |\n|---|---|\n| old set, its turn | slot |\n\n## Others\n\n| a |\n| b |\n",
        HEADING,
    );
    let cases = [
        (help_and_message == ["/// Old sets.", "  wait for  its turn"], "help and messages are read"),
        (words == ["old set", "its turn"], "the table is read"),
        (has("Old set", "old set") && !has("an old setting", "old set"), "words are whole"),
        (has("rollwright turns total", "turns") && !has("returns", "turns"), "names have words"),
        (!has(&without_code("`its turn` is fine"), "its turn"), "code is left out"),
    ];
    cases.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, what)| Err(format!("{what}: {found:?}")))
}

/// The phrases in the first column of the table that the glossary has under a heading.
pub(crate) fn retired(glossary: &str, heading: &str) -> Vec<String> {
    let table = glossary.split(heading).nth(1).unwrap_or_default();
    let table = table.split("\n## ").next().unwrap_or_default();
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    cells.flat_map(|cell| cell.split(',')).map(|word| word.trim().to_lowercase()).collect()
}

/// Whether the text has this phrase, from the start of a word to the end of one, and is not a kept name.
fn has(text: &str, phrase: &str) -> bool {
    let text = text.to_lowercase();
    let is_part = |letter: Option<char>| letter.is_some_and(|it| it.is_alphanumeric() || it == '-');
    let is_whole = |(at, _): (usize, &str)| {
        let (before, after) = (text.get(..at), text.get(at + phrase.len()..));
        !is_part(before.and_then(|it| it.chars().next_back()))
            && !is_part(after.and_then(|it| it.chars().next()))
    };
    !KEPT.contains(&text.trim()) && text.match_indices(phrase).any(is_whole)
}

/// A line without code spans, the targets of links, and anchors, which may have names.
fn without_code(line: &str) -> String {
    let spans = [("`", "`"), ("](", ")"), ("<a ", "</a>")];
    spans.into_iter().fold(line.to_owned(), |text, (start, end)| without(&text, start, end))
}

/// The text without what is between two marks. A mark without an end stays.
fn without(text: &str, start: &str, end: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, (_, after))) =
        rest.split_once(start).and_then(|(before, inner)| Some((before, inner.split_once(end)?)))
    {
        kept.push_str(before);
        kept.push(' ');
        rest = after;
    }
    kept + rest
}

/// What a program shows, with line numbers: string literals, and the help of options, which are comments.
fn texts(path: &Path, code: &str) -> Vec<(usize, String)> {
    let (code, _tests) = code.split_once("#[cfg(test)]\nmod tests").unwrap_or((code, ""));
    if path.ends_with("tests.rs") || path.components().any(|part| part.as_os_str() == "tests") {
        return Vec::new();
    }
    let is_help = path.components().any(|part| part.as_os_str().to_string_lossy().starts_with("args"));
    let mut found = Vec::new();
    let mut literal: Option<(usize, String)> = None;
    for (index, line) in code.lines().enumerate() {
        let is_comment = literal.is_none() && line.trim_start().starts_with("//");
        if is_comment {
            let is_shown = is_help && line.trim_start().starts_with("///");
            found.extend(is_shown.then(|| (index + 1, line.trim().to_owned())));
            continue;
        }
        let mut letters = line.chars();
        while let Some(letter) = letters.next() {
            match (&mut literal, letter) {
                (None, '"') => literal = Some((index + 1, String::new())),
                (None, '/') if letters.as_str().starts_with('/') => break,
                (None, '\'') if letters.as_str().starts_with("\"'") => drop(letters.next()),
                (None, _) => {}
                (Some(_), '"') => {
                    found.extend(literal.take().map(|(line, text)| (line, without(&text, "{", "}"))));
                }
                (Some((_, text)), '\\') => {
                    letters.next();
                    text.push(' ');
                }
                (Some((_, text)), '_') => text.push(' '),
                (Some((_, text)), letter) => text.push(letter),
            }
        }
    }
    found
}

pub(crate) fn read(root: &Path, path: &Path) -> String {
    fs::read_to_string(root.join(path)).unwrap_or_default()
}

/// A file, or all files below a directory, relative to the root of the repository.
pub(crate) fn files(root: &Path, place: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(root.join(place)) else { return vec![place.to_owned()] };
    entries.flatten().flat_map(|entry| files(root, &place.join(entry.file_name()))).collect()
}
