//! The same specs to both kinds: the same verdict, or a difference of
//! `docs/reference/differences-from-apps-v1.md`.

use serde_json::{Value, json};

use crate::suite::{Flavour, Suite, suite, template};

/// How the verdicts on a spec compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// Taken by both, with the same template.
    Taken,
    /// Refused by both.
    Refused,
    /// Taken by apps/v1 only.
    AppsOnly,
    /// Taken by rollwright.dev only; what is wrong comes to light when a `ReplicaSet` is made of it.
    OursOnly,
    /// Taken by both, with templates that differ.
    Unlike,
}
use Verdict::{AppsOnly, OursOnly, Refused, Taken, Unlike};

/// A pointer into a spec, how the values there compare, and the values.
pub(crate) type Row = (&'static str, Verdict, Vec<Value>);

fn row(pointer: &'static str, verdict: Verdict, values: Value) -> Row {
    match values {
        Value::Array(values) => (pointer, verdict, values),
        other => panic!("{pointer}: {other} is not a list of values"),
    }
}

/// The spec that a row changes.
pub(crate) fn base() -> Value {
    json!({"selector": {"matchLabels": {"app": "p"}}, "template": {
        "metadata": {"labels": {"app": "p"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }})
}

/// Sets a value, making the objects on the way.
pub(crate) fn set(spec: &mut Value, pointer: &str, value: &Value) {
    let mut node = spec;
    for name in pointer.split('/').skip(1) {
        node = match name.parse::<usize>() {
            Ok(index) => &mut node[index],
            Err(_) => &mut node[name],
        };
    }
    *node = value.clone();
}

async fn judge(suite: &Suite, spec: &Value) -> (Verdict, String) {
    let apps = suite.try_create(Flavour::Apps, spec).await;
    let ours = suite.try_create(Flavour::Ours, spec).await;
    match (apps, ours) {
        (Ok(apps), Ok(ours)) => match suite.as_stored(&template(&ours)).await {
            Ok(stored) if stored == template(&apps) => (Taken, String::new()),
            other => (Unlike, format!("apps/v1 {}, ours {other:?}", template(&apps))),
        },
        (Err(_), Err(message)) => (Refused, message),
        (Ok(_), Err(message)) => (AppsOnly, message),
        (Err(message), Ok(_)) => (OursOnly, message),
    }
}

async fn check(rows: Vec<Row>) {
    let suite = suite().await;
    let mut wrong = Vec::new();
    for (pointer, expected, values) in rows {
        for value in values {
            let mut spec = base();
            set(&mut spec, pointer, &value);
            let (verdict, detail) = judge(&suite, &spec).await;
            if verdict != expected {
                wrong.push(format!("{pointer} = {value}: {verdict:?}, not {expected:?} ({detail})"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// All rows, for the messages; see `messages.rs`.
pub(crate) fn all_rows() -> Vec<Row> {
    let tables = [
        numbers_rows(),
        strategies_rows(),
        selectors_rows(),
        label_keys_rows(),
        templates_rows(),
        lists_rows(),
        quantities_and_ports_rows(),
        what_only_pod_validation_finds_rows(),
    ];
    tables.into_iter().flatten().collect()
}

/// S1.21, S1.28.
#[tokio::test(flavor = "multi_thread")]
async fn numbers() {
    check(numbers_rows()).await;
}

fn numbers_rows() -> Vec<Row> {
    vec![
        row("/replicas", Taken, json!([0, 1, null, 1_000_000])),
        row("/replicas", Refused, json!([-1, 1.5, "1", 2_147_483_648_u32])),
        row("/replicas", AppsOnly, json!([1_000_001, i32::MAX])),
        row("/minReadySeconds", Taken, json!([0, 599, null])),
        row("/minReadySeconds", Refused, json!([-1, 600, i32::MAX])),
        row("/revisionHistoryLimit", Taken, json!([0, 1, i32::MAX, null])),
        row("/revisionHistoryLimit", Refused, json!([-1, 2_147_483_648_u32])),
        row("/progressDeadlineSeconds", Taken, json!([1, i32::MAX, null])),
        row("/progressDeadlineSeconds", Refused, json!([0, -1, 2_147_483_648_u32])),
        row("/paused", Taken, json!([true, false, null])),
        row("/paused", Refused, json!(["true", 1])),
    ]
}

/// S1.25–S1.27.
#[tokio::test(flavor = "multi_thread")]
async fn strategies() {
    check(strategies_rows()).await;
}

fn strategies_rows() -> Vec<Row> {
    let both = |surge: Value, unavailable: Value| json!({"maxSurge": surge, "maxUnavailable": unavailable});
    let taken = json!([0, 1, i32::MAX, "0%", "25%", "100%", "00025%", null]);
    vec![
        row(
            "/strategy",
            Taken,
            json!([null, {}, {"type": ""}, {"type": "RollingUpdate"}, {"type": "Recreate"}]),
        ),
        row("/strategy", Taken, json!([{"type": "Recreate", "rollingUpdate": null}, {"rollingUpdate": {}}])),
        row(
            "/strategy",
            Refused,
            json!([{"type": "Recreate", "rollingUpdate": {}}, {"type": "rollingupdate"}]),
        ),
        row("/strategy/rollingUpdate/maxSurge", Taken, taken.clone()),
        row(
            "/strategy/rollingUpdate/maxSurge",
            Taken,
            json!(["101%", "999999%", "99999999999999999999999%"]),
        ),
        row(
            "/strategy/rollingUpdate/maxSurge",
            Refused,
            json!([-1, "25", "", "%", "-5%", "1.5%", "25 %", "٢%"]),
        ),
        row("/strategy/rollingUpdate/maxSurge", Refused, json!([2_147_483_648_u32])),
        row("/strategy/rollingUpdate/maxUnavailable", Taken, taken),
        row(
            "/strategy/rollingUpdate/maxUnavailable",
            Refused,
            json!([-1, "101%", "0101%", "999999999999999999999%"]),
        ),
        row(
            "/strategy/rollingUpdate",
            Refused,
            json!([both(json!(0), json!(0)), both(json!("0%"), json!(0)), both(json!(0), json!("000%"))]),
        ),
        row(
            "/strategy/rollingUpdate",
            Taken,
            json!([both(json!(0), json!("1%")), both(json!(1), json!("0%"))]),
        ),
    ]
}

/// S1.22, S1.23.
#[tokio::test(flavor = "multi_thread")]
async fn selectors() {
    check(selectors_rows()).await;
}

fn selectors_rows() -> Vec<Row> {
    let with = |key: &str, operator: &str, values: &[&str]| json!({"key": key, "operator": operator, "values": values});
    vec![
        row("/selector", OursOnly, json!([null])),
        row(
            "/selector",
            Refused,
            json!([{}, {"matchLabels": {}}, {"matchLabels": null}, {"matchExpressions": []}]),
        ),
        row(
            "/selector",
            Refused,
            json!([{"matchLabels": {"app": ""}}, {"matchLabels": {"app": "p", "b": "c"}}]),
        ),
        row(
            "/selector",
            Refused,
            json!([{"matchLabels": {"app": "p".repeat(64)}}, {"matchLabels": {"app": "-"}}]),
        ),
        row("/selector", Taken, json!([{"matchLabels": {"app": "p"}, "matchExpressions": []}])),
        row(
            "/selector",
            Taken,
            expressions(vec![
                with("app", "In", &["p", "q"]),
                with("app", "NotIn", &["q"]),
                with("x", "NotIn", &["q"]),
                term("app", "Exists"),
                with("app", "Exists", &[]),
                term("x", "DoesNotExist"),
            ]),
        ),
        row(
            "/selector",
            Refused,
            expressions(vec![
                with("app", "In", &["q"]),
                with("x", "In", &["q"]),
                with("app", "NotIn", &["p"]),
                term("app", "DoesNotExist"),
                term("x", "Exists"),
                term("app", "In"),
                with("x", "NotIn", &[]),
                with("app", "Exists", &["p"]),
                with("x", "DoesNotExist", &["p"]),
                term("x", "exists"),
                with("app", "In", &["p", "-"]),
            ]),
        ),
        row("/selector/matchExpressions", AppsOnly, json!([vec![term("app", "Exists"); 65]])),
    ]
}

fn term(key: &str, operator: &str) -> Value {
    json!({"key": key, "operator": operator})
}

/// Selectors of one term each.
fn expressions(terms: Vec<Value>) -> Value {
    terms.into_iter().map(|term| json!({"matchExpressions": [term]})).collect()
}

/// S1.22: the keys of labels.
#[tokio::test(flavor = "multi_thread")]
async fn label_keys() {
    check(label_keys_rows()).await;
}

fn label_keys_rows() -> Vec<Row> {
    let absent = |keys: &[&str]| expressions(keys.iter().map(|key| term(key, "DoesNotExist")).collect());
    let long = |n: usize| "c".repeat(n);
    let subdomain = format!("{}.{}.{}.{}", long(63), long(63), long(63), long(61));
    vec![
        row(
            "/selector",
            Taken,
            absent(&["a.b/c", "A_b.c", &format!("a/{}", long(63)), &format!("{subdomain}/c")]),
        ),
        row(
            "/selector",
            Refused,
            absent(&[
                "",
                "/c",
                "a/",
                "a/b/c",
                "A.b/c",
                "a..b/c",
                "a-.b/c",
                "_c",
                "c_",
                &long(64),
                &format!("a/{}", long(64)),
                &format!("{subdomain}c/c"),
            ]),
        ),
    ]
}

/// A map of labels with this many entries; the template has one of them.
fn many(first: &str, count: usize) -> Value {
    let rest = (1..count).map(|i| (format!("l{i}"), json!("v")));
    std::iter::once((first.to_owned(), json!("p"))).chain(rest).collect::<serde_json::Map<_, _>>().into()
}

/// S1.24, S1.32.
#[tokio::test(flavor = "multi_thread")]
async fn templates() {
    check(templates_rows()).await;
}

fn templates_rows() -> Vec<Row> {
    vec![
        row("/template", Refused, json!([null, {}, {"metadata": {"labels": {"app": "p"}}}])),
        row("/template/spec", Refused, json!([null, {}])),
        row("/template/metadata", Refused, json!([null, {}])),
        row("/template/spec/restartPolicy", Taken, json!(["", "Always", null])),
        row("/template/spec/restartPolicy", Refused, json!(["Never", "OnFailure", "always"])),
        row("/template/spec/activeDeadlineSeconds", Taken, json!([null])),
        row("/template/spec/activeDeadlineSeconds", Refused, json!([0, 1])),
        row("/template/spec/ephemeralContainers", Taken, json!([null, []])),
        row("/template/spec/ephemeralContainers", Refused, json!([[{"name": "e", "image": "i"}]])),
        row("/template/spec/containers", Refused, json!([null, [], [null], [{"name": "c"}, {"name": "c"}]])),
        row("/template/metadata/labels/x", Taken, json!(["", "a"])),
        row("/template/metadata/labels/x", Refused, json!(["-", 1, "x".repeat(64)])),
        row("/template/metadata/labels", Taken, json!([many("app", 256)])),
        row("/template/metadata/labels", AppsOnly, json!([many("app", 257)])),
        row("/template/metadata/creationTimestamp", Taken, json!([null, "2026-01-02T03:04:05Z"])),
        row("/template/metadata/creationTimestamp", Refused, json!(["yesterday"])),
        row("/template/metadata/name", Taken, json!(["x", "X Y"])),
        row("/template/metadata/annotations", OursOnly, json!([{"A b": "c"}])),
        // A null in a map: an empty string in apps/v1, no entry in rollwright.dev.
        row("/template/metadata/labels/x", Unlike, json!([null])),
        row("/template/metadata/annotations/x", Unlike, json!([null])),
        row("/template/spec/nodeSelector/x", Unlike, json!([null])),
        row("/template/spec/containers/0/resources/limits/cpu", Unlike, json!([null])),
    ]
}

/// Lists merged by key hold each key once; apps/v1 takes most duplicates with a warning. Ports are not
/// merged on rollwright.dev.
#[tokio::test(flavor = "multi_thread")]
async fn lists() {
    check(lists_rows()).await;
}

fn lists_rows() -> Vec<Row> {
    let env = |values: [&str; 2]| -> Value {
        values.map(|value| json!({"name": "A", "value": value})).to_vec().into()
    };
    let alias = |host: &str| json!({"ip": "192.0.2.1", "hostnames": [host]});
    vec![
        row("/template/spec/containers/0/env", AppsOnly, json!([env(["1", "2"]), env(["1", "1"])])),
        row(
            "/template/spec/containers/0/ports",
            Taken,
            json!([
                [{"containerPort": 80}, {"containerPort": 80}],
                [{"containerPort": 80, "name": "a"}, {"containerPort": 80, "name": "b"}],
                [{"containerPort": 80, "protocol": ""}, {"containerPort": 80, "protocol": "UDP"}],
            ]),
        ),
        row("/template/spec/imagePullSecrets", AppsOnly, json!([[{"name": "a"}, {"name": "a"}], [null]])),
        row("/template/spec/imagePullSecrets", Taken, json!([[{}], [{"name": ""}]])),
        row("/template/spec/hostAliases", AppsOnly, json!([[alias("a"), alias("b")]])),
        row("/template/metadata/finalizers", AppsOnly, json!([["a/b", "a/b"]])),
        row("/template/metadata/ownerReferences", AppsOnly, json!([[{}]])),
        row("/template/spec/containers/0/command", AppsOnly, json!([[null]])),
        row("/template/spec/containers/0/command", Taken, json!([null, [], [""]])),
        row(
            "/template/spec/volumes",
            Refused,
            json!([[{"name": "a", "emptyDir": {}}, {"name": "a", "emptyDir": {}}]]),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn quantities_and_ports() {
    check(quantities_and_ports_rows()).await;
}

fn quantities_and_ports_rows() -> Vec<Row> {
    const CPU: &str = "/template/spec/containers/0/resources/limits/cpu";
    const PORT: &str = "/template/spec/containers/0/livenessProbe/tcpSocket/port";
    vec![
        row(CPU, Taken, json!([0, 1, 0.5, 0.001, "0.5", "1", " 1 ", "+.5", "1.", ".", "Ki", "m", "+", "00"])),
        row(
            CPU,
            Taken,
            json!(["1Ki", "1Mi", "1n", "1u", "1m", "1k", "1M", "1G", "1E", "1e3", "1E3", "1e-3", "1e+3"]),
        ),
        row(
            CPU,
            Refused,
            json!(["", "1ki", "1K", "1i", "1mm", "1 Ki", "1.5.5", "1eKi", "1e", "0x1", "1_0", "a"]),
        ),
        row(CPU, Refused, json!([true, false, [], {}, [1], {"a": 1}])),
        row(CPU, OursOnly, json!(["-1", -1])),
        row(PORT, Taken, json!([80, "http"])),
        row(PORT, Refused, json!([null, 1.5, true])),
        row(PORT, OursOnly, json!(["", 0, 70_000])),
    ]
}

/// A value that is wrong only for Kubernetes' own validation is taken, and reported later.
#[tokio::test(flavor = "multi_thread")]
async fn what_only_pod_validation_finds() {
    check(what_only_pod_validation_finds_rows()).await;
}

fn what_only_pod_validation_finds_rows() -> Vec<Row> {
    const CONTAINER: &str = "/template/spec/containers/0";
    vec![
        row("/template/spec/dnsPolicy", Taken, json!(["", "Default", null])),
        row("/template/spec/dnsPolicy", Refused, json!(["default"])),
        row("/template/spec/dnsPolicy", OursOnly, json!(["None"])),
        row("/template/spec/containers/0/image", OursOnly, json!(["", null])),
        row("/template/spec/containers/0/imagePullPolicy", Taken, json!(["", "Never", null])),
        row("/template/spec/containers/0/imagePullPolicy", Refused, json!(["never"])),
        row("/template/spec/containers/0/livenessProbe", OursOnly, json!([{}])),
        row(
            "/template/spec/containers/0/volumeMounts",
            OursOnly,
            json!([[{"name": "x", "mountPath": "/x"}]]),
        ),
        row(CONTAINER, Refused, json!([{"image": "i"}])),
        row(CONTAINER, OursOnly, json!([{"name": "A_", "image": "i"}])),
        row("/template/spec/terminationGracePeriodSeconds", Taken, json!([0, 1_099_511_627_776_u64])),
        row("/template/spec/securityContext/fsGroupChangePolicy", OursOnly, json!([""])),
    ]
}
