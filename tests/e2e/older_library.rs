//! An operator that was built against an older Kubernetes library.
//!
//! It is another build of the whole operator, so `make older-library` makes it and names it in
//! [`PROGRAM`]. Without that variable the suite leaves this scenario out.

use std::env;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::failure::{Failure, Outcome, ensure, same};
use crate::manifest::Manifest;
use crate::operator::Operator;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![own both older_library,];

/// The environment variable with the path of that operator.
pub(crate) const PROGRAM: &str = "E2E_OLDER_OPERATOR";

/// The operator carries templates as they are. So a field that its library does not know (this
/// one is of Kubernetes 1.34, the library of 1.33) reaches the ReplicaSet all the same.
async fn older_library(world: World) -> Outcome {
    let program = env::var_os(PROGRAM).map(PathBuf::from);
    let program = program.ok_or_else(|| Failure::new(format!("{PROGRAM} is not set")))?;
    world.operator()?.stop();
    let _operator = Operator::start_program(&program, &world.stage.cluster, world.flavour, &[])?;
    let mut manifest = Manifest::new("web", 2).json(world.flavour);
    manifest["spec"]["template"]["spec"]["hostnameOverride"] = json!("chosen.example");
    world.kubectl.apply(&manifest.to_string()).await?;
    world.complete("web").await?;
    let set = serde_json::to_value(world.set("app:v1").await?.object)?;
    let field = set.pointer("/spec/template/spec/hostnameOverride").and_then(Value::as_str);
    same("the field in the set", field, Some("chosen.example"))?;
    let pods = world.pods().await?;
    let has_field = |pod: &k8s_openapi::api::core::v1::Pod| {
        pod.spec.as_ref().is_some_and(|spec| spec.hostname_override.as_deref() == Some("chosen.example"))
    };
    ensure(pods.iter().all(has_field), "the field in all pods", pods.len())
}
