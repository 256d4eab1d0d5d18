//! Forwards a watch until a fault ends it.

use std::sync::Arc;
use std::time::Duration;

use http_body::Frame;
use http_body_util::BodyExt as _;
use hyper::body::Bytes;
use kube::client::Body;
use tokio::sync::mpsc::{Sender, UnboundedReceiver};

use crate::connection::Doom;
use crate::forward::Severed;
use crate::rule::StreamFault;
use crate::state::Shared;

/// Time for what was written last to leave before the connection is reset.
const FLUSH: Duration = Duration::from_millis(20);

pub(crate) type Chunks = Sender<Result<Bytes, Severed>>;

/// A watch between server and client.
pub(crate) struct Pump {
    pub(crate) id: usize,
    pub(crate) shared: Arc<Shared>,
    pub(crate) doom: Doom,
    pub(crate) out: Chunks,
}

enum Mode {
    Through,
    CutAfter(usize),
    HalfOpen,
}

/// Whether the watch continues.
type GoesOn = bool;

impl Pump {
    /// Forwards until either end leaves or a fault ends the watch.
    pub(crate) async fn run(self, mut upstream: Body, mut faults: UnboundedReceiver<StreamFault>) {
        let mut mode = Mode::Through;
        let out = self.out.clone();
        loop {
            let goes_on = tokio::select! {
                biased;
                () = out.closed() => false,
                fault = faults.recv() => self.struck(fault, &mut mode).await,
                frame = upstream.frame(), if !matches!(mode, Mode::HalfOpen) => {
                    self.arrived(frame.and_then(Result::ok), &mut mode).await
                }
            };
            if !goes_on {
                break;
            }
        }
        self.shared.close(self.id);
    }

    async fn struck(&self, fault: Option<StreamFault>, mode: &mut Mode) -> GoesOn {
        let Some(fault) = fault else { return false };
        match fault {
            StreamFault::Reset => {
                self.count(fault);
                self.reset().await
            }
            StreamFault::ResetAfterBytes(bytes) => {
                *mode = Mode::CutAfter(bytes);
                true
            }
            StreamFault::HalfOpen => {
                self.count(fault);
                *mode = Mode::HalfOpen;
                true
            }
        }
    }

    async fn arrived(&self, frame: Option<Frame<Bytes>>, mode: &mut Mode) -> GoesOn {
        match frame.map(Frame::into_data) {
            Some(Ok(bytes)) => self.forward(bytes, mode).await,
            Some(Err(_)) => true,
            // The server ended it.
            None => false,
        }
    }

    async fn forward(&self, bytes: Bytes, mode: &mut Mode) -> GoesOn {
        let Mode::CutAfter(left) = mode else { return self.send(bytes).await };
        if bytes.len() < *left {
            *left -= bytes.len();
            return self.send(bytes).await;
        }
        let part = bytes.slice(..*left);
        self.count(StreamFault::ResetAfterBytes(0));
        self.send(part).await;
        self.reset().await
    }

    fn count(&self, fault: StreamFault) {
        self.shared.journal().meets(self.id, fault.name());
    }

    async fn send(&self, bytes: Bytes) -> GoesOn {
        bytes.is_empty() || self.out.send(Ok(bytes)).await.is_ok()
    }

    async fn reset(&self) -> GoesOn {
        tokio::time::sleep(FLUSH).await;
        self.doom.seal();
        let _ = self.out.send(Err(Severed)).await;
        false
    }
}
