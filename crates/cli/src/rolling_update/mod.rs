//! `rolling-update`: the pods of a ReplicationController replaced one by one, by the client, as
//! Kubernetes' first design for rollouts has it.
//!
//! [`step::next`] decides from what there is; this module reads, writes and waits.

mod facts;
mod step;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use clap::Args;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::Value;

use crate::args::connection::Connection;
use crate::args::output::Output;
use crate::args::time::time;
use crate::args::writing::FIELD_MANAGER;
use crate::cluster::{Cluster, body, orphaning};
use crate::code::Code;
use crate::failure::Failure;
use crate::manifests;
use crate::output::{document, print};
use crate::rolling_update::facts::{
    DESIRED, Facts, LABEL_KEY, PARTNER, Wanted, annotation, full_name, is_held, name,
};
use crate::rolling_update::step::{Change, Next, Write};
use crate::stepwise::{self, Answer, Progress};

/// `rolling-update`.
#[derive(Debug, Args)]
pub(crate) struct RollingUpdateArguments {
    /// The ReplicationController to replace.
    #[arg(value_name = "OLD")]
    old: String,
    /// Name of the new ReplicationController [default: the old name, in the end].
    #[arg(value_name = "NEW")]
    new: Option<String>,
    /// Image of the new ReplicationController.
    #[arg(long, value_name = "IMAGE", conflicts_with = "file")]
    image: Option<String>,
    /// Container that gets the image, if there are several.
    #[arg(long, short, value_name = "NAME", requires = "image")]
    container: Option<String>,
    /// Manifest of the new ReplicationController; - is standard input.
    #[arg(long = "filename", short = 'f', value_name = "FILE")]
    file: Option<String>,
    /// Roll back to the old ReplicationController.
    #[arg(long, conflicts_with_all = ["image", "file"])]
    rollback: bool,
    /// How long to wait for a pod, for example 90s or 5m; 0 for no limit.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "5m")]
    timeout: Duration,
    /// Minimum time from one new pod to the next.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "1m")]
    update_period: Duration,
    /// Key of the label that separates the pods of the two.
    #[arg(long, value_name = "KEY", default_value = LABEL_KEY)]
    deployment_label_key: String,
    #[command(flatten)]
    output: Output,
}

/// `rolling-update`.
pub(crate) async fn update(
    connection: &Connection,
    arguments: &RollingUpdateArguments,
) -> Result<Code, Failure> {
    let manifest = arguments.file.as_deref().map(read_manifest).transpose()?;
    plain(&arguments.old)?;
    arguments.new.as_deref().map(plain).transpose()?;
    if let Some(manifest) = &manifest {
        crate::name::of_object("rc", name(manifest))?;
    }
    let update = Update { cluster: Cluster::connect(connection).await?, arguments, manifest };
    let mut progress = Progress::begin(arguments.timeout, &arguments.output);
    let Some(start) = progress.hold(update.start()).await else { return Err(update.late(None)) };
    let start = start?;
    update.carry_out(&start, &mut progress).await
}

/// The one ReplicationController in a file.
fn read_manifest(place: &str) -> Result<Value, Failure> {
    let mut found = manifests::read(place, "ReplicationController")?;
    match found.len() {
        1 => Ok(found.swap_remove(0)),
        _ => Err(Failure::Usage(format!("-f {place}: there is more than one ReplicationController in it"))),
    }
}

/// `foo` of `rc/foo`.
fn plain(word: &str) -> Result<&str, Failure> {
    let name = match word.split_once('/') {
        None => word,
        Some(("rc" | "replicationcontroller" | "replicationcontrollers", name)) => name,
        Some((kind, _)) => {
            return Err(Failure::Usage(format!(
                "\"{kind}\" is no ReplicationController; write rc/NAME. Deployments have set image and undo"
            )));
        }
    };
    if name.is_empty() {
        return Err(Failure::Usage(format!("\"{word}\" lacks a name; write rc/NAME")));
    }
    crate::name::of_object("rc", name)
}

/// Who is updated to whom; it stays the same for the whole run.
struct Start {
    old: String,
    next: String,
    rename: bool,
}

struct Update<'a> {
    cluster: Cluster,
    arguments: &'a RollingUpdateArguments,
    manifest: Option<Value>,
}

impl Update<'_> {
    /// Names, and mistakes that need no write to be seen.
    async fn start(&self) -> Result<Start, Failure> {
        let arguments = self.arguments;
        let old_name = plain(&arguments.old)?.to_owned();
        let all = self.controllers().await?;
        let find = |wanted: &str| all.iter().find(|controller| name(controller) == wanted);
        let given = self.given(&old_name)?;
        let old = find(&old_name);
        let wanted = self.wanted(old)?;
        let is_partner = |controller: &&Value| annotation(controller, PARTNER) == Some(&old_name);
        let partner = all.iter().find(is_partner).map(|partner| name(partner).to_owned());
        let noted = old.and_then(|old| annotation(old, PARTNER)).filter(|noted| find(noted).is_some());
        let rename = given.is_none();
        let synthesized = wanted.as_ref().map(|wanted| format!("{old_name}-{}", wanted.hash));
        let known = noted.map(str::to_owned).or(partner);
        let next = given.or(known).or(synthesized).unwrap_or_default();
        match (old, find(&next)) {
            (None, None) => Err(self.missing(&old_name)),
            (Some(old), None) if arguments.rollback && !is_noted(old) && !is_held(old) => {
                Err(Failure::Rollout(format!(
                    "no update of {} is under way; to have an earlier image, update to it with --image",
                    full_name(&old_name)
                )))
            }
            (Some(old), None) if wanted.is_none() && !arguments.rollback && !is_held(old) => {
                Err(Failure::Usage(
                    "describe the next one: --image=IMAGE, -f FILE, or the name of one that is there"
                        .to_owned(),
                ))
            }
            _ => Ok(Start { old: old_name, next, rename }),
        }
    }

    /// The name of the next one, if it was given.
    fn given(&self, old: &str) -> Result<Option<String>, Failure> {
        let in_file = self.manifest.as_ref().map(name).filter(|name| !name.is_empty() && *name != old);
        let given = self.arguments.new.as_deref().map(plain).transpose()?;
        match (given, in_file) {
            (Some(given), _) if given == old => Err(Failure::Usage(format!(
                "both are named {old}; leave the second name out to keep the first"
            ))),
            (Some(given), Some(in_file)) if given != in_file => Err(Failure::Usage(format!(
                "the manifest's name is {in_file}, not {given}; leave the second name out"
            ))),
            (given, in_file) => Ok(given.or(in_file).map(str::to_owned)),
        }
    }

    /// What is asked for, if that is known.
    fn wanted(&self, old: Option<&Value>) -> Result<Option<Wanted>, Failure> {
        let key = &self.arguments.deployment_label_key;
        if let Some(manifest) = &self.manifest {
            return Ok(Some(Wanted::of(manifest, key)));
        }
        let old = old.filter(|old| !is_held(old));
        let (Some(old), Some(image)) = (old, &self.arguments.image) else { return Ok(None) };
        Wanted::with_image(old, key, image, self.arguments.container.as_deref()).map(Some)
    }

    fn missing(&self, old: &str) -> Failure {
        Failure::Missing(format!(
            "{} not found in namespace \"{}\"; kubectl get replicationcontrollers shows what there is",
            full_name(old),
            self.cluster.namespace
        ))
    }

    async fn controllers(&self) -> Result<Vec<Value>, Failure> {
        let list = self.cluster.controllers().list(&ListParams::default()).await?;
        Ok(list.items.into_iter().map(body).collect())
    }

    /// All that the next step follows from.
    async fn read(&self, start: &Start) -> Result<Facts, Failure> {
        let controllers = self.cluster.controllers();
        let old = controllers.get_opt(&start.old).await?.map(body);
        let next =
            if start.next.is_empty() { None } else { controllers.get_opt(&start.next).await?.map(body) };
        if old.is_none() && next.is_none() {
            return Err(self.missing(&start.old));
        }
        let wanted = self.wanted(old.as_ref())?;
        let mut facts = Facts {
            old_name: start.old.clone(),
            next_name: start.next.clone(),
            rename: start.rename,
            rollback: self.arguments.rollback,
            key: self.arguments.deployment_label_key.clone(),
            old,
            next,
            pods: Vec::new(),
            wanted,
        };
        // Before the label distinguishes the controllers, and while pods change hands.
        if facts.looks_at_pods() {
            let pods = self.cluster.pods().list(&ListParams::default()).await?;
            facts.pods = pods.items.into_iter().map(body).collect();
        }
        Ok(facts)
    }

    async fn carry_out(&self, start: &Start, progress: &mut Progress) -> Result<Code, Failure> {
        let mut last_up = None::<Instant>;
        loop {
            let Some(facts) = progress.hold(self.read(start)).await else {
                return Err(self.late(progress.awaited()));
            };
            let facts = facts.map_err(interrupted)?;
            let what = match step::next(&facts) {
                Next::Write(write) => {
                    let is_up = matches!(write.change, Change::Up { .. });
                    if let (true, Some(last)) = (is_up, last_up) {
                        let left = self.arguments.update_period.saturating_sub(last.elapsed());
                        if left > Duration::ZERO {
                            tokio::time::sleep(left).await;
                            progress.begin_again();
                            last_up = None;
                            continue;
                        }
                    }
                    let Some(answer) = progress.hold(self.write(&write)).await else {
                        return Err(self.late(None));
                    };
                    match answer.map_err(interrupted)? {
                        Answer::Done => {
                            progress.wrote(&write.says)?;
                            progress.begin_again();
                            last_up = if is_up { Some(Instant::now()) } else { last_up };
                            continue;
                        }
                        Answer::Stale(why) => stepwise::again(&write.says, &why),
                    }
                }
                Next::Wait(what) => what,
                Next::Done => return self.done(&facts, progress.has_written),
                Next::Stuck(reason) => return Err(Failure::Rollout(reason)),
            };
            if !progress.wait(&what).await {
                return Err(self.late(Some(&what)));
            }
        }
    }

    fn late(&self, what: Option<&str>) -> Failure {
        let what = what.map_or_else(|| self.cluster.answer(), str::to_owned);
        Failure::Late(format!(
            "timed out waiting for {what}; run the same command to continue, or with --rollback to return. kubectl \
             describe rc shows what is wrong with its pods"
        ))
    }

    fn done(&self, facts: &Facts, has_written: bool) -> Result<Code, Failure> {
        let Some(controller) = facts.old.as_ref().or(facts.next.as_ref()) else { return Ok(Code::Done) };
        let full = full_name(name(controller));
        if let Some(format) = &self.arguments.output.format {
            document(format, controller, &[full])?;
        } else if !has_written {
            print(&format!("{full} is what is asked for; nothing to do\n"))?;
        } else if self.arguments.rollback {
            print(&format!("{full} rolled back\n"))?;
        } else {
            print(&format!("{full} rolling updated\n"))?;
        }
        Ok(Code::Done)
    }

    /// Makes a request.
    async fn write(&self, write: &Write) -> Result<Answer, Failure> {
        let controllers = self.cluster.controllers();
        let manager = Some(FIELD_MANAGER.to_owned());
        let params = PatchParams { field_manager: manager.clone(), ..PatchParams::default() };
        let answer = match &write.change {
            Change::Create(object) => {
                let params = PostParams { dry_run: false, field_manager: manager };
                let object: DynamicObject = serde_json::from_value(object.clone())
                    .map_err(|error| Failure::Rollout(error.to_string()))?;
                controllers.create(&params, &object).await.map(drop)
            }
            Change::Patch { name, patch } | Change::Up { name, patch } => {
                controllers.patch(name, &params, &Patch::Merge(patch)).await.map(drop)
            }
            Change::PatchPod { name, patch } => {
                self.cluster.pods().patch(name, &params, &Patch::Merge(patch)).await.map(drop)
            }
            Change::Delete { name, uid, version } => {
                controllers.delete(name, &orphaning(uid, version)).await.map(drop)
            }
        };
        match answer {
            Ok(()) => Ok(Answer::Done),
            // Gone, changed, or there already: the next look shows which.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {
                Ok(Answer::Stale(status.message.clone()))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether an update has left notes for a crash.
fn is_noted(controller: &Value) -> bool {
    annotation(controller, PARTNER).is_some() || annotation(controller, DESIRED).is_some()
}

fn interrupted(failure: Failure) -> Failure {
    failure.and_next("run the same command to continue")
}
