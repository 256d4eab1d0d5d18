//! Under which name the operator writes: the API server notes it beside every field that a request sets.

use engine::rivalry::FIELD_MANAGER;
use kube::api::{PatchParams, PostParams};

pub(crate) fn patch_params() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}

pub(crate) fn post_params(dry_run: bool) -> PostParams {
    PostParams { dry_run, field_manager: Some(FIELD_MANAGER.to_owned()) }
}
