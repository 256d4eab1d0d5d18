//! What form of an answer is asked for.

use http::{HeaderMap, header};
use world::Refused;

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The objects themselves.
    Whole,
    /// Their metadata.
    Metadata,
    /// Rows and columns, as `kubectl get` prints them.
    Table,
    /// All resources of all groups in one document.
    Discovery,
}

/// The first form of the header `Accept` that is served.
pub(crate) fn negotiate(headers: &HeaderMap) -> Result<Form, Refused> {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("*/*");
    let forms = accept.split(',').filter_map(form);
    forms.into_iter().next().ok_or_else(|| {
        let message = "only the following media types are accepted: application/json";
        Refused::new(406, "NotAcceptable", message)
    })
}

fn form(entry: &str) -> Option<Form> {
    let mut parts = entry.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default();
    if !matches!(media_type, "application/json" | "application/*" | "*/*" | "") {
        return None;
    }
    let parameters: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
    let parameter = |name: &str| {
        let found = parameters.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| *value)
    };
    match (parameter("as"), parameter("g"), parameter("v")) {
        (None, ..) => Some(Form::Whole),
        (Some("Table"), Some("meta.k8s.io"), Some("v1" | "v1beta1")) => Some(Form::Table),
        (Some("PartialObjectMetadata" | "PartialObjectMetadataList"), Some("meta.k8s.io"), Some("v1")) => {
            Some(Form::Metadata)
        }
        (Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some("v2")) => Some(Form::Discovery),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_form_that_is_served_counts() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        let discovery =
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
        let cases = [
            (table, Some(Form::Table)),
            (discovery, Some(Form::Discovery)),
            ("application/vnd.kubernetes.protobuf,application/json", Some(Form::Whole)),
            ("application/json;as=Else;v=v1;g=meta.k8s.io, */*", Some(Form::Whole)),
            ("application/yaml", None),
        ];
        for (accept, form) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().unwrap());
            assert_eq!(negotiate(&headers).ok(), form, "{accept}");
        }
    }
}
