//! Where a rollout is among its steps, as the ReplicaSet remembers it (SP-2, SP-4, SP-5): a part of its memory.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::model::intstr::IntOrPercent;
use crate::model::record::Promotion;
use crate::model::runs::Runs;

/// What a revision remembers of its steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Walk {
    /// The revision has no step: it was the first one with pods (SP-4).
    Without,
    /// The revision is at this step.
    At(Position),
}

/// Where a revision begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fresh {
    /// Its place among the steps, if there are any.
    pub(crate) walk: Option<Walk>,
    /// Its promotion, if somebody named its revision before.
    pub(crate) promote: Option<String>,
    /// The promotion, if it leads past the first step.
    pub(crate) promotion: Option<Promotion>,
    /// What it remembers of its Jobs.
    pub(crate) runs: Runs,
    /// The epoch in which it begins (HO-1).
    pub(crate) epoch: Option<String>,
}

/// A step, and what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// Name of the ReplicaSet that keeps the other pods (SP-3).
    pub(crate) kept: String,
    /// By what the list is recognized.
    pub(crate) list: String,
    /// The step, from 0; `None` for the end, whatever the list is.
    pub(crate) step: Option<usize>,
    /// Since it was reached.
    pub(crate) rest: Option<Rest>,
    /// How far the rollout may go, if a process decides that (CU-2).
    pub(crate) allowed: Option<Allowance>,
}

/// How many pods of a revision there may be under a deployment process (CU-2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Allowance {
    /// As the last word has it.
    pub(crate) updated: IntOrPercent,
    /// What a person asked for last: the process may not go below.
    pub(crate) least: Option<IntOrPercent>,
}

/// The wait at a step that was reached (SP-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    /// Since when, in whole seconds.
    pub(crate) since: Timestamp,
    /// How many pods have to be available without a break. Those that a change of R starts count once they were.
    pub(crate) pods: i64,
    /// Since when the clock stands still, because there are no replicas.
    pub(crate) stopped: Option<Timestamp>,
}

impl Walk {
    /// As the memory has it.
    pub(crate) fn value(&self) -> Value {
        let Self::At(Position { kept, list, step, rest, allowed }) = self else { return json!({}) };
        let time = |at: Option<Timestamp>| at.map(|at| at.to_string());
        let members = [
            ("kept", kept.as_str().into()),
            ("list", list.as_str().into()),
            ("step", step.map(|step| step.saturating_add(1)).into()),
            ("reached", time(rest.map(|rest| rest.since)).into()),
            ("pods", rest.map(|rest| rest.pods).into()),
            ("stopped", time(rest.and_then(|rest| rest.stopped)).into()),
            ("allowed", allowed.as_ref().map(|it| it.updated.to_string()).into()),
            ("least", allowed.as_ref().and_then(|it| Some(it.least.as_ref()?.to_string())).into()),
        ];
        let members = members.into_iter().filter(|(_, value): &(&str, Value)| !value.is_null());
        members.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// What cannot be read counts as lost.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let members = value.as_object()?;
        if members.is_empty() {
            return Some(Self::Without);
        }
        let text = |name: &str| Some(members.get(name)?.as_str()?.to_owned());
        let time = |name: &str| text(name)?.parse().ok();
        let step = match members.get("step") {
            Some(step) => Some(usize::try_from(step.as_u64()?.checked_sub(1)?).ok()?),
            None => None,
        };
        let rest = time("reached").map(|since| Rest {
            since,
            pods: members.get("pods").and_then(Value::as_i64).unwrap_or(0).max(0),
            stopped: time("stopped"),
        });
        let share = |name: &str| IntOrPercent::share(&text(name)?);
        let allowed = share("allowed").map(|updated| Allowance { updated, least: share("least") });
        Some(Self::At(Position { kept: text("kept")?, list: text("list")?, step, rest, allowed }))
    }

    pub(crate) fn position(&self) -> Option<&Position> {
        match self {
            Self::At(position) => Some(position),
            Self::Without => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_is_read_as_it_is_written() {
        let since = "2026-04-01T12:00:00Z".parse().unwrap();
        let rest = Rest { since, pods: 3, stopped: None };
        let stopped = Rest { stopped: Some(since), ..rest };
        let at = |step, rest| {
            Walk::At(Position { kept: "web-a".to_owned(), list: "5f".to_owned(), step, rest, allowed: None })
        };
        let share = |text| IntOrPercent::share(text).unwrap();
        let allowance = |least| Some(Allowance { updated: share("30%"), least });
        let custom = |least| {
            Walk::At(Position {
                kept: "web-a".to_owned(),
                list: "custom".to_owned(),
                step: Some(0),
                rest: None,
                allowed: allowance(least),
            })
        };
        let walks = [
            Walk::Without,
            at(None, None),
            at(Some(0), None),
            at(Some(19), Some(rest)),
            at(Some(1), Some(stopped)),
            custom(None),
            custom(Some(share("2"))),
        ];
        for walk in walks {
            assert_eq!(Walk::read(&walk.value()), Some(walk.clone()), "{}", walk.value());
        }
    }

    #[test]
    fn what_cannot_be_read_is_lost() {
        for garbage in [
            json!(null),
            json!("x"),
            json!([]),
            json!({"kept": "web-a"}),
            json!({"kept": "web-a", "list": 5}),
            json!({"kept": "web-a", "list": "5f", "step": 0}),
            json!({"kept": "web-a", "list": "5f", "step": "1"}),
        ] {
            assert_eq!(Walk::read(&garbage), None, "{garbage}");
        }
        let odd = json!({"kept": "web-a", "list": "5f", "step": 1, "reached": "then", "pods": -1});
        let position = Walk::read(&odd);
        assert_eq!(position.as_ref().and_then(Walk::position).map(|it| it.rest), Some(None));
    }
}
