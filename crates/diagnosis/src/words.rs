//! What of the output of a container a text may repeat.

/// How much a text may repeat of a container's own output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Words {
    /// Nothing.
    #[default]
    Withheld,
    /// What its probes report.
    OfProbes,
    /// The cause, and the first 200 characters of its termination message.
    All,
}
