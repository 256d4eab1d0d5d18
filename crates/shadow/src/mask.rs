//! Removes names, images, and all other user input from a case. Each text becomes a hash, and the same text
//! becomes the same hash, so equal values stay equal.
//!
//! The key of the hash is drawn at the start and never stored, so nobody can check a guess.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;

use plan::keys::{FINGERPRINTS, HASH_LABEL, ROLLBACK_TO};
use serde_json::{Map, Value};

/// Members with a text that reveals nothing about the user: words of the API, times, counts.
const KEPT: [&str; 39] = [
    "api",
    "apiVersion",
    "controllerKind",
    "creationTimestamp",
    "deletionTimestamp",
    "deviations",
    "divisor",
    "dnsPolicy",
    "effect",
    "id",
    "imagePullPolicy",
    "kind",
    "lastTransitionTime",
    "lastUpdateTime",
    "maxSurge",
    "maxUnavailable",
    "now",
    "op",
    "operator",
    "phase",
    "preemptionPolicy",
    "protocol",
    "reason",
    "resource",
    "resourceVersion",
    "restartPolicy",
    "result",
    "scheme",
    "sizeLimit",
    "status",
    "tags",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "time",
    "type",
    "uid",
    "verb",
    "volumeMode",
    "whenUnsatisfiable",
];
/// Maps with the user's keys.
const USERS_MAPS: [&str; 6] =
    ["labels", "annotations", "annotationsSet", "matchLabels", "nodeSelector", "overhead"];
/// Maps from resource names to quantities; a quantity is no name, and is compared as a number.
const QUANTITIES: [&str; 2] = ["limits", "requests"];
/// Letters of a template hash (S4.18).
const HASH_LETTERS: &str = "456789bcdf";

/// Hashes with a key of its own.
#[derive(Default)]
pub(crate) struct Mask {
    key: RandomState,
}

impl Mask {
    /// Masks a whole case. Its sentences are left out: a replay writes them again.
    pub(crate) fn case(&self, case: &mut Value) {
        let name = case.pointer("/input/deployment/metadata/name").and_then(Value::as_str);
        let deployment = name.unwrap_or_default().to_owned();
        if let Some(told) = case.get_mut("shadow").and_then(Value::as_object_mut) {
            for sentence in ["observed", "planned", "why"] {
                told.remove(sentence);
            }
        }
        Masking { mask: self, deployment }.value(case, "");
    }

    fn word(&self, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        format!("h{:012x}", self.key.hash_one(text) >> 16)
    }
}

struct Masking<'a> {
    mask: &'a Mask,
    deployment: String,
}

impl Masking<'_> {
    fn value(&self, value: &mut Value, member: &str) {
        match value {
            Value::Object(members) => self.object(members, member),
            Value::Array(entries) => entries.iter_mut().for_each(|entry| self.value(entry, member)),
            Value::String(text) => *text = self.text(text, member),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn object(&self, members: &mut Map<String, Value>, member: &str) {
        if let Some(Value::String(message)) = members.get("message") {
            let told = self.message(members, message);
            members.insert("message".to_owned(), Value::from(told));
        }
        let is_users = USERS_MAPS.contains(&member);
        let is_quantities = QUANTITIES.contains(&member);
        let old = std::mem::take(members);
        for (key, mut value) in old {
            if is_users {
                if !is_ours(&key) {
                    self.value(&mut value, "");
                }
            } else if !is_quantities && key != "message" {
                self.value(&mut value, &key);
            }
            let key = match member {
                "sets" => self.name(&key),
                _ if is_users || is_quantities => self.key(&key),
                _ => key,
            };
            members.insert(key, value);
        }
    }

    fn text(&self, text: &str, member: &str) -> String {
        match member {
            "key" | "topologyKey" | "annotationsRemoved" => self.key(text),
            "name" => self.name(text),
            _ if KEPT.contains(&member) => text.to_owned(),
            _ => self.mask.word(text),
        }
    }

    /// A ReplicaSet keeps the hash at the end of its name: whether two are the same must be seen.
    fn name(&self, name: &str) -> String {
        let hash = name.strip_prefix(self.deployment.as_str()).and_then(|rest| rest.strip_prefix('-'));
        match hash {
            Some(hash) if hash == "<hash>" || hash.chars().all(|c| HASH_LETTERS.contains(c)) => {
                format!("{}-{hash}", self.mask.word(&self.deployment))
            }
            _ => self.mask.word(name),
        }
    }

    /// Names of labels and annotations, unless they are Kubernetes' or Rollwright's.
    fn key(&self, key: &str) -> String {
        let domain = key.split_once('/').map_or("", |(domain, _)| domain);
        let is_known = ["kubernetes.io", "k8s.io", "rollwright.dev"].iter().any(|known| {
            domain == *known || domain.strip_suffix(known).is_some_and(|rest| rest.ends_with('.'))
        });
        let is_plain = ["cpu", "memory", "ephemeral-storage", HASH_LABEL, ROLLBACK_TO].contains(&key);
        if is_known || is_plain { key.to_owned() } else { self.mask.word(key) }
    }

    /// The sentences that controllers write, names replaced; the server's message about a failure may hold anything.
    fn message(&self, condition: &Map<String, Value>, message: &str) -> String {
        let is = |field: &str, word: &str| condition.get(field).and_then(Value::as_str) == Some(word);
        let is_plain = is("type", "Available") || is("type", "Progressing");
        if is_plain && !is("reason", "ReplicaSetCreateError") {
            self.sentence(message)
        } else {
            self.mask.word(message)
        }
    }

    /// Controllers put names into quotation marks.
    fn sentence(&self, text: &str) -> String {
        let quoted = |name: &str| format!("\"{name}");
        text.replace(&quoted(&self.deployment), &quoted(&self.mask.word(&self.deployment)))
    }
}

/// Annotations and labels with numbers and hashes that controllers write.
fn is_ours(key: &str) -> bool {
    key.starts_with("deployment.kubernetes.io/") || [HASH_LABEL, ROLLBACK_TO, FINGERPRINTS].contains(&key)
}

#[cfg(test)]
mod tests;
