//! `qkvet init harness`: from nothing to a verdict, with the commands that it prints, and nothing
//! is written over.

#![cfg(unix)]

use std::process::Command;

use qkvet_tests::{Folder, has_program, is_thorough, shell, temp};

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

/// Nothing else needs Go: where it is missing, the scheduled tests fail, and not those of each
/// change.
fn is_there(tool: &str) -> bool {
    match tool {
        "go" if !is_thorough() => Command::new(tool).arg("version").output().is_ok(),
        "go" => has_program(tool, "version"),
        _ => has_program(tool, "--version"),
    }
}

#[test]
fn every_harness_goes_from_nothing_to_a_verdict() {
    for (language, tool, file, causal) in LANGUAGES {
        if !is_there(tool) {
            continue;
        }
        let folder = temp();
        let printed = folder.run(format!("init harness --lang {language} 'a harness'"));
        printed.expect(0, &["a harness/", &format!("`attention` in {file}")]);
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
        let doctor = check.replace("check", "doctor").replace(" --dtype float32", "");
        let check = format!("{check} --suite smoke --format json");
        shell(&folder, &build).ends(0);
        shell(&folder, &check).finds(&[]);
        shell(&folder, &doctor).ends(0);

        let text = folder.read(file);
        assert_eq!(text.matches(causal).count(), 1, "{language}");
        folder.write(file, text.replace(causal, "j > i"));
        shell(&folder, &build).ends(0);
        shell(&folder, &check).finds(&["causal=upper-left"]);
    }
}

#[test]
fn nothing_is_written_over() {
    let folder = temp();
    let init = |words: &str| folder.run(format!("init harness --lang {words}"));
    folder.write("main.rs", "mine");
    init("rust .").expect(2, &["main.rs"]);
    assert_eq!(folder.read("main.rs"), "mine");
    assert!(!folder.has("qkvet_wire.rs"));
    init("c").expect(0, &["qkvet-harness/main.c"]);
    init("c").expect(2, &["qkvet-harness/main.c"]);
    init("cobol").expect(2, &["c, cpp, rust"]);
}
