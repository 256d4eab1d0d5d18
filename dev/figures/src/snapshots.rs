//! Snapshots to plan from, and what they are decoded from: objects as an API server sends them, with
//! templates of 5 KiB.

use api::decode::{self, Defaults};
use jiff::Timestamp;
use plan::template::Template;
use plan::{Action, Answers, Flavour, Observed, Options, Pace, Plan, Step};
use serde_json::{Value, json};

use crate::Failure;

/// What each Deployment asks for.
pub const REPLICAS: i64 = 10;
/// Both APIs, and what figures call them.
pub const FLAVOURS: [(&str, Flavour); 2] = [("our kind", Flavour::Rollwright), ("apps/v1", Flavour::AppsV1)];
/// Noon of the day on which everything was created.
pub const NOW: Timestamp = Timestamp::constant(1_767_268_800, 0);

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

/// A template of some 5 KiB.
#[must_use]
pub fn template(revision: i64) -> Value {
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

/// One of many Deployments that differ in their names only.
#[derive(Clone, Copy, Debug)]
pub struct Specimen {
    /// Its API.
    pub flavour: Flavour,
    /// Which one.
    pub number: u32,
}

impl Specimen {
    fn name(self) -> String {
        format!("web-{:05}", self.number)
    }

    fn uid(self) -> String {
        format!("0b3b9f0e-6a55-4a4c-8b1e-{:012}", self.number)
    }

    /// The Deployment, with the template of a revision.
    #[must_use]
    pub fn deployment(self, revision: i64) -> Value {
        json!({
            "apiVersion": self.flavour.api_version(), "kind": "Deployment",
            "metadata": {
                "namespace": "shop", "name": self.name(), "uid": self.uid(),
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

    /// The ReplicaSet of a revision, with all of its pods available.
    #[must_use]
    pub fn replica_set(self, revision: i64, size: i64) -> Value {
        let template = template(revision);
        let hash = format!("{revision:08}");
        let fingerprint = self.flavour.marks_sets().then(|| self.flavour.fingerprint(&template));
        let fingerprint =
            fingerprint.map(|fingerprint| (plan::keys::FINGERPRINTS, json!(fingerprint.as_str())));
        let annotations = [
            ("deployment.kubernetes.io/revision", json!(revision.to_string())),
            ("deployment.kubernetes.io/desired-replicas", json!(REPLICAS.to_string())),
            ("deployment.kubernetes.io/max-replicas", json!((REPLICAS + 3).to_string())),
            ("kubernetes.io/change-cause", json!("release")),
            ("example.org/owner", json!("team-shop")),
        ];
        let annotations = annotations.into_iter().chain(fingerprint);
        let annotations: Value = annotations.map(|(key, value)| (key.to_owned(), value)).collect();
        json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {
                "namespace": "shop", "name": format!("{}-{hash}", self.name()),
                "uid": format!("6d2f0c52-{revision:04}-4000-8000-{:012}", self.number),
                "resourceVersion": (1000 + revision).to_string(), "generation": 3,
                "creationTimestamp": format!("2026-01-01T{:02}:{:02}:00Z", revision / 60, revision % 60),
                "labels": { "app": "web", "pod-template-hash": hash, "rollwright.dev/managed": "true" },
                "annotations": annotations,
                "ownerReferences": [{
                    "apiVersion": self.flavour.api_version(), "kind": "Deployment", "name": self.name(),
                    "uid": self.uid(), "controller": true, "blockOwnerDeletion": true,
                }],
            },
            "spec": {
                "replicas": size,
                "selector": { "matchLabels": { "app": "web", "pod-template-hash": hash } },
                "template": Template::of(&template).with_hash_label(&hash),
            },
            "status": {
                "replicas": size, "fullyLabeledReplicas": size, "readyReplicas": size, "availableReplicas": size,
                "terminatingReplicas": 0, "observedGeneration": 3,
            },
        })
    }

    /// With this many ReplicaSets; the last two have these sizes.
    ///
    /// # Errors
    /// If one of them cannot be decoded.
    pub fn snapshot(self, sets: i64, (old, new): (i64, i64)) -> Result<Observed, Failure> {
        let rejected = |error: decode::Rejected| Failure::Subject(error.to_string());
        let size = |revision: i64| match sets - revision {
            0 => new,
            1 => old,
            _ => 0,
        };
        let flavour = self.flavour;
        let workload = decode::workload(flavour, &self.deployment(sets), Defaults::of(flavour));
        let sets = (1..=sets).map(|revision| {
            decode::replica_set(flavour, &self.replica_set(revision, size(revision))).map_err(rejected)
        });
        let (answers, options) = (Answers::default(), Options::new(true, Pace::EachReconcile));
        let sets = sets.collect::<Result<_, _>>()?;
        Ok(Observed { flavour, workload: workload.map_err(rejected)?, sets, answers, options })
    }
}

/// What is planned.
///
/// # Errors
/// If it is no plan but a question.
pub fn plan_of(observed: &Observed) -> Result<Plan, Failure> {
    match plan::plan(observed, NOW) {
        Step::Act(plan) => Ok(*plan),
        other => Err(Failure::Subject(format!("no plan: {other:?}"))),
    }
}

/// The snapshot once the status reports everything that there is to report.
///
/// # Errors
/// As [`plan_of`].
pub fn told(mut observed: Observed) -> Result<Observed, Failure> {
    for planned in plan_of(&observed)?.actions {
        if let Action::WriteStatus(write) = planned.action {
            observed.workload.status = write.status;
            if let Some(revision) = write.revision_annotation {
                observed.workload.annotations.insert(plan::keys::REVISION.to_owned(), revision);
            }
        }
    }
    Ok(observed)
}

/// Nothing to do: the most frequent reconcile of all.
///
/// # Errors
/// If there is something to do.
pub fn at_rest(flavour: Flavour, sets: i64) -> Result<Observed, Failure> {
    let observed = told(Specimen { flavour, number: 0 }.snapshot(sets, (0, REPLICAS))?)?;
    let actions = plan_of(&observed)?.actions;
    if actions.is_empty() { Ok(observed) } else { Err(Failure::Subject(format!("not at rest: {actions:?}"))) }
}

/// In the middle of a rollout: its record is open, one more pod is available, ReplicaSets are scaled, and the status is
/// written.
///
/// # Errors
/// If the plan is another one.
pub fn rolling(flavour: Flavour, sets: i64) -> Result<Observed, Failure> {
    let available = |observed: &mut Observed, pods| {
        if let Some(newest) = observed.sets.last_mut() {
            (newest.status.ready, newest.status.available) = (pods, pods);
        }
    };
    let mut observed = Specimen { flavour, number: 0 }.snapshot(sets, (8, 5))?;
    available(&mut observed, 4);
    // The record is open after two plans.
    observed = told(told(observed)?)?;
    available(&mut observed, 5);
    let actions = plan_of(&observed)?.actions;
    let is_written = actions.iter().any(|planned| matches!(planned.action, Action::WriteStatus(_)));
    let is_open = flavour == Flavour::AppsV1 || observed.workload.status.ours.rollout.is_some();
    if actions.len() < 2 || !is_written || !is_open {
        return Err(Failure::Subject(format!("not the middle of a rollout: {actions:?}")));
    }
    Ok(observed)
}

/// A snapshot for which the cost of plans is counted.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// On the command line.
    pub name: &'static str,
    /// In the record.
    pub about: &'static str,
    flavour: Flavour,
    is_rolling: bool,
}

impl Case {
    /// All with 3 ReplicaSets, what the target of 500,000 plans a second is about.
    pub const ALL: [Self; 4] = [
        Self {
            name: "rest",
            about: "at rest, 3 sets, our kind",
            flavour: Flavour::Rollwright,
            is_rolling: false,
        },
        Self {
            name: "rolling",
            about: "rolling, 3 sets, our kind",
            flavour: Flavour::Rollwright,
            is_rolling: true,
        },
        Self {
            name: "apps-rest",
            about: "at rest, 3 sets, apps/v1",
            flavour: Flavour::AppsV1,
            is_rolling: false,
        },
        Self {
            name: "apps-rolling",
            about: "rolling, 3 sets, apps/v1",
            flavour: Flavour::AppsV1,
            is_rolling: true,
        },
    ];

    /// The one with this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(name: &str) -> Result<Self, String> {
        let names = || Self::ALL.map(|case| case.name).join(", ");
        Self::ALL.into_iter().find(|case| case.name == name).ok_or_else(|| format!("there are {}", names()))
    }

    /// What is planned from.
    ///
    /// # Errors
    /// As [`at_rest`] and [`rolling`].
    pub fn snapshot(&self) -> Result<Observed, Failure> {
        if self.is_rolling { rolling(self.flavour, 3) } else { at_rest(self.flavour, 3) }
    }
}
