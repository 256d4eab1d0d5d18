//! A connection that can end by a reset instead of an orderly end.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Decides how a connection ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doom(Arc<AtomicBool>);

impl Doom {
    /// The connection will be reset when it is closed.
    pub(crate) fn seal(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A TCP stream that ends with a reset if it is doomed.
pub(crate) struct Socket {
    stream: TcpStream,
    doom: Doom,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream, doom: Doom) -> Self {
        Self { stream, doom }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.doom.0.load(Ordering::SeqCst) {
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.doom.0.load(Ordering::SeqCst) {
            // An orderly end first would make the reset a no-op.
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
