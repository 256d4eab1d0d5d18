//! The contents of a Lease.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

/// The spec of a Lease, as far as elections go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Who holds it; empty for nobody.
    pub holder: String,
    /// Seconds that it lasts without being renewed.
    pub duration_seconds: i64,
    /// Since when this holder has it, by the holder's clock; `None` if the record does not have it.
    pub acquired: Option<String>,
    /// When it was renewed last, by the holder's clock. Differs with every renewal, and that is all
    /// that anybody reads out of it.
    pub renewed: Option<String>,
    /// How often it has changed hands.
    pub transitions: i64,
}

impl Record {
    /// Reads the `spec` of a Lease. What is missing or of the wrong type counts as absent, which makes the lease free
    /// rather than held for ever.
    #[must_use]
    pub fn from_spec(spec: &Value) -> Self {
        let text = |field: &str| spec.get(field).and_then(Value::as_str).map(str::to_owned);
        let number = |field: &str| spec.get(field).and_then(Value::as_i64).unwrap_or(0);
        Self {
            holder: text("holderIdentity").unwrap_or_default(),
            duration_seconds: number("leaseDurationSeconds"),
            acquired: text("acquireTime"),
            renewed: text("renewTime"),
            transitions: number("leaseTransitions"),
        }
    }

    /// As the `spec` of a Lease.
    #[must_use]
    pub fn to_spec(&self) -> Value {
        json!({
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.duration_seconds,
            "acquireTime": self.acquired,
            "renewTime": self.renewed,
            "leaseTransitions": self.transitions,
        })
    }

    /// For how long others respect it after it was seen to change.
    #[must_use]
    pub fn duration(&self) -> Duration {
        Duration::from_secs(u64::try_from(self.duration_seconds).unwrap_or(0))
    }
}

/// As Kubernetes writes a `MicroTime`.
pub(crate) fn micro_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_survives_the_way_there_and_back() {
        let record = Record {
            holder: "a".to_owned(),
            duration_seconds: 15,
            acquired: Some("2026-01-01T00:00:00.000000Z".to_owned()),
            renewed: Some("2026-01-01T00:00:02.000000Z".to_owned()),
            transitions: 3,
        };
        assert_eq!(Record::from_spec(&record.to_spec()), record);
    }

    #[test]
    fn nonsense_holds_nothing() {
        for spec in [json!(null), json!({}), json!({ "holderIdentity": 7, "leaseDurationSeconds": "x" })] {
            let record = Record::from_spec(&spec);
            assert_eq!((record.holder.as_str(), record.duration()), ("", Duration::ZERO), "{spec}");
        }
        assert_eq!(Record::from_spec(&json!({ "leaseDurationSeconds": -4 })).duration(), Duration::ZERO);
    }

    #[test]
    fn times_have_six_digits() {
        let time = "2026-01-01T00:00:02Z".parse().expect("time");
        assert_eq!(micro_time(time), "2026-01-01T00:00:02.000000Z");
    }
}
