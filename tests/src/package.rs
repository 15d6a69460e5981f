//! The Python package in an environment of its own.

#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::{Finished, Folder, Words, binary, finish, python, root, temp};

/// pytest without the plugin of Hypothesis, which takes longer than all the rest to start.
pub const PYTEST: &str = "-m pytest -p no:cacheprovider -p no:hypothesispytest --color=no";

/// A fresh environment with the wheel in it; the libraries are those of the interpreter that the
/// tests have.
pub struct Environment {
    folder: TempDir,
    /// Its interpreter.
    pub python: PathBuf,
}

impl Environment {
    /// Builds the wheel and installs it.
    ///
    /// # Panics
    /// When that fails; everything printed is shown.
    #[must_use]
    pub fn build() -> Self {
        // Two tests at once would write the binary while it is read.
        let turn = File::create(binary().with_file_name("qkvet-wheel.lock")).expect("a file");
        turn.lock().expect("a lock");
        let folder = temp();
        let base = python().expect("an interpreter");
        let below = if cfg!(windows) { "venv/Scripts/python.exe" } else { "venv/bin/python" };
        let (wheels, inside) = (folder.path().join("wheels"), folder.path().join(below));
        stage();
        let manifest = root().join("crates/py/Cargo.toml").display().to_string();
        // The profile of the tests: what is built already serves.
        let build = format!(
            "-m maturin build --locked --profile dev --features workspace --interpreter {base} \
             --compression-method stored --manifest-path"
        );
        finish(Command::new(&base).args(build.words()).arg(manifest).arg("--out").arg(&wheels))
            .ends(0);
        let venv = "-m venv --without-pip".words();
        finish(Command::new(&base).args(venv).arg(folder.path().join("venv"))).ends(0);
        let [wheel] = &wheels.files()[..] else { panic!("one wheel in {}", wheels.display()) };
        let install = "install --no-index --no-deps --disable-pip-version-check".words();
        let mut pip = Command::new(&base);
        pip.args(["-m", "pip", "--python"]).arg(&inside).args(install).arg(wheel);
        finish(&mut pip).ends(0);
        // What is imported from where the tests have their libraries; the wheel comes first.
        let paths =
            "import sys; print(*(path for path in sys.path if 'site-packages' in path), sep='\\n')";
        let of = |python: &Path| finish(Command::new(python).args(["-c", paths])).stdout;
        let libraries = of(Path::new(&base));
        Path::new(of(&inside).trim()).write("libraries.pth", libraries);
        Self { folder, python: inside }
    }

    /// A file in the folder of the environment.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The interpreter among the small files of `tests/python`.
    #[must_use]
    pub fn command(&self, words: impl Words) -> Command {
        let folder = root().join("tests/python");
        let mut command = Command::new(&self.python);
        command.args(words.words()).current_dir(&folder).env("PYTHONPATH", &folder);
        // pytest prints the differing items of two dictionaries in the order of a set.
        command.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONHASHSEED", "0");
        command.env_remove("CI").env_remove("QKVET_PYTHON");
        command
    }

    /// Runs it.
    #[must_use]
    pub fn run(&self, words: impl Words) -> Finished {
        finish(&mut self.command(words))
    }

    /// Runs pytest there.
    #[must_use]
    pub fn pytest(&self, words: &str) -> Finished {
        self.run(format!("{PYTEST} {words}"))
    }
}

/// Puts the binary where wheels take the command from.
fn stage() {
    let folder = root().join("crates/py/python/qkvet/bin");
    std::fs::create_dir_all(&folder).expect("a folder");
    let binary = binary();
    std::fs::copy(&binary, folder.join(binary.file_name().expect("a name"))).expect("a copy");
}
