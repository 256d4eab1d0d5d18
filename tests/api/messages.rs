//! The answers in `tests/messages` are those of this server. `crates/admission` is held to the same files, so that an
//! in-memory cluster refuses what a real one refuses, in its words.
//!
//! A file has a base object and cases. A case changes the base (`set`) or brings an object of its own; `old` changes
//! the base to what is there before, and makes the request an update. The answer is the server's `Status`, or what of
//! the object is stored otherwise than it was sent. To add a case, write it without an answer and run this test with
//! `UPDATE=1`. The cases of `invalid` and `corpus` come from the manifests of these names. For `verdict` see
//! `verdicts.rs`.

use std::collections::BTreeMap;
use std::fs;

use cluster::Release;
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::{Map, Value, json};

use crate::cases::{changed, in_order};
use crate::suite::{Suite, golden, is_reference, manifests, path, suite, template};

/// The file of this name.
pub(crate) fn file(name: &str) -> Value {
    let text = fs::read_to_string(path(&format!("tests/messages/{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_answered_as_the_files_say() {
    let suite = suite().await;
    for name in ["deployments", "replica-sets", "pods", "verdicts"] {
        let file = file(name);
        check(&suite, name, &file["base"], file["cases"].as_array().unwrap().clone()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_manifests_are_answered_as_the_file_says() {
    let suite = suite().await;
    let base = &file("invalid")["base"];
    let mut cases = Vec::new();
    for path in manifests("tests/invalid") {
        let mut objects = suite.read(&fs::read_to_string(&path).unwrap()).await;
        let file = path.file_name().unwrap().to_str().unwrap();
        cases.push(json!({"file": file, "object": as_written(objects.remove(0))}));
    }
    check(&suite, "invalid", base, cases).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn templates_of_the_corpus_are_stored_as_the_file_says() {
    let suite = suite().await;
    let base = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet"});
    let mut cases = Vec::new();
    for manifest in suite.corpus().await {
        let template = template(&manifest);
        let mut set = base.clone();
        set["metadata"] = json!({"name": manifest["metadata"]["name"]});
        set["spec"] =
            json!({"selector": {"matchLabels": template["metadata"]["labels"]}, "template": template});
        cases.push(json!({"object": set, "fieldValidation": "Ignore"}));
    }
    check(&suite, "corpus", &base, cases).await;
}

/// kubectl names the namespace of its context, which is another one in each run.
fn as_written(mut object: Value) -> Value {
    object["metadata"].as_object_mut().unwrap().remove("namespace");
    object
}

/// Sends the requests of a file and compares the file with the answers.
async fn check(suite: &Suite, name: &str, base: &Value, cases: Vec<Value>) {
    let mut lines = Vec::new();
    for (i, mut case) in cases.into_iter().enumerate() {
        case["answer"] = ask(suite, base, &case, &format!("{name}-{i}")).await;
        lines.push(case.to_string());
    }
    let text = format!("{{\"base\":{base},\"cases\":[\n{}\n]}}\n", lines.join(",\n"));
    let path = format!("tests/messages/{name}.json");
    if is_reference() {
        golden(&path, &text);
        return;
    }
    let stored = fs::read_to_string(crate::suite::path(&path)).unwrap();
    if Release::selected().unwrap().is_since("1.36") {
        let is_newer = |line: &&str| {
            ["/metadata/ownerReferences", "kubernetes-1-37"].iter().any(|text| line.contains(text))
        };
        let [asked, stored] = [&text, &stored].map(|text| text.lines().filter(|line| !is_newer(line)));
        assert!(asked.eq(stored), "{path}: {text}");
        return;
    }
    // An older release has other words for the same, and stores fewer fields. Whether it refuses a case is equal.
    let (asked, stored) = (verdicts(&text), verdicts(&stored));
    assert!(!asked.is_empty(), "{path}");
    for (case, is_refused) in asked {
        assert_eq!(stored.get(&case), Some(&is_refused), "{path}: {case}");
    }
}

/// Whether each case of a file is refused. The formats of numbers are left out: before 1.36, they do not count.
fn verdicts(file: &str) -> BTreeMap<String, bool> {
    let file: Value = serde_json::from_str(file).unwrap();
    let verdict = |case: &Value| {
        let mut case = case.clone();
        let answer = case.as_object_mut().unwrap().remove("answer").unwrap();
        (case.to_string(), answer.get("code").is_some())
    };
    let cases = file["cases"].as_array().unwrap().iter().map(verdict);
    cases.filter(|(case, _)| !case.contains("3000000000")).collect()
}

async fn ask(suite: &Suite, base: &Value, case: &Value, name: &str) -> Value {
    let object = changed(base, case, "set");
    let validation = case["fieldValidation"].as_str().unwrap_or("Strict");
    let query = format!("?dryRun=All&fieldValidation={validation}");
    let (status, mut answer, warnings) = if case.get("old").is_some() {
        change(suite, base, case, (name, &query), &object).await
    } else {
        let body = case["body"].as_str().map_or_else(|| object.to_string(), str::to_owned);
        send(suite, "POST", &url(suite, base, &query), &body).await
    };
    if status >= 400 {
        answer = serde_json::from_str(&answer.to_string().replace(name, "probe")).unwrap();
        let sorted = in_order(answer.clone());
        let length = |status: &Value| status["message"].as_str().map(str::len);
        assert_eq!(length(&sorted), length(&answer), "{answer}");
        return sorted;
    }
    let part = if case.get("subresource").is_some() { "status" } else { "spec" };
    let mut differences = Map::new();
    if case.get("body").is_some() || there(&answer, part) != there(&object, part) {
        differences.insert("stored".into(), answer[part].clone());
    }
    // What the server warns of in pods is not held to anything.
    if !warnings.is_empty() && base["kind"] == "Deployment" {
        differences.insert("warnings".into(), json!(warnings));
    }
    differences.into()
}

/// Stores an object and sends a change of it. The ReplicaSet controller writes the status of a ReplicaSet
/// that it sees: a change made before that is made again.
async fn change(
    suite: &Suite,
    base: &Value,
    case: &Value,
    (name, query): (&str, &str),
    object: &Value,
) -> (u16, Value, Vec<String>) {
    let mut old = changed(base, case, "old");
    old["metadata"]["name"] = json!(name);
    let mut object = object.clone();
    object["metadata"]["name"] = json!(name);
    let (status, mut stored, _) = send(suite, "POST", &url(suite, base, ""), &old.to_string()).await;
    assert_eq!(status, 201, "{stored}");
    let subresource = case["subresource"].as_str().map(|name| format!("/{name}")).unwrap_or_default();
    let at = url(suite, base, &format!("/{name}"));
    loop {
        object["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"].clone();
        let answer = send(suite, "PUT", &format!("{at}{subresource}{query}"), &object.to_string()).await;
        stored = send(suite, "GET", &at, "").await.1;
        if answer.0 != 409 || stored["metadata"]["resourceVersion"] == object["metadata"]["resourceVersion"] {
            return answer;
        }
    }
}

fn there<'a>(object: &'a Value, part: &str) -> Option<&'a Value> {
    object.get(part).filter(|value| !value.is_null())
}

fn url(suite: &Suite, base: &Value, tail: &str) -> String {
    let version = base["apiVersion"].as_str().unwrap();
    let root = if version.contains('/') { "apis" } else { "api" };
    let plural = format!("{}s", base["kind"].as_str().unwrap().to_lowercase());
    format!("/{root}/{version}/namespaces/{}/{plural}{tail}", suite.namespace)
}

/// Sends a request; returns the code, the body and the warnings.
async fn send(suite: &Suite, method: &str, url: &str, body: &str) -> (u16, Value, Vec<String>) {
    let request = http::Request::builder()
        .method(method)
        .uri(url)
        .header("content-type", "application/json")
        .body(Body::from(body.as_bytes().to_vec()))
        .unwrap();
    let response = suite.client.send(request).await.unwrap();
    let status = response.status().as_u16();
    let warnings = response.headers().get_all("warning").iter().map(|value| {
        // 299 - "text"
        let text = value.to_str().unwrap().splitn(3, ' ').nth(2).unwrap();
        serde_json::from_str(text).unwrap()
    });
    let warnings = warnings.collect();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap(), warnings)
}
