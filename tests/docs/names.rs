//! Names in code do not use words that the glossary has retired in names.

use std::path::{Path, PathBuf};

use crate::words::{self, GLOSSARY};

/// Where the code is.
const SOURCES: &[&str] = &["crates", "deploy", "dev", "examples", "src", "tests"];
/// Names that others gave: file, name, and whose it is.
const KEPT: &[(&str, &str, &str)] = &[
    ("crates/admission/src/template.rs", "claim", "Kubernetes' name for a pod's share of storage"),
    ("tests/api/corpus.rs", "claim", "the same"),
    ("tests/api/corpus.rs", "claims", "the same"),
    ("src/write/live.rs", "wake", "a field of the debug log, which users may filter by"),
    ("tests/e2e/failure.rs", "needless_pass_by_value", "a lint of Clippy"),
];

/// Every retired name, every exception without a use, or what is wrong with the test itself.
pub(crate) fn returned(root: &Path) -> Vec<String> {
    let retired = words::retired(&words::read(root, Path::new(GLOSSARY)), "## Retired names");
    if !["turn", "wake"].iter().all(|word| retired.iter().any(|it| it == word)) {
        return vec![format!("{GLOSSARY} has no table of retired names: {retired:?}")];
    }
    let files = SOURCES.iter().flat_map(|place| words::files(root, Path::new(place)));
    let sources: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "rs")).collect();
    let (mut found, mut unused, mut many) = (Vec::new(), KEPT.to_vec(), 0);
    for path in &sources {
        for (line, name) in names(&words::read(root, path)) {
            many += 1;
            let Some(word) = parts(name).into_iter().find(|part| retired.contains(part)) else { continue };
            let is_kept = |kept: &(&str, &str, &str)| path == Path::new(kept.0) && name == kept.1;
            unused.retain(|kept| !is_kept(kept));
            if !KEPT.iter().any(is_kept) {
                found.push(format!(
                    "{}:{line}: `{name}`: \"{word}\" is retired in names: see {GLOSSARY}",
                    path.display()
                ));
            }
        }
    }
    found.extend(unused.iter().map(|(path, name, _)| format!("{path} has no name `{name}` to keep")));
    if many < 100_000 {
        found.push(format!("only {many} names were found in {SOURCES:?}"));
    }
    found
}

/// Retired words are found in names, and neither in strings nor in comments.
pub(crate) fn selftest() -> Result<(), String> {
    let code = r##"/* turn */ let r = r#"a "turn""#; // turn
fn its_turn<'turn>(quote: char) { OwnTurns::of('"', '\'', "\" turn", TURNS_MAX) }"##;
    let all = names(code);
    let parts_of =
        |(line, name): &(usize, &str)| parts(name).into_iter().map(|part| (*line, part)).collect::<Vec<_>>();
    let found: Vec<_> = all.iter().flat_map(parts_of).filter(|(_, part)| part.starts_with("turn")).collect();
    let expected = ["turn", "turns", "turns"].map(|part| (2, part.to_owned()));
    let are_words = parts("returnsATurn") == ["returns", "a", "turn"];
    if found == expected && are_words { Ok(()) } else { Err(format!("{all:?}")) }
}

/// The words of a name.
fn parts(name: &str) -> Vec<String> {
    let is_constant = !name.contains(char::is_lowercase);
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !is_constant {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text.split('_').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The names in code, with their lines. Strings, comments, and lifetimes are left out.
fn names(code: &str) -> Vec<(usize, &str)> {
    let (mut found, mut line, mut rest) = (Vec::new(), 1, code);
    while let Some(first) = rest.chars().next() {
        let (token, after) = rest.split_at_checked(length(rest, first)).unwrap_or((rest, ""));
        if is_part(first) && token.chars().all(is_part) {
            found.push((line, token));
        }
        line += token.matches('\n').count();
        rest = after;
    }
    found
}

fn is_part(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// How long the first token of the text is.
fn length(text: &str, first: char) -> usize {
    let until = |from: usize, end: &str| {
        text.get(from..).and_then(|text| text.find(end)).map_or(text.len(), |at| from + at + end.len())
    };
    let word = |text: &str| text.find(|letter| !is_part(letter)).unwrap_or(text.len());
    match first {
        '/' if text.starts_with("//") => until(0, "\n"),
        '/' if text.starts_with("/*") => until(0, "*/"),
        '"' => quoted(text),
        // A letter, or a lifetime.
        '\'' => match (text.chars().nth(1), text.chars().nth(2)) {
            (Some('\\'), Some(escaped)) => until(2 + escaped.len_utf8(), "'"),
            (Some(letter), Some('\'')) => 2 + letter.len_utf8(),
            _ => 1 + word(text.get(1..).unwrap_or_default()),
        },
        letter if is_part(letter) => {
            let name = word(text);
            let after = text.get(name..).unwrap_or_default();
            let marks = after.len() - after.trim_start_matches('#').len();
            let is_raw = matches!(text.get(..name), Some("r" | "br" | "cr"));
            let is_string = is_raw && after.get(marks..).is_some_and(|after| after.starts_with('"'));
            if is_string { until(name + marks + 1, &format!("\"{}", "#".repeat(marks))) } else { name }
        }
        other => other.len_utf8(),
    }
}

/// The length of a string with its quotes.
fn quoted(text: &str) -> usize {
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => drop(letters.next()),
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}
