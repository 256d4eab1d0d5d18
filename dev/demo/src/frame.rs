//! One picture of the demo: which step runs and what it waits for, the
//! ReplicaSets as bars, the conditions, the events. Pure: state in, lines out.

use std::time::Duration;

use jiff::Timestamp;

use crate::ground::Ground;
use crate::ink::{Line, Style, shorten, wrap};
use crate::limits::{Guard, Limits};
use crate::world::{Census, Condition, Event, Set, World};

const BAR: usize = 14;
/// What client libraries put before the latest of many similar events.
const SIMILAR: &str = "(combined from similar events): ";
/// From this width on, images are shown with their registry.
const WIDE: usize = 104;
const INDENT: &str = "  ";
const PROMPT: &str = "$ ";

/// Everything a picture shows.
#[derive(Clone, Debug)]
pub(crate) struct Scene<'a> {
    /// URL of the API server; empty until it is up.
    pub(crate) server: &'a str,
    pub(crate) world: &'a World,
    pub(crate) now: Timestamp,
    pub(crate) elapsed: Duration,
    pub(crate) ground: Ground,
    /// Names of all steps, and how many of them are over.
    pub(crate) plan: &'a [&'static str],
    pub(crate) over: usize,
    pub(crate) step: StepView<'a>,
    pub(crate) guard: Option<&'a Guard>,
}

/// The running step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepView<'a> {
    pub(crate) title: &'a str,
    pub(crate) command: &'a str,
    pub(crate) status: &'a Status,
    pub(crate) took: Duration,
    pub(crate) deadline: Duration,
}

/// How far a step is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Not there yet; what is missing.
    Waiting(String),
    /// There; what was seen.
    Reached(String),
}

/// Draws a picture of at most this many characters and lines.
pub(crate) fn draw(scene: &Scene<'_>, width: usize, height: usize) -> Vec<Line> {
    let mut lines = vec![header(scene, width)];
    lines.extend(progress(scene, width));
    lines.push(Line::new());
    lines.extend(step(scene, width));
    lines.push(Line::new());
    lines.extend(deployment(scene));
    lines.extend(sets(scene.world, width));
    lines.push(Line::new());
    lines.extend(conditions(scene.world, width));
    let left = height.saturating_sub(lines.len() + 2);
    if left > 0 {
        lines.push(Line::new());
        lines.extend(events(scene, width, left));
    }
    lines.truncate(height);
    lines
}

fn header(scene: &Scene<'_>, width: usize) -> Line {
    let (server, name) = (scene.server, scene.ground.name());
    let place = if server.is_empty() { String::new() } else { format!("  on {name} at {server}") };
    let time = format!("{:.1} s ", scene.elapsed.as_secs_f64());
    let left = Line::of(Style::Bold, " Rollwright").and(Style::Dim, place);
    left.pad(width.saturating_sub(time.len())).and(Style::Dim, time)
}

/// The names of the steps, over as many lines as they need.
fn progress(scene: &Scene<'_>, width: usize) -> Vec<Line> {
    let mut lines = vec![Line::new()];
    for (number, name) in scene.plan.iter().enumerate() {
        let (mark, style) = match number.cmp(&scene.over) {
            std::cmp::Ordering::Less => ("✔", Style::Good),
            std::cmp::Ordering::Equal => ("▶", Style::Accent),
            std::cmp::Ordering::Greater => ("·", Style::Dim),
        };
        let item = format!(" {mark} {name}");
        let mut line = lines.pop().unwrap_or_default();
        if line.width() + item.chars().count() > width {
            lines.push(line);
            line = Line::new();
        }
        lines.push(line.and(style, item));
    }
    lines
}

fn step(scene: &Scene<'_>, width: usize) -> Vec<Line> {
    let StepView { title, command, status, took, deadline } = scene.step;
    let time = format!("   {:.1} s of at most {} s", took.as_secs_f64(), deadline.as_secs());
    let status = match status {
        Status::Waiting(missing) => Line::of(Style::Warn, format!("{INDENT}… {missing}")),
        Status::Reached(seen) => Line::of(Style::Good, format!("{INDENT}✔ {seen}")),
    };
    let mut lines =
        vec![Line::of(Style::Bold, format!(" {}. {title}", scene.over + 1)).and(Style::Dim, time)];
    let pieces = wrap(command, width.saturating_sub(PROMPT.len() + INDENT.len()));
    for (number, piece) in pieces.into_iter().enumerate() {
        let prompt = if number == 0 { PROMPT } else { "  " };
        lines.push(Line::of(Style::Accent, format!("{INDENT}{prompt}{piece}")));
    }
    lines.push(status);
    lines
}

fn deployment(scene: &Scene<'_>) -> Vec<Line> {
    let Some(deployment) = &scene.world.deployment else {
        return vec![Line::of(Style::Dim, " No Deployment yet.")];
    };
    let counts = format!(
        "   revision {}   ready {}/{}   up-to-date {}   available {}",
        deployment.revision, deployment.ready, deployment.wanted, deployment.updated, deployment.available
    );
    let mut line = Line::of(Style::Bold, " Deployment web").and(Style::Plain, counts);
    if deployment.paused {
        line = line.and(Style::Warn, "   PAUSED");
    }
    let mut lines = vec![line];
    if let Some(Guard { limits, least, most }) = scene.guard {
        let (serving, asked_for) = (scene.world.serving(), scene.world.asked_for());
        let Limits { floor, ceiling } = limits;
        let text = format!(
            "{INDENT}{serving} serve (limit ≥ {floor}, lowest {least})   {asked_for} asked for (limit ≤ {ceiling}, highest {most})"
        );
        lines.push(Line::of(Style::Dim, text));
    }
    lines
}

fn sets(world: &World, width: usize) -> Vec<Line> {
    let sets = world.newest_first();
    if sets.is_empty() {
        return Vec::new();
    }
    let image = |set: &Set| {
        let short = set.image.rsplit('/').next().unwrap_or_default().to_owned();
        if width < WIDE { short } else { set.image.clone() }
    };
    let longest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let names = longest(&mut sets.iter().map(|(_, set)| set.name.chars().count())).max(10);
    let images = longest(&mut sets.iter().map(|(_, set)| image(set).chars().count())).max(5);
    let title = format!(
        "{INDENT}rev  {:names$}  {:images$}  {:BAR$} desired current ready",
        "replicaset", "image", "pods"
    );
    let mut lines = vec![Line::new(), Line::of(Style::Dim, title)];
    for (uid, set) in sets {
        let style = if set.desired > 0 { Style::Plain } else { Style::Dim };
        let line = Line::of(Style::Bold, format!("{INDENT}{:>3}  ", set.revision))
            .and(style, format!("{:names$}  {:images$}  ", set.name, image(set)));
        let counts = format!(" {:>7} {:>7} {:>5}", set.desired, set.current, set.ready);
        let bar = bar(world.census(uid), set.desired);
        let width = line.width() + BAR;
        lines.push(
            bar.into_iter()
                .fold(line, |line, (style, text)| line.and(style, text))
                .pad(width)
                .and(style, counts),
        );
    }
    lines.push(Line::of(Style::Dim, format!("{INDENT}■ ready  □ starting  ✗ failing  · to come  ◌ leaving")));
    lines
}

/// A cell for every pod, and for every pod that is still to come.
fn bar(census: Census, desired: i64) -> Vec<(Style, String)> {
    let Census { ready, starting, failing, leaving } = census;
    let missing = usize::try_from(desired).unwrap_or(0).saturating_sub(ready + starting + failing);
    let cells = [
        (Style::Good, "■", ready),
        (Style::Warn, "□", starting),
        (Style::Bad, "✗", failing),
        (Style::Dim, "·", missing),
        (Style::Dim, "◌", leaving),
    ];
    let mut left = BAR;
    let mut take = |count: usize| {
        let taken = count.min(left);
        left -= taken;
        taken
    };
    cells.into_iter().map(|(style, cell, count)| (style, cell.repeat(take(count)))).collect()
}

fn conditions(world: &World, width: usize) -> Vec<Line> {
    let Some(deployment) = &world.deployment else { return Vec::new() };
    let head = Line::of(Style::Dim, format!("{INDENT}condition    status  reason"));
    let mut lines = vec![head];
    // The operator moves what has changed to the end; here each keeps its place.
    let mut conditions: Vec<&Condition> = deployment.conditions.iter().collect();
    conditions.sort_by(|a, b| a.kind.cmp(&b.kind));
    lines.extend(conditions.into_iter().map(|condition| condition_line(condition, width)));
    lines
}

fn condition_line(condition: &Condition, width: usize) -> Line {
    let Condition { kind, status, reason, message } = condition;
    // Of these two it is the truth that is bad news.
    let is_bad_if_true = matches!(kind.as_str(), "ReplicaFailure" | "Stalled");
    let style = match (status.as_str(), is_bad_if_true) {
        ("True", false) | ("False", true) => Style::Good,
        ("False", false) if kind != "Reconciling" => Style::Bad,
        ("True", true) => Style::Bad,
        _ => Style::Warn,
    };
    let line = Line::of(Style::Plain, format!("{INDENT}{kind:12} ")).and(style, format!("{status:7} "));
    let line = line.and(Style::Plain, format!("{reason:26} "));
    let left = width.saturating_sub(line.width());
    line.and(Style::Dim, shorten(message, left))
}

fn events(scene: &Scene<'_>, width: usize, lines: usize) -> Vec<Line> {
    if scene.world.events.is_empty() {
        return Vec::new();
    }
    let newest = scene.world.events.iter().rev().take(lines.saturating_sub(1));
    let head = Line::of(Style::Dim, format!("{INDENT}latest events"));
    std::iter::once(head).chain(newest.map(|event| event_line(event, scene.now, width))).collect()
}

fn event_line(event: &Event, now: Timestamp, width: usize) -> Line {
    let age = now.duration_since(event.time).as_secs().max(0);
    let style = if event.is_warning { Style::Warn } else { Style::Plain };
    let times = if event.count > 1 { format!(" (×{})", event.count) } else { String::new() };
    let line = Line::of(Style::Dim, format!("{INDENT}{age:>4} s  "));
    let left = width.saturating_sub(line.width());
    let message = event.message.strip_prefix(SIMILAR).unwrap_or(&event.message);
    line.and(style, shorten(&format!("{}: {message}{times}", event.reason), left))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ink::Colour;
    use crate::world::Deployment;

    #[test]
    fn bars_show_every_pod_once() {
        let text = |census, desired| -> String {
            bar(census, desired).into_iter().map(|(_, cells)| cells).collect()
        };
        let census = Census { ready: 2, starting: 1, failing: 1, leaving: 1 };
        assert_eq!(text(census, 6), "■■□✗··◌");
        assert_eq!(text(Census { ready: 20, ..census }, 20), "■".repeat(BAR));
        assert_eq!(text(Census::default(), -1), "");
    }

    fn picture(width: usize, height: usize) -> Vec<String> {
        let condition = Condition {
            kind: "Available".to_owned(),
            status: "True".to_owned(),
            reason: "MinimumReplicasAvailable".to_owned(),
            message: "Deployment has minimum availability.".to_owned(),
        };
        let deployment =
            Deployment { revision: 3, wanted: 4, conditions: vec![condition], ..Default::default() };
        let mut world = World { deployment: Some(deployment), ..World::default() };
        let image = "registry.example/web:v1".to_owned();
        let set = Set { name: "web-1".to_owned(), revision: 3, image, desired: 4, current: 2, ready: 0 };
        world.sets.insert("s".to_owned(), set);
        let status = Status::Waiting("nothing is ready".to_owned());
        let command = &"kubectl ".repeat(20);
        let (took, deadline) = (Duration::from_millis(1500), Duration::from_secs(90));
        let scene = Scene {
            server: "",
            world: &world,
            now: Timestamp::UNIX_EPOCH,
            elapsed: took,
            ground: Ground::Memory,
            plan: &["create", "roll out"],
            over: 1,
            step: StepView { title: "Roll out", command, status: &status, took, deadline },
            guard: None,
        };
        draw(&scene, width, height).iter().map(|line| line.render(Colour::Off, width)).collect()
    }

    #[test]
    fn a_picture_tells_the_step_the_sets_and_the_conditions() {
        let text = picture(80, 24).join("\n");
        for part in [
            " ✔ create ▶ roll out",
            " 2. Roll out   1.5 s of at most 90 s",
            "  … nothing is ready",
            " Deployment web   revision 3   ready 0/4",
            "    3  web-1       web:v1  ····                 4       2     0",
            "  Available    True    MinimumReplicasAvailable   Deployment has minimum availa…",
        ] {
            assert!(text.contains(part), "{part} is not in:\n{text}");
        }
    }

    #[test]
    fn a_picture_fits_into_any_terminal() {
        for (width, height) in [(80, 24), (40, 10), (12, 3), (1, 1), (0, 0)] {
            let lines = picture(width, height);
            assert!(lines.len() <= height, "{} lines in {height}", lines.len());
            assert!(lines.iter().all(|line| line.chars().count() <= width), "{width}: {lines:#?}");
        }
    }
}
