//! Which cluster the story plays on, and what is different because of that. The story itself is not.

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

const NO_KUBECTL: &str = "\
the demo types its commands into kubectl, and there is none on PATH
  get one:  https://kubernetes.io/docs/tasks/tools/ (v1.36 is tested)
  or:       REAL=1 make demo builds one from Go modules, with a real control plane, and keeps it";

impl Ground {
    /// How the cluster is called.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Memory => "a cluster in memory",
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

    /// Finds the programs that are needed. Those of a control plane are built if they are missing:
    /// once per machine, minutes long, and for everybody to see.
    pub(crate) fn find_programs(self) -> Result<(), Failure> {
        match self {
            Self::Memory if Binary::Kubectl.find().is_none() => Err(Failure::Broken(NO_KUBECTL.to_owned())),
            Self::Memory => Ok(()),
            Self::Real => {
                let control_plane = [Binary::Etcd, Binary::KubeApiserver, Binary::KubeControllerManager];
                for binary in control_plane.into_iter().chain([Binary::Kubectl]) {
                    binary.locate()?;
                }
                Ok(())
            }
        }
    }
}
