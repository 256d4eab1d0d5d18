//! Kustomizations with the files of `deploy/kustomize-*`: patches and labels do to rollwright.dev what they
//! do to apps/v1, and those of built-in kinds do what they did.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::suite::{Flavour, Suite, corpus_text, path, suite};

const OPENAPI: &str = "kustomize-openapi.json";
const CONFIGURATION: &str = "kustomize-config.yaml";

/// A strategic patch that reaches into every kind of keyed list, with additions, changes and
/// removals.
const PATCH: &str = r#"
spec:
  replicas: 7
  template:
    metadata:
      annotations: {patched: "yes"}
    spec:
      tolerations: [{operator: Exists}]
      imagePullSecrets: [{name: patched}]
      hostAliases: [{ip: 127.0.0.1, hostnames: [patched]}]
      initContainers: [{name: prepare, $patch: delete}]
      containers:
      - name: main
        image: registry.example/app:v2
        env: [{name: A, value: patched}, {name: FROM_MAP, $patch: delete}, {name: NEW, value: "1"}]
        ports: [{containerPort: 8080, protocol: UDP, name: dns}]
        volumeMounts: [{mountPath: /files, name: host}]
      - name: patched
        image: registry.example/patched:v1
      volumes:
      - {name: scratch, $patch: delete}
      - {name: patched, configMap: {name: settings}}
      topologySpreadConstraints: [{topologyKey: rack, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway}]
"#;

const BUILT_IN: &str = "
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80, name: http}, {port: 81, name: admin}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: role}
rules: []
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: web}
imagePullSecrets: [{name: a}]
";

const SERVICE_PATCH: &str =
    "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80, nodePort: 30080}]}}";

fn write(directory: &Path, file: &str, text: &str) {
    fs::write(directory.join(file), text).unwrap();
}

fn kustomization(directory: &Path, ours: bool) {
    let target = |flavour: Flavour| {
        let (group, version) = flavour.api_version().split_once('/').unwrap();
        let head = format!("apiVersion: {group}/{version}\nkind: Deployment\nmetadata: {{name: any}}");
        json!({"patch": format!("{head}{PATCH}"), "target": {"group": group, "kind": "Deployment"}})
    };
    let mut kustomization = json!({
        "resources": ["apps.yaml", "ours.yaml", "built-in.yaml"],
        "namespace": "prod",
        "namePrefix": "pre-",
        "labels": [{"pairs": {"team": "x"}, "includeSelectors": true, "includeTemplates": true}],
        "images": [{"name": "registry.example/patched", "newTag": "v9"}],
        "configMapGenerator": [{"name": "settings", "literals": ["a=b"]}],
        "patches": [target(Flavour::Apps), target(Flavour::Ours), {"patch": SERVICE_PATCH}],
    });
    if ours {
        kustomization["openapi"] = json!({"path": OPENAPI});
        kustomization["configurations"] = json!([CONFIGURATION]);
    }
    write(directory, "kustomization.yaml", &kustomization.to_string());
}

async fn build(suite: &Suite, directory: &Path) -> Vec<Value> {
    let yaml = suite.kubectl.run(&["kustomize", &directory.display().to_string()]).await.unwrap();
    // Local annotation is a way to have kubectl parse what it need not know.
    let arguments = ["annotate", "--local", "-o", "json", "-f", "-", "parsed=yes"];
    let output = suite.kubectl_without_namespace().output(&arguments, &yaml).await.unwrap();
    assert!(output.success, "{}", output.stderr);
    serde_json::Deserializer::from_str(&output.stdout).into_iter().map(Result::unwrap).collect()
}

fn of<'a>(objects: &'a [Value], api_version: &'a str) -> impl Iterator<Item = &'a Value> {
    objects.iter().filter(move |object| object["apiVersion"] == api_version)
}

#[tokio::test(flavor = "multi_thread")]
async fn strategic_patches_work_in_kustomize() {
    let suite = suite().await;
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kustomize");
    fs::create_dir_all(&directory).unwrap();
    for file in [OPENAPI, CONFIGURATION] {
        fs::copy(path(&format!("deploy/{file}")), directory.join(file)).unwrap();
    }
    write(&directory, "apps.yaml", &corpus_text(Flavour::Apps));
    write(&directory, "ours.yaml", &corpus_text(Flavour::Ours));
    write(&directory, "built-in.yaml", BUILT_IN);

    kustomization(&directory, false);
    let without = build(&suite, &directory).await;
    kustomization(&directory, true);
    let with = build(&suite, &directory).await;

    let count = suite.read(&corpus_text(Flavour::Ours)).await.len();
    let ours: Vec<&Value> = of(&with, Flavour::Ours.api_version()).collect();
    let apps: Vec<&Value> = of(&with, Flavour::Apps.api_version()).collect();
    assert_eq!((ours.len(), apps.len()), (count, count));
    for (ours, apps) in ours.iter().zip(&apps) {
        assert_eq!(ours["metadata"]["name"], apps["metadata"]["name"]);
        assert_eq!(ours["spec"], apps["spec"], "{}", ours["metadata"]["name"]);
    }
    for version in ["apps/v1", "v1", "rbac.authorization.k8s.io/v1"] {
        assert!(of(&without, version).eq(of(&with, version)), "{version} changed");
    }
    // Without the files, the patch replaces the list: what they are for.
    let containers = |objects: &[Value]| -> usize {
        let lists = of(objects, Flavour::Ours.api_version());
        lists.map(|object| object["spec"]["template"]["spec"]["containers"].as_array().unwrap().len()).sum()
    };
    assert!(containers(&with) > containers(&without));
}
