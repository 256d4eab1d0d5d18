//! What the server checks in the spec of a pod, and of a pod template.
//!
//! It has hundreds of rules. Here are those on what nearly every pod has, and where mistakes are common: containers with
//! their names and images, pull and restart policies, ports, volume mounts, requests and limits. What a rule that is not
//! here would refuse, passes.

use serde_json::{Value, json};

use crate::built_in::at;
use crate::cause::Cause;
use crate::{names, quantity};

const PULL_POLICIES: [&str; 3] = ["Always", "IfNotPresent", "Never"];
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
/// The longest name of a port.
const PORT_NAME_MAX: usize = 15;

/// What is wrong with a spec, which has its defaults.
pub(crate) fn pod_spec(spec: &Value, path: &str, found: &mut Vec<Cause>) {
    let containers = list(spec, "containers");
    if containers.is_empty() {
        found.push(Cause::required(format!("{path}.containers"), ""));
    }
    let mut taken = Vec::new();
    for (name, containers) in [("containers", containers), ("initContainers", list(spec, "initContainers"))] {
        for (i, one) in containers.iter().enumerate() {
            let path = format!("{path}.{name}[{i}]");
            container(one, &path, found);
            mounts(one, list(spec, "volumes"), &path, found);
            let name = at(one, "/name");
            if taken.contains(&name) {
                found.push(Cause::duplicate(format!("{path}.name"), name));
            }
            taken.push(name);
        }
    }
    choice(spec, "restartPolicy", path, &["Always", "OnFailure", "Never"], found);
    choice(spec, "dnsPolicy", path, &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], found);
}

fn container(container: &Value, path: &str, found: &mut Vec<Cause>) {
    let text = |name: &str| container.get(name).and_then(Value::as_str).unwrap_or_default();
    let name = text("name");
    if name.is_empty() {
        found.push(Cause::required(format!("{path}.name"), ""));
    } else {
        let wrong = names::dns_label(name);
        found.extend(wrong.iter().map(|why| Cause::invalid(format!("{path}.name"), &json!(name), why)));
    }
    if text("image").is_empty() {
        found.push(Cause::required(format!("{path}.image"), ""));
    }
    let policies = ["File", "FallbackToLogsOnError"];
    choice(container, "terminationMessagePolicy", path, &policies, found);
    choice(container, "imagePullPolicy", path, &PULL_POLICIES, found);
    for (i, one) in list(container, "ports").iter().enumerate() {
        port(one, &format!("{path}.ports[{i}]"), found);
    }
    requests(at(container, "/resources"), &format!("{path}.resources.requests"), found);
}

fn port(port: &Value, path: &str, found: &mut Vec<Cause>) {
    if let Some(name) = port.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) {
        let wrong = port_name(name);
        found.extend(wrong.into_iter().map(|why| Cause::invalid(format!("{path}.name"), &json!(name), why)));
    }
    let mut number = |name: &str, is_required: bool| {
        let value = port.get(name).and_then(Value::as_i64).unwrap_or_default();
        if value == 0 && is_required {
            found.push(Cause::required(format!("{path}.{name}"), ""));
        } else if !(0..=65_535).contains(&value) {
            let why = "must be between 1 and 65535, inclusive";
            found.push(Cause::invalid(format!("{path}.{name}"), &json!(value), why));
        }
    };
    number("containerPort", true);
    number("hostPort", false);
    choice(port, "protocol", path, &PROTOCOLS, found);
}

/// What is wrong with the name of a port, which is that of a service of IANA.
fn port_name(name: &str) -> Vec<&'static str> {
    let is_known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    [
        (name.len() > PORT_NAME_MAX, "must be no more than 15 characters"),
        (
            !name.bytes().all(is_known),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (!name.bytes().any(|byte| byte.is_ascii_lowercase()), "must contain at least one letter (a-z)"),
        (name.contains("--"), "must not contain consecutive hyphens"),
        (name.starts_with('-') || name.ends_with('-'), "must not begin or end with a hyphen"),
    ]
    .into_iter()
    .filter_map(|(is_wrong, why)| is_wrong.then_some(why))
    .collect()
}

/// Each mount needs its volume.
fn mounts(container: &Value, volumes: &[Value], path: &str, found: &mut Vec<Cause>) {
    for (i, mount) in list(container, "volumeMounts").iter().enumerate() {
        let name = at(mount, "/name");
        let path = format!("{path}.volumeMounts[{i}]");
        if name.as_str().unwrap_or_default().is_empty() {
            found.push(Cause::required(format!("{path}.name"), ""));
        } else if !volumes.iter().any(|volume| at(volume, "/name") == name) {
            found.push(Cause::not_found(format!("{path}.name"), name));
        }
        if at(mount, "/mountPath").as_str().unwrap_or_default().is_empty() {
            found.push(Cause::required(format!("{path}.mountPath"), ""));
        }
    }
}

/// No request may be above its limit.
fn requests(resources: &Value, path: &str, found: &mut Vec<Cause>) {
    for (name, request) in at(resources, "/requests").as_object().into_iter().flatten() {
        let limit = at(resources, "/limits").get(name);
        let amounts =
            limit.and_then(|limit| Some((quantity::amount(request)?, quantity::amount(limit)?, limit)));
        if let Some((_, _, limit)) = amounts.filter(|(request, limit, _)| request > limit) {
            let limit = limit.as_str().map_or_else(|| limit.to_string(), str::to_owned);
            let why = format!("must be less than or equal to {name} limit of {limit}");
            found.push(Cause::invalid(path, request, &why));
        }
    }
}

fn list<'a>(holder: &'a Value, name: &str) -> &'a [Value] {
    holder.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Checks a text that has a default, so it is there.
fn choice(holder: &Value, name: &str, path: &str, supported: &[&str], found: &mut Vec<Cause>) {
    let value = at(holder, &format!("/{name}"));
    let field = format!("{path}.{name}");
    match value.as_str() {
        None | Some("") => found.push(Cause::required(field, "")),
        Some(text) if supported.contains(&text) => {}
        Some(_) => {
            let supported: Vec<String> = supported.iter().map(|&name| name.to_owned()).collect();
            found.push(Cause::not_supported(field, value, &supported));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::default_pod_template;

    fn wrong(container: &Value) -> Vec<String> {
        let mut template = json!({"spec": {"containers": [container], "volumes": [{"name": "data"}]}});
        default_pod_template(&mut template);
        let mut found = Vec::new();
        pod_spec(&template["spec"], "spec", &mut found);
        found.iter().map(|cause| cause.to_string().replace("spec.containers[0].", "")).collect()
    }

    #[test]
    fn what_the_server_refuses_is_refused_in_its_words() {
        let good = json!({
            "name": "app", "image": "app:1",
            "ports": [{"name": "http", "containerPort": 8080}],
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"cpu": 0.1, "memory": "1024Mi"}},
        });
        assert_eq!(wrong(&good), [""; 0]);
        for (field, value, message) in [
            ("image", json!(""), "image: Required value"),
            (
                "ports",
                json!([{"containerPort": 70_000}]),
                "ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
            ),
            ("ports", json!([{}]), "ports[0].containerPort: Required value"),
            (
                "ports",
                json!([{"containerPort": 1, "name": "the-port-of-http"}]),
                "ports[0].name: Invalid value: \"the-port-of-http\": must be no more than 15 characters",
            ),
            (
                "ports",
                json!([{"containerPort": 1, "name": "80"}]),
                "ports[0].name: Invalid value: \"80\": must contain at least one letter (a-z)",
            ),
            (
                "ports",
                json!([{"containerPort": 1, "protocol": "HTTP"}]),
                "ports[0].protocol: Unsupported value: \"HTTP\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
            ),
            (
                "volumeMounts",
                json!([{"name": "date", "mountPath": "/data"}]),
                "volumeMounts[0].name: Not found: \"date\"",
            ),
            ("volumeMounts", json!([{"name": "data"}]), "volumeMounts[0].mountPath: Required value"),
            (
                "resources",
                json!({"requests": {"cpu": "1"}, "limits": {"cpu": "500m"}}),
                "resources.requests: Invalid value: \"1\": must be less than or equal to cpu limit of 500m",
            ),
        ] {
            let mut container = good.clone();
            container[field] = value;
            assert_eq!(wrong(&container), [message]);
        }
        let mut container = good;
        container["name"] = json!("App");
        assert!(wrong(&container)[0].starts_with("name: Invalid value: \"App\": a lowercase RFC 1123 label"));
    }
}
