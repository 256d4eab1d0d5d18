//! Bugs of the past are patches in `dev/mutants`, which no other test looks at. They have to fit the code.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `make mutants-check` finds each of them.
const BUGS: usize = 100;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What follows `start` in a text, up to `end`, wherever it stands.
fn between(text: &str, start: &str, end: char) -> BTreeSet<String> {
    let found = text.split(start).skip(1).filter_map(|rest| rest.split_once(end));
    found.map(|(name, _)| name.to_owned()).collect()
}

/// The names of all patches but the first, which adds the switch.
fn patches() -> BTreeSet<String> {
    let entries = std::fs::read_dir(root().join("dev/mutants")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned());
    names.filter(|name| name.ends_with(".patch") && !name.starts_with("00-")).collect()
}

#[test]
fn all_patches_apply_and_each_asks_for_its_bug() {
    let tree = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bugs");
    let made = Command::new(root().join("dev/mutants/tree")).arg(&tree).output().unwrap();
    assert!(
        made.status.success(),
        "{} (docs/internals/mutants.md says how to mend it)",
        String::from_utf8_lossy(&made.stderr)
    );
    let known = std::fs::read_to_string(tree.join("crates/plan/src/bugs.in")).unwrap();
    assert_eq!(patches().len(), BUGS);
    for patch in patches() {
        let bug = between(&patch, "-", '.').pop_first().unwrap();
        let text = std::fs::read_to_string(root().join("dev/mutants").join(&patch)).unwrap();
        assert!(!text.starts_with("diff "), "{patch} does not say who had the bug");
        let added: String = text.lines().filter(|line| line.starts_with('+')).collect();
        assert_eq!(between(&added, "::has!(", ')'), BTreeSet::from([bug.clone()]), "{patch}");
        assert!(known.contains(&format!(" {bug}: \"")), "{patch}");
        for file in between(&text, "\n+++ b/", '\n') {
            let applied = std::fs::read_to_string(tree.join(&file)).unwrap();
            assert!(applied.contains(&format!("::has!({bug})")), "{patch} left {file} as it was");
        }
    }
}
