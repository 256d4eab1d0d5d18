//! The words that the cluster or the kubeconfig knows, for completion; each with a line about it.

use clap::Parser as _;
use kube::api::{Api, DynamicObject, ListParams};
use serde_json::Value;

use crate::args::Arguments;
use crate::args::connection::Connection;
use crate::cluster::{Cluster, Deployment, FLAVOURS, resource};
use crate::completion::{Kind, Line};
use crate::failure::Failure;
use crate::history::revisions;
use crate::reach::kubeconfig::{self, Part};
use crate::{containers, goal, name};

type Candidate = (String, String);

/// What a line may continue with.
pub(crate) async fn candidates(line: &Line, kind: Kind) -> Result<Vec<Candidate>, Failure> {
    // With a verb that needs no name.
    let words = ["kubectl-rollwright", "list"].into_iter().chain(line.connection.iter().map(String::as_str));
    let arguments = Arguments::try_parse_from(words).map_err(|error| Failure::Usage(error.to_string()))?;
    let connection = &arguments.connection;
    match kind {
        Kind::Context => of_kubeconfig(connection, Part::Context),
        Kind::Cluster => of_kubeconfig(connection, Part::Cluster),
        Kind::User => of_kubeconfig(connection, Part::User),
        Kind::Namespace => namespaces(&Cluster::connect(connection).await?).await,
        Kind::Deployment => deployments(&Cluster::connect(connection).await?, &line.names).await,
        Kind::Image | Kind::Container | Kind::Revision | Kind::Step => {
            let cluster = Cluster::connect(connection).await?;
            let first = line.names.get(..1).unwrap_or_default();
            let deployment = cluster.find(&name::parse(first)?).await?;
            of_deployment(&cluster, &deployment, kind).await
        }
    }
}

fn of_kubeconfig(connection: &Connection, part: Part) -> Result<Vec<Candidate>, Failure> {
    let source = kubeconfig::read(connection.kubeconfig.as_deref())?;
    Ok(source.names(part).into_iter().map(|name| (name.to_owned(), String::new())).collect())
}

async fn namespaces(cluster: &Cluster) -> Result<Vec<Candidate>, Failure> {
    let kind = resource("v1", "Namespace", "namespaces");
    let api: Api<DynamicObject> = Api::all_with(cluster.client.clone(), &kind);
    let all = api.list(&ListParams::default()).await?;
    Ok(all.items.into_iter().filter_map(|one| Some((one.metadata.name?, String::new()))).collect())
}

/// The names of all Deployments that are not on the line yet; of both APIs with their group where both have it.
async fn deployments(cluster: &Cluster, given: &[String]) -> Result<Vec<Candidate>, Failure> {
    let mut names: Vec<Candidate> = Vec::new();
    for flavour in FLAVOURS {
        for deployment in cluster.list(Some(flavour), None, false).await.unwrap_or_default() {
            let full = deployment.full_name();
            let is_taken = names.iter().any(|(name, _)| name == deployment.name());
            let name = if is_taken { full.clone() } else { deployment.name().to_owned() };
            names.push((name, full));
        }
    }
    names.retain(|(name, full)| !given.contains(name) && !given.contains(full));
    Ok(names)
}

async fn of_deployment(
    cluster: &Cluster,
    deployment: &Deployment,
    kind: Kind,
) -> Result<Vec<Candidate>, Failure> {
    Ok(match kind {
        Kind::Revision => {
            let all = revisions(cluster.sets_of(deployment).await?);
            all.iter().map(|one| (one.number.to_string(), one.images())).collect()
        }
        Kind::Step => steps(deployment),
        _ => {
            let suffix = if kind == Kind::Image { "=" } else { "" };
            let image =
                |body: &Value| body.get("image").and_then(Value::as_str).unwrap_or_default().to_owned();
            let all = containers::all(&deployment.body);
            all.iter().map(|one| (format!("{}{suffix}", one.name), image(one.body))).collect()
        }
    })
}

/// The sizes of the listed steps, and the word for the end.
fn steps(deployment: &Deployment) -> Vec<Candidate> {
    let steps = deployment.workload().map(|workload| workload.steps).unwrap_or_default();
    let listed = steps.iter().map(|step| step.updated.to_string());
    let mut all: Vec<Candidate> = Vec::new();
    for name in listed.chain([goal::ALL.to_owned()]) {
        if !all.iter().any(|(known, _)| *known == name) {
            all.push((name, String::new()));
        }
    }
    all
}
