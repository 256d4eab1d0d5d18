//! Bugs that others had, put in again on purpose: a simulator that does not find them is worth nothing.
//!
//! `dev/mutants/tree` adds this module to its copy of the planner. Each patch beside it adds a line
//! that asks [`has`](crate::has) for its bug. The bug is there in the threads that called [`inject`], or everywhere
//! where the environment names it: `BUG=CutTwice`.

use std::cell::Cell;

macro_rules! bugs {
    ($($name:ident: $source:literal => $consequence:literal;)*) => {
        /// A bug of the past. `docs/internals/mutants.md` lists which check finds each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Bug {
            $(
                #[doc = concat!($source, ": ", $consequence)]
                $name,
            )*
        }

        impl Bug {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name in code.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            /// Who had it.
            #[must_use]
            pub fn source(self) -> &'static str {
                match self { $(Self::$name => $source,)* }
            }
        }
    };
}

// A row for each patch, from its first line.
include!("bugs.in");

thread_local! {
    static INJECTED: Cell<Option<Bug>> = Cell::new(of_the_environment());
}

fn of_the_environment() -> Option<Bug> {
    let name = std::env::var("BUG").ok()?;
    let named = Bug::ALL.iter().find(|bug| bug.name() == name);
    Some(*named.unwrap_or_else(|| panic!("no bug is called {name}")))
}

/// Puts a bug into this thread, in the place of the one that is there; `None` takes it out.
pub fn inject(bug: Option<Bug>) {
    INJECTED.with(|injected| injected.set(bug));
}

/// The bug that this thread has.
#[must_use]
pub fn injected() -> Option<Bug> {
    INJECTED.with(Cell::get)
}

/// Whether this thread has the bug.
#[macro_export]
macro_rules! has {
    ($bug:ident) => {
        $crate::bug::injected() == Some($crate::bug::Bug::$bug)
    };
}
