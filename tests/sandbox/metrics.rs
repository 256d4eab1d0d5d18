//! `/metrics` of an operator that runs, against all who rely on its names: the documentation, the
//! alert rules and the dashboard.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use cluster::{NotYet, free_port, wait_for};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::place::{Sandbox, manifest, path};

/// Only there with `--leader-elect`, for which a sandbox has no use.
const ELECTED_ONLY: &str = "leader_election_master_status";
/// The same with `--selector`.
const SHARDS_ONLY: &str = "rollwright_namespaces";
/// Has a series, and so labels, while a rollout is blocked; `causes.rs` looks at it.
const BLOCKED_ONLY: &str = "rollwright_rollout_blocked";
/// The same while another revision runs than the declared one; src/serve/objects/tests.rs looks at it.
const DIVERGED_ONLY: &str = "rollwright_deployment_diverged";
/// The same while a rollout waits for a promotion; src/serve/objects/tests.rs looks at it.
const AWAITING_ONLY: &str = "rollwright_rollout_awaits_promotion";
/// Where words that look like these begin, the name of a metric follows.
const PREFIXES: [&str; 6] =
    ["rollwright_", "workqueue_", "rest_client_", "controller_runtime_", "process_", "leader_election_"];

/// Type and labels of a metric.
type Shapes = BTreeMap<String, (String, BTreeSet<String>)>;

/// A sandbox with something in it, and the metrics of its operator.
async fn scraped() -> (Sandbox, String) {
    let address = format!("127.0.0.1:{}", free_port().unwrap());
    let sandbox = Sandbox::start_at(&address).await;
    sandbox.ok(&["apply", "-f", &manifest("web")]).await;
    sandbox.ok(&["create", "deployment", "shop", "--image=shop:v1"]).await;
    let text = wait_for("both rollouts in the metrics", Duration::from_secs(60), async || {
        let text = get(&address, "/metrics").await;
        let done = |(api, trigger): (&str, &str)| {
            let labels =
                format!("api=\"{api}\",namespace=\"default\",outcome=\"Succeeded\",trigger=\"{trigger}\"");
            format!("rollwright_rollouts_total{{{labels}}} 1\n")
        };
        let all = [("rollwright.dev/v1", "TemplateChanged"), ("apps/v1", "")];
        let all = all.into_iter().all(|rollout| text.contains(&done(rollout)));
        if all { Ok(text) } else { Err(NotYet(text)) }
    });
    let text = text.await.unwrap_or_else(|error| panic!("{error}"));
    (sandbox, text)
}

pub(crate) async fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.0 200") || head.starts_with("HTTP/1.1 200"), "{head}");
    body.to_owned()
}

/// What `/metrics` has.
fn shown(text: &str) -> Shapes {
    let mut shapes = Shapes::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            shapes.insert(name.to_owned(), (kind.to_owned(), BTreeSet::new()));
        } else if !line.starts_with('#') {
            let (name, labels) = line.split_once('{').unwrap_or((line.split(' ').next().unwrap(), ""));
            let family = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|suffix| name.strip_suffix(suffix).filter(|family| shapes.contains_key(*family)));
            let labels =
                labels.split("\",").filter_map(|pair| pair.split_once("=\"")).map(|(label, _)| label);
            let labels = labels.filter(|label| *label != "le").map(str::to_owned);
            shapes.get_mut(family.unwrap_or(name)).unwrap().1.extend(labels);
        }
    }
    shapes
}

/// What docs/reference/metrics.md has: the rows of its tables.
fn documented() -> Shapes {
    let text = fs::read_to_string(path("docs/reference/metrics.md")).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    let rows = rows.filter(|row| PREFIXES.iter().any(|prefix| row.starts_with(prefix)));
    rows.map(|row| {
        let mut cells = row.split(" | ");
        let name = cells.next().unwrap().trim_end_matches('`').to_owned();
        let kind = cells.next().unwrap_or_else(|| panic!("{row}: type")).to_owned();
        let labels = cells.next().unwrap_or_else(|| panic!("{row}: labels"));
        let labels = labels.split(", ").filter_map(|label| label.strip_prefix('`')?.strip_suffix('`'));
        assert!(cells.next().is_some_and(|meaning| meaning.len() > 9), "{row}: meaning");
        (name, (kind, labels.map(str::to_owned).collect()))
    })
    .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documentation_lists_what_there_is() {
    let (_sandbox, text) = scraped().await;
    let (mut shown, mut documented) = (shown(&text), documented());
    for name in [ELECTED_ONLY, SHARDS_ONLY, BLOCKED_ONLY, DIVERGED_ONLY, AWAITING_ONLY] {
        assert!(documented.remove(name).is_some(), "{name} is documented");
    }
    for name in [BLOCKED_ONLY, DIVERGED_ONLY, AWAITING_ONLY] {
        assert!(shown.remove(name).is_some_and(|(_, labels)| labels.is_empty()), "{name} has no series");
    }
    for (name, shape) in &shown {
        assert_eq!(
            documented.get(name),
            Some(shape),
            "docs/reference/metrics.md about {name}, which is there"
        );
    }
    for name in documented.keys() {
        assert!(shown.contains_key(name), "docs/reference/metrics.md has {name}, which is not there");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn alerts_and_dashboard_ask_for_what_there_is() {
    let (_sandbox, text) = scraped().await;
    let shown = shown(&text);
    for file in ["charts/rollwright/files/alerts.yaml", "charts/rollwright/files/dashboard.json"] {
        let asked = names(&fs::read_to_string(path(file)).unwrap());
        assert!(asked.len() > 10, "{file}: {asked:?}");
        for name in asked.iter().filter(|name| *name != ELECTED_ONLY) {
            let is_there = shown.iter().any(|(family, (kind, _))| {
                let parts = ["_bucket", "_sum", "_count"].map(|suffix| format!("{family}{suffix}"));
                family == name || (kind == "histogram" && parts.contains(name))
            });
            assert!(is_there, "{file} asks for {name}, which is not in /metrics");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn series_of_a_deployment_vanish_with_it() {
    let (sandbox, text) = scraped().await;
    let own = "rollwright_deployment_spec_replicas{api=\"rollwright.dev/v1\",namespace=\"default\",deployment=\"web\"} 4\n";
    assert!(text.contains(own), "{own} in\n{text}");
    sandbox.ok(&["delete", "rwd/web"]).await;
    let address = sandbox.bind_address().to_owned();
    let gone = wait_for("the series being gone", Duration::from_secs(30), async || {
        let text = get(&address, "/metrics").await;
        if text.contains("deployment=\"web\"") { Err(NotYet(text)) } else { Ok(text) }
    });
    let text = gone.await.unwrap_or_else(|error| panic!("{error}"));
    assert!(text.contains("deployment=\"shop\""), "the other one is still there");
}

/// The names of metrics in a text.
fn names(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let words = text.split(|c: char| !is_part(c));
    // Those of recorded rules have a colon, and a comment may name a whole family with a star.
    let words = words.filter(|word| !word.contains(':') && !word.ends_with('_'));
    words.filter(|word| PREFIXES.iter().any(|prefix| word.starts_with(prefix))).map(str::to_owned).collect()
}
