//! Golden and unit tests of the CRD.

use serde_json::json;

use super::*;

fn golden(path: &str, text: &str) {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap();
    assert!(stored == text, "{path} is not what the code makes; run the test with UPDATE=1 and review");
}

#[test]
fn crd_is_the_one_in_crds() {
    golden("crds/deployments.rollwright.dev.yaml", &to_yaml(&crd(None).unwrap()));
}

/// A cluster with one definition refuses another with a lower number, so two that differ need two numbers.
#[test]
fn a_changed_definition_has_a_higher_revision() {
    use sha2::Digest as _;
    let spec = crd(None).unwrap()["spec"].to_string();
    let digest: String = sha2::Sha256::digest(&spec).iter().map(|byte| format!("{byte:02x}")).collect();
    let known: Vec<&str> =
        include_str!("revisions.txt").lines().filter(|line| !line.starts_with('#')).collect();
    let numbers: Vec<u32> =
        known.iter().map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect();
    let expected: Vec<u32> = (1..).take(numbers.len()).collect();
    assert_eq!(numbers, expected, "a line for each number");
    let current = format!("{REVISION} {digest}");
    assert!(
        known.last() == Some(&current.as_str()),
        "the definition has changed: raise REVISION, and add the line \"{} {digest}\" to revisions.txt",
        numbers.len() + 1
    );
}

#[test]
fn yaml_quotes_what_needs_it() {
    let value = json!({"a": "true", "b": "x: y", "c": [], "d": [{"e": 1, "f": [1, [2]]}], "g": "plain text", "1": ""});
    let text =
        "\"1\": \"\"\na: \"true\"\nb: \"x: y\"\nc: []\nd:\n- e: 1\n  f:\n  - 1\n  - - 2\ng: plain text\n";
    assert_eq!(to_yaml(&value), text);
}

/// An OpenAPI document with a pod template of these properties.
fn openapi(properties: &Value) -> Value {
    json!({"components": {"schemas": {
        "io.k8s.api.core.v1.PodTemplateSpec": {"type": "object", "properties": properties},
        "Item": {
            "type": "object", "description": "dropped", "required": ["name"],
            "properties": {
                "name": {"type": "string", "default": ""},
                "protocol": {"type": "string", "default": "TCP", "enum": ["TCP", "UDP"]},
                "size": {"default": {}, "allOf": [{"$ref": "#/components/schemas/Size"}]},
            },
        },
        "Port": {
            "type": "object", "required": ["containerPort"],
            "properties": {
                "containerPort": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"},
            },
        },
        "Size": {"description": "dropped", "oneOf": [{"type": "string"}, {"type": "number"}]},
        "Loop": {"type": "object", "properties": {"loop": {"$ref": "#/components/schemas/Loop"}}},
        "io.k8s.api.core.v1.Sysctl": {
            "type": "object", "required": ["name", "value"],
            "properties": {"name": {"type": "string"}, "value": {"type": "string"}},
        },
    }}})
}

#[test]
fn template_schema_resolves_and_keeps_what_merges_need() {
    let schema = template_schema(&openapi(&json!({
        "list": {
            "type": "array",
            "items": {"default": {}, "allOf": [{"$ref": "#/components/schemas/Item"}]},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name", "protocol"],
            "x-kubernetes-patch-merge-key": "name",
        },
        "ports": {
            "type": "array",
            "items": {"default": {}, "allOf": [{"$ref": "#/components/schemas/Port"}]},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
        },
        "port": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
        "open": {"type": "object"},
        "sysctl": {"$ref": "#/components/schemas/io.k8s.api.core.v1.Sysctl"},
    })))
    .unwrap();
    let properties = &schema["properties"];
    assert_eq!(properties["list"]["x-kubernetes-list-map-keys"], json!(["name", "protocol"]));
    assert_eq!(properties["list"].get("x-kubernetes-patch-merge-key"), None);
    let item = &properties["list"]["items"];
    assert_eq!(item["properties"]["name"], json!({"type": "string"}));
    // The key that may be absent keeps its default; an empty string stands for it, too.
    let protocol = json!({"type": "string", "default": "TCP", "enum": ["", "TCP", "UDP"]});
    assert_eq!(item["properties"]["protocol"], protocol);
    // Ports are taken whole, and nothing is written into them.
    assert_eq!(properties["ports"]["x-kubernetes-list-type"], "atomic");
    assert_eq!(properties["ports"].get("x-kubernetes-list-map-keys"), None);
    assert_eq!(properties["ports"]["items"]["properties"]["protocol"].get("default"), None);
    assert_eq!(item["properties"]["size"]["nullable"], true);
    assert_eq!(item["properties"]["size"].get("type"), None);
    assert_eq!(properties["port"], json!({"x-kubernetes-int-or-string": true, "nullable": true}));
    assert_eq!(properties["open"]["x-kubernetes-preserve-unknown-fields"], true);
    assert_eq!(properties["sysctl"]["required"], json!(["name"]));
    assert!(!schema.to_string().contains("description"));
}

#[test]
fn template_schema_says_what_it_cannot_build() {
    let error = |document: &Value| template_schema(document).unwrap_err().to_string();
    assert_eq!(error(&json!({})), "not an OpenAPI document: it has no schemas");
    let absent = openapi(&json!({"a": {"$ref": "#/components/schemas/Absent"}}));
    assert_eq!(error(&absent), "the OpenAPI document has no definition Absent");
    let untyped = openapi(&json!({"a": {"description": "anything"}}));
    assert_eq!(
        error(&untyped),
        "no structural form for io.k8s.api.core.v1.PodTemplateSpec.a: it has no type"
    );
    let endless = openapi(&json!({"a": {"$ref": "#/components/schemas/Loop"}}));
    assert_eq!(error(&endless), "Loop.loop is nested too deep for a structural schema");
}

/// A patch of rollwright.dev merges as one of apps/v1, and knows the fields that only rollwright.dev has.
#[test]
fn kustomize_knows_our_own_fields() {
    let meta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    let apps = json!({"type": "object", "properties": {"paused": {"type": "boolean"}}});
    let document =
        json!({"definitions": {"io.k8s.api.apps.v1.DeploymentSpec": apps, meta: {"type": "object"}}});
    let definitions = kustomize_openapi(&document).unwrap();
    let properties = &definitions["definitions"]["dev.rollwright.v1.DeploymentSpec"]["properties"];
    let rollback = json!({"type": "object", "properties": {"revision": {"type": "integer"}}});
    assert_eq!((&properties["rollbackTo"], &properties["paused"]), (&rollback, &json!({"type": "boolean"})));
}

#[test]
fn unreadable_documents_lack_no_fields() {
    let crd = crd(None).unwrap();
    assert!(missing_pod_fields(&crd, &json!({})).is_empty());
    assert!(missing_pod_fields(&json!({}), &openapi(&json!({}))).is_empty());
    let newer = openapi(&json!({"spec": {"type": "object", "properties": {"novelty": {"type": "string"}}}}));
    assert_eq!(missing_pod_fields(&crd, &newer), ["spec.template.spec.novelty"]);
    let removed =
        openapi(&json!({"spec": {"type": "object", "properties": {"workloadRef": {"type": "object"}}}}));
    assert!(missing_pod_fields(&crd, &removed).is_empty(), "of Kubernetes 1.35 alone");
}
