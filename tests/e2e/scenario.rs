//! What a scenario is, and the list of those that one text yields for both APIs.

use std::future::Future;
use std::pin::Pin;

use crate::failure::Outcome;
use crate::flavour::Flavour;
use crate::world::World;

/// A scenario that runs in a world of its own.
pub(crate) type Run = fn(World) -> Pin<Box<dyn Future<Output = Outcome>>>;

/// One text, and the APIs that it makes sense for.
pub(crate) struct Scenario {
    /// Module and name of the function.
    pub(crate) name: &'static str,
    /// For which APIs.
    pub(crate) scope: Scope,
    /// Where it runs.
    pub(crate) stage: Place,
    /// What it does.
    pub(crate) run: Run,
}

/// For which APIs a scenario makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The same text runs against both.
    Both,
    /// Only one, for this reason.
    Only(Flavour, &'static str),
}

/// Where a scenario runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a namespace of the control plane that all share.
    Shared,
    /// On a control plane of its own, because it disturbs others.
    Own,
}

impl Scope {
    pub(crate) fn includes(self, flavour: Flavour) -> bool {
        match self {
            Self::Both => true,
            Self::Only(only, _) => only == flavour,
        }
    }
}

/// Turns a list of functions into [`Scenario`]s:
///
/// ```text
/// scenarios![
///     both create,
///     ours selector_defaulting because "apps/v1 requires a selector (S1.2)",
///     apps revision_annotation because "rollwright.dev keeps its revision in the status (S5.6)",
///     own both operator_killed,
/// ]
/// ```
macro_rules! scenarios {
    (@scope both) => { $crate::scenario::Scope::Both };
    (@scope ours $reason:literal) => {
        $crate::scenario::Scope::Only($crate::flavour::Flavour::Rollwright, $reason)
    };
    (@scope apps $reason:literal) => {
        $crate::scenario::Scope::Only($crate::flavour::Flavour::AppsV1, $reason)
    };
    (@entry $place:ident $scope:ident $name:ident $($reason:literal)?) => {
        $crate::scenario::Scenario {
            name: concat!(module_path!(), "::", stringify!($name)),
            scope: scenarios!(@scope $scope $($reason)?),
            stage: $crate::scenario::Place::$place,
            run: |world| Box::pin($name(world)),
        }
    };
    (@list [$($done:expr,)*]) => { &[$($done,)*] };
    (@list [$($done:expr,)*] own $scope:ident $name:ident $(because $reason:literal)?, $($rest:tt)*) => {
        scenarios!(@list [$($done,)* scenarios!(@entry Own $scope $name $($reason)?),] $($rest)*)
    };
    (@list [$($done:expr,)*] $scope:ident $name:ident $(because $reason:literal)?, $($rest:tt)*) => {
        scenarios!(@list [$($done,)* scenarios!(@entry Shared $scope $name $($reason)?),] $($rest)*)
    };
    ($($list:tt)+) => { scenarios!(@list [] $($list)+) };
}

pub(crate) use scenarios;
