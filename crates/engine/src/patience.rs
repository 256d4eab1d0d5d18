//! Deployments with requests that the server has asked to delay (`Retry-After`).
//!
//! This is for each Deployment and not for all. A webhook can also answer so, and would then delay others.

use std::collections::HashMap;
use std::time::Instant;

use crate::index::Key;

/// Until when each Deployment is left alone.
#[derive(Debug, Default)]
pub struct Patience {
    until: HashMap<Key, Instant>,
}

impl Patience {
    /// Not before this time.
    pub fn wait(&mut self, key: &Key, until: Instant) {
        self.until.insert(key.clone(), until);
    }

    /// When the Deployment may be worked on, if that is not now.
    pub fn waits_until(&mut self, key: &Key, now: Instant) -> Option<Instant> {
        let until = *self.until.get(key)?;
        if until > now {
            return Some(until);
        }
        self.until.remove(key);
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_waits_for_itself_and_once() {
        let key = |name: &str| Key { namespace: "n".to_owned(), name: name.to_owned() };
        let (mut patience, now) = (Patience::default(), Instant::now());
        let until = now + Duration::from_secs(3);
        patience.wait(&key("asked"), until);
        assert_eq!(patience.waits_until(&key("other"), now), None);
        assert_eq!(patience.waits_until(&key("asked"), now), Some(until));
        assert_eq!(patience.waits_until(&key("asked"), until), None);
        assert!(patience.until.is_empty());
    }
}
