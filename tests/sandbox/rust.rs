//! `examples/rust`, against a sandbox.

use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use rollwright_api::{Deployment, RollbackResult};

use crate::place::Sandbox;

/// Two of two cores may be compiling.
const DEADLINE: Duration = Duration::from_secs(60);

#[expect(dead_code, reason = "the test calls what its main calls")]
#[path = "../../examples/rust/src/main.rs"]
mod example;

#[tokio::test(flavor = "multi_thread")]
async fn the_example_in_rust_rolls_out_and_back() {
    let sandbox = Sandbox::start().await;
    let kubeconfig = Kubeconfig::read_from(sandbox.kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let api: Api<Deployment> = Api::default_namespaced(Client::try_from(config).unwrap());
    tokio::time::timeout(DEADLINE, example::roll_out_and_back(&api)).await.unwrap().unwrap();
    let status = api.get("web").await.unwrap().status.unwrap();
    let display = status.display.unwrap();
    assert_eq!(display.images.as_deref(), Some("nginx:1.28"));
    assert_eq!((status.revision, display.ready.as_deref()), (Some(3), Some("3/3")));
    assert_eq!(status.rollback.unwrap().result, Some(RollbackResult::RolledBack));
}
