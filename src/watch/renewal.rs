//! New lists on demand: who takes over needs caches that are as new as its lease.

use std::sync::Arc;

use tokio::sync::watch as signal;

/// Asks one watch for a new list.
#[derive(Clone)]
pub(crate) struct Renewer {
    asked: Arc<signal::Sender<u64>>,
    delivered: signal::Receiver<u64>,
}

/// What a watch has been asked for, and how it reports that it has delivered.
pub(crate) struct Orders {
    asked: signal::Receiver<u64>,
    delivered: signal::Sender<u64>,
    /// How many orders the list that is read, or was read last, fills: those from before it began.
    filled: u64,
}

/// Both ends.
pub(crate) fn renewal() -> (Renewer, Orders) {
    let (asked, orders) = signal::channel(0);
    let (deliverer, delivered) = signal::channel(0);
    let renewer = Renewer { asked: Arc::new(asked), delivered };
    (renewer, Orders { asked: orders, delivered: deliverer, filled: 0 })
}

impl Renewer {
    /// Asks for a list, and waits until one that began after that has been delivered. May take for
    /// ever.
    pub(crate) async fn renew(&self) {
        let mut number = 0;
        self.asked.send_modify(|asked| {
            *asked += 1;
            number = *asked;
        });
        if self.delivered.clone().wait_for(|delivered| *delivered >= number).await.is_err() {
            // The watch is gone, and the process about to end.
            std::future::pending::<()>().await;
        }
    }
}

impl Orders {
    /// For a watch that nobody asks for anything.
    pub(crate) fn none() -> Self {
        renewal().1
    }

    /// A list is about to begin.
    pub(crate) fn begin(&mut self) {
        self.filled = *self.asked.borrow();
    }

    /// The order has been delivered.
    pub(crate) fn deliver(&self) {
        self.delivered.send_replace(self.filled);
    }

    /// Waits until there is an order that the last list does not fill.
    pub(crate) async fn come(&mut self) {
        let filled = self.filled;
        if self.asked.wait_for(|asked| *asked > filled).await.is_err() {
            // Nobody is left who could ask.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests;
