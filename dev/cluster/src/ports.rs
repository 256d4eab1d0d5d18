//! Ports for servers that tests start.
//!
//! A port that the system chooses (port 0) is one that it also gives to outgoing connections. Between the choice and
//! the start of the server, and while a server is restarted, any client on the machine may get it. These ports are
//! below that range on every known system.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// Linux gives outgoing connections ports from 32768 on, macOS and Windows from 49152 on.
const RANGE: Range<u32> = 20_000..30_000;
/// How far apart the first ports of two processes are that were started one after the other: more
/// than a process needs.
const STRIDE: u32 = 397;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A port of 127.0.0.1 that nothing listens on. No two calls in a process return the same one before
/// the whole range is used up.
///
/// # Errors
/// If all of them are taken.
pub fn free_port() -> io::Result<u16> {
    let first = process::id().wrapping_mul(STRIDE);
    let size = RANGE.end - RANGE.start;
    for _ in RANGE {
        let next = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = u16::try_from(RANGE.start + next % size).unwrap_or(u16::MAX);
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(io::Error::new(io::ErrorKind::AddrInUse, format!("no port is free in {RANGE:?}")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_call_returns_another_port_that_no_outgoing_connection_gets() {
        let ports: BTreeSet<u16> = (0..100).filter_map(|_| free_port().ok()).collect();
        assert_eq!(ports.len(), 100);
        assert!(ports.iter().all(|port| RANGE.contains(&u32::from(*port))), "{ports:?}");
    }

    #[test]
    fn a_port_that_is_taken_is_passed_over() {
        let next = free_port().expect("a port") + 1;
        let _held = TcpListener::bind((Ipv4Addr::LOCALHOST, next));
        let ports: Vec<u16> = (0..3).filter_map(|_| free_port().ok()).collect();
        assert!(!ports.contains(&next), "{ports:?}");
    }
}
