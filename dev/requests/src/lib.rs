//! What a tree would send to the API server, for `dev/law` to compare with another tree.
//!
//! The script builds this crate in both trees, so it must compile against older and newer planners.
//! It uses two functions of the trees and no type of the planner: [`oracle::play`] and [`sim::play`].

mod inputs;
mod variation;

pub use inputs::{Failure, Inputs};
pub use variation::vary;
