//! A rollout of ten pods during which something goes wrong, and all that must hold of it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cluster::wait_for;
use faultproxy::{Exchange, Journal, Match, shapes};
use serde_json::json;

use crate::cuts;
use crate::failure::{Failure, Outcome, ensure, same, until};
use crate::manifest::Manifest;
use crate::objects::{Deployment, Set, summaries};
use crate::recorder::Recorder;
use crate::report::Row;
use crate::rig::Rig;

pub(crate) const NAME: &str = "web";
pub(crate) const REPLICAS: i64 = 10;
const ABORT: &str = "rollwright.dev/abort";
/// 25 % of ten, rounded up, and rounded down.
const SURGE: i64 = 3;
const UNAVAILABLE: i64 = 2;
/// Of one rollout without faults: sizes, status and the ReplicaSets themselves (WA-1).
const WRITES_MAX: usize = 4 * 10 + 10;
/// More for each fault (WA-2).
const WRITES_PER_FAULT: usize = 3;
/// Seconds that a 429 asks to be left alone for.
pub(crate) const RETRY_AFTER: u32 = 3;
/// Watch faults and errors (G-CLIENT).
pub(crate) const SOON: Duration = Duration::from_secs(35);
/// A connection that is open and dead (G-CLIENT).
pub(crate) const HALF_OPEN: Duration = Duration::from_secs(210);

/// A Deployment under test, and what is seen of it.
pub(crate) struct Rollout<'a> {
    rig: &'a Rig,
    recorder: Recorder,
    pid: Option<u32>,
    image: String,
    /// The image that runs in its place, after an abort.
    instead: Option<String>,
    rollouts: usize,
    since: Instant,
    /// Whether old ReplicaSets stay after the rollout.
    keeps_history: bool,
    /// Whether the fault also hits the ReplicaSet controller.
    hits_everybody: bool,
}

impl<'a> Rollout<'a> {
    /// Ten pods, all available.
    pub(crate) async fn begin(rig: &'a Rig) -> Outcome<Self> {
        Self::begin_with(rig, &Manifest::new(NAME, REPLICAS)).await
    }

    /// The same for a manifest of its own.
    pub(crate) async fn begin_with(rig: &'a Rig, manifest: &Manifest) -> Outcome<Self> {
        let web = rig.world.roll_out(manifest).await?;
        let recorder = Recorder::start(&rig.world, web.uid()).await?;
        rig.proxy.clear_journal();
        let keeps_history = manifest.json(rig.world.flavour)["spec"]["revisionHistoryLimit"] != 0;
        Ok(Self {
            rig,
            recorder,
            pid: rig.operator.pid(),
            image: "app:v1".to_owned(),
            instead: None,
            rollouts: 0,
            since: Instant::now(),
            keeps_history,
            hits_everybody: false,
        })
    }

    /// Starts a rollout, or rolls over one that is under way.
    pub(crate) async fn change(&mut self, image: &str) -> Outcome {
        self.instead = None; // The next template ends a revert (FP-9).
        self.rollouts += 1;
        image.clone_into(&mut self.image);
        self.since = Instant::now();
        self.rig.world.set_image(NAME, image).await
    }

    /// Asks for the revision of this image. By its number, which differs each time: a request that returns again and
    /// again is refused.
    pub(crate) async fn roll_back(&mut self, image: &str) -> Outcome {
        self.rollouts += 1;
        image.clone_into(&mut self.image);
        self.since = Instant::now();
        let revision = self.rig.world.set(image).await?.revision();
        self.rig.world.roll_back(NAME, revision).await
    }

    /// Asks to abort the rollout of the current image, so that `before` runs.
    pub(crate) async fn abort(&mut self, before: &str) -> Outcome {
        self.instead = Some(before.to_owned());
        self.since = Instant::now();
        let revision = self.rig.world.set(&self.image).await?.revision().to_string();
        self.rig.world.patch(NAME, &json!({"metadata": {"annotations": {ABORT: revision}}})).await
    }

    /// Waits until new pods have been asked for.
    pub(crate) async fn half_way(&self) -> Outcome {
        let scaled = Match::verb("patch").resource("replicasets").field("/spec/replicas");
        self.rig.asked(&scaled, SOON).await
    }

    /// The fault has ended; recovery counts from now on.
    pub(crate) fn mark(&mut self) {
        self.since = Instant::now();
    }

    /// The operator was restarted on purpose.
    pub(crate) fn allow_restart(&mut self) {
        self.pid = None;
    }

    /// The ReplicaSet controller and the kubelets lose the API server too. Just after that they may
    /// take other pods than they should; only what the operator takes is judged.
    pub(crate) fn hits_everybody(&mut self) {
        self.hits_everybody = true;
    }

    /// Waits for the end, checks everything, and adds a row to the table.
    pub(crate) async fn finish(&mut self, fault: &str, place: &str, bound: Duration) -> Outcome {
        let row = self.measure(fault, place, bound).await?;
        ensure(row.injected > 0, "the fault being met", fault)?;
        self.rig.row(row);
        Ok(())
    }

    /// Waits for the end, and checks everything. The record starts again.
    pub(crate) async fn measure(&mut self, fault: &str, place: &str, bound: Duration) -> Outcome<Row> {
        let rig = self.rig;
        let web = self.complete(bound).await?;
        let recovery = self.since.elapsed();
        rig.ensure_running()?;
        if self.pid.is_some() {
            same("the operator's pid", rig.operator.pid(), self.pid)?;
        }
        same("the image", web.image(), self.image.as_str())?;
        let mut sets = rig.world.sets().await?;
        sets.retain(|set| set.owner == web.uid());
        let runs = self.instead.as_ref().unwrap_or(&self.image);
        let expected = |set: &Set| set.size == if set.image == *runs { REPLICAS } else { 0 };
        ensure(sets.iter().all(expected), "pods of what runs only", summaries(&sets))?;
        self.check_history()?;
        let journal = rig.proxy.journal();
        same("requests out of shape", shapes::violations(&journal), Vec::<String>::new())?;
        ensure_patience(&journal)?;
        let (writes, injected) = (journal.writes().count(), journal.faults());
        let faults = usize::try_from(injected).unwrap_or(usize::MAX);
        let writes_max =
            WRITES_MAX * self.rollouts.max(1) + WRITES_PER_FAULT * faults + recovery.as_secs() as usize;
        ensure(writes <= writes_max, &format!("at most {writes_max} writes"), writes)?;
        rig.proxy.clear_journal();
        self.rollouts = 0;
        Ok(Row { fault: fault.to_owned(), place: place.to_owned(), injected, recovery, bound, writes })
    }

    async fn complete(&self, bound: Duration) -> Outcome<Deployment> {
        let waited = wait_for("the rollout being complete", bound, async || {
            let web = self.rig.world.get(NAME).await.map_err(|failure| cluster::NotYet(failure.0))?;
            let reason = web.progressing().1;
            let is_done = match self.instead {
                None => web.is_complete() && reason == "NewReplicaSetAvailable",
                Some(_) => is_reverted(&web) && reason == "RolledBack",
            };
            until(is_done && web.image() == self.image, web.summary())?;
            let sets = self.rig.world.sets().await.map_err(|failure| cluster::NotYet(failure.0))?;
            let of_web = sets.iter().filter(|set| set.owner == web.uid()).count();
            until(self.keeps_history || of_web == 1, summaries(&sets))?;
            Ok(web)
        });
        Ok(waited.await?)
    }

    /// At every moment that was seen: sizes within bounds, the floor as the ReplicaSets report it, and
    /// one ReplicaSet for each template.
    fn check_history(&self) -> Outcome {
        let seen = self.recorder.read();
        seen.ensure_at_most(REPLICAS + SURGE)?;
        match self.hits_everybody {
            true => cuts::ensure_leave(&seen, REPLICAS - UNAVAILABLE)?,
            false => seen.ensure_available(REPLICAS - UNAVAILABLE)?,
        }
        for moment in &seen.0 {
            let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
            for set in moment.values() {
                *counts.entry(&set.image).or_default() += 1;
            }
            ensure(counts.values().all(|count| *count == 1), "one set for each template", counts)?;
        }
        Ok(())
    }
}

/// Whether all pods are of the revision that runs after an abort.
fn is_reverted(web: &Deployment) -> bool {
    let all = ["replicas", "readyReplicas", "availableReplicas"];
    web.is_observed()
        && web.text("/status/target/because") == "Aborted"
        && all.iter().all(|count| web.status(count) == web.replicas())
        && web.status("updatedReplicas") == 0
}

/// Another Deployment, small, in the same namespace.
pub(crate) fn neighbour(name: &str) -> Manifest {
    Manifest::new(name, 1).spec("strategy", &json!({"type": "Recreate"}))
}

/// Waits until a request like this was recorded, and returns how long that took.
pub(crate) async fn latency(rig: &Rig, select: &Match, bound: Duration) -> Outcome<Duration> {
    let started = Instant::now();
    rig.asked(select, bound).await?;
    Ok(started.elapsed())
}

/// A write that got a 429 is not sent again before the time that was asked for.
fn ensure_patience(journal: &Journal) -> Outcome {
    let writes: Vec<_> = journal.writes().collect();
    let asked = Duration::from_secs(RETRY_AFTER.into());
    for (index, refused) in writes.iter().enumerate().filter(|(_, seen)| seen.client_code == Some(429)) {
        let is_it = |later: &&&Exchange| {
            (&later.request.verb, &later.request.path) == (&refused.request.verb, &refused.request.path)
        };
        let Some(again) = writes[index + 1..].iter().find(is_it) else {
            return Err(Failure::new(format!("nobody asks again after a 429: {:?}", refused.request)));
        };
        let pause = again.at.saturating_duration_since(refused.at);
        ensure(pause >= asked, "no attempt before the time asked for", pause)?;
    }
    Ok(())
}
