//! What changes the step of a rollout but its own end: a promotion, another list, and lost memory (SP-2, SP-6).

use plan::keys::{PROMOTE, ROLLOUT};

use crate::rollwright::failing::{memory, named};
use crate::rollwright::pinning::{count, target};
use crate::rollwright::stepping::{declare, example, play, promote, request, scale, sizes, stepped, steps};

/// SP-2.
#[test]
fn an_edited_list_goes_on_where_what_runs_has_room() {
    for (list, path) in [
        (&["1/promoted", "30%/60", "50%"] as &[_], "7+3"),
        (&["1/promoted", "40%/promoted"], "6+4"),
        (&["2/promoted"], "0+10"),
        (&["30%/promoted", "1/promoted"], "7+3"),
    ] {
        let mut world = stepped(10, &["1", "30%/promoted"]);
        declare(&mut world, "c", 30, &[]);
        assert_eq!(sizes(&world), "7+3");
        world.observed.workload.steps = steps(list);
        play(&mut world, 50, &[]);
        assert_eq!(sizes(&world), path, "{list:?}");
    }
    // What the steps of the new list wait for holds immediately.
    let mut world = stepped(10, &["30%/promoted"]);
    declare(&mut world, "c", 30, &[]);
    world.observed.workload.steps = steps(&["30%/10"]);
    assert_eq!(play(&mut world, 50, &[]).path.last().unwrap(), "0+10");
    // Without steps, it is a rollout like any other.
    let mut world = stepped(10, &["30%/promoted"]);
    declare(&mut world, "c", 30, &[]);
    world.observed.workload.steps = Vec::new();
    assert_eq!(play(&mut world, 50, &[]).path.last().unwrap(), "0+10");
}

/// The list is another one, and so is R: what runs was scaled for the R of before.
#[test]
fn a_list_that_is_edited_with_r_goes_on_where_what_runs_had_room() {
    let mut world = stepped(10, &["30%/promoted"]);
    declare(&mut world, "c", 30, &[]);
    world.observed.workload.steps = steps(&["1/promoted", "30%/promoted", "90%"]);
    assert_eq!(scale(&mut world, 4, 30, &[]).path, ["7+3", "2+3", "2+2"]);
    // More replicas give it room again.
    let mut world = stepped(3, &["2/promoted"]);
    declare(&mut world, "c", 30, &[]);
    world.observed.workload.steps = steps(&["25%/promoted"]);
    assert_eq!(scale(&mut world, 8, 30, &[]).path.last().unwrap(), "6+2");
}

/// SP-2: nobody remembers the step, nor the one that is kept.
#[test]
fn lost_memory_never_shrinks_what_runs() {
    let mut world = stepped(10, &["1/promoted", "30%/promoted", "50%/promoted"]);
    declare(&mut world, "c", 10, &[]);
    request(&mut world, PROMOTE, "3/50%", 30, &[]);
    let name = named(&world, "c");
    for (running, after) in [(5, "5+5"), (4, "5+5"), (3, "7+3"), (1, "9+1")] {
        let mut world = world.clone();
        world.observed.workload.annotations.remove(PROMOTE);
        for (set, size) in [("web-b", 10 - running), (name.as_str(), running)] {
            let set = world.find_mut(set);
            set.annotations.remove(ROLLOUT);
            (set.size, set.status.replicas, set.status.ready, set.status.available) =
                (size, size, size, size);
        }
        assert_eq!(play(&mut world, 30, &[]).path.last().unwrap(), after, "{running}");
        assert_eq!(memory(&world, &name)["steps"]["kept"], "web-b");
    }
}

/// SP-6.
#[test]
fn a_promotion_names_a_step_ahead() {
    let mut world = example();
    play(&mut world, 30, &[]);
    // Of another revision, and of none.
    for text in ["2/all", "4/all", "all", ""] {
        assert_eq!(request(&mut world, PROMOTE, text, 5, &[]).writes, 0, "{text}");
    }
    for (text, refused) in [("3", 1), ("3/some", 1), ("3/1", 0), ("3/25%", 0)] {
        let played = request(&mut world, PROMOTE, text, 5, &[]);
        assert_eq!(count(&played.events, "PromotionRefused"), refused, "{text}");
        let name = named(&world, "c");
        assert_eq!(memory(&world, &name)["promote"], text, "it is heard");
        assert!(text == "3/25%" || play(&mut world, 30, &[]).writes == 0, "{text}");
    }
    assert_eq!(sizes(&world), "7+3");
    promote(&mut world, "3/1");
    assert_eq!(count(&play(&mut world, 5, &[]).events, "PromotionRefused"), 1, "a step behind");
    // The same once more, by another text.
    request(&mut world, PROMOTE, "3/50%/now", 1, &[]);
    assert_eq!(memory(&world, &named(&world, "c"))["steps"]["step"], 3);
    assert_eq!(target(&world), None);
}
