//! The clients of the port: how many are connected, and which of them goes when there are too many.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use tokio::task::AbortHandle;

/// Connections at the same time. Probes and a few monitoring systems need ten; each costs some 50 KiB with TLS.
pub(super) const CONNECTIONS_MAX: usize = 128;

/// The open connections, oldest first.
#[derive(Default)]
pub(super) struct Clients(VecDeque<(IpAddr, AbortHandle)>);

impl Clients {
    /// Adds a connection. If there are too many, the peer with the most of them loses its oldest. A new connection
    /// never waits, because a probe would wait too: the kubelet has its own address and few connections, so what
    /// another peer holds open does not concern it.
    pub(super) fn admit(&mut self, peer: IpAddr, connection: AbortHandle) {
        self.0.retain(|(_, connection)| !connection.is_finished());
        self.0.push_back((peer, connection));
        if self.0.len() > CONNECTIONS_MAX
            && let Some((_, connection)) = self.surplus().and_then(|index| self.0.remove(index))
        {
            connection.abort();
        }
    }

    fn surplus(&self) -> Option<usize> {
        let mut held: BTreeMap<IpAddr, usize> = BTreeMap::new();
        for (peer, _) in &self.0 {
            *held.entry(*peer).or_default() += 1;
        }
        let most =
            self.0.iter().enumerate().max_by_key(|(index, (peer, _))| (held.get(peer), Reverse(*index)));
        most.map(|(index, _)| index)
    }
}
