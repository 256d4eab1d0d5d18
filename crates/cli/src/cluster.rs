//! The cluster, as far as a verb needs it.

use diagnosis::controller_of;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::Client;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, Preconditions,
    PropagationPolicy,
};
use plan::Flavour;
use serde_json::Value;

use crate::args::connection::Connection;
use crate::args::writing::{DryRun, Writing};
pub(crate) use crate::deployment::{Deployment, FLAVOURS, Place, kind_and_group};
use crate::failure::Failure;
use crate::migrate::unfinished;
use crate::name::Named;
use crate::reach::contact::Contact;
use crate::reach::{self, Reached};

/// What to do about rollwright.dev's name when the object is of the other one.
const HINT: &str = "; list shows what there is";
/// The same where there can be no Rollwright Deployment.
const UNSERVED: &str = " of apps/v1, and the API server does not know rollwright.dev/v1: to install the definition, \
                        kubectl apply --server-side -f crds/";

/// A connection and the namespace in which names are looked up.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    /// Which server, and by what it was chosen.
    server: String,
    contact: Contact,
}

/// What the server sent, whole.
pub(crate) fn body(object: DynamicObject) -> Value {
    // Serialising what was just parsed does not fail.
    serde_json::to_value(object).unwrap_or_default()
}

/// A resource by its group and version, kind and plural.
pub(crate) fn resource(api_version: &str, kind: &str, plural: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}

impl Cluster {
    /// Connects as kubectl would.
    pub(crate) async fn connect(connection: &Connection) -> Result<Self, Failure> {
        let Reached { client, namespace, server, contact } = reach::reach(connection).await?;
        Ok(Self { client, namespace, server, contact })
    }

    /// A cluster that a client leads to already.
    pub(crate) fn of(client: Client, namespace: &str) -> Self {
        let server = "the API server".to_owned();
        Self { client, namespace: namespace.to_owned(), server, contact: Contact::default() }
    }

    /// What to print when the time is over before the first answer.
    pub(crate) fn unanswered(&self) -> String {
        format!("{} has not answered", self.server)
    }

    /// What to print when the time of a wait is over and the server serves nothing; `None` if it does.
    pub(crate) fn lost(&self) -> Option<String> {
        let lost = self.contact.lost_for()?.as_secs();
        let server = &self.server;
        Some(format!("{server} has served no request for {lost}s, so how the rollout stands is unknown"))
    }

    /// What a command waits for that waits for nothing else.
    pub(crate) fn answer(&self) -> String {
        format!("an answer of {}", self.server)
    }

    /// Objects of the namespace.
    fn objects(&self, api_version: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
        let resource = resource(api_version, kind, plural);
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    pub(crate) fn deployments(&self, flavour: Flavour) -> Api<DynamicObject> {
        self.deployments_of(flavour, false)
    }

    /// Those of the namespace, or of all.
    pub(crate) fn deployments_of(&self, flavour: Flavour, all_namespaces: bool) -> Api<DynamicObject> {
        let resource = resource(flavour.api_version(), "Deployment", "deployments");
        if all_namespaces {
            Api::all_with(self.client.clone(), &resource)
        } else {
            Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
        }
    }

    pub(crate) fn sets(&self) -> Api<DynamicObject> {
        self.objects("apps/v1", "ReplicaSet", "replicasets")
    }

    pub(crate) fn pods(&self) -> Api<DynamicObject> {
        self.objects("v1", "Pod", "pods")
    }

    pub(crate) fn controllers(&self) -> Api<DynamicObject> {
        self.objects("v1", "ReplicationController", "replicationcontrollers")
    }

    pub(crate) fn events(&self) -> Api<DynamicObject> {
        self.objects("v1", "Event", "events")
    }

    pub(crate) fn budgets(&self) -> Api<DynamicObject> {
        self.objects("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")
    }

    pub(crate) fn scalers(&self) -> Api<DynamicObject> {
        self.objects("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
    }

    /// Secrets, or ConfigMaps.
    pub(crate) fn data(&self, is_secret: bool) -> Api<DynamicObject> {
        let (kind, plural) = if is_secret { ("Secret", "secrets") } else { ("ConfigMap", "configmaps") };
        self.objects("v1", kind, plural)
    }

    /// Whether the user may do this to objects of the namespace, or to the one of this name.
    pub(crate) async fn may(
        &self,
        verb: &str,
        (group, plural): (&str, &str),
        name: Option<&str>,
    ) -> Result<bool, Failure> {
        let text = |text: &str| Some(text.to_owned());
        let attributes = ResourceAttributes {
            group: text(group),
            resource: text(plural),
            verb: text(verb),
            namespace: text(&self.namespace),
            name: name.map(str::to_owned),
            ..ResourceAttributes::default()
        };
        let spec =
            SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
        let review = SelfSubjectAccessReview { spec, ..Default::default() };
        let reviews: Api<SelfSubjectAccessReview> = Api::all(self.client.clone());
        let reviewed = reviews.create(&PostParams::default(), &review).await?;
        Ok(reviewed.status.is_some_and(|status| status.allowed))
    }

    /// A Deployment, if it is there and its kind is served.
    pub(crate) async fn look(&self, flavour: Flavour, name: &str) -> Result<Option<Deployment>, Failure> {
        match self.deployments(flavour).get_opt(name).await {
            Ok(found) => Ok(found.map(|object| Deployment { flavour, body: body(object) })),
            // The kind is not served: the server reports it without a reason that the client knows.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The Deployment that was named; both APIs are asked unless one was named.
    pub(crate) async fn find(&self, named: &Named) -> Result<Deployment, Failure> {
        if let Some(flavour) = named.flavour {
            return match self.look(flavour, &named.name).await? {
                Some(found) => Ok(found),
                None => Err(self.missing_of(named).await),
            };
        }
        let ours = match self.look(Flavour::Rollwright, &named.name).await {
            // For the other API, the same server would let the user wait once more.
            Err(failure @ Failure::Unserved(_)) => return Err(failure),
            ours => ours,
        };
        let apps = self.look(Flavour::AppsV1, &named.name).await;
        match (ours, apps) {
            (Ok(Some(ours)), Ok(Some(apps))) => {
                unfinished::none(&ours)?;
                unfinished::none(&apps)?;
                Err(Failure::Ambiguous { name: named.name.clone(), namespace: self.namespace.clone() })
            }
            // Who may see one of them only need not name it.
            (Ok(Some(found)), _) | (_, Ok(Some(found))) => Ok(found),
            (Err(error), _) | (_, Err(error)) => Err(error),
            (Ok(None), Ok(None)) => Err(self.missing_of(named).await),
        }
    }

    /// Why there is no such Deployment: perhaps nobody has installed the definition.
    async fn missing_of(&self, named: &Named) -> Failure {
        if named.flavour == Some(Flavour::AppsV1) || self.serves(Flavour::Rollwright).await.unwrap_or(true) {
            return self.not_found(&named.name);
        }
        if named.flavour.is_some() {
            return self.without_definition();
        }
        let (name, namespace) = (named.name.clone(), self.namespace.clone());
        Failure::NotFound { name, namespace, hint: UNSERVED.to_owned() }
    }

    /// Whether the server knows an API.
    pub(crate) async fn serves(&self, flavour: Flavour) -> Result<bool, Failure> {
        match self.client.list_api_group_resources(flavour.api_version()).await {
            Ok(list) => Ok(list.resources.iter().any(|resource| resource.name == "deployments")),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The failure of a request about a Rollwright Deployment where their definition is not installed.
    pub(crate) fn without_definition(&self) -> Failure {
        Failure::Missing(
            "the API server does not know rollwright.dev/v1: install the definition first, kubectl apply \
             --server-side -f crds/, or with the chart"
                .to_owned(),
        )
    }

    /// The failure of a name that neither API has, or the API that was named.
    pub(crate) fn not_found(&self, name: &str) -> Failure {
        Failure::NotFound { name: name.to_owned(), namespace: self.namespace.clone(), hint: HINT.to_owned() }
    }

    /// The same Deployment as it is now.
    pub(crate) async fn read_again(&self, deployment: &Deployment) -> Result<Deployment, Failure> {
        let named = Named { flavour: Some(deployment.flavour), name: deployment.name().to_owned() };
        self.find(&named).await
    }

    /// All Deployments that match, of one API or of both; none of an API that is not served.
    pub(crate) async fn list(
        &self,
        only: Option<Flavour>,
        selector: Option<&str>,
        all_namespaces: bool,
    ) -> Result<Vec<Deployment>, Failure> {
        let mut found = Vec::new();
        for flavour in FLAVOURS.into_iter().filter(|flavour| only.is_none_or(|only| only == *flavour)) {
            let api = self.deployments_of(flavour, all_namespaces);
            let params = ListParams { label_selector: selector.map(str::to_owned), ..ListParams::default() };
            match api.list(&params).await {
                Ok(list) => {
                    let all = list.items.into_iter();
                    found.extend(all.map(|object| Deployment { flavour, body: body(object) }));
                }
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(found)
    }

    /// The ReplicaSets of a Deployment.
    pub(crate) async fn sets_of(&self, deployment: &Deployment) -> Result<Vec<Value>, Failure> {
        self.owned_by(&self.sets(), deployment, deployment.text("/metadata/uid")).await
    }

    /// Objects that the Deployment's selector finds and that belong to this owner.
    pub(crate) async fn owned_by(
        &self,
        api: &Api<DynamicObject>,
        deployment: &Deployment,
        owner: &str,
    ) -> Result<Vec<Value>, Failure> {
        let objects = self.selected(api, deployment).await?;
        Ok(objects.into_iter().filter(|object| controller_of(object) == Some(owner)).collect())
    }

    /// Objects that the Deployment's selector finds.
    pub(crate) async fn selected(
        &self,
        api: &Api<DynamicObject>,
        deployment: &Deployment,
    ) -> Result<Vec<Value>, Failure> {
        let selector = label_selector(&deployment.body);
        let list = api.list(&ListParams::default().labels(&selector)).await?;
        Ok(list.items.into_iter().map(body).collect())
    }

    /// Patches a Deployment, unless a migration is about to.
    pub(crate) async fn patch(
        &self,
        deployment: &Deployment,
        patch: &Patch<Value>,
        writing: &Writing,
    ) -> Result<Deployment, Failure> {
        unfinished::none(deployment)?;
        let params = PatchParams {
            dry_run: writing.dry_run == DryRun::Server,
            field_manager: Some(writing.field_manager.clone()),
            ..PatchParams::default()
        };
        let patched = self.deployments(deployment.flavour).patch(deployment.name(), &params, patch).await?;
        Ok(Deployment { flavour: deployment.flavour, body: body(patched) })
    }
}

/// Deletes just this version of an object, and leaves what it owns.
pub(crate) fn orphaning(uid: &str, version: &str) -> DeleteParams {
    DeleteParams {
        propagation_policy: Some(PropagationPolicy::Orphan),
        preconditions: Some(Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: Some(version.to_owned()),
        }),
        ..DeleteParams::default()
    }
}

/// The selector of a Deployment as a query; that of its template where a Rollwright Deployment has none.
pub(crate) fn label_selector(deployment: &Value) -> String {
    let labels = |path: &str| deployment.pointer(path).and_then(Value::as_object);
    let mut terms = Vec::new();
    let selector = deployment.pointer("/spec/selector").filter(|selector| !selector.is_null());
    let equal = labels(if selector.is_some() {
        "/spec/selector/matchLabels"
    } else {
        "/spec/template/metadata/labels"
    });
    for (key, value) in equal.into_iter().flatten() {
        terms.push(format!("{key}={}", value.as_str().unwrap_or_default()));
    }
    let expressions = deployment.pointer("/spec/selector/matchExpressions").and_then(Value::as_array);
    terms.extend(expressions.into_iter().flatten().filter_map(expression));
    terms.join(",")
}

fn expression(expression: &Value) -> Option<String> {
    let key = expression.get("key")?.as_str()?;
    let values = expression.get("values").and_then(Value::as_array);
    let values: Vec<&str> = values.into_iter().flatten().filter_map(Value::as_str).collect();
    match expression.get("operator")?.as_str()? {
        "In" => Some(format!("{key} in ({})", values.join(","))),
        "NotIn" => Some(format!("{key} notin ({})", values.join(","))),
        "Exists" => Some(key.to_owned()),
        "DoesNotExist" => Some(format!("!{key}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_selector_becomes_a_query() {
        let deployment = json!({"spec": {
            "selector": {
                "matchLabels": {"app": "web"},
                "matchExpressions": [
                    {"key": "tier", "operator": "In", "values": ["a", "b"]},
                    {"key": "old", "operator": "DoesNotExist"},
                ],
            },
            "template": {"metadata": {"labels": {"app": "web", "x": "y"}}},
        }});
        assert_eq!(label_selector(&deployment), "app=web,tier in (a,b),!old");
        let without = json!({"spec": {"template": {"metadata": {"labels": {"app": "web"}}}}});
        assert_eq!(label_selector(&without), "app=web");
    }
}
