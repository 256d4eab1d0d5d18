//! A namespace as a scenario sees it: Deployments of one flavour, their sets, pods and events.

use std::time::Duration;

use cluster::{NotYet, Tool, wait_for};
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use plan::Flavour;
use serde_json::{Value, json};

/// Other scenarios and perhaps a compiler share the machine.
pub(crate) const SOON: Duration = Duration::from_secs(60);

pub(crate) struct Bench {
    pub(crate) flavour: Flavour,
    pub(crate) client: Client,
    pub(crate) kubectl: Tool,
    pub(crate) namespace: String,
}

/// A Deployment of the pods `app=web`, to be refined by the scenario.
pub(crate) fn deployment(name: &str, replicas: u32, image: &str) -> Value {
    json!({
        "kind": "Deployment",
        "metadata": { "name": name },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": "web" } },
            "template": template(image),
        },
    })
}

/// The template of [`deployment`].
pub(crate) fn template(image: &str) -> Value {
    json!({
        "metadata": { "labels": { "app": "web" } },
        "spec": { "containers": [{ "name": "web", "image": image }] },
    })
}

/// Merge patch that changes the template to this image; lists are replaced as a whole.
pub(crate) fn image_patch(image: &str) -> Value {
    json!({ "spec": { "template": { "spec": { "containers": [{ "name": "web", "image": image }] } } } })
}

pub(crate) fn is_ours(flavour: Flavour) -> bool {
    flavour == Flavour::Rollwright
}

impl Bench {
    pub(crate) fn deployments(&self) -> Api<DynamicObject> {
        let (group, version) = self.flavour.api_version().split_once('/').unwrap();
        let resource = ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version: self.flavour.api_version().to_owned(),
            kind: "Deployment".to_owned(),
            plural: "deployments".to_owned(),
        };
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    pub(crate) fn sets(&self) -> Api<ReplicaSet> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    fn object(&self, mut manifest: Value) -> DynamicObject {
        manifest["apiVersion"] = self.flavour.api_version().into();
        serde_json::from_value(manifest).unwrap()
    }

    /// Creates a Deployment and returns its uid.
    pub(crate) async fn create(&self, manifest: Value) -> String {
        let created = self.deployments().create(&PostParams::default(), &self.object(manifest)).await.unwrap();
        created.metadata.uid.unwrap()
    }

    /// A Deployment as the server would store it.
    pub(crate) async fn dry_run(&self, manifest: Value) -> Value {
        let params = PostParams { dry_run: true, ..PostParams::default() };
        self.deployments().create(&params, &self.object(manifest)).await.unwrap().data
    }

    /// Creates a ReplicaSet and returns its uid.
    pub(crate) async fn create_set(&self, manifest: Value) -> String {
        let set: ReplicaSet = serde_json::from_value(manifest).unwrap();
        self.sets().create(&PostParams::default(), &set).await.unwrap().metadata.uid.unwrap()
    }

    pub(crate) async fn patch(&self, name: &str, patch: &Value) {
        self.deployments().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    pub(crate) async fn patch_set(&self, name: &str, patch: &Value) {
        self.sets().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    pub(crate) async fn set_image(&self, name: &str, image: &str) {
        self.patch(name, &image_patch(image)).await;
    }

    pub(crate) async fn delete(&self, name: &str, params: &DeleteParams) {
        let _ = self.deployments().delete(name, params).await.unwrap();
    }

    /// A Deployment; `NotYet` when it is gone.
    pub(crate) async fn get(&self, name: &str) -> Result<Value, NotYet> {
        Ok(serde_json::to_value(self.deployments().get(name).await?)?)
    }

    /// All sets of the namespace, oldest first.
    pub(crate) async fn all_sets(&self) -> Result<Vec<ReplicaSet>, NotYet> {
        let mut sets = self.sets().list(&ListParams::default()).await?.items;
        sets.sort_by_key(|set| (set.metadata.creation_timestamp.clone(), set.metadata.name.clone()));
        Ok(sets)
    }

    /// The sets that this uid controls, oldest first.
    pub(crate) async fn sets_of(&self, uid: &str) -> Result<Vec<ReplicaSet>, NotYet> {
        let mut sets = self.all_sets().await?;
        sets.retain(|set| controller_uid(set) == Some(uid));
        Ok(sets)
    }

    /// uids of the pods that are not terminating and that sets with these uids control, sorted.
    pub(crate) async fn pods_of(&self, sets: &[&str]) -> Vec<String> {
        let pods = self.pods().list(&ListParams::default()).await.unwrap().items;
        let living = pods.into_iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
        let owned = living.filter(|pod| {
            let owners = pod.metadata.owner_references.iter().flatten();
            owners.filter(|owner| owner.controller == Some(true)).any(|owner| sets.contains(&owner.uid.as_str()))
        });
        let mut uids: Vec<String> = owned.filter_map(|pod| pod.metadata.uid).collect();
        uids.sort();
        uids
    }

    /// Waits until all pods of a set are ready.
    pub(crate) async fn until_set_ready(&self, name: &str, count: i32) {
        wait_for(&format!("{count} ready pods of {name}"), SOON, async || {
            let status = self.sets().get(name).await?.status.unwrap_or_default();
            let ready = status.ready_replicas.unwrap_or_default();
            check(ready == count && status.replicas == count, || format!("{ready} of {}", status.replicas))
        })
        .await
        .unwrap();
    }

    /// Waits until the rollout of the newest template is complete (S9.10) and returns the object.
    pub(crate) async fn until_complete(&self, name: &str) -> Value {
        wait_for(&format!("{name} being complete"), SOON, async || {
            let object = self.get(name).await?;
            let replicas = &object["spec"]["replicas"];
            let status = &object["status"];
            let counts = ["replicas", "updatedReplicas", "availableReplicas"];
            let complete = object["metadata"]["generation"] == status["observedGeneration"]
                && counts.iter().all(|count| status[count].as_i64().unwrap_or(0) == replicas.as_i64().unwrap_or(0));
            check(complete, || status.to_string())?;
            Ok(object)
        })
        .await
        .unwrap()
    }

    /// Waits until a condition has this status and reason, and returns it.
    pub(crate) async fn until_condition(&self, name: &str, kind: &str, status: &str, reason: &str) -> Value {
        wait_for(&format!("{kind}={status} {reason} of {name}"), SOON, async || {
            let object = self.get(name).await?;
            let found = condition(&object, kind);
            let matches = found["status"] == status && found["reason"] == reason;
            check(matches, || object["status"].to_string())?;
            Ok(found)
        })
        .await
        .unwrap()
    }

    /// Waits until an event of this reason is there, and returns its message.
    pub(crate) async fn until_event(&self, name: &str, reason: &str) -> String {
        let events: Api<Event> = Api::namespaced(self.client.clone(), &self.namespace);
        let params = ListParams::default().fields(&format!("involvedObject.name={name},reason={reason}"));
        wait_for(&format!("an event {reason} of {name}"), SOON, async || {
            let found = events.list(&params).await?.items.pop();
            found.and_then(|event| event.message).ok_or_else(|| NotYet("no such event".to_owned()))
        })
        .await
        .unwrap()
    }

    /// Waits until something is true of the sets of an owner.
    pub(crate) async fn until_sets(
        &self,
        what: &str,
        uid: &str,
        is_met: impl Fn(&[ReplicaSet]) -> bool,
    ) -> Vec<ReplicaSet> {
        wait_for(what, SOON, async || {
            let sets = self.sets_of(uid).await?;
            check(is_met(&sets), || describe(&sets))?;
            Ok(sets)
        })
        .await
        .unwrap()
    }
}

/// For looks inside [`wait_for`].
pub(crate) fn check(is_met: bool, seen: impl FnOnce() -> String) -> Result<(), NotYet> {
    if is_met { Ok(()) } else { Err(NotYet(seen())) }
}

/// A condition of a Deployment; null when it has none of that type.
pub(crate) fn condition(object: &Value, kind: &str) -> Value {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().find(|entry| entry["type"] == kind).cloned().unwrap_or_default()
}

/// Names and sizes, for messages.
pub(crate) fn describe(sets: &[ReplicaSet]) -> String {
    let lines = sets.iter().map(|set| format!("{} {} {}", name_of(set), image_of(set), size_of(set)));
    lines.collect::<Vec<_>>().join(", ")
}

pub(crate) fn name_of(set: &ReplicaSet) -> &str {
    set.metadata.name.as_deref().unwrap()
}

pub(crate) fn uid_of(set: &ReplicaSet) -> &str {
    set.metadata.uid.as_deref().unwrap()
}

pub(crate) fn size_of(set: &ReplicaSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.replicas).unwrap()
}

pub(crate) fn image_of(set: &ReplicaSet) -> &str {
    let template = set.spec.as_ref().and_then(|spec| spec.template.as_ref());
    let containers = template.and_then(|template| template.spec.as_ref()).map(|spec| &spec.containers);
    containers.and_then(|containers| containers.first()).and_then(|first| first.image.as_deref()).unwrap()
}

pub(crate) fn annotation_of<'a>(set: &'a ReplicaSet, key: &str) -> Option<&'a str> {
    set.metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

pub(crate) fn label_of<'a>(set: &'a ReplicaSet, key: &str) -> Option<&'a str> {
    set.metadata.labels.as_ref()?.get(key).map(String::as_str)
}

pub(crate) fn controller_uid(set: &ReplicaSet) -> Option<&str> {
    let owners = set.metadata.owner_references.iter().flatten();
    owners.filter(|owner| owner.controller == Some(true)).map(|owner| owner.uid.as_str()).next()
}
