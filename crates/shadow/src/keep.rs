//! Saves divergences as cases of the oracle.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use plan::Flavour;
use tracing::warn;

use crate::case;
use crate::judge::Divergence;
use crate::mask::Mask;

/// More of them would show the same.
const FILES_MAX: usize = 1000;

/// Where divergences go.
pub struct Keep {
    directory: Option<PathBuf>,
    mask: Option<Mask>,
    saved: AtomicUsize,
}

impl Keep {
    /// Makes sure that the directory is there and can be written to.
    ///
    /// # Errors
    /// If it cannot.
    pub fn new(directory: Option<&Path>, hash_names: bool) -> io::Result<Self> {
        if let Some(directory) = directory {
            fs::create_dir_all(directory)?;
            let probe = directory.join(".rollwright-shadow");
            fs::write(&probe, "")?;
            fs::remove_file(&probe)?;
        }
        Ok(Self {
            directory: directory.map(Path::to_owned),
            mask: hash_names.then(Mask::default),
            saved: AtomicUsize::new(0),
        })
    }

    /// Writes a case of one line. What cannot be written is logged.
    pub(crate) fn save(
        &self,
        flavour: Flavour,
        divergence: &Divergence,
        terminating_replicas: bool,
    ) -> Option<PathBuf> {
        let directory = self.directory.as_ref()?;
        if self.saved.fetch_add(1, Ordering::Relaxed) >= FILES_MAX {
            return None;
        }
        let mut case = case::case(flavour, divergence, terminating_replicas);
        if let Some(mask) = &self.mask {
            mask.case(&mut case);
        }
        let path = directory.join(format!("{}-{}.jsonl", divergence.kind, divergence.version));
        match fs::write(&path, format!("{case}\n")) {
            Ok(()) => Some(path),
            Err(error) => {
                warn!(path = %path.display(), %error, "--divergences: a case could not be saved");
                None
            }
        }
    }
}
