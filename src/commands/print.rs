//! What a subcommand prints, on standard output. Other people chose names and messages, as for the CLI.

use std::io::{self, Write as _};

/// Prints it; a reader that has gone is no failure.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(cli::visible(text).as_bytes()).and_then(|()| out.flush()) {
        // The reader, such as `head`, has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
