//! Every command in the documentation is run.
//!
//! A fence has its instructions in the words after its language:
//!
//! ```text
//! sh sandbox              in a sandbox of the page's own, with stock kubectl; one block after the other
//! sh cluster              the same on a real control plane, with nothing of ours on it
//! sh sandbox background   left running until the end of the page
//! sh sandbox NAME=web     with `web` in place of NAME
//! console sandbox         `$ command` and what it prints; `…` stands for anything, alone for any lines
//! sh not-run: REASON      not run; every test run prints the list
//! text, yaml, json        no commands
//! rust FILE               a program, the same as in this file of the repository
//! ```
//!
//! An HTML comment that opens with `<!-- sh sandbox` is run too: what has to be there before. A fence without one of
//! these words fails the test. So does a link to a page or a heading that is not there. So does a word that the
//! glossary has retired, on a page, in a text of the programs, or in a name in code.
//!
//! ```text
//! cargo test -p rollwright --test docs                   # all pages
//! cargo test -p rollwright --test docs getting-started   # one
//! ```

mod counts;
mod links;
mod names;
mod page;
mod place;
mod play;
mod show;
mod words;

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

use page::{Block, How, Page};

/// Where the documentation is: files, and directories with files.
const PAGES: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "charts/rollwright",
    "docs",
    "docs/concepts",
    "docs/how-to",
    "docs/how-to/runbooks",
    "docs/internals",
    "docs/reference",
    "docs/tutorials",
    "examples",
    "sandbox",
];

/// Pages mostly wait; a control plane takes hundreds of megabytes.
const PARALLEL: usize = 4;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(PARALLEL));
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut pages, mut mistakes) = (Vec::new(), Vec::new());
    mistakes.extend(counts::wrong(root));
    let all = files(root);
    let mut returned = words::returned(root, &all);
    returned.extend(names::returned(root));
    for path in all {
        mistakes.extend(links::broken(root, &path));
        mistakes.extend(links::unlisted(root, &path));
        match Page::read(root, &path) {
            Ok(page) => pages.push(page),
            Err(found) => mistakes.extend(found),
        }
    }
    if !arguments.list {
        pages.iter().for_each(report);
    }
    pages.retain(|page| page.blocks.iter().any(Block::is_run));
    // Those that take long begin first.
    pages.sort_by_key(|page| {
        (!page.blocks.iter().any(|block| block.how == How::Cluster), Reverse(page.blocks.len()))
    });
    let many = pages.len();
    let trial = |page: Page| Trial::test(page.name.clone(), move || play::play(&page).map_err(Failed::from));
    let mut trials: Vec<Trial> = pages.into_iter().map(trial).collect();
    trials.push(Trial::test("sessions_are_compared", || Ok(show::selftest()?)));
    trials.push(Trial::test("retired_words_are_recognized", || Ok(words::selftest()?)));
    trials.push(Trial::test("retired_names_are_recognized", || Ok(names::selftest()?)));
    trials.push(Trial::test("retired_words_do_not_return", move || match returned.as_slice() {
        [] => Ok(()),
        _ => Err(returned.join("\n").into()),
    }));
    trials.push(Trial::test("fences_and_links_are_right", move || match mistakes.as_slice() {
        [] if many >= 5 => Ok(()),
        [] => Err(format!("only {many} pages with commands were found").into()),
        _ => Err(mistakes.join("\n").into()),
    }));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The commands that nobody runs, for everybody to see.
fn report(page: &Page) {
    for block in &page.blocks {
        if let How::NotRun(reason) = &block.how {
            let first = block.text.lines().next().unwrap_or_default();
            println!("NOT RUN {}:{}: {first}: {reason}", page.path, block.line);
        }
    }
}

/// All Markdown files, relative to the root of the repository.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for place in PAGES {
        let path = root.join(place);
        if path.is_file() {
            files.push(PathBuf::from(place));
        }
        let names = fs::read_dir(&path).into_iter().flatten().flatten();
        files.extend(names.map(|entry| Path::new(place).join(entry.file_name())));
    }
    files.retain(|file| file.extension().is_some_and(|end| end == "md"));
    files.sort();
    files
}
