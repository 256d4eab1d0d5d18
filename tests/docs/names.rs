//! Names in code do not use words that the glossary has retired in names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proc_macro2::{LexError, TokenStream, TokenTree};

use crate::words::{self, GLOSSARY};

/// Where the code is.
const SOURCES: &[&str] = &["crates", "deploy", "dev", "examples", "sandbox", "src", "tests"];
/// Names that others gave: file, name, and who gave it.
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
        let names = match names(&words::read(root, path)) {
            Ok(names) => names,
            Err(error) => return vec![format!("{} is not read: {error}", path.display())],
        };
        many += names.len();
        for name in names.into_iter().collect::<BTreeSet<_>>() {
            let Some(word) = parts(&name).into_iter().find(|part| retired.contains(part)) else { continue };
            let is_kept = |kept: &(&str, &str, &str)| path == Path::new(kept.0) && name == kept.1;
            unused.retain(|kept| !is_kept(kept));
            if !KEPT.iter().any(is_kept) {
                let path = path.display();
                found.push(format!("{path}: `{name}`: \"{word}\" is retired in names: see {GLOSSARY}"));
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
    let all = names(code).map_err(|error| error.to_string())?;
    let found = all.iter().flat_map(|name| parts(name)).filter(|part| part.starts_with("turn"));
    let found: BTreeSet<_> = found.collect();
    let are_found = found.into_iter().eq(["turn", "turns"]);
    let are_words = parts("returnsATurn") == ["returns", "a", "turn"];
    let are_only_names = !all.iter().any(|name| name == "turn");
    if are_found && are_words && are_only_names { Ok(()) } else { Err(format!("{all:?}")) }
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

/// The names in code, without those of lifetimes.
fn names(code: &str) -> Result<Vec<String>, LexError> {
    let (mut found, mut open) = (Vec::new(), vec![code.parse::<TokenStream>()?]);
    while let Some(stream) = open.pop() {
        let mut is_lifetime = false;
        for token in stream {
            let is_quote = matches!(&token, TokenTree::Punct(mark) if mark.as_char() == '\'');
            match token {
                TokenTree::Ident(name) if !is_lifetime => found.push(name.to_string()),
                TokenTree::Group(group) => open.push(group.stream()),
                _ => {}
            }
            is_lifetime = is_quote;
        }
    }
    Ok(found)
}
