//! Compares each write of a controller with those that the production planner would have made, from the
//! states that this controller may have read.
//!
//! It sends nothing and watches nothing: `rollwright shadow` brings it the news of both watches, in one
//! order. [`Observer`] takes them. `sight` and `author` find what was written and by whom. `fleet` keeps the
//! states of the last seconds. `judge` has `intent` run the planner over them, and `agree` compares.
//! [`Tally`] counts. `case`, `mask`, and [`Keep`] save what diverges.

mod agree;
mod author;
mod case;
mod fleet;
mod intent;
mod judge;
mod keep;
mod mask;
mod news;
mod observer;
mod reports;
mod sight;
mod tally;

pub use keep::Keep;
pub use news::{News, Signed, Which};
pub use observer::{Observer, Reasons};
pub use tally::Tally;
