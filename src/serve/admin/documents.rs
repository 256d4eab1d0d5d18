//! The documents on their way to clients. Metrics of thousands of Deployments are megabytes, and a client that does
//! not read keeps its copy until the deadline, so copies are shared.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use hyper::body::Bytes;

/// Versions of one document in memory. Only while that many are being sent does a client get the last of them instead
/// of a new one.
const VERSIONS_MAX: usize = 4;

#[derive(Clone, Default)]
pub(super) struct Documents(Arc<Mutex<Vec<Sent>>>);

/// The path of a document, and what is left of it once every client has it.
type Sent = (String, Weak<[u8]>);

impl Documents {
    /// The document at this path: as `make` writes it, or the last one if too many are still being sent.
    pub(super) fn get<E>(
        &self,
        path: &str,
        make: impl FnOnce() -> Result<Option<Vec<u8>>, E>,
    ) -> Result<Option<Bytes>, E> {
        let mut sent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sent.retain(|(_, document)| document.strong_count() > 0);
        let versions: Vec<_> =
            sent.iter().filter(|(of, _)| of == path).map(|(_, document)| document).collect();
        if versions.len() >= VERSIONS_MAX
            && let Some(last) = versions.last().and_then(|last| last.upgrade())
        {
            return Ok(Some(Bytes::from_owner(last)));
        }
        let Some(document) = make()? else { return Ok(None) };
        let document: Arc<[u8]> = document.into();
        sent.push((path.to_owned(), Arc::downgrade(&document)));
        Ok(Some(Bytes::from_owner(document)))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn clients_that_do_not_read_share_a_few_versions() {
        let (documents, mut made) = (Documents::default(), 0_u8);
        let mut get = |path: &str| {
            let document = documents.get(path, || {
                made += 1;
                Ok::<_, Infallible>(Some(vec![made]))
            });
            document.expect("infallible").expect("a document")
        };
        let unread: Vec<Bytes> = (0..10).map(|_| get("/metrics")).collect();
        let versions: Vec<u8> = unread.iter().flat_map(|bytes| bytes.to_vec()).collect();
        assert_eq!(versions, [1, 2, 3, 4, 4, 4, 4, 4, 4, 4]);
        assert_eq!(get("/report")[..], [5], "another document");
        drop(unread);
        assert_eq!(get("/metrics")[..], [6], "none is being sent");
    }
}
