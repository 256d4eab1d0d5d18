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
use crate::output::{document, print};
use crate::pinned;
use crate::projection;
use crate::requests;
use crate::rollout;
use crate::signs::{self, PATIENCE};
use crate::terminal::clean;
use crate::unobserved::Unobserved;
use crate::verbs::subject::Subject;

const PAUSE: Duration = Duration::from_millis(300);

pub(crate) async fn why(subject: &Subject, arguments: &WhyArguments) -> Result<Code, Failure> {
    let deployment = observed(subject).await?;
    let diagnosis = read(&subject.cluster, &deployment).await?.diagnosis(&deployment, jiff::Timestamp::now());
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

/// What is read to explain a rollout.
#[derive(Debug, Default)]
pub(crate) struct Read {
    /// ReplicaSets that the selector finds.
    pub(crate) sets: Vec<Value>,
    /// Pods that the selector finds; `None` without permission to list them.
    pub(crate) pods: Option<Vec<Value>>,
    /// Warnings about pods of the namespace; `None` if they could not be listed.
    pub(crate) events: Option<Vec<Value>>,
    pub(crate) budgets: Vec<Value>,
    /// The state of the last change or request, if it has no outcome yet.
    pub(crate) unobserved: Option<Unobserved>,
}

/// Reads all of it.
pub(crate) async fn read(cluster: &Cluster, deployment: &Deployment) -> Result<Read, Failure> {
    let sets = cluster.selected(&cluster.sets(), deployment).await?;
    let pods = pods(cluster, deployment).await?;
    let warnings = ListParams::default().fields("involvedObject.kind=Pod,type=Warning");
    // The answer does not need them.
    let events =
        cluster.events().list(&warnings).await.map(|list| list.items.into_iter().map(body).collect());
    let budgets = cluster.budgets().list(&ListParams::default()).await.map(|list| list.items);
    let budgets = budgets.unwrap_or_default().into_iter().map(body).collect();
    let mut read = Read { sets, pods, events: events.ok(), budgets, unobserved: None };
    if requests::is_awaited(deployment, &revisions(read.owned(deployment))) {
        read.unobserved = Some(signs::unobserved(cluster, deployment).await);
    }
    Ok(read)
}

impl Read {
    /// The ReplicaSets of the Deployment.
    pub(crate) fn owned(&self, deployment: &Deployment) -> Vec<Value> {
        let uid = deployment.text("/metadata/uid");
        self.sets.iter().filter(|set| controller_of(set) == Some(uid)).cloned().collect()
    }

    /// What it shows.
    pub(crate) fn diagnosis(&self, deployment: &Deployment, now: jiff::Timestamp) -> Diagnosis {
        let pods = self.pods.as_deref().unwrap_or_default();
        let all = revisions(self.owned(deployment));
        let running = pinned::running(deployment, &all);
        let is_new = |pod: &&Value| running.is_some_and(|running| controller_of(pod) == Some(running.uid()));
        let new_pods: Vec<Value> = pods.iter().filter(is_new).cloned().collect();
        let time = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let overdue: Vec<Value> =
            pods.iter().filter(|pod| ::diagnosis::overdue(pod, &time)).cloned().collect();
        diagnose(&Facts {
            deployment,
            revisions: &all,
            running,
            new_pods: &new_pods,
            overdue: &overdue,
            events: self.events.as_deref().unwrap_or_default(),
            unread: Unread { pods: self.pods.is_none(), events: self.events.is_none() },
            budgets: &self.budgets,
            unobserved: self.unobserved,
            why: projection::why(deployment, &self.sets, pods, now),
            now,
        })
    }
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
