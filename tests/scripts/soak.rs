//! `tests/soak`, with a suite and a load that stand in for the real ones.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::place::{directory, output, program, root};

/// A suite that fails in its third run, and writes down whether the load ran beside it. In every second run it waits
/// for the load to start.
const SUITE: &str = r#"
echo run >>runs
tries=50
while [ $(($(wc -l <runs) % 2)) -eq 0 ] && [ $tries -gt 0 ] && ! kill -0 "$(cat load)" 2>/dev/null; do
  sleep 0.1
  tries=$((tries - 1))
done
if [ -s load ] && kill -0 "$(cat load)" 2>/dev/null; then echo beside >>beside; else echo alone >>beside; fi
if [ "$(wc -l <runs)" -eq 3 ]; then
  printf '\nfailures:\n\n---- rollout::one::apps ----\nwhat it said\n\nfailures:\n    rollout::one::apps\n    port::two::rollwright\n'
  printf '\ntest result: FAILED. 5 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n'
  exit 101
fi
printf '\ntest result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n'"#;

fn soak(place: &Path, runs: &str) -> (bool, String) {
    program(&place.join("suite"), &format!("cd {}\n{SUITE}", place.display()));
    let load = format!("echo $$ >{}; sleep 600", place.join("load").display());
    let mut command = Command::new(root().join("tests/soak"));
    command.arg(runs).env("SOAK_PAGE", place.join("page.md")).env("SOAK_SUITE", place.join("suite"));
    output(command.env("SOAK_LOAD", load).env("CARGO_TARGET_DIR", place))
}

fn page(place: &Path) -> String {
    fs::read_to_string(place.join("page.md")).unwrap()
}

#[test]
fn a_soak_names_what_failed_and_leaves_nothing_running() {
    let place = directory("soak");
    let head = "# A page\n\nwith a text.\n\n<!-- what follows is written by make e2e-soak -->\n";
    fs::write(place.join("page.md"), format!("{head}what the last one wrote\n")).unwrap();
    let (success, said) = soak(&place, "4");
    assert!(!success && said.contains("1 of 4 failed"), "{said}");
    let page = page(&place);
    assert!(page.starts_with(head) && !page.contains("the last one"), "{page}");
    assert!(page.contains("\nCommit ") && page.contains(": 3 of 4 runs passed.\n"), "{page}");
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| ") && !line.contains("run"))
        .map(|line| line.split(" | ").collect())
        .collect();
    let shown: Vec<_> = rows.iter().map(|row| (row[0], row[1], row[3], row[4])).collect();
    let expected = [
        ("| 1", "no", "7", "0 |"),
        ("| 2", "yes", "7", "0 |"),
        ("| 3", "no", "5", "2 |"),
        ("| 4", "yes", "7", "0 |"),
    ];
    assert_eq!(shown, expected, "{page}");
    assert!(page.ends_with("\nFailures:\n\n- run 3: rollout::one::apps port::two::rollwright\n"), "{page}");

    let beside = fs::read_to_string(place.join("beside")).unwrap();
    assert_eq!(beside, "alone\nbeside\nalone\nbeside\n");
    let load = fs::read_to_string(place.join("load")).unwrap();
    assert!(!Path::new("/proc").join(load.trim()).exists(), "the load still runs");
}

#[test]
fn a_soak_needs_a_number_and_a_page() {
    let place = directory("soak-wrong");
    fs::write(place.join("page.md"), "# Another page\n").unwrap();
    for (runs, what) in
        [("many", "is not a number of runs"), ("0", "is not a number of runs"), ("1", "lacks the line")]
    {
        let (success, said) = soak(&place, runs);
        assert!(!success && said.contains(what), "{runs}: {said}");
    }
    assert_eq!(page(&place), "# Another page\n");
}
