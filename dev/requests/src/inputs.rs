//! The cases and scenarios to play, and the requests that each makes a tree send.

use std::fs::File;
use std::hash::Hasher;
use std::io::{BufRead, BufReader, Read};
use std::panic::AssertUnwindSafe;
use std::path::Path;

use fnv::FnvHasher;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use sim::{Scenario, Settings};

/// Variations of recorded cases.
const VARIATIONS: usize = 50_000;
/// Simulated seeds.
const SEEDS: u64 = 10_000;
/// What a variation keeps of a recorded case: all but its outcome.
const KEPT: [&str; 5] = ["id", "now", "featureGates", "applyDefaults", "input"];

/// An input that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The file cannot be read.
    #[error("{path}: {source}")]
    File {
        /// Which one.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A line is no case, or no scenario that this tree knows.
    #[error("{path}, line {line}: {source}")]
    Line {
        /// In which file.
        path: String,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// Everything that is played, by index: recorded cases, their variations, simulated seeds.
#[derive(Debug)]
pub struct Inputs {
    recorded: Vec<Value>,
    scenarios: Vec<Scenario>,
}

/// What stands at an index.
enum Part<'a> {
    Recorded(&'a Value),
    Variation(&'a Value, u64),
    Seed(usize),
}

impl Inputs {
    /// Reads recorded cases (`.gz` too) and the scenarios that [`Self::scenarios`] wrote.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn read(scenarios: &str, cases: &[String]) -> Result<Self, Failure> {
        let mut recorded = Vec::new();
        for path in cases {
            recorded.extend(lines::<Map<String, Value>>(path)?.into_iter().map(without_outcome));
        }
        Ok(Self { recorded, scenarios: lines(scenarios)? })
    }

    /// The scenarios of the seeds, a line each. BASE writes them for both trees: a newer simulator may
    /// draw others. Every other one has a theme.
    pub fn scenarios() -> impl Iterator<Item = serde_json::Result<String>> {
        let of = |seed| if seed % 2 == 1 { Scenario::themed(seed) } else { Scenario::of(seed) };
        (0..SEEDS).map(move |seed| serde_json::to_string(&of(seed)))
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.recorded.len() + VARIATIONS + self.scenarios.len()
    }

    /// The name of an input: that of a recorded case, `NAME~NUMBER` for a variation of it, or `seed-NUMBER`.
    #[must_use]
    pub fn id(&self, index: usize) -> String {
        let name = |case: &Value| case.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        match self.part(index) {
            Part::Recorded(case) => name(case),
            Part::Variation(case, number) => format!("{}~{number}", name(case)),
            Part::Seed(seed) => format!("seed-{seed}"),
        }
    }

    fn part(&self, index: usize) -> Part<'_> {
        if let Some(case) = self.recorded.get(index) {
            return Part::Recorded(case);
        }
        let number = index - self.recorded.len();
        match self.recorded.get(number % self.recorded.len().max(1)) {
            Some(case) if number < VARIATIONS => Part::Variation(case, number as u64),
            _ => Part::Seed(number.saturating_sub(VARIATIONS)),
        }
    }

    /// What the tree sends, a heading and a body for each request. A panic is an outcome too.
    #[must_use]
    pub fn requests(&self, index: usize) -> Vec<(String, Value)> {
        let play = AssertUnwindSafe(|| match self.part(index) {
            Part::Recorded(case) => of_case(case),
            Part::Variation(case, number) => of_case(&crate::vary(case, number)),
            Part::Seed(seed) => self.of_scenario(seed),
        });
        std::panic::catch_unwind(play).unwrap_or_else(|payload| {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            vec![("panic".to_owned(), text.into())]
        })
    }

    fn of_scenario(&self, seed: usize) -> Vec<(String, Value)> {
        let Some(scenario) = self.scenarios.get(seed) else { return Vec::new() };
        let report = sim::play(scenario, &Settings { requests: true, ..Settings::default() });
        let sent = |mut entry: Value| {
            let request = entry.get_mut("request").map_or(Value::Null, Value::take);
            let number = |name: &str| entry.get(name).and_then(Value::as_u64).unwrap_or_default();
            let when = format!("{} ms, operator {}", number("at"), number("operator"));
            (heading(&when, &request), request)
        };
        report.requests.into_iter().map(sent).collect()
    }

    /// A number that changes with any byte of the requests.
    #[must_use]
    pub fn digest(&self, index: usize) -> u64 {
        let mut hasher = FnvHasher::default();
        for (heading, body) in self.requests(index) {
            hasher.write(heading.as_bytes());
            hasher.write(body.to_string().as_bytes());
            hasher.write_u8(b'\n');
        }
        hasher.finish()
    }
}

/// The requests of each reconcile, and what the reconcile came to.
fn of_case(case: &Value) -> Vec<(String, Value)> {
    let played = match oracle::play(&case.to_string()) {
        Ok(played) => played,
        Err(problem) => return vec![("not a case".to_owned(), problem.into())],
    };
    let mut all = Vec::new();
    for (number, requests) in (1..).zip(played.requests) {
        for request in requests.as_array().into_iter().flatten() {
            all.push((heading(&format!("pass {number}"), request), request.clone()));
        }
    }
    all.push(("oracle".to_owned(), played.output));
    all
}

fn heading(when: &str, request: &Value) -> String {
    let text = |path: &str| request.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let name = [text("/name"), text("/body/metadata/name"), text("/body/reason")].concat();
    format!("{when}: {} {} {name}", text("/verb"), text("/resource"))
}

fn without_outcome(mut case: Map<String, Value>) -> Value {
    case.retain(|name, _| KEPT.contains(&name.as_str()));
    Value::Object(case)
}

/// A file of JSON lines.
fn lines<T: DeserializeOwned>(path: &str) -> Result<Vec<T>, Failure> {
    let at_path = |source| Failure::File { path: path.to_owned(), source };
    let file = File::open(path).map_err(at_path)?;
    let is_packed = Path::new(path).extension().is_some_and(|extension| extension == "gz");
    let plain: Box<dyn Read> =
        if is_packed { Box::new(flate2::read::GzDecoder::new(file)) } else { Box::new(file) };
    let mut values = Vec::new();
    for (number, text) in (1..).zip(BufReader::new(plain).lines()) {
        let text = text.map_err(at_path)?;
        let at_line = |source| Failure::Line { path: path.to_owned(), line: number, source };
        values.push(serde_json::from_str(&text).map_err(at_line)?);
    }
    Ok(values)
}
