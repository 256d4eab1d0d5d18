//! The view of a Deployment: what it shows, and what a key does. Pure: objects, keys, and the time come from outside.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::cut;
use super::ink::Ink;
use super::lives::Lives;
use super::moves::{Move, Question};
use super::seen::Seen;
use crate::failure::Failure;
use crate::history::Revision;
use crate::rollout::Phase;
use crate::terminal::{NOTICES, clean};
use crate::verbs::history;

/// A page of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    Rollout,
    Events,
    History,
    Keys,
}

/// What the bottom shows above the keys.
#[derive(Debug)]
pub(super) enum Talk {
    Nothing,
    /// The answer of the cluster is awaited.
    Busy(Move),
    Question(Box<Question>),
    Done(String),
    Failed(String),
}

/// A key, as far as the view knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Letter(char),
    Enter,
    Escape,
    Interrupt,
    Up,
    Down,
    PageUp,
    PageDown,
}

/// What the shell has to do after a key.
#[derive(Debug)]
pub(super) enum Effect {
    Nothing,
    /// Back to the list, or to the shell of the user.
    Leave,
    /// To the shell of the user, from everywhere.
    Quit,
    Ask(Move),
    CarryOut(Box<Question>),
}

/// The view.
pub(super) struct Model {
    /// The name of the Deployment, until it has been read.
    pub(super) name: String,
    pub(super) now: Timestamp,
    /// When the view was opened.
    pub(super) opened: Timestamp,
    pub(super) ink: Ink,
    /// Whether the list of all is behind it.
    pub(super) has_list: bool,
    pub(super) seen: Option<Box<Seen>>,
    pub(super) lives: Lives,
    pub(super) page: Page,
    pub(super) talk: Talk,
    /// Whether the user may patch the Deployment, as far as that is known.
    pub(super) may_patch: Option<bool>,
    /// Why the picture may be old.
    pub(super) lost: Option<(Timestamp, String)>,
    /// Whether the Deployment was deleted.
    pub(super) is_gone: bool,
    /// What is awaited that takes long.
    pub(super) notice: Option<String>,
    /// The first line that a page of text shows.
    pub(super) scroll: usize,
    /// The columns of the terminal.
    pub(super) width: usize,
    /// When each step was begun.
    pub(super) reached: BTreeMap<i64, Timestamp>,
}

/// When the rollout began, and when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) begin: Timestamp,
    pub(super) end: Option<Timestamp>,
}

impl Model {
    pub(super) fn new(name: String, now: Timestamp, ink: Ink) -> Self {
        Self {
            name,
            now,
            opened: now,
            ink,
            has_list: false,
            seen: None,
            lives: Lives::default(),
            page: Page::Rollout,
            talk: Talk::Nothing,
            may_patch: None,
            lost: None,
            is_gone: false,
            notice: None,
            scroll: 0,
            width: 80,
            reached: BTreeMap::new(),
        }
    }

    /// Takes what was read, or why nothing was.
    pub(super) fn see(&mut self, seen: Result<Seen, Failure>) {
        let seen = match seen {
            Ok(seen) => seen,
            Err(failure) => {
                self.is_gone = matches!(failure, Failure::NotFound { .. });
                let since = self.lost.take().map_or(self.now, |(since, _)| since);
                self.lost = Some((since, failure.to_string()));
                return;
            }
        };
        (self.lost, self.is_gone) = (None, false);
        NOTICES.clear();
        self.lives.note(&seen.pods, self.now);
        let id = |seen: &Seen| seen.recorded.map(|(begin, _)| begin);
        if self.seen.as_deref().is_some_and(|before| id(before) != id(&seen)) {
            self.reached.clear();
        }
        let step = seen.tree.rollout.at_step.as_ref().map(|at| (at.step, self.now));
        for (step, time) in seen.reached.iter().copied().chain(step) {
            self.reached.entry(step).or_insert(time);
        }
        self.seen = Some(Box::new(seen));
        if let Some(span) = self.span() {
            self.lives.forget(span.begin - lead(span.begin, self.now));
        }
    }

    /// The outcome of a question, or of an answer to one.
    pub(super) fn hear(&mut self, heard: Result<Talk, Failure>) {
        self.talk = heard.unwrap_or_else(|failure| Talk::Failed(failure.to_string()));
    }

    /// What a key does.
    pub(super) fn press(&mut self, key: Key) -> Effect {
        if key == Key::Interrupt {
            return Effect::Quit;
        }
        if let Talk::Question(question) = &self.talk {
            let question = question.clone();
            return match key {
                Key::Letter('y' | 'Y') => {
                    self.talk = Talk::Busy(question.verb);
                    Effect::CarryOut(question)
                }
                Key::Letter('n' | 'N' | 'q') | Key::Escape => {
                    self.talk = Talk::Nothing;
                    Effect::Nothing
                }
                _ => Effect::Nothing,
            };
        }
        if matches!(self.talk, Talk::Done(_) | Talk::Failed(_)) {
            self.talk = Talk::Nothing;
        }
        match key {
            Key::Letter('q') => Effect::Leave,
            Key::Escape if self.page == Page::Rollout => Effect::Leave,
            Key::Escape => self.open_page(Page::Rollout),
            Key::Letter('h') => self.open_page(Page::History),
            Key::Letter('e') => self.open_page(Page::Events),
            Key::Letter('?') => self.open_page(Page::Keys),
            Key::Letter(letter) => Move::of_key(letter).map_or(Effect::Nothing, |verb| self.begin(verb)),
            Key::Up => self.scroll_by(-1),
            Key::Down => self.scroll_by(1),
            Key::PageUp => self.scroll_by(-10),
            Key::PageDown => self.scroll_by(10),
            Key::Enter | Key::Interrupt => Effect::Nothing,
        }
    }

    /// The same key opens a page and closes it.
    fn open_page(&mut self, page: Page) -> Effect {
        self.page = if self.page == page { Page::Rollout } else { page };
        self.scroll = 0;
        Effect::Nothing
    }

    fn scroll_by(&mut self, rows: isize) -> Effect {
        let events = self.seen.as_deref().map_or(0, |seen| seen.events.len());
        let lines = self.text(self.width).map_or(events, |text| text.len());
        self.scroll = self.scroll.saturating_add_signed(rows).min(lines.saturating_sub(1));
        Effect::Nothing
    }

    fn begin(&mut self, verb: Move) -> Effect {
        if self.seen.is_none() || matches!(self.talk, Talk::Busy(_)) {
            return Effect::Nothing;
        }
        self.talk = Talk::Busy(verb);
        Effect::Ask(verb)
    }

    /// The lines of a page that is nothing but text, in this many columns.
    pub(super) fn text(&self, width: usize) -> Option<Vec<String>> {
        let seen = self.seen.as_deref().filter(|_| self.page == Page::History)?;
        let draw = |lines: &[Vec<String>]| cut::table(lines, width);
        let text = history::text(&seen.tree.deployment, &seen.all, self.now, &draw);
        Some(text.lines().flat_map(|line| cut::wrapped(&clean(line), width, usize::MAX)).collect())
    }

    /// When the rollout began and ended: as the operator records it, or as its pods show it.
    pub(super) fn span(&self) -> Option<Span> {
        let seen = self.seen.as_deref()?;
        if let Some((begin, end)) = seen.recorded {
            return Some(Span { begin, end });
        }
        let begin = self.lives.begin(self.running()?.uid())?;
        let is_complete = seen.tree.rollout.phase == Phase::Complete;
        let end = is_complete.then(|| self.lives.end()).flatten();
        Some(Span { begin, end: end.map(|end| end.max(begin)) })
    }

    /// The revision that runs or is rolled out.
    fn running(&self) -> Option<&Revision> {
        let seen = self.seen.as_deref()?;
        crate::pinned::running(&seen.tree.deployment, &seen.all)
    }

    /// When the rollout ends if it keeps its pace; `None` where a step or a cause holds it, or it has none yet.
    pub(super) fn expected_end(&self) -> Option<Timestamp> {
        let (seen, span) = (self.seen.as_deref()?, self.span()?);
        let rollout = &seen.tree.rollout;
        let is_held = seen.diagnosis.verdict != crate::diagnosis::Verdict::Waiting;
        let at_step = rollout.at_step.as_ref();
        if rollout.phase != Phase::Progressing || is_held || at_step.is_some_and(|at| at.step < at.steps) {
            return None;
        }
        // What went before the last step includes waits.
        let begin = at_step.and_then(|at| self.reached.get(&at.step)).copied().unwrap_or(span.begin);
        let owner = self.running()?.uid();
        let ready = |time| self.lives.at(time, owner).ready;
        let (done, before) = (ready(self.now), ready(begin));
        let (won, left) = (done - before, rollout.counts.desired - done);
        if won <= 0 || left <= 0 {
            return None;
        }
        let seconds = self.now.duration_since(begin).as_secs().max(1).saturating_mul(left) / won;
        self.now.checked_add(jiff::SignedDuration::from_secs(seconds)).ok()
    }
}

/// How much of the time before a rollout the picture shows.
pub(super) fn lead(begin: Timestamp, end: Timestamp) -> jiff::SignedDuration {
    (end.duration_since(begin) / 16).max(jiff::SignedDuration::from_secs(3))
}
