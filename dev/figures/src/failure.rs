//! Why there is no figure, or none that may stand.

use std::path::PathBuf;

/// Why there is no figure, or none that may stand.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The recorded figures cannot be read or written.
    #[error("{}: {source}; `UPDATE=1 make bench-check` writes it anew", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The figures are not as [`crate::record`] writes them.
    #[error("{}: {source}; delete it, and `UPDATE=1 make bench-check` writes it anew", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// Something is worse than recorded, or not recorded, or not measured any more.
    #[error("{0}")]
    Differs(String),
    /// A program could not be run, or did not do what it should.
    #[error("{0}")]
    Program(String),
    /// What is measured is not what it should be.
    #[error("{0}")]
    Subject(String),
}
