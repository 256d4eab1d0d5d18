//! The pods of each revision over time, stacked, between floor and ceiling, in half blocks.

use jiff::Timestamp;
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

use super::cut;
use super::ink::{Ink, Look, STARTING, quiet};
use super::lives::Lives;

/// Pods that have gone may have been here.
const UNKNOWN: char = '·';

fn is_empty(cell: &Cell) -> bool {
    cell.symbol() == " " || cell.symbol().starts_with(UNKNOWN)
}

/// What is drawn.
pub(super) struct Chart<'a> {
    pub(super) lives: &'a Lives,
    /// The uid of each ReplicaSet, from below.
    pub(super) sets: Vec<(&'a str, Look)>,
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    /// When the rollout began, and when somebody began to look: what went before that is unknown.
    pub(super) begin: Timestamp,
    pub(super) opened: Timestamp,
    /// The last moment is now.
    pub(super) is_running: bool,
    /// No fewer available pods than this, and no more pods than that.
    pub(super) limits: Option<(i64, i64)>,
    /// How many pods each step before the last updates.
    pub(super) steps: Vec<i64>,
    /// The steps that were reached, and when.
    pub(super) reached: Vec<(Timestamp, i64)>,
    pub(super) ink: Ink,
}

/// A part of a column: pods of a revision that are ready, or that start.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Layer {
    look: Look,
    is_ready: bool,
    /// The first half of a cell above it, counted from below.
    top: usize,
}

impl Layer {
    fn color(self) -> Color {
        if self.is_ready { self.look.color } else { self.look.starting }
    }
}

/// Where things are.
struct Plot {
    area: Rect,
    /// How many pods reach to the row of the ceiling.
    pods: i64,
}

impl Plot {
    /// The half of a cell above this many pods.
    fn half(&self, pods: i64) -> usize {
        let halves = i64::from(self.area.height.saturating_sub(1)) * 2;
        let whole = (pods.max(0) * halves + self.pods / 2) / self.pods.max(1);
        usize::try_from(whole).unwrap_or(0)
    }

    /// The row above this many pods.
    fn row(&self, pods: i64) -> u16 {
        let below = u16::try_from(self.half(pods) / 2).unwrap_or(u16::MAX);
        self.area.bottom().saturating_sub(1).saturating_sub(below).max(self.area.y)
    }
}

impl Chart<'_> {
    /// Draws it; the last two rows are those of the time.
    pub(super) fn draw(&self, area: Rect, buffer: &mut Buffer) {
        if area.height < 4 || area.width < 20 {
            return;
        }
        let pods = self.highest(area.width);
        let left = u16::try_from(pods.to_string().len() + 1).unwrap_or(2);
        let right = if self.steps.is_empty() && area.width < 60 {
            0
        } else if area.width < 60 {
            3
        } else {
            9
        };
        let inner = Rect {
            x: area.x + left,
            width: area.width.saturating_sub(left + right),
            height: area.height - 2,
            ..area
        };
        let plot = Plot { area: inner, pods };
        for column in 0..inner.width {
            self.column(&plot, column, buffer);
        }
        self.lines(&plot, buffer);
        self.labels(&plot, area, buffer);
        self.time(&plot, area, buffer);
    }

    /// The moment at the right edge of a column.
    fn moment(&self, column: u16, width: u16) -> Timestamp {
        let all = self.to.duration_since(self.from);
        let part = all.as_millis() * i128::from(column + 1) / i128::from(width.max(1));
        let part = jiff::SignedDuration::from_millis(i64::try_from(part).unwrap_or(0));
        self.from.checked_add(part).unwrap_or(self.to)
    }

    fn highest(&self, width: u16) -> i64 {
        let total = |column: u16| {
            let time = self.moment(column, width);
            let heights = self.sets.iter().map(|(owner, _)| self.lives.at(time, owner));
            heights.map(|height| height.ready + height.starting).sum::<i64>()
        };
        let highest = (0..width).map(total).max().unwrap_or(0);
        highest.max(self.limits.map_or(0, |(_, ceiling)| ceiling)).max(1)
    }

    /// What is stacked at a moment: what is ready below what starts.
    fn layers(&self, plot: &Plot, time: Timestamp) -> Vec<Layer> {
        let heights: Vec<_> =
            self.sets.iter().map(|(owner, look)| (self.lives.at(time, owner), *look)).collect();
        let ready = heights.iter().map(|(height, look)| (height.ready, *look, true));
        let starting = heights.iter().map(|(height, look)| (height.starting, *look, false));
        let mut sum = 0;
        let mut layers: Vec<Layer> = Vec::new();
        for (pods, look, is_ready) in ready.chain(starting).filter(|(pods, ..)| *pods > 0) {
            sum += pods;
            // What is there is seen, however little.
            let least = layers.last().map_or(0, |below| below.top) + usize::from(layers.is_empty());
            layers.push(Layer { look, is_ready, top: plot.half(sum).max(least) });
        }
        layers
    }

    fn column(&self, plot: &Plot, column: u16, buffer: &mut Buffer) {
        let time = self.moment(column, plot.area.width);
        let layers = self.layers(plot, time);
        let at = |half: usize| layers.iter().find(|layer| half < layer.top).copied();
        for up in 0..plot.area.height {
            let half = usize::from(up) * 2;
            let (glyph, style) = match (at(half), at(half + 1)) {
                (None, _) if time < self.opened => (UNKNOWN, quiet()),
                (None, _) => continue,
                (Some(below), None) => ('▄', self.ink.of(below.color())),
                (Some(below), Some(above)) if below == above => self.whole(below),
                (Some(below), Some(above)) if self.ink.has_color => {
                    ('▄', self.ink.both(below.color(), above.color()))
                }
                (Some(below), Some(_)) => self.whole(below),
            };
            let (x, y) = (plot.area.x + column, plot.area.bottom() - 1 - up);
            buffer[(x, y)].set_char(glyph).set_style(style);
        }
    }

    fn whole(&self, layer: Layer) -> (char, Style) {
        let glyph = if layer.is_ready { layer.look.glyph } else { STARTING };
        (glyph, self.ink.of(layer.color()))
    }

    /// Floor and ceiling; the floor is drawn over the pods.
    fn lines(&self, plot: &Plot, buffer: &mut Buffer) {
        let Some((floor, ceiling)) = self.limits else { return };
        for x in plot.area.x..plot.area.right() {
            let above = &mut buffer[(x, plot.row(ceiling))];
            if is_empty(above) {
                above.set_char('╌').set_style(quiet());
            }
            let below = &mut buffer[(x, plot.row(floor))];
            // Where the floor is the edge of something, that is the line.
            let is_edge = below.symbol() == "▄" || below.symbol().starts_with(STARTING);
            if floor > 0 && !is_edge {
                let back = if is_empty(below) { below.bg } else { below.fg };
                let style = if self.ink.has_color { Style::reset().bg(back) } else { Style::new() };
                below.set_char('╌').set_style(style);
            }
        }
    }

    /// Numbers at the left, and at the right what they are.
    fn labels(&self, plot: &Plot, area: Rect, buffer: &mut Buffer) {
        let room = plot.area.x - area.x - 1;
        for y in plot.area.y..plot.area.bottom() {
            buffer.set_string(area.x + room, y, "│", quiet());
        }
        let beside = plot.area.right();
        let is_wide = area.right() - beside > 3;
        let mut write = |pods: i64, name: &str| {
            let y = plot.row(pods);
            buffer.set_string(area.x, y, format!("{pods:>room$}┤", room = usize::from(room)), quiet());
            if beside < area.right() {
                buffer.set_stringn(beside, y, name, usize::from(area.right() - beside), quiet());
            }
        };
        for (index, pods) in self.steps.iter().enumerate() {
            let number = index + 1;
            write(*pods, &if is_wide { format!("◂ step {number}") } else { format!("◂{number}") });
        }
        if let Some((floor, ceiling)) = self.limits {
            if floor > 0 {
                write(floor, if is_wide { " floor" } else { "" });
            }
            write(ceiling, if is_wide { " ceiling" } else { "" });
        } else {
            write(plot.pods, "");
        }
    }

    /// The two rows below: the axis with a mark at each step that was reached, and when it begins and ends.
    fn time(&self, plot: &Plot, area: Rect, buffer: &mut Buffer) {
        let y = plot.area.bottom();
        let room = usize::from(plot.area.x - area.x - 1);
        let line = "─".repeat(usize::from(plot.area.width));
        buffer.set_string(area.x, y, format!("{:>room$}└{line}", 0), quiet());
        let end = if self.is_running { "now".to_owned() } else { clock(self.to) };
        let end_at = plot.area.right().saturating_sub(u16::try_from(end.len()).unwrap_or(0));
        buffer.set_string(end_at, y + 1, &end, quiet());
        let steps = self.reached.iter().map(|(time, step)| (*time, format!("▲{step}")));
        let mut free = plot.area.x;
        for (time, label) in [(self.begin, clock(self.begin))].into_iter().chain(steps) {
            let Some(x) = self.place(plot, time) else { continue };
            let width = u16::try_from(cut::width(&label)).unwrap_or(0);
            buffer.set_string(x, y, "┴", quiet());
            if x >= free && x + width < end_at {
                buffer.set_string(x, y + 1, label, Style::new());
                free = x + width + 1;
            }
        }
    }

    /// The column of a moment.
    fn place(&self, plot: &Plot, time: Timestamp) -> Option<u16> {
        let all = self.to.duration_since(self.from).as_millis().max(1);
        let part = time.duration_since(self.from).as_millis() * i128::from(plot.area.width) / all;
        let x = plot.area.x.checked_add(u16::try_from(part).ok()?)?;
        (x < plot.area.right()).then_some(x)
    }
}

fn clock(time: Timestamp) -> String {
    time.strftime("%H:%M:%SZ").to_string()
}
