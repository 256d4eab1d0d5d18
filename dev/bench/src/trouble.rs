//! What stands between a controller and the API server: nothing, or a proxy that injects faults.

use std::path::PathBuf;
use std::time::Duration;

use cluster::{Cluster, Component, User};
use faultproxy::{Answer, Fault, FaultProxy, Match, Rule};

use crate::failure::Failure;
use crate::scenario::Trouble;
use crate::side::Side;

const SLOW: Duration = Duration::from_millis(50);
/// One request of this many is refused.
const REFUSED: u32 = 10;
/// Seconds in `Retry-After`, as the API server sends it.
const RETRY_AFTER: u32 = 1;
/// From the first edit until the server stands still.
const BEFORE_STALL: Duration = Duration::from_secs(1);
const STALL: Duration = Duration::from_secs(5);

/// How a controller reaches the API server.
pub(crate) struct Way {
    pub(crate) kubeconfig: PathBuf,
    /// Its name in the audit log.
    pub(crate) user: &'static str,
    /// Ends with this.
    _proxy: Option<FaultProxy>,
}

/// Opens the way for one side. Behind a proxy all sides have the same name.
pub(crate) async fn way(cluster: &Cluster, side: Side, trouble: Trouble) -> Result<Way, Failure> {
    let select = Match::all();
    let rule = match trouble {
        Trouble::None | Trouble::Stalling => {
            return Ok(Way { kubeconfig: side.kubeconfig(cluster), user: side.user(), _proxy: None });
        }
        Trouble::Slow => Rule::always(select, Fault::Delay(SLOW)),
        Trouble::Refusing => {
            let answer = Answer::code(429).retry_after(RETRY_AFTER);
            Rule::always(select, Fault::Answer(answer)).every(REFUSED)
        }
    };
    let starting = || Failure::io("starting the proxy");
    let proxy = FaultProxy::start(cluster.config(User::Operator).await?).await.map_err(starting())?;
    let kubeconfig = cluster.directory().join("proxy.kubeconfig");
    proxy.write_kubeconfig(&kubeconfig).map_err(starting())?;
    proxy.arm(rule);
    Ok(Way { kubeconfig, user: User::Operator.name(), _proxy: Some(proxy) })
}

/// Lets the server stand still for a while.
pub(crate) async fn stall(cluster: &Cluster) {
    tokio::time::sleep(BEFORE_STALL).await;
    cluster.freeze(Component::ApiServer);
    tokio::time::sleep(STALL).await;
    cluster.thaw(Component::ApiServer);
}
