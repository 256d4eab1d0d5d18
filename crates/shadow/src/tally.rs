//! Counts the observations and reports them: as a line of text or JSON, and as metrics.

use std::collections::BTreeMap;

use prometheus::{Gauge, IntCounterVec, Opts, Registry};
use serde_json::{Value, json};

use crate::judge::Verdict;
use crate::sight::Ignored;

type Counts = BTreeMap<&'static str, u64>;

/// Counts since the start.
pub struct Tally {
    api: &'static str,
    /// Writes of the controller in charge by kind.
    writes: Counts,
    agreed: u64,
    /// Divergences by kind.
    diverged: Counts,
    /// Wanted deviations by rule.
    wanted: Counts,
    /// What was not compared, by kind.
    ignored: Counts,
    /// Idle Deployments that were looked at.
    at_rest: u64,
    at_rest_agreed: u64,
    meters: Meters,
}

/// What Prometheus reads.
struct Meters {
    writes: IntCounterVec,
    wanted: IntCounterVec,
    ignored: IntCounterVec,
    agreement: Gauge,
}

impl Meters {
    fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let counters = |name: &str, help: &str, labels: &[&str]| {
            let counters = IntCounterVec::new(Opts::new(name, help), labels)?;
            registry.register(Box::new(counters.clone()))?;
            Ok::<_, prometheus::Error>(counters)
        };
        let agreement = Gauge::new(
            "rollwright_shadow_agreement_ratio",
            "Agreed writes among those compared, wanted deviations aside.",
        )?;
        registry.register(Box::new(agreement.clone()))?;
        Ok(Self {
            writes: counters(
                "rollwright_shadow_writes_total",
                "Writes of the controller in charge, and idle Deployments that were checked.",
                &["kind", "verdict"],
            )?,
            wanted: counters(
                "rollwright_shadow_wanted_deviations_total",
                "Divergences on purpose.",
                &["rule"],
            )?,
            ignored: counters(
                "rollwright_shadow_ignored_total",
                "Changes that were not compared.",
                &["kind"],
            )?,
            agreement,
        })
    }
}

/// The kind under which states without a write are counted.
const AT_REST: &str = "at-rest";

impl Tally {
    /// Nothing has been counted yet.
    ///
    /// # Errors
    /// If the registry has metrics of these names already.
    pub fn new(api: &'static str, registry: &Registry) -> Result<Self, prometheus::Error> {
        let meters = Meters::new(registry)?;
        meters.agreement.set(f64::NAN);
        Ok(Self {
            api,
            writes: Counts::new(),
            agreed: 0,
            diverged: Counts::new(),
            wanted: Counts::new(),
            ignored: Counts::new(),
            at_rest: 0,
            at_rest_agreed: 0,
            meters,
        })
    }

    pub(crate) fn ignored(&mut self, ignored: Ignored) {
        *self.ignored.entry(ignored.word()).or_default() += 1;
        self.meters.ignored.with_label_values(&[ignored.word()]).inc();
    }

    /// A write was compared.
    pub(crate) fn write(&mut self, kind: &'static str, verdict: &Verdict) {
        if matches!(verdict, Verdict::Unknown) {
            return self.ignored(Ignored::Missed);
        }
        *self.writes.entry(kind).or_default() += 1;
        if matches!(verdict, Verdict::Agreed) {
            self.agreed += 1;
        }
        self.note(kind, verdict);
        self.meters.agreement.set(self.agreement().unwrap_or(f64::NAN));
    }

    /// An idle Deployment was looked at.
    pub(crate) fn looked_at_rest(&mut self, verdict: &Verdict) {
        self.at_rest += 1;
        if matches!(verdict, Verdict::Agreed) {
            self.at_rest_agreed += 1;
        }
        self.note(AT_REST, verdict);
    }

    fn note(&mut self, kind: &'static str, verdict: &Verdict) {
        let word = match verdict {
            Verdict::Agreed => "agreed",
            Verdict::Wanted(rule) => {
                *self.wanted.entry(*rule).or_default() += 1;
                self.meters.wanted.with_label_values(&[*rule]).inc();
                "wanted"
            }
            Verdict::Diverged(_) => {
                *self.diverged.entry(kind).or_default() += 1;
                "diverged"
            }
            Verdict::Unknown => return,
        };
        self.meters.writes.with_label_values(&[kind, word]).inc();
    }

    fn compared(&self) -> u64 {
        self.writes.values().sum()
    }

    /// Whether nothing of the controller in charge was seen although statuses change.
    #[must_use]
    pub fn sees_only_others(&self) -> bool {
        self.compared() == 0
            && self.ignored.get(Ignored::StatusByOthers.word()).is_some_and(|count| *count > 0)
    }

    /// Agreed writes among all compared, wanted deviations aside; `None` if that is none.
    fn agreement(&self) -> Option<f64> {
        let diverged = self.diverged.iter().filter(|(kind, _)| **kind != AT_REST);
        let diverged: u64 = diverged.map(|(_, count)| count).sum();
        let judged = self.agreed + diverged;
        if judged == 0 {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "nobody counts to 2^52")]
        let ratio = self.agreed as f64 / judged as f64;
        Some(ratio)
    }

    /// Everything, for machines.
    #[must_use]
    pub fn json(&self, deployments: usize, seconds: u64) -> Value {
        json!({
            "api": self.api,
            "seconds": seconds,
            "deployments": deployments,
            "writes": self.writes,
            "compared": self.compared(),
            "agreed": self.agreed,
            "diverged": self.diverged,
            "wanted": self.wanted,
            "ignored": self.ignored,
            "atRest": { "looks": self.at_rest, "agreed": self.at_rest_agreed },
            "agreement": self.agreement(),
        })
    }

    /// The same in a line.
    #[must_use]
    pub fn line(&self, deployments: usize, seconds: u64) -> String {
        let agreement = self.agreement().map_or_else(
            || "agreement unknown, since nothing was compared".to_owned(),
            |ratio| format!("agreement {:.3} %", ratio * 100.0),
        );
        format!(
            "{api} after {seconds} s: {deployments} deployments; writes {compared} ({writes}), agreed {agreed}, \
             diverged {diverged}, wanted {wanted}; idle {at_rest_agreed} of {at_rest} agree; \
             ignored {ignored}; {agreement}",
            api = self.api,
            compared = self.compared(),
            writes = list(&self.writes),
            agreed = self.agreed,
            diverged = list(&self.diverged),
            wanted = list(&self.wanted),
            at_rest_agreed = self.at_rest_agreed,
            at_rest = self.at_rest,
            ignored = list(&self.ignored),
        )
    }
}

fn list(counts: &Counts) -> String {
    if counts.is_empty() {
        return "none".to_owned();
    }
    counts.iter().map(|(kind, count)| format!("{kind} {count}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_compared_does_not_agree() {
        let mut tally = Tally::new("apps/v1", &Registry::new()).unwrap();
        assert!(
            tally.line(3, 60).ends_with("agreement unknown, since nothing was compared"),
            "{}",
            tally.line(3, 60)
        );
        assert_eq!(tally.json(3, 60)["agreement"], Value::Null);
        tally.write("create", &Verdict::Agreed);
        assert!(tally.line(3, 60).ends_with("agreement 100.000 %"), "{}", tally.line(3, 60));
    }
}
