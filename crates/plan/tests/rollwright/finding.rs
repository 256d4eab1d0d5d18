//! The selector, and the new ReplicaSet: found by fingerprint or dry run, or created.

use plan::selector::LabelSelector;
use plan::{Flavour, Map};

use crate::rollwright::check;
use crate::world::{Server, fingerprint, ours, set, template, world};

const CREATES: &str = "create (new) size=3 desired-replicas=3 max-replicas=4 revision=1 fingerprints=<a>";

#[test]
fn an_omitted_selector_is_taken_from_the_template() {
    let nothing_but_a_warning: &[&str] = &["event SelectingAll", "status"];
    check(
        "omitted",
        ours().that(|it| it.selector = None),
        &[&["selector app=web"], &["ask template", CREATES, "event ScalingReplicaSet", "status revision=1"]],
    );
    check("empty", ours().that(|it| it.selector = Some(LabelSelector::default())), &[nothing_but_a_warning]);
    let unlabelled = |it: &mut plan::Workload| {
        it.selector = None;
        it.template.labels = Map::new();
    };
    check("omitted, and no labels", ours().that(unlabelled), &[nothing_but_a_warning]);
    let label = |it: &mut plan::Workload| {
        it.selector = None;
        it.template.labels.insert("pod-template-hash".to_owned(), "abc".to_owned());
    };
    check("omitted, with a hash label", ours().that(label), &[&["selector app=web"]]);
    let labelled = |it: &mut plan::Workload| {
        unlabelled(it);
        label(it);
    };
    check("omitted, with nothing but a hash label", ours().that(labelled), &[nothing_but_a_warning]);
    check("apps/v1", world(Flavour::AppsV1).that(|it| it.selector = None), &[nothing_but_a_warning]);
    let deleting = |it: &mut plan::Workload| {
        it.selector = None;
        it.deleting = true;
    };
    check("deleting", ours().that(deleting), &[nothing_but_a_warning]);
}

/// A ReplicaSet that is in step with everything but its fingerprints.
fn in_step(image: &str) -> crate::world::Set {
    set(image, 3).revision("1").scaled_for("3", "4")
}

#[test]
fn the_server_is_asked_only_when_no_set_carries_the_fingerprint() {
    let created: &[&str] = &["ask template", CREATES, "event ScalingReplicaSet", "status revision=1"];
    let beside_b = "create (new) size=1 desired-replicas=3 max-replicas=4 revision=2 fingerprints=<a>";
    let beside: &[&str] =
        &["ask template", "ask dry run", beside_b, "event ScalingReplicaSet", "status revision=2"];
    check("no sets", ours(), &[created]);
    check("a foreign set", ours().with(in_step("a").owned_by("other")), &[created]);
    check("a set that carries it", ours().with(in_step("a")), &[&["status revision=1"], &[]]);
    check("another set", ours().with(in_step("b")), &[beside]);
    let refused = ours().server(Server::Refuses).with(in_step("a").without_fingerprint());
    check("refused", refused, &[beside]);
    let known = in_step("a").revision("2");
    let known = ours().server(Server::Refuses).with(set("b", 0).revision("1")).with(known);
    check("no matter what the server would say", known, &[&["status revision=2"], &[]]);
}

#[test]
fn a_dry_run_that_matches_marks_the_set_and_creates_nothing() {
    let later = format!("v2:beef,{}", fingerprint("b").as_str());
    let marked = format!("update web-a fingerprints={later},<a>");
    let asks = ["ask template", "ask dry run"];
    let cases = [
        (
            "an adopted set",
            in_step("a").without_fingerprint(),
            Server::Plain,
            "update web-a fingerprints=<a>",
        ),
        (
            "a set made from other text that the server stores alike",
            in_step("b"),
            Server::Stores(template("b")),
            "update web-b fingerprints=<b>,<a>",
        ),
        (
            "a list with an entry of a later version",
            in_step("a").fingerprints(&later),
            Server::Plain,
            &marked,
        ),
    ];
    for (name, set, server, update) in cases {
        let mut world = ours().server(server).with(set);
        let happened = world.reconcile();
        assert_eq!(happened, [asks[0], asks[1], update, "status revision=1"], "{name}");
        check(name, world, &[&[]]);
    }
}

/// Fingerprints that mean nothing cost a dry run, no pod, and do not stay without end.
#[test]
fn garbage_in_fingerprints_is_none() {
    let (long, many) = ("x".repeat(100_000), vec!["0123456789abcdef"; 1000].join(","));
    for garbage in ["\u{1f980},,;\n", "", &long, &many] {
        let mut world = ours().with(in_step("a").fingerprints(garbage));
        world.settle(5);
        let sets = &world.observed.sets;
        assert_eq!((sets.len(), sets[0].size), (1, 3), "{}", garbage.len());
        assert!(sets[0].carries(&fingerprint("a")));
    }
}
