//! Who owns which ReplicaSet: adoption, release, and two Deployments that select the same pods.

use cluster::wait_for;
use kube::api::DeleteParams;
use plan::keys::{HASH_LABEL, MANAGED_LABEL, MANAGED_VALUE};
use serde_json::{Value, json};

use crate::bench::{
    Bench, SOON, check, controller_uid, deployment, describe, image_of, is_ours, label_of, name_of, size_of,
    template, uid_of,
};

/// Size of every orphan here.
const SIZE: u32 = 3;

/// A ReplicaSet without an owner whose pods are labelled `app=web`.
pub(crate) fn orphan(name: &str, image: &str, hash: Option<&str>) -> Value {
    let mut labels = json!({ "app": "web" });
    if let Some(hash) = hash {
        labels[HASH_LABEL] = hash.into();
    }
    let mut template = template(image);
    template["metadata"]["labels"] = labels.clone();
    json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": { "name": name, "labels": labels },
        "spec": { "replicas": SIZE, "selector": { "matchLabels": labels }, "template": template },
    })
}

/// The same, labelled so that our kind sees it. apps/v1 needs no label.
fn handed_over(bench: &Bench, mut set: Value) -> Value {
    if is_ours(bench.flavour) {
        set["metadata"]["labels"][MANAGED_LABEL] = MANAGED_VALUE.into();
    }
    set
}

/// An orphan with the template of the Deployment becomes its new set; no pod restarts (S2.15,
/// S2.20). Its labels and selector stay, with or without a hash label (S1.15).
pub(crate) async fn adoption(bench: &Bench, hash: Option<&str>) {
    let set = handed_over(bench, orphan("by-hand", "web:1", hash));
    let labels = set["metadata"]["labels"].clone();
    let uid = bench.create_set(set).await;
    bench.until_set_ready("by-hand", 3).await;
    let pods = bench.pods_of(&[&uid]).await;

    let owner = bench.create(deployment("web", SIZE, "web:1")).await;
    bench.until_complete("web").await;
    let sets = bench.all_sets().await.unwrap();
    assert_eq!(sets.len(), 1, "{}", describe(&sets));
    let adopted = &sets[0];
    assert_eq!(controller_uid(adopted), Some(owner.as_str()));
    assert_eq!(json!(adopted.metadata.labels), labels);
    assert_eq!(bench.pods_of(&[&uid]).await, pods, "pods were restarted");

    bench.set_image("web", "web:2").await;
    bench.until_complete("web").await;
    let sets = bench.sets_of(&owner).await.unwrap();
    let sizes: Vec<_> = sets.iter().map(|set| (image_of(set), size_of(set))).collect();
    assert_eq!(sizes, [("web:1", 0), ("web:2", 3)]);
    assert_eq!(json!(sets[0].metadata.labels), labels);
}

/// Our kind takes no set that nobody handed over; it says how to (issue: adoption is asked for).
pub(crate) async fn unlabelled_orphan(bench: &Bench) {
    let uid = bench.create_set(orphan("by-hand", "web:0", None)).await;
    bench.until_set_ready("by-hand", 3).await;
    let owner = bench.create(deployment("web", SIZE, "web:1")).await;
    let message = bench.until_event("web", "UnlabelledReplicaSet").await;
    let command =
        format!("kubectl label replicaset by-hand -n {} {MANAGED_LABEL}={MANAGED_VALUE}", bench.namespace);
    assert!(message.ends_with(&command), "{message}");
    bench.until_complete("web").await;
    let orphan = bench.sets().get("by-hand").await.unwrap();
    assert_eq!((controller_uid(&orphan), size_of(&orphan)), (None, 3), "it was taken unasked");

    // The very command of the message hands it over: it is adopted and, having another
    // template, rolled away.
    let arguments: Vec<&str> = command.split(' ').skip(1).collect();
    bench.kubectl.run(&arguments).await.unwrap();
    let is_away = |sets: &[_]| sets.iter().any(|set| uid_of(set) == uid && size_of(set) == 0);
    bench.until_sets("the orphan being rolled away", &owner, is_away).await;
    bench.until_complete("web").await;
    assert_eq!(bench.all_sets().await.unwrap().len(), 2);
}

/// `--adopt=any`: orphans are taken as apps/v1 takes them, and labelled.
pub(crate) async fn adopt_any(bench: &Bench) {
    let uid = bench.create_set(orphan("by-hand", "web:1", None)).await;
    bench.until_set_ready("by-hand", 3).await;
    let pods = bench.pods_of(&[&uid]).await;
    let owner = bench.create(deployment("web", SIZE, "web:1")).await;
    bench.until_complete("web").await;
    let sets = bench.all_sets().await.unwrap();
    assert_eq!(sets.len(), 1, "{}", describe(&sets));
    assert_eq!(controller_uid(&sets[0]), Some(owner.as_str()));
    let label = is_ours(bench.flavour).then_some(MANAGED_VALUE);
    assert_eq!(label_of(&sets[0], MANAGED_LABEL), label);
    assert_eq!(bench.pods_of(&[&uid]).await, pods, "pods were restarted");
}

/// Somebody takes our label off a set that we own, at rest and while the template changes: the
/// set is counted all the while and labelled again, and there is no second one.
pub(crate) async fn label_removed(bench: &Bench) {
    let owner = bench.create(deployment("web", SIZE, "web:1")).await;
    bench.until_complete("web").await;
    let name = name_of(&bench.sets_of(&owner).await.unwrap()[0]).to_owned();
    for value in [Value::Null, "false".into()] {
        bench.patch_set(&name, &json!({ "metadata": { "labels": { MANAGED_LABEL: value } } })).await;
        until_labelled(bench, &name).await;
    }
    bench.patch_set(&name, &json!({ "metadata": { "labels": { MANAGED_LABEL: null } } })).await;
    bench.set_image("web", "web:2").await;
    bench.until_complete("web").await;
    until_labelled(bench, &name).await;
    let sets = bench.all_sets().await.unwrap();
    let sizes: Vec<_> = sets.iter().map(|set| (image_of(set), size_of(set))).collect();
    assert_eq!(sizes, [("web:1", 0), ("web:2", 3)]);
}

async fn until_labelled(bench: &Bench, name: &str) {
    wait_for("the label coming back", SOON, async || {
        let set = bench.sets().get(name).await?;
        check(label_of(&set, MANAGED_LABEL) == Some(MANAGED_VALUE), || format!("{:?}", set.metadata.labels))
    })
    .await
    .unwrap();
}

/// A set whose labels stop matching is released (S2.14) and keeps its pods. Its name is taken,
/// so the next one has another (S4.15). When it matches again it is adopted and, being the
/// oldest with this template, the new one again (S4.1).
pub(crate) async fn release(bench: &Bench) {
    let owner = bench.create(deployment("web", SIZE, "web:1")).await;
    bench.until_complete("web").await;
    let first = bench.sets_of(&owner).await.unwrap().remove(0);
    let pods = bench.pods_of(&[uid_of(&first)]).await;
    // Creation times have whole seconds, and this set must be the older one.
    bench.patch_set(name_of(&first), &json!({ "metadata": { "labels": { "app": "other" } } })).await;
    let is_replaced =
        |sets: &[_]| sets.len() == 1 && uid_of(&sets[0]) != uid_of(&first) && size_of(&sets[0]) == 3;
    let second = bench.until_sets("a set in its place", &owner, is_replaced).await.remove(0);
    let object = bench.until_complete("web").await;
    assert_eq!(object["status"]["collisionCount"], 1);
    assert_ne!(name_of(&second), name_of(&first));
    let released = bench.sets().get(name_of(&first)).await.unwrap();
    assert_eq!((controller_uid(&released), size_of(&released)), (None, 3));
    assert_eq!(bench.pods_of(&[uid_of(&first)]).await, pods, "the pods of the released set were touched");

    bench.patch_set(name_of(&first), &json!({ "metadata": { "labels": { "app": "web" } } })).await;
    bench
        .until_sets("the oldest set being the only active one", &owner, |sets| {
            sets.len() == 2
                && sets.iter().all(|set| size_of(set) == if uid_of(set) == uid_of(&first) { 3 } else { 0 })
        })
        .await;
    bench.until_complete("web").await;
    assert_eq!(bench.pods_of(&[uid_of(&first)]).await, pods, "pods were restarted");
}

/// Two Deployments that select the same pods live side by side: only the controller counts
/// (S2.21). An orphan of one goes to the other.
pub(crate) async fn overlapping_selectors(bench: &Bench) {
    let left = bench.create(deployment("left", 2, "web:1")).await;
    let right = bench.create(deployment("right", 3, "web:1")).await;
    for name in ["left", "right"] {
        bench.until_complete(name).await;
    }
    let of_right = bench.sets_of(&right).await.unwrap();
    let pods = bench.pods_of(&[uid_of(&of_right[0])]).await;
    assert_eq!((of_right.len(), pods.len()), (1, 3));
    bench.set_image("left", "web:2").await;
    bench.until_complete("left").await;
    assert_eq!(bench.pods_of(&[uid_of(&of_right[0])]).await, pods, "pods of the other were restarted");
    let of_left = bench.sets_of(&left).await.unwrap();
    let sizes: Vec<_> = of_left.iter().map(|set| (image_of(set), size_of(set))).collect();
    assert_eq!(sizes, [("web:1", 0), ("web:2", 2)]);

    bench.delete("left", &DeleteParams::orphan()).await;
    let has_all = |sets: &[_]| sets.len() == 3 && sets.iter().map(size_of).sum::<i32>() == 3;
    bench.until_sets("the orphans going to the other", &right, has_all).await;
    bench.until_complete("right").await;
    assert_eq!(bench.all_sets().await.unwrap().len(), 3);
}
