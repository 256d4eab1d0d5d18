//! Comparing a text with a value without making the value's text: mostly they are equal.

use std::fmt::{self, Write as _};

/// What of a text has not been written yet.
struct Unwritten<'a>(&'a str);

impl fmt::Write for Unwritten<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.0 = self.0.strip_prefix(part).ok_or(fmt::Error)?;
        Ok(())
    }
}

/// Whether a value is written so; without writing it anywhere.
pub(crate) fn reads(text: &str, value: &impl fmt::Display) -> bool {
    let mut rest = Unwritten(text);
    write!(rest, "{value}").is_ok() && rest.0.is_empty()
}
