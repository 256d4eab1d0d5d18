//! The book that `make site` hands to mdBook, and the check of what mdBook returns.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

use crate::place::{directory, ok, output, program, root};

fn build() -> Command {
    Command::new(root().join("dev/site/build"))
}

/// All pages below a directory, relative to it.
fn pages(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.is_dir() {
            true => found.extend(pages(&entry)),
            false if entry.extension().is_some_and(|end| end == "md") => found.push(entry),
            false => {}
        }
    }
    found
}

#[test]
fn every_page_is_a_chapter_and_no_link_leaves_the_book() {
    let book = directory("site-book");
    ok(build().arg(&book));
    let docs = book.join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    assert!(
        summary.contains("\n# Concepts\n\n- [Rolling update](concepts/rolling-update.md)\n"),
        "{summary}"
    );
    let link = Regex::new(r"\]\(([^)#\s]+)[^)\s]*\)").unwrap();
    let mut outside = 0;
    for page in pages(&docs).iter().filter(|page| !page.ends_with("SUMMARY.md")) {
        let name = page.strip_prefix(&docs).unwrap().display().to_string();
        assert_eq!(summary.matches(&format!("]({name})")).count(), 1, "{name} in {summary}");
        let text = fs::read_to_string(page).unwrap();
        for found in link.captures_iter(&text) {
            let target = found[1].replace("index.md", "README.md");
            let is_ours = target.starts_with(concat!(env!("CARGO_PKG_REPOSITORY"), "/"));
            outside += usize::from(is_ours);
            let is_there = page.parent().unwrap().join(&target).is_file();
            assert!(target.contains("://") || is_there, "{name}: {target}");
        }
    }
    assert!(outside > 100, "{outside} links to the repository");
    let page = fs::read_to_string(docs.join("tutorials/getting-started.md")).unwrap();
    assert!(page.contains("```sh\n"), "{page}");
    assert!(!page.contains("not-run:") && !page.contains("```sh "), "{page}");
}

/// In place of mdBook, a program that writes the pages.
fn site(name: &str, page: &str) -> (bool, String) {
    let place = directory(name);
    let mdbook = place.join("mdbook");
    program(
        &mdbook,
        &format!(
            "mkdir -p \"$3\" && cd \"$3\" && echo >404.html && echo '{page}' >index.html && echo '<p id=\"here\">' >other.html"
        ),
    );
    output(build().arg(place.join("book")).arg(place.join("site")).arg(mdbook))
}

#[test]
fn a_broken_link_is_no_site() {
    let (success, said) = site(
        "site-right",
        r##"<a id="top" href="other.html#here">a</a> <a href="#top">b</a> <a href="https://example.com/x">c</a>"##,
    );
    assert!(success && said.contains("2 pages"), "{said}");
    for link in ["gone.html", "other.html#gone", "#gone"] {
        let (success, said) = site("site-wrong", &format!(r#"<a href="{link}">a</a>"#));
        let expected = format!("index.html: {link} leads nowhere\nsite: broken links: 1\n");
        assert!(!success && said.ends_with(&expected), "{said}");
    }
}
