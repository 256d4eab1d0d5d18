//! The shape of the planner: short functions, no clock, and a small interface.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::structure::{files, root};

const FUNCTION_LINES_MAX: usize = 50;
/// The most items that other crates may name; constants, methods, fields and variants do not count.
const INTERFACE_MAX: usize = 106;
const TESTS: [&str; 3] = ["moves/tests", "moves/enumeration", "moves/model"];
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

/// Path below `src` without its ending → text.
type Sources = BTreeMap<String, String>;

/// All sources, tests aside.
fn sources() -> Sources {
    let folder = "crates/plan/src";
    let source = |path: PathBuf| {
        let place = path.strip_prefix(root().join(folder)).unwrap().with_extension("");
        (place.to_str().unwrap().to_owned(), std::fs::read_to_string(path).unwrap())
    };
    let mut sources: Sources = files(&[folder], "rs").into_iter().map(source).collect();
    sources.retain(|name, _| !TESTS.contains(&name.as_str()));
    assert!(sources.len() > 60, "{} files", sources.len());
    sources
}

fn code(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
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
fn there_is_no_clock_and_no_lot() {
    assert_eq!(forbidden(&sources()), []);
}

#[test]
fn a_planted_clock_is_found() {
    let mut planted = sources();
    planted
        .get_mut("moves/aim")
        .unwrap()
        .push_str("\nfn late() -> jiff::Timestamp { jiff::Timestamp::now() }\n");
    assert_eq!(forbidden(&planted), [("moves/aim", "::now()")]);
}

#[test]
fn functions_fit() {
    for (name, text) in sources() {
        assert_eq!(long_functions(&text), [""; 0], "{name}.rs");
    }
}

#[test]
fn a_planted_long_function_is_found() {
    let body = |lines: usize| format!("    fn planted() {{\n{}    }}\n", "        call();\n".repeat(lines));
    assert!(long_functions(&body(FUNCTION_LINES_MAX - 2)).is_empty());
    assert_eq!(long_functions(&body(FUNCTION_LINES_MAX - 1)).len(), 1);
}

/// Parameters that pack several values into a tuple. A closure may take one.
fn tuples(text: &str) -> Vec<String> {
    let code = code(text);
    let packs = |line: &&str| {
        let is_parameter = line.contains("fn ") || line.trim_end().ends_with("),");
        is_parameter && line.contains(": (") && !line.contains(['|', '"', '.'])
    };
    code.lines().filter(packs).map(|line| line.trim().to_owned()).collect()
}

#[test]
fn no_parameter_is_a_tuple() {
    for (name, text) in sources() {
        assert_eq!(tuples(&text), [""; 0], "{name}.rs");
    }
    assert_eq!(tuples("fn planted(\n    (a, b): (bool, i64),\n) {}"), ["(a, b): (bool, i64),"]);
    assert_eq!(tuples("fn planted(pair: (bool, i64)) {}"), ["fn planted(pair: (bool, i64)) {}"]);
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
