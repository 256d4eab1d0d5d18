//! Every reason to wait is explained in the documentation.

use engine::waits::Reason;

#[test]
fn each_reason_has_a_row_in_the_documentation() {
    let page = crate::root().join("docs/reference/metrics.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("### Why a Deployment waits").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let rows: Vec<&str> = rows.map(|(reason, _)| reason).collect();
    assert_eq!(rows, Reason::ALL.map(Reason::as_str));
}
