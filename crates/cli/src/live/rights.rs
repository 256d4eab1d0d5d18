//! What the user may do, as the API server reports it.

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::Api;
use kube::api::PostParams;

use crate::cluster::{Cluster, Deployment};

/// Whether the user may patch the Deployment, which is what every key does; `None` if the server does not answer.
pub(super) async fn may_patch(cluster: &Cluster, deployment: &Deployment) -> Option<bool> {
    let group = deployment.flavour.api_version().split('/').next().map(str::to_owned);
    let attributes = ResourceAttributes {
        group,
        resource: Some("deployments".to_owned()),
        verb: Some("patch".to_owned()),
        namespace: Some(deployment.namespace().to_owned()),
        name: Some(deployment.name().to_owned()),
        ..ResourceAttributes::default()
    };
    let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
    let review = SelfSubjectAccessReview { spec, ..Default::default() };
    let reviews: Api<SelfSubjectAccessReview> = Api::all(cluster.client.clone());
    let reviewed = reviews.create(&PostParams::default(), &review).await.ok()?;
    Some(reviewed.status?.allowed)
}
