//! Tests assert facts: codes, verdicts, counts, places. Words of findings change, and few files may
//! read them.

use std::path::{Path, PathBuf};

use qkvet_tests::{Folder, root};

/// How a test reads the words of a finding from a report.
const WORDS: &str = concat!("[\"", "sentences\"]");

/// What is about words: a page of `docs/` that shows them.
const MAY_READ: [&str; 1] = ["tests/src/implementations.rs"];

#[test]
fn few_tests_read_the_words_of_a_finding() {
    let mut folders = vec![root().join("tests/tests"), root().join("tests/src")];
    folders.extend(root().join("crates").files().iter().map(|one| one.join("tests")));
    let sources: Vec<(PathBuf, String)> = folders.iter().flat_map(|one| sources(one)).collect();
    assert!(sources.len() > 100, "{}", sources.len());
    let found = sources.iter().filter(|(path, text)| reads_words(path, text));
    let found: Vec<_> = found.map(|(path, _)| path).collect();
    assert!(found.is_empty(), "{found:?}");
    let text = format!("assert_eq!(finding{WORDS}, 1);");
    assert!(reads_words(Path::new("tests/tests/known.rs"), &text));
    assert!(!reads_words(Path::new(MAY_READ[0]), &text));
}

fn reads_words(path: &Path, text: &str) -> bool {
    text.contains(WORDS) && !MAY_READ.iter().any(|one| path.ends_with(one))
}

/// Rust files of a folder and those below it.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    if !folder.is_dir() {
        return Vec::new();
    }
    let below = |path: PathBuf| match path.extension() {
        Some(end) if end == "rs" => vec![(path.clone(), root().read(&path.to_string_lossy()))],
        _ => sources(&path),
    };
    folder.files().into_iter().flat_map(below).collect()
}
