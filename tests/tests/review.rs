//! The review of a snapshot at a terminal: real keys on a pseudo-terminal.

#![cfg(unix)]
#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use std::path::Path;
use std::process::Command;

use qkvet_tests::{Finished, binary, finish, has_python, python, qkvet, root};
use serde_json::Value;
use tempfile::TempDir;

const RIGHT: &str = "builtin:standard";
const WRONG: &str = "builtin:fault/weights-not-normalized";

fn at_home(folder: &Path, args: &[&str]) -> Finished {
    finish(qkvet(folder).args(args).env_remove("CI"))
}

fn with(folder: &Path, command: &str, target: &str) -> Finished {
    let of = [
        "--suite",
        "smoke",
        "--law",
        "all-true-mask",
        "--law",
        "value",
        "--dtype",
        "float32",
        "-q",
    ];
    at_home(folder, &[&["snapshot", command, target, "--snapshot", "s.yaml"], &of[..]].concat())
}

/// `qkvet snapshot accept` at a terminal where these keys are pressed.
fn review(folder: &Path, keys: &str) -> Finished {
    let mut command = Command::new(python().expect("an interpreter"));
    command
        .arg(root().join("tests/python/terminal.py"))
        .arg(keys)
        .arg(binary())
        .args(["snapshot", "accept"]);
    command.current_dir(folder).env("NO_COLOR", "1").env("TERM", "xterm").env_remove("CI");
    finish(&mut command)
}

#[test]
fn keys_at_a_terminal_decide_group_by_group() {
    if !has_python() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let path = folder.join("s.yaml");
    let text = || std::fs::read_to_string(&path).expect("a snapshot");
    with(folder, "record", RIGHT).expect(0, &["added"]);
    with(folder, "check", WRONG).expect(1, &["worse verdict"]);
    // A case that fails now is recorded as a crash, and another one not at all: three groups with
    // the others that fail.
    let report = std::fs::read_to_string(folder.join(".qkvet/last/report.json")).expect("a report");
    let report: Value = serde_json::from_str(&report).expect("a report");
    let failing: Vec<&str> = report["records"]
        .as_array()
        .expect("records")
        .iter()
        .filter(|one| one["verdict"] == "FAIL")
        .map(|one| one["id"].as_str().expect("an id"))
        .collect();
    assert!(failing.len() > 3, "{failing:?}");
    let (crashed, new, other) = (failing[0], failing[1], failing[2]);
    let line = |text: &str, id: &str| {
        text.lines().find(|line| line.contains(id)).map(|line| line.trim().to_owned())
    };
    // The same target, which has the fault from now on.
    let good: String = text()
        .replace(RIGHT, WRONG)
        .lines()
        .filter(|line| !line.contains(new))
        .map(|line| match line.split_once(": ") {
            Some((id, _)) if id.contains(crashed) => format!("{id}: CRASH\n"),
            Some((total, n)) if total.trim() == "total" => {
                format!("{total}: {}\n", n.parse::<usize>().expect("a number") - 1)
            }
            _ => format!("{line}\n"),
        })
        .collect();
    std::fs::write(&path, &good).expect("a file");
    with(folder, "check", WRONG).expect(1, &["worse verdict", "new finding", "10 regressions"]);

    // Nothing is written by leaving: quitting at once, the end of the input, an interrupt.
    review(folder, "q")
        .expect(0, &["1 of 3  worse verdict: PASS → FAIL QK301", "[a]ccept", "nothing to change"]);
    review(folder, "s s s").expect(0, &["3 of 3  new finding: FAIL QK301", "nothing to change"]);
    review(folder, "s ^D")
        .expect(0, &["2 of 3  new finding: CRASH → FAIL QK301", "nothing to change"]);
    review(folder, "a ^C").expect(130, &["2 of 3"]);
    assert_eq!(text(), good);

    // A key that says nothing, all cases, then one group of three.
    let some = review(folder, "x ? l s a s");
    some.expect(
        0,
        &[
            "expected a, s, l, q or ?",
            "  s  skip: the snapshot stays as it is",
            "0 added, 1 replaced, 0 removed",
        ],
    );
    assert!(some.stdout.matches(other).count() >= 1, "{}", some.stdout);
    let after = text();
    assert!(line(&after, crashed).is_some_and(|line| line.contains(": FAIL 2^")), "{after}");
    assert!(line(&after, other).is_some_and(|line| line.contains(": PASS")), "{after}");
    assert_eq!(line(&after, new), None);

    // What was skipped is asked about again; words do as well as letters.
    review(folder, "skip accept")
        .expect(0, &["2 of 2  new finding: FAIL QK301", "1 added, 0 replaced, 0 removed"]);
    assert!(line(&text(), new).is_some_and(|line| line.contains(": FAIL 2^")), "{}", text());
    review(folder, "a").expect(0, &["1 of 1  worse verdict", " 0 added, "]);
    review(folder, "").expect(0, &["nothing to change"]);
    with(folder, "check", WRONG).expect(0, &["snapshot: no change"]);
}
