//! Runs recorded decisions of the real controller through the production planner and executor.
//!
//! `oracle CASES > OUT`: reads cases (tests/oracle/FORMAT.md; `.gz` too) and prints one line a case with what
//! Rollwright's reconciles did. tests/oracle/compare.py judges the result.

use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::process::ExitCode;

/// What can go wrong before a case is run.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("usage: oracle CASES.jsonl[.gz] > OUTPUT.jsonl")]
    Usage,
    #[error("{path}: {source}")]
    File { path: String, source: std::io::Error },
    #[error("line {line}: {problem}")]
    Case { line: usize, problem: String },
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("oracle: {failure}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), None) = (arguments.next(), arguments.next()) else { return Err(Failure::Usage) };
    let at_path = |source| Failure::File { path: path.clone(), source };
    let file = std::fs::File::open(&path).map_err(at_path)?;
    let plain: Box<dyn Read> =
        if path.ends_with(".gz") { Box::new(flate2::read::GzDecoder::new(file)) } else { Box::new(file) };
    let mut out = BufWriter::new(std::io::stdout().lock());
    for (number, text) in BufReader::new(plain).lines().enumerate() {
        let text = text.map_err(at_path)?;
        if text.trim().is_empty() {
            continue;
        }
        let problem = |problem: String| Failure::Case { line: number + 1, problem };
        let played = oracle::play(&text).map_err(problem)?;
        writeln!(out, "{}", played.output).map_err(at_path)?;
    }
    out.flush().map_err(at_path)
}
