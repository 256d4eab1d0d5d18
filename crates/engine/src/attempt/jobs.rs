//! The Jobs of gates and hooks: read, checked, created, and deleted (GA-2, GA-5).

use api::{RequiredJob, job};
use diagnosis::{Words, blockers};
use plan::{Checkpoint, FoundJob, Job, JobState, NewJob, Workload};
use serde_json::Value;

use super::Attempt;
use crate::port::{Cause, Kind, Object, Port, Reply, Request};
use crate::reconcile::Refusal;

/// Why a Job with such labels is not created: its pods would be those of the Deployment.
const ALIKE: &str = "the labels of its template match spec.selector: choose other labels";

impl<P: Port> Attempt<'_, P> {
    /// The Job with this name, past any cache.
    pub(super) async fn job(&self, name: &str) -> Result<FoundJob, Refusal> {
        let found = match self.get(Kind::Job, name).await {
            Ok(Some(live)) => Ok(Some(self.with_its_cause(job::read(live.parts())).await)),
            Ok(None) => Ok(None),
            // Nobody knows what a Job has come to that may not be read.
            Err(refusal) if refusal.code == 403 => Err(refusal.message),
            Err(refusal) => return Err(refusal),
        };
        Ok(FoundJob { name: name.to_owned(), job: found })
    }

    /// The Job with what its pod shows of why it failed, or does not run.
    async fn with_its_cause(&self, job: Job) -> Job {
        let state = match job.state {
            JobState::Failed(words) => JobState::Failed(self.exit_code(&job.uid).await.unwrap_or(words)),
            JobState::Waiting(_) => JobState::Waiting(self.obstacle(&job.uid).await),
            state => state,
        };
        Job { state, ..job }
    }

    /// Its pods; none where they may not be read.
    async fn pods_of_job(&self, uid: &str) -> Vec<Value> {
        let (namespace, selector) =
            (self.key.namespace.clone(), format!("batch.kubernetes.io/controller-uid={uid}"));
        match self.send(Request::PagePods { namespace, selector, from: None }, Cause::Look).await {
            Ok(Reply::Values(pods, _)) => pods,
            Ok(_) | Err(_) => Vec::new(),
        }
    }

    async fn exit_code(&self, uid: &str) -> Option<String> {
        let pods = self.pods_of_job(uid).await;
        let containers = pods.iter().flat_map(|pod| {
            ["initContainerStatuses", "containerStatuses"].into_iter().flat_map(|list| {
                pod.pointer(&format!("/status/{list}")).and_then(Value::as_array).into_iter().flatten()
            })
        });
        containers.into_iter().find_map(|container| {
            let ended = container.pointer("/state/terminated")?;
            let code = ended.get("exitCode")?.as_i64().filter(|code| *code != 0)?;
            Some(format!("container {} exited with code {code}", container.get("name")?.as_str()?))
        })
    }

    async fn obstacle(&self, uid: &str) -> Option<String> {
        let pods = self.pods_of_job(uid).await;
        let words = self.engine.settings.looking.as_ref().map_or(Words::Withheld, |looking| looking.words);
        let found = blockers(&pods, &[], words);
        found.first().map(|blocker| format!("{}: {}", blocker.cause, blocker.message))
    }

    /// Why the server, or this operator, does not accept a Job of the spec.
    pub(super) async fn check_jobs(&self, workload: &Workload) -> Result<Result<(), String>, Refusal> {
        let live = self.get(Kind::Deployment, &self.key.name).await?;
        for at in workload.checkpoints() {
            let Some(spec) = workload.job_at(at) else { continue };
            let required = self.required_job(live.as_ref(), workload, at, &spec.digest)?;
            let refused = |why: &str| Ok(Err(format!("{}: {why}", job::path(at))));
            if job::matches_deployment(workload, &required) {
                return refused(ALIKE);
            }
            let (kind, namespace) = (Kind::Job, self.key.namespace.clone());
            let object = job::dry_run_body(workload, at, required);
            match self.send(Request::Create { kind, namespace, object, is_dry_run: true }, Cause::Look).await
            {
                Ok(_) => {}
                Err(refusal) if (400..500).contains(&refusal.code) && refusal.code != 429 => {
                    return refused(&refusal.message);
                }
                Err(refusal) => return Err(refusal),
            }
        }
        Ok(Ok(()))
    }

    /// The Job of the spec, if it is still the one that is planned for.
    fn required_job(
        &self,
        live: Option<&P::Object>,
        workload: &Workload,
        at: Checkpoint,
        digest: &str,
    ) -> Result<RequiredJob, Refusal> {
        let live = live.filter(|live| live.metadata("uid") == workload.uid);
        let found = live.and_then(|live| job::of(live.parts().spec, at));
        let found = found.filter(|found| job::spec(found).digest == digest);
        found.ok_or_else(|| {
            Refusal::conflict(format!("{} of {} has just been changed", job::path(at), self.key))
        })
    }

    pub(super) async fn create_job(
        &self,
        workload: &Workload,
        new: &NewJob,
        cause: Cause<'_>,
    ) -> Result<(), Refusal> {
        let live = self.get(Kind::Deployment, &self.key.name).await?;
        let required = self.required_job(live.as_ref(), workload, new.at, &new.digest)?;
        if job::matches_deployment(workload, &required) {
            return Err(Refusal::new(422, "Invalid", format!("{}: {ALIKE}", job::path(new.at))));
        }
        let (kind, namespace) = (Kind::Job, self.key.namespace.clone());
        let object = job::body(workload, new, required);
        self.send(Request::Create { kind, namespace, object, is_dry_run: false }, cause).await.map(|_| ())
    }

    pub(super) async fn delete_job(&self, name: &str, uid: &str, cause: Cause<'_>) -> Result<(), Refusal> {
        let (kind, namespace) = (Kind::Job, self.key.namespace.clone());
        let (name, uid) = (name.to_owned(), uid.to_owned());
        self.send(Request::Delete { kind, namespace, name, uid, version: None }, cause).await.map(|_| ())
    }
}
