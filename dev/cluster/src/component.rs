//! The programs of a control plane.

/// A part of the control plane that can be stopped and started by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// kube-controller-manager.
    ControllerManager,
    /// kube-apiserver.
    ApiServer,
    /// etcd.
    Etcd,
}

impl Component {
    /// All components, in the order in which they are stopped.
    pub const ALL: [Self; 3] = [Self::ControllerManager, Self::ApiServer, Self::Etcd];

    /// Name of its program.
    pub fn name(self) -> &'static str {
        match self {
            Self::ControllerManager => "kube-controller-manager",
            Self::ApiServer => "kube-apiserver",
            Self::Etcd => "etcd",
        }
    }
}
