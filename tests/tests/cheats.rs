//! Targets that would rather look right than be right: each is found out.
#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use qkvet_tests::{Finished, has_python, root, run};
use tempfile::TempDir;

fn folder() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let file = "cheats.py";
    std::fs::copy(root().join("tests/fixtures/cheats").join(file), folder.path().join(file))
        .expect("a copy");
    folder
}

fn check(folder: &TempDir, function: &str, more: &[&str]) -> Finished {
    let target = format!("cheats.py:{function}");
    let mut args = vec!["check", &target, "--suite", "smoke", "--dtype", "float32", "-q"];
    args.extend(more);
    run(folder.path(), &args)
}

#[test]
fn every_cheat_is_found_out() {
    if !has_python() {
        return;
    }
    let folder = folder();
    let cheats = [
        "constant",
        "zeros",
        "not_a_number",
        "mean_of_values",
        "returns_its_input",
        "returns_the_values",
        "cached",
        "right_at_first",
        "reads_answers",
    ];
    for cheat in cheats {
        check(&folder, cheat, &[]).expect(1, &["FAIL"]);
    }
}

#[test]
fn what_is_right_for_seen_calls_alone_is_found_out_by_another_seed() {
    if !has_python() {
        return;
    }
    let folder = folder();
    check(&folder, "learns", &[]).expect(0, &["no finding in"]);
    check(&folder, "knows_seen_calls", &[]).expect(0, &["no finding in"]);
    check(&folder, "knows_seen_calls", &["--seed", "1"]).expect(1, &["FAIL"]);
}
