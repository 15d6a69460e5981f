//! `qkvet init harness`: from nothing to a verdict, with the commands that it prints, and nothing
//! is written over.

#![allow(clippy::disallowed_methods, reason = "tests build and start programs")]
#![cfg(unix)]

use std::process::Command;

use qkvet_tests::{run, shell};
use tempfile::TempDir;

/// A language: what has to be there to build or run it, the file with the function, and the
/// condition of causal masking in it.
const LANGUAGES: [(&str, &str, &str, &str); 6] = [
    ("c", "cc", "main.c", "j + n_q > i + n_k"),
    ("cpp", "c++", "main.cpp", "j + n_q > i + n_k"),
    ("rust", "rustc", "main.rs", "j + n_q > i + n_k"),
    ("python", "python3", "harness.py", "j > i + n_k - n_q"),
    ("go", "go", "main.go", "j > i+c.nk-c.nq"),
    ("js", "node", "attention.mjs", "j > i + n_k - n_q"),
];

/// Only C and Rust are needed to build qkvet; other languages are tested where they are.
fn is_there(tool: &str) -> bool {
    let is_there =
        Command::new(tool).arg(if tool == "go" { "version" } else { "--version" }).output().is_ok();
    assert!(is_there || !["cc", "rustc"].contains(&tool), "no {tool}");
    is_there
}

#[test]
fn every_harness_goes_from_nothing_to_a_verdict() {
    for (language, tool, file, causal) in LANGUAGES {
        if !is_there(tool) {
            continue;
        }
        let folder = TempDir::new().expect("a folder");
        let printed = run(folder.path(), &["init", "harness", "--lang", language, "a harness"]);
        printed.expect(0, &["wrote a harness/", &format!("`attention` in {file}")]);
        let folder = folder.path().join("a harness");
        let commands: Vec<&str> =
            printed.stdout.lines().filter_map(|line| line.strip_prefix("  ")).collect();
        let Some((check, build)) = commands.split_last() else { panic!("{}", printed.stdout) };
        assert!(
            build[0] == "cd 'a harness'" && check.starts_with("qkvet check "),
            "{}",
            printed.stdout
        );
        let build = build[1..].join(" && ");
        let check = format!("{check} --suite smoke -q");
        shell(&folder, &build).expect(0, &[]);
        shell(&folder, &check).expect(0, &["no finding in"]);
        let doctor =
            check.replace("check", "doctor").replace(" --dtype float32 --suite smoke -q", "");
        shell(&folder, &doctor).expect(0, &["all is well"]);

        let path = folder.join(file);
        let text = std::fs::read_to_string(&path).expect("the file");
        assert_eq!(text.matches(causal).count(), 1, "{language}");
        std::fs::write(&path, text.replace(causal, "j > i")).expect("the file");
        shell(&folder, &build).expect(0, &[]);
        shell(&folder, &check).expect(1, &["causal masking is aligned upper-left"]);
    }
}

#[test]
fn nothing_is_written_over() {
    let folder = TempDir::new().expect("a folder");
    let mine = folder.path().join("main.rs");
    std::fs::write(&mine, "mine").expect("a file");
    let refused = run(folder.path(), &["init", "harness", "--lang", "rust", "."]);
    refused.expect(2, &["main.rs: expected none yet, and nothing is written over"]);
    assert_eq!(std::fs::read_to_string(&mine).expect("a file"), "mine");
    assert!(!folder.path().join("qkvet_wire.rs").exists());
    run(folder.path(), &["init", "harness", "--lang", "c"])
        .expect(0, &["wrote qkvet-harness/main.c"]);
    run(folder.path(), &["init", "harness", "--lang", "c"])
        .expect(2, &["qkvet-harness/main.c: expected none yet"]);
    run(folder.path(), &["init", "harness", "--lang", "cobol"])
        .expect(2, &["possible values: c, cpp, rust"]);
}
