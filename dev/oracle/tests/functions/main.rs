//! 27 functions of the real controller, 300 recorded input/output pairs each
//! (tests/oracle/FORMAT.md), asked of the planner.
//!
//! Where the planner has the function, it is called; where it has not, [`plan::plan`] decides about a snapshot in which
//! nothing else can happen. No rule is written a second time here. A pair may differ only for a deviation that is
//! wanted, and exactly as often as in the table.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod counting;
mod history;
mod progressing;
mod scaling;
mod snapshot;
mod templates;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};

use serde_json::Value;

/// What Rollwright makes of an input.
struct Answer {
    value: Value,
    /// Rules from which the branches that took part deviate on purpose.
    deviations: BTreeSet<&'static str>,
}

impl From<Value> for Answer {
    fn from(value: Value) -> Self {
        Self { value, deviations: BTreeSet::new() }
    }
}

/// A function, and how often its pairs differ for which wanted deviation.
struct Function {
    name: &'static str,
    ours: fn(&Value) -> Answer,
    exempted: &'static [(&'static str, usize)],
}

const fn exact(name: &'static str, ours: fn(&Value) -> Answer) -> Function {
    Function { name, ours, exempted: &[] }
}

const fn except(
    name: &'static str,
    ours: fn(&Value) -> Answer,
    exempted: &'static [(&'static str, usize)],
) -> Function {
    Function { name, ours, exempted }
}

const FUNCTIONS: [Function; 27] = [
    exact("GetScaledValueFromIntOrPercent", counting::scaled_value),
    exact("ResolveFenceposts", counting::fenceposts),
    exact("MaxUnavailable", counting::max_unavailable),
    exact("MaxSurge", counting::max_surge),
    exact("MinAvailable", counting::min_available),
    exact("NewRSNewReplicas", counting::new_set_size),
    exact("RoundToInt32", counting::round),
    exact("ReplicasAnnotation", counting::replicas_annotation),
    exact("TerminatingReplicaCount", counting::terminating),
    exact("calculateStatus", counting::status),
    except("GetReplicaSetFraction", scaling::fraction, &[("S8.7", 24)]),
    except("GetReplicaSetProportion", scaling::proportion, &[("S8.7", 10)]),
    exact("scale", scaling::scale),
    exact("FindActiveOrLatest", scaling::active_or_latest),
    exact("IsSaturated", scaling::is_saturated),
    exact("DeploymentComplete", progressing::is_complete),
    exact("DeploymentProgressing", progressing::is_progressing),
    exact("DeploymentTimedOut", progressing::is_timed_out),
    exact("requeueStuckDeployment", progressing::requeue),
    exact("SetDeploymentCondition", progressing::set_condition),
    exact("SafeEncodeString", templates::encode),
    exact("EqualIgnoreHash", templates::equal),
    exact("FindReplicaSets", templates::find),
    exact("generateReplicaSetName", templates::set_name),
    exact("Revisions", history::revisions),
    except("SetNewReplicaSetAnnotations", history::annotations, &[("S5.3", 15)]),
    except("cleanupDeployment", history::clean_up, &[("S5.3", 9)]),
];

struct Pair {
    input: Value,
    output: Value,
}

fn pairs() -> BTreeMap<String, Vec<Pair>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracle/functions-dev.jsonl.gz");
    let file = flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap());
    let mut pairs: BTreeMap<String, Vec<Pair>> = BTreeMap::new();
    for line in BufReader::new(file).lines() {
        let mut line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let pair = Pair { input: line["in"].take(), output: line["out"].take() };
        pairs.entry(line["fn"].as_str().unwrap().to_owned()).or_default().push(pair);
    }
    pairs
}

/// Equal as the recording means it: numbers within a microsecond, members of any order.
fn agree(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() || b.is_f64() => {
            (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-6
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agree(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| agree(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Compares all pairs of a function. Returns what is wrong.
fn check(function: &Function, pairs: &[Pair]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut exempted: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, Pair { input, output }) in pairs.iter().enumerate() {
        let answer = (function.ours)(input);
        if agree(&answer.value, output) {
            continue;
        }
        let known = |rule: &&&str| function.exempted.iter().any(|(known, _)| *known == **rule);
        match answer.deviations.iter().find(known) {
            Some(rule) => *exempted.entry(*rule).or_default() += 1,
            None => problems.push(format!(
                "{} #{index}: {input}\n    upstream {output}\n    ours     {} {:?}",
                function.name, answer.value, answer.deviations
            )),
        }
    }
    if pairs.len() != 300 {
        problems.push(format!("{}: {} pairs instead of 300", function.name, pairs.len()));
    }
    let wanted: BTreeMap<&str, usize> = function.exempted.iter().copied().collect();
    if exempted != wanted {
        problems.push(format!("{}: {exempted:?} pairs differ on purpose, not {wanted:?}", function.name));
    }
    problems
}

#[test]
fn every_pair_of_every_function_agrees() {
    let mut pairs = pairs();
    let mut problems = Vec::new();
    for function in &FUNCTIONS {
        let of_function = check(function, &pairs.remove(function.name).unwrap_or_default());
        let count = of_function.len();
        problems.extend(of_function.into_iter().take(3));
        if count > 3 {
            problems.push(format!("{}: {} more", function.name, count - 3));
        }
    }
    let left: Vec<_> = pairs.keys().collect();
    assert!(left.is_empty(), "nobody asks for {left:?}");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
