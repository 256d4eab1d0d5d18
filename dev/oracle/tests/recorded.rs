//! All recorded decisions of Kubernetes' own controller, run through Rollwright and compared.
//!
//! `make oracle` shows the table by kind.

#![allow(clippy::expect_used, reason = "a failed step is a failed test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::read::GzDecoder;

fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle").join(name)
}

/// The lines of a recorded file, in a file of this process alone: two runs may go side by side.
fn unpacked(name: &str) -> Scratch {
    let scratch = Scratch::new(name.trim_end_matches(".gz"));
    let packed = std::fs::File::open(recorded(name)).expect("the recorded file");
    let mut plain = std::fs::File::create(&scratch.0).expect("a file for its lines");
    std::io::copy(&mut GzDecoder::new(packed), &mut plain).expect("unpacking");
    scratch
}

/// A file that goes with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("{}-{:?}-{name}", std::process::id(), std::thread::current().id());
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// `compare.py CASES OUTPUT FLAGS`; its table goes where this test's output goes.
fn compare(cases: &Path, output: &Path, flags: &[&str]) -> bool {
    let mut command = Command::new("python3");
    command.arg(recorded("compare.py")).arg(cases).arg(output).args(flags);
    let output = command.output().expect("python3, which the comparer is written in");
    println!("{}", String::from_utf8_lossy(&output.stdout));
    eprintln!("{}", String::from_utf8_lossy(&output.stderr));
    output.status.success()
}

/// Runs the planner and the executor over a file of cases, and compares.
fn judge(cases: &Path, flags: &[&str]) -> bool {
    let output = Scratch::new("output");
    let written = std::fs::File::create(&output.0).expect("a file for our decisions");
    let mut ours = Command::new(env!("CARGO_BIN_EXE_oracle"));
    let status = ours.arg(cases).stdout(Stdio::from(written)).status().expect("the oracle");
    assert!(status.success(), "the oracle could not run all cases");
    let allowed = Path::new(env!("CARGO_MANIFEST_DIR")).join("allow.txt");
    let allowed = ["--allow", allowed.to_str().expect("a path in UTF-8")];
    compare(cases, &output.0, &[&allowed, flags].concat())
}

#[test]
fn our_decisions_are_those_recorded() {
    assert!(judge(&unpacked("dev.jsonl.gz").0, &[]), "decisions differ from the recorded ones");
}

/// Nine cases in which Rollwright once differed. Seven still do, on purpose.
#[test]
fn hard_cases_are_decided_as_recorded_or_differ_on_purpose() {
    assert!(judge(&recorded("hard.jsonl"), &["--cap", "78"]), "decisions differ from the recorded ones");
}

#[test]
fn the_comparer_finds_planted_mistakes() {
    let (cases, planted) = (unpacked("dev.jsonl.gz"), unpacked("selftest-dev.jsonl.gz"));
    assert!(compare(&cases.0, &planted.0, &["--selftest"]), "the comparer overlooked a mistake");
}
