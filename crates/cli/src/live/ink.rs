//! How things look: in the terminal's own colors, which fit light and dark.

use ratatui::style::{Color, Modifier, Style};

/// Whether there are colors at all (<https://no-color.org>).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ink {
    pub(super) has_color: bool,
}

/// The look of a revision in the picture: its pods that are ready, and those that start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) glyph: char,
    pub(super) color: Color,
    pub(super) starting: Color,
}

/// Pods that are not ready yet, of any revision.
pub(super) const STARTING: char = '░';

impl Ink {
    pub(super) fn from_environment() -> Self {
        Self { has_color: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) }
    }

    pub(super) fn of(self, color: Color) -> Style {
        if self.has_color { Style::new().fg(color) } else { Style::new() }
    }

    /// Colored above and below the middle of a cell.
    pub(super) fn both(self, fore: Color, back: Color) -> Style {
        if self.has_color { Style::new().fg(fore).bg(back) } else { Style::new() }
    }

    pub(super) fn bold(self, color: Color) -> Style {
        self.of(color).add_modifier(Modifier::BOLD)
    }
}

/// What is less important.
pub(super) fn quiet() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

/// What stands out without a color.
pub(super) fn strong() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

/// The look of the revision in this place of the tree.
pub(super) fn look(place: usize, role: &str) -> Look {
    let (glyph, color, starting) = match place {
        0 => ('█', Color::Blue, Color::LightBlue),
        1 => ('▓', Color::Yellow, Color::LightYellow),
        _ => ('▒', Color::Magenta, Color::LightMagenta),
    };
    let (color, starting) = if role == "failed" { (Color::Red, Color::LightRed) } else { (color, starting) };
    Look { glyph, color, starting }
}
