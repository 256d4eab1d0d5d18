//! How long one plan takes, and what comes before it: an object is decoded at each of its events,
//! a plan is made at each pass. Nothing is read or written.
//!
//! `make bench-plan` runs it; docs/benchmarks.md has the last result.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, missing_docs, reason = "a benchmark")]

use std::hint::black_box;

use api::decode::{self, Defaults};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use jiff::Timestamp;
use plan::template::with_hash_label;
use plan::{Action, Answers, Flavour, Observed, Options, Plan, Step};
use serde_json::{Value, json};

/// As in the operator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const REPLICAS: i64 = 10;
const FLAVOURS: [(&str, Flavour); 2] = [("rollwright", Flavour::Rollwright), ("apps", Flavour::AppsV1)];
/// 3 is what the target of 500,000 plans a second is about.
const SETS: [i64; 4] = [2, 3, 10, 100];

/// Noon of the day on which everything was created.
const NOW: Timestamp = Timestamp::constant(1_767_268_800, 0);

/// A container as people write them; two of them make a template of some 5 KiB.
fn container(name: &str, revision: i64) -> Value {
    let variable = |index: i32| json!({ "name": format!("SERVICE_{index}_URL"), "value": format!("http://service-{index}.shop.svc.cluster.local:8080/api") });
    let probe = |path: &str| {
        json!({
            "httpGet": { "path": path, "port": 8080, "scheme": "HTTP" },
            "initialDelaySeconds": 5, "periodSeconds": 10, "timeoutSeconds": 1,
            "successThreshold": 1, "failureThreshold": 3,
        })
    };
    json!({
        "name": name,
        "image": format!("registry.example.org/shop/{name}:1.{revision}"),
        "imagePullPolicy": "IfNotPresent",
        "args": ["--listen=:8080", "--log-format=json", "--shutdown-grace=20s"],
        "env": (0..12).map(variable).collect::<Vec<_>>(),
        "ports": [{ "name": "http", "containerPort": 8080, "protocol": "TCP" }],
        "resources": {
            "requests": { "cpu": "250m", "memory": "256Mi" },
            "limits": { "cpu": "1", "memory": "512Mi" },
        },
        "livenessProbe": probe("/healthz"),
        "readinessProbe": probe("/readyz"),
        "startupProbe": probe("/startupz"),
        "securityContext": {
            "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "runAsNonRoot": true,
            "capabilities": { "drop": ["ALL"] },
        },
        "volumeMounts": [
            { "name": "config", "mountPath": "/etc/app", "readOnly": true },
            { "name": "tmp", "mountPath": "/tmp" },
        ],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    })
}

fn template(revision: i64) -> Value {
    json!({
        "metadata": {
            "labels": { "app": "web", "app.kubernetes.io/name": "web", "team": "shop" },
            "annotations": { "prometheus.io/scrape": "true", "prometheus.io/port": "8080" },
        },
        "spec": {
            "containers": [container("web", revision), container("proxy", 0)],
            "volumes": [{ "name": "config", "configMap": { "name": "web" } }, { "name": "tmp", "emptyDir": {} }],
            "serviceAccountName": "web",
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "securityContext": { "fsGroup": 1000 },
            "schedulerName": "default-scheduler",
        },
    })
}

fn deployment(flavour: Flavour, revision: i64) -> Value {
    json!({
        "apiVersion": flavour.api_version(), "kind": "Deployment",
        "metadata": {
            "namespace": "shop", "name": "web", "uid": "0b3b9f0e-6a55-4a4c-8b1e-2f1d7d6b7a10",
            "resourceVersion": "4711", "generation": revision, "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": { "app": "web" },
            "annotations": { "kubernetes.io/change-cause": "release", "example.org/owner": "team-shop" },
        },
        "spec": {
            "replicas": REPLICAS, "revisionHistoryLimit": 200, "progressDeadlineSeconds": 600,
            "selector": { "matchLabels": { "app": "web" } },
            "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "25%", "maxUnavailable": "25%" } },
            "template": template(revision),
        },
        "status": {},
    })
}

/// The set of a revision, all of whose pods are available.
fn replica_set(flavour: Flavour, revision: i64, size: i64) -> Value {
    let template = template(revision);
    let hash = format!("{revision:08}");
    let mut annotations = json!({
        "deployment.kubernetes.io/revision": revision.to_string(),
        "deployment.kubernetes.io/desired-replicas": REPLICAS.to_string(),
        "deployment.kubernetes.io/max-replicas": (REPLICAS + 3).to_string(),
        "kubernetes.io/change-cause": "release", "example.org/owner": "team-shop",
    });
    if flavour.marks_sets() {
        annotations[plan::keys::FINGERPRINTS] = json!(flavour.fingerprint(&template).as_str());
    }
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "namespace": "shop", "name": format!("web-{hash}"), "uid": format!("6d2f0c52-0000-4000-8000-{revision:012}"),
            "resourceVersion": (1000 + revision).to_string(), "generation": 3,
            "creationTimestamp": format!("2026-01-01T{:02}:{:02}:00Z", revision / 60, revision % 60),
            "labels": { "app": "web", "pod-template-hash": hash, "rollwright.dev/managed": "true" },
            "annotations": annotations,
            "ownerReferences": [{
                "apiVersion": flavour.api_version(), "kind": "Deployment", "name": "web",
                "uid": "0b3b9f0e-6a55-4a4c-8b1e-2f1d7d6b7a10", "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": {
            "replicas": size,
            "selector": { "matchLabels": { "app": "web", "pod-template-hash": hash } },
            "template": with_hash_label(&template, &hash),
        },
        "status": {
            "replicas": size, "fullyLabeledReplicas": size, "readyReplicas": size, "availableReplicas": size,
            "terminatingReplicas": 0, "observedGeneration": 3,
        },
    })
}

/// A Deployment with so many sets, of which the last two have these sizes.
fn snapshot(flavour: Flavour, sets: i64, (old, new): (i64, i64)) -> Observed {
    let size = |revision: i64| match sets - revision {
        0 => new,
        1 => old,
        _ => 0,
    };
    let workload = decode::workload(flavour, &deployment(flavour, sets), Defaults::of(flavour)).unwrap();
    let sets = (1..=sets).map(|revision| {
        decode::replica_set(flavour, &replica_set(flavour, revision, size(revision))).unwrap()
    });
    let (sets, answers, options) = (sets.collect(), Answers::default(), Options::default());
    Observed { flavour, workload, sets, answers, options }
}

fn plan_of(observed: &Observed) -> Plan {
    match plan::plan(observed, NOW) {
        Step::Act(plan) => *plan,
        other => panic!("no plan: {other:?}"),
    }
}

/// The snapshot once everything is told that there is to tell.
fn told(mut observed: Observed) -> Observed {
    for planned in plan_of(&observed).actions {
        if let Action::WriteStatus(write) = planned.action {
            observed.workload.status = write.status;
            if let Some(revision) = write.revision_annotation {
                observed.workload.annotations.insert(plan::keys::REVISION.to_owned(), revision);
            }
        }
    }
    observed
}

/// Nothing to do: the most frequent pass of all.
fn at_rest(criterion: &mut Criterion) {
    for (name, flavour) in FLAVOURS {
        let mut group = criterion.benchmark_group(format!("{name}/at rest"));
        for sets in SETS {
            let observed = told(snapshot(flavour, sets, (0, REPLICAS)));
            assert!(plan_of(&observed).actions.is_empty(), "{:?}", plan_of(&observed).actions);
            group.throughput(Throughput::Elements(1));
            group.bench_with_input(BenchmarkId::from_parameter(sets), &observed, |bencher, observed| {
                bencher.iter(|| plan::plan(black_box(observed), NOW));
            });
        }
    }
}

/// In the middle of a rollout: sets are scaled and the status is written.
fn rolling(criterion: &mut Criterion) {
    for (name, flavour) in FLAVOURS {
        let mut group = criterion.benchmark_group(format!("{name}/rolling"));
        for sets in SETS {
            let observed = told(snapshot(flavour, sets, (8, 5)));
            assert!(!plan_of(&observed).actions.is_empty());
            group.throughput(Throughput::Elements(1));
            group.bench_with_input(BenchmarkId::from_parameter(sets), &observed, |bencher, observed| {
                bencher.iter(|| plan::plan(black_box(observed), NOW));
            });
        }
    }
}

/// What each event costs before anything is planned.
fn decoding(criterion: &mut Criterion) {
    for (name, flavour) in FLAVOURS {
        let mut group = criterion.benchmark_group(format!("{name}/decode"));
        group.throughput(Throughput::Elements(1));
        let (deployment, set) = (deployment(flavour, 1), replica_set(flavour, 1, REPLICAS));
        let length = template(1).to_string().len();
        assert!((4608..=5632).contains(&length), "a template of {length} bytes is not of 5 KiB");
        group.bench_function("Deployment", |bencher| {
            bencher.iter(|| decode::workload(flavour, black_box(&deployment), Defaults::of(flavour)));
        });
        group.bench_function("ReplicaSet", |bencher| {
            bencher.iter(|| decode::replica_set(flavour, black_box(&set)));
        });
    }
}

criterion_group!(benches, at_rest, rolling, decoding);
criterion_main!(benches);
