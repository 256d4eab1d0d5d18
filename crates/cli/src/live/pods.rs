//! The revisions with their pods, each in a line, or folded by state where there are too many.

use jiff::Timestamp;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use super::cut;
use super::ink::{Ink, STARTING, look, quiet, strong};
use crate::history::Revision;
use crate::pods::Pod;
use crate::table::age;
use crate::terminal::clean;
use crate::tree::Tree;

/// What the lines are made of.
pub(super) struct Pods<'a> {
    pub(super) tree: &'a Tree,
    pub(super) now: Timestamp,
    pub(super) ink: Ink,
    pub(super) width: usize,
}

impl Pods<'_> {
    /// A line for each revision and for each of its pods.
    pub(super) fn all(&self) -> Vec<Line<'static>> {
        let name = self.names().map(|pod| cut::width(&pod.name)).max().unwrap_or(0).min(self.width * 2 / 5);
        let status = self.names().map(|pod| cut::width(&pod.status)).max().unwrap_or(0).min(self.width / 3);
        self.lines(|pods| pods.iter().map(|pod| self.pod(pod, name, status)).collect())
    }

    /// A line for each revision, and for each state of its pods; those that are not ready come first.
    pub(super) fn folded(&self) -> Vec<Line<'static>> {
        self.lines(|pods| {
            let mut groups: Vec<(bool, &str, Vec<&Pod>)> = Vec::new();
            for pod in pods {
                let state = (is_ready(pod), pod.status.as_str());
                match groups.iter_mut().find(|group| (group.0, group.1) == state) {
                    Some((.., known)) => known.push(pod),
                    None => groups.push((state.0, state.1, vec![pod])),
                }
            }
            groups.sort_by_key(|(is_ready, _, pods)| (*is_ready, std::cmp::Reverse(pods.len())));
            groups.iter().map(|(is_ready, status, pods)| self.group(*is_ready, status, pods)).collect()
        })
    }

    fn names(&self) -> impl Iterator<Item = &Pod> {
        self.tree.revisions.iter().flat_map(|(_, pods)| pods)
    }

    fn lines(&self, below: impl Fn(&[Pod]) -> Vec<Line<'static>>) -> Vec<Line<'static>> {
        let revisions = self.tree.revisions.iter().enumerate();
        revisions
            .flat_map(|(place, (set, pods))| [vec![self.revision(place, set)], below(pods)].concat())
            .collect()
    }

    fn revision(&self, place: usize, revision: &Revision) -> Line<'static> {
        let role = self.tree.role(place, revision);
        let look = look(place, role);
        let counts = format!("{}/{}", revision.ready(), revision.desired());
        let text = format!(" revision {}  {role}  {counts}  ", revision.number);
        let room = self.width.saturating_sub(cut::width(&text) + 2);
        Line::from(vec![
            Span::styled(format!("{0}{0}", look.glyph), self.ink.of(look.color)),
            Span::styled(text, strong()),
            Span::styled(cut::end(&revision.images(), room), quiet()),
        ])
    }

    fn pod(&self, pod: &Pod, name: usize, status: usize) -> Line<'static> {
        let before = format!("   {}  ", cut::padded(&cut::end(&clean(&pod.name), name), name));
        let state = cut::padded(&clean(&pod.status), status);
        let why = clean(&format!("{}{}", pod.restarted(), why(pod).unwrap_or_default()));
        let numbers = format!("  {}/{}  {:<4}", pod.ready, pod.containers, age(&pod.created, self.now));
        let room = self.width.saturating_sub(cut::width(&before) + status + cut::width(&numbers) + 1);
        Line::from(vec![
            Span::raw(before),
            Span::styled(state, self.style(pod)),
            Span::raw(numbers),
            Span::styled(format!(" {}", cut::both_ends(&why, room)), quiet()),
        ])
    }

    fn group(&self, is_ready: bool, status: &str, pods: &[&Pod]) -> Line<'static> {
        let state = clean(status);
        let more = if is_ready || status != "Running" { "" } else { ", not ready" };
        let before = format!("{:>6} ", pods.len());
        let why = pods.iter().find_map(|pod| why(pod)).map(clean).unwrap_or_default();
        let room = self.width.saturating_sub(cut::width(&before) + cut::width(&state) + more.len() + 2);
        let style = pods.first().map_or_else(Style::new, |pod| self.style(pod));
        Line::from(vec![
            Span::raw(before),
            Span::styled(format!("{state}{more}"), style),
            Span::styled(format!("  {}", cut::both_ends(&why, room)), quiet()),
        ])
    }

    fn style(&self, pod: &Pod) -> Style {
        match pod.status.as_str() {
            "Terminating" | "Completed" => quiet(),
            _ if is_ready(pod) => self.ink.of(Color::Green),
            _ if starts(pod) => Style::new(),
            _ => self.ink.bold(Color::Red),
        }
    }
}

fn is_ready(pod: &Pod) -> bool {
    pod.containers > 0 && pod.ready == pod.containers && pod.why.is_none()
}

/// Whether it does what every pod does at first, as far as its state shows.
fn starts(pod: &Pod) -> bool {
    matches!(pod.status.as_str(), "ContainerCreating" | "PodInitializing" | "Running")
        || pod.status.strip_prefix("Init:").is_some_and(|rest| rest.contains('/'))
}

/// Why it is not ready, if its state does not show that.
fn why(pod: &Pod) -> Option<&str> {
    pod.why.as_deref().filter(|_| pod.status != "ContainerCreating" && pod.status != "PodInitializing")
}

/// What the other glyphs of the picture mean.
pub(super) fn legend(has_unknown: bool) -> Line<'static> {
    let unknown = if has_unknown { "   ·· pods that have gone are unknown" } else { "" };
    Line::styled(format!("{STARTING}{STARTING} not ready yet{unknown}"), quiet())
}
