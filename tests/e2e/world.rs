//! What a scenario gets: a namespace of its own and everything to act in it.

use std::sync::Arc;
use std::time::Duration;

use cluster::{NotYet, Tool, User, wait_for};
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{Event as CoreEvent, Pod};
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome, until};
use crate::flavour::Flavour;
use crate::manifest::{Manifest, image_patch};
use crate::objects::{Deployment, Event, Set, summaries};
use crate::operator::Operator;
use crate::stage::{Controller, Stage};

/// How long things may take while two cores run a dozen scenarios, and compile something.
pub(crate) const SOON: Duration = Duration::from_secs(120);

/// A namespace on a control plane, seen through one API.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) stage: Arc<Stage>,
    pub(crate) controller: Controller,
    pub(crate) flavour: Flavour,
    pub(crate) namespace: String,
    /// kubectl as an administrator, in the namespace.
    pub(crate) kubectl: Tool,
}

impl World {
    /// A new namespace.
    pub(crate) async fn new(
        stage: Arc<Stage>,
        controller: Controller,
        flavour: Flavour,
        prefix: &str,
    ) -> Outcome<Self> {
        let namespace = stage.cluster.create_namespace(prefix).await?;
        let kubectl = stage.kubectl.in_namespace(&namespace);
        Ok(Self { stage, controller, flavour, namespace, kubectl })
    }

    /// The operator of the stage.
    pub(crate) fn operator(&self) -> Outcome<&Operator> {
        self.stage.operator(self.flavour).ok_or_else(|| Failure::new("there is no operator"))
    }

    /// The controller in charge, as the audit log names it.
    pub(crate) fn user(&self) -> &'static str {
        match self.controller {
            Controller::Operator => User::Operator.name(),
            Controller::Reference => "system:serviceaccount:kube-system:deployment-controller",
        }
    }

    pub(crate) fn client(&self) -> Client {
        self.stage.client.clone()
    }

    pub(crate) fn deployments(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.client(), &self.namespace, &self.flavour.api_resource())
    }

    pub(crate) fn set_api(&self) -> Api<ReplicaSet> {
        Api::namespaced(self.client(), &self.namespace)
    }

    pub(crate) fn pod_api(&self) -> Api<Pod> {
        Api::namespaced(self.client(), &self.namespace)
    }

    pub(crate) async fn create(&self, manifest: &Manifest) -> Outcome<Deployment> {
        let object = serde_json::from_value(manifest.json(self.flavour))?;
        let created = self.deployments().create(&PostParams::default(), &object).await?;
        Ok(Deployment::new(self.flavour, serde_json::to_value(created)?))
    }

    /// `kubectl apply` of a manifest.
    pub(crate) async fn apply(&self, manifest: &Manifest) -> Outcome<String> {
        Ok(self.kubectl.apply(&manifest.json(self.flavour).to_string()).await?)
    }

    /// Creates the Deployment of a manifest and waits until it is complete.
    pub(crate) async fn roll_out(&self, manifest: &Manifest) -> Outcome<Deployment> {
        self.create(manifest).await?;
        self.complete(manifest.name()).await
    }

    pub(crate) async fn get(&self, name: &str) -> Outcome<Deployment> {
        let object = self.deployments().get(name).await?;
        Ok(Deployment::new(self.flavour, serde_json::to_value(object)?))
    }

    /// Changes a Deployment by a merge patch.
    pub(crate) async fn patch(&self, name: &str, patch: &Value) -> Outcome {
        self.deployments().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    pub(crate) async fn set_image(&self, name: &str, image: &str) -> Outcome {
        self.patch(name, &image_patch(image)).await
    }

    /// The same, until it is complete.
    pub(crate) async fn update(&self, name: &str, image: &str) -> Outcome<Deployment> {
        self.set_image(name, image).await?;
        self.complete(name).await
    }

    pub(crate) async fn scale(&self, name: &str, replicas: i64) -> Outcome {
        self.patch(name, &json!({"spec": {"replicas": replicas}})).await
    }

    /// Asks for a rollback; 0 is the previous revision.
    pub(crate) async fn roll_back(&self, name: &str, revision: i64) -> Outcome {
        self.patch(name, &self.flavour.rollback_request(revision)).await
    }

    /// All ReplicaSets of the namespace, oldest first.
    pub(crate) async fn sets(&self) -> Outcome<Vec<Set>> {
        let list = self.set_api().list(&ListParams::default()).await?;
        let mut sets: Vec<Set> = list.items.into_iter().map(Set::from).collect();
        sets.sort_by(|a, b| (&a.created, &a.name).cmp(&(&b.created, &b.name)));
        Ok(sets)
    }

    /// The one ReplicaSet with this image.
    pub(crate) async fn set(&self, image: &str) -> Outcome<Set> {
        let sets = self.sets().await?;
        let mut found = sets.iter().filter(|set| set.image == image);
        match (found.next(), found.next()) {
            (Some(set), None) => Ok(set.clone()),
            _ => Err(Failure::new(format!("expected one set of {image}: {}", summaries(&sets)))),
        }
    }

    pub(crate) async fn pods(&self) -> Outcome<Vec<Pod>> {
        Ok(self.pod_api().list(&ListParams::default()).await?.items)
    }

    /// Waits until there are this many, those that end included.
    pub(crate) async fn wait_pods(&self, count: i64) -> Outcome {
        self.wait(&format!("{count} pods"), async || {
            let pods = self.pods().await.map_err(|failure| NotYet(failure.0))?;
            until(i64::try_from(pods.len()) == Ok(count), pods.len())
        })
        .await
    }

    /// The events about the Deployment, oldest first.
    pub(crate) async fn events(&self, name: &str) -> Outcome<Vec<Event>> {
        let selector = format!("involvedObject.kind=Deployment,involvedObject.name={name}");
        let events: Api<CoreEvent> = Api::namespaced(self.client(), &self.namespace);
        let mut list = events.list(&ListParams::default().fields(&selector)).await?.items;
        list.sort_by_key(|event| event.metadata.creation_timestamp.clone().map(|time| time.0));
        let event = |event: CoreEvent| Event {
            kind: event.type_.unwrap_or_default(),
            reason: event.reason.unwrap_or_default(),
            message: event.message.unwrap_or_default(),
            count: event.count.unwrap_or(1),
        };
        Ok(list.into_iter().map(event).collect())
    }

    /// Waits until `look` returns a value.
    pub(crate) async fn wait<T, F>(&self, what: &str, look: F) -> Outcome<T>
    where
        F: AsyncFnMut() -> Result<T, NotYet>,
    {
        Ok(wait_for(what, SOON, look).await?)
    }

    /// Waits until the Deployment is as it should be.
    pub(crate) async fn wait_until(
        &self,
        name: &str,
        what: &str,
        is_there: impl Fn(&Deployment) -> bool,
    ) -> Outcome<Deployment> {
        self.wait(what, async || {
            let object = self.deployments().get(name).await?;
            let deployment = Deployment::new(self.flavour, serde_json::to_value(object)?);
            until(is_there(&deployment), deployment.summary())?;
            Ok(deployment)
        })
        .await
    }

    /// Waits until the ReplicaSets of the namespace are as they should be.
    pub(crate) async fn wait_sets(&self, what: &str, is_there: impl Fn(&[Set]) -> bool) -> Outcome<Vec<Set>> {
        self.wait(what, async || {
            let sets = self.sets().await.map_err(|failure| NotYet(failure.0))?;
            until(is_there(&sets), summaries(&sets))?;
            Ok(sets)
        })
        .await
    }

    /// Waits until the ReplicaSets of these images have exactly these sizes.
    pub(crate) async fn wait_sizes(&self, sizes: &[(&str, i64)]) -> Outcome<Vec<Set>> {
        let what = format!("sets of the sizes {sizes:?}");
        let is_there = |sets: &[Set]| {
            let size = |image: &str| -> i64 {
                sets.iter().filter(|set| set.image == image).map(|set| set.size).sum()
            };
            sizes.iter().all(|(image, wanted)| size(image) == *wanted)
        };
        self.wait_sets(&what, is_there).await
    }

    /// Waits until the rollout is complete and the status reports that (S9.10, S9.11).
    pub(crate) async fn complete(&self, name: &str) -> Outcome<Deployment> {
        let done = ("True".to_owned(), "NewReplicaSetAvailable".to_owned());
        let is_there = |deployment: &Deployment| deployment.is_complete() && deployment.progressing() == done;
        self.wait_until(name, &format!("the rollout of {name} being complete"), is_there).await
    }

    /// Waits until the controller has seen the last change of the spec.
    pub(crate) async fn observed(&self, name: &str) -> Outcome<Deployment> {
        self.wait_until(name, "the last change being observed", Deployment::is_observed).await
    }

    /// Waits until there is an event with this reason and a message that contains `text`.
    pub(crate) async fn wait_event(&self, name: &str, reason: &str, text: &str) -> Outcome<Event> {
        self.wait(&format!("an event {reason} \"{text}\""), async || {
            let events = self.events(name).await.map_err(|failure| NotYet(failure.0))?;
            let found = events.iter().find(|event| event.reason == reason && event.message.contains(text));
            found.cloned().ok_or_else(|| NotYet(format!("{events:?}")))
        })
        .await
    }
}
