//! What the API server fills into the pod template of a `ReplicaSet`.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value, json};

use crate::quantity;

/// Brings a pod template into the form that the API server would store, in place: defaults filled
/// in, quantities in one spelling, without nulls and empty lists and the like.
///
/// Unknown fields stay; the server drops them.
pub fn default_pod_template(template: &mut Value) {
    drop_nulls(template);
    let Some(template) = template.as_object_mut() else { return };
    let spec = template.entry("spec").or_insert_with(|| json!({}));
    template_spec(spec);
    template.entry("metadata").or_insert_with(|| json!({}));
}

fn template_spec(spec: &mut Value) {
    let Some(spec) = spec.as_object_mut() else { return };
    drop_empty(spec, &EMPTY_IN_SPEC);
    if let Some(overhead) = object(spec, "overhead") {
        overhead.values_mut().for_each(quantity::canonicalize);
    }
    quantities(spec, "resources");
    fill_text(spec, "dnsPolicy", "ClusterFirst");
    fill_text(spec, "restartPolicy", "Always");
    fill_text(spec, "schedulerName", "default-scheduler");
    fill(spec, "securityContext", || json!({}));
    fill(spec, "terminationGracePeriodSeconds", || json!(30));
    service_account(spec);
    for volume in items(spec, "volumes") {
        self::volume(volume);
    }
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        items(spec, list).for_each(container);
    }
}

/// Fields of a pod spec that an empty value does not set.
const EMPTY_IN_SPEC: [&str; 21] = [
    "ephemeralContainers",
    "hostAliases",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostname",
    "imagePullSecrets",
    "initContainers",
    "nodeName",
    "nodeSelector",
    "overhead",
    "priorityClassName",
    "readinessGates",
    "resourceClaims",
    "schedulingGates",
    "serviceAccount",
    "serviceAccountName",
    "subdomain",
    "tolerations",
    "topologySpreadConstraints",
    "volumes",
];

/// The same for a container.
const EMPTY_IN_CONTAINER: [&str; 15] = [
    "args",
    "command",
    "env",
    "envFrom",
    "image",
    "ports",
    "resizePolicy",
    "restartPolicyRules",
    "stdin",
    "stdinOnce",
    "targetContainerName",
    "tty",
    "volumeDevices",
    "volumeMounts",
    "workingDir",
];

/// Drops these fields where they have the zero value of their type.
fn drop_empty(entries: &mut Map<String, Value>, names: &[&str]) {
    let empty = |value: &Value| match value {
        Value::String(text) => text.is_empty(),
        Value::Bool(flag) => !flag,
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        _ => false,
    };
    entries.retain(|name, value| !(empty(value) && names.contains(&name.as_str())));
}

/// The account has two names; the older one is stored too.
fn service_account(spec: &mut Map<String, Value>) {
    let given = |name: &str| spec.get(name).filter(|value| value.as_str() != Some("")).cloned();
    if let Some(account) = given("serviceAccountName").or_else(|| given("serviceAccount")) {
        spec.insert("serviceAccountName".to_owned(), account.clone());
        spec.insert("serviceAccount".to_owned(), account);
    }
}

fn container(container: &mut Map<String, Value>) {
    if !says(container, "imagePullPolicy") {
        let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
        let policy = pull_policy(image);
        container.insert("imagePullPolicy".to_owned(), json!(policy));
    }
    fill_text(container, "terminationMessagePath", "/dev/termination-log");
    fill_text(container, "terminationMessagePolicy", "File");
    fill(container, "resources", || json!({}));
    quantities(container, "resources");
    drop_empty(container, &EMPTY_IN_CONTAINER);
    for port in items(container, "ports") {
        fill_text(port, "protocol", "TCP");
    }
    for variable in items(container, "env") {
        drop_empty(variable, &["value"]);
        let Some(source) = object(variable, "valueFrom") else { continue };
        field_ref(source);
        if let Some(key) = object(source, "fileKeyRef") {
            fill(key, "optional", || json!(false));
        }
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = object(container, probe) {
            self::probe(probe);
        }
    }
    if let Some(lifecycle) = object(container, "lifecycle") {
        for hook in ["postStart", "preStop"] {
            object(lifecycle, hook).into_iter().for_each(http_get);
        }
    }
}

fn field_ref(source: &mut Map<String, Value>) {
    if let Some(field) = object(source, "fieldRef") {
        fill_text(field, "apiVersion", "v1");
    }
    if let Some(resource) = object(source, "resourceFieldRef") {
        quantity::canonicalize(resource.entry("divisor").or_insert_with(|| json!("0")));
    }
}

fn quantities(holder: &mut Map<String, Value>, name: &str) {
    let Some(resources) = object(holder, name) else { return };
    for list in ["limits", "requests"] {
        object(resources, list).into_iter().flat_map(Map::values_mut).for_each(quantity::canonicalize);
    }
    drop_empty(resources, &["limits", "requests", "claims"]);
}

fn probe(probe: &mut Map<String, Value>) {
    for (name, value) in
        [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
    {
        if probe.get(name).and_then(Value::as_i64).unwrap_or_default() == 0 {
            probe.insert(name.to_owned(), json!(value));
        }
    }
    if let Some(grpc) = object(probe, "grpc") {
        fill(grpc, "service", || json!(""));
    }
    http_get(probe);
}

fn http_get(handler: &mut Map<String, Value>) {
    if let Some(request) = object(handler, "httpGet") {
        fill_text(request, "path", "/");
        fill_text(request, "scheme", "HTTP");
    }
}

fn volume(volume: &mut Map<String, Value>) {
    if volume.keys().all(|name| name == "name") {
        volume.insert("emptyDir".to_owned(), json!({}));
        return;
    }
    for (source, field, value) in VOLUME_DEFAULTS.iter() {
        if let Some(source) = object(volume, source) {
            if value.is_string() && *field != "type" && !says(source, field) {
                source.remove(*field);
            }
            fill(source, field, || value.clone());
        }
    }
    let limit = object(volume, "emptyDir").and_then(|source| source.get_mut("sizeLimit"));
    limit.into_iter().for_each(quantity::canonicalize);
    if let Some(source) = object(volume, "downwardAPI") {
        items(source, "items").for_each(field_ref);
    }
    if let Some(source) = object(volume, "projected") {
        for source in items(source, "sources") {
            if let Some(source) = object(source, "downwardAPI") {
                items(source, "items").for_each(field_ref);
            }
            if let Some(token) = object(source, "serviceAccountToken") {
                fill(token, "expirationSeconds", || json!(3600));
            }
        }
    }
    if let Some(image) = object(volume, "image").filter(|image| !says(image, "pullPolicy")) {
        let reference = image.get("reference").and_then(Value::as_str).unwrap_or_default();
        let policy = pull_policy(reference);
        image.insert("pullPolicy".to_owned(), json!(policy));
    }
    let claim = object(volume, "ephemeral").and_then(|source| object(source, "volumeClaimTemplate"));
    if let Some(claim) = claim {
        claim.entry("metadata").or_insert_with(|| json!({}));
        let claim = claim.entry("spec").or_insert_with(|| json!({}));
        if let Some(claim) = claim.as_object_mut() {
            fill(claim, "volumeMode", || json!("Filesystem"));
            fill(claim, "resources", || json!({}));
            quantities(claim, "resources");
        }
    }
}

/// Volume source, field, value. A text stands in for an empty one too.
static VOLUME_DEFAULTS: LazyLock<[(&str, &str, Value); 15]> = LazyLock::new(|| {
    [
        ("hostPath", "type", json!("")),
        ("secret", "defaultMode", json!(0o644)),
        ("configMap", "defaultMode", json!(0o644)),
        ("downwardAPI", "defaultMode", json!(0o644)),
        ("projected", "defaultMode", json!(0o644)),
        ("iscsi", "iscsiInterface", json!("default")),
        ("rbd", "pool", json!("rbd")),
        ("rbd", "user", json!("admin")),
        ("rbd", "keyring", json!("/etc/ceph/keyring")),
        ("azureDisk", "cachingMode", json!("ReadWrite")),
        ("azureDisk", "fsType", json!("ext4")),
        ("azureDisk", "readOnly", json!(false)),
        ("azureDisk", "kind", json!("Shared")),
        ("scaleIO", "storageMode", json!("ThinProvisioned")),
        ("scaleIO", "fsType", json!("xfs")),
    ]
});

/// An image reference: domain, path, tag, digest.
static REFERENCE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    const PART: &str = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
    const DOMAIN: &str = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*";
    let digest = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}";
    Regex::new(&format!(
        r"^(?:(?:{DOMAIN}|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/)?{PART}(?:/{PART})*(?::([A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}}))?(@{digest})?$"
    ))
    .ok()
});

/// `Always` for the tag `latest`, which an image without tag and digest has too. What is no
/// reference counts as pinned.
fn pull_policy(image: &str) -> &'static str {
    let Some(parts) = REFERENCE.as_ref().and_then(|reference| reference.captures(image)) else {
        return "IfNotPresent";
    };
    let latest = match (parts.get(1), parts.get(2)) {
        (Some(tag), _) => tag.as_str() == "latest",
        (None, digest) => digest.is_none(),
    };
    if latest { "Always" } else { "IfNotPresent" }
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(entries) => entries.retain(|_, value| {
            drop_nulls(value);
            !value.is_null()
        }),
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

fn says(entries: &Map<String, Value>, name: &str) -> bool {
    entries.get(name).is_some_and(|value| value.as_str() != Some(""))
}

fn fill(entries: &mut Map<String, Value>, name: &str, value: impl FnOnce() -> Value) {
    if !entries.contains_key(name) {
        entries.insert(name.to_owned(), value());
    }
}

fn fill_text(entries: &mut Map<String, Value>, name: &str, value: &str) {
    if !says(entries, name) {
        entries.insert(name.to_owned(), json!(value));
    }
}

fn object<'a>(entries: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Map<String, Value>> {
    entries.get_mut(name).and_then(Value::as_object_mut)
}

fn items<'a>(
    entries: &'a mut Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    entries.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}
