//! `migrate`: migrates a Deployment to rollwright.dev/v1 (or back) without restarting its pods.
//!
//! [`step::next`] decides from the present state; this module reads, writes, and waits.
//! docs/reference/migration-steps.md explains why the command can continue from every state in between.

pub(crate) mod facts;

mod checks;
mod dry_run;
mod preview;
mod pruned;
mod step;
#[cfg(test)]
mod tests;
pub(crate) mod unfinished;
mod write;

use std::time::Duration;

use clap::{Args, ValueEnum as _};
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams};
use plan::Flavour;
use serde_json::Value;

use crate::args::connection::Connection;
use crate::args::output::Output;
use crate::args::time::time;
use crate::args::writing::FIELD_MANAGER;
use crate::cluster::{Cluster, body, kind_and_group, orphaning};
use crate::code::Code;
use crate::deadline::Deadline;
use crate::failure::Failure;
use crate::migrate::checks::Neighbours;
use crate::migrate::facts::{Facts, HpaChoice};
use crate::migrate::step::Next;
use crate::migrate::unfinished::Unfinished;
use crate::migrate::write::{Change, Write};
use crate::output::{document, print};
use crate::stepwise::{Answer, Progress};
use crate::terminal::{stopped, tell};
use crate::{edits, name, stepwise};

/// `migrate`.
#[derive(Debug, Args)]
pub(crate) struct MigrateArguments {
    /// A Deployment: web, deploy/web, deployment.rollwright.dev/web or deployment.apps/web.
    #[arg(value_name = "NAME", required = true, num_args = 1..=2)]
    words: Vec<String>,
    /// Migrate it back to apps/v1, and remove every Rollwright mark.
    #[arg(long)]
    back: bool,
    /// Check everything and show the writes, without making them.
    #[arg(long)]
    dry_run: bool,
    /// What to do with HorizontalPodAutoscalers that scale it.
    #[arg(long, value_name = "WHAT")]
    hpa: Option<HpaChoice>,
    /// With --back: first let the declared revision roll out, although another one is pinned, or it failed; this
    /// removes spec.pin, or spec.failurePolicy and a request to abort, which apps/v1 does not have.
    #[arg(long, requires = "back")]
    accept_declared: bool,
    /// Total time for the migration, for example 90s or 5m; 0 for no limit.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "5m")]
    timeout: Duration,
    #[command(flatten)]
    output: Output,
}

pub(crate) async fn migrate(connection: &Connection, arguments: &MigrateArguments) -> Result<Code, Failure> {
    let named = name::parse(&arguments.words)?;
    let to = if arguments.back { Flavour::AppsV1 } else { Flavour::Rollwright };
    if named.flavour == Some(to) {
        let other = if arguments.back { "leave --back out" } else { "add --back for the way back" };
        return Err(Failure::Usage(format!(
            "{}/{} is where this leads; name deployment/{} or {other}",
            kind_and_group(to),
            named.name,
            named.name
        )));
    }
    let cluster = Cluster::connect(connection).await?;
    let deadline = Deadline::after(arguments.timeout);
    let migration = Migration { cluster, name: named.name, to, deadline, arguments };
    let Some(checked) = deadline.hold(migration.check()).await else {
        let awaited = migration.awaited(None);
        return Err(Failure::Late(format!("timed out waiting for {awaited}; nothing was changed")));
    };
    let (facts, neighbours) = checked?;
    for warning in checks::warnings(&facts, &neighbours) {
        tell(&format!("warning: {warning}"));
    }
    let problems = checks::problems(&facts, &neighbours);
    if !problems.is_empty() {
        let code = if neighbours.denied.is_empty() { Code::Failed } else { Code::NoAccess };
        return Err(Failure::Request { code, message: refusal(&facts, &problems) });
    }
    if arguments.dry_run {
        return dry_run::show(&facts, &arguments.output);
    }
    let is_begun = facts.target.as_ref().is_some_and(|target| facts::mark(target).is_some());
    migration.carry_out(is_begun).await
}

/// All that is in the way, and that nothing has happened.
fn refusal(facts: &Facts, problems: &[String]) -> String {
    let list: String = problems.iter().map(|problem| format!("\n  - {problem}")).collect();
    format!("{} is not migrated, and nothing was changed:{list}", facts.source_name())
}

/// A migration on its way.
struct Migration<'a> {
    cluster: Cluster,
    name: String,
    to: Flavour,
    deadline: Deadline,
    arguments: &'a MigrateArguments,
}

impl Migration<'_> {
    /// Makes all steps. `is_begun`: whether an earlier run of this command was cut.
    async fn carry_out(&self, is_begun: bool) -> Result<Code, Failure> {
        let mut progress = Progress::begin(Duration::ZERO, &self.arguments.output);
        let cut = tokio::select! {
            ended = self.deadline.hold(self.steps(&mut progress)) => match ended {
                Some(ended) => return ended,
                None => format!("timed out waiting for {}", self.awaited(progress.awaited())),
            },
            () = stopped() => "interrupted".to_owned(),
        };
        tell(&format!("error: {cut}; {}", self.left(is_begun || progress.has_tried)));
        Ok(Code::Unfinished)
    }

    /// All that shows whether the migration can begin.
    async fn check(&self) -> Result<(Facts, Neighbours), Failure> {
        let facts = self.read().await?;
        let neighbours = self.neighbours(&facts).await?;
        Ok((facts, neighbours))
    }

    /// What a migration that is cut leaves. The server may have carried out a request that it did not answer.
    fn left(&self, has_begun: bool) -> String {
        if has_begun { self.unfinished().line() } else { "nothing was changed".to_owned() }
    }

    /// This migration, with the flags that it needs.
    fn unfinished(&self) -> Unfinished {
        let MigrateArguments { hpa, accept_declared, .. } = self.arguments;
        let hpa = hpa.and_then(|choice| Some(format!(" --hpa={}", choice.to_possible_value()?.get_name())));
        let declared = if *accept_declared { " --accept-declared" } else { "" };
        let flags = format!("{}{declared}", hpa.unwrap_or_default());
        Unfinished::new(&self.name, &self.cluster.namespace, self.to, flags)
    }

    async fn steps(&self, progress: &mut Progress) -> Result<Code, Failure> {
        loop {
            let facts = self.read().await.map_err(|failure| self.interrupted(failure))?;
            match step::next(&facts) {
                Next::Write(write) => {
                    progress.has_tried = true;
                    match self.write(&write).await.map_err(|failure| self.interrupted(failure))? {
                        Answer::Done => progress.wrote(&write.says)?,
                        Answer::Stale(why) => {
                            progress.wait(&stepwise::again(&write.says, &why)).await;
                        }
                    }
                }
                Next::Wait(what) => {
                    progress.wait(&what).await;
                }
                Next::Done => return self.done(&facts, progress.has_written),
                Next::Stuck(reason) => return Err(Failure::Rollout(reason)),
            }
        }
    }

    fn done(&self, facts: &Facts, has_written: bool) -> Result<Code, Failure> {
        if let (Some(format), Some(target)) = (&self.arguments.output.format, &facts.target) {
            document(format, &target.body, &[target.full_name()])?;
            return Ok(Code::Done);
        }
        if !has_written {
            return dry_run::already(facts);
        }
        print(&format!("{} is {} now, with the same pods\n", facts.source_name(), facts.target_name()))?;
        Ok(Code::Done)
    }

    fn ways_on(&self) -> &'static str {
        if self.arguments.back {
            "run the same command to continue, or without --back to return"
        } else {
            "run the same command to continue, or with --back to return"
        }
    }

    fn interrupted(&self, failure: Failure) -> Failure {
        failure.and_next(self.ways_on())
    }

    fn awaited(&self, what: Option<&str>) -> String {
        what.map_or_else(|| self.cluster.answer(), str::to_owned)
    }

    /// All that the next step follows from.
    async fn read(&self) -> Result<Facts, Failure> {
        let cluster = &self.cluster;
        let mut facts = Facts {
            name: self.name.clone(),
            namespace: cluster.namespace.clone(),
            to: self.to,
            source: None,
            target: None,
            sets: Vec::new(),
            scalers: Vec::new(),
            hpa: self.arguments.hpa,
            accepts_declared: self.arguments.accept_declared,
            dry_run: None,
        };
        facts.source = cluster.look(facts.from(), &self.name).await?;
        facts.target = cluster.look(self.to, &self.name).await?;
        let Some(deployment) = facts.source.as_ref().or(facts.target.as_ref()) else {
            return Err(cluster.not_found(&self.name));
        };
        facts.sets = cluster.selected(&cluster.sets(), deployment).await?;
        facts.scalers = optional(cluster.scalers().list(&ListParams::default()).await)?;
        if let (Some(source), None) = (&facts.source, &facts.target) {
            facts.dry_run = Some(self.try_out(&write::manifest(&facts, source)).await?);
        }
        Ok(facts)
    }

    /// What the server would store, or why it would not.
    async fn try_out(&self, manifest: &Value) -> Result<Result<Value, String>, Failure> {
        let params = PostParams { dry_run: true, field_manager: Some(FIELD_MANAGER.to_owned()) };
        match self.cluster.deployments(self.to).create(&params, &dynamic(manifest)?).await {
            Ok(stored) => Ok(Ok(body(stored))),
            Err(kube::Error::Api(status)) if (400..500).contains(&status.code) => Ok(Err(status.message)),
            Err(error) => Err(error.into()),
        }
    }

    async fn neighbours(&self, facts: &Facts) -> Result<Neighbours, Failure> {
        let cluster = &self.cluster;
        Ok(Neighbours {
            deployments: cluster.list(None, None, false).await?,
            budgets: optional(cluster.budgets().list(&ListParams::default()).await)?,
            is_served: cluster.serves(self.to).await?,
            denied: self.denied(facts).await?,
            unseen: self
                .missing(&[
                    ("list", "autoscaling", "horizontalpodautoscalers"),
                    ("list", "policy", "poddisruptionbudgets"),
                ])
                .await?
                .into_iter()
                .map(|(_, kind)| kind)
                .collect(),
        })
    }

    /// Requests that are needed and that this user may not make.
    async fn denied(&self, facts: &Facts) -> Result<Vec<String>, Failure> {
        let group = |flavour: Flavour| flavour.api_version().split('/').next().unwrap_or_default();
        let mut needed = vec![
            ("create", group(self.to), "deployments"),
            ("patch", group(self.to), "deployments"),
            ("delete", group(facts.from()), "deployments"),
            ("patch", "apps", "replicasets"),
        ];
        if facts.hpa == Some(HpaChoice::Retarget) && facts.scalers_of_source().next().is_some() {
            needed.push(("patch", "autoscaling", "horizontalpodautoscalers"));
        }
        if facts.accepts_declared {
            needed.push(("patch", group(facts.from()), "deployments"));
        }
        let missing = self.missing(&needed).await?;
        Ok(missing.into_iter().map(|(verb, kind)| format!("{verb} {kind}")).collect())
    }

    /// Those of these permissions that this user lacks, as verb and kind.
    async fn missing<'a>(
        &self,
        permissions: &[(&'a str, &str, &str)],
    ) -> Result<Vec<(&'a str, String)>, Failure> {
        let mut missing = Vec::new();
        for (verb, group, resource) in permissions {
            if !self.cluster.may(verb, (group, resource), None).await? {
                missing.push((*verb, format!("{resource}.{group}")));
            }
        }
        Ok(missing)
    }

    /// Makes a request.
    async fn write(&self, write: &Write) -> Result<Answer, Failure> {
        let cluster = &self.cluster;
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let answer = match &write.change {
            Change::Create(object) => {
                let params = PostParams { dry_run: false, field_manager: params.field_manager };
                cluster.deployments(self.to).create(&params, &dynamic(object)?).await.map(drop)
            }
            Change::Replace(operations) => {
                let patch = edits::json_patch(operations.clone())?;
                cluster.deployments(self.to).patch(&self.name, &params, &patch).await.map(drop)
            }
            Change::PatchTarget(patch) => {
                let patch = Patch::Merge(patch);
                cluster.deployments(self.to).patch(&self.name, &params, &patch).await.map(drop)
            }
            Change::RollOut(patch) => {
                let from = Facts::other(self.to);
                let patch = Patch::Merge(patch);
                cluster.deployments(from).patch(&self.name, &params, &patch).await.map(drop)
            }
            Change::PatchSet { name, patch } => {
                cluster.sets().patch(name, &params, &Patch::Merge(patch)).await.map(drop)
            }
            Change::PatchScaler { name, patch } => {
                cluster.scalers().patch(name, &params, &Patch::Merge(patch)).await.map(drop)
            }
            Change::DeleteSource { uid, version } => {
                let params = orphaning(uid, version);
                let from = Facts::other(self.to);
                cluster.deployments(from).delete(&self.name, &params).await.map(drop)
            }
        };
        match answer {
            Ok(()) => Ok(Answer::Done),
            // Gone, changed, or there already: the next look shows which.
            Err(kube::Error::Api(status)) if is_stale(&status) => Ok(Answer::Stale(status.message.clone())),
            Err(error) => Err(error.into()),
        }
    }
}

fn is_stale(status: &kube::core::Status) -> bool {
    matches!(status.code, 404 | 409) || (status.code == 422 && status.message.contains("testing"))
}

fn dynamic(object: &Value) -> Result<DynamicObject, Failure> {
    serde_json::from_value(object.clone()).map_err(|error| Failure::Rollout(error.to_string()))
}

/// What may be looked at; nothing where the API is not served or may not be seen.
fn optional(answer: kube::Result<kube::api::ObjectList<DynamicObject>>) -> Result<Vec<Value>, Failure> {
    match answer {
        Ok(list) => Ok(list.items.into_iter().map(body).collect()),
        Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}
