//! Signs of life of the controller that a change waits for, as far as the user may read them.
//!
//! All times are the API server's. A Lease has the time of its holder's clock, which may be wrong. So the
//! time when the server stored it counts: `metadata.managedFields` has it. It also names the owner of the
//! Lease, since the Lease may have any name and namespace.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use kube::api::{DynamicObject, ListParams, ObjectList};
use kube::client::Body;
use kube::core::Request;
use kube::{Api, Client, Resource as _};
use lease::Record;
use plan::Flavour;
use serde_json::Value;

use crate::cluster::{Cluster, Deployment, resource};
use crate::rollout;
use crate::unobserved::{IDLE, Leases, Signs, Unobserved};

/// How long a controller gets to see a change before anybody asks whether it is alive.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);
/// A change that waits is asked about again after this long.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// How many Deployments are looked at; a cluster that has more is busy enough to show life among these.
const PAGE: u32 = 500;
/// The name that the chart gives to a Lease, and lets people read who may view the whole cluster.
const LEASE: &str = "rollwright";
/// Who works on Rollwright Deployments, in the words of `managedFields`.
const OPERATOR: &str = "rollwright";
/// Who else works on those of apps/v1.
const CONTROLLER_MANAGER: &str = "kube-controller-manager";

/// What to report of a change or a request that has been awaited for a while; `None` if the Deployment itself shows
/// enough.
pub(crate) async fn words(cluster: &Cluster, deployment: &Deployment) -> Option<String> {
    let age = Timestamp::now().duration_since(changed(&metadata(deployment)));
    if age < PATIENCE.try_into().ok()? {
        return None;
    }
    let unobserved = unobserved(cluster, deployment).await;
    let is_queued = rollout::is_queued(&deployment.body);
    let is_said = match unobserved {
        // The output already reports a request that is awaited.
        Unobserved::Waiting => is_queued || !rollout::is_yet_to_begin(&deployment.body),
        Unobserved::Unclear => is_queued,
        Unobserved::Unseen | Unobserved::Absent => false,
    };
    let name = format!("deployment \"{}\"", deployment.name());
    (!is_said).then(|| unobserved.sentence(deployment.flavour, &name))
}

/// Whether an unobserved change waits in the queue.
pub(crate) async fn unobserved(cluster: &Cluster, deployment: &Deployment) -> Unobserved {
    let flavour = deployment.flavour;
    let (found, here, everywhere) = tokio::join!(
        find_leases(&cluster.client, deployment.namespace()),
        page(cluster.deployments(flavour)),
        page(cluster.deployments_of(flavour, true)),
    );
    let own = metadata(deployment);
    let is_whole = everywhere.as_ref().is_some_and(|page| page.is_whole);
    let [here, everywhere] = [here, everywhere].map(|page| page.map(|page| page.items).unwrap_or_default());
    let wrote = |objects: &[ObjectMeta]| last_write(flavour, objects);
    let (own_write, here, elsewhere) = (wrote(std::slice::from_ref(&own)), wrote(&here), wrote(&everywhere));
    let in_charge = own_write.or(here).or(elsewhere).map(|(_, manager)| manager);
    let now = found.now.unwrap_or_else(Timestamp::now);
    Unobserved::of(&Signs {
        now,
        changed: changed(&own),
        is_queued: rollout::is_queued(&deployment.body),
        leases: found.of(in_charge.or(flavour.is_custom_resource().then_some(OPERATOR)), now),
        here: own_write.max(here).map(|(time, _)| time),
        anywhere: elsewhere.map(|(time, _)| time),
        is_whole,
    })
}

fn metadata(deployment: &Deployment) -> ObjectMeta {
    let metadata = deployment.body.get("metadata").cloned().unwrap_or_default();
    serde_json::from_value(metadata).unwrap_or_default()
}

/// Deployments of a list, without what is in them.
struct Page {
    items: Vec<ObjectMeta>,
    is_whole: bool,
}

async fn page(api: Api<DynamicObject>) -> Option<Page> {
    let list = api.list_metadata(&ListParams::default().limit(PAGE)).await.ok()?;
    let is_whole = list.metadata.continue_.is_none_or(|token| token.is_empty());
    Some(Page { items: list.items.into_iter().map(|object| object.metadata).collect(), is_whole })
}

fn entries(object: &ObjectMeta) -> impl Iterator<Item = &ManagedFieldsEntry> {
    object.managed_fields.iter().flatten()
}

fn is_of_status(entry: &ManagedFieldsEntry) -> bool {
    entry.subresource.as_deref() == Some("status")
}

fn time(entry: &ManagedFieldsEntry) -> Option<Timestamp> {
    entry.time.as_ref().map(|time| time.0)
}

/// When something else than the status was written last: no later than that the change was made.
fn changed(object: &ObjectMeta) -> Timestamp {
    let created = object.creation_timestamp.as_ref().map(|time| time.0);
    let written = entries(object).filter(|entry| !is_of_status(entry)).filter_map(time).max();
    written.max(created).unwrap_or_default()
}

/// When a controller wrote a status last, and which one.
fn last_write(flavour: Flavour, objects: &[ObjectMeta]) -> Option<(Timestamp, &'static str)> {
    let known: &[&'static str] =
        if flavour.is_custom_resource() { &[OPERATOR] } else { &[OPERATOR, CONTROLLER_MANAGER] };
    let writes = objects.iter().flat_map(entries).filter(|entry| is_of_status(entry)).filter_map(|entry| {
        let manager = known.iter().find(|known| entry.manager.as_deref() == Some(**known))?;
        Some((time(entry)?, *manager))
    });
    writes.max()
}

/// Leases, and the server's time.
struct Found {
    now: Option<Timestamp>,
    leases: Vec<DynamicObject>,
    /// Whether there are no others.
    is_whole: bool,
}

impl Found {
    /// The content of the Leases of a controller.
    fn of(&self, controller: Option<&str>, now: Timestamp) -> Leases {
        let found = self.leases.iter().filter_map(|lease| read(lease, controller?, now));
        let together = |a: Leases, b: Leases| match (a, b) {
            _ if a == b => a,
            (Leases::Live | Leases::Settled, Leases::Live | Leases::Settled) => Leases::Live,
            _ => Leases::Mixed,
        };
        let none = if self.is_whole && controller.is_some() { Leases::Missing } else { Leases::Hidden };
        found.reduce(together).unwrap_or(none)
    }
}

/// The content of this Lease; `None` if it is not one of this controller's.
fn read(lease: &DynamicObject, controller: &str, now: Timestamp) -> Option<Leases> {
    let of_controller = entries(&lease.metadata).filter(|entry| entry.manager.as_deref() == Some(controller));
    let written = of_controller.filter_map(time).max()?;
    let record = Record::from_spec(lease.data.get("spec").unwrap_or(&Value::Null));
    let age = now.duration_since(written).try_into().unwrap_or(Duration::ZERO);
    if record.holder.is_empty() || age > record.duration() {
        return Some(Leases::Dead);
    }
    // Both are of the holder's clock.
    let parsed = |time: Option<String>| time?.parse::<Timestamp>().ok();
    let held =
        parsed(record.renewed).zip(parsed(record.acquired)).map(|(end, begin)| end.duration_since(begin));
    let is_settled = held.and_then(|held| held.try_into().ok()).is_some_and(|held: Duration| held > IDLE);
    Some(if is_settled { Leases::Settled } else { Leases::Live })
}

/// The Leases of the cluster without those of nodes, which may be thousands; else the one that the user may read by its
/// name; else those beside the Deployment.
async fn find_leases(client: &Client, namespace: &str) -> Found {
    let places = [
        (None, "metadata.namespace!=kube-node-lease".to_owned()),
        (None, format!("metadata.name={LEASE}")),
        (Some(namespace), String::new()),
    ];
    let mut found = Found { now: None, leases: Vec::new(), is_whole: false };
    for (place, (namespace, fields)) in places.into_iter().enumerate() {
        let Some((now, leases)) = list_leases(client, namespace, &fields).await else { continue };
        found.now = now.or(found.now);
        let Some(leases) = leases else { continue };
        found.is_whole = place == 0;
        found.leases = leases;
        if found.is_whole || !found.leases.is_empty() {
            break;
        }
    }
    found
}

/// What the server answers, and when: its time is in the head of a refusal, too.
async fn list_leases(
    client: &Client,
    namespace: Option<&str>,
    fields: &str,
) -> Option<(Option<Timestamp>, Option<Vec<DynamicObject>>)> {
    let leases = resource("coordination.k8s.io/v1", "Lease", "leases");
    let request = Request::new(DynamicObject::url_path(&leases, namespace));
    let request = request.list(&ListParams::default().fields(fields)).ok()?;
    let response = client.send(request.map(Body::from)).await.ok()?;
    let date = response.headers().get("date").and_then(|date| date.to_str().ok());
    let now = date.and_then(|date| DateTimeParser::new().parse_timestamp(date).ok());
    let is_allowed = response.status().is_success();
    let body = response.into_body().collect_bytes().await.ok()?;
    let list = is_allowed.then(|| serde_json::from_slice::<ObjectList<DynamicObject>>(&body).ok());
    Some((now, list.flatten().map(|list| list.items)))
}

#[cfg(test)]
mod tests;
