//! The terminal: it is entered, drawn on, and left as it was, also after a panic.

use std::io::IsTerminal as _;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::{DefaultTerminal, Frame};

use super::model::Key;
use crate::failure::Failure;
use crate::output::is_lively;
use crate::terminal::NOTICES;

/// Whether somebody can look at a view, and press keys.
pub(crate) fn is_possible() -> bool {
    is_lively() && std::io::stdin().is_terminal()
}

/// The alternate screen, until this is dropped.
pub(super) struct Screen(DefaultTerminal);

impl Screen {
    pub(super) fn enter() -> Result<Self, Failure> {
        // This also restores the terminal before the message of a panic.
        let screen = Self(ratatui::try_init()?);
        NOTICES.begin();
        Ok(screen)
    }

    pub(super) fn draw(&mut self, render: impl FnOnce(&mut Frame<'_>)) -> Result<(), Failure> {
        self.0.draw(render)?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        NOTICES.end();
        // After a panic this is done, and to do it again could overwrite the message.
        if !std::thread::panicking() {
            // Nobody can learn that this failed.
            let _ = ratatui::try_restore();
        }
    }
}

/// The key of an event; `None` if it is another event, or the view does not know the key.
pub(super) fn key(event: &Event) -> Option<Key> {
    let Event::Key(KeyEvent { code, modifiers, kind: KeyEventKind::Press | KeyEventKind::Repeat, .. }) =
        event
    else {
        return None;
    };
    if modifiers.contains(KeyModifiers::CONTROL) {
        return matches!(code, KeyCode::Char('c' | 'd')).then_some(Key::Interrupt);
    }
    match code {
        KeyCode::Char('k') | KeyCode::Up => Some(Key::Up),
        KeyCode::Char('j') | KeyCode::Down => Some(Key::Down),
        KeyCode::Char(letter) => Some(Key::Letter(*letter)),
        KeyCode::Enter => Some(Key::Enter),
        KeyCode::Esc => Some(Key::Escape),
        KeyCode::PageUp => Some(Key::PageUp),
        KeyCode::PageDown => Some(Key::PageDown),
        _ => None,
    }
}
