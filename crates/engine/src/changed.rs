//! ReplicaSets of apps/v1 that a webhook or a policy changes while they are created.
//!
//! The operator, as Kubernetes' controller, does not find such a ReplicaSet by the template of the Deployment. The
//! ReplicaSet counts as another revision, its name counts as taken, and the next name leads to one more ReplicaSet,
//! without end. The pause before each further name grows. On rollwright.dev an annotation shows for which template a
//! ReplicaSet was created.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::durations::{CHANGED_AGAIN, CHANGED_AGAIN_MAX, CHANGED_FORGOTTEN};

/// The pauses of one Deployment.
#[derive(Debug, Default)]
pub(crate) struct Pauses(Option<Box<Pause>>);

#[derive(Debug)]
struct Pause {
    /// A newer spec waits for nothing.
    generation: i64,
    began: Instant,
    length: Duration,
}

impl Pauses {
    /// A ReplicaSet that the Deployment owns has the name, and another template.
    pub(crate) fn found(&mut self, generation: i64, now: Instant) {
        let last = self.0.take().filter(|last| now < last.began + last.length + CHANGED_FORGOTTEN);
        let length = last.map_or(CHANGED_AGAIN, |last| (last.length * 2).min(CHANGED_AGAIN_MAX));
        self.0 = Some(Box::new(Pause { generation, began: now, length }));
    }

    /// How long no further name is tried.
    pub(crate) fn left(&self, generation: i64, now: Instant) -> Option<Duration> {
        let pause = self.0.as_ref().filter(|pause| pause.generation == generation)?;
        let left = (pause.began + pause.length).saturating_duration_since(now);
        Some(left).filter(|left| !left.is_zero())
    }
}

/// Where the template of a ReplicaSet first differs from the one that it was created from, as a JSON pointer.
pub(crate) fn first_difference(declared: &Value, stored: &Value) -> Option<String> {
    let keys: Vec<String> = match (declared, stored) {
        (Value::Object(declared), Value::Object(stored)) => {
            let added = stored.keys().filter(|key| !declared.contains_key(*key));
            declared.keys().chain(added).map(|key| escaped(key)).collect()
        }
        (Value::Array(declared), Value::Array(stored)) if declared.len() == stored.len() => {
            (0..declared.len()).map(|index| index.to_string()).collect()
        }
        _ => return (declared != stored).then(String::new),
    };
    keys.into_iter().find_map(|key| {
        let at = format!("/{key}");
        let [declared, stored] = [declared, stored].map(|value| value.pointer(&at).unwrap_or(&Value::Null));
        first_difference(declared, stored).map(|rest| at + &rest)
    })
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pauses_grow_and_a_newer_spec_waits_for_none() {
        let (mut pauses, mut now) = (Pauses::default(), Instant::now());
        assert_eq!(pauses.left(1, now), None);
        for pause in [1, 2, 4, 8, 16, 32, 60, 60].map(Duration::from_secs) {
            pauses.found(1, now);
            assert_eq!((pauses.left(1, now), pauses.left(2, now)), (Some(pause), None));
            now += pause;
            assert_eq!(pauses.left(1, now), None);
        }
        now += CHANGED_FORGOTTEN;
        pauses.found(1, now);
        assert_eq!(pauses.left(1, now), Some(CHANGED_AGAIN));
    }

    #[test]
    fn the_first_difference_is_named() {
        let declared =
            json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"image": "a:1"}]}});
        let differs = |stored| first_difference(&declared, &stored);
        assert_eq!(differs(declared.clone()), None);
        let mut stored = declared.clone();
        stored["spec"]["containers"][0]["image"] = json!("a@sha256:1");
        assert_eq!(differs(stored).as_deref(), Some("/spec/containers/0/image"));
        let mut stored = declared.clone();
        stored["metadata"]["annotations"] = json!({"example.com/policy": "on"});
        assert_eq!(differs(stored).as_deref(), Some("/metadata/annotations"));
        let mut stored = declared.clone();
        stored["metadata"]["labels"]["example.com/team~"] = json!("a");
        assert_eq!(differs(stored).as_deref(), Some("/metadata/labels/example.com~1team~0"));
        let mut stored = declared.clone();
        stored["spec"]["containers"] = json!([]);
        assert_eq!(differs(stored).as_deref(), Some("/spec/containers"));
    }
}
