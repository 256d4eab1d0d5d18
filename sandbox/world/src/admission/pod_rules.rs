//! What new pods are refused for: a ResourceQuota, the Pod Security level of their namespace, and an annotation
//! that stands for every other rule that a real cluster may have.

use serde_json::Value;

use crate::admission::quota::Quota;
use crate::admission::{Admission, Operation, Request};
use crate::object::Object;
use crate::refusal::Refused;
use crate::resource::Resource;
use crate::store::Store;
use crate::store::key::Key;

/// Annotation of a pod: the server refuses to create it, with this message.
pub const REFUSED: &str = "fake.rollwright.dev/refused";

/// Label of a namespace: the Pod Security level that its pods have to meet.
const LEVEL: &str = "pod-security.kubernetes.io/enforce";
/// Label of a namespace: the release of Kubernetes that defines the level.
const LEVEL_VERSION: &str = "pod-security.kubernetes.io/enforce-version";

/// Refuses new pods. Of the Pod Security levels, it knows one rule: no namespaces of the host. Of quotas,
/// it counts pods.
#[derive(Clone, Copy, Debug, Default)]
pub struct PodRules;

impl Admission for PodRules {
    fn admit(&self, store: &Store, request: &Request<'_>, object: &mut Object) -> Result<(), Refused> {
        if request.operation != Operation::Create || request.resource != Resource::Pods {
            return Ok(());
        }
        if let Some(message) = object.annotation(REFUSED) {
            return Err(Refused::new(403, "Forbidden", message));
        }
        check_level(store, object)?;
        let namespace = object.namespace().to_owned();
        let mut quotas = store.list(Resource::ResourceQuotas, Some(&namespace)).filter_map(of_pods);
        quotas.try_for_each(|quota| quota.admit(store, request, object))
    }
}

/// How many pods a ResourceQuota allows, if it counts them.
fn of_pods(object: &Object) -> Option<Quota> {
    let hard = object.spec.get("hard")?.get("pods")?;
    let hard = hard.as_u64().or_else(|| hard.as_str()?.parse().ok())?;
    Some(Quota {
        name: object.name().to_owned(),
        namespace: object.namespace().to_owned(),
        resource: Resource::Pods,
        hard: usize::try_from(hard).ok()?,
    })
}

fn check_level(store: &Store, pod: &Object) -> Result<(), Refused> {
    let namespace = store.get(&Key::new(Resource::Namespaces, "", pod.namespace()));
    let label = |key: &str| namespace.and_then(|namespace| namespace.label(key));
    let Some(level @ ("baseline" | "restricted")) = label(LEVEL) else { return Ok(()) };
    let fields = ["hostNetwork", "hostPID", "hostIPC"].into_iter();
    let shared = fields.filter(|field| pod.spec.get(field).and_then(Value::as_bool) == Some(true));
    let shared: Vec<String> = shared.map(|field| format!("{field}=true")).collect();
    if shared.is_empty() {
        return Ok(());
    }
    let version = label(LEVEL_VERSION).unwrap_or("latest");
    let why = format!("violates PodSecurity \"{level}:{version}\": host namespaces ({})", shared.join(", "));
    Err(Refused::forbidden(Resource::Pods, pod.name(), &why))
}
