use proptest::prelude::*;
use serde_json::{Value, json};

use super::codec::{Pack, Reader};
use super::*;
use crate::index::Placed;
use plan::keys::{FINGERPRINTS, HASH_LABEL, MANAGED_LABEL, REVISION};
use plan::{Flavour, ReplicaSet, Workload};

fn roundtrip<T: Pack>(value: &T) -> T {
    let mut bytes = Vec::new();
    value.pack(&mut bytes);
    let mut reader = Reader::new(&bytes);
    let unpacked = T::unpack(&mut reader);
    assert!(reader.bytes(1).is_empty(), "bytes are left");
    unpacked
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(".*", inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

#[test]
fn a_fingerprint_is_stored_once() {
    let [one, other] = ["5", "7"].map(|digit| format!("v1:{}", digit.repeat(64)));
    let list = vec![one.clone(), other.clone(), one.clone(), "app".to_owned(), other, one];
    let mut bytes = Vec::new();
    list.pack(&mut bytes);
    assert_eq!(roundtrip(&list), list);
    assert_eq!(bytes.len(), 1 + 2 * 33 + 1 + 3 * 2, "{bytes:?}");
}

proptest! {
    #[test]
    fn values_come_back(
        number in any::<i64>(),
        small in any::<i32>(),
        text in ".*",
        uid in "[0-9a-fA-F]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        fingerprint in "v1:[0-9a-fA]{63,65}",
        list in prop::collection::vec(prop::option::of(".{0,200}"), 0..5),
        digest in any::<[u8; 32]>(),
        time in any::<(i64, i32)>(),
        json in json(),
    ) {
        prop_assert_eq!(roundtrip(&number), number);
        prop_assert_eq!(roundtrip(&small), small);
        for text in [text, uid, fingerprint] {
            prop_assert_eq!(roundtrip(&text), text);
        }
        prop_assert_eq!(roundtrip(&list), list);
        prop_assert_eq!(roundtrip(&digest), digest);
        if let Ok(time) = jiff::Timestamp::new(time.0, time.1) {
            prop_assert_eq!(roundtrip(&time), time);
        }
        // As text, since 0.0 and -0.0 are equal.
        prop_assert_eq!(roundtrip(&json).to_string(), json.to_string());
    }

    #[test]
    fn any_bytes_are_some_object(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        Workload::unpack(&mut Reader::new(&bytes));
        ReplicaSet::unpack(&mut Reader::new(&bytes));
        Value::unpack(&mut Reader::new(&bytes));
        Packed::<Workload> { bytes: bytes.clone().into(), of: PhantomData }.head();
        Packed::<Placed> { bytes: bytes.into(), of: PhantomData }.head();
    }
}

#[test]
fn odd_json_comes_back() {
    let deep = (0..127).fold(json!("deep"), |inner, _| json!([inner]));
    let odd = json!({
        "numbers": [u64::MAX, i64::MIN, i64::MAX, -0.0, 0.1, 1e300, f64::MIN_POSITIVE, f64::MAX],
        "texts": ["1e300", "007", "\u{0}\"\\/\u{7f}\u{1F600}", "", "null", "v1:", "true"],
        "": {"empty": {}, "none": null, "list": []}, "a": 1, "A": 2, " a": 3, "deep": deep,
    });
    assert_eq!(roundtrip(&odd).to_string(), odd.to_string());
    // Such bytes nobody has packed, and they must not use up the stack.
    Value::unpack(&mut Reader::new(&[7, 1].repeat(100_000)));
    Value::unpack(&mut Reader::new(&[8, 1, 0].repeat(100_000)));
}

#[test]
fn extreme_values_come_back() {
    for number in [i64::MIN, -1, 0, 1, i64::MAX] {
        assert_eq!(roundtrip(&number), number);
    }
    for time in [jiff::Timestamp::MIN, jiff::Timestamp::UNIX_EPOCH, jiff::Timestamp::MAX] {
        assert_eq!(roundtrip(&time), time);
    }
    for length in [0, 1, 126, 127, 128, 300, 20_000] {
        let text = "x".repeat(length);
        assert_eq!(roundtrip(&text), text);
    }
    for place in text::KNOWN {
        assert_eq!(roundtrip(&(*place).to_owned()), *place);
    }
}

/// With a value in every field that there is.
fn workload(flavour: Flavour) -> Workload {
    let read = |text: &str| -> Value { serde_json::from_str(text).expect("JSON") };
    let mut object = read(include_str!("tests/deployment.json"));
    object["status"] = read(include_str!("../../../api/tests/status.json"));
    object["status"]["rollback"]["author"] = json!({"manager": "kubectl", "operation": "Update"});
    let ended = json!({"id": 2, "outcome": "Failed", "revision": 11, "from": 10, "trigger": "Restart",
                       "startTime": "2026-04-01T11:00:00Z"});
    object["status"]["history"] = json!([ended, {}]);
    api::decode::workload(flavour, &object, api::decode::Defaults::of(flavour)).expect("workload")
}

fn set(flavour: Flavour) -> ReplicaSet {
    let digest = "v1:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let object = json!({
        "metadata": {
            "name": "web-5f9", "uid": "1b7f5d1c-7a3e-4a51-9d3e-3d2f6a1b9c00", "resourceVersion": "4712",
            "generation": 2, "creationTimestamp": "2026-04-01T12:00:01Z",
            "deletionTimestamp": "2026-04-02T12:00:01Z",
            "labels": {"app": "web", HASH_LABEL: "5f9", MANAGED_LABEL: "true"},
            "annotations": {REVISION: "12", FINGERPRINTS: format!("{digest},no fingerprint")},
            "ownerReferences": [{"uid": "0b7f5d1c-7a3e-4a51-9d3e-3d2f6a1b9c00", "controller": true}],
        },
        "spec": {"replicas": 4, "minReadySeconds": 3, "template": {"spec": {"containers": []}}},
        "status": {
            "replicas": 4, "readyReplicas": 3, "availableReplicas": 2, "terminatingReplicas": 1,
            "observedGeneration": 2,
            "conditions": [{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
                            "message": "quota", "lastTransitionTime": "2026-04-01T12:00:02Z"}],
        },
    });
    api::decode::replica_set(flavour, &object).expect("set")
}

#[test]
fn objects_come_back() {
    for flavour in [Flavour::Rollwright, Flavour::AppsV1] {
        let workload = workload(flavour);
        let again: Workload = roundtrip(&workload);
        assert_eq!(format!("{again:?}"), format!("{workload:?}"));
        let head_of = Packed::new(&workload);
        let head = head_of.head();
        assert_eq!((&*head.namespace, &*head.resource_version), ("shop", "4711"));
        let set = set(flavour);
        let again: ReplicaSet = roundtrip(&set);
        assert_eq!(format!("{again:?}"), format!("{set:?}"));
        let placed = Packed::new(&Placed { namespace: "shop".to_owned(), set: set.into() });
        let head = placed.head();
        assert_eq!((&*head.namespace, &*head.resource_version), ("shop", "4712"));
    }
    let plan::Strategy::RollingUpdate { .. } = workload(Flavour::AppsV1).strategy else { panic!("strategy") };
    for strategy in [plan::Strategy::Recreate, plan::Strategy::Unknown("Blue".to_owned())] {
        assert_eq!(roundtrip(&strategy), strategy);
    }
}

/// A ReplicaSet as most of the cache is: an old revision of rollwright.dev.
#[test]
fn an_old_revision_is_small() {
    let mut set = set(Flavour::Rollwright);
    set.status = plan::SetStatus::default();
    let placed = Placed { namespace: "shop".to_owned(), set: set.into() };
    let bytes = Packed::new(&placed).bytes.len();
    assert!(bytes < 300, "{bytes} bytes");
}
