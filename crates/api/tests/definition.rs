//! The definition as a whole.

use kube_core::Resource as _;
use kube_core::crd::CustomResourceExt as _;
use rollwright_api::Deployment;
use rollwright_api::crd::{CRD_NAME, GROUP, KIND, PLURAL, SHORT_NAME, VERSION, crd};

/// A client-side apply keeps it in an annotation of at most 256 KiB; this bound shows growth early.
#[test]
fn it_can_be_applied_by_the_client() {
    let definition = crd(None).unwrap().to_string();
    assert!(definition.len() < 106_000, "{} bytes", definition.len());
}

#[test]
fn names_are_those_of_the_type() {
    assert_eq!((Deployment::group(&()), Deployment::version(&())), (GROUP.into(), VERSION.into()));
    assert_eq!((Deployment::kind(&()), Deployment::plural(&())), (KIND.into(), PLURAL.into()));
    assert_eq!((Deployment::crd_name(), Deployment::shortnames()), (CRD_NAME, [SHORT_NAME].as_slice()));
}
