//! Lines of styled text, and how they become what a terminal understands.

use std::fmt::Write as _;

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Bold,
    Dim,
    Good,
    Warn,
    Bad,
    Accent,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bold => "\x1b[1m",
            Self::Dim => "\x1b[2m",
            Self::Good => "\x1b[32m",
            Self::Warn => "\x1b[33m",
            Self::Bad => "\x1b[1;31m",
            Self::Accent => "\x1b[36m",
        }
    }
}

/// Whether styles are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    On,
    Off,
}

/// One line, in pieces of one style each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line(Vec<(Style, String)>);

impl Line {
    /// An empty line.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A line of one style.
    pub(crate) fn of(style: Style, text: impl Into<String>) -> Self {
        Self::new().and(style, text)
    }

    /// The line with more text at its end.
    #[must_use]
    pub(crate) fn and(mut self, style: Style, text: impl Into<String>) -> Self {
        self.0.push((style, text.into()));
        self
    }

    /// The line filled up with blanks to this many characters.
    #[must_use]
    pub(crate) fn pad(self, width: usize) -> Self {
        let missing = width.saturating_sub(self.width());
        self.and(Style::Plain, " ".repeat(missing))
    }

    /// Number of characters; all that the demo draws are one column wide.
    pub(crate) fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.chars().count()).sum()
    }

    /// The line as bytes for a terminal, cut off after `width` characters.
    pub(crate) fn render(&self, colour: Colour, width: usize) -> String {
        let mut out = String::new();
        let mut left = width;
        for (style, text) in &self.0 {
            // What other programs wrote (a log, an event) must not steer the terminal.
            let shown: String = text.chars().filter(|letter| !letter.is_control()).take(left).collect();
            left -= shown.chars().count();
            let code = if colour == Colour::On { style.code() } else { "" };
            let reset = if code.is_empty() { "" } else { "\x1b[0m" };
            let _ = write!(out, "{code}{shown}{reset}");
        }
        if colour == Colour::Off { out.trim_end().to_owned() } else { out }
    }
}

/// A text cut to at most `width` characters, with `…` where something is missing.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// A text in pieces of at most `width` characters.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(width.max(1)).map(|piece| piece.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_by_characters_and_not_by_codes() {
        let line = Line::of(Style::Good, "■■■").and(Style::Plain, "rest");
        assert_eq!(line.render(Colour::Off, 4), "■■■r");
        assert_eq!(line.render(Colour::On, 2), "\x1b[32m■■\x1b[0m");
    }

    #[test]
    fn foreign_text_cannot_steer_the_terminal() {
        assert_eq!(Line::of(Style::Plain, "a\x1b[2Jb").render(Colour::Off, 80), "a[2Jb");
    }

    #[test]
    fn shortens_with_an_ellipsis() {
        assert_eq!(shorten("abcdef", 4), "abc…");
        assert_eq!(shorten("abcd", 4), "abcd");
    }

    #[test]
    fn wraps_at_the_width() {
        assert_eq!(wrap("abcdé", 2), ["ab", "cd", "é"]);
        assert_eq!(wrap("ab", 0), ["a", "b"]);
    }
}
