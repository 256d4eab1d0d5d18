//! The parameters of a request.

use std::collections::BTreeMap;

use admission::Cause;
use serde_json::json;
use world::{Mode, Refused};

use crate::invalid;

/// What comes after the `?`; of a repeated parameter the first counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(BTreeMap<String, String>);

impl Query {
    pub(crate) fn parse(text: &str) -> Self {
        let mut parameters = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            parameters.entry(name.into_owned()).or_insert_with(|| value.into_owned());
        }
        Self(parameters)
    }

    /// A parameter that is there and not empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    pub(crate) fn is_set(&self, name: &str) -> bool {
        matches!(self.text(name), Some("true" | "1"))
    }

    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.text(name)?.parse().ok()
    }

    /// Whether the write has to last.
    pub(crate) fn mode(&self) -> Result<Mode, Refused> {
        match self.text("dryRun") {
            None => Ok(Mode::Store),
            Some("All") => Ok(Mode::DryRun),
            Some(other) => {
                let cause = Cause::not_supported("dryRun", &json!([other]), &["All".to_owned()]);
                Err(invalid::options("CreateOptions", cause))
            }
        }
    }

    /// A resourceVersion; 0 and none are `None`: anything will do.
    pub(crate) fn version(&self) -> Result<Option<u64>, Refused> {
        match self.text("resourceVersion") {
            None | Some("0") => Ok(None),
            Some(text) => match text.parse() {
                Ok(version) => Ok(Some(version)),
                Err(_) => {
                    let cause = format!(
                        "invalid resource version: resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": invalid syntax"
                    );
                    Err(Refused::bad_request(cause))
                }
            },
        }
    }
}
