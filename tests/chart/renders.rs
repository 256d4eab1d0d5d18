//! What the chart renders, without a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use cluster::Binary;
use serde_json::{Value, json};

use crate::values::{SETS, flags, golden, objects, output, path, read, render};

/// Of `shard=a`: what `printf shard=a | sha256sum` begins with.
const LEASE_OF_A: &str = "rollwright-3d8dfb268d";

const CRD: &str = "crds/deployments.rollwright.dev.yaml";

#[test]
fn lint_has_nothing_to_say() {
    for set in SETS {
        let flags = flags(set);
        let arguments: Vec<&str> = ["lint", "--strict", "charts/rollwright"]
            .into_iter()
            .chain(flags.iter().map(String::as_str))
            .collect();
        let told = output(Binary::Helm, &arguments).unwrap();
        assert!(told.contains("0 chart(s) failed") && !told.contains("[WARNING]"), "{set}: {told}");
    }
}

#[test]
fn golden_files() {
    for set in SETS {
        golden(&format!("tests/chart/golden/{set}.yaml"), &abridged(&render(set, &[]).unwrap()));
    }
}

/// Without the contents of files that have tests of their own.
fn abridged(text: &str) -> String {
    let mut short = String::new();
    for document in text.split_inclusive("\n---\n") {
        let cut = [
            ("kind: CustomResourceDefinition\n", "\nspec:\n"),
            ("kind: PrometheusRule\n", "\n  groups:\n"),
            ("-dashboard\n", "\n  rollwright.json: |-\n"),
        ];
        let cut = cut.iter().find(|(kind, _)| document.contains(kind));
        let end = cut.and_then(|(_, field)| Some(document.find(field)? + field.len()));
        match end {
            Some(end) => short.push_str(&format!("{}    # (a file)\n---\n", &document[..end])),
            None => short.push_str(document),
        }
    }
    short
}

#[test]
fn the_definition_is_ours() {
    golden("charts/rollwright/files/crd.yaml", &read(CRD));
    let expected = objects(&read(CRD)).remove(0);
    let revision = expected["metadata"]["annotations"].clone();
    let mut kept = revision.clone();
    kept["helm.sh/resource-policy"] = json!("keep");
    for (keep, annotations) in [("true", kept), ("false", revision.clone())] {
        let text = render("default", &[&format!("--set=crds.keep={keep}")]).unwrap();
        let mut definition = one(&text, "CustomResourceDefinition");
        assert_eq!(definition["metadata"]["annotations"], annotations, "crds.keep={keep}");
        assert_eq!(definition["metadata"]["labels"]["app.kubernetes.io/managed-by"], "Helm");
        definition["metadata"] = json!({"name": definition["metadata"]["name"], "annotations": revision});
        assert_eq!(definition, expected, "crds.keep={keep}");
    }
    let text = render("default", &["--set=crds.install=false"]).unwrap();
    assert!(!text.contains("CustomResourceDefinition"));
}

#[test]
fn alerts_and_dashboard_are_the_files() {
    let text = render("monitoring", &[]).unwrap();
    let alerts = objects(&read("charts/rollwright/files/alerts.yaml")).remove(0);
    assert_eq!(one(&text, "PrometheusRule")["spec"], alerts);
    let dashboard = one(&text, "ConfigMap")["data"]["rollwright.json"].as_str().unwrap().to_owned();
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(parse(&dashboard), parse(&read("charts/rollwright/files/dashboard.json")));
}

/// The one object of a kind in a text.
fn one(text: &str, kind: &str) -> Value {
    let mut found: Vec<Value> = objects(text).into_iter().filter(|object| object["kind"] == kind).collect();
    assert_eq!(found.len(), 1, "{kind}");
    found.remove(0)
}

#[test]
fn wrong_values_are_refused() {
    let cases: [(&[&str], &[&str]); 22] = [
        (&["replicas=2"], &["additional properties 'replicas' not allowed"]),
        (&["metrics.serviceMonitor.enable=true"], &["/metrics/serviceMonitor", "'enable' not allowed"]),
        (&["replicaCount=two"], &["/replicaCount", "want integer"]),
        (&["image.digest=latest"], &["/image/digest", "sha256"]),
        (&["image.pullPolicy=Sometimes"], &["/image/pullPolicy", "'IfNotPresent'"]),
        (&["controller.workers=0"], &["/controller/workers", "want 1"]),
        (&["controller.stalledAfter=5"], &["/controller/stalledAfter", "want 30"]),
        (&["controller.apis={apps/v2}"], &["/controller/apis/0", "'apps/v1'"]),
        (&["leaderElection.leaseDuration=15"], &["/leaderElection/leaseDuration", "want string"]),
        (&["watchNamespaces={Shop}"], &["/watchNamespaces/0", "'Shop' does not match"]),
        (&["selector=shard>1"], &["/selector", "does not match"]),
        (&["selector=shard=a", "watchNamespaces={shop}"], &["selector", "watchNamespaces"]),
        (&["podDisruptionBudget.maxUnavailable=some"], &["/podDisruptionBudget/maxUnavailable"]),
        (
            &["replicaCount=2", "leaderElection.enabled=false", "strategy.type=Recreate"],
            &["replicaCount", "leaderElection.enabled=true"],
        ),
        (&["leaderElection.enabled=false"], &["leaderElection.enabled", "strategy.type=Recreate"]),
        (&["leaderElection.renewDeadline=1m"], &["leaderElection.leaseDuration", "longer"]),
        (&["leaderElection.retryPeriod=9s"], &["leaderElection.renewDeadline", "1.2 times"]),
        (&["metrics.tls.enabled=true"], &["metrics.tls.secretName", "Secret"]),
        (
            &["metrics.serviceMonitor.enabled=true", "metrics.podMonitor.enabled=true"],
            &["metrics.podMonitor.enabled", "twice"],
        ),
        (&["serviceAccount.create=false"], &["serviceAccount.name", "name the account"]),
        (
            &["changedBy.enabled=true", "rbac.create=false", "serviceAccount.create=false"],
            &["serviceAccount.name", "name the account"],
        ),
        (&["changedBy.operators={}"], &["/changedBy/operators/0", "minLength"]),
    ];
    for (values, words) in cases {
        let flags: Vec<String> = values.iter().map(|value| format!("--set={value}")).collect();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let told = render("default", &flags).expect_err(&values.join(","));
        assert!(words.iter().all(|word| told.contains(word)), "{values:?}: {told}");
    }
}

/// Older releases have no MutatingAdmissionPolicy, and the chart still installs there.
#[test]
fn an_older_kubernetes_has_no_policy_that_notes_the_person() {
    let told = render("default", &["--kube-version=1.35.4", "--set=changedBy.enabled=true"]).unwrap_err();
    assert!(told.contains("changedBy.enabled: needs Kubernetes 1.36"), "{told}");
    assert!(render("default", &["--kube-version=1.33.0"]).is_ok());
    assert!(render("default", &["--kube-version=1.32.0"]).unwrap_err().contains("kubeVersion"));
}

/// Every key of values.yaml has a comment, and the schema knows it and no other.
#[test]
fn readme_and_schema_know_the_values() {
    let script = Command::new("python3").arg(path("charts/readme.py")).output().unwrap();
    assert!(script.status.success(), "{}", String::from_utf8_lossy(&script.stderr));
    golden("charts/rollwright/README.md", &String::from_utf8_lossy(&script.stdout));
    let values = objects(&read("charts/rollwright/values.yaml")).remove(0);
    let schema: Value = serde_json::from_str(&read("charts/rollwright/values.schema.json")).unwrap();
    same_keys("", &values, &schema);
}

fn same_keys(path: &str, values: &Value, schema: &Value) {
    let Some(known) = schema["properties"].as_object() else { return };
    assert_eq!(schema["additionalProperties"], false, "{path} takes unknown keys");
    let is_probe = path.ends_with("Probe") || path == ".strategy";
    for (key, of_key) in known {
        let path = format!("{path}.{key}");
        match values.get(key) {
            Some(value) => same_keys(&path, value, of_key),
            // The chart need not list what Kubernetes knows.
            None => assert!(is_probe, "{path} is in the schema and not in values.yaml"),
        }
    }
    for key in values.as_object().into_iter().flatten().map(|(key, _)| key) {
        assert!(known.contains_key(key), "{path}.{key} is not in the schema");
    }
}

/// What Artifact Hub reads in Chart.yaml is the chart's own: image, definition, and an example of Rollwright.
#[test]
fn annotations_for_artifact_hub_are_true() {
    let chart = objects(&read("charts/rollwright/Chart.yaml")).remove(0);
    let annotation = |name: &str| {
        let text = chart["annotations"][format!("artifacthub.io/{name}")].as_str();
        objects(text.unwrap_or_else(|| panic!("no {name}"))).remove(0)
    };
    let text = render("default", &[]).unwrap();
    let container = one(&text, "Deployment")["spec"]["template"]["spec"]["containers"][0].clone();
    assert_eq!(annotation("images"), json!([{"name": "rollwright", "image": container["image"]}]));
    let definition = one(&text, "CustomResourceDefinition");
    let known = annotation("crds")[0].clone();
    assert_eq!(known["name"], definition["metadata"]["name"]);
    assert_eq!(known["version"], definition["spec"]["versions"][0]["name"]);
    assert_eq!(annotation("crdsExamples"), json!([objects(&read("examples/minimal.yaml")).remove(0)]));
}

/// Releases of several shards share nothing, wherever they are, but the definition.
#[test]
fn releases_side_by_side() {
    let release = |name: &str, namespace: &str, shard: &str| {
        let flags = [
            "template".to_owned(),
            name.to_owned(),
            "charts/rollwright".to_owned(),
            format!("--namespace={namespace}"),
            format!("--set=selector=shard={shard}"),
            format!("--set=crds.install={}", shard == "a"),
            "--values=charts/rollwright/ci/monitoring-values.yaml".to_owned(),
        ];
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let text = output(Binary::Helm, &flags).unwrap();
        let text_of = |object: &Value, field: &str| object.pointer(field).map(ToString::to_string);
        let name = |object: &Value| {
            let fields = ["/kind", "/metadata/namespace", "/metadata/name"];
            fields.map(|field| text_of(object, field).unwrap_or_default()).join(" ")
        };
        (objects(&text).iter().map(name).collect::<BTreeSet<_>>(), text)
    };
    let (a, text) = release("shard-a", "one", "a");
    assert!(a.len() > 8 && text.contains(&format!("--leader-elect-resource-name={LEASE_OF_A}")), "{a:?}");
    assert!(text.contains(&format!("resourceNames: [{LEASE_OF_A}]")));
    for namespace in ["one", "two"] {
        let (b, text) = release("shard-b", namespace, "b");
        let both: Vec<_> = a.intersection(&b).collect();
        assert!(both.is_empty(), "in both: {both:?}");
        assert!(!text.contains(LEASE_OF_A));
    }
}

/// The right to see namespaces is granted to those only that look at them.
#[test]
fn namespaces_are_for_shards() {
    for (set, expected) in SETS.iter().map(|set| (set, *set == "shard")) {
        let rendered = objects(&render(set, &[]).unwrap());
        let mut rules = rendered.iter().flat_map(|object| object["rules"].as_array().into_iter().flatten());
        assert_eq!(rules.any(|rule| rule["resources"] == json!(["namespaces"])), expected, "{set}");
    }
}

/// Whatever one may set, the operator parses it: unknown flags end the pod.
#[test]
fn the_operator_knows_the_flags() {
    let help = Command::new(env!("CARGO_BIN_EXE_rollwright")).args(["run", "--help"]).output().unwrap();
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    for set in SETS {
        let deployment = one(&render(set, &[]).unwrap(), "Deployment");
        let arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"].clone();
        let flags = arguments.as_array().unwrap().iter().filter_map(Value::as_str);
        for flag in flags.filter_map(|flag| flag.strip_prefix("--")) {
            let name = flag.split('=').next().unwrap();
            assert!(help.contains(&format!("--{name}")), "{set}: `rollwright run` has no --{name}");
        }
    }
}

/// `kubectl apply -k deploy/base` is the chart as it comes.
#[test]
fn kustomize_base_is_the_chart() {
    let text = render("default", &["--no-hooks"]).unwrap();
    // The definition and its guard.
    let (definitions, others): (Vec<&str>, Vec<&str>) = text
        .split("---\n")
        .filter(|part| !part.trim().is_empty())
        .partition(|part| part.contains("\n  name: deployments.rollwright.dev\n"));
    golden("deploy/base/crd.yaml", &without_helm(&definitions));
    golden("deploy/base/operator.yaml", &without_helm(&others));
    let mut built = by_name(&output(Binary::Kubectl, &["kustomize", "deploy/base"]).unwrap());
    assert!(built.remove("Namespace/rollwright-system").is_some(), "the namespace");
    let mut rendered = by_name(&text);
    for object in rendered.values_mut() {
        for field in ["labels", "annotations"] {
            let map = object["metadata"].as_object_mut().unwrap();
            let Some(entries) = map.get_mut(field).and_then(Value::as_object_mut) else { continue };
            entries.retain(|key, value| !key.contains("helm.sh/") && value != "Helm");
            if entries.is_empty() {
                map.remove(field);
            }
        }
    }
    for (name, object) in &rendered {
        assert_eq!(built.get(name), Some(object), "{name}");
    }
    assert_eq!(built.keys().collect::<Vec<_>>(), rendered.keys().collect::<Vec<_>>());
}

fn by_name(text: &str) -> BTreeMap<String, Value> {
    let name = |object: &Value| {
        format!("{}/{}", object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap())
    };
    objects(text).into_iter().map(|object| (name(&object), object)).collect()
}

/// As text, so that comments and order stay.
fn without_helm(documents: &[&str]) -> String {
    let is_helms = |line: &str| {
        line.contains("helm.sh/") || line.ends_with("managed-by: Helm") || line.starts_with("# Source: ")
    };
    let mut made =
        String::from("# Made from the chart: UPDATE=1 cargo test -p rollwright --test chart renders\n");
    for document in documents {
        let lines = document.trim_end().lines().filter(|line| !is_helms(line)).map(str::trim_end);
        let lines: Vec<&str> = lines.collect();
        let text = lines.join("\n").replace("\n  annotations:\nspec:", "\nspec:");
        made.push_str(&format!("---\n{text}\n"));
    }
    made
}
