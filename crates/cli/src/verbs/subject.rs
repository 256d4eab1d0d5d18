//! The Deployment that a verb is about.

use std::time::Duration;

use crate::args::connection::Connection;
use crate::args::target::Target;
use crate::cluster::{Cluster, Deployment};
use crate::deadline::Deadline;
use crate::failure::Failure;
use crate::name;

/// A Deployment that was named and found, and the cluster it is in.
pub(crate) struct Subject {
    pub(crate) cluster: Cluster,
    pub(crate) deployment: Deployment,
}

/// Names are read before the cluster is asked, so that a typing error needs no connection.
pub(super) async fn open(connection: &Connection, target: &Target) -> Result<Subject, Failure> {
    open_within(connection, target, Deadline::after(Duration::ZERO)).await
}

/// The same for a verb that has a time limit.
pub(super) async fn open_within(
    connection: &Connection,
    target: &Target,
    deadline: Deadline,
) -> Result<Subject, Failure> {
    let named = name::parse(&target.words)?;
    let cluster = Cluster::connect(connection).await?;
    let deployment = deadline.hold_or(&cluster.unanswered(), cluster.find(&named)).await?;
    Ok(Subject { cluster, deployment })
}
