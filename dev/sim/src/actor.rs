//! Who writes.

use witness::Who;

/// Who is writing now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Actor {
    /// An operator: which one since the start of the run.
    Operator(u64),
    /// The ReplicaSet controller.
    SetController,
    /// Kubelets, the garbage collector.
    Cluster,
    /// Users and other controllers.
    Foreign,
    /// A controller that writes the same statuses as the operator.
    Rival,
}

impl Actor {
    /// Who this is for a user who watches.
    pub(crate) fn who(self) -> Who {
        match self {
            Self::Operator(_) => Who::Operator,
            Self::Foreign | Self::Rival => Who::User,
            Self::SetController | Self::Cluster => Who::Cluster,
        }
    }

    pub(crate) fn is_operator(self) -> bool {
        matches!(self, Self::Operator(_))
    }
}
