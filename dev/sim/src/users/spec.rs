//! What users write into the spec of a Deployment.

use plan::keys::RESTARTED_AT;
use serde_json::{Value, json};

use crate::nature::image;
use crate::scenario::{Criteria, Failing, Rollout, Share};

pub(super) fn share(share: Share) -> Value {
    match share {
        Share::Pods(pods) => json!(pods),
        Share::Percent(percent) => json!(format!("{percent}%")),
    }
}

pub(super) fn policy(action: Failing, bake: i64, criteria: &Criteria) -> Value {
    let Criteria { deadline, restarts, stuck_seconds, min_pods } = criteria;
    match action {
        Failing::None => Value::Null,
        _ => json!({
            "action": format!("{action:?}"),
            "bakeSeconds": bake,
            "when": {
                "deadlineExceeded": deadline,
                "restarts": restarts,
                "stuckSeconds": stuck_seconds,
                "minPods": share(*min_pods),
            },
        }),
    }
}

pub(super) fn strategy(rollout: Rollout) -> Value {
    match rollout {
        Rollout::Recreate => json!({ "type": "Recreate", "rollingUpdate": null }),
        Rollout::Rolling(surge, unavailable) => json!({
            "type": "RollingUpdate",
            "rollingUpdate": { "maxSurge": share(surge), "maxUnavailable": share(unavailable) },
        }),
    }
}

/// A template by its number. Two differ from the one before them by other things than the image.
pub(super) fn template(number: u8) -> Value {
    let (restarted, note) = (json!(null), json!(null));
    let (image, restarted, note) = match number {
        4 => (image(3), json!("2026-01-01T00:00:00Z"), note),
        5 => (image(3), restarted, json!("5")),
        _ => (image(number), restarted, note),
    };
    json!({
        "metadata": { "annotations": { RESTARTED_AT: restarted, "note": note } },
        "spec": { "containers": [{ "name": "app", "image": image }] },
    })
}
