//! `why`: what a rollout waits for, what blocks it, and what to type next.

use std::time::Duration;

use api::StrategyType;
use diagnosis::controller_of;
use kube::api::ListParams;
use serde_json::Value;

use crate::args::WhyArguments;
use crate::cluster::{Cluster, Deployment, body};
use crate::code::Code;
use crate::diagnosis::{Diagnosis, Facts, Unread, Verdict, diagnose};
use crate::failure::Failure;
use crate::history::revisions;
use crate::output::{clean, document, print};
use crate::pinned;
use crate::projection;
use crate::requests;
use crate::rollout;
use crate::signs::{self, PATIENCE};
use crate::verbs::subject::Subject;

const PAUSE: Duration = Duration::from_millis(300);

pub(crate) async fn why(subject: &Subject, arguments: &WhyArguments) -> Result<Code, Failure> {
    let deployment = observed(subject).await?;
    let diagnosis = look(subject, &deployment).await?;
    let code = match diagnosis.verdict {
        Verdict::Complete => Code::Done,
        Verdict::Blocked => Code::Failed,
        Verdict::Waiting => Code::Unfinished,
        Verdict::Paused => Code::Paused,
    };
    let name = deployment.full_name();
    match &arguments.output.format {
        Some(format) => document(format, &diagnosis.document(&name, code.number()), &[name])?,
        None => print(&paragraph(&diagnosis))?,
    }
    Ok(code)
}

fn paragraph(diagnosis: &Diagnosis) -> String {
    let next = diagnosis.next.as_ref().map(|next| format!("\nNext: {next}\n")).unwrap_or_default();
    format!("{}\n{next}", clean(&diagnosis.text))
}

/// The Deployment, once its last change has been observed or some time has passed.
async fn observed(subject: &Subject) -> Result<Deployment, Failure> {
    let mut deployment = subject.deployment.clone();
    let since = tokio::time::Instant::now();
    while since.elapsed() < PATIENCE {
        if rollout::is_observed(&deployment.body) || rollout::is_queued(&deployment.body) {
            break;
        }
        tokio::time::sleep(PAUSE).await;
        deployment = subject.cluster.read_again(&deployment).await?;
    }
    Ok(deployment)
}

async fn look(subject: &Subject, deployment: &Deployment) -> Result<Diagnosis, Failure> {
    let cluster = &subject.cluster;
    let sets = cluster.selected(&cluster.sets(), deployment).await?;
    let uid = deployment.text("/metadata/uid");
    let owned: Vec<Value> = sets.iter().filter(|set| controller_of(set) == Some(uid)).cloned().collect();
    let read = pods(cluster, deployment).await?;
    let mut unread = Unread { pods: read.is_none(), ..Unread::default() };
    let pods = read.unwrap_or_default();
    let all = revisions(owned);
    let running = pinned::running(deployment, &all);
    let is_new = |pod: &&Value| running.is_some_and(|running| controller_of(pod) == Some(running.uid()));
    let new_pods: Vec<Value> = pods.iter().filter(is_new).cloned().collect();
    let now = jiff::Timestamp::now();
    let time = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let overdue: Vec<Value> = pods.iter().filter(|pod| ::diagnosis::overdue(pod, &time)).cloned().collect();
    let warnings = ListParams::default().fields("involvedObject.kind=Pod,type=Warning");
    // The answer does not need them.
    let events = cluster.events().list(&warnings).await.map(|list| list.items);
    unread.events = events.is_err();
    let budgets = cluster.budgets().list(&ListParams::default()).await.map(|list| list.items);
    let unobserved = if requests::is_awaited(deployment, &all) {
        Some(signs::unobserved(cluster, deployment).await)
    } else {
        None
    };
    Ok(diagnose(&Facts {
        deployment,
        revisions: &all,
        running,
        new_pods: &new_pods,
        overdue: &overdue,
        events: &events.unwrap_or_default().into_iter().map(body).collect::<Vec<_>>(),
        unread,
        budgets: &budgets.unwrap_or_default().into_iter().map(body).collect::<Vec<_>>(),
        unobserved,
        why: projection::why(deployment, &sets, &pods, now),
        now,
    }))
}

/// The pods of a Deployment; `None` without permission to list them, unless its strategy needs them.
async fn pods(cluster: &Cluster, deployment: &Deployment) -> Result<Option<Vec<Value>>, Failure> {
    let kind = deployment.spec().strategy.and_then(|strategy| strategy.kind);
    let is_recreate = kind == Some(StrategyType::Recreate);
    match cluster.selected(&cluster.pods(), deployment).await {
        Ok(pods) => Ok(Some(pods)),
        Err(Failure::Forbidden(_)) if !is_recreate => Ok(None),
        Err(failure) => Err(failure),
    }
}
