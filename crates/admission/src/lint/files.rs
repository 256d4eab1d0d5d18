//! Where manifests are: what `-f` of every command takes.

use std::io::Read as _;
use std::path::{Path, PathBuf};

/// What is taken from a directory.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// The texts of a file, of a directory's files, or of standard input (`-`), each with its name.
///
/// # Errors
/// When something cannot be read, or the directory has nothing of the kind; names the path.
pub fn texts(path: &Path) -> Result<Vec<(String, String)>, String> {
    if path == Path::new("-") {
        let mut text = String::new();
        let read = std::io::stdin().lock().read_to_string(&mut text);
        read.map_err(|error| format!("reading standard input: {error}"))?;
        return Ok(vec![("<stdin>".to_owned(), text)]);
    }
    let files = if path.is_dir() { of_directory(path)? } else { vec![path.to_owned()] };
    files.iter().map(|file| Ok((file.display().to_string(), read(file)?))).collect()
}

fn read(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|error| format!("reading {}: {error}", file.display()))
}

/// Sorted by name.
fn of_directory(path: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("reading {}: {error}", path.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        let end = file.extension().and_then(|end| end.to_str()).unwrap_or_default();
        if EXTENSIONS.contains(&end) && !file.is_dir() {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(format!("no .yaml, .yml or .json file in {}", path.display()));
    }
    Ok(files)
}
