//! How soon a Deployment's status follows a ReplicaSet's that takes something back: pods of a complete
//! Deployment are deleted, and it is complete no more.

use std::path::Path;
use std::time::{Duration, Instant};

use cluster::{Cluster, Limits, User};
use futures::{StreamExt as _, TryStreamExt as _, pin_mut, stream};
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, PostParams};
use kube::runtime::watcher;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::csv::Csv;
use crate::failure::Failure;
use crate::figure::{Ratio, percentile};
use crate::scenario::INSTANT;
use crate::side::Side;
use crate::target::{Outcome, Verdict, within};
use crate::{ground, manifest};

pub(crate) const NAME: &str = "news";
pub(crate) const ROUNDS: usize = 3;
const REPLICAS: i64 = 100;
const DELETED: usize = 15;
/// In each round, at rest and right after a completion.
const TIMES: usize = 4;
/// Longer than any controller waits with a write.
const QUIET: Duration = Duration::from_secs(3);
const DEADLINE: Duration = Duration::from_secs(120);
/// As shares of what Kubernetes' controller needs.
const LIMITS: [(Side, f64); 2] = [(Side::OurKind, 1.5), (Side::AppsV1, 1.0)];

/// What was measured, side by side and round by round.
#[derive(Default)]
pub(crate) struct News {
    rounds: Vec<Round>,
}

struct Round {
    side: Side,
    at_rest: Vec<Duration>,
    after_completion: Vec<Duration>,
}

/// Some of the times of a round.
type Times = fn(&Round) -> Vec<&Duration>;

/// The ready replicas that the newest status shows, and since when.
type Shown = watch::Receiver<(i64, Instant)>;

impl News {
    /// Lets the sides play in turns, so many rounds.
    pub(crate) async fn measure(
        operator: &Path,
        rounds: usize,
        sides: &[Side],
        csv: &mut Csv,
    ) -> Result<Self, Failure> {
        let mut news = Self::default();
        for number in 1..=rounds {
            for side in sides {
                let round = Round::play(operator, *side).await?;
                eprintln!("{NAME}: round {number} of {rounds}, {}: {:?}", side.name(), round.at_rest);
                let head = format!("{NAME},{number},{}", side.short());
                for (what, times) in [("idle", &round.at_rest), ("completed", &round.after_completion)] {
                    for time in times {
                        csv.value(&head, &format!("{what} (ms)"), time.as_secs_f64() * 1000.0)?;
                    }
                }
                news.rounds.push(round);
            }
        }
        Ok(news)
    }

    /// All times of one side in milliseconds, by percentile.
    fn figure(&self, side: Side, times: Times, share: usize) -> Option<f64> {
        let rounds = self.rounds.iter().filter(|round| round.side == side);
        percentile(rounds.flat_map(times), share).map(|seconds| seconds * 1000.0)
    }

    pub(crate) fn verdicts(&self) -> Vec<Verdict> {
        let verdict = |share| {
            let outcome = |(side, most): (Side, f64)| {
                let of = |side| self.figure(side, Round::all, share).map(|value| vec![value]);
                let ratio = Ratio::of(&of(side)?, &of(Side::Upstream)?)?;
                let (is_met, text) = within(ratio.median, most, 2);
                Some(Outcome::of(is_met, text))
            };
            Verdict {
                what: format!("from a ReplicaSet's bad news to the Deployment's status, p{share}"),
                target: "≤ 1.5 × (apps/v1 1)".to_owned(),
                results: LIMITS.map(|limit| outcome(limit).unwrap_or(Outcome::NotMeasured)),
            }
        };
        vec![verdict(50), verdict(99)]
    }

    pub(crate) fn report(&self) -> String {
        let mut text = format!(
            "### `{NAME}`\n\n{DELETED} of {REPLICAS} pods of a complete Deployment are deleted at once, {TIMES} times a \
             round while idle and as often right after a completion. The figures are milliseconds from the first \
             ReplicaSet status with fewer ready pods to the Deployment's.\n\n\
             | | Kubernetes | Rollwright | on apps/v1 |\n|---|---|---|---|\n"
        );
        let rows: [(&str, Times); 2] = [
            ("idle", |round| round.at_rest.iter().collect()),
            ("right after a completion", |round| round.after_completion.iter().collect()),
        ];
        for (what, times) in rows {
            for share in [50, 99] {
                let value = |side| self.figure(side, times, share);
                let [upstream, ours, apps] = Side::ALL.map(|side| {
                    value(side).map_or("–".to_owned(), |milliseconds| format!("{milliseconds:.1}"))
                });
                text.push_str(&format!("| {what}, p{share} | {upstream} | {ours} | {apps} |\n"));
            }
        }
        text
    }
}

impl Round {
    fn all(&self) -> Vec<&Duration> {
        self.at_rest.iter().chain(&self.after_completion).collect()
    }

    async fn play(operator: &Path, side: Side) -> Result<Self, Failure> {
        let cluster = ground::start(INSTANT).await?;
        let controller = side.start(&cluster, operator, Limits::Lifted, &side.kubeconfig(&cluster))?;
        let mut ground = Ground::new(&cluster, side).await?;
        let mut round = Self { side, at_rest: Vec::new(), after_completion: Vec::new() };
        ground.completion().await?;
        for _ in 0..TIMES {
            tokio::time::sleep(QUIET).await;
            round.at_rest.push(ground.delete_some().await?);
            ground.completion().await?;
            round.after_completion.push(ground.delete_some().await?);
            ground.completion().await?;
        }
        drop(ground);
        ground::end(controller).await?;
        ground::clear(cluster).await?;
        Ok(round)
    }
}

/// One Deployment under watch.
struct Ground {
    pods: Api<Pod>,
    set: Shown,
    deployment: Shown,
    watches: [JoinHandle<()>; 2],
}

impl Ground {
    async fn new(cluster: &Cluster, side: Side) -> Result<Self, Failure> {
        let namespace = cluster.create_namespace(NAME).await?;
        let client = cluster.client(User::Admin).await?;
        let api = |resource: &ApiResource| -> Api<DynamicObject> {
            Api::namespaced_with(client.clone(), &namespace, resource)
        };
        let deployments = api(&side.resource());
        let (set, set_watch) = follow(api(&ApiResource::erase::<ReplicaSet>(&())));
        let (deployment, watch) = follow(deployments.clone());
        let object = serde_json::from_value(manifest::deployment(side, "web", REPLICAS))?;
        deployments.create(&PostParams::default(), &object).await?;
        let pods = Api::namespaced(client, &namespace);
        Ok(Self { pods, set, deployment, watches: [set_watch, watch] })
    }

    /// Waits until all pods are ready, as both statuses say.
    async fn completion(&mut self) -> Result<(), Failure> {
        for shown in [&mut self.set, &mut self.deployment] {
            until(shown, "all pods ready", |ready| ready == REPLICAS).await?;
        }
        Ok(())
    }

    /// Deletes some pods and returns how long the Deployment's status took after the ReplicaSet's.
    async fn delete_some(&mut self) -> Result<Duration, Failure> {
        let some = ListParams::default().limit(u32::try_from(DELETED).unwrap_or(u32::MAX));
        let names =
            self.pods.list_metadata(&some).await?.items.into_iter().filter_map(|pod| pod.metadata.name);
        let at_once = DeleteParams::default().grace_period(0);
        let (mut set, mut deployment, pods) = (self.set.clone(), self.deployment.clone(), &self.pods);
        let deleting = stream::iter(names)
            .map(|name| {
                let at_once = at_once.clone();
                async move { pods.delete(&name, &at_once).await }
            })
            .buffer_unordered(DELETED)
            .try_collect::<Vec<_>>();
        let (deleted, told, followed) = tokio::join!(
            deleting,
            until(&mut set, "bad news", |ready| ready < REPLICAS),
            until(&mut deployment, "the Deployment's status", |ready| ready < REPLICAS),
        );
        deleted?;
        Ok(followed?.saturating_duration_since(told?))
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        self.watches.iter().for_each(JoinHandle::abort);
    }
}

/// Waits for a status, and returns when it came.
async fn until(shown: &mut Shown, what: &str, is_it: impl Fn(i64) -> bool) -> Result<Instant, Failure> {
    let late = || Failure::Other(format!("{what}: not within {DEADLINE:?}"));
    let waited = tokio::time::timeout(DEADLINE, shown.wait_for(|(ready, _)| is_it(*ready))).await;
    let (_, at) = *waited.map_err(|_| late())?.map_err(|_| late())?;
    Ok(at)
}

/// Follows the one object of this kind in a namespace.
fn follow(api: Api<DynamicObject>) -> (Shown, JoinHandle<()>) {
    let (sender, shown) = watch::channel((0, Instant::now()));
    let task = tokio::spawn(async move {
        let events = watcher(api, watcher::Config::default());
        pin_mut!(events);
        while let Some(event) = events.next().await {
            // The watcher tries again by itself.
            let Ok(watcher::Event::Apply(object) | watcher::Event::InitApply(object)) = event else {
                continue;
            };
            let ready = object.data.pointer("/status/readyReplicas").and_then(serde_json::Value::as_i64);
            sender.send_replace((ready.unwrap_or(0), Instant::now()));
        }
    });
    (shown, task)
}
