//! The screen of a Deployment, from what the model holds. Every line fits, whatever the size of the terminal.

use jiff::Timestamp;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;

use super::chart::Chart;
use super::cut;
use super::footer::{footer, talk};
use super::ink::{look, quiet, strong};
use super::model::{Model, Page, lead};
use super::moves::Move;
use super::pods::{Pods, legend};
use super::seen::Seen;
use crate::bar::bar;
use crate::diagnosis::Verdict;
use crate::rollout::{self, Phase};
use crate::state;
use crate::table::age;
use crate::terminal::clean;
use crate::verbs::status::short;

/// A picture with fewer rows shows nothing.
const CHART_MIN: u16 = 5;
/// Events below the pods.
const EVENTS: usize = 4;

/// Draws the view.
pub(super) fn render(model: &Model, frame: &mut Frame<'_>) {
    let area = frame.area();
    let width = usize::from(area.width);
    let (body, foot) = split(area, area.height.saturating_sub(1));
    put(frame, foot, vec![footer(model, width)]);
    match model.seen.as_deref() {
        None => put(frame, body, waiting(model, width)),
        Some(seen) => page(model, seen, frame, body),
    }
    let talk = talk(model, width);
    let (_, covered) = split(body, body.height.saturating_sub(rows(&talk)));
    frame.render_widget(Clear, covered);
    put(frame, covered, talk);
}

fn page(model: &Model, seen: &Seen, frame: &mut Frame<'_>, area: Rect) {
    let width = usize::from(area.width);
    let head = head(model, seen, width);
    let (top, rest) = split(area, rows(&head));
    put(frame, top, head);
    match model.page {
        Page::Rollout => rollout_page(model, seen, frame, rest),
        Page::Events => put(frame, rest, events(model, seen, width)),
        Page::Keys => put(frame, rest, keys(width)),
        Page::History => put(frame, rest, text(model, width)),
    }
}

fn rows(lines: &[Line<'_>]) -> u16 {
    u16::try_from(lines.len()).unwrap_or(u16::MAX)
}

/// The upper rows of an area, and the others.
pub(super) fn split(area: Rect, rows: u16) -> (Rect, Rect) {
    let rows = rows.min(area.height);
    (Rect { height: rows, ..area }, Rect { y: area.y + rows, height: area.height - rows, ..area })
}

/// Lines below each other; those that do not fit are left out.
pub(super) fn put(frame: &mut Frame<'_>, area: Rect, lines: Vec<Line<'_>>) {
    for (line, y) in lines.into_iter().zip(area.y..area.bottom()) {
        frame.render_widget(line, Rect { y, height: 1, ..area });
    }
}

fn waiting(model: &Model, width: usize) -> Vec<Line<'static>> {
    let words = match &model.lost {
        None => format!("{}: reading from the cluster...", model.name),
        Some((_, why)) => format!("{}: {why}", model.name),
    };
    cut::wrapped(&clean(&words), width, 5).into_iter().map(Line::raw).collect()
}

/// What stays at the top: the same numbers and words as those of the tree.
fn head(model: &Model, seen: &Seen, width: usize) -> Vec<Line<'static>> {
    let (tree, rollout) = (&seen.tree, &seen.tree.rollout);
    let deployment = &tree.deployment;
    let times = times(model);
    let about = format!("  {}  {}", deployment.namespace(), deployment.flavour.api_version());
    let room = width.saturating_sub(cut::width(&times) + 1);
    let name = cut::both_ends(deployment.name(), room);
    let room = room - cut::width(&name);
    let about = if cut::width(&about) <= room { about } else { format!("  {}", deployment.namespace()) };
    let about = cut::beginning(&about, room);
    let gap = " ".repeat(width.saturating_sub(cut::width(&name) + cut::width(&about) + cut::width(&times)));
    let mut lines = vec![Line::from(vec![
        Span::styled(name, strong()),
        Span::styled(about, quiet()),
        Span::raw(gap),
        Span::raw(times),
    ])];
    lines.push(standing(model, seen, width));
    let left = rollout.rest().map_or_else(String::new, |rest| rest.left(model.now));
    let message = clean(&format!("{}{left}", message(seen)));
    lines.extend(cut::wrapped(&message, width, 2).into_iter().map(Line::raw));
    let counts = rollout.counts;
    let mut numbers = if width < 60 {
        format!(
            "updated {}, ready {}, available {}/{}",
            counts.updated, counts.ready, counts.available, counts.desired
        )
    } else {
        counts.to_string()
    };
    if !seen.may_list_pods {
        numbers.push_str(" (you may not list its pods)");
    }
    lines.push(Line::styled(cut::beginning(&numbers, width), quiet()));
    if let Some((since, why)) = &model.lost {
        let ago = age(&since.to_string(), model.now);
        let words =
            if model.is_gone { format!("deleted {ago} ago") } else { format!("old since {ago} ago: {why}") };
        let lost = cut::wrapped(&clean(&words), width, 2).into_iter();
        lines.extend(lost.map(|line| Line::styled(line, model.ink.bold(Color::Red))));
    } else if let Some(notice) = &model.notice {
        lines.push(Line::styled(cut::beginning(&clean(notice), width), quiet()));
    }
    lines
}

/// The message of the tree, without the name that stands above it.
fn message(seen: &Seen) -> &str {
    let name = format!("deployment \"{}\": ", seen.tree.deployment.name());
    let message = short(&seen.tree.rollout.message);
    message.strip_prefix(&name).unwrap_or(message)
}

/// The word of the column STATUS, and the bar.
fn standing(model: &Model, seen: &Seen, width: usize) -> Line<'static> {
    let word = state::words(&seen.tree.deployment);
    let color = match (seen.tree.rollout.phase, seen.diagnosis.verdict) {
        (Phase::Complete, _) => Color::Green,
        (Phase::Failed, _) | (_, Verdict::Blocked) => Color::Red,
        (Phase::Paused | Phase::Held | Phase::Resting, _) => Color::Yellow,
        (Phase::Progressing, _) => Color::Blue,
    };
    let bar = bar(seen.done, seen.tree.rollout.counts.desired, &seen.steps);
    let word = cut::beginning(&word, width);
    let gap = width.saturating_sub(cut::width(&word));
    let bar = if cut::width(&bar) + 2 <= gap { format!("{bar:>gap$}") } else { String::new() };
    Line::from(vec![Span::styled(word, model.ink.bold(color)), Span::raw(bar)])
}

/// How long the rollout has taken, and when it may end.
fn times(model: &Model) -> String {
    let Some(span) = model.span() else { return String::new() };
    let between = |from: Timestamp, to: Timestamp| age(&from.to_string(), to);
    let is_before =
        model.seen.as_deref().is_some_and(|it| rollout::is_yet_to_begin(&it.tree.deployment.body));
    let last = if is_before { "last " } else { "" };
    match (span.end, model.expected_end()) {
        (Some(end), _) => {
            format!("{last}took {}, ended {} ago", between(span.begin, end), between(end, model.now))
        }
        (None, Some(end)) => {
            format!("{}, about {} left", between(span.begin, model.now), between(model.now, end))
        }
        (None, None) => format!("{last}{} so far", between(span.begin, model.now)),
    }
}

/// The page of the rollout: picture, cause, pods, and events, as far as there is room.
fn rollout_page(model: &Model, seen: &Seen, frame: &mut Frame<'_>, area: Rect) {
    let width = usize::from(area.width);
    let cause = cause(model, seen, width);
    let rest = area.height.saturating_sub(rows(&cause));
    let least = (rest * 2 / 5).max(CHART_MIN);
    let lines = lines(model, seen, width, usize::from(rest.saturating_sub(least)));
    let chart = rest.saturating_sub(rows(&lines)).max(CHART_MIN).min(frame.area().height * 3 / 5);
    let chart = if rest < CHART_MIN + 2 { 0 } else { chart };
    let (picture, area) = split(area, chart);
    draw(model, seen, frame, picture);
    let (reasons, area) = split(area, rows(&cause));
    put(frame, reasons, cause);
    put(frame, area, fitting(lines, usize::from(area.height)));
}

/// The first of some lines, and how many more there are.
fn fitting(mut lines: Vec<Line<'static>>, room: usize) -> Vec<Line<'static>> {
    if lines.len() > room {
        let left_out = lines.len() + 1 - room;
        lines.truncate(room.saturating_sub(1));
        lines.push(Line::styled(format!("   {left_out} more lines"), quiet()));
    }
    lines
}

/// The pods and the latest events, in no more lines than this if that is possible.
fn lines(model: &Model, seen: &Seen, width: usize, room: usize) -> Vec<Line<'static>> {
    let pods = Pods { tree: &seen.tree, now: model.now, ink: model.ink, width };
    let all = pods.all();
    let mut lines = if all.len() <= room { all } else { pods.folded() };
    let left = room.saturating_sub(lines.len());
    if left > 1 {
        let has_unknown = model.span().is_some_and(|span| model.opened > span.begin);
        lines.push(legend(has_unknown));
    }
    let shown = left.saturating_sub(2).min(EVENTS);
    if shown > 0 && !seen.events.is_empty() {
        lines.push(Line::raw(""));
        lines.extend(events(model, seen, width).into_iter().take(shown));
    }
    lines
}

fn draw(model: &Model, seen: &Seen, frame: &mut Frame<'_>, area: Rect) {
    let Some(span) = model.span() else { return };
    let to = span.end.unwrap_or(model.now).max(span.begin);
    let lead = lead(span.begin, to);
    let sets = seen.tree.revisions.iter().enumerate();
    let chart = Chart {
        lives: &model.lives,
        sets: sets.map(|(place, (set, _))| (set.uid(), look(place, seen.tree.role(place, set)))).collect(),
        from: span.begin - lead,
        begin: span.begin,
        opened: model.opened,
        to: if span.end.is_some() { to + lead } else { to },
        is_running: span.end.is_none(),
        limits: seen.limits,
        steps: seen.steps.clone(),
        reached: model.reached.iter().map(|(step, time)| (*time, *step)).collect(),
        ink: model.ink,
    };
    chart.draw(area, frame.buffer_mut());
}

/// The cause, as `why` reports it, with its next command.
fn cause(model: &Model, seen: &Seen, width: usize) -> Vec<Line<'static>> {
    let diagnosis = &seen.diagnosis;
    let color = match diagnosis.verdict {
        Verdict::Complete => return Vec::new(),
        Verdict::Blocked => Color::Red,
        Verdict::Paused => Color::Yellow,
        Verdict::Waiting => Color::Reset,
    };
    let text = clean(&format!("{}: {}", diagnosis.cause, more(&diagnosis.text, message(seen))));
    let style = if color == Color::Reset { quiet() } else { model.ink.of(color) };
    let lines = cut::wrapped(&text, width, if width < 60 { 4 } else { 3 }).into_iter();
    let mut lines: Vec<_> = lines.map(|line| Line::styled(line, style)).collect();
    if let Some(next) = diagnosis.next.as_deref().filter(|_| diagnosis.verdict != Verdict::Waiting) {
        let next = cut::wrapped(&format!("Next: {}", clean(next)), width, 3).into_iter();
        lines.extend(next.map(|line| Line::styled(line, strong())));
    }
    lines
}

/// The part of a text that does not stand above it.
fn more<'a>(text: &'a str, above: &str) -> &'a str {
    let begins = text.get(..above.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(above));
    let rest =
        text.get(above.len()..).filter(|_| begins).map(|rest| rest.trim_start_matches('.').trim_start());
    rest.filter(|rest| !rest.is_empty()).unwrap_or(text)
}

/// Newest first.
fn events(model: &Model, seen: &Seen, width: usize) -> Vec<Line<'static>> {
    let skipped = if model.page == Page::Events { model.scroll } else { 0 };
    if seen.events.is_empty() {
        return vec![Line::styled("no events", quiet())];
    }
    let events = seen.events.iter().skip(skipped).map(|event| {
        let since = event.at.map_or_else(String::new, |at| age(&at.to_string(), model.now));
        let style = if event.is_warning { model.ink.of(Color::Yellow) } else { Style::new() };
        let words = cut::both_ends(&event.words, width.saturating_sub(6));
        Line::from(vec![Span::styled(format!("{since:<6}"), quiet()), Span::styled(words, style)])
    });
    events.collect()
}

fn keys(width: usize) -> Vec<Line<'static>> {
    let moves = Move::ALL.map(|it| (it.key().to_string(), it.word(), it.about()));
    let pages = [
        ("h", "history", "of this Deployment"),
        ("e", "events", "of this Deployment and its pods"),
        ("j k", "scroll", "a page of text"),
        ("?", "keys", "this page"),
        ("Esc", "back", "and at last out of the view"),
        ("q", "quit", ""),
    ];
    let pages = pages.map(|(key, word, about)| (key.to_owned(), word, about));
    let mut lines = vec![Line::raw("")];
    for (key, word, about) in moves.into_iter().chain(pages) {
        let about = cut::beginning(about, width.saturating_sub(15));
        let key = Span::styled(format!(" {key:<4}{word:<9}"), strong());
        lines.push(Line::from(vec![key, Span::raw(about)]));
    }
    let rule = "A key that changes something asks first, and shows what will happen.";
    lines.extend(cut::wrapped(rule, width, 2).into_iter().map(Line::raw));
    lines
}

fn text(model: &Model, width: usize) -> Vec<Line<'static>> {
    model.text(width).unwrap_or_default().into_iter().skip(model.scroll).map(Line::raw).collect()
}
