//! The view of all Deployments: what needs attention comes first.

use std::collections::BTreeMap;

use jiff::Timestamp;
use plan::Flavour;
use ratatui::Frame;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::cut;
use super::footer::hints;
use super::ink::{Ink, strong};
use super::model::Key;
use super::render::{put, split};
use crate::cluster::{Deployment, Place};
use crate::images;
use crate::rollout::Counts;
use crate::state::{self, State, States, WORDS};
use crate::table::{age, counted};
use crate::terminal::clean;

/// A Deployment in a line.
struct Row {
    deployment: Deployment,
    state: State,
    words: String,
    counts: Counts,
}

/// What the shell has to do after a key.
pub(super) enum Chosen {
    Nothing,
    Leave,
    Open(Box<Deployment>),
}

/// The view.
pub(super) struct List {
    pub(super) now: Timestamp,
    ink: Ink,
    /// The namespace; `None` for all.
    namespace: Option<String>,
    states: States,
    rows: BTreeMap<Place, Row>,
    /// Whether all have been read.
    pub(super) is_whole: bool,
    /// Why lines of an API may be old.
    pub(super) lost: BTreeMap<Flavour, String>,
    chosen: Option<Place>,
}

impl List {
    pub(super) fn new(namespace: Option<String>, states: States, now: Timestamp, ink: Ink) -> Self {
        Self {
            now,
            ink,
            namespace,
            states,
            rows: BTreeMap::new(),
            is_whole: false,
            lost: BTreeMap::new(),
            chosen: None,
        }
    }

    /// A Deployment is there, or has changed.
    pub(super) fn set(&mut self, deployment: Deployment) {
        let (place, state) = (deployment.place(), state::of(&deployment));
        if !self.states.contain(state) {
            self.rows.remove(&place);
            return;
        }
        let (words, counts) = (state::words(&deployment), Counts::of(&deployment.body));
        self.rows.insert(place, Row { deployment, state, words, counts });
    }

    pub(super) fn remove(&mut self, deployment: &Deployment) {
        self.rows.remove(&deployment.place());
    }

    /// Those of an API that a new list does not have are gone.
    pub(super) fn retain(&mut self, flavour: Flavour, names: &std::collections::BTreeSet<(String, String)>) {
        self.rows.retain(|(namespace, name, of), _| {
            *of != flavour || names.contains(&(namespace.clone(), name.clone()))
        });
    }

    fn sorted(&self) -> Vec<(&Place, &Row)> {
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by_key(|(place, row)| (row.state, *place));
        rows
    }

    /// The line that is chosen: that of the Deployment, wherever it has moved to.
    fn position(&self, rows: &[(&Place, &Row)]) -> usize {
        let chosen = self.chosen.as_ref();
        rows.iter().position(|(place, _)| Some(*place) == chosen).unwrap_or(0)
    }

    pub(super) fn press(&mut self, key: Key) -> Chosen {
        let rows = self.sorted();
        let position = self.position(&rows);
        let by = match key {
            Key::Interrupt | Key::Escape | Key::Letter('q') => return Chosen::Leave,
            Key::Enter => {
                let chosen = rows.get(position).map(|(_, row)| Box::new(row.deployment.clone()));
                return chosen.map_or(Chosen::Nothing, Chosen::Open);
            }
            Key::Up => -1,
            Key::Down => 1,
            Key::PageUp => -10,
            Key::PageDown => 10,
            Key::Letter('g') => isize::MIN,
            Key::Letter('G') => isize::MAX,
            Key::Letter(_) => return Chosen::Nothing,
        };
        let next = position.saturating_add_signed(by).min(rows.len().saturating_sub(1));
        let next = rows.get(next).map(|(place, _)| (*place).clone());
        // The first line stays the first, whatever it is.
        self.chosen = next.filter(|_| position > 0 || by > 0);
        Chosen::Nothing
    }

    /// Draws the view.
    pub(super) fn render(&self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let width = usize::from(area.width);
        let (body, foot) = split(area, area.height.saturating_sub(1));
        put(frame, foot, vec![hints(&KEYS, width)]);
        let head = self.head(width);
        let (top, rest) = split(body, u16::try_from(head.len()).unwrap_or(0));
        put(frame, top, head);
        let rows = self.sorted();
        let (position, room) = (self.position(&rows), usize::from(rest.height));
        let first = position.saturating_sub(room / 2).min(rows.len().saturating_sub(room));
        let columns = Columns::of(&rows, width, self.namespace.is_none());
        let shown = rows.iter().enumerate().skip(first).take(room);
        let lines = shown.map(|(at, (_, row))| self.line(row, &columns, at == position));
        put(frame, rest, lines.collect());
    }

    fn head(&self, width: usize) -> Vec<Line<'static>> {
        let count = |state: State| self.rows.values().filter(|row| row.state == state).count();
        let all = counted(self.rows.len(), "Deployment");
        let place = match &self.namespace {
            Some(namespace) => format!("in namespace {namespace}"),
            None => "in all namespaces".to_owned(),
        };
        let reading = if self.is_whole { "" } else { ", reading more from the cluster..." };
        let first = cut::beginning(&format!("{all} {place}{reading}"), width);
        let mut spans = Vec::new();
        let mut used = 0;
        for (state, word) in WORDS {
            let gap = if used == 0 { "" } else { ", " };
            let text = format!("{gap}{} {}", count(state), word.to_lowercase());
            used += cut::width(&text);
            if count(state) > 0 && used <= width {
                spans.push(Span::styled(text, self.ink.of(color(state))));
            } else {
                used -= cut::width(&text);
            }
        }
        let mut lines = vec![Line::styled(first, strong()), Line::from(spans)];
        for why in self.lost.values() {
            let lost = cut::wrapped(&clean(why), width, 2).into_iter();
            lines.extend(lost.map(|line| Line::styled(line, self.ink.bold(Color::Red))));
        }
        lines.push(Line::raw(""));
        lines
    }

    fn line(&self, row: &Row, columns: &Columns, is_chosen: bool) -> Line<'static> {
        let Row { deployment, state, words, counts } = row;
        let mark = if is_chosen { ">" } else { " " };
        let name = cut::end(&columns.name_of(deployment), columns.name);
        let ready = format!("{}/{}", counts.ready, counts.desired);
        let mut text = format!("  {}  {ready:<9}", cut::padded(&name, columns.name));
        if columns.api {
            let (created, api) =
                (deployment.text("/metadata/creationTimestamp"), deployment.flavour.api_version());
            text.push_str(&format!("  {:<5}  {api:<17}", age(created, self.now)));
        }
        if columns.images > 0 {
            let images = images::of(deployment.template()).join(",");
            text.push_str(&format!("  {}", cut::end(&clean(&images), columns.images)));
        }
        let words = cut::padded(&clean(words), columns.words);
        let line = Line::from(vec![
            Span::raw(mark),
            Span::styled(words, self.ink.of(color(*state))),
            Span::raw(text),
        ]);
        if is_chosen { line.style(Style::new().add_modifier(Modifier::REVERSED)) } else { line }
    }
}

/// How wide columns are, and which there are.
struct Columns {
    words: usize,
    name: usize,
    api: bool,
    images: usize,
    has_namespace: bool,
}

impl Columns {
    fn of(rows: &[(&Place, &Row)], width: usize, has_namespace: bool) -> Self {
        let mut columns = Self { words: 0, name: 0, api: width >= 80, images: 0, has_namespace };
        let widest = |of: &dyn Fn(&Row) -> usize| rows.iter().map(|(_, row)| of(row)).max().unwrap_or(0);
        columns.words = widest(&|row| cut::width(&row.words)).min(width * 2 / 5);
        let fixed = 1 + columns.words + 2 + 11 + if columns.api { 26 } else { 0 };
        let name = widest(&|row| cut::width(&columns.name_of(&row.deployment)));
        columns.name = name.min(width.saturating_sub(fixed));
        columns.images = width.saturating_sub(fixed + columns.name + 2);
        if columns.images < 12 {
            columns.images = 0;
        }
        columns
    }

    fn name_of(&self, deployment: &Deployment) -> String {
        let name = deployment.name();
        if self.has_namespace { format!("{}/{name}", deployment.namespace()) } else { name.to_owned() }
    }
}

const KEYS: [(&str, &str, bool); 4] =
    [("q", "quit", false), ("Enter", "open", false), ("j k", "move", false), ("g G", "ends", false)];

fn color(state: State) -> Color {
    match state {
        State::Blocked | State::Reverted => Color::Red,
        State::Rolling => Color::Blue,
        State::Queued => Color::Cyan,
        State::Resting | State::Held | State::Paused => Color::Yellow,
        State::Pinned => Color::Magenta,
        State::Complete => Color::Reset,
    }
}
