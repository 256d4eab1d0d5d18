//! The bottom of a view: a question or an answer, and always the keys.

use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use super::cut;
use super::ink::{quiet, strong};
use super::model::{Model, Talk};
use super::moves::Move;
use crate::rollout::Phase;
use crate::terminal::clean;

/// The last line.
pub(super) fn footer(model: &Model, width: usize) -> Line<'static> {
    if matches!(model.talk, Talk::Question(_)) { answers() } else { keys(model, width) }
}

/// What covers the lines above it.
pub(super) fn talk(model: &Model, width: usize) -> Vec<Line<'static>> {
    let (words, style) = match &model.talk {
        Talk::Nothing => return Vec::new(),
        Talk::Busy(verb) => (format!("{}: the cluster is asked...", verb.word()), quiet()),
        Talk::Done(words) => (words.clone(), model.ink.of(Color::Green)),
        Talk::Failed(words) => (words.clone(), model.ink.of(Color::Red)),
        Talk::Question(question) => {
            let words = format!("{} {}? Outcome: {}.", question.verb.word(), model.name, question.outcome);
            let plan = format!("Plan: {}.", question.plan.trim_end_matches('.'));
            let mut lines = vec![rule(width)];
            lines.extend(wrapped(&words, width, 3, strong()));
            lines.extend(wrapped(&plan, width, 3, Style::new()));
            return lines;
        }
    };
    let mut lines = vec![rule(width)];
    lines.extend(wrapped(&words, width, 3, style));
    lines
}

pub(super) fn rule(width: usize) -> Line<'static> {
    Line::styled("─".repeat(width), quiet())
}

fn wrapped(words: &str, width: usize, rows: usize, style: Style) -> Vec<Line<'static>> {
    let lines = cut::wrapped(&clean(words), width, rows).into_iter();
    lines.map(|line| Line::styled(line, style)).collect()
}

fn answers() -> Line<'static> {
    hints(&[("y", "yes", false), ("n", "no", false)], usize::MAX)
}

/// Keys with their words, as many as fit; what the user may not do is gray.
pub(super) fn hints(keys: &[(&str, &str, bool)], width: usize) -> Line<'static> {
    let mut spans = Vec::new();
    let mut used = 0;
    for (key, word, is_gray) in keys {
        let gap = if used == 0 { "" } else { "  " };
        let needed = gap.len() + key.len() + 1 + word.len();
        if used + needed > width {
            break;
        }
        used += needed;
        let (of_key, of_word) = if *is_gray { (quiet(), quiet()) } else { (strong(), Style::new()) };
        spans.push(Span::styled(format!("{gap}{key}"), of_key));
        spans.push(Span::styled(format!(" {word}"), of_word));
    }
    Line::from(spans)
}

fn keys(model: &Model, width: usize) -> Line<'static> {
    let is_gray = model.may_patch == Some(false);
    let stands = |phase| [Phase::Paused, Phase::Held].contains(&phase);
    let may_resume = model.seen.as_deref().is_some_and(|seen| stands(seen.tree.rollout.phase));
    let other = if may_resume { Move::Pause } else { Move::Resume };
    let letters = Move::ALL.map(|it| it.key().to_string());
    let moves = Move::ALL.iter().zip(&letters).filter(|(it, _)| **it != other);
    let moves = moves.map(|(it, letter)| (letter.as_str(), it.word(), is_gray));
    let leave = if model.has_list { "back" } else { "quit" };
    let mut all = vec![("q", leave, false), ("?", "keys", false)];
    all.extend(moves);
    all.extend([("h", "history", false), ("e", "events", false)]);
    hints(&all, width)
}
