//! Metrics of a release that shows them only to those who may read them.

use cluster::{NotYet, wait_for};
use serde_json::json;

use crate::install::{DEADLINE, DEMO, Site};
use crate::node::page;

/// The API server decides, by the role that the chart makes and binds to nobody.
pub(crate) async fn by_those_who_may(site: &Site, full_name: &str) {
    for account in ["scraper", "stranger"] {
        site.demo(&["create", "serviceaccount", account]).await;
    }
    let scraper = site.demo(&["create", "token", "scraper"]).await;
    let unprivileged = site.demo(&["create", "token", "stranger"]).await;
    let port = site.operators().iter().find(|seen| seen.ended_in_time.is_none()).unwrap().port;
    assert_eq!(status(port, "/readyz", "").await, 200, "probes have no token");
    for (token, answer) in [("", 401), ("made-up", 401), (unprivileged.trim(), 403)] {
        assert_eq!(status(port, "/metrics", token).await, answer, "{token}");
    }

    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "scraper"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                    "name": format!("{full_name}-metrics-reader")},
        "subjects": [{"kind": "ServiceAccount", "name": "scraper", "namespace": DEMO}],
    });
    site.kubectl.apply(&binding.to_string()).await.unwrap();
    becomes(200, port, "/metrics", scraper.trim()).await;
    becomes(403, port, "/debug/state", scraper.trim()).await;
    site.kubectl.run(&["delete", "clusterrolebinding", "scraper"]).await.unwrap();
    becomes(403, port, "/metrics", scraper.trim()).await;
}

/// An answer may be remembered for some seconds.
async fn becomes(expected: u16, port: u16, path: &str, token: &str) {
    let what = format!("{expected} for the scraper at {path}");
    let answers = async || {
        let status = status(port, path, token).await;
        if status == expected { Ok(()) } else { Err(NotYet(status.to_string())) }
    };
    wait_for(&what, DEADLINE, answers).await.unwrap();
}

/// The code of the answer.
async fn status(port: u16, path: &str, token: &str) -> u16 {
    page(port, path, token).await.unwrap().split(' ').nth(1).unwrap().parse().unwrap()
}
