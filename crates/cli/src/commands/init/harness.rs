//! `qkvet init harness`: a program with one function to fill in. Its files are those of
//! `examples/`, where tests build and run them.

#![allow(clippy::disallowed_methods, reason = "files are what this command is for")]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use qkvet_spec::Unexpected;

use crate::args::{HarnessArgs, HarnessLanguage};
use crate::exit::{Failure, HELD};

macro_rules! example {
    ($path:literal) => {
        include_str!(concat!("../../../../../examples/", $path))
    };
}

/// A harness: its files, the command that builds it if it needs one, and the command that runs it.
struct Harness {
    files: &'static [(&'static str, &'static str)],
    build: Option<&'static str>,
    run: &'static str,
    /// Where the function is.
    fill: &'static str,
}

const HEADER: (&str, &str) = ("qkvet_harness.h", example!("c/qkvet_harness.h"));

const C: Harness = Harness {
    files: &[("main.c", example!("harness/c/main.c")), HEADER],
    build: Some("cc -O2 -o attention main.c -lm"),
    run: "./attention",
    fill: "main.c",
};
const CPP: Harness = Harness {
    files: &[("main.cpp", example!("harness/cpp/main.cpp")), HEADER],
    build: Some("c++ -O2 -o attention main.cpp"),
    run: "./attention",
    fill: "main.cpp",
};
const RUST: Harness = Harness {
    files: &[
        ("main.rs", example!("harness/rust/main.rs")),
        ("qkvet_wire.rs", example!("harness/rust/qkvet_wire.rs")),
    ],
    build: Some("rustc -O --edition 2021 -o attention main.rs"),
    run: "./attention",
    fill: "main.rs",
};
const PYTHON: Harness = Harness {
    files: &[("harness.py", example!("harness/python/harness.py"))],
    build: None,
    run: "python3 harness.py",
    fill: "harness.py",
};
const GO: Harness = Harness {
    files: &[("main.go", example!("harness/go/main.go"))],
    build: Some("go build -o attention main.go"),
    run: "./attention",
    fill: "main.go",
};
const JS: Harness = Harness {
    files: &[("attention.mjs", example!("node/attention.mjs"))],
    build: None,
    run: "node attention.mjs",
    fill: "attention.mjs",
};

pub(in super::super) fn harness(args: &HarnessArgs) -> Result<ExitCode, Failure> {
    let Harness { files, build, run, fill } = match args.lang {
        HarnessLanguage::C => C,
        HarnessLanguage::Cpp => CPP,
        HarnessLanguage::Rust => RUST,
        HarnessLanguage::Python => PYTHON,
        HarnessLanguage::Go => GO,
        HarnessLanguage::Js => JS,
    };
    let folder = &args.folder;
    let place = |name: &str| folder.join(name);
    if let Some((name, _)) = files.iter().find(|(name, _)| place(name).symlink_metadata().is_ok()) {
        let expected = "none yet, and nothing is written over";
        return Err(Unexpected::at_path("file", place(name), expected)
            .hint("name another folder, or move it away")
            .into());
    }
    let failed = |path: &Path, error: std::io::Error| {
        Unexpected::at_path("file", path, "to be written").error(error)
    };
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for (name, text) in files {
        let path = place(name);
        let written = File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| failed(&path, error))?;
        say!("wrote {}", path.display());
    }
    say!("\nfill in the function `attention` in {fill}; the one that is there is right and slow\n");
    say!("  cd {}", shell_words::quote(&folder.to_string_lossy()));
    if let Some(build) = build {
        say!("  {build}");
    }
    say!("  qkvet check {} --dtype float32", shell_words::quote(&format!("exec:{run}")));
    Ok(ExitCode::from(HELD))
}
