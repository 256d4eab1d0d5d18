//! Carries out the questions and actions of a plan as requests: each action is one, with its preconditions.
//! Each answer is noted where the next reconcile needs it.

use api::{encode, history};
use plan::template::Template;
use plan::{
    Action, Ask, DryRun, Event, NewReplicaSet, OwnerChange, ReplicaSet, StatusWrite, Target, Workload,
};
use serde_json::value::RawValue;

use super::strays::is_watched;
use super::{Attempt, live};
use crate::changed::first_difference;
use crate::durations::RIVAL_SILENCE;
use crate::port::{Cause, Kind, Note, Object, Patch, Port, Reply, Request};
use crate::reconcile::{Answer, Cluster, Owner, Refusal};
use crate::rivalry::{Counters, RIVAL_CONTROLLER, Rival};

impl<P: Port> Attempt<'_, P> {
    fn patch(&self, kind: Kind, name: &str, patch: Patch, of_status: bool) -> Request {
        let (namespace, name) = (self.key.namespace.clone(), name.to_owned());
        Request::Patch { kind, namespace, name, patch, of_status, wants_object: false }
    }

    /// A write to a ReplicaSet was answered: the version that it made, or a refusal.
    fn note_set(&self, sent: &Result<String, Refusal>, name: &str) {
        match sent {
            Ok(version) => self.engine.state().entry(self.key).ledger.wrote_set(version, self.port.now()),
            Err(refusal) => self.note_refused(refusal, name),
        }
    }

    /// Nobody knows the outcome of a write to a ReplicaSet, or the cache is behind it (S14.5).
    fn note_refused(&self, refusal: &Refusal, name: &str) {
        if refusal.leaves_doubt() || refusal.is_conflict() || refusal.is_already_exists() {
            self.engine.state().entry(self.key).ledger.doubts(name, self.port.now());
        }
    }

    async fn patch_set(&self, target: &Target, patch: Patch, cause: Cause<'_>) -> Result<String, Refusal> {
        let request = self.patch(Kind::ReplicaSet, &target.name, patch, false);
        let sent = self.send_for_version(request, cause).await;
        self.note_set(&sent, &target.name);
        sent
    }

    async fn patch_workload(
        &self,
        patch: Patch,
        of_status: bool,
        cause: Cause<'_>,
    ) -> Result<String, Refusal> {
        let request = self.patch(Kind::Deployment, &self.key.name, patch, of_status);
        let version = self.send_for_version(request, cause).await?;
        self.engine.state().entry(self.key).ledger.wrote_workload(&version, self.port.now());
        Ok(version)
    }

    async fn write_status(
        &self,
        workload: &Workload,
        write: &StatusWrite,
        cause: Cause<'_>,
    ) -> Result<String, Refusal> {
        let counters = Counters::of(&write.status);
        let now = self.port.now();
        let rival =
            self.engine.state().known(self.key).and_then(|known| known.rivalry.objection(&counters, now));
        if let Some(rival) = rival {
            return Err(self.give_way(workload, &rival));
        }
        let flavour = self.engine.flavour;
        let patch = match history::patch(flavour, workload, write) {
            Some(operations) => Patch::Json(operations),
            None => Patch::Merge(encode::status_patch(flavour, workload, write)),
        };
        let version = self.patch_workload(patch, true, cause).await?;
        if !self.engine.settings.force
            && let Ok(number) = version.parse()
        {
            self.engine.state().entry(self.key).of(&workload.uid).rivalry.wrote(number, counters);
        }
        Ok(version)
    }

    /// Reports that the operator gives way, and why the reconcile ends here.
    fn give_way(&self, workload: &Workload, rival: &Rival) -> Refusal {
        let (manager, seconds) = (&rival.manager, RIVAL_SILENCE.as_secs());
        let message = format!(
            "\"{manager}\" keeps undoing our status counters: this Deployment is left to it until it has \
             been silent for {seconds} s. Only one controller may run; with --force we give way to nobody"
        );
        self.port.note(Note::GivesWay(rival, &message));
        self.port.note(Note::Event(workload, &Event::warning(RIVAL_CONTROLLER, message.clone())));
        Refusal::new(0, RIVAL_CONTROLLER, message)
    }

    async fn create_set(&self, object: Box<RawValue>, name: &str, cause: Cause<'_>) -> Result<(), Refusal> {
        let namespace = self.key.namespace.clone();
        let request = Request::Create { kind: Kind::ReplicaSet, namespace, object, is_dry_run: false };
        let sent = self.send_for_version(request, cause).await;
        self.note_set(&sent, name);
        sent.map(|_| ())
    }

    async fn delete_set(&self, target: &Target, cause: Cause<'_>) -> Result<(), Refusal> {
        let request = Request::Delete {
            kind: Kind::ReplicaSet,
            namespace: self.key.namespace.clone(),
            name: target.name.clone(),
            uid: target.uid.clone(),
            version: Some(target.resource_version.clone()),
        };
        // Before the request: the watch may be faster than the answer.
        self.engine.cache().expect_gone(&self.key.namespace, &target.uid);
        if let Err(refusal) = self.send(request, cause).await {
            self.engine.cache().expect_no_more(&self.key.namespace, &target.uid);
            self.note_refused(&refusal, &target.name);
            return Err(refusal);
        }
        self.engine.state().entry(self.key).ledger.deleted_set(&target.uid, self.port.now());
        Ok(())
    }

    /// The template of the Deployment, if it is still the one that is planned for.
    async fn template(&self, workload: &Workload) -> Result<Template, Refusal> {
        let is_its =
            |template: &Template| self.engine.flavour.fingerprint(template) == workload.template.fingerprint;
        // A generation has one spec, so this is the template of the snapshot.
        let kept = self.engine.state().templates.of(self.key, workload);
        if let Some(template) = kept.filter(is_its) {
            return Ok(template);
        }
        let Some(live) = self.get(Kind::Deployment, &self.key.name).await? else {
            return Err(Refusal::new(404, "NotFound", format!("deployment {} not found", self.key)));
        };
        let template = live.template().text();
        if live.metadata("uid") == workload.uid && is_its(&template) {
            Ok(template)
        } else {
            Err(Refusal::conflict(format!("the template of {} has just been changed", self.key)))
        }
    }

    async fn set_template(&self, name: &str, uid: &str) -> Result<Template, Refusal> {
        match self.get_set(name).await? {
            Some(live) if live.metadata("uid") == uid => Ok(live.template().text()),
            Some(_) => {
                Err(Refusal::conflict(format!("ReplicaSet {name} was replaced by another one of that name")))
            }
            None => Err(Refusal::new(404, "NotFound", format!("ReplicaSet {name} not found"))),
        }
    }

    async fn dry_run(&self, workload: &Workload, set: &NewReplicaSet) -> Result<DryRun, Refusal> {
        let flavour = self.engine.flavour;
        let fingerprint = &workload.template.fingerprint;
        let known = self.engine.state().entry(self.key).of(&workload.uid).memory.dry_run(fingerprint);
        if let Some(known) = known {
            return Ok(known);
        }
        let object = encode::dry_run_replica_set(flavour, workload, set);
        let (kind, namespace) = (Kind::ReplicaSet, self.key.namespace.clone());
        let request = Request::Create { kind, namespace, object, is_dry_run: true };
        let result = self.send_for_object(request, Cause::Look).await;
        let stored = result.map(|stored| flavour.stored_digest(stored.template()));
        if let Err(refusal) = &stored {
            self.port.note(Note::DryRunRefused(refusal));
        }
        let now = self.port.now();
        self.engine.state().entry(self.key).of(&workload.uid).memory.settle_dry_run(fingerprint, stored, now)
    }

    /// A ReplicaSet that was created for the template has another one now: the next name waits.
    async fn found_changed(&self, workload: &Workload, name: &str, stored: &Template) {
        let now = self.port.now();
        self.engine.state().entry(self.key).of(&workload.uid).pauses.found(workload.generation, now);
        let declared = self.template(workload).await.map(|template| template.tree());
        let stored = stored.without_hash_label().tree();
        let field = declared.ok().and_then(|declared| first_difference(&declared, &stored));
        self.port.note(Note::Changed(name, field.as_deref().unwrap_or("?")));
    }

    /// The one request that an action comes to.
    async fn request(&self, workload: &Workload, action: &Action) -> Result<Option<String>, Refusal> {
        let (flavour, cause) = (self.engine.flavour, Cause::Act(action));
        match action {
            Action::SetSelector(selector) => {
                let patch = Patch::Merge(encode::selector_patch(workload, selector));
                self.patch_workload(patch, false, cause).await.map(Some)
            }
            Action::CreateReplicaSet(set) => {
                let object = encode::replica_set(flavour, workload, set);
                self.create_set(object, &set.name, cause).await.map(|()| None)
            }
            Action::UpdateReplicaSet(update) => {
                let patch = Patch::Merge(encode::update_patch(update));
                self.patch_set(&update.target, patch, cause).await.map(|_| None)
            }
            Action::DeleteReplicaSet(target) => self.delete_set(target, cause).await.map(|()| None),
            Action::CreateJob(new) => self.create_job(workload, new, cause).await.map(|()| None),
            Action::DeleteJob { name, uid } => self.delete_job(name, uid, cause).await.map(|()| None),
            Action::WriteStatus(write) => self.write_status(workload, write, cause).await.map(Some),
            Action::RollBack(write) => {
                let patch = Patch::Json(encode::rollback_patch(flavour, workload, write));
                self.patch_workload(patch, false, cause).await.map(Some)
            }
        }
    }
}

impl<P: Port> Cluster for Attempt<'_, P> {
    async fn owner(&self, workload: &Workload) -> Result<Option<Owner>, Refusal> {
        let live = self.get(Kind::Deployment, &self.key.name).await?;
        let owner = live.map(|live| {
            let deletion = live.parts().metadata.get("deletionTimestamp");
            Owner {
                uid: live.metadata("uid").to_owned(),
                deleting: deletion.is_some_and(|time| !time.is_null()),
            }
        });
        self.port.note(Note::Owner(workload, owner.as_ref()));
        Ok(owner)
    }

    async fn change_owner(&self, workload: &Workload, change: &OwnerChange) -> Result<String, Refusal> {
        let (target, patch) = match change {
            OwnerChange::Adopt(target) => {
                (target, encode::adopt_patch(self.engine.flavour, workload, target))
            }
            OwnerChange::Release(target) => (target, encode::release_patch(workload, target)),
        };
        let version = self.patch_set(target, Patch::Strategic(patch), Cause::OwnerChange(change)).await?;
        self.port.note(Note::OwnerChanged(change));
        Ok(version)
    }

    async fn ask(&self, workload: &Workload, ask: &Ask) -> Result<Answer, Refusal> {
        Ok(match ask {
            Ask::Template => Answer::Template(self.template(workload).await?),
            Ask::DryRun(set) => {
                let answer = self.dry_run(workload, set).await?;
                let stored = match &answer {
                    DryRun::Stored(digest) => Some(*digest),
                    DryRun::Refused => None,
                };
                self.port.note(Note::DryRun(stored));
                Answer::DryRun(answer)
            }
            Ask::SetTemplate { name, uid } => {
                Answer::SetTemplate(uid.clone(), self.set_template(name, uid).await?)
            }
            Ask::Job { name } => Answer::Job(self.job(name).await?),
            Ask::CheckJobs => Answer::JobsChecked(self.check_jobs(workload).await?),
            Ask::Pods => {
                let selector = workload.selector.as_ref().map(ToString::to_string).unwrap_or_default();
                let (key, uid) = (self.key.clone(), workload.uid.clone());
                match self.send(Request::ListPods { key, uid, selector }, Cause::Look).await? {
                    Reply::Pods(pods) => Answer::Pods(pods),
                    _ => return Err(Refusal::new(0, "", "the reply shows no pods".to_owned())),
                }
            }
        })
    }

    async fn replica_set(&self, workload: &Workload, name: &str) -> Result<Option<ReplicaSet>, Refusal> {
        let live = self.get_set(name).await?;
        let set = live.as_ref().map(|live| live::set(self.engine.flavour, live)).transpose()?;
        // The cache is behind this one, if the watch shows it at all.
        let shown = set.as_ref().filter(|set| is_watched(self.engine.flavour, set));
        let version = shown.map(|set| set.resource_version.as_str());
        self.engine.state().entry(self.key).ledger.settled(name, version, self.port.now());
        let Some((set, live)) = set.zip(live) else { return Ok(None) };
        self.port.note(Note::Found(&set));
        if set.is_changed(self.engine.flavour, workload) {
            self.found_changed(workload, name, &live.template().text()).await;
        }
        Ok(Some(set))
    }

    async fn act(&self, workload: &Workload, action: &Action) -> Result<Option<String>, Refusal> {
        let result = self.request(workload, action).await;
        self.port.note(Note::Acted(workload, action, result.as_ref().map(|_| ())));
        result
    }

    fn record(&self, workload: &Workload, event: &Event) {
        self.port.note(Note::Event(workload, event));
    }
}
