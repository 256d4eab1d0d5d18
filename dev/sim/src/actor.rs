//! Who writes.

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
    pub(crate) fn is_operator(self) -> bool {
        matches!(self, Self::Operator(_))
    }
}
