//! `plan`: the rollout that would come, step by step; nothing is touched.

use plan::Why;
use serde_json::{Value, json};

use crate::apply::applied;
use crate::args::PlanArguments;
use crate::args::connection::Connection;
use crate::cluster::{Cluster, Deployment};
use crate::code::Code;
use crate::failure::Failure;
use crate::manifests;
use crate::migrate::unfinished;
use crate::name;
use crate::output::{document, print};
use crate::projection::{Projection, Row, Stop, project};
use crate::requests;
use crate::table::{counted, table};
use crate::terminal::tell;
use crate::verbs::subject::find;

pub(crate) async fn plan(connection: &Connection, arguments: &PlanArguments) -> Result<Code, Failure> {
    let named = if arguments.files.is_empty() { name::parse_several(&arguments.words)? } else { Vec::new() };
    let objects = arguments.files.iter().map(|file| manifests::read(file, "Deployment"));
    let objects = objects.collect::<Result<Vec<_>, _>>()?.concat();
    let cluster = Cluster::connect(connection).await?;
    let mut wanted = Vec::new();
    let mut code = Code::Done;
    for one in &named {
        match find(&cluster, one).await {
            Err(failure) if named.len() > 1 => {
                tell(&format!("error: {failure}"));
                code = Code::Failed;
            }
            found => wanted.push(found?),
        }
    }
    for object in objects {
        // As it would be after `kubectl apply`, with the server's defaults and objections.
        wanted.push(applied(&cluster, &object, true).await?);
    }
    let mut documents = Vec::new();
    let mut names = Vec::new();
    for deployment in &wanted {
        let projection = projected(&cluster, deployment).await?;
        names.push(deployment.full_name());
        if arguments.output.format.is_some() {
            documents.push(for_programs(deployment, &projection));
        } else {
            print(&for_people(deployment, &projection))?;
        }
    }
    if let Some(format) = &arguments.output.format {
        document(format, &json!({ "items": documents }), &names)?;
    }
    Ok(code)
}

/// The rollout of a Deployment, as it is or as it would be.
pub(crate) async fn projected(cluster: &Cluster, deployment: &Deployment) -> Result<Projection, Failure> {
    unfinished::none(deployment)?;
    let sets = cluster.selected(&cluster.sets(), deployment).await?;
    let named = |problem| Failure::Rollout(format!("{}: {problem}", deployment.full_name()));
    project(deployment, &sets, jiff::Timestamp::now()).map_err(named)
}

/// Names and revisions of all ReplicaSets that any step shows.
fn columns(projection: &Projection) -> Vec<(i64, String)> {
    let mut columns: Vec<(i64, String)> = Vec::new();
    for (name, revision, size) in projection.rows.iter().flat_map(|row| &row.sizes) {
        let is_known = columns.iter().any(|(_, known)| known == name);
        let has_pods = *size > 0;
        if !is_known && has_pods {
            columns.push((*revision, name.clone()));
        }
    }
    columns.sort();
    columns
}

fn size_in(row: &Row, name: &str) -> i64 {
    row.sizes.iter().find(|(known, ..)| known == name).map_or(0, |(_, _, size)| *size)
}

fn for_people(deployment: &Deployment, projection: &Projection) -> String {
    let columns = columns(projection);
    let mut heading = vec!["STEP".to_owned()];
    heading.extend(columns.iter().map(|(_, name)| name.to_uppercase()));
    heading.extend(["PODS AT MOST".to_owned(), "AVAILABLE AT LEAST".to_owned()]);
    let has_stops = projection.rows.iter().any(|row| !row.stops.is_empty());
    heading.extend(has_stops.then(|| "REACHED".to_owned()));
    let mut lines = vec![heading];
    for (step, row) in projection.rows.iter().enumerate() {
        let mut line = vec![if step == 0 { "now".to_owned() } else { step.to_string() }];
        line.extend(columns.iter().map(|(_, name)| size_in(row, name).to_string()));
        line.extend([row.pods.to_string(), row.available.to_string()]);
        let stops: Vec<String> = row.stops.iter().map(Stop::to_string).collect();
        line.extend(has_stops.then(|| stops.join("; ")));
        lines.push(line);
    }
    format!("{}\n{}{}\n\n", deployment.full_name(), table(&lines), summary(deployment, projection))
}

/// How many steps there are, what holds meanwhile, and the end.
pub(crate) fn summary(deployment: &Deployment, projection: &Projection) -> String {
    let steps = projection.rows.len() - 1;
    let summary = if steps == 0 {
        "no step to take".to_owned()
    } else {
        format!(
            "{}; at least {} available (limit {}), at most {} (limit {})",
            counted(steps, "step"),
            projection.lowest(),
            projection.floor,
            counted(projection.highest(), "pod"),
            projection.ceiling
        )
    };
    format!("{summary}; then: {}", end(deployment, projection))
}

/// The end, with the command that leads out of a pause, or out of a hold after a restart.
fn end(deployment: &Deployment, projection: &Projection) -> String {
    let waits = projection.end.itself() == &Why::Paused || requests::is_held(deployment);
    let more = waits.then(|| format!("; to go on: {}", deployment.command("resume")));
    format!("{}{}", projection.end, more.unwrap_or_default())
}

fn for_programs(deployment: &Deployment, projection: &Projection) -> Value {
    let set = |(name, revision, size): &(String, i64, i64)| json!({"replicaSet": name, "revision": revision, "replicas": size});
    let row = |row: &Row| {
        let sets: Vec<Value> = row.sizes.iter().map(set).collect();
        let stops: Vec<Value> = row.stops.iter().map(Stop::document).collect();
        json!({"replicaSets": sets, "pods": row.pods, "available": row.available, "reached": stops})
    };
    let rows: Vec<Value> = projection.rows.iter().map(row).collect();
    json!({
        "name": deployment.full_name(),
        "steps": rows,
        "lowestAvailable": projection.lowest(),
        "minAvailable": projection.floor,
        "highestPods": projection.highest(),
        "maxPods": projection.ceiling,
        "end": end(deployment, projection),
    })
}
