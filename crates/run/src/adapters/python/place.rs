//! Where the function of a Python file begins, for tools that show findings beside the source.

#![allow(clippy::disallowed_methods, reason = "I/O crate, no arithmetic")]

use std::path::{Component, Path, PathBuf};

use qkvet_spec::SourcePlace;

use super::config::{PythonRef, PythonSource};

/// Longer files are not read.
const MAX_BYTES: u64 = 4 << 20;

/// The place that a target's name tells: the line that defines the function, or the first one of
/// the file. `None` for names of other targets and for files that are not there.
pub(in super::super) fn source_place(name: &str) -> Option<SourcePlace> {
    place_of(&name.parse::<PythonRef>().ok()?)
}

/// The place of a function. Its path is that from the root of the repository, as services read it;
/// elsewhere from the current folder if it lies below that.
pub(super) fn place_of(target: &PythonRef) -> Option<SourcePlace> {
    let PythonRef { source: PythonSource::File(path), function } = target else { return None };
    let here = std::env::current_dir().unwrap_or_default();
    let path = path.strip_prefix(&here).unwrap_or(path);
    let about = std::fs::metadata(path).ok()?;
    let text = if about.is_file() && about.len() <= MAX_BYTES {
        std::fs::read_to_string(path).ok()?
    } else {
        return None;
    };
    let whole = plain(&here.join(path));
    let shown =
        repository_of(&whole).and_then(|root| whole.strip_prefix(root).ok()).unwrap_or(path);
    Some(SourcePlace { path: portable(shown), line: line_of(&text, function) })
}

/// The root of the repository that a file or folder, given in full, lies in.
pub fn repository_of(path: &Path) -> Option<&Path> {
    // A file in a work tree that shares its repository, a folder elsewhere.
    path.ancestors().find(|folder| folder.join(".git").exists())
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// The path with `/` between its parts and without a `./` before them.
fn portable(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "/");
    text.strip_prefix("./").map_or_else(|| text.clone(), str::to_owned)
}

/// The line, from 1, that defines the last part of a dotted name.
fn line_of(text: &str, function: &str) -> usize {
    let name = function.rsplit('.').next().unwrap_or(function);
    let defines = |line: &str| {
        let line = line.trim_start();
        let rest = ["def ", "async def ", "class "].iter().find_map(|word| line.strip_prefix(word));
        let rest =
            rest.map(str::trim_start).and_then(|rest| rest.strip_prefix(name)).map(str::trim_start);
        rest.is_some_and(|rest| rest.starts_with(['(', ':', '[']))
            || line.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    text.lines().position(defines).map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_found() {
        let text = "import x\n\ndef attention_of(q): ...\nclass Layers:\n    def attention (self, q): ...\nother = x.y\n";
        assert_eq!(line_of(text, "Layers.attention"), 5);
        assert_eq!(line_of(text, "attention_of"), 3);
        assert_eq!(line_of(text, "other"), 6);
        assert_eq!(line_of(text, "nowhere"), 1);
        assert_eq!(portable(Path::new("./a/b.py")), "a/b.py");
    }

    #[test]
    fn paths_are_those_of_the_repository() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let name = format!("{}/src/../src/runtime/worker.py:main", here.display());
        let Some(root) = repository_of(here) else { return };
        let place = source_place(&name).map(|place| place.path);
        let expected =
            format!("{}/src/runtime/worker.py", portable(here.strip_prefix(root).unwrap_or(here)));
        assert_eq!(place, Some(expected));
        assert_eq!(plain(Path::new("/a/./b/../c.py")), Path::new("/a/c.py"));
    }

    #[test]
    fn other_targets_have_no_place() {
        assert_eq!(source_place("builtin:flash"), None);
        assert_eq!(source_place("pkg.mod:attention"), None);
        assert_eq!(source_place("no/such/file.py:attention"), None);
    }
}
