//! What keys do.

use super::cluster::watched;
use super::screens::{at_step, bad_image};
use super::*;
use crate::failure::Failure;
use crate::live::moves::{self, Move, Question};

fn question() -> Question {
    let plan =
        "3 steps; at least 10 available (limit 10), at most 11 pods (limit 11); then: resting at step 3 of 4";
    moves::question(Move::Promote, "promotion of revision 7 to step 3 of 4 requested", plan)
}

#[test]
fn a_change_is_asked_about_and_made_only_with_yes() {
    let mut model = watched(&at_step, 90);
    assert!(matches!(model.press(Key::Letter('m')), Effect::Ask(Move::Promote)));
    assert!(matches!(model.press(Key::Letter('m')), Effect::Nothing), "one question at a time");
    model.hear(Ok(Talk::Question(Box::new(question()))));
    compare("question", &|frame| render(&model, frame));
    for key in [Key::Enter, Key::Letter('m'), Key::Letter('h')] {
        assert!(matches!(model.press(key), Effect::Nothing));
    }
    assert!(matches!(model.press(Key::Letter('n')), Effect::Nothing));
    assert!(matches!(model.press(Key::Letter('y')), Effect::Nothing), "the question is gone");
    model.hear(Ok(Talk::Question(Box::new(question()))));
    assert!(matches!(model.press(Key::Letter('y')), Effect::CarryOut(it) if *it == question()));
}

#[test]
fn the_outcome_is_told_until_the_next_key() {
    let mut model = watched(&at_step, 90);
    let shows =
        |model: &Model, words: &str| drawn(&screen(SIZES[0], |frame| render(model, frame))).contains(words);
    let done = "deployment.rollwright.dev/web promotion requested";
    model.hear(Ok(Talk::Done(done.to_owned())));
    assert!(shows(&model, done));
    let refused = "deployment.rollwright.dev/web is not paused";
    model.hear(Err(Failure::Rollout(refused.to_owned())));
    assert!(shows(&model, refused));
    model.press(Key::Down);
    assert!(!shows(&model, refused));
}

#[test]
fn each_verb_has_a_key_of_its_own() {
    let mut letters: Vec<char> = Move::ALL.map(Move::key).to_vec();
    letters.extend(['q', '?', 'h', 'e', 'y', 'n', 'j', 'k']);
    let all = letters.len();
    letters.sort_unstable();
    letters.dedup();
    assert_eq!(letters.len(), all);
    for verb in Move::ALL {
        assert_eq!(Move::of_key(verb.key()), Some(verb));
    }
}

#[test]
fn a_page_is_left_before_the_view() {
    let mut model = watched(&at_step, 90);
    model.press(Key::Letter('h'));
    for _ in 0..100 {
        model.press(Key::Down);
    }
    assert!(model.scroll > 0 && model.scroll < 20, "{}", model.scroll);
    assert!(matches!(model.press(Key::Escape), Effect::Nothing));
    assert_eq!(model.page, Page::Rollout);
    assert!(matches!(model.press(Key::Escape), Effect::Leave));
    assert!(matches!(model.press(Key::Letter('q')), Effect::Leave));
    assert!(matches!(model.press(Key::Interrupt), Effect::Quit));
    let mut model = watched(&bad_image, 75);
    model.press(Key::Letter('e'));
    model.press(Key::Down);
    assert_eq!(model.scroll, 1, "events scroll, too");
}

#[test]
fn who_may_not_change_it_sees_gray_keys() {
    let mut model = watched(&at_step, 90);
    let is_gray = |model: &Model| {
        let buffer = screen(SIZES[0], |frame| render(model, frame));
        let line: String = (0..80).map(|x| buffer[(x, 23)].symbol()).collect();
        let at = line.find("m promote").unwrap();
        buffer[(u16::try_from(at).unwrap() + 3, 23)].modifier.contains(Modifier::DIM)
    };
    assert!(!is_gray(&model));
    model.may_patch = Some(false);
    assert!(is_gray(&model));
}
