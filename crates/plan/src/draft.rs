//! A plan in the making: the claimed sets as the plan will leave them, and the actions so far.

use std::borrow::Cow;
use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::action::{
    Action, Event, NewReplicaSet, Plan, Planned, Purpose, StatusWrite, Target, UpdateReplicaSet, Wake,
};
use crate::bug::{Bug, has};
use crate::counters::{self, reads};
use crate::fenceposts;
use crate::keys::{DESIRED_REPLICAS, MAX_REPLICAS, REVISION, reason};
use crate::kstatus::Standing;
use crate::observed::{Map, Observed, ReplicaSet, Workload};
use crate::scale::replica_count;
use crate::selector::LabelSelector;
use crate::status::Status;
use crate::why::Why;
use crate::{revision, rollout};

/// A claimed set: as seen, and as the actions so far will leave it.
#[derive(Debug)]
pub(crate) struct SetDraft<'a> {
    /// The set as it was seen; its status never changes within a pass.
    pub(crate) seen: &'a ReplicaSet,
    /// `spec.replicas` after the actions so far.
    pub(crate) size: i64,
    /// Annotations that the actions so far set.
    overlay: Map,
    /// Index of the action that updates this set, if there is one.
    update: Option<usize>,
    /// Whether the plan deletes the set.
    is_deleted: bool,
}

impl<'a> SetDraft<'a> {
    /// An annotation after the actions so far.
    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.overlay.get(key).or_else(|| self.seen.annotations.get(key)).map(String::as_str)
    }

    pub(crate) fn is_active(&self) -> bool {
        self.size > 0
    }

    /// Whether the plan writes to the set.
    pub(crate) fn is_updated(&self) -> bool {
        self.update.is_some()
    }

    /// Whether the plan deletes the set.
    pub(crate) fn is_deleted(&self) -> bool {
        self.is_deleted
    }

    /// `desired-replicas`, if it is a valid count (S8.2).
    pub(crate) fn desired_annotation(&self) -> Option<i64> {
        self.annotation(DESIRED_REPLICAS).and_then(replica_count)
    }

    /// `max-replicas`, if it is a valid count (S8.2).
    pub(crate) fn max_annotation(&self) -> Option<i64> {
        self.annotation(MAX_REPLICAS).and_then(replica_count)
    }

    pub(crate) fn target(&self) -> Target {
        let ReplicaSet { name, uid, resource_version, .. } = self.seen;
        Target { name: name.clone(), uid: uid.clone(), resource_version: resource_version.clone() }
    }
}

/// The set that the plan creates.
#[derive(Debug)]
pub(crate) struct Created {
    pub(crate) name: String,
    pub(crate) size: i64,
    pub(crate) revision: i64,
}

/// A plan in the making.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    pub(crate) observed: &'a Observed,
    pub(crate) workload: &'a Workload,
    pub(crate) now: Timestamp,
    /// How many pods above R there may be (S6.3).
    pub(crate) max_surge: i64,
    /// R − MaxUnavailable (S6.4); R itself under Recreate (S9.8).
    pub(crate) min_available: i64,
    /// Claimed sets, oldest first, the new one among them.
    pub(crate) sets: Vec<SetDraft<'a>>,
    /// Index of the new set in `sets`.
    pub(crate) new: Option<usize>,
    pub(crate) created: Option<Created>,
    /// The status in hand when the creation was planned: what is written if it fails.
    pub(crate) before_create: Option<Cow<'a, Status>>,
    /// The status in hand: as stored, with the condition edits of this pass (S9). Most passes change
    /// nothing, so it is copied when the first edit comes.
    pub(crate) status: Cow<'a, Status>,
    /// apps/v1: the revision annotation that the Deployment should have (S4.4).
    pub(crate) revision_annotation: Option<String>,
    /// Sum of sizes for `unavailableReplicas`, see [`Self::note_sizes`].
    pub(crate) noted_size: i64,
    /// See [`Plan::size_before_step`].
    pub(crate) size_before_step: Option<i64>,
    pub(crate) actions: Vec<Planned>,
    /// Where the status write belongs if it must not wait for the end of the pass.
    pub(crate) status_at: Option<usize>,
    /// Whether an early status write stands alone: sets were changed after it, so that the
    /// counters are left to the next pass, which sees what became of them.
    pub(crate) is_report_deferred: bool,
    pub(crate) events: Vec<Event>,
    pub(crate) wake: Wake,
    pub(crate) why: Why,
    pub(crate) error: Option<String>,
    pub(crate) deviations: BTreeSet<&'static str>,
    /// See [`Plan::on_the_way`].
    pub(crate) on_the_way: Vec<Status>,
}

impl<'a> Draft<'a> {
    /// Starts from the claimed sets of a snapshot.
    pub(crate) fn new(observed: &'a Observed, mut claimed: Vec<&'a ReplicaSet>, now: Timestamp) -> Self {
        claimed.sort_by(|a, b| a.age_order(b));
        let sets: Vec<_> = claimed
            .into_iter()
            .map(|seen| SetDraft {
                seen,
                size: seen.size,
                overlay: Map::new(),
                update: None,
                is_deleted: false,
            })
            .collect();
        let (strategy, replicas) = (&observed.workload.strategy, observed.workload.replicas);
        let mut draft = Self {
            observed,
            workload: &observed.workload,
            now,
            max_surge: fenceposts::max_surge(strategy, replicas),
            min_available: replicas.saturating_sub(fenceposts::max_unavailable(strategy, replicas)),
            sets,
            new: None,
            created: None,
            before_create: None,
            status: Cow::Borrowed(&observed.workload.status),
            revision_annotation: None,
            noted_size: 0,
            size_before_step: None,
            actions: Vec::new(),
            status_at: None,
            is_report_deferred: false,
            events: Vec::new(),
            wake: Wake::OnChange,
            why: Why::Converged,
            error: None,
            deviations: BTreeSet::new(),
            on_the_way: Vec::new(),
        };
        draft.note_sizes();
        draft
    }

    /// Takes the present sizes as those that the status reports: the results of scaling are
    /// not folded into the status of the same step (S9).
    pub(crate) fn note_sizes(&mut self) {
        self.noted_size = self.total_size();
    }

    pub(crate) fn new_set(&self) -> Option<&SetDraft<'a>> {
        self.new.and_then(|index| self.sets.get(index))
    }

    /// The name of the new set, there or to be created.
    pub(crate) fn new_name(&self) -> Option<&str> {
        self.new_set()
            .map(|set| set.seen.name.as_str())
            .or(self.created.as_ref().map(|set| set.name.as_str()))
    }

    pub(crate) fn has_new(&self) -> bool {
        self.new.is_some() || self.created.is_some()
    }

    pub(crate) fn new_size(&self) -> i64 {
        self.new_set().map_or(0, |set| set.size) + self.created.as_ref().map_or(0, |set| set.size)
    }

    /// The revision of the new set after the actions so far.
    pub(crate) fn new_revision(&self) -> Option<i64> {
        match (&self.created, self.new_set()) {
            (Some(created), _) => Some(created.revision),
            (None, Some(set)) => revision::parse(set.annotation(REVISION)).number(),
            (None, None) => None,
        }
    }

    /// Sum of sizes of all sets.
    pub(crate) fn total_size(&self) -> i64 {
        self.sets.iter().map(|set| set.size).sum::<i64>() + self.created.as_ref().map_or(0, |set| set.size)
    }

    /// Indices of the old sets, oldest first.
    pub(crate) fn olds(&self) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let new = self.new;
        (0..self.sets.len()).filter(move |index| Some(*index) != new)
    }

    /// Indices of the old sets that should have pods, oldest first.
    pub(crate) fn active_olds(&self) -> Vec<usize> {
        let active = |index: &usize| self.sets.get(*index).is_some_and(SetDraft::is_active);
        self.olds().filter(active).collect()
    }

    pub(crate) fn size_of(&self, index: usize) -> i64 {
        self.sets.get(index).map_or(0, |set| set.size)
    }

    pub(crate) fn available_of(&self, index: usize) -> i64 {
        if has(Bug::ReadyCountsAsAvailable) {
            return self.sets.get(index).map_or(0, |set| set.seen.status.ready);
        }
        self.sets.get(index).map_or(0, |set| set.seen.status.available)
    }

    /// How many pods there may be, within what a size can be (S8.7 without its overflow).
    pub(crate) fn max_total(&self) -> i64 {
        self.workload.replicas.saturating_add(self.max_surge).min(i64::from(i32::MAX))
    }

    /// Records that a branch deviates from a rule on purpose.
    pub(crate) fn deviate(&mut self, rule: &'static str) {
        self.deviations.insert(rule);
    }

    /// The status in hand changed in a way that is written before anything else (S4.4, S13.1).
    pub(crate) fn status_is_early(&mut self) {
        if self.observed.options.tells_steps {
            self.on_the_way.push(Status::clone(&self.status));
        }
        self.status_at.get_or_insert(self.actions.len());
    }

    /// Sets are changed: a status that is written before that says nothing of counters.
    pub(crate) fn defer_report(&mut self) {
        self.is_report_deferred = self.status_at.is_some();
    }

    /// Plans annotations (and `minReadySeconds`) for the set at `index`.
    pub(crate) fn sync_set(&mut self, index: usize, annotations: Map) {
        let wanted = self.workload.min_ready_seconds;
        self.annotate_set(index, annotations);
        let Some(seen) = self.sets.get(index).map(|set| set.seen.min_ready_seconds) else { return };
        if seen != wanted
            && let Some(update) = self.update_of(index, Purpose::Sync)
        {
            update.min_ready_seconds = Some((seen, wanted));
        }
    }

    /// Plans annotations alone.
    pub(crate) fn annotate_set(&mut self, index: usize, annotations: Map) {
        if let Some(update) = self.update_of(index, Purpose::Sync) {
            update.annotations.extend(annotations.clone());
        }
        if let Some(set) = self.sets.get_mut(index) {
            set.overlay.extend(annotations);
        }
    }

    /// Resizes the set at `index`, and refreshes its replicas annotations (S8.9).
    /// Returns whether the size changes.
    pub(crate) fn scale(&mut self, index: usize, size: i64, purpose: Purpose) -> bool {
        self.size_of(index) != size && self.scale_and_annotate(index, size, purpose)
    }

    /// As [`Self::scale`], but annotations are refreshed at an equal size too ("force" of S8.9).
    pub(crate) fn scale_and_annotate(&mut self, index: usize, size: i64, purpose: Purpose) -> bool {
        // S8.7 without its overflow: sizes stay within what the API can carry.
        let size = size.clamp(0, i64::from(i32::MAX));
        let Some(set) = self.sets.get(index) else { return false };
        let (from, seen) = (set.size, set.seen);
        let annotations = self.stale_annotations(set);
        if from == size && annotations.is_empty() {
            return false;
        }
        self.defer_report();
        let Some(update) = self.update_of(index, purpose) else { return false };
        update.size_to = size;
        update.annotations.extend(annotations.clone());
        if let Some(set) = self.sets.get_mut(index) {
            set.size = size;
            set.overlay.extend(annotations);
        }
        if from != size {
            let event = scaled_event(&seen.name, from, size);
            let action = self.sets.get(index).and_then(|set| set.update);
            if let Some(planned) = action.and_then(|index| self.actions.get_mut(index)) {
                planned.events.push(event);
            }
        }
        from != size
    }

    /// `desired-replicas` and `max-replicas` as of now (S4.14).
    pub(crate) fn replicas_annotations(&self) -> Map {
        self.replicas_counts().map(|(key, count)| (key.to_owned(), count.to_string())).into()
    }

    fn replicas_counts(&self) -> [(&'static str, i64); 2] {
        [(DESIRED_REPLICAS, self.workload.replicas), (MAX_REPLICAS, self.max_total())]
    }

    /// Those of [`Self::replicas_annotations`] that a set does not have as they should be; in the
    /// middle of a rollout mostly none.
    fn stale_annotations(&self, set: &SetDraft<'_>) -> Map {
        let is_stale =
            |(key, count): &(&str, i64)| !set.annotation(key).is_some_and(|text| reads(text, count));
        let stale = self.replicas_counts().into_iter().filter(is_stale);
        stale.map(|(key, count)| (key.to_owned(), count.to_string())).collect()
    }

    /// The one update of a set; later changes in the same pass join it.
    fn update_of(&mut self, index: usize, purpose: Purpose) -> Option<&mut UpdateReplicaSet> {
        let set = self.sets.get_mut(index)?;
        let at = match set.update {
            Some(at) => at,
            None => {
                let update = UpdateReplicaSet {
                    target: set.target(),
                    size_from: set.size,
                    size_to: set.size,
                    min_ready_seconds: None,
                    annotations: Map::new(),
                    purpose,
                };
                self.actions.push(Planned { action: Action::UpdateReplicaSet(update), events: Vec::new() });
                *set.update.insert(self.actions.len() - 1)
            }
        };
        match &mut self.actions.get_mut(at)?.action {
            Action::UpdateReplicaSet(update) => {
                if purpose != Purpose::Sync {
                    update.purpose = purpose;
                }
                Some(update)
            }
            _ => None,
        }
    }

    /// Moves the update of a set behind all actions so far.
    pub(crate) fn update_last(&mut self, index: usize) {
        let Some(at) = self.sets.get(index).and_then(|set| set.update) else { return };
        let planned = self.actions.remove(at);
        self.actions.push(planned);
        let last = self.actions.len() - 1;
        for update in self.sets.iter_mut().filter_map(|set| set.update.as_mut()) {
            match (*update).cmp(&at) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => *update = last,
                std::cmp::Ordering::Greater => *update -= 1,
            }
        }
    }

    /// Plans the creation of the new set.
    pub(crate) fn create(&mut self, set: NewReplicaSet, revision: i64) {
        let events = if set.size > 0 { vec![scaled_event(&set.name, 0, set.size)] } else { Vec::new() };
        // On our kind the status after a refusal is about the current generation too: for a
        // reader of `observedGeneration`, an older one is never final.
        let is_counted = self.observed.flavour.has_status_extras();
        self.before_create = Some(if is_counted { counters::calculate(self) } else { self.status.clone() });
        self.created = Some(Created { name: set.name.clone(), size: set.size, revision });
        self.actions.push(Planned { action: Action::CreateReplicaSet(Box::new(set)), events });
        if self.status_at.is_some() {
            // What the status says of the new set is true only once the set is there.
            self.status_at = Some(self.actions.len());
        }
        self.note_sizes();
    }

    /// Plans the deletion of the set at `index`.
    pub(crate) fn delete(&mut self, index: usize) {
        let Some(set) = self.sets.get_mut(index) else { return };
        set.is_deleted = true;
        let mut target = set.target();
        if has(Bug::DeleteUnconditional) {
            target.uid.clear();
            target.resource_version.clear();
        }
        self.defer_report();
        self.push(Action::DeleteReplicaSet(target), Vec::new());
    }

    /// Plans an action that says nothing.
    pub(crate) fn push(&mut self, action: Action, events: Vec<Event>) {
        self.actions.push(Planned { action, events });
    }

    /// Plans the one status write of the pass, if anything changed. Returns whether it did.
    pub(crate) fn write_status(&mut self, computed: Cow<'a, Status>) -> bool {
        if self.created.is_some() && self.status_at.is_some() && computed != self.status {
            // Upstream writes twice from one copy of the object, and trips over itself.
            self.deviate("S4.5");
        }
        let mut status = if self.keeps_counters() { self.status.clone() } else { computed };
        if has(Bug::GenerationAhead) {
            status.to_mut().observed_generation = self.workload.generation;
        }
        let annotation = self.revision_annotation.take();
        let annotation = annotation.filter(|value| self.workload.annotations.get(REVISION) != Some(value));
        let standing = self.standing(&status);
        if let Some(standing) = &standing {
            standing.note(&mut status, self.now);
        }
        if self.is_stored(&status) && annotation.is_none() && !has(Bug::StatusWrittenAlways) {
            return false;
        }
        if let Some(standing) = standing {
            standing.reword(&mut status.to_mut().conditions);
        }
        let at = self.status_at.unwrap_or(self.actions.len()).min(self.actions.len());
        let write = StatusWrite { status: status.into_owned(), revision_annotation: annotation };
        let events = if self.observed.flavour.has_status_extras() {
            rollout::events(self.workload, &write, self.new_name(), &self.why)
        } else {
            Vec::new()
        };
        self.actions.insert(at, Planned { action: Action::WriteStatus(Box::new(write)), events });
        for set in &mut self.sets {
            if let Some(update) = &mut set.update
                && *update >= at
            {
                *update += 1;
            }
        }
        true
    }

    /// Whether the status is written with the counters of before. On our kind, never with those of
    /// this very generation: the sets that they were counted from may be gone, and who waits for the
    /// rollout would take them for those of now.
    fn keeps_counters(&self) -> bool {
        let is_of_before = self.status.observed_generation < self.workload.generation;
        self.is_report_deferred && (is_of_before || !self.observed.flavour.has_status_extras())
    }

    /// Whether the status is the stored one; mostly it is not even a copy.
    fn is_stored(&self, status: &Status) -> bool {
        let stored = &self.workload.status;
        std::ptr::eq(status, stored) || status == stored
    }

    /// What the status says of the rollout as a whole (our kind).
    fn standing(&self, status: &Status) -> Option<Standing<'_>> {
        if !self.observed.flavour.has_status_extras() {
            return None;
        }
        if self.workload.selector.as_ref().is_none_or(LabelSelector::is_empty) {
            return Some(Standing::selecting_all(&self.why));
        }
        Some(Standing::of(status, self.workload, self.has_new(), &self.why))
    }

    /// The plan as it stands.
    pub(crate) fn finish(self) -> Plan {
        let why = self.why.beside(&self.workload.namespace, &self.observed.answers.orphans);
        let Self { actions, events, wake, error, deviations, on_the_way, size_before_step, .. } = self;
        let in_hand = self.before_create.map(Cow::into_owned);
        Plan { actions, events, wake, why, error, deviations, on_the_way, in_hand, size_before_step }
    }
}

fn scaled_event(name: &str, from: i64, to: i64) -> Event {
    let direction = if to > from { "up" } else { "down" };
    Event::normal(
        reason::SCALING_REPLICA_SET,
        format!("Scaled {direction} replica set {name} from {from} to {to}"),
    )
}
