//! Scripts and workflows that run where no test looks: the release, the plugin's archive, the pictures, the
//! site, the soak of the end-to-end suite.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed step is a failed test")]
#![expect(clippy::indexing_slicing, reason = "a missing field of a JSON document is a failed test")]

mod package;
mod pictures;
mod place;
mod release;
mod site;
mod soak;
mod workflow;
