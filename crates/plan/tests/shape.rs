//! The shape of the planner: short files, no large circles among them, no clock, and a small interface.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const FILE_LINES_MAX: usize = 400;
const FUNCTION_LINES_MAX: usize = 50;
/// The most files that may depend on each other in a circle.
const CIRCLE_MAX: usize = 3;
/// The most items that other crates may name; constants, methods, fields and variants do not count.
const INTERFACE_MAX: usize = 80;
/// What reads a clock, draws lots, or acts.
const FORBIDDEN: [&str; 12] = [
    "::now()",
    "SystemTime",
    "Instant",
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "HashMap",
    "HashSet",
    "RandomState",
    "rand::",
];

/// File name without its ending → text without comments.
type Sources = BTreeMap<String, String>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The sources, tests aside.
fn sources() -> Sources {
    let mut sources = Sources::new();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.extension().is_some_and(|extension| extension == "rs") {
            sources.insert(name, std::fs::read_to_string(path).unwrap());
        }
    }
    assert!(sources.len() > 30, "{} files", sources.len());
    sources
}

fn code(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// What `crate::` is followed by: first names, those in braces one by one.
fn names_after_crate(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for rest in code(text).split("crate::").skip(1) {
        let parts = match rest.strip_prefix('{') {
            Some(inner) => parts(inner),
            None => vec![rest.to_owned()],
        };
        let first = |part: &String| -> String {
            part.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
        };
        names.extend(parts.iter().map(first));
    }
    names
}

/// The parts between the commas of a group, up to its closing brace.
fn parts(group: &str) -> Vec<String> {
    let (mut depth, mut parts) = (0_usize, vec![String::new()]);
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => parts.push(String::new()),
            _ => {}
        }
        parts.last_mut().unwrap().push(c);
    }
    parts.iter().map(|part| part.trim_start_matches(',').to_owned()).collect()
}

/// Where the names come from that the root hands on: `pub use file::{Name, …};`.
fn handed_on(root: &str) -> BTreeMap<String, String> {
    let mut origin = BTreeMap::new();
    for statement in code(root).split("pub use ").skip(1) {
        let statement = statement.split(';').next().unwrap_or_default();
        let Some((file, names)) = statement.split_once("::") else { continue };
        let names = names.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty());
        origin.extend(names.map(|name| (name.to_owned(), file.to_owned())));
    }
    origin
}

/// Which files a file needs.
fn needs(sources: &Sources) -> BTreeMap<&str, BTreeSet<&str>> {
    let origin = handed_on(sources.get("lib").map_or("", String::as_str));
    let file = |name: &String| {
        let name = origin.get(name).unwrap_or(name);
        sources.get_key_value(name.as_str()).map(|(file, _)| file.as_str())
    };
    let others = sources.iter().filter(|(name, _)| *name != "lib");
    let needed = |text: &String| names_after_crate(text).iter().filter_map(file).collect();
    others.map(|(name, text)| (name.as_str(), needed(text))).collect()
}

/// All that can be reached from a file.
fn reached<'a>(needs: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &'a str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(file) = next.pop() {
        let new = needs.get(file).into_iter().flatten().filter(|file| reached.insert(**file));
        next.extend(new.copied().collect::<Vec<_>>());
    }
    reached
}

/// Files that need each other, if they are too many.
fn circles(sources: &Sources) -> BTreeSet<Vec<&str>> {
    let needs = needs(sources);
    let mut circles = BTreeSet::new();
    for file in needs.keys() {
        let mutual = reached(&needs, file).into_iter().filter(|other| reached(&needs, other).contains(file));
        let mutual: Vec<_> = mutual.collect();
        if mutual.len() > CIRCLE_MAX {
            circles.insert(mutual);
        }
    }
    circles
}

fn forbidden(sources: &Sources) -> Vec<(&str, &str)> {
    let of = |(name, text)| {
        let code: String = code(text);
        FORBIDDEN.into_iter().filter(move |word| code.contains(word)).map(move |word| (name, word))
    };
    sources.iter().map(|(name, text)| (name.as_str(), text.as_str())).flat_map(of).collect()
}

/// Functions with more lines than fit a screen: from `fn` to the brace that closes it.
fn long_functions(text: &str) -> Vec<String> {
    let lines: Vec<_> = text.lines().collect();
    let mut long = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let is_function = trimmed.split(' ').take(4).any(|word| word == "fn") && !trimmed.starts_with("//");
        if !is_function || trimmed.ends_with([';', '}']) {
            continue;
        }
        let indent = line.len() - trimmed.len();
        let end = format!("{}}}", " ".repeat(indent));
        let length = lines[start..].iter().position(|line| *line == end).unwrap() + 1;
        if length > FUNCTION_LINES_MAX {
            long.push(format!("{trimmed} has {length} lines"));
        }
    }
    long
}

#[test]
fn no_circle_is_larger_than_three_files() {
    assert_eq!(circles(&sources()), BTreeSet::new());
}

#[test]
fn a_planted_circle_is_found() {
    let mut planted = sources();
    let hands_on = planted.get_mut("lib").unwrap();
    // By way of a name that the root hands on, and by one in a group.
    hands_on.push_str("\npub use planted_a::{Planted, Other};\n");
    let texts =
        ["use crate::planted_b;", "use crate::{keys, planted_c::{X, Y}};", "use crate::planted_d::Z;"];
    for (name, text) in ["planted_a", "planted_b", "planted_c"].into_iter().zip(texts) {
        planted.insert(name.to_owned(), text.to_owned());
    }
    planted.insert("planted_d".to_owned(), "use crate::keys;".to_owned());
    assert_eq!(circles(&planted), BTreeSet::new());
    planted.insert("planted_d".to_owned(), "use crate::Planted;".to_owned());
    let circle = vec!["planted_a", "planted_b", "planted_c", "planted_d"];
    assert_eq!(circles(&planted), BTreeSet::from([circle]));
}

#[test]
fn there_is_no_clock_and_no_lot() {
    assert_eq!(forbidden(&sources()), []);
}

#[test]
fn a_planted_clock_is_found() {
    let mut planted = sources();
    planted.get_mut("aim").unwrap().push_str("\nfn late() -> jiff::Timestamp { jiff::Timestamp::now() }\n");
    assert_eq!(forbidden(&planted), [("aim", "::now()")]);
}

#[test]
fn files_and_functions_fit() {
    for (name, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= FILE_LINES_MAX, "{name}.rs has {lines} lines");
        assert_eq!(long_functions(&text), [""; 0], "{name}.rs");
    }
}

#[test]
fn a_planted_long_function_is_found() {
    let body = |lines: usize| format!("    fn planted() {{\n{}    }}\n", "        call();\n".repeat(lines));
    assert!(long_functions(&body(FUNCTION_LINES_MAX - 2)).is_empty());
    assert_eq!(long_functions(&body(FUNCTION_LINES_MAX - 1)).len(), 1);
}

/// The items that other crates may name, as rustdoc lists them.
fn interface() -> BTreeSet<String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interface");
    let mut rustdoc = Command::new(env!("CARGO"));
    rustdoc.args(["rustdoc", "--quiet", "--package", "plan", "--lib", "--target-dir"]).arg(&target);
    // The format is the compiler's own, so only a nightly one writes it without being asked like this.
    rustdoc.args(["--", "-Zunstable-options", "--output-format", "json"]).env("RUSTC_BOOTSTRAP", "1");
    assert!(rustdoc.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success());
    let text = std::fs::read_to_string(target.join("doc/plan.json")).unwrap();
    named(&serde_json::from_str(&text).unwrap())
}

/// Walks from the root through public modules and what they hand on.
fn named(doc: &serde_json::Value) -> BTreeSet<String> {
    const COUNTED: [&str; 8] =
        ["module", "struct", "enum", "union", "trait", "function", "type_alias", "macro"];
    let index = |id: &serde_json::Value| &doc["index"][id.to_string()];
    let mut names = BTreeSet::new();
    let mut next = vec![(doc["root"].clone(), String::new())];
    while let Some((module, path)) = next.pop() {
        for id in index(&module)["inner"]["module"]["items"].as_array().unwrap() {
            let handed_on = &index(id)["inner"]["use"]["id"];
            let id = if handed_on.is_null() { id.clone() } else { handed_on.clone() };
            let item = index(&id);
            let Some(name) = item["name"].as_str().filter(|_| item["visibility"] == "public") else {
                continue;
            };
            let path = format!("{path}::{name}");
            if item["inner"]["module"].is_object() {
                next.push((id, path.clone()));
            }
            if COUNTED.iter().any(|kind| item["inner"].get(kind).is_some()) {
                names.insert(path);
            }
        }
    }
    names
}

#[test]
fn the_interface_is_small() {
    let names = interface();
    assert!(names.contains("::plan") && names.contains("::keys::condition"), "{names:?}");
    assert!(names.len() <= INTERFACE_MAX, "{} items: {names:#?}", names.len());
}
