//! In which form the output is.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Command};
use serde_json::Value;

use crate::columns::Columns;
use crate::jsonpath::Template;

/// Output format.
#[derive(Clone, Debug)]
pub(crate) enum Format {
    /// One JSON document.
    Json,
    /// The same as YAML.
    Yaml,
    /// KIND.GROUP/NAME.
    Name,
    /// What a template of `JSONPath` takes from the JSON document.
    JsonPath(Template),
    /// The table with more columns.
    Wide,
    /// A table of parts of the JSON document.
    Columns(Columns),
}

impl Format {
    /// What to print if a path leads to no field of a document of this program. An object of Kubernetes may lack any.
    pub(crate) fn unmatched(&self, document: &Value) -> Option<String> {
        if document.get("metadata").is_some() {
            return None;
        }
        match self {
            Self::JsonPath(template) => template.unmatched(document),
            Self::Columns(columns) => columns.unmatched(document),
            _ => None,
        }
    }
}

/// The forms of a document.
const DOCUMENT: [&str; 4] = ["json", "yaml", "name", "jsonpath="];
/// The forms of a table besides.
const TABLE: [&str; 2] = ["wide", "custom-columns="];

/// Output format of a document.
#[derive(Debug, Args)]
pub(crate) struct Output {
    /// Output format [default: text for people].
    #[arg(long = "output", short = 'o', value_name = "FORMAT", value_parser = FormatParser { has_table: false })]
    pub(crate) format: Option<Format>,
}

/// Output format of a table.
#[derive(Debug, Default, Args)]
pub(crate) struct Tabular {
    /// Output format [default: a table].
    #[arg(long = "output", short = 'o', value_name = "FORMAT", value_parser = FormatParser { has_table: true })]
    pub(crate) format: Option<Format>,
    /// Leave out the line of headings.
    #[arg(long)]
    pub(crate) no_headers: bool,
}

impl Tabular {
    /// The format, unless it is the table of the verb itself.
    pub(crate) fn document(&self) -> Option<Format> {
        match self.format.clone() {
            None | Some(Format::Wide) => None,
            Some(Format::Columns(columns)) if self.no_headers => {
                Some(Format::Columns(columns.without_headers()))
            }
            other => other,
        }
    }

    pub(crate) fn is_wide(&self) -> bool {
        matches!(self.format, Some(Format::Wide))
    }
}

/// Reads `-o`; it knows the words for completion, and what follows a `=`.
#[derive(Clone, Debug)]
struct FormatParser {
    has_table: bool,
}

impl FormatParser {
    fn words(&self) -> impl Iterator<Item = &'static str> {
        DOCUMENT.into_iter().chain(TABLE.into_iter().filter(|_| self.has_table))
    }

    fn read(&self, text: &str) -> Result<Format, String> {
        let (word, rest) = text.split_once('=').map_or((text, None), |(word, rest)| (word, Some(rest)));
        match (word, rest) {
            ("json", None) => Ok(Format::Json),
            ("yaml", None) => Ok(Format::Yaml),
            ("name", None) => Ok(Format::Name),
            ("wide", None) if self.has_table => Ok(Format::Wide),
            ("jsonpath", Some(template)) => Template::parse(template).map(Format::JsonPath),
            ("custom-columns", Some(columns)) if self.has_table => {
                Columns::parse(columns).map(Format::Columns)
            }
            _ => Err(format!("it must be one of {}", self.words().collect::<Vec<_>>().join(", "))),
        }
    }
}

impl TypedValueParser for FormatParser {
    type Value = Format;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<Format, clap::Error> {
        let parser = self.clone();
        StringValueParser::new().try_map(move |text| parser.read(&text)).parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.words().map(PossibleValue::new)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tables_have_columns() {
        let (document, table) = (FormatParser { has_table: false }, FormatParser { has_table: true });
        for either in ["json", "yaml", "name", "jsonpath={.a}"] {
            assert!(document.read(either).is_ok() && table.read(either).is_ok(), "{either}");
        }
        for tabular in ["wide", "custom-columns=A:.a"] {
            assert!(document.read(tabular).is_err() && table.read(tabular).is_ok(), "{tabular}");
        }
        for wrong in ["", "xml", "json=x", "jsonpath", "custom-columns", "jsonpath={.a", "custom-columns=.a"]
        {
            assert!(table.read(wrong).is_err(), "{wrong}");
        }
    }
}
