//! How old the numbers in Deployments' statuses are, field by field: one Deployment on an idle cluster, and many that
//! roll out together.

use std::path::Path;
use std::time::{Duration, Instant};

use cluster::{Cluster, Limits, User};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams};

use crate::completion::{Completions, Edit};
use crate::csv::Csv;
use crate::failure::Failure;
use crate::figure::percentile;
use crate::lag::{FIELDS, Lags};
use crate::scenario::SECOND;
use crate::side::Side;
use crate::target::{Outcome, Verdict};
use crate::{ground, manifest};

pub(crate) const NAME: &str = "news";
pub(crate) const ROUNDS: usize = 3;
/// Edits that are on their way at the same time.
const PARALLEL: usize = 32;
const DEADLINE: Duration = Duration::from_secs(300);
/// Longer than any controller waits with a write, and until deleted pods have been replaced.
const QUIET: Duration = Duration::from_secs(5);
/// Pods of the single Deployment that are deleted together.
const DELETED: u32 = 15;

/// How many Deployments of how many replicas, and the oldest that a number may be, p99.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Load {
    name: &'static str,
    deployments: usize,
    replicas: i64,
    most: Duration,
}

const LOADS: [Load; 2] = [
    Load { name: "one of 100", deployments: 1, replicas: 100, most: Duration::from_secs(1) },
    Load { name: "500 of 2", deployments: 500, replicas: 2, most: Duration::from_secs(3) },
];

/// What was measured: load, side, and the lags by field.
type Played = (Load, Side, [Vec<Duration>; FIELDS.len()]);

/// What was measured, side by side and round by round.
#[derive(Default)]
pub(crate) struct News(Vec<Played>);

impl News {
    /// Lets the sides play in turns, this many rounds.
    pub(crate) async fn measure(
        operator: &Path,
        rounds: usize,
        sides: &[Side],
        csv: &mut Csv,
    ) -> Result<Self, Failure> {
        let mut news = Self::default();
        for number in 1..=rounds {
            for load in LOADS {
                for side in sides {
                    let lags = play(operator, *side, load).await?;
                    eprintln!("{NAME}, {}: round {number} of {rounds}, {}", load.name, side.name());
                    let head = format!("{NAME} {},{number},{}", load.name, side.short());
                    for ((_, field), lags) in FIELDS.iter().zip(&lags) {
                        for share in [50, 99] {
                            let value = percentile(lags.iter(), share).unwrap_or_default();
                            csv.value(&head, &format!("{field}, p{share} (s)"), value)?;
                        }
                    }
                    news.0.push((load, *side, lags));
                }
            }
        }
        Ok(news)
    }

    /// All lags of a field in seconds, by percentile.
    fn figure(&self, load: Load, side: Side, field: usize, share: usize) -> Option<f64> {
        let played = self.0.iter().filter(|(known, by, _)| (*known, *by) == (load, side));
        percentile(played.filter_map(|(.., lags)| lags.get(field)).flatten(), share)
    }

    pub(crate) fn verdicts(&self) -> Vec<Verdict> {
        let verdict = |load: Load| {
            let fields = 0..FIELDS.len();
            let worst =
                |side| fields.clone().filter_map(|it| self.figure(load, side, it, 99)).reduce(f64::max);
            let outcome = |side| {
                let Some(worst) = worst(side) else { return Outcome::NotMeasured };
                Outcome::of(worst <= load.most.as_secs_f64(), format!("{worst:.2} s"))
            };
            Verdict {
                what: format!(
                    "{NAME}, {}: how old a number of the status is, p99 of the worst field",
                    load.name
                ),
                target: format!("≤ {} s", load.most.as_secs()),
                results: [Side::OurKind, Side::AppsV1].map(outcome),
            }
        };
        LOADS.map(verdict).to_vec()
    }

    pub(crate) fn report(&self) -> String {
        let mut text = format!(
            "### `{NAME}`\n\nHow many seconds pass from a change in the statuses of the ReplicaSets until the Deployment's \
             status shows it, or something newer; p50 and p99. Pods are ready and gone after 1 s. One Deployment of 100 \
             is created, rolled out, loses {DELETED} pods, and is scaled; 500 of 2 are created, and rolled out together.\n\n\
             | | Kubernetes | Rollwright | on apps/v1 |\n|---|---|---|---|\n"
        );
        for load in LOADS {
            for (index, (_, field)) in FIELDS.iter().enumerate() {
                let value = |side, share| {
                    let figure = self.figure(load, side, index, share);
                    figure.map_or("–".to_owned(), |seconds| format!("{seconds:.2}"))
                };
                let cells = Side::ALL.map(|side| format!("{}, {}", value(side, 50), value(side, 99)));
                text.push_str(&format!("| {}, `{field}` | {} |\n", load.name, cells.join(" | ")));
            }
        }
        text
    }
}

async fn play(operator: &Path, side: Side, load: Load) -> Result<[Vec<Duration>; FIELDS.len()], Failure> {
    let cluster = ground::start(SECOND).await?;
    let controller = side.start(&cluster, operator, Limits::Lifted, &side.kubeconfig(&cluster))?;
    let ground = Ground::new(&cluster, side, load).await?;
    let start = Instant::now();
    let replicas = load.replicas;
    let api = &ground.deployments;
    ground.edit(async |name| Edit::create(api, side, name, replicas).await).await?;
    ground.edit(async |name| Edit::patch(api, name, &manifest::template(2)).await).await?;
    if load.deployments == 1 {
        ground.delete_some().await?;
        ground.edit(async |name| Edit::patch(api, name, &manifest::size(replicas / 2)).await).await?;
    }
    let lags = ground.lags.since(start);
    drop(ground);
    ground::end(controller).await?;
    ground::clear(cluster).await?;
    Ok(lags)
}

struct Ground {
    load: Load,
    pods: Api<Pod>,
    deployments: Api<DynamicObject>,
    completions: Completions,
    lags: Lags,
}

impl Ground {
    async fn new(cluster: &Cluster, side: Side, load: Load) -> Result<Self, Failure> {
        let namespace = cluster.create_namespace(NAME).await?;
        let client = cluster.client(User::Admin).await?;
        let api = |resource: &ApiResource| -> Api<DynamicObject> {
            Api::namespaced_with(client.clone(), &namespace, resource)
        };
        let deployments = api(&side.resource());
        let lags = Lags::follow(deployments.clone(), api(&ApiResource::erase::<ReplicaSet>(&())));
        let completions = Completions::follow(deployments.clone());
        let pods = Api::namespaced(client.clone(), &namespace);
        Ok(Self { load, pods, deployments, completions, lags })
    }

    /// Edits all Deployments, and waits until they are complete and nothing follows any more.
    async fn edit(&self, edit: impl AsyncFn(String) -> Result<Edit, Failure>) -> Result<(), Failure> {
        let edits = (0..self.load.deployments).map(|number| edit(format!("web-{number}")));
        let edits: Vec<Edit> = stream::iter(edits).buffer_unordered(PARALLEL).try_collect().await?;
        self.completions.wait(&edits, DEADLINE).await?;
        tokio::time::sleep(QUIET).await;
        Ok(())
    }

    /// Deletes some pods, and waits until they are replaced.
    async fn delete_some(&self) -> Result<(), Failure> {
        let some = self.pods.list_metadata(&ListParams::default().limit(DELETED)).await?;
        for name in some.items.into_iter().filter_map(|pod| pod.metadata.name) {
            self.pods.delete(&name, &DeleteParams::default()).await?;
        }
        tokio::time::sleep(QUIET).await;
        Ok(())
    }
}
