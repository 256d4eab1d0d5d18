//! A page of Markdown as the blocks in it that are commands.

use std::fs;
use std::path::Path;

pub(crate) struct Page {
    /// Its name as a test: `tutorials/getting-started`, `how-to/runbooks/RollwrightDown`.
    pub(crate) name: String,
    /// Its path in the repository.
    pub(crate) path: String,
    pub(crate) blocks: Vec<Block>,
}

/// A fence, or a comment of the same form.
pub(crate) struct Block {
    /// Of its first line.
    pub(crate) line: usize,
    pub(crate) how: How,
    pub(crate) form: Form,
    pub(crate) text: String,
}

/// Where commands are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// In a sandbox.
    Sandbox,
    /// On a real control plane.
    Cluster,
    /// Nowhere, for this reason.
    NotRun(String),
}

/// What a block looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Commands only.
    Script,
    /// Commands that run until the end of the page.
    Background,
    /// Commands behind `$ `, and what they print.
    Console,
}

/// Languages that are no commands.
const SILENT: &[&str] = &["text", "yaml", "json", "toml"];
/// A block that begins a line with one of these is a command. If its language is another one, that is a mistake.
const PROGRAMS: &[&str] = &["kubectl ", "helm ", "rollwright ", "make ", "cargo ", "docker ", "$ "];

impl Block {
    pub(crate) fn is_run(&self) -> bool {
        !matches!(self.how, How::NotRun(_))
    }
}

impl Page {
    /// Reads a page, or returns what is wrong with it.
    pub(crate) fn read(root: &Path, path: &Path) -> Result<Self, Vec<String>> {
        let shown = path.display().to_string();
        let text = fs::read_to_string(root.join(path)).map_err(|error| vec![format!("{shown}: {error}")])?;
        let (mut blocks, mut mistakes) = (Vec::new(), Vec::new());
        for (line, info, text) in raw(&text) {
            let block = match info.strip_prefix("rust ") {
                Some(file) => is_of_file(&root.join(file), &text).map(|()| None),
                None => block(line, &info, &text),
            };
            match block {
                Ok(block) => blocks.extend(block),
                Err(mistake) => mistakes.push(format!("{shown}:{line}: {mistake}")),
            }
        }
        let name = shown.trim_start_matches("docs/").trim_end_matches(".md").to_owned();
        if mistakes.is_empty() { Ok(Self { name, path: shown, blocks }) } else { Err(mistakes) }
    }
}

/// All fences and comments with commands: line, what follows the opening, text.
fn raw(text: &str) -> Vec<(usize, String, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String, String, &str)> = None;
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        match &mut open {
            Some((_, _, _, end)) if trimmed == *end => {
                found.extend(open.take().map(|(line, info, text, _)| (line, info, text)));
            }
            Some((_, _, text, _)) => {
                text.push_str(line);
                text.push('\n');
            }
            None => {
                let fence = trimmed.strip_prefix("```").map(|info| (info, "```"));
                let comment =
                    trimmed.strip_prefix("<!-- sh ").map(|_| (trimmed.trim_start_matches("<!-- "), "-->"));
                open = fence
                    .or(comment)
                    .map(|(info, end)| (index + 1, info.trim().to_owned(), String::new(), end));
            }
        }
    }
    found
}

/// A program on a page is a file of the repository, which is tested.
fn is_of_file(path: &Path, text: &str) -> Result<(), String> {
    let file = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    if file == text { Ok(()) } else { Err(format!("this is not what {} holds", path.display())) }
}

/// The instructions of a fence; none for one without commands.
fn block(line: usize, info: &str, text: &str) -> Result<Option<Block>, String> {
    let (language, rest) = info.split_once(' ').unwrap_or((info, ""));
    let form = match language {
        "sh" => Form::Script,
        "console" => Form::Console,
        _ if SILENT.contains(&language) => {
            let command = text.lines().find(|line| PROGRAMS.iter().any(|program| line.starts_with(program)));
            return match command {
                Some(command) => Err(format!("`{language}`, and looks like a command: {command}")),
                None => Ok(None),
            };
        }
        _ => {
            return Err(format!("a fence says `sh`, `console` or one of {SILENT:?}, this one says {info:?}"));
        }
    };
    let mut block = Block { line, how: How::Sandbox, form, text: text.to_owned() };
    if let Some(reason) = rest.strip_prefix("not-run:") {
        if reason.trim().len() < 10 {
            return Err("`not-run:` wants a reason".to_owned());
        }
        block.how = How::NotRun(reason.trim().to_owned());
        return Ok(Some(block));
    }
    let mut words = rest.split_whitespace();
    block.how = match words.next() {
        Some("sandbox") => How::Sandbox,
        Some("cluster") => How::Cluster,
        _ => {
            return Err(format!(
                "say how `{info}` is run: `{language} sandbox`, `{language} cluster`, or `{language} not-run: REASON`"
            ));
        }
    };
    // OPERATOR-NAMESPACE before NAMESPACE before NAME.
    let mut words: Vec<&str> = words.collect();
    words.sort_by_key(|word| {
        std::cmp::Reverse(word.len() - word.split_once('=').map_or(0, |(_, value)| value.len()))
    });
    for word in words {
        match word.split_once('=') {
            Some((name, value)) => block.text = block.text.replace(name, value),
            None if word == "background" => block.form = Form::Background,
            None => return Err(format!("unknown word {word:?} in `{info}`")),
        }
    }
    Ok(Some(block))
}
