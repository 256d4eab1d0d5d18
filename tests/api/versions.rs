//! The reference and older releases: pod fields that only the reference has, a definition that is older or newer than
//! the server, and the fate of the fields in a `ReplicaSet`.
//!
//! `KUBERNETES=1.36 cargo test -p rollwright --test api` runs all of it on an older one.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use api::crd;
use cluster::{Companion, NotYet, Release, User, wait_for};
use serde_json::{Value, json};

use crate::suite::{
    CRD, Flavour, NEW_FIELDS_MANIFEST, Suite, golden, is_reference, path, suite, suite_with, template,
};

/// The schema of a pod template, as the server of the reference states it; a run on it writes the file with `UPDATE=1`.
const TEMPLATE: &str = "crates/api/src/crd/pod-template.schema.json";
/// The fields that the reference has and the release before has not; a run on that writes the file with `UPDATE=1`.
const NEW_FIELDS: &str = "tests/api/new-fields.txt";
const RELEASE_BEFORE: &str = "1.36";
const PROGRAM: &str = env!("CARGO_BIN_EXE_rollwright");
const SOON: Duration = Duration::from_secs(60);

/// The definition with the pod fields of the release before.
fn older_definition() -> Value {
    let mut template = crd::embedded_template().unwrap();
    for field in new_fields() {
        let steps: Vec<&str> = field.trim_start_matches("spec.template.").split('.').collect();
        remove(&mut template, &steps);
    }
    crd::with_template(template).unwrap()
}

fn remove(schema: &mut Value, steps: &[&str]) {
    let (step, rest) = steps.split_first().unwrap();
    let name = step.trim_end_matches("[]");
    let properties = schema["properties"].as_object_mut().unwrap();
    match (rest.is_empty(), name == *step) {
        (true, _) => _ = properties.remove(name).unwrap(),
        (false, true) => remove(&mut properties[name], rest),
        (false, false) => remove(&mut properties[name]["items"], rest),
    }
}

fn new_fields() -> Vec<String> {
    fs::read_to_string(path(NEW_FIELDS)).unwrap().lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_is_of_the_selected_release() {
    let version = suite().await.document("/version").await;
    assert_eq!(version["gitVersion"], Release::selected().unwrap().version());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_definition_has_all_pod_fields_of_the_release() {
    let suite = suite().await;
    let openapi = suite.document(crd::OPENAPI_PATH).await;
    let known = crd::template_schema(&openapi).unwrap();
    if is_reference() {
        golden(TEMPLATE, &known.to_string());
    }
    assert_eq!(crd::missing_template_fields(&crd::crd(None).unwrap(), &known), Vec::<String>::new());
    let embedded = crd::embedded_template().unwrap();
    let new = crd::missing_template_fields(&crd::crd(Some(&openapi)).unwrap(), &embedded);
    if Release::selected().unwrap().minor == RELEASE_BEFORE {
        golden(NEW_FIELDS, &new.iter().map(|field| format!("{field}\n")).collect::<String>());
    } else if !is_reference() {
        let is_within = |field: &str, new: &str| format!("{field}.").starts_with(&format!("{new}."));
        let is_new = |field: &String| new.iter().any(|new| is_within(field, new));
        assert!(new_fields().iter().all(is_new), "{new:?}");
    }
}

/// The values at a path of the list, wherever the manifest has them; `[]` is any item.
fn values(value: &Value, field: &str) -> Vec<Value> {
    field.split('.').fold(vec![value.clone()], |found, step| {
        let name = step.trim_end_matches("[]");
        let there = found.iter().map(|value| &value[name]).filter(|value| !value.is_null());
        let is_list = step.ends_with("[]");
        there
            .flat_map(|value| if is_list { value.as_array().unwrap().clone() } else { vec![value.clone()] })
            .collect()
    })
}

async fn manifest(suite: &Suite) -> Value {
    let manifest = suite.read(&fs::read_to_string(path(NEW_FIELDS_MANIFEST)).unwrap()).await.remove(0);
    for field in new_fields() {
        assert!(!values(&manifest, &field).is_empty(), "{NEW_FIELDS_MANIFEST} does not use {field}");
    }
    manifest
}

/// A definition that is older than the server, then one as new as the reference. The test compares what the operator
/// reports of each, what `--from-cluster` makes of it, and what is stored in the Deployment and in its `ReplicaSet`:
/// there it is what apps/v1 would store.
#[tokio::test(flavor = "multi_thread")]
async fn new_fields_reach_the_replica_set_where_apps_v1_keeps_them() {
    let suite = suite_with(&older_definition()).await;
    let manifest = manifest(&suite).await;
    operator_reports(&suite, "older", if is_reference() { new_fields().len() } else { 0 }).await;
    strict(&suite, Flavour::Ours, &manifest).await.expect_err("the older definition has the new fields");
    let stored = suite.create(Flavour::Ours, "older", &manifest["spec"]).await.unwrap();
    assert_fields(&stored, None);

    let from_cluster = from_cluster(&suite);
    let openapi = suite.document(crd::OPENAPI_PATH).await;
    let expected = crd::crd(if is_reference() { None } else { Some(&openapi) }).unwrap();
    assert!(
        from_cluster == crd::to_yaml(&expected),
        "`crd --from-cluster` differs from what this server has"
    );
    suite.kubectl.run(&["apply", "-f", &path(CRD)]).await.unwrap();

    let apps = strict(&suite, Flavour::Apps, &manifest).await;
    assert_eq!(apps.is_ok(), is_reference(), "{apps:?}");
    let apps = suite.try_create(Flavour::Apps, &manifest["spec"]).await.unwrap();
    let kept = is_reference().then_some(&manifest);
    assert_fields(&apps, kept);
    // The server takes a moment to know the new definition.
    wait_for("the new fields being served", SOON, async || {
        strict(&suite, Flavour::Ours, &manifest).await.map_err(NotYet)
    })
    .await
    .unwrap();
    let stored = suite.create(Flavour::Ours, "newer", &manifest["spec"]).await.unwrap();
    assert_fields(&stored, Some(&manifest));
    let operator = operator_reports(&suite, "newer", 0).await;
    let mut made = replica_set(&suite, "newer").await;
    drop(operator);
    assert_fields(&made, kept);
    made["spec"]["template"]["metadata"]["labels"].as_object_mut().unwrap().remove("pod-template-hash");
    assert_eq!(template(&made), template(&apps), "the template in the ReplicaSet");
}

/// What creating a Deployment would store, or the error that names a field which is not known.
async fn strict(suite: &Suite, flavour: Flavour, manifest: &Value) -> Result<Value, String> {
    let namespace = &suite.namespace;
    let url = format!(
        "/apis/{}/namespaces/{namespace}/deployments?dryRun=All&fieldValidation=Strict",
        flavour.api_version()
    );
    let object = Suite::deployment(flavour, "strict", &manifest["spec"]);
    let answer = suite.send("POST", &url, "application/json", &object).await;
    if let Err(message) = &answer {
        assert!(message.contains("unknown field"), "{message}");
    }
    answer
}

/// The values of the new fields in an object: those of the manifest, or none.
fn assert_fields(object: &Value, manifest: Option<&Value>) {
    for field in new_fields() {
        let expected = manifest.map(|manifest| values(manifest, &field)).unwrap_or_default();
        assert_eq!(values(object, &field), expected, "{field}");
    }
}

fn from_cluster(suite: &Suite) -> String {
    let output = Command::new(PROGRAM)
        .args(["crd", "--from-cluster", "--kubeconfig"])
        .arg(suite.cluster.kubeconfig(User::Admin))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Starts the operator and waits until it has reported how many fields the definition lacks.
async fn operator_reports(suite: &Suite, name: &str, lacking: usize) -> Companion {
    let log = suite.cluster.directory().join(format!("operator-{name}.log"));
    let kubeconfig = suite.cluster.kubeconfig(User::Admin).display().to_string();
    let arguments = ["run", "--leader-elect=false", "--bind-address=0", "--log-format=json", "--kubeconfig"];
    let arguments = arguments.into_iter().map(str::to_owned).chain([kubeconfig]).collect();
    let operator = Companion::start("rollwright", Path::new(PROGRAM), arguments, log.clone()).unwrap();
    let expected = match lacking {
        0 => "the installed CustomResourceDefinition has all pod fields".to_owned(),
        count => format!("\"count\":{count},"),
    };
    wait_for("the operator comparing the definition", SOON, async || {
        let text = fs::read_to_string(&log)?;
        let said = |line: &&str| line.contains("CustomResourceDefinition");
        let line = text.lines().find(said).ok_or_else(|| NotYet(text.clone()))?;
        assert!(line.contains(&expected), "{expected}: {line}");
        Ok(())
    })
    .await
    .unwrap();
    operator
}

/// The one `ReplicaSet` of a Deployment.
async fn replica_set(suite: &Suite, name: &str) -> Value {
    wait_for("the ReplicaSet", SOON, async || {
        let all = suite.document(&format!("/apis/apps/v1/namespaces/{}/replicasets", suite.namespace)).await;
        let owned = |set: &&Value| set["metadata"]["ownerReferences"][0]["name"] == json!(name);
        let found = all["items"].as_array().unwrap().iter().find(owned);
        found.cloned().ok_or_else(|| NotYet(all.to_string()))
    })
    .await
    .unwrap()
}
