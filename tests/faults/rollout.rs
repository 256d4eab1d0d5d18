//! A rollout of ten pods during which something goes wrong, and all that must hold of it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cluster::wait_for;
use faultproxy::{Match, shapes};

use crate::cuts;
use crate::failure::{Outcome, ensure, same, until};
use crate::manifest::Manifest;
use crate::objects::{Deployment, Set, summaries};
use crate::recorder::Recorder;
use crate::report::Row;
use crate::rig::Rig;

const NAME: &str = "web";
const REPLICAS: i64 = 10;
/// 25 % of ten, rounded up, and rounded down.
const SURGE: i64 = 3;
const UNAVAILABLE: i64 = 2;
/// Of one rollout without faults: sizes, status and the ReplicaSets themselves (WA-1).
const WRITES_MAX: usize = 4 * 10 + 10;
/// More for each fault (WA-2).
const WRITES_PER_FAULT: usize = 3;
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
    rollouts: usize,
    since: Instant,
    /// Whether the fault also hits the ReplicaSet controller.
    hits_everybody: bool,
}

impl<'a> Rollout<'a> {
    /// Ten pods, all available.
    pub(crate) async fn begin(rig: &'a Rig) -> Outcome<Self> {
        let web = rig.world.roll_out(&Manifest::new(NAME, REPLICAS)).await?;
        let recorder = Recorder::start(&rig.world, web.uid()).await?;
        rig.proxy.clear_journal();
        Ok(Self {
            rig,
            recorder,
            pid: rig.operator.pid(),
            image: "app:v1".to_owned(),
            rollouts: 0,
            since: Instant::now(),
            hits_everybody: false,
        })
    }

    /// Starts a rollout, or rolls over one that is under way.
    pub(crate) async fn change(&mut self, image: &str) -> Outcome {
        self.rollouts += 1;
        image.clone_into(&mut self.image);
        self.since = Instant::now();
        self.rig.world.set_image(NAME, image).await
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
        same("the operator's pid", rig.operator.pid(), self.pid)?;
        same("the image", web.image(), self.image.as_str())?;
        let mut sets = rig.world.sets().await?;
        sets.retain(|set| set.owner == web.uid());
        let expected = |set: &Set| set.size == if set.image == self.image { REPLICAS } else { 0 };
        ensure(sets.iter().all(expected), "pods of the new template only", summaries(&sets))?;
        self.check_history()?;
        let journal = rig.proxy.journal();
        same("requests out of shape", shapes::violations(&journal), Vec::<String>::new())?;
        let (writes, injected) = (journal.writes().count(), journal.faults());
        let faults = usize::try_from(injected).unwrap_or(usize::MAX);
        let writes_max = WRITES_MAX * self.rollouts + WRITES_PER_FAULT * faults + recovery.as_secs() as usize;
        ensure(writes <= writes_max, &format!("at most {writes_max} writes"), writes)?;
        rig.proxy.clear_journal();
        self.rollouts = 0;
        Ok(Row { fault: fault.to_owned(), place: place.to_owned(), injected, recovery, bound, writes })
    }

    async fn complete(&self, bound: Duration) -> Outcome<Deployment> {
        let waited = wait_for("the rollout being complete", bound, async || {
            let web = self.rig.world.get(NAME).await.map_err(|failure| cluster::NotYet(failure.0))?;
            let is_done = web.is_complete() && web.progressing().1 == "NewReplicaSetAvailable";
            until(is_done && web.image() == self.image, web.summary())?;
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
