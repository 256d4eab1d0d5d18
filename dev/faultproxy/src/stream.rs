//! Forwards a watch, and does to it what the rules ask for.

use std::sync::Arc;
use std::time::Duration;

use http_body::Frame;
use http_body_util::BodyExt as _;
use hyper::body::Bytes;
use kube::client::Body;
use serde_json::json;
use tokio::sync::mpsc::{Sender, UnboundedReceiver};
use tokio::time::{Instant, sleep_until};

use crate::connection::Doom;
use crate::forward::Severed;
use crate::rule::StreamFault;
use crate::state::{Order, Shared};

/// Time for what was written last to leave before the connection is reset.
const FLUSH: Duration = Duration::from_millis(20);
const TRICKLE: Duration = Duration::from_millis(100);

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
    CutAfterBytes(usize),
    CutAfterEvents(usize),
    HalfOpen,
    Hold(Vec<Bytes>),
    Trickle(Vec<u8>),
}

/// Whether the watch continues.
type GoesOn = bool;

impl Pump {
    /// Forwards until either end leaves or a fault ends the watch.
    pub(crate) async fn run(self, mut upstream: Body, mut orders: UnboundedReceiver<Order>) {
        let mut mode = Mode::Through;
        let out = self.out.clone();
        let mut next_byte = Instant::now() + TRICKLE;
        loop {
            let goes_on = tokio::select! {
                biased;
                () = out.closed() => false,
                order = orders.recv() => self.ordered(order, &mut mode).await,
                () = sleep_until(next_byte), if matches!(mode, Mode::Trickle(_)) => {
                    next_byte = Instant::now() + TRICKLE;
                    self.trickle(&mut mode).await
                }
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

    async fn ordered(&self, order: Option<Order>, mode: &mut Mode) -> GoesOn {
        match order {
            Some(order) => self.obey(order, mode).await,
            None => false,
        }
    }

    async fn arrived(&self, frame: Option<Frame<Bytes>>, mode: &mut Mode) -> GoesOn {
        match frame.map(Frame::into_data) {
            Some(Ok(bytes)) => self.forward(bytes, mode).await,
            Some(Err(_)) => true,
            // The server ended it. Who is held up by a trickle learns nothing of that.
            None => matches!(mode, Mode::Trickle(_)) && self.hold_open().await,
        }
    }

    async fn hold_open(&self) -> GoesOn {
        self.out.closed().await;
        false
    }

    async fn obey(&self, order: Order, mode: &mut Mode) -> GoesOn {
        let fault = match order {
            Order::Strike(fault) => fault,
            Order::Release => {
                if let Mode::Hold(held) = std::mem::replace(mode, Mode::Through) {
                    return self.send(Bytes::from(held.concat())).await;
                }
                return true;
            }
        };
        match fault {
            StreamFault::ResetAfterBytes(bytes) => *mode = Mode::CutAfterBytes(bytes),
            StreamFault::ResetAfterEvents(events) => *mode = Mode::CutAfterEvents(events),
            _ => self.count(fault),
        }
        match fault {
            StreamFault::Reset => self.reset().await,
            StreamFault::End => false,
            StreamFault::Expire => {
                self.send(expiry()).await;
                false
            }
            StreamFault::Garbage => self.send(Bytes::from_static(b"{\"type\": nonsense}\n")).await,
            StreamFault::HalfOpen => {
                *mode = Mode::HalfOpen;
                true
            }
            StreamFault::Hold => {
                *mode = Mode::Hold(Vec::new());
                true
            }
            StreamFault::Trickle => {
                *mode = Mode::Trickle(Vec::new());
                true
            }
            StreamFault::ResetAfterBytes(_) | StreamFault::ResetAfterEvents(_) => true,
        }
    }

    async fn forward(&self, bytes: Bytes, mode: &mut Mode) -> GoesOn {
        match mode {
            Mode::Through => self.send(bytes).await,
            Mode::HalfOpen => true,
            Mode::Hold(held) => {
                held.push(bytes);
                true
            }
            Mode::Trickle(waiting) => {
                waiting.extend_from_slice(&bytes);
                true
            }
            Mode::CutAfterBytes(left) => {
                if bytes.len() < *left {
                    *left -= bytes.len();
                    return self.send(bytes).await;
                }
                let part = bytes.slice(..*left);
                self.count(StreamFault::ResetAfterBytes(0));
                self.send(part).await;
                self.reset().await
            }
            Mode::CutAfterEvents(left) => {
                let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
                let ends: Vec<usize> = ends.map(|(index, _)| index + 1).collect();
                if ends.len() < *left {
                    *left -= ends.len();
                    return self.send(bytes).await;
                }
                let end = left.checked_sub(1).and_then(|last| ends.get(last)).copied().unwrap_or(0);
                self.count(StreamFault::ResetAfterEvents(0));
                self.send(bytes.slice(..end)).await;
                self.reset().await
            }
        }
    }

    async fn trickle(&self, mode: &mut Mode) -> GoesOn {
        if let Mode::Trickle(waiting) = mode
            && !waiting.is_empty()
        {
            let byte = waiting.remove(0);
            return self.send(Bytes::from(vec![byte])).await;
        }
        true
    }

    fn count(&self, fault: StreamFault) {
        let mut journal = self.shared.journal();
        journal.count(fault.name());
        journal.change(self.id, |exchange| exchange.fault = Some(fault.name().to_owned()));
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

/// As the server reports that a watch's start is too old.
fn expiry() -> Bytes {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "too old resource version: 1 (2)", "reason": "Expired", "code": 410,
    });
    let mut line = json!({"type": "ERROR", "object": status}).to_string();
    line.push('\n');
    Bytes::from(line)
}
