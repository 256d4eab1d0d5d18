//! Every duration of planner and engine stands in the `durations.rs` of its crate.

use crate::{root, sources};

/// Lines that make a duration out of a number, or give one a name.
fn durations(text: &str) -> Vec<&str> {
    let (code, _tests) = text.split_once("#[cfg(test)]\nmod tests {").unwrap_or((text, ""));
    let is_number =
        |rest: &str| rest.split_once('(').is_some_and(|(_, of)| of.starts_with(|c: char| c.is_ascii_digit()));
    let is_made = |line: &str| line.split("Duration::from_").skip(1).any(is_number);
    let is_named = |line: &str| {
        let Some((_, rest)) = line.split_once("const ") else { return false };
        let (name, kind) = rest.split_once(':').unwrap_or((rest, ""));
        let units = ["SECONDS", "SECS", "MILLIS", "MINUTES"];
        kind.split('=').next().is_some_and(|kind| kind.contains("Duration"))
            || units.iter().any(|unit| name.ends_with(unit))
    };
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.filter(|line| is_made(line) || is_named(line)).collect()
}

#[test]
fn none_stands_elsewhere() {
    let mut files = Vec::new();
    for folder in ["crates/plan/src", "crates/engine/src"] {
        sources(&root().join(folder), &mut files);
    }
    assert!(files.len() > 60, "{} files", files.len());
    for path in files.into_iter().filter(|path| !path.ends_with("durations.rs")) {
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            durations(&text),
            [""; 0],
            "{}: its place is the durations.rs of its crate",
            path.display()
        );
    }
}

#[test]
fn a_planted_duration_is_found() {
    let planted = [
        "const REST: Duration = OTHER;",
        "pub const PATIENCE_SECONDS: i64 = 600;",
        "    let until = now + SignedDuration::from_secs(1);",
        "    wait(std::time::Duration::from_millis(5_000)).await;",
    ];
    for line in planted {
        assert_eq!(durations(line), [line]);
    }
    let fine = "/// `Duration::from_secs(1)`\nSignedDuration::from_secs(deadline)\nconst MAX: usize = 3;\n#[cfg(test)]\nmod tests {\n    Duration::from_secs(3)";
    assert_eq!(durations(fine), [""; 0]);
}
