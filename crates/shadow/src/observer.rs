//! Takes the events in order, picks out the writes of the active controller, and has them judged.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use api::decode::{self, Defaults};
use engine::rivalry::FIELD_MANAGER;
use jiff::{SignedDuration, Timestamp};
use plan::{Flavour, ReplicaSet, Workload};
use tracing::{debug, info, warn};

use crate::fleet::{Fleet, Item};
use crate::judge::{self, Divergence, Verdict};
use crate::keep::Keep;
use crate::news::{News, Signed, Which};
use crate::sight::{Change, Ignored, InCharge, Noticed, Sighting};
use crate::tally::Tally;
use engine::index::Key;

/// A write that agrees with nothing is judged once more after this time: one of the watches may
/// have been late with what the controller had seen.
const SECOND_LOOK: SignedDuration = SignedDuration::from_secs(2);
/// A Deployment without events for this long is idle.
const AT_REST_AFTER: SignedDuration = SignedDuration::from_secs(5);
/// And what has not been done after this time will not be: a controller that is busy, or that backs
/// off, is late and not wrong.
const PATIENCE: SignedDuration = SignedDuration::from_secs(120);
const SWEEP: SignedDuration = SignedDuration::from_secs(60);

/// Why each rollout is where it is, for the page `/why`.
pub type Reasons = Arc<Mutex<BTreeMap<Key, String>>>;

/// All that shadow knows.
pub struct Observer {
    flavour: Flavour,
    fleet: Fleet,
    in_charge: InCharge,
    /// What has been counted.
    pub tally: Tally,
    keep: Keep,
    reasons: Reasons,
    /// Up to this version states are known in part only.
    baseline: u64,
    listed: BTreeSet<Which>,
    doubtful: Vec<Sighting>,
    /// Deployments at which something happened: when, and when they are looked at next.
    stirred: HashMap<Key, (Timestamp, Timestamp)>,
    touched: BTreeSet<Key>,
    swept: Timestamp,
}

impl Observer {
    /// One that has seen nothing yet, beside the controller that writes as this field manager.
    #[must_use]
    pub fn new(flavour: Flavour, manager: String, tally: Tally, keep: Keep, reasons: Reasons) -> Self {
        Self {
            flavour,
            fleet: Fleet::new(flavour, manager == FIELD_MANAGER),
            in_charge: InCharge { manager },
            tally,
            keep,
            reasons,
            baseline: 0,
            listed: BTreeSet::new(),
            doubtful: Vec::new(),
            stirred: HashMap::new(),
            touched: BTreeSet::new(),
            swept: Timestamp::now(),
        }
    }

    /// Whether both kinds were listed.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.listed.len() == Which::ALL.len()
    }

    /// How many Deployments there are.
    #[must_use]
    pub fn deployments(&self) -> usize {
        self.fleet.keys().count()
    }

    /// All objects of a kind: at the start, and after a watch was interrupted for too long. Then
    /// nobody knows which writes led there.
    pub fn list(&mut self, which: Which, at: Timestamp, objects: Vec<Signed>) {
        let is_first = self.listed.insert(which);
        let mut gone: BTreeSet<String> = match which {
            Which::Deployments => self.fleet.keys().map(ToString::to_string).collect(),
            Which::ReplicaSets => self.fleet.set_uids().cloned().collect(),
        };
        for object in objects {
            let version = object.version();
            self.baseline = self.baseline.max(version);
            match which {
                Which::Deployments => gone.remove(&key_of(&object).to_string()),
                Which::ReplicaSets => gone.remove(object.uid()),
            };
            if self.take(which, (version, at), object, false).is_some() && !is_first {
                self.tally.ignored(Ignored::Missed);
            }
        }
        for lost in gone {
            self.lose(which, &lost, at);
        }
    }

    /// An object that is not listed any more.
    fn lose(&mut self, which: Which, lost: &str, at: Timestamp) {
        self.tally.ignored(Ignored::Missed);
        let version = self.baseline;
        match which {
            Which::Deployments => {
                if let Some((namespace, name)) = lost.split_once('/') {
                    let key = Key { namespace: namespace.to_owned(), name: name.to_owned() };
                    self.fleet.put_workload(&key, version, at, None);
                    self.touched.insert(key);
                }
            }
            Which::ReplicaSets => self.fleet.put_set("", lost, (version, at), None),
        }
    }

    /// An object has changed.
    pub fn see(&mut self, version: u64, news: News) {
        let News::Object { which, at, is_gone, object } = news else { return };
        let Some(noticed) = self.take(which, (version, at), *object, is_gone) else { return };
        match noticed {
            Noticed::Ignored(ignored) => self.tally.ignored(ignored),
            Noticed::Write(_) if version <= self.baseline => self.tally.ignored(Ignored::Missed),
            Noticed::Write(sighting) => self.judge(*sighting),
        }
    }

    fn judge(&mut self, sighting: Sighting) {
        match judge::judge(&self.fleet, &sighting) {
            Verdict::Diverged(_) | Verdict::Unknown => self.doubtful.push(sighting),
            verdict => self.tally.write(sighting.write.kind(), &verdict),
        }
    }

    /// Takes an object into the fleet. `None`: it is no news.
    fn take(
        &mut self,
        which: Which,
        now: (u64, Timestamp),
        signed: Signed,
        is_gone: bool,
    ) -> Option<Noticed> {
        match which {
            Which::Deployments => self.take_workload(now, signed, is_gone),
            Which::ReplicaSets => self.take_set(now, signed, is_gone),
        }
    }

    fn take_workload(
        &mut self,
        (version, at): (u64, Timestamp),
        signed: Signed,
        is_gone: bool,
    ) -> Option<Noticed> {
        let key = key_of(&signed);
        let mut body = signed.body;
        decode::slim(&mut body);
        let before = self.fleet.workload(&key).cloned();
        let after = match decode::workload(self.flavour, &body, Defaults::of(self.flavour)) {
            _ if is_gone => None,
            Ok(decoded) => Some(Arc::new(Item { decoded, body })),
            Err(problem) => {
                warn!(%key, %problem, "set aside: it cannot be understood");
                return Some(Noticed::Ignored(Ignored::Unreadable));
            }
        };
        let known = |item: &Arc<Item<Workload>>| item.decoded.resource_version.clone();
        if before.as_ref().map(known) == after.as_ref().map(known) {
            return None;
        }
        let (managed_fields, changed) = (&signed.managed_fields, after.clone());
        let change = Change { version, at, before, after: changed, managed_fields };
        let noticed = self.in_charge.workload(&key, change);
        self.fleet.put_workload(&key, version, at, after);
        self.stir(&key, at);
        Some(noticed)
    }

    fn take_set(
        &mut self,
        (version, at): (u64, Timestamp),
        signed: Signed,
        is_gone: bool,
    ) -> Option<Noticed> {
        let uid = signed.uid().to_owned();
        let namespace = signed.namespace().to_owned();
        let before = self.fleet.set(&uid).cloned();
        let after = match decode::replica_set(self.flavour, &signed.body) {
            _ if is_gone => None,
            Ok(decoded) => Some(Arc::new(Item { decoded, body: signed.body })),
            Err(problem) => {
                warn!(namespace, uid, %problem, "a ReplicaSet is set aside: it cannot be understood");
                return Some(Noticed::Ignored(Ignored::Unreadable));
            }
        };
        let known = |item: &Arc<Item<ReplicaSet>>| item.decoded.resource_version.clone();
        if before.as_ref().map(known) == after.as_ref().map(known) {
            return None;
        }
        let owners = [&before, &after].into_iter().flatten();
        let owners: Vec<Key> = owners
            .filter_map(|item| self.fleet.key_of(&namespace, item.decoded.controller_uid.as_ref()?).cloned())
            .collect();
        let managed_fields = &signed.managed_fields;
        let change = Change { version, at, before, after: after.clone(), managed_fields };
        let noticed = self.in_charge.set(&self.fleet, &namespace, change);
        self.fleet.put_set(&namespace, &uid, (version, at), after);
        for key in owners {
            self.stir(&key, at);
        }
        Some(noticed)
    }

    fn stir(&mut self, key: &Key, at: Timestamp) {
        self.touched.insert(key.clone());
        self.stirred.insert(key.clone(), (at, at + AT_REST_AFTER));
    }

    /// What is due: second looks, idle Deployments, reasons, forgetting. At the `end`, second looks are taken
    /// immediately.
    pub fn tick(&mut self, now: Timestamp, is_end: bool) {
        self.look_again(now, is_end);
        self.look_at_rest(now);
        self.tell_why(now);
        if self.swept + SWEEP < now {
            self.fleet.sweep(now);
            self.swept = now;
        }
    }

    fn look_again(&mut self, now: Timestamp, is_end: bool) {
        let (due, later) = std::mem::take(&mut self.doubtful)
            .into_iter()
            .partition(|sighting| is_end || sighting.at + SECOND_LOOK < now);
        self.doubtful = later;
        for sighting in due {
            let verdict = judge::judge(&self.fleet, &sighting);
            let kind = sighting.write.kind();
            if let Verdict::Wanted(rule) = &verdict {
                debug!(key = %sighting.key, kind, rule, "differs on purpose");
            }
            self.tally.write(kind, &verdict);
            if let Verdict::Diverged(divergence) = verdict {
                self.report(&divergence);
            }
        }
    }

    /// Each Deployment once after something happened; what looks wrong is looked at again.
    fn look_at_rest(&mut self, now: Timestamp) {
        let due = self.stirred.iter().filter(|(_, (_, look))| *look < now);
        let due: Vec<Key> = due.map(|(key, _)| key.clone()).collect();
        for key in due {
            let Some((at, _)) = self.stirred.remove(&key) else { continue };
            let Some(verdict) = judge::judge_rest(&self.fleet, &key, now) else { continue };
            match verdict {
                Verdict::Diverged(_) if now < at + PATIENCE => {
                    self.stirred.insert(key, (at, now + AT_REST_AFTER));
                }
                Verdict::Diverged(divergence) => {
                    self.report(&divergence);
                    self.tally.looked_at_rest(&Verdict::Diverged(divergence));
                }
                verdict => self.tally.looked_at_rest(&verdict),
            }
        }
    }

    fn report(&self, divergence: &Divergence) {
        let file = self.keep.save(self.flavour, divergence, self.fleet.reports_terminating);
        let file = file.map(|path| path.display().to_string());
        let kind = divergence.kind;
        warn!(key = %divergence.key, kind, file, "diverges: {divergence}");
    }

    /// As the operator would: each reason once.
    fn tell_why(&mut self, now: Timestamp) {
        for key in std::mem::take(&mut self.touched) {
            let why = judge::why(&self.fleet, &key, now).map(|why| why.to_string());
            let mut reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
            match why {
                None => {
                    reasons.remove(&key);
                    self.stirred.remove(&key);
                }
                Some(why) if reasons.get(&key) != Some(&why) => {
                    info!(%key, why, "rollout");
                    reasons.insert(key, why);
                }
                Some(_) => {}
            }
        }
    }
}

fn key_of(object: &Signed) -> Key {
    Key { namespace: object.namespace().to_owned(), name: object.name().to_owned() }
}

#[cfg(test)]
mod tests;
