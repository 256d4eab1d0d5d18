//! `-o custom-columns=…`: a table of parts of a document.

use serde_json::Value;
use serde_json_path::JsonPath;

use crate::jsonpath::{path, shown, unmatched};
use crate::table::{NONE, table};

/// Headings, each with the path of its cells.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    columns: Vec<(String, JsonPath)>,
    has_headers: bool,
}

impl Columns {
    /// Reads `HEADING:PATH,…`. As in kubectl, a path may have braces and a dot in front.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let column = |text: &str| {
            let (heading, place) = text.split_once(':').unwrap_or_default();
            if heading.is_empty() || place.is_empty() {
                return Err(format!("\"{text}\" must be HEADING:PATH, for example NAME:.name"));
            }
            let bare = place.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(place);
            Ok((heading.to_owned(), path(bare)?))
        };
        let columns = split(text).into_iter().map(column).collect::<Result<_, _>>()?;
        Ok(Self { columns, has_headers: true })
    }

    pub(crate) fn without_headers(self) -> Self {
        Self { has_headers: false, ..self }
    }

    /// The first column that leads to no field, in words.
    pub(crate) fn unmatched(&self, document: &Value) -> Option<String> {
        let items: Vec<&Value> = items(document).iter().collect();
        self.columns.iter().find_map(|(_, path)| unmatched(path, &items))
    }

    /// A line for each of the document's items, or for the document if it has none.
    pub(crate) fn table(&self, document: &Value) -> String {
        let items = items(document);
        let cell = |(_, path): &(String, JsonPath), item: &Value| match shown(path, item).join(",") {
            empty if empty.is_empty() => NONE.to_owned(),
            cell => cell,
        };
        let row = |item: &Value| self.columns.iter().map(|column| cell(column, item)).collect();
        let headings = self.columns.iter().map(|(heading, _)| heading.clone()).collect();
        let headings = Some(headings).filter(|_| self.has_headers);
        table(&headings.into_iter().chain(items.iter().map(row)).collect::<Vec<_>>())
    }
}

fn items(document: &Value) -> &[Value] {
    let one = std::slice::from_ref(document);
    document.get("items").and_then(Value::as_array).map_or(one, Vec::as_slice)
}

/// Separates at commas, except within brackets.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let is_end = |letter: char| {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    };
    text.split(is_end).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_item_has_a_line_with_the_parts_that_were_named() {
        let document = json!({"items": [{"name": "web", "images": ["a:1", "b:2"]}, {"name": "db"}]});
        let columns = Columns::parse("NAME:.name,IMAGES:{.images[*]},FIRST:images[0,1]").unwrap();
        let shown = "NAME   IMAGES    FIRST\nweb    a:1,b:2   a:1,b:2\ndb     <none>    <none>\n";
        assert_eq!(columns.table(&document), shown);
        let (_, rows) = shown.split_once('\n').unwrap_or_default();
        let bare = columns.clone().without_headers().table(&document);
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&bare), words(rows));
        assert_eq!(columns.table(&json!({"name": "one"})).lines().count(), 2);
        assert_eq!(columns.unmatched(&document), None, "one item has it");
        let told = Columns::parse("N:.name,M:.metadata.name").unwrap().unmatched(&document);
        assert_eq!(told.as_deref(), Some("the document has no field .metadata; there are: images, name"));
    }

    #[test]
    fn a_column_needs_a_heading_and_a_path() {
        for wrong in ["", "NAME", "NAME:", ":.name", "NAME:.a,", "NAME:.a[", "A:.a,B"] {
            assert!(Columns::parse(wrong).is_err(), "{wrong}");
        }
    }
}
