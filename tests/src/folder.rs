//! Folders of tests: the files in them, and `qkvet` run there.

#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{Finding, Finished, finish, play, qkvet, run, text};

/// A folder of its own, gone in the end.
///
/// # Panics
/// When none can be made.
#[must_use]
pub fn temp() -> TempDir {
    TempDir::new().unwrap_or_else(|error| panic!("a folder: {error}"))
}

/// The words of a command.
pub trait Words {
    /// One by one.
    fn words(self) -> Vec<String>;
}

/// A line as a shell reads it: words stand apart, `'...'` is one. A `qkvet` in front is no word.
impl Words for &str {
    fn words(self) -> Vec<String> {
        let (mut words, mut word, mut is_quoted) = (Vec::new(), None::<String>, false);
        for c in self.strip_prefix("qkvet ").unwrap_or(self).chars() {
            match c {
                '\'' => {
                    is_quoted = !is_quoted;
                    word.get_or_insert_default();
                }
                c if c.is_whitespace() && !is_quoted => words.extend(word.take()),
                c => word.get_or_insert_default().push(c),
            }
        }
        words.extend(word);
        words
    }
}

impl Words for &String {
    fn words(self) -> Vec<String> {
        self.as_str().words()
    }
}

impl Words for String {
    fn words(self) -> Vec<String> {
        self.as_str().words()
    }
}

impl<S: AsRef<str>> Words for &[S] {
    fn words(self) -> Vec<String> {
        self.iter().map(|word| word.as_ref().to_owned()).collect()
    }
}

impl<S: AsRef<str>, const N: usize> Words for &[S; N] {
    fn words(self) -> Vec<String> {
        self.as_slice().words()
    }
}

impl<S: AsRef<str>> Words for &Vec<S> {
    fn words(self) -> Vec<String> {
        self.as_slice().words()
    }
}

/// A path as the folder of a test.
///
/// # Panics
/// Each function, when a file cannot be read or written.
pub trait Folder: AsRef<Path> {
    /// Runs `qkvet` there.
    fn run(&self, words: impl Words) -> Finished {
        run(self.as_ref(), words)
    }

    /// The same outside CI.
    fn at_home(&self, words: impl Words) -> Finished {
        finish(qkvet(self.as_ref()).args(words.words()).env_remove("CI"))
    }

    /// Replays the case of a finding.
    fn replay(&self, finding: &Finding) -> Finished {
        self.run(format!("replay {}", finding.case()))
    }

    /// Runs the script of a finding, with these words: see [`play`].
    fn play(&self, finding: &Finding, words: impl Words) -> Finished {
        play(&self.as_ref().join(text(&finding["script"])), words)
    }

    /// Writes a file, and the folders that it lies in.
    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.as_ref().join(name);
        let written = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        written
            .and_then(|()| std::fs::write(&path, content))
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// The text of a file.
    fn read(&self, name: &str) -> String {
        let path = self.as_ref().join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// All that lies in it, in order.
    fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.as_ref())
            .unwrap_or_else(|error| panic!("{}: {error}", self.as_ref().display()));
        let mut all: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        all.sort();
        all
    }

    /// Whether there is such a file.
    fn has(&self, name: &str) -> bool {
        self.as_ref().join(name).exists()
    }
}

impl<T: AsRef<Path> + ?Sized> Folder for T {}
