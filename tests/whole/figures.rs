//! What rollouts and idle hours cost in requests, against docs/internals/benchmarks.json: `make
//! bench-check`.

use std::time::Duration;

use figures::record::{self, Figures};
use plan::Flavour;
use serde_json::json;

use super::rig::Rig;
use super::{AN_HOUR, BOTH, SOON, up};

/// One after another, of ten pods each; few enough that no event is held back (S12.2).
const ROLLOUTS: u8 = 5;
/// The number of idle Deployments, each with an old revision.
const DEPLOYMENTS: u8 = 50;
/// Events and a last status follow within.
const AFTERMATH: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn requests_are_as_recorded() {
    let mut figures = Figures::new();
    for flavour in BOTH {
        rollouts(flavour, &mut figures).await;
        slow_pods(flavour, &mut figures).await;
        at_rest(flavour, &mut figures).await;
    }
    match record::settle(&record::path(), "operator", &figures, record::is_update()) {
        Ok(text) => print!("{text}"),
        Err(failure) => panic!("{failure}"),
    }
}

fn api(flavour: Flavour) -> &'static str {
    if flavour == Flavour::Rollwright { "our kind" } else { "apps/v1" }
}

async fn rollouts(flavour: Flavour, figures: &mut Figures) {
    let rig = up(flavour).await;
    tokio::time::sleep(AFTERMATH).await;
    let (_, reads) = (rig.faults.take_writes(), rig.faults.reads().len());
    for number in 0..ROLLOUTS {
        rig.roll_out("web", &format!("app:next-{number}"), SOON).await;
        tokio::time::sleep(AFTERMATH).await;
    }
    let writes = rig.faults.take_writes();
    let is_dry_run = |write: &&String| write.ends_with("?dryRun=All");
    let is_event = |write: &&String| write.contains("/events");
    let (events, dry_runs) =
        (writes.iter().filter(is_event).count(), writes.iter().filter(is_dry_run).count());
    let mut each = |what: &str, count: usize| {
        let name = format!("per rollout of 10 pods, {}: {what}", api(flavour));
        figures.insert(name, number(count) / f64::from(ROLLOUTS));
    };
    each("writes, events apart", writes.len() - events - dry_runs);
    each("events", events);
    each("reads and dry runs", rig.faults.reads().len() - reads + dry_runs);
}

/// What is done to one Deployment after another of few pods that are ready after eight seconds, and gone
/// after three.
async fn slow_pods(flavour: Flavour, figures: &mut Figures) {
    let rig = Rig::with_pods(flavour, Duration::from_secs(8), Duration::from_secs(3));
    for pods in [2, 5] {
        let name = format!("web-{pods}");
        for operation in ["create", "roll out", "scale"] {
            match operation {
                "create" => rig.create(&name, pods, "app:v1").await,
                "scale" => rig.patch(&name, json!({ "spec": { "replicas": 2 * pods } })).await,
                _ => rig.set_image(&name, "app:v2").await,
            }
            rig.settle(&name, Duration::from_secs(120)).await;
            tokio::time::sleep(AFTERMATH).await;
            let writes = rig.faults.take_writes();
            let events = writes.iter().filter(|write| write.contains("/events")).count();
            let api = api(flavour);
            let mut each = |what: &str, count: usize| {
                let text = format!("{operation}, {pods} pods ready after 8 s, {api}: {what}");
                figures.insert(text, number(count));
            };
            each("writes, events apart", writes.len() - events);
            each("events", events);
        }
    }
}

async fn at_rest(flavour: Flavour, figures: &mut Figures) {
    let rig = Rig::new(flavour);
    let names: Vec<String> = (0..DEPLOYMENTS).map(|number| format!("web-{number}")).collect();
    for name in &names {
        rig.create(name, 2, "app:v1").await;
    }
    for name in &names {
        rig.settle(name, SOON).await;
        rig.set_image(name, "app:v2").await;
    }
    for name in &names {
        rig.settle(name, SOON).await;
    }
    tokio::time::sleep(AFTERMATH).await;
    let (_, reads) = (rig.faults.take_writes(), rig.faults.reads().len());
    tokio::time::sleep(AN_HOUR).await;
    let requests = rig.faults.take_writes().len() + rig.faults.reads().len() - reads;
    let name =
        format!("at rest, {DEPLOYMENTS} Deployments, {}: requests in an hour beside watches", api(flavour));
    figures.insert(name, number(requests));
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}
