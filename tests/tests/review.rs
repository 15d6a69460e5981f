//! The review of a snapshot at a terminal: real keys on a pseudo-terminal.

#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use qkvet_tests::{Finished, Folder, binary, finish, has_python, python, root, temp, text};

const RIGHT: &str = "builtin:standard";
const WRONG: &str = "builtin:fault/weights-not-normalized";

fn with(folder: &Path, command: &str, target: &str) -> Finished {
    let laws = "--law all-true-mask --law value --dtype float32 -q --format json";
    folder.at_home(format!("snapshot {command} {target} --snapshot s.yaml --suite smoke {laws}"))
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
    let folder = temp();
    let folder = folder.path();
    let snapshot = || folder.read("s.yaml");
    with(folder, "record", RIGHT).ends(0);
    let report = with(folder, "check", WRONG).report(1);
    assert_eq!(report.changes(), ["worse"]);
    // A case that fails now is recorded as a crash, and another one not at all: three groups with
    // the others that fail.
    let failing: Vec<&str> = report
        .records()
        .filter(|one| one["verdict"] == "FAIL")
        .map(|one| text(&one["id"]))
        .collect();
    assert!(failing.len() > 3, "{failing:?}");
    let (crashed, new, other) = (failing[0], failing[1], failing[2]);
    let line = |text: &str, id: &str| {
        text.lines().find(|line| line.contains(id)).map(|line| line.trim().to_owned())
    };
    // The same target, which has the fault from now on.
    let good: String = snapshot()
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
    folder.write("s.yaml", &good);
    let report = with(folder, "check", WRONG).report(1);
    assert_eq!(report.changes(), ["new-finding", "worse"]);
    assert_eq!(report["snapshot"]["changes"].as_array().map(Vec::len), Some(failing.len()));

    // Nothing is written by leaving: quitting at once, the end of the input, an interrupt.
    review(folder, "q").expect(0, &["1 of 3  ", "PASS → FAIL QK301", "[a]"]);
    review(folder, "s s s").expect(0, &["3 of 3  ", "FAIL QK301"]);
    review(folder, "s ^D").expect(0, &["2 of 3  ", "CRASH → FAIL QK301"]);
    review(folder, "a ^C").expect(130, &["2 of 3"]);
    assert_eq!(snapshot(), good);

    // A key that says nothing, all cases, then one group of three.
    let some = review(folder, "x ? l s a s");
    some.expect(0, &["a, s, l, q or ?", "  s  ", "0 added, 1 replaced, 0 removed"]);
    assert!(some.stdout.matches(other).count() >= 1, "{}", some.stdout);
    let after = snapshot();
    assert!(line(&after, crashed).is_some_and(|line| line.contains(": FAIL 2^")), "{after}");
    assert!(line(&after, other).is_some_and(|line| line.contains(": PASS")), "{after}");
    assert_eq!(line(&after, new), None);

    // What was skipped is asked about again; words do as well as letters.
    review(folder, "skip accept").expect(0, &["2 of 2  ", "1 added, 0 replaced, 0 removed"]);
    assert!(
        line(&snapshot(), new).is_some_and(|line| line.contains(": FAIL 2^")),
        "{}",
        snapshot()
    );
    review(folder, "a").expect(0, &["1 of 1  ", " 0 added, "]);
    let all = snapshot();
    review(folder, "").ends(0);
    assert_eq!(snapshot(), all);
    assert_eq!(with(folder, "check", WRONG).report(0).changes(), [""; 0]);
}
