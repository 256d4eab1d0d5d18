//! What may be shown on a terminal, and lines on standard error.

use std::borrow::Cow;
use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::signal::unix::{SignalKind, signal};

/// Where lines for standard error go: while a view has the screen, they would stay on its picture.
pub(crate) static NOTICES: Notices = Notices(Mutex::new(None));

/// The last line for standard error, while a view has the screen; the view shows it.
pub(crate) struct Notices(Mutex<Option<Option<String>>>);

impl Notices {
    fn of_view(&self) -> MutexGuard<'_, Option<Option<String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A view takes the screen.
    pub(crate) fn begin(&self) {
        *self.of_view() = Some(None);
    }

    /// The view gives it back.
    pub(crate) fn end(&self) {
        *self.of_view() = None;
    }

    /// The line that the view has to show.
    pub(crate) fn last(&self) -> Option<String> {
        self.of_view().clone().flatten()
    }

    /// What the line is about is over.
    pub(crate) fn clear(&self) {
        self.of_view().iter_mut().for_each(|last| *last = None);
    }

    /// Takes a line, if a view has the screen.
    fn take(&self, line: &str) -> bool {
        let mut view = self.of_view();
        view.iter_mut().for_each(|last| *last = Some(line.to_owned()));
        view.is_some()
    }
}

/// Prints a line on standard error.
pub(crate) fn tell(line: &str) {
    #[cfg(test)]
    tests::TOLD.with_borrow_mut(|told| told.push(line.to_owned()));
    if NOTICES.take(line) {
        return;
    }
    // Nobody can learn that this failed.
    let _ = writeln!(std::io::stderr(), "{}", visible(line));
}

/// Returns at Ctrl-C, or when the process is asked to end.
pub(crate) async fn stopped() {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    let Ok(mut interrupt) = signal(SignalKind::interrupt()) else { return std::future::pending().await };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// Text from the cluster in one line.
pub(crate) fn clean(text: &str) -> String {
    visible(&text.replace(['\n', '\t'], " ")).into_owned()
}

/// Text in which control characters, which can write over the screen, and those that change the direction of writing
/// are visible, as `\u{1b}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_deceptive) {
        return Cow::Borrowed(text);
    }
    let escape =
        |letter: char| if is_deceptive(letter) { letter.escape_unicode().to_string() } else { letter.into() };
    Cow::Owned(text.chars().map(escape).collect())
}

/// Control characters other than the end of a line and a tab; what Unicode has for the direction of writing, and
/// separators of lines and paragraphs.
pub(crate) fn is_deceptive(letter: char) -> bool {
    let directs = matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}');
    directs || (letter.is_control() && !matches!(letter, '\n' | '\t'))
}

/// What this thread has printed on standard error since the last call.
#[cfg(test)]
pub(crate) fn told() -> Vec<String> {
    tests::TOLD.take()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    thread_local! {
        pub(super) static TOLD: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    }

    #[test]
    fn a_line_for_a_view_is_kept_until_news_come() {
        let notices = Notices(Mutex::new(None));
        assert!(!notices.take("before it"));
        notices.begin();
        assert_eq!(notices.last(), None);
        assert!(notices.take("waiting"));
        assert_eq!(notices.last().as_deref(), Some("waiting"));
        notices.clear();
        assert_eq!(notices.last(), None);
        notices.end();
        assert!(!notices.take("after it"));
        assert_eq!(notices.last(), None);
    }

    #[test]
    fn what_deceives_on_a_terminal_is_visible() {
        for (text, shown) in [
            ("image: app:v1\n\tand umlauts \u{e4}, \u{5d0}", "image: app:v1\n\tand umlauts \u{e4}, \u{5d0}"),
            ("\u{1b}[2J\u{1b}]0;title\u{7}", "\\u{1b}[2J\\u{1b}]0;title\\u{7}"),
            ("ok\rfailed\u{8}\u{7f}", "ok\\u{d}failed\\u{8}\\u{7f}"),
            ("\u{9b}31m\u{85}", "\\u{9b}31m\\u{85}"),
            ("app\u{202e}1v:\u{2066}\u{2069}", "app\\u{202e}1v:\\u{2066}\\u{2069}"),
            ("\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}", "\\u{61c}\\u{200e}\\u{200f}\\u{2028}\\u{2029}"),
        ] {
            assert_eq!(visible(text), shown);
        }
        assert_eq!(clean("two\nlines\u{1b}"), "two lines\\u{1b}");
    }
}
