//! The Helm chart, with real helm: what it renders, what it refuses, and what it is like to live with on a real control
//! plane with a deployment controller that runs the chart's own Deployment.
//!
//! ```text
//! cargo test -p rollwright --test chart               # everything
//! cargo test -p rollwright --test chart renders       # without a cluster
//! UPDATE=1 cargo test -p rollwright --test chart renders  # write golden files and copies anew
//! ```

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed step is a failed test")]
#![expect(clippy::indexing_slicing, reason = "a missing field of a JSON document is a failed test")]

mod guard;
mod install;
mod life;
mod node;
mod pair;
mod probe;
mod process;
mod renders;
mod rights;
mod scrape;
mod table;
mod values;
