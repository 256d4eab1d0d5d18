//! Which cluster the story plays on, and what is different because of that. The story itself is not.

use std::path::PathBuf;

use cluster::Binary;

use crate::failure::Failure;

/// A kind of cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ground {
    /// `rollwright sandbox`: cluster and operator in one process.
    Memory,
    /// A real control plane, and the operator as a process beside it.
    Real,
}

impl Ground {
    /// How the cluster is called.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Memory => "an in-memory cluster",
            Self::Real => "a real API server",
        }
    }

    /// What goes before the story's commands, for those who want to type them.
    pub(crate) const fn variable(self) -> &'static str {
        match self {
            Self::Memory => "",
            Self::Real => "REAL=1 ",
        }
    }

    /// Finds the programs that the story needs, and returns kubectl. Those of a control plane are built
    /// if they are missing: once per machine, minutes long, and for everybody to see. In memory the
    /// story does without kubectl.
    pub(crate) fn find_programs(self) -> Result<Option<PathBuf>, Failure> {
        match self {
            Self::Memory => Ok(Binary::Kubectl.find()),
            Self::Real => {
                for binary in [Binary::Etcd, Binary::KubeApiserver, Binary::KubeControllerManager] {
                    binary.locate()?;
                }
                Ok(Some(Binary::Kubectl.locate()?))
            }
        }
    }
}
