//! What may happen next in a state.

use plan::keys::{DESIRED_REPLICAS, MAX_REPLICAS, REVISION, ROLLOUT};
use plan::{Action, NewReplicaSet, Status, Target, UpdateReplicaSet};

use crate::door::{Next, Reconciles, Reply};
use crate::rules;
use crate::scope::{Breakage, Scope, Strategy};
use crate::state::{Deployment, Flight, Set, State};
use crate::view::{self, View};

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A reconcile takes its snapshot.
    Begin,
    /// The reconcile on its way makes its next write.
    Write,
    /// The operator ends in the middle of a reconcile; another one lists everything.
    Crash,
    DeliverDeployment,
    DeliverSet,
    /// The ReplicaSet controller makes or deletes the pods that are missing or too many.
    Manage(u8),
    /// The ReplicaSet controller writes the status.
    Report(u8),
    Ready(u8),
    Fail(u8),
    EditTemplate(u8),
    EditReplicas(u8),
    EditPause,
    EditPin(Option<u8>),
    /// Asks to abort this revision, which is the declared one.
    Abort(u8),
    ScaleSet(u8, u8),
}

/// The model: what to explore, and the production code.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) scope: Scope,
    pub(crate) strategy: plan::Strategy,
    pub(crate) reconciles: Reconciles,
    /// How many cuts counted on a report of an earlier size.
    pub(crate) trusting_cuts: usize,
    /// How many status writes were the first to report that another revision runs, and that none is good.
    pub(crate) reverts: [usize; 2],
}

/// What a step led to.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) state: State,
    /// The write, if there was one, and the server's answer.
    pub(crate) write: Option<(Action, Reply)>,
    /// The rules that are broken now.
    pub(crate) broken: Option<String>,
}

impl Model {
    pub(crate) fn new(scope: Scope) -> Self {
        let mut reconciles = Reconciles::default();
        reconciles.statuses.number(&Status::default());
        Self { scope, strategy: scope.strategy(), reconciles, trusting_cuts: 0, reverts: [0; 2] }
    }

    pub(crate) fn first(&self) -> State {
        let mut state = State::first(&self.scope);
        self.note_floor(&mut state);
        state
    }

    fn note_floor(&self, state: &mut State) {
        let view = state.flight.as_ref().and_then(|flight| self.reconciles.view(flight.view));
        rules::note_floor(state, view, &self.strategy);
    }

    /// All steps that nobody needs a budget for.
    pub(crate) fn regular(state: &State) -> Vec<Step> {
        let mut steps = vec![if state.flight.is_some() { Step::Write } else { Step::Begin }];
        steps.extend(state.deployment_lag.is_some().then_some(Step::DeliverDeployment));
        steps.extend(state.set_lag.is_some().then_some(Step::DeliverSet));
        for set in &state.sets {
            steps.extend((set.pods() != set.size).then_some(Step::Manage(set.uid)));
            steps.extend((set.reported != set.true_report()).then_some(Step::Report(set.uid)));
            steps.extend((set.unready > 0).then_some(Step::Ready(set.uid)));
        }
        steps
    }

    /// Faults, and what users do.
    fn irregular(&self, state: &State) -> Vec<Step> {
        let (budget, deployment) = (state.budget, &state.deployment);
        let mut steps = Vec::new();
        if budget.crashes > 0 && state.flight.is_some() {
            steps.push(Step::Crash);
        }
        if budget.failures > 0 {
            steps.extend(state.sets.iter().filter(|set| set.ready > 0).map(|set| Step::Fail(set.uid)));
        }
        if budget.edits > 0 {
            let templates = (0..self.scope.templates).filter(|number| *number != deployment.template);
            steps.extend(templates.map(Step::EditTemplate));
            let counts = (0..=self.scope.replicas).filter(|count| *count != deployment.replicas);
            steps.extend(counts.map(Step::EditReplicas));
            steps.push(Step::EditPause);
            let pins = (0..self.scope.templates).map(Some).chain([None]);
            let pins = pins.filter(|pin| self.scope.pins && *pin != deployment.pin);
            steps.extend(pins.map(Step::EditPin));
            let declared = state.declared().map(|set| set.revision).filter(|_| self.scope.reverts);
            steps.extend(declared.filter(|revision| deployment.abort != Some(*revision)).map(Step::Abort));
        }
        if budget.scales > 0 {
            for set in &state.sets {
                let sizes = (0..=self.scope.replicas).filter(|size| *size != set.size);
                steps.extend(sizes.map(|size| Step::ScaleSet(set.uid, size)));
            }
        }
        steps
    }

    pub(crate) fn steps(&self, state: &State) -> Vec<Step> {
        let mut steps = Self::regular(state);
        steps.extend(self.irregular(state));
        steps
    }

    /// The outcome of a step; `None` when it changes nothing.
    pub(crate) fn take(&mut self, from: &State, step: Step) -> Option<Outcome> {
        let mut state = from.clone();
        let mut write = None;
        let mut broken = None;
        match step {
            Step::Begin => self.begin(&mut state)?,
            Step::Write => {
                let (action, reply, rule) = self.write(&mut state)?;
                broken = rule;
                write = Some((action, reply));
            }
            Step::Crash => {
                state.budget.crashes -= 1;
                (state.flight, state.deployment_lag, state.set_lag) = (None, None, None);
            }
            Step::DeliverDeployment => state.deployment_lag = None,
            Step::DeliverSet => state.set_lag = None,
            Step::Manage(uid) => {
                let losses = manage(state.sets.iter_mut().find(|set| set.uid == uid)?);
                state.losses += losses;
            }
            Step::Report(uid) => state.write_set(uid, false, |set| set.reported = set.true_report()),
            Step::Ready(uid) => {
                let set = state.sets.iter_mut().find(|set| set.uid == uid)?;
                (set.unready, set.ready) = (set.unready - 1, set.ready + 1);
            }
            Step::Fail(uid) => {
                let set = state.sets.iter_mut().find(|set| set.uid == uid)?;
                (set.unready, set.ready) = (set.unready + 1, set.ready - 1);
                state.budget.failures -= 1;
                state.losses += 1;
            }
            Step::EditTemplate(template) => edit(&mut state, |it| it.template = template),
            Step::EditReplicas(replicas) => {
                edit(&mut state, |it| it.replicas = replicas);
                rules::lower_floor(&mut state, &self.strategy);
            }
            Step::EditPause => edit(&mut state, |it| it.paused = !it.paused),
            Step::EditPin(pin) => edit(&mut state, |it| it.pin = pin),
            Step::Abort(revision) => {
                state.budget.edits -= 1;
                // An annotation: the generation stays.
                state.write_deployment(false, |deployment| deployment.abort = Some(revision));
            }
            Step::ScaleSet(uid, size) => scale_set(&mut state, uid, size),
        }
        let broken = broken.or_else(|| rules::broken(&state));
        self.note_floor(&mut state);
        Some(Outcome { state, write, broken })
    }

    /// The user resumes, whatever the budget is: no paused Deployment comes to its end.
    pub(crate) fn resumed(&self, from: &State) -> State {
        let mut state = from.clone();
        state.budget.edits += 1;
        edit(&mut state, |deployment| deployment.paused = false);
        state
    }

    fn begin(&mut self, state: &mut State) -> Option<()> {
        let awaits = state.deployment_lag.as_ref().is_some_and(|lag| lag.is_own)
            || state.set_lag.as_ref().is_some_and(|lag| lag.is_own);
        if state.flight.is_some() || awaits && self.scope.breakage != Breakage::Ledger {
            return None;
        }
        let asks_for_pods = self.scope.strategy == Strategy::Recreate;
        let with_pods = state.sets.iter().filter(|set| asks_for_pods && set.pods() > 0);
        let with_pods = with_pods.map(|set| set.uid).collect();
        let deployment: Deployment = state.cached_deployment().clone();
        let view = View { deployment, sets: state.cached_sets(), with_pods };
        let lagging = state.set_lag.as_ref().map(|lag| lag.shown.uid);
        let fresh_sets = view.sets.iter().map(|set| set.uid).filter(|uid| Some(*uid) != lagging).collect();
        let flight = Flight {
            view: self.reconciles.view_number(view),
            answers: self.reconciles.no_answers(),
            is_deployment_fresh: state.deployment_lag.is_none(),
            fresh_sets,
        };
        if matches!(self.reconciles.next(&self.scope, flight.view, flight.answers), Next::Over) {
            return None;
        }
        if lagging.is_none() {
            state.is_scale_up_unseen = false;
        }
        state.flight = Some(flight);
        Some(())
    }

    fn write(&mut self, state: &mut State) -> Option<(Action, Reply, Option<String>)> {
        let flight = state.flight.clone()?;
        let Next::Write(action) = self.reconciles.next(&self.scope, flight.view, flight.answers) else {
            return None;
        };
        let before = state.clone();
        let reply = self.perform(state, &flight, &action);
        let view = self.reconciles.view(flight.view)?;
        let broken = match reply {
            Reply::Done => {
                let it = rules::Write { view, before: &before, after: state, strategy: &self.strategy };
                it.broken(&action)
            }
            _ => None,
        };
        if reply == Reply::Done && !self.scope.is_strict && rules::note_cut(state, view, &action) {
            self.trusting_cuts += 1;
        }
        let answers = self.reconciles.more_answers(flight.answers, reply.clone());
        let is_over = matches!(self.reconciles.next(&self.scope, flight.view, answers), Next::Over);
        state.flight = state.flight.take().filter(|_| !is_over).map(|flight| Flight { answers, ..flight });
        Some((*action, reply, broken))
    }

    /// The server: looks at preconditions, and stores.
    fn perform(&mut self, state: &mut State, flight: &Flight, action: &Action) -> Reply {
        let checks = self.scope.breakage != Breakage::Preconditions;
        let place = |state: &State, target: &Target| {
            let found = state.sets.iter().position(|set| view::uid_text(set.uid) == target.uid);
            let Some(place) = found else { return Err(Reply::NotFound) };
            let is_fresh = |set: &Set| flight.fresh_sets.contains(&set.uid);
            let is_seen =
                state.sets.get(place).is_some_and(is_fresh) && target.resource_version == view::VERSION;
            if is_seen || !checks { Ok(place) } else { Err(Reply::Conflict) }
        };
        match action {
            Action::CreateReplicaSet(new) => create(state, new),
            Action::UpdateReplicaSet(change) => match place(state, &change.target) {
                Ok(place) => update(state, place, change),
                Err(refused) => refused,
            },
            Action::DeleteReplicaSet(target) => match place(state, target) {
                Ok(place) => {
                    let set = state.sets.remove(place);
                    state.lag_set(set.uid, Some(set), place, true);
                    Reply::Done
                }
                Err(refused) => refused,
            },
            Action::WriteStatus(write) => {
                if checks && !flight.is_deployment_fresh {
                    return Reply::Conflict;
                }
                let before = self.reconciles.statuses.get(state.deployment.status);
                let is_first = |says: fn(&Status) -> bool| usize::from(says(&write.status) && !says(&before));
                self.reverts[0] += is_first(|status| status.ours.target.is_some());
                self.reverts[1] += is_first(rules::lacks_good);
                let status = self.reconciles.statuses.number(&write.status);
                state.write_deployment(true, |deployment| deployment.status = status);
                Reply::Done
            }
            Action::SetSelector(_) | Action::RollBack(_) => Reply::Conflict,
        }
    }
}

fn edit(state: &mut State, change: impl FnOnce(&mut Deployment)) {
    state.budget.edits -= 1;
    state.write_deployment(false, |deployment| {
        change(deployment);
        deployment.generation += 1;
    });
}

/// S9.21: of pods that are counters, those that are not ready go first. Returns how many available
/// ones go because somebody else took the size down.
fn manage(set: &mut Set) -> u8 {
    let (size, ready) = (set.size, set.ready);
    set.ready = ready.min(size);
    set.unready = size - set.ready;
    let is_foreign = std::mem::take(&mut set.is_foreign_cut);
    if is_foreign { ready - set.ready } else { 0 }
}

fn scale_set(state: &mut State, uid: u8, size: u8) {
    state.budget.scales -= 1;
    let Some(from) = state.set(uid).map(|set| set.size) else { return };
    state.is_scale_up_unseen |= size > from;
    state.write_set(uid, false, |set| {
        set.size = size;
        set.reported.is_observed = false;
        set.is_foreign_cut = size < from;
    });
}

fn create(state: &mut State, new: &NewReplicaSet) -> Reply {
    let named = |set: &&Set| view::set_name(set.template, set.collisions) == new.name;
    if let Some(taken) = state.sets.iter().find(named) {
        return Reply::Taken(Box::new(taken.object()));
    }
    let template = view::template_number(&new.template.tree());
    let collisions = (0..8).find(|count| view::set_name(template, *count) == new.name).unwrap_or(u8::MAX);
    let number = |key: &str| new.annotations.get(key).and_then(|text| text.parse().ok());
    let set = Set {
        uid: state.created,
        collisions,
        template,
        size: u8::try_from(new.size).unwrap_or(u8::MAX),
        revision: number(REVISION).unwrap_or(0),
        desired: number(DESIRED_REPLICAS),
        max: number(MAX_REPLICAS),
        memory: None,
        unready: 0,
        ready: 0,
        reported: crate::state::Reported { replicas: 0, available: 0, is_observed: false },
        is_foreign_cut: false,
    };
    state.created += 1;
    state.sets.push(set);
    state.lag_set(set.uid, None, state.sets.len() - 1, true);
    Reply::Done
}

fn update(state: &mut State, place: usize, change: &UpdateReplicaSet) -> Reply {
    let Some(uid) = state.sets.get(place).map(|set| set.uid) else { return Reply::NotFound };
    let number = |key: &str| change.annotations.get(key).and_then(|text| text.parse().ok());
    state.write_set(uid, true, |set| {
        if change.size_to != change.size_from {
            set.size = u8::try_from(change.size_to).unwrap_or(u8::MAX);
            set.is_foreign_cut &= change.size_to < change.size_from;
            set.reported.is_observed = false;
        }
        set.revision = number(REVISION).unwrap_or(set.revision);
        set.desired = number(DESIRED_REPLICAS).or(set.desired);
        set.max = number(MAX_REPLICAS).or(set.max);
        set.memory = change.annotations.get(ROLLOUT).map_or(set.memory, |text| view::memory(text));
    });
    // Its version is another one now.
    if let Some(flight) = &mut state.flight {
        flight.fresh_sets.retain(|fresh| *fresh != uid);
    }
    Reply::Done
}
