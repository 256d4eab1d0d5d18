//! What went through the proxy, and what it did to it.

use std::time::Instant;

use serde_json::Value;

use crate::request::Request;

/// A request and its outcome.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// When it came.
    pub at: Instant,
    /// What it asked for.
    pub request: Request,
    /// Its body; null if there was none, or none that is JSON.
    pub body: Value,
    /// What the server answered, if it was asked and did.
    pub server_code: Option<u16>,
    /// The code that the client got, if it got an answer.
    pub client_code: Option<u16>,
    /// The fault it met.
    pub fault: Option<&'static str>,
}

/// All exchanges since the start or the last [`Journal::clear`].
#[derive(Clone, Debug, Default)]
pub struct Journal {
    exchanges: Vec<Exchange>,
    faults: u32,
    dropped: usize,
}

impl Journal {
    /// All exchanges, in the order in which the requests came.
    #[must_use]
    pub fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// How often a fault was injected.
    #[must_use]
    pub fn faults(&self) -> u32 {
        self.faults
    }

    /// Requests that change something, other than events, whether they were answered or not.
    pub fn writes(&self) -> impl Iterator<Item = &Exchange> {
        self.exchanges
            .iter()
            .filter(|exchange| exchange.request.is_write() && exchange.request.resource != "events")
    }

    pub(crate) fn clear(&mut self) {
        self.dropped += self.exchanges.len();
        self.exchanges.clear();
        self.faults = 0;
    }

    /// Adds an exchange and returns its number.
    pub(crate) fn add(&mut self, request: Request, body: Value) -> usize {
        self.exchanges.push(Exchange {
            at: Instant::now(),
            request,
            body,
            server_code: None,
            client_code: None,
            fault: None,
        });
        self.dropped + self.exchanges.len() - 1
    }

    /// The exchange of a number, unless it was cleared since.
    pub(crate) fn change(&mut self, number: usize, change: impl FnOnce(&mut Exchange)) {
        let index = number.checked_sub(self.dropped);
        if let Some(exchange) = index.and_then(|index| self.exchanges.get_mut(index)) {
            change(exchange);
        }
    }

    /// The exchange of a number meets a fault.
    pub(crate) fn meets(&mut self, number: usize, fault: &'static str) {
        self.faults += 1;
        self.change(number, |exchange| exchange.fault = Some(fault));
    }
}
