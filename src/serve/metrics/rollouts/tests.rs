use super::*;
use crate::serve::metrics::Metrics;

const OURS: Flavour = Flavour::Rollwright;

fn metrics(limit: Option<usize>) -> Metrics {
    let metrics = Metrics::new().expect("metrics");
    metrics.rollouts.label_namespaces(limit);
    for flavour in [Flavour::AppsV1, OURS] {
        metrics.begin(flavour);
    }
    metrics
}

fn succeeds(metrics: &Metrics, namespace: &str) {
    let how = (Outcome::Succeeded, Some(Trigger::NewImage));
    metrics.rollouts.ended(OURS, namespace, how, Some(7.0));
}

fn page(metrics: &Metrics) -> String {
    String::from_utf8(metrics.render().expect("text")).expect("text")
}

/// Namespace and value of the series of a metric that have these labels too.
fn shown(metrics: &Metrics, name: &str, others: &str) -> Vec<(String, String)> {
    let start = format!("rollwright_{name}{{");
    let text = page(metrics);
    let series = text.lines().filter_map(|line| line.strip_prefix(&start)?.split_once("} "));
    let ours = series.filter(|(labels, _)| labels.contains("rollwright.dev") && labels.contains(others));
    let namespace = |labels: &str| Some(labels.split_once("namespace=\"")?.1.split_once('"')?.0.to_owned());
    ours.filter_map(|(labels, value)| Some((namespace(labels)?, value.to_owned()))).collect()
}

fn rollouts(metrics: &Metrics) -> Vec<(String, String)> {
    shown(metrics, "rollouts_total", "outcome=\"Succeeded\",trigger=\"NewImage\"")
}

fn is(shown: &[(String, String)], expected: &[(&str, &str)]) {
    let shown: Vec<_> = shown.iter().map(|(namespace, value)| (namespace.as_str(), value.as_str())).collect();
    assert_eq!(shown, expected);
}

fn has(metrics: &Metrics, namespaces: &[&str]) {
    metrics.rollouts.observe(OURS, &namespaces.iter().map(|name| (*name).to_owned()).collect());
}

#[test]
fn all_figures_have_the_namespace() {
    let metrics = metrics(Some(9));
    let rollouts_of = &metrics.rollouts;
    succeeds(&metrics, "shop");
    rollouts_of.failed(OURS, "shop");
    rollouts_of.restored(OURS, "shop", 100.0);
    rollouts_of.blocked(OURS, "shop", "ImagePull", Duration::from_millis(1500));
    is(&rollouts(&metrics), &[("_other", "0"), ("shop", "1")]);
    is(&shown(&metrics, "rollout_duration_seconds_sum", "outcome=\"Succeeded\""), &[("shop", "7")]);
    is(&shown(&metrics, "change_failures_total", ""), &[("_other", "0"), ("shop", "1")]);
    is(&shown(&metrics, "restore_duration_seconds_sum", ""), &[("_other", "0"), ("shop", "100")]);
    let blocked = shown(&metrics, "rollout_blocked_seconds_total", "cause=\"ImagePull\"");
    is(&blocked, &[("_other", "0"), ("shop", "1.5")]);
    is(&shown(&metrics, "rollouts_total", "outcome=\"Failed\",trigger=\"Restart\"")[1..], &[("shop", "0")]);
}

#[test]
fn namespaces_beyond_the_limit_share_their_series() {
    let metrics = metrics(Some(2));
    has(&metrics, &["a", "b", "c", "d"]);
    for namespace in ["a", "c", "d", "d"] {
        succeeds(&metrics, namespace);
    }
    is(&rollouts(&metrics), &[("_other", "3"), ("a", "1"), ("b", "0")]);
    let text = page(&metrics);
    assert!(text.contains("\nrollwright_namespace_metrics_omitted{api=\"rollwright.dev/v1\"} 2\n"), "{text}");
    // Each API has places of its own.
    metrics.rollouts.ended(Flavour::AppsV1, "d", (Outcome::Failed, None), None);
    let text = page(&metrics);
    let of_apps = "{api=\"apps/v1\",namespace=\"d\",outcome=\"Failed\",trigger=\"\"} 1\n";
    assert!(text.contains(of_apps), "{text}");
}

#[test]
fn no_series_names_a_namespace_without_the_label() {
    let metrics = metrics(None);
    has(&metrics, &["shop"]);
    succeeds(&metrics, "shop");
    is(&rollouts(&metrics), &[("", "1")]);
    let text = page(&metrics);
    assert!(!text.contains("shop") && !text.contains(OTHERS), "{text}");
}

/// The last rollout of a namespace is read before its series go.
#[test]
fn series_go_after_the_last_deployment_and_leave_their_place() {
    let metrics = metrics(Some(1));
    succeeds(&metrics, "preview-1");
    has(&metrics, &["preview-2"]);
    is(&rollouts(&metrics), &[("_other", "0"), ("preview-1", "1")]);
    has(&metrics, &["preview-2"]);
    is(&rollouts(&metrics), &[("_other", "0"), ("preview-2", "0")]);
    let text = page(&metrics);
    assert!(!text.contains("preview-1"), "{text}");
    // One that returns in between stays.
    has(&metrics, &[]);
    has(&metrics, &["preview-2"]);
    has(&metrics, &[]);
    is(&rollouts(&metrics), &[("_other", "0"), ("preview-2", "0")]);
}
