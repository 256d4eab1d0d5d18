//! What a ReplicaSet remembers of the Jobs of its rollout (GA-2): a part of its memory.

use std::hash::Hasher as _;

use fnv::FnvHasher;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::model::checkpoint::Checkpoint;
use crate::model::observed::Workload;

/// The longest name that a Job may have: its pods get it as the value of a label.
const NAME_LENGTH_MAX: usize = 63;

/// The Jobs of a revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runs {
    /// The hooks that the revision began with, before and after it: it runs no other one (GA-6).
    pub(crate) hooks: Vec<Checkpoint>,
    /// Whether it runs no Jobs at all, also not at its steps (GA-6).
    pub(crate) skips: bool,
    /// How many Jobs were begun, so that no two have the same name.
    pub(crate) attempts: i64,
    /// The one that has to end now.
    pub(crate) open: Option<Run>,
    /// The checkpoints that were passed or failed.
    pub(crate) ended: Vec<Ended>,
}

/// A Job without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) at: Checkpoint,
    /// The digest of its template.
    pub(crate) digest: String,
    /// Its uid, once it was seen.
    pub(crate) uid: Option<String>,
    /// Since when its pod was seen running, in whole seconds.
    pub(crate) running: Option<Timestamp>,
    /// Whether somebody deleted one before it.
    pub(crate) is_second: bool,
}

/// A checkpoint with a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) at: Checkpoint,
    pub(crate) digest: String,
    /// Why it failed; `None` if it was passed.
    pub(crate) cause: Option<String>,
}

impl Runs {
    /// The result of a checkpoint, if it is that of this template.
    pub(crate) fn ended(&self, at: Checkpoint, digest: &str) -> Option<&Ended> {
        self.ended.iter().find(|ended| ended.at == at && ended.digest == digest)
    }

    /// The Job at this checkpoint ended like this.
    pub(crate) fn end(&mut self, run: Run, cause: Option<String>) {
        self.ended.retain(|ended| ended.at != run.at);
        self.ended.push(Ended { at: run.at, digest: run.digest, cause });
        self.open = None;
    }

    /// Another Job has to end now.
    pub(crate) fn begin(&mut self, at: Checkpoint, digest: &str, is_second: bool) {
        self.attempts = self.attempts.saturating_add(1);
        self.open = Some(Run { at, digest: digest.to_owned(), uid: None, running: None, is_second });
    }

    /// The name of the Job that has to end now, such as `web-7-2-1`: Deployment, revision, checkpoint, attempt (GA-2).
    pub(crate) fn name(&self, deployment: &str, revision: i64, at: Checkpoint) -> String {
        let end = format!("-{revision}-{}-{}", at.text(), self.attempts);
        let room = NAME_LENGTH_MAX.saturating_sub(end.len());
        if deployment.len() <= room {
            return format!("{deployment}{end}");
        }
        let mut hasher = FnvHasher::default();
        hasher.write(deployment.as_bytes());
        let hash = format!("-{:08x}", hasher.finish() & u64::from(u32::MAX));
        let cut = deployment.get(..room.saturating_sub(hash.len())).unwrap_or_default();
        format!("{}{hash}{end}", cut.trim_end_matches(['-', '.']))
    }

    /// As the memory has it; null if there is nothing to remember.
    pub(crate) fn value(&self) -> Value {
        let ended = |it: &Ended| {
            members([
                ("at", it.at.text().into()),
                ("template", it.digest.as_str().into()),
                ("cause", it.cause.as_deref().into()),
            ])
        };
        let open = |it: &Run| {
            members([
                ("at", it.at.text().into()),
                ("template", it.digest.as_str().into()),
                ("uid", it.uid.as_deref().into()),
                ("running", it.running.map(|time| time.to_string()).into()),
                ("second", it.is_second.then_some(true).into()),
            ])
        };
        let all: Vec<Value> = self.ended.iter().map(ended).collect();
        let hooks = self.hooks.iter().map(|at| at.text().into()).collect();
        let value = members([
            ("hooks", Some(hooks).filter(|hooks: &Vec<Value>| !hooks.is_empty()).into()),
            ("skipped", self.skips.then_some(true).into()),
            ("attempts", Some(self.attempts).filter(|count| *count > 0).into()),
            ("open", self.open.as_ref().map(open).into()),
            ("ended", Some(all).filter(|all| !all.is_empty()).into()),
        ]);
        if value == json!({}) { Value::Null } else { value }
    }

    /// What cannot be read counts as lost.
    pub(crate) fn read(value: &Value) -> Self {
        let checkpoint = |value: &Value| {
            let text = |name: &str| value.get(name).and_then(Value::as_str);
            Some((Checkpoint::read(text("at")?)?, text("template")?.to_owned()))
        };
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let ended = |value: &Value| {
            let (at, digest) = checkpoint(value)?;
            Some(Ended { at, digest, cause: text(value, "cause") })
        };
        let open = |value: &Value| {
            let (at, digest) = checkpoint(value)?;
            let running = text(value, "running").and_then(|time| time.parse().ok());
            let is_second = value.get("second") == Some(&Value::Bool(true));
            Some(Run { at, digest, uid: text(value, "uid"), running, is_second })
        };
        let all = value.get("ended").and_then(Value::as_array);
        let hooks = value.get("hooks").and_then(Value::as_array);
        Self {
            hooks: hooks.into_iter().flatten().filter_map(|at| Checkpoint::read(at.as_str()?)).collect(),
            skips: value.get("skipped") == Some(&Value::Bool(true)),
            attempts: value.get("attempts").and_then(Value::as_i64).unwrap_or(0).max(0),
            open: value.get("open").and_then(open),
            ended: all.into_iter().flatten().filter_map(ended).collect(),
        }
    }
}

impl Runs {
    /// Why the revision fails by a Job, in words: by a gate only where a policy judges it, by a hook in any case (GA-7).
    pub(crate) fn failure(&self, is_judged: bool) -> Option<String> {
        let counts = |at: Checkpoint| is_judged || at.step().is_none();
        let failed = self.ended.iter().filter(|ended| counts(ended.at));
        failed
            .filter_map(|ended| Some(format!("{} failed: {}", ended.at.words(), ended.cause.as_ref()?)))
            .next()
    }

    /// Whether a hook failed: without a policy, somebody has to act.
    pub(crate) fn has_failed_hook(&self) -> bool {
        self.failure(false).is_some()
    }

    /// Whether the revision is good, as far as hooks show.
    pub(crate) fn has_served(&self, workload: &Workload) -> bool {
        let is_over = |ended: &Ended| ended.at == Checkpoint::After && ended.cause.is_none();
        !self.hooks.contains(&Checkpoint::After)
            || workload.after_hook.is_none()
            || self.ended.iter().any(is_over)
    }
}

fn members<const N: usize>(all: [(&str, Value); N]) -> Value {
    let known = all.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(known.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_read_as_they_are_written_and_what_cannot_be_read_is_lost() {
        let mut runs = Runs { hooks: vec![Checkpoint::After], ..Runs::default() };
        assert_eq!(Runs::read(&runs.value()), runs);
        runs.begin(Checkpoint::Before, "5f", false);
        assert_eq!(Runs::read(&runs.value()), runs);
        let open =
            Run { uid: Some("u".into()), running: Some(Timestamp::UNIX_EPOCH), ..runs.open.clone().unwrap() };
        runs.end(open, None);
        runs.begin(Checkpoint::Step(1), "60", true);
        runs.end(runs.open.clone().unwrap(), Some("exit code 1".into()));
        assert_eq!(Runs::read(&runs.value()), runs);
        assert_eq!(Runs::default().value(), Value::Null);
        let garbage = json!({"attempts": -1, "open": {"at": "0"}, "ended": [{"at": "later"}, 5, null]});
        assert_eq!(Runs::read(&garbage), Runs::default());
    }

    #[test]
    fn the_name_of_a_job_has_revision_checkpoint_and_attempt_and_is_never_too_long() {
        let runs = Runs { attempts: 3, ..Runs::default() };
        assert_eq!(runs.name("web", 7, Checkpoint::Step(1)), "web-7-2-3");
        assert_eq!(runs.name("web", 7, Checkpoint::Before), "web-7-before-3");
        let (long, other) = ("a".repeat(253), format!("{}b", "a".repeat(252)));
        let name = |deployment: &str| runs.name(deployment, 1_000_000, Checkpoint::After);
        assert_eq!(name(&long).len(), NAME_LENGTH_MAX);
        assert_ne!(name(&long), name(&other), "they begin with the same letters");
    }
}
