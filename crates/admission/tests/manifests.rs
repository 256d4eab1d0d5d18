//! What the API server refused is refused here, in the words that were recorded of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use admission::lint::{Linter, Report, Which};
use serde_json::Value;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn check(text: &str) -> Report {
    Linter::new(Which::Ours).unwrap().check(text)
}

/// The mistakes that an answer names, each as one text.
fn recorded(answer: &Value) -> BTreeSet<String> {
    if let Some(causes) = answer.pointer("/details/causes").and_then(Value::as_array) {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        return causes.iter().map(|it| format!("{}: {}", text(&it["field"]), text(&it["message"]))).collect();
    }
    let message = answer["message"].as_str().unwrap();
    let (_, complaints) = message.split_once("strict decoding error: ").unwrap();
    complaints.split(", ").map(str::to_owned).collect()
}

#[test]
fn every_invalid_manifest_is_refused_in_the_servers_words_with_a_line() {
    let text = std::fs::read_to_string(repository("tests/messages/invalid.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert!(cases.len() > 30, "{}", cases.len());
    for case in cases {
        let name = case["file"].as_str().unwrap();
        let text = std::fs::read_to_string(repository("tests/invalid").join(name)).unwrap();
        let report = check(&text);
        // The server does not know what was meant.
        let words = |message: &str| message.split("; did you mean ").next().unwrap_or_default().to_owned();
        let messages: BTreeSet<_> = report.findings.iter().map(|it| words(&it.message)).collect();
        assert_eq!(messages, recorded(&case["answer"]), "{name}");
        assert_eq!(report.checked, 1, "{name}");
        for finding in &report.findings {
            // The line has the field, or the nearest one around it.
            let line = text.lines().nth(finding.line - 1).unwrap();
            let parts: Vec<&str> = finding.field.split(['.', '[', ']']).filter(|it| !it.is_empty()).collect();
            let is_named = parts.iter().any(|part| line.contains(&format!("{part}:")));
            assert!(
                is_named || line.trim_start().starts_with('-') || parts.is_empty() || finding.line <= 2,
                "{name}:{}: {line:?} for {}",
                finding.line,
                finding.field
            );
        }
    }
}

#[test]
fn the_examples_and_the_corpus_are_clean() {
    let mut count = 0;
    let mut folders = ["examples", "tests/corpus"].map(repository).to_vec();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "yaml") {
                let report = check(&std::fs::read_to_string(&path).unwrap());
                assert_eq!(report.findings, [], "{}", path.display());
                count += report.checked;
            }
        }
    }
    assert!(count > 10, "{count} manifests");
}

const GOOD: &str = "apiVersion: rollwright.dev/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
      - name: app
        image: app:v1
";

#[test]
fn lines_count_from_the_start_of_the_file() {
    let bad =
        GOOD.replace("spec:\n  template", "spec:\n  replicas: -1\n  colour: red\n  replicas: -2\n  template");
    let text = format!("# two of them\n{GOOD}---\n{bad}");
    let report = check(&text);
    let found: Vec<_> = report.findings.iter().map(|it| (it.line, it.field.as_str())).collect();
    // The second of the two, thrice: it is there twice, and the server minds its value in two places.
    let replicas = (21, "spec.replicas");
    assert_eq!(found, [(20, "spec.colour"), replicas, replicas, replicas], "{report:?}");
    assert_eq!(report.checked, 2);
    assert!(report.findings.iter().any(|it| it.message == "duplicate field \"spec.replicas\""), "{report:?}");
    assert!(report.findings.iter().all(|it| it.name == "web"));
}

/// The example of docs/how-to/lint.md.
#[test]
fn an_unknown_field_has_its_own_line() {
    let text = std::fs::read_to_string(repository("tests/invalid/unknown-field.yaml")).unwrap();
    let lines: Vec<_> = check(&text).findings.iter().map(|it| it.line).collect();
    assert_eq!(lines, [18]);
}

#[test]
fn the_new_name_of_a_field_is_named() {
    let old = GOOD.replace("spec:\n  template", "spec:\n  pin: {hash: 5d9f7b6c48}\n  template");
    let messages: Vec<_> = check(&old).findings.into_iter().map(|finding| finding.message).collect();
    let named = "unknown field \"spec.pin.hash\"; write spec.pin.podTemplateHash instead".to_owned();
    assert!(messages.contains(&named), "{messages:?}");
}

#[test]
fn what_was_meant_is_named() {
    for (from, to, message) in [
        (
            "containers:",
            "contaners:",
            "unknown field \"spec.template.spec.contaners\"; did you mean spec.template.spec.containers?",
        ),
        (
            "image:",
            "imge:",
            "unknown field \"spec.template.spec.containers[0].imge\"; did you mean spec.template.spec.containers[0].image?",
        ),
        ("image:", "color: red\n        image:", "unknown field \"spec.template.spec.containers[0].color\""),
        (
            "kind: Deployment",
            "kind: Deploymnet",
            "no matches for kind \"Deploymnet\" in version \"rollwright.dev/v1\": it is Deployment in rollwright.dev/v1",
        ),
        (
            "rollwright.dev/v1",
            "rolwright.dev/v1",
            "no matches for kind \"Deployment\" in version \"rolwright.dev/v1\": did you mean Deployment in \
             rollwright.dev/v1?",
        ),
        (
            "rollwright.dev/v1\nkind: Deployment",
            "apps/v1\nkind: Deploymnt",
            "no matches for kind \"Deploymnt\" in version \"apps/v1\": did you mean Deployment in apps/v1?",
        ),
    ] {
        let findings = check(&GOOD.replace(from, to)).findings;
        assert!(findings.iter().any(|finding| finding.message == message), "{to}: {findings:?}");
    }
    let others = "apiVersion: apps/v1\nkind: DaemonSet\n---\napiVersion: v1\nkind: Service\n";
    assert_eq!((check(others).skipped, check(others).findings), (2, Vec::new()));
}

/// The server takes the Deployment, and refuses each ReplicaSet that the operator makes of it.
#[test]
fn pods_that_could_not_be_created_are_found() {
    let container = "      - name: app\n";
    for (more, line, message) in [
        (
            "        volumeMounts: [{name: data, mountPath: /data}]\n",
            12,
            "containers[0].volumeMounts[0].name: Not found: \"data\"",
        ),
        (
            "        ports: [{containerPort: 70000}]\n",
            12,
            "containers[0].ports[0].containerPort: Invalid value: 70000",
        ),
        (
            "        resources: {requests: {cpu: 1}, limits: {cpu: 500m}}\n",
            12,
            "must be less than or equal to cpu limit of 500m; no ReplicaSet can be created",
        ),
    ] {
        let report = check(&GOOD.replace(container, &format!("{container}{more}")));
        let found: Vec<_> = report.findings.iter().map(|it| (it.line, it.message.as_str())).collect();
        assert!(
            matches!(found.as_slice(), [(at, text)] if *at == line && text.contains(message)),
            "{more}: {found:?}"
        );
    }
    let found = check(&GOOD.replace("name: app\n", "name: App\n")).findings;
    assert!(found.len() == 1 && found[0].message.contains("RFC 1123"), "{found:?}");
}

#[test]
fn lists_are_looked_into_and_others_left_alone() {
    let json = r#"{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}},
  {"apiVersion": "rollwright.dev/v1", "kind": "Deployment",
   "metadata": {"name": "y"},
   "spec": {"replicas": -1, "template": {"metadata": {"labels": {"app": "web"}},
     "spec": {"containers": [{"name": "app", "image": "app:v1"}]}}}}]}"#;
    let report = check(json);
    assert_eq!((report.checked, report.skipped, report.findings.len()), (1, 1, 2), "{report:?}");
    assert!(report.findings.iter().all(|it| (it.line, it.name.as_str()) == (5, "y")), "{report:?}");
    let other = check("apiVersion: rollwright.dev/v2\nkind: Rollout\n");
    assert!(other.findings[0].message.starts_with("no matches for kind \"Rollout\""), "{other:?}");
    assert_eq!(other.findings[0].line, 2);
}

#[test]
fn deployments_of_apps_are_checked_if_asked() {
    let text = GOOD.replace("rollwright.dev/v1", "apps/v1");
    assert_eq!(check(&text).skipped, 1);
    let report = Linter::new(Which::AppsToo).unwrap().check(&text);
    assert_eq!((report.checked, report.findings), (1, Vec::new()));
    let report = Linter::new(Which::AppsToo).unwrap().check(&text.replace("image: app:v1", "imagination: 1"));
    assert!(!report.findings.is_empty());
}

#[test]
fn a_text_that_is_no_yaml_is_a_finding() {
    let report = check(&format!("{GOOD}---\na: [1\nb: }}\n"));
    assert_eq!((report.checked, report.findings.len()), (1, 1), "{report:?}");
    assert!(
        report.findings[0].line >= 14 && report.findings[0].message.starts_with("not YAML: "),
        "{report:?}"
    );
}
