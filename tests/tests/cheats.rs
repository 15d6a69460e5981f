//! Targets that would rather look right than be right: each is found out.

use qkvet_tests::{Folder, has_python, root, temp};
use tempfile::TempDir;

fn folder() -> TempDir {
    let folder = temp();
    folder.write("cheats.py", root().read("tests/fixtures/cheats/cheats.py"));
    folder
}

fn check(folder: &TempDir, function: &str, more: &str) -> qkvet_tests::Finished {
    folder.run(format!("check cheats.py:{function} --suite smoke --dtype float32 -q {more}"))
}

#[test]
fn every_cheat_is_found_out() {
    if !has_python() {
        return;
    }
    let folder = folder();
    for cheat in [
        "constant",
        "zeros",
        "not_a_number",
        "mean_of_values",
        "returns_its_input",
        "returns_the_values",
        "cached",
        "reads_answers",
    ] {
        check(&folder, cheat, "-x").expect(1, &["FAIL"]);
    }
    // A refusal may depend on shapes, options and the format alone.
    check(&folder, "declines_large_scores", "-x").expect(1, &["ERROR"]);
    check(&folder, "asserts_shapes", "").ends(0);
    // Its first call is right, which is no call of the suite.
    check(&folder, "right_at_first", "-x").expect(1, &["FAIL"]);
}

#[test]
fn what_is_right_for_seen_calls_alone_is_found_out_by_another_seed() {
    if !has_python() {
        return;
    }
    let folder = folder();
    check(&folder, "learns", "").ends(0);
    check(&folder, "knows_seen_calls", "").ends(0);
    check(&folder, "knows_seen_calls", "--seed 1").expect(1, &["FAIL"]);
}
