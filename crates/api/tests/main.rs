//! The tests of the API, as one program: what they share is compiled and linked once.

mod decode;
mod definition;
mod encode;
mod history;
mod names;
mod reference;
