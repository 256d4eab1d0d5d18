//! What is asked of a server, by the rights that the user has, and what is read from its answers.

use std::sync::{Arc, Mutex};

use serde_json::json;

use super::*;

const NOW: &str = "Mon, 23 Nov 2026 10:00:00 GMT";

/// What the user may list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rights {
    All,
    /// Leases by name only, as the chart lets those who may view the whole cluster.
    View,
    Namespace,
    /// The Deployment itself, and no more.
    Nothing,
}

fn entry(manager: &str, part: &str, time: &str) -> Value {
    json!({"manager": manager, "operation": "Update", "subresource": part, "time": format!("2026-11-23T{time}Z")})
}

fn lease(manager: &str, holder: &str, time: &str) -> Value {
    json!({
        "metadata": {"name": "rollwright", "managedFields": [entry(manager, "", time)]},
        // The clock of the holder is a day late.
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": "2026-11-22T10:00:00Z"},
    })
}

/// A Deployment that somebody changed at this time, after its controller had written the status.
fn deployment(flavour: Flavour, manager: &str, changed: &str) -> Deployment {
    let fields = [entry("kubectl", "", changed), entry(manager, "status", "09:00:00")];
    let body = json!({
        "metadata": {"name": "web", "namespace": "shop", "generation": 2, "managedFields": fields},
        "status": {"observedGeneration": 1},
    });
    Deployment { flavour, body }
}

/// A cluster that answers lists, and notes what was asked.
struct Fake {
    rights: Rights,
    leases: Vec<Value>,
    /// When the operator wrote the status of the Deployments in the namespace, and elsewhere.
    written: [&'static str; 2],
}

impl Fake {
    fn answer(&self, path: &str, query: &str) -> Option<Vec<Value>> {
        let is_here = path.contains("/namespaces/shop/");
        let is_allowed = match self.rights {
            Rights::All => true,
            Rights::View => !path.ends_with("leases") || query.contains("metadata.name%3Drollwright"),
            Rights::Namespace => is_here,
            Rights::Nothing => false,
        };
        let [here, elsewhere] = self.written;
        let written = if is_here { here } else { elsewhere };
        let wrote =
            json!({"metadata": {"name": "other", "managedFields": [entry("rollwright", "status", written)]}});
        let is_of_leases = path.ends_with("/leases");
        // The operator is installed in another namespace.
        let found = match is_of_leases {
            true if is_here => Vec::new(),
            true => self.leases.clone(),
            false => vec![wrote],
        };
        is_allowed.then_some(found)
    }

    async fn unobserved(self, deployment: &Deployment) -> (Unobserved, Vec<String>) {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (fake, notes) = (Arc::new(self), Arc::clone(&asked));
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let (fake, notes) = (Arc::clone(&fake), Arc::clone(&notes));
            async move {
                let (path, query) =
                    (request.uri().path().to_owned(), request.uri().query().unwrap_or_default());
                notes.lock().expect("notes").push(format!("{path}?{query}"));
                let (code, body) = match fake.answer(&path, query) {
                    Some(items) => {
                        (200, json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items}))
                    }
                    None => (
                        403,
                        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no",
                                         "reason": "Forbidden", "code": 403}),
                    ),
                };
                let response = http::Response::builder().status(code).header("date", NOW);
                Ok::<_, std::convert::Infallible>(
                    response.body(Body::from(body.to_string().into_bytes())).expect("body"),
                )
            }
        });
        let cluster = Cluster::of(Client::new(service, "shop"), "shop");
        let unobserved = unobserved(&cluster, deployment).await;
        let mut asked = asked.lock().expect("notes").clone();
        asked.sort();
        (unobserved, asked)
    }
}

const SILENT: [&str; 2] = ["09:00:00", "09:00:00"];

async fn of_ours(rights: Rights, leases: Vec<Value>, written: [&'static str; 2]) -> Unobserved {
    let changed = deployment(Flavour::Rollwright, OPERATOR, "09:59:55");
    Fake { rights, leases, written }.unobserved(&changed).await.0
}

#[tokio::test]
async fn the_lease_is_read_by_the_servers_clock() {
    for rights in [Rights::All, Rights::View] {
        for (holder, time, unobserved) in [
            ("a", "09:59:58", Unobserved::Waiting),
            ("a", "09:59:30", Unobserved::Absent),
            ("", "09:59:58", Unobserved::Absent),
        ] {
            let leases = vec![lease(OPERATOR, holder, time)];
            assert_eq!(of_ours(rights, leases, SILENT).await, unobserved, "{holder} {time}");
        }
    }
    let of_shards = vec![lease(OPERATOR, "a", "09:59:58"), lease(OPERATOR, "", "09:00:00")];
    assert_eq!(of_ours(Rights::All, of_shards, SILENT).await, Unobserved::Unclear);
}

#[test]
fn a_lease_is_settled_when_it_has_been_held_for_a_while() {
    let now = "2026-11-23T10:00:00Z".parse().expect("time");
    for (acquired, leases) in
        [("2026-11-22T09:58:00Z", Leases::Settled), ("2026-11-22T09:59:30Z", Leases::Live)]
    {
        let mut body = lease(OPERATOR, "a", "09:59:58");
        body["spec"]["acquireTime"] = json!(acquired);
        let lease: DynamicObject = serde_json::from_value(body).expect("lease");
        assert_eq!(read(&lease, OPERATOR, now), Some(leases), "{acquired}");
    }
}

#[tokio::test]
async fn leases_of_others_say_nothing() {
    let leases = vec![lease("somebody", "a", "09:59:58")];
    assert_eq!(of_ours(Rights::All, leases, SILENT).await, Unobserved::Unclear);
}

#[tokio::test]
async fn without_the_right_to_see_the_lease_statuses_count() {
    let lease = || vec![lease(OPERATOR, "a", "09:59:58")];
    for rights in [Rights::Namespace, Rights::Nothing] {
        assert_eq!(of_ours(rights, lease(), SILENT).await, Unobserved::Unclear);
    }
    assert_eq!(of_ours(Rights::Namespace, lease(), ["09:59:57", "09:59:57"]).await, Unobserved::Waiting);
    assert_eq!(of_ours(Rights::All, Vec::new(), ["09:00:00", "09:59:57"]).await, Unobserved::Waiting);
}

#[tokio::test]
async fn a_lease_that_is_not_found_is_missing_only_to_those_who_may_see_all() {
    for (rights, unobserved) in [(Rights::All, Unobserved::Absent), (Rights::View, Unobserved::Unclear)] {
        let changed = deployment(Flavour::Rollwright, OPERATOR, "09:59:00");
        let fake = Fake { rights, leases: Vec::new(), written: ["08:00:00"; 2] };
        assert_eq!(fake.unobserved(&changed).await.0, unobserved);
    }
}

#[tokio::test]
async fn on_apps_v1_the_lease_of_who_wrote_the_status_counts() {
    for (manager, unobserved) in [(CONTROLLER_MANAGER, Unobserved::Waiting), (OPERATOR, Unobserved::Absent)] {
        let changed = deployment(Flavour::AppsV1, manager, "09:59:55");
        let leases = vec![lease(CONTROLLER_MANAGER, "a", "09:59:58"), lease(OPERATOR, "", "09:59:58")];
        let fake = Fake { rights: Rights::All, leases, written: SILENT };
        assert_eq!(fake.unobserved(&changed).await.0, unobserved, "{manager}");
    }
}

#[tokio::test]
async fn nothing_is_listed_whole_but_the_metadata_of_some() {
    let changed = deployment(Flavour::Rollwright, OPERATOR, "09:59:55");
    let fake = Fake { rights: Rights::Namespace, leases: Vec::new(), written: SILENT };
    let (_, asked) = fake.unobserved(&changed).await;
    assert_eq!(
        asked,
        [
            "/apis/coordination.k8s.io/v1/leases?&fieldSelector=metadata.name%3Drollwright",
            "/apis/coordination.k8s.io/v1/leases?&fieldSelector=metadata.namespace%21%3Dkube-node-lease",
            "/apis/coordination.k8s.io/v1/namespaces/shop/leases?&fieldSelector=",
            "/apis/rollwright.dev/v1/deployments?&limit=500",
            "/apis/rollwright.dev/v1/namespaces/shop/deployments?&limit=500",
        ]
    );
}
