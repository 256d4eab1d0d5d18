//! Variations can be played, and reach what makes the order of writes difficult.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;

use requests::Inputs;
use serde_json::Value;

fn inputs() -> Inputs {
    let cases = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracle/dev.jsonl.gz");
    Inputs::read("/dev/null", &[cases.to_owned()]).unwrap()
}

/// A part of the variations, each with its requests.
fn some(inputs: &Inputs) -> impl Iterator<Item = (usize, Vec<(String, Value)>)> + '_ {
    let variations = (0..inputs.count()).filter(|index| inputs.id(*index).contains('~'));
    variations.step_by(20).map(|index| (index, inputs.requests(index)))
}

/// The writes of the first reconcile, those of a kind in a row as one, and whether one shows the API.
fn first_reconcile(requests: &[(String, Value)]) -> (bool, Vec<String>) {
    let first = requests.iter().filter(|(heading, _)| heading.starts_with("pass 1:"));
    let text = |request: &Value, path| request.pointer(path).and_then(Value::as_str).unwrap_or("").to_owned();
    let mut is_ours = false;
    let mut writes = Vec::new();
    for (_, request) in first {
        is_ours |= request.pointer("/body/status/scaleReplicas").is_some();
        let (verb, resource) = (text(request, "/verb"), text(request, "/resource"));
        let is_read = ["get", "list"].contains(&verb.as_str()) || request.get("dryRun").is_some();
        if !is_read && resource != "events" {
            writes.push(format!("{verb} {resource}"));
        }
    }
    writes.dedup();
    (is_ours, writes)
}

#[test]
fn variations_can_be_played_and_reach_every_shape() {
    const SET: &str = "update replicasets";
    const STATUS: &str = "updateStatus deployments";
    const CREATE: &str = "create replicasets";
    const DELETE: &str = "delete replicasets";
    const ADOPT: &str = "patch replicasets";
    const ROLL_BACK: &str = "update deployments";
    let inputs = inputs();
    let mut shapes = BTreeSet::new();
    for (index, requests) in some(&inputs) {
        let (last, _) = requests.last().unwrap();
        assert_eq!(last, "oracle", "{}: {requests:?}", inputs.id(index));
        shapes.insert(first_reconcile(&requests));
    }
    let both: [&[&str]; 7] = [
        &[CREATE, STATUS],
        &[CREATE, STATUS, SET],
        &[SET, STATUS, SET],
        &[SET, STATUS],
        &[ADOPT, SET, STATUS],
        &[SET, STATUS, DELETE],
        &[STATUS, SET],
    ];
    let ours: [&[&str]; 3] = [&[ROLL_BACK, STATUS], &[DELETE, CREATE, STATUS], &[SET, ROLL_BACK, STATUS]];
    let theirs: [&[&str]; 1] = [&[STATUS, ROLL_BACK]];
    let wanted = both.iter().flat_map(|shape| [(true, shape), (false, shape)]);
    let wanted = wanted.chain(ours.iter().map(|shape| (true, shape)));
    let wanted = wanted.chain(theirs.iter().map(|shape| (false, shape)));
    let wanted: BTreeSet<(bool, Vec<String>)> =
        wanted.map(|(is_ours, shape)| (is_ours, shape.iter().map(|&it| it.to_owned()).collect())).collect();
    let missing: Vec<_> = wanted.difference(&shapes).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn a_digest_is_the_same_twice_and_another_for_another_case() {
    let inputs = inputs();
    let indexes: Vec<_> = some(&inputs).map(|(index, _)| index).take(50).collect();
    let digests: Vec<_> = indexes.iter().map(|index| inputs.digest(*index)).collect();
    let again: Vec<_> = indexes.iter().map(|index| inputs.digest(*index)).collect();
    assert_eq!(digests, again);
    assert!(digests.iter().collect::<BTreeSet<_>>().len() > 45, "{digests:x?}");
}
