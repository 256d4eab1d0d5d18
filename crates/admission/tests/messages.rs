//! The expected answers are those of a real server: `tests/messages` holds requests with its answers, and
//! `cargo test -p rollwright --test api` holds the files to the server.
use std::fs;
use std::path::PathBuf;

use admission::{Cause, Crd, built_in};
use serde_json::{Map, Value, json};

use crate::cases::{changed, in_order};

fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn file(name: &str) -> Value {
    let path = repository("tests/messages").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// What the server adds to the metadata of an object that it stores.
fn system_fields(object: &mut Value) {
    if object["metadata"].is_null() {
        object["metadata"] = json!({});
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.insert("namespace".into(), json!("default"));
        metadata.insert("uid".into(), json!("11111111-2222-3333-4444-555555555555"));
        metadata.insert("resourceVersion".into(), json!("1"));
        metadata.insert("generation".into(), json!(1));
    }
}

struct Server {
    crd: Crd,
}

enum Outcome {
    Stored(Value, Vec<String>),
    Refused(Value),
}

impl Server {
    fn new() -> Self {
        Self { crd: Crd::parse(&api::crd::crd(None).unwrap()).unwrap() }
    }

    /// Decodes a Deployment as this request asks; what it complains of is a warning or an error.
    fn decode(&self, case: &Value, object: &mut Value) -> Result<Vec<String>, Value> {
        let text = case["body"].as_str().map_or_else(|| object.to_string(), str::to_owned);
        let mut complaints = admission::duplicate_fields(text.as_bytes());
        *object = serde_json::from_str(&text).unwrap();
        complaints.extend(self.crd.decode(object).map_err(|why| self.crd.undecodable(&why))?);
        match case["fieldValidation"].as_str().unwrap_or("Strict") {
            "Ignore" => Ok(Vec::new()),
            "Warn" => Ok(complaints),
            _ if complaints.is_empty() => Ok(complaints),
            _ => Err(self.crd.undecodable(&admission::strict_error(&complaints))),
        }
    }

    fn deployment(&self, base: &Value, case: &Value) -> Outcome {
        let mut new = changed(base, case, "set");
        let warnings = match self.decode(case, &mut new) {
            Ok(warnings) => warnings,
            Err(status) => return Outcome::Refused(status),
        };
        system_fields(&mut new);
        let causes = if case.get("old").is_some() {
            let mut old = changed(base, case, "old");
            self.decode(&json!({}), &mut old).unwrap();
            self.crd.prepare_create(&mut old);
            system_fields(&mut old);
            assert_eq!(self.crd.create(&old), []);
            if case.get("subresource").is_some() {
                let status = new.get("status").cloned();
                new = old.clone();
                if let Some(status) = status {
                    new["status"] = status;
                }
                self.crd.update_status(&new, &old)
            } else {
                self.crd.update(&new, &old)
            }
        } else {
            self.crd.prepare_create(&mut new);
            self.crd.create(&new)
        };
        let name = new["metadata"]["name"].as_str().unwrap_or_default();
        if causes.is_empty() {
            Outcome::Stored(new, warnings)
        } else {
            Outcome::Refused(self.crd.invalid(name, &causes))
        }
    }
}

fn built_in(base: &Value, case: &Value) -> Outcome {
    let defaulted = |changes: &str| {
        let mut object = changed(base, case, changes);
        match object["kind"].as_str().unwrap() {
            "ReplicaSet" => built_in::default_replica_set(&mut object),
            _ => admission::default_pod_template(&mut object),
        }
        system_fields(&mut object);
        object
    };
    let new = defaulted("set");
    let old = case.get("old").map(|_| defaulted("old"));
    let (group, causes): (&str, Vec<Cause>) =
        match (new["kind"].as_str().unwrap(), &old, case.get("subresource")) {
            ("Pod", _, _) => ("", built_in::pod_on_create(&new)),
            (_, None, _) => ("apps", built_in::replica_set_on_create(&new)),
            (_, Some(old), None) => ("apps", built_in::replica_set_on_update(&new, old)),
            (_, Some(old), Some(_)) => ("apps", built_in::replica_set_on_status_update(&new, old)),
        };
    let text = |pointer: &str| new.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if causes.is_empty() {
        return Outcome::Stored(new, Vec::new());
    }
    Outcome::Refused(admission::invalid(group, text("/kind"), text("/metadata/name"), &causes))
}

/// The answer to a request in the form of the files.
fn ask(server: &Server, base: &Value, case: &Value) -> Value {
    let sent = changed(base, case, "set");
    let outcome = match base["kind"].as_str().unwrap() {
        "Deployment" => server.deployment(base, case),
        _ => built_in(base, case),
    };
    match outcome {
        Outcome::Refused(status) => in_order(status),
        Outcome::Stored(object, warnings) => {
            let part = if case.get("subresource").is_some() { "status" } else { "spec" };
            let mut answer = Map::new();
            let differs = case.get("body").is_some()
                || object.get(part).filter(|part| !part.is_null())
                    != sent.get(part).filter(|part| !part.is_null());
            if differs {
                answer.insert("stored".into(), object[part].clone());
            }
            if !warnings.is_empty() {
                answer.insert("warnings".into(), json!(warnings));
            }
            answer.into()
        }
    }
}

fn check(name: &str) {
    let file = file(name);
    let server = Server::new();
    let cases = file["cases"].as_array().unwrap();
    assert!(!cases.is_empty(), "{name}");
    let mut wrong = Vec::new();
    for case in cases {
        let answer = ask(&server, &file["base"], case);
        if answer != case["answer"] {
            let request = case.get("set").or(case.get("body")).unwrap_or(&case["object"]["metadata"]);
            wrong.push(format!("{request}\n  server {}\n  ours   {answer}", case["answer"]));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn deployments() {
    check("deployments.json");
}

#[test]
fn specs_of_the_verdicts() {
    check("verdicts.json");
}

#[test]
fn invalid_manifests() {
    check("invalid.json");
}

#[test]
fn replica_sets() {
    check("replica-sets.json");
}

#[test]
fn pods() {
    check("pods.json");
}

#[test]
fn templates_of_the_corpus() {
    check("corpus.json");
}

/// A manifest without an answer in the file would not be tested. The answer contains the first line of the manifest.
#[test]
fn every_invalid_manifest_has_an_answer() {
    let mut listed = Vec::new();
    for case in file("invalid.json")["cases"].as_array().unwrap() {
        let (name, message) = (case["file"].as_str().unwrap(), case["answer"]["message"].as_str().unwrap());
        let text = fs::read_to_string(repository("tests/invalid").join(name)).unwrap();
        let expected = text.lines().next().and_then(|line| line.strip_prefix("# expect: ")).unwrap();
        assert!(message.contains(expected), "{name}: {message}");
        listed.push(name.to_owned());
    }
    let mut present: Vec<String> = fs::read_dir(repository("tests/invalid"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    present.sort();
    assert_eq!(listed, present);
}
