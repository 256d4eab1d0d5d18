//! The pictures of docs/pictures are what `make pictures` draws from the recorded data.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::place::{directory, ok, output, root};

const PICTURES: &str = "docs/pictures";
const SCREENS: &str = "crates/cli/src/live/golden";

/// What drawing needs, in a directory of its own.
fn copy(name: &str) -> PathBuf {
    let copy = directory(name);
    for part in ["dev/pictures", PICTURES, "docs/internals", SCREENS] {
        let to = copy.join(part);
        fs::create_dir_all(&to).unwrap();
        ok(Command::new("cp").arg("-r").arg(root().join(part).join(".")).arg(to));
    }
    copy
}

fn draw(copy: &Path) -> Command {
    let mut command = Command::new(copy.join("dev/pictures/draw"));
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn read(copy: &Path, name: &str) -> String {
    fs::read_to_string(copy.join(PICTURES).join(name)).unwrap()
}

#[test]
fn pictures_are_drawn_from_the_records() {
    let copy = copy("pictures-same");
    ok(&mut draw(&copy));
    let mut compared = 0;
    for entry in fs::read_dir(copy.join(PICTURES)).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".svg") {
            assert!(read(root(), &name) == read(&copy, &name), "{name} is old; run `make pictures`");
            compared += 1;
        }
    }
    assert_eq!(compared, 8);
}

/// Each record changes its own picture and no other.
#[test]
fn a_changed_record_changes_its_picture() {
    let cases = [
        ("docs/internals/benchmarks.md", "2,146.5 |\n| Rollwright", "2,046.5 |\n| Rollwright", "memory.svg"),
        ("docs/internals/benchmarks.md", "97.7 (68.9)", "97.6 (68.9)", "revisions.svg"),
        ("docs/pictures/rollout.json", "\"available\": [8, 0]", "\"available\": [9, 0]", "rollout.svg"),
        ("docs/pictures/undo.json", "\"ceiling\": 13", "\"ceiling\": 12", "undo.svg"),
        ("docs/pictures/revert.json", "\"ceiling\": 13", "\"ceiling\": 12", "revert.svg"),
        ("crates/cli/src/live/golden/at-step-80x24.txt", "Resting", "Rolling", "live.svg"),
        ("docs/pictures/session.cast", "rolled back", "rolled over", "session.svg"),
    ];
    for (record, from, to, picture) in cases {
        let copy = copy("pictures-changed");
        let text = fs::read_to_string(copy.join(record)).unwrap();
        assert!(text.contains(from), "{record}: {from}");
        fs::write(copy.join(record), text.replacen(from, to, 1)).unwrap();
        ok(&mut draw(&copy));
        let names = cases.map(|(_, _, _, name)| name);
        let changed: Vec<&str> =
            names.into_iter().filter(|name| read(&copy, name) != read(root(), name)).collect();
        assert_eq!(changed, [picture], "{record}");
    }
}

#[test]
fn an_unknown_control_sequence_is_no_picture() {
    let copy = copy("pictures-control");
    let cast = copy.join("docs/pictures/session.cast");
    let text = fs::read_to_string(&cast).unwrap();
    fs::write(&cast, text.replacen("rolled back", "\\u001b[2Jrolled back", 1)).unwrap();
    let (success, said) = output(&mut draw(&copy));
    assert!(!success && said.contains("unknown control sequence"), "{said}");
}
