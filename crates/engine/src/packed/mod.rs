//! Objects in the cache, in as few bytes as they need; a reconcile decodes them again.
//!
//! Most objects are old revisions that nothing reads for weeks. As structs they cost about two kilobytes
//! each, mostly for nodes of maps and for texts that all of them share. Only the same process reads these
//! bytes, so the format may change at any time.

mod codec;
mod objects;
#[cfg(test)]
mod tests;
mod text;

use std::fmt;
use std::marker::PhantomData;

pub(crate) use codec::{Pack, Reader};
pub(crate) use objects::packed;
pub(crate) use text::text;

/// An object, packed.
pub struct Packed<T> {
    bytes: Box<[u8]>,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Packed<T> {
    fn clone(&self) -> Self {
        Self { bytes: self.bytes.clone(), of: PhantomData }
    }
}

impl<T> fmt::Debug for Packed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.bytes.len())
    }
}

impl<T> Packed<T> {
    /// Reads it from its first field on.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader::new(&self.bytes)
    }
}

impl<T: Pack> Packed<T> {
    /// Packs an object.
    #[must_use]
    pub fn new(object: &T) -> Self {
        let mut bytes = Vec::with_capacity(1024);
        object.pack(&mut bytes);
        // A copy of its own size: a vector that is cut may keep the room that it had.
        Self { bytes: bytes.as_slice().into(), of: PhantomData }
    }

    /// The object, equal to the one that was packed.
    #[must_use]
    pub fn unpack(&self) -> T {
        T::unpack(&mut self.reader())
    }
}
