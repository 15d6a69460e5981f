//! Programs and libraries in C that many tests use.

#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Words, binary, finish, root};

/// What a compiler, in front of its flags, makes of a source of the repository, under this name. It
/// is made once for all tests, each of which is a process of its own, and again when a text beside
/// it or in `examples/c` changes.
///
/// # Panics
/// When the compiler does not take it.
#[must_use]
pub fn compiled(compiler: &str, source: &str, name: &str) -> PathBuf {
    let source = root().join(source);
    let mut hasher = DefaultHasher::new();
    (compiler, &source, name).hash(&mut hasher);
    let beside = source.parent().unwrap_or(Path::new("."));
    for folder in [beside, &root().join("examples/c")] {
        let files = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{folder:?}: {e}"));
        let mut files: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
        files.sort();
        files
            .iter()
            .filter_map(|file| std::fs::read(file).ok())
            .for_each(|it| it.hash(&mut hasher));
    }
    let made = binary().with_file_name("compiled").join(format!("{:016x}", hasher.finish()));
    let program = made.join(name);
    if !program.is_file() {
        std::fs::create_dir_all(&made).unwrap_or_else(|e| panic!("{made:?}: {e}"));
        // Others may make it at the same time: the last one stays.
        let own = made.join(format!("{name}.{}", std::process::id()));
        compile(compiler, &source, &own);
        std::fs::rename(&own, &program).unwrap_or_else(|e| panic!("{program:?}: {e}"));
    }
    program
}

/// Compiles a source.
///
/// # Panics
/// When the compiler does not take it.
pub fn compile(compiler: &str, source: &Path, program: &Path) {
    let words = compiler.words();
    let mut command = Command::new(&words[0]);
    finish(command.args(&words[1..]).arg("-o").arg(program).arg(source).arg("-lm")).ends(0);
}
