//! ReplicaSets and pods as the watch brings them.

use api::decode;
use plan::Flavour;
use serde_json::Value;

use crate::input;

/// The object as JSON.
pub(crate) fn run(data: &[u8]) {
    let Some(object) = input::json(data) else { return };
    for flavour in [Flavour::Rollwright, Flavour::AppsV1] {
        let Ok(set) = decode::replica_set(flavour, &object) else { continue };
        assert_eq!(set.is_active(), set.size > 0);
        let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
        assert!(set.labels.len() <= labels.map_or(0, serde_json::Map::len));
        let again = decode::replica_set(flavour, &object).unwrap();
        assert_eq!(format!("{set:?}"), format!("{again:?}"));
        assert!(set.age_order(&again).is_eq());
    }
    let pod = decode::pod(&object);
    assert_eq!(pod.is_running(), pod.phase != "Failed" && pod.phase != "Succeeded");
}
