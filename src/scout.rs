//! ReplicaSets that the label watch does not show: those that lost our label, and orphans that
//! never had it.
//!
//! Our flavour sees labelled sets only. A set of ours that leaves the watch is read live and,
//! if it still is ours, labelled again before the pass goes on: counting without it could start
//! too many pods. Orphans are looked for once per Deployment and term of leadership, by one list;
//! that also finds what left the watch before.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use api::decode;
use kube::api::{ListParams, Patch};
use pass::Refusal;
use plan::keys::{MANAGED_LABEL, MANAGED_VALUE};
use plan::selector::LabelSelector;
use plan::{Event, Map, ReplicaSet, Workload};
use serde_json::{Value, json};
use tracing::{info, warn};

use crate::clock;
use crate::controller::{Adoption, Controller};
use crate::events::About;
use crate::index::{Key, Placed};
use crate::live::{patch_params, unreadable};
use crate::object::{Kind, Object};

/// Reason of the event that names an orphan.
const UNLABELLED: &str = "UnlabelledReplicaSet";
/// An event each for so many orphans; the log names all.
const EVENTS_MAX: usize = 5;
const PAGE_SIZE: u32 = 100;
/// Namespaces whose listing is kept for other Deployments that need it at the same time.
const LISTINGS_MAX: usize = 64;

/// A set without our label.
#[derive(Clone, Debug)]
struct Found {
    name: String,
    uid: String,
    labels: Map,
    selected: Map,
    controller_uid: Option<String>,
    deleting: bool,
}

/// Recent lists of unlabelled sets by namespace: Deployments that were all there before a list
/// was taken share it.
#[derive(Default)]
pub(crate) struct Listings(Mutex<HashMap<String, Arc<Slot>>>);

type Slot = tokio::sync::Mutex<Option<(Instant, Arc<Vec<Found>>)>>;

impl Listings {
    /// They are too old for whoever asks next.
    pub(crate) fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    async fn since(
        &self,
        controller: &Controller,
        namespace: &str,
        since: Instant,
    ) -> Result<Arc<Vec<Found>>, Refusal> {
        let slot = {
            let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if slots.len() >= LISTINGS_MAX && !slots.contains_key(namespace) {
                slots.clear();
            }
            slots.entry(namespace.to_owned()).or_default().clone()
        };
        let mut slot = slot.lock().await;
        if let Some((taken, found)) = &*slot
            && *taken >= since
        {
            return Ok(found.clone());
        }
        let taken = clock::now();
        let found = Arc::new(list_unlabelled(controller, namespace).await?);
        *slot = Some((taken, found.clone()));
        Ok(found)
    }
}

async fn list_unlabelled(controller: &Controller, namespace: &str) -> Result<Vec<Found>, Refusal> {
    let api = controller.server.objects(Kind::ReplicaSet, namespace);
    let selector = format!("{MANAGED_LABEL}!={MANAGED_VALUE}");
    let mut params = ListParams::default().labels(&selector).limit(PAGE_SIZE);
    let mut found = Vec::new();
    loop {
        let page = controller.server.send("list", "replicasets", api.list(&params)).await?;
        found.extend(page.items.iter().filter_map(|object| describe(controller, object)));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params.continue_token = Some(token),
            None => return Ok(found),
        }
    }
}

fn describe(controller: &Controller, object: &Object) -> Option<Found> {
    let set = decode::replica_set(controller.flavour, &object.body).ok()?;
    let selected = object.body.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
    let selected = selected.into_iter().flatten();
    Some(Found {
        name: set.name,
        uid: set.uid,
        labels: set.labels,
        selected: selected
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect(),
        controller_uid: set.controller_uid,
        deleting: set.deleting,
    })
}

/// Finds out why sets of this Deployment left the watch, and brings back those that are ours.
pub(crate) async fn settle_strays(controller: &Arc<Controller>, key: &Key) -> Result<(), Refusal> {
    let strays = controller.index().strays(key);
    for stray in strays {
        bring_back(controller, key, &stray.name, &stray.uid).await?;
        controller.index().settle_stray(key, &stray.uid);
    }
    Ok(())
}

/// Labels a set again if it is there and one of our Deployments controls it; one that is being
/// deleted too, since it still has pods, and only the watch tells when it is gone.
async fn bring_back(controller: &Arc<Controller>, key: &Key, name: &str, uid: &str) -> Result<(), Refusal> {
    let Some(set) = read(controller, key, name, uid).await? else { return Ok(()) };
    if is_labelled(&set) {
        put(controller, key, set);
        return Ok(());
    }
    let is_ours = set.controller_uid.as_ref().is_some_and(|uid| controller.index().key_of(uid).is_some());
    if !is_ours {
        info!(%key, set = name, "a ReplicaSet lost our label and its owner: left alone");
        return Ok(());
    }
    label(controller, key, set).await?;
    controller.metrics.relabelled.inc();
    warn!(%key, set = name, "a ReplicaSet of ours had lost its label {MANAGED_LABEL}; it was put back");
    Ok(())
}

async fn read(
    controller: &Arc<Controller>,
    key: &Key,
    name: &str,
    uid: &str,
) -> Result<Option<ReplicaSet>, Refusal> {
    let api = controller.server.objects(Kind::ReplicaSet, &key.namespace);
    let live = controller.server.send("get", "replicasets", api.get_opt(name)).await?;
    let Some(live) = live.filter(|live| live.uid() == uid) else { return Ok(None) };
    decode::replica_set(controller.flavour, &live.body).map(Some).map_err(|error| unreadable(&error))
}

fn is_labelled(set: &ReplicaSet) -> bool {
    set.labels.get(MANAGED_LABEL).is_some_and(|value| value == MANAGED_VALUE)
}

/// Puts our label on a set, and the set into the cache ahead of the watch.
async fn label(controller: &Arc<Controller>, key: &Key, set: ReplicaSet) -> Result<(), Refusal> {
    let patch = Patch::Merge(json!({
        "metadata": {
            "uid": set.uid,
            "resourceVersion": set.resource_version,
            "labels": { MANAGED_LABEL: MANAGED_VALUE },
        },
    }));
    let api = controller.server.objects(Kind::ReplicaSet, &key.namespace);
    let params = patch_params();
    let request = api.patch(&set.name, &params, &patch);
    let live = controller.server.send("patch", "replicasets", request).await?;
    let set = decode::replica_set(controller.flavour, &live.body).map_err(|error| unreadable(&error))?;
    put(controller, key, set);
    Ok(())
}

fn put(controller: &Controller, key: &Key, set: ReplicaSet) {
    let placed = Placed { namespace: key.namespace.clone(), set: Arc::new(set) };
    let woken = controller.index().put_set(placed);
    controller.queue.wake(woken.into_iter().filter(|other| other != key));
}

/// Looks for sets without our label that this Deployment could have, once.
pub(crate) async fn look_for_orphans(controller: &Arc<Controller>, key: &Key) -> Result<(), Refusal> {
    if controller.flavour.set_labels().is_none() {
        return Ok(());
    }
    let Some(uid) = controller.index().uid_of(key) else { return Ok(()) };
    if controller.memory().has_scouted(key, &uid) {
        return Ok(());
    }
    let Some((snapshot, since)) = controller.index().first_seen(key) else { return Ok(()) };
    let Some(selector) = snapshot.selector.as_ref().filter(|selector| !selector.is_empty()) else {
        return Ok(());
    };
    if snapshot.deleting {
        return Ok(());
    }
    let found = controller.listings.since(controller, &key.namespace, since).await?;
    let mut orphans = Vec::new();
    for set in found.iter().filter(|set| !set.deleting) {
        match &set.controller_uid {
            Some(uid) if *uid == snapshot.uid => bring_back(controller, key, &set.name, &set.uid).await?,
            Some(_) => {}
            None if controller.adoption == Adoption::Any && selector.matches(&set.labels) => {
                take(controller, key, set).await?;
            }
            None if selector.matches(&set.labels) || selector.matches(&set.selected) => orphans.push(set),
            None => {}
        }
    }
    let names = orphans.iter().map(|set| set.name.clone()).collect();
    controller.memory().note_scouted(key, &snapshot.uid, names);
    report(controller, key, &snapshot, selector, &orphans);
    Ok(())
}

/// Labels an orphan, so that the pass adopts it (S2.15).
async fn take(controller: &Arc<Controller>, key: &Key, found: &Found) -> Result<(), Refusal> {
    if let Some(set) = read(controller, key, &found.name, &found.uid).await?
        && set.controller_uid.is_none()
    {
        info!(%key, set = set.name, "label orphan, to be adopted");
        label(controller, key, set).await?;
    }
    Ok(())
}

fn report(
    controller: &Arc<Controller>,
    key: &Key,
    workload: &Workload,
    selector: &LabelSelector,
    orphans: &[&Found],
) {
    for (index, set) in orphans.iter().enumerate() {
        controller.metrics.orphans_reported.inc();
        let command = command(&key.namespace, selector, set);
        warn!(%key, set = set.name, command, "an orphaned ReplicaSet matches and lacks our label");
        if index < EVENTS_MAX {
            let message = format!(
                "ReplicaSet {} has no owner and matches this Deployment, but is not labelled for Rollwright. \
                 To hand it over: {command}",
                set.name
            );
            let about = About::workload(controller.flavour, workload);
            controller.events.record(about, Event::warning(UNLABELLED, message));
        }
    }
}

/// The command that hands an orphan over; with the labels of the selector if it lacks them.
fn command(namespace: &str, selector: &LabelSelector, set: &Found) -> String {
    let mut command =
        format!("kubectl label replicaset {} -n {namespace} {MANAGED_LABEL}={MANAGED_VALUE}", set.name);
    let lacking = selector.match_labels.iter().filter(|(key, value)| set.labels.get(*key) != Some(value));
    for (key, value) in lacking {
        command.push_str(&format!(" {key}={value}"));
    }
    command
}

#[cfg(test)]
mod tests;
