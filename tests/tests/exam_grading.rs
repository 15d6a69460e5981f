//! The way of an exam: build, fill in a submission, grade it; and worked solutions.

#![expect(clippy::disallowed_methods, reason = "writes submissions and changes keys")]

use std::fs;
use std::path::Path;

use qkvet_tests::{root, run};
use serde_json::Value;

fn parts(key: &Path) -> Vec<Value> {
    let key: Value = serde_json::from_slice(&fs::read(key).expect("a key")).expect("JSON");
    key["questions"][0]["parts"].as_array().expect("parts").clone()
}

/// The template with answers: of part `a` the right one, of part `c` what a modelled mistake gives.
fn filled(template: &str, parts: &[Value], mistake: usize) -> String {
    let right = &parts[0]["answer"]["numbers"]["key"]["rows"];
    let wrong = &parts[2]["mistakes"][mistake]["numbers"]["rows"];
    let written = |rows: &Value| rows.to_string().replace('"', "");
    template
        .replace("student: \"\"", "student: Ada Lovelace")
        .replace("  1a:\n", &format!("  1a: {}\n", written(right)))
        .replace("  1c:\n", &format!("  1c: {}\n", written(wrong)))
        .replace("  1e:\n", "  1e: each row is divided by its sum\n")
}

#[test]
fn a_modelled_mistake_is_named_with_its_share_of_the_points() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    run(
        root(),
        &[
            "exam",
            "build",
            "tiny-head",
            "--variants",
            "2",
            "--seed",
            "2026",
            "--out",
            &at.join("out").display().to_string(),
        ],
    )
    .expect(0, &["2 variants"]);
    let template =
        fs::read_to_string(at.join("out/student/tiny-head-2.answers.yaml")).expect("a template");
    assert!(!template.contains("2026"), "{template}");
    let parts = parts(&at.join("out/key/tiny-head-2.json"));
    let says = parts[2]["mistakes"][0]["says"].as_str().expect("words").to_owned();
    fs::create_dir(at.join("in")).expect("a folder");
    let submission =
        filled(&template, &parts, 0).replace("  1b:\n", "  1b: [[1, x]]\n") + "  9z: 1\n";
    fs::write(at.join("in/ada.yaml"), submission).expect("a submission");
    fs::write(at.join("in/garbage.json"), b"\xff\xfe").expect("a file");
    let csv = run(at, &["exam", "grade", "in", "--key", "out"]);
    csv.expect(0, &["2 submissions: 1 graded, 1 not, 2 with trouble"]);
    let line = |start: &str| {
        let line = csv.stdout.lines().find(|line| line.starts_with(start));
        line.unwrap_or_else(|| panic!("{start}\n{}", csv.stdout)).to_owned()
    };
    assert!(line("Ada Lovelace,tiny-head,2,1a,").contains(",right,2,2,"), "{}", csv.stdout);
    assert!(line("Ada Lovelace,tiny-head,2,1b,").contains("unreadable,0,3,"), "{}", csv.stdout);
    let named = line("Ada Lovelace,tiny-head,2,1c,");
    assert!(
        named.contains(",partial,2,4,") && named.contains(&says.replace('"', "\"\"")),
        "{named}\n{says}"
    );
    assert!(line("Ada Lovelace,tiny-head,2,1d,").contains(",missing,0,1,"), "{}", csv.stdout);
    assert!(line("Ada Lovelace,tiny-head,2,1e,").contains(",by-hand,0,2,"), "{}", csv.stdout);
    assert!(line("Ada Lovelace,tiny-head,2,total,").contains(",4,"), "{}", csv.stdout);
    // An answer that is not read for certain is counted and listed beside what a person marks.
    assert!(
        line("Ada Lovelace,tiny-head,2,total,").contains("5 points are left to a person: 1b, 1e")
    );
    csv.expect(0, &["left to a person: 5 points: Ada Lovelace 1b, 1e"]);
    run(at, &["exam", "read", "in/ada.yaml"]).expect(0, &["Ada Lovelace", " numbers: [["]);
    assert!(
        csv.stdout.contains("trouble,,,part `9z`: expected one of the sheet"),
        "{}",
        csv.stdout
    );
    assert!(csv.stdout.contains("expected text in UTF-8"), "{}", csv.stdout);

    let all = run(at, &["exam", "grade", "in/ada.yaml", "--key", "out/key", "--format", "json"])
        .expect(0, &[])
        .json();
    assert_eq!(
        (&all["format"], &all["results"][0]["points"]),
        (&"qkvet-exam-grades-1".into(), &4.0.into())
    );
    assert_eq!(all["results"][0]["parts"][2]["mistake"], says.as_str());
    let scope = run(
        at,
        &[
            "exam",
            "grade",
            "in/ada.yaml",
            "--key",
            "out/key/tiny-head-2.json",
            "--format",
            "gradescope",
        ],
    );
    let scope = scope.expect(0, &[]).json();
    assert_eq!(scope["score"], 4.0);
    let tests = scope["tests"].as_array().expect("tests");
    assert!(
        tests.iter().all(|test| test["score"].as_f64() <= test["max_score"].as_f64()),
        "{scope}"
    );
    assert_eq!(
        (&tests[0]["status"], &tests[2]["status"], &tests[4]["status"]),
        (&"passed".into(), &"failed".into(), &Value::Null)
    );
    run(at, &["exam", "grade", "in", "--key", "out", "--format", "gradescope", "--out", "results"])
        .expect(0, &[]);
    assert!(
        at.join("results/Ada-Lovelace.json").exists() && at.join("results/garbage.json").exists()
    );
    // The same bytes each time.
    assert_eq!(run(at, &["exam", "grade", "in", "--key", "out"]).stdout, csv.stdout);

    // The wrong variant's key, no submission at all, and a key that was changed.
    run(at, &["exam", "grade", "in/ada.yaml", "--key", "out/key/tiny-head-1.json"])
        .expect(4, &["variant: expected 1, got `2`"]);
    fs::create_dir(at.join("none")).expect("a folder");
    run(at, &["exam", "grade", "none", "--key", "out"]).expect(4, &["0 submissions"]);
    run(at, &["exam", "grade", "nowhere", "--key", "out"])
        .expect(2, &["expected a file or a folder"]);
    run(at, &["exam", "grade", "in", "--key", "in"]).expect(2, &["key at in/garbage.json"]);
    let path = at.join("out/key/tiny-head-2.json");
    let key = fs::read_to_string(&path).expect("a key");
    let cell = parts[1]["answer"]["numbers"]["key"]["rows"][0][0].as_str().expect("a number");
    let other = if cell.starts_with("0.1") {
        cell.replacen("0.1", "0.2", 1)
    } else {
        cell.replacen("0.", "0.1", 1)
    };
    fs::write(&path, key.replacen(&format!("\"{cell}\""), &format!("\"{other}\""), 1))
        .expect("a key");
    run(at, &["exam", "verify", "out"]).expect(1, &["wrong  tiny-head-2.json"]);
    run(at, &["exam", "grade", "in", "--key", "out"])
        .expect(2, &["key of variant 2", "hint: `qkvet exam verify`"]);
    // What its numbers do not say, its seed does: the order of options.
    let choice = key.find("\"choice\":").expect("a choice");
    let open = choice + key[choice..].find('[').expect("a list");
    let close = open + key[open..].find(']').expect("an end");
    let mut order: Vec<&str> = key[open + 1..close].split(',').map(str::trim).collect();
    order.swap(0, 1);
    fs::write(&path, format!("{}[{}{}", &key[..open], order.join(","), &key[close..]))
        .expect("a key");
    for key in ["out", "out/key", "out/key/tiny-head-2.json"] {
        run(at, &["exam", "grade", "in/ada.yaml", "--key", key])
            .expect(2, &["key of variant 2", "its seed gives"]);
    }
}

#[test]
fn a_table_and_a_notebook_are_graded_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    run(
        root(),
        &[
            "exam",
            "build",
            "tiny-head",
            "--seed",
            "3",
            "--out",
            &at.join("out").display().to_string(),
        ],
    )
    .expect(0, &[]);
    let parts = parts(&at.join("out/key/tiny-head-1.json"));
    let rows = parts[0]["answer"]["numbers"]["key"]["rows"].to_string().replace('"', "");
    let shape = parts[3]["answer"]["numbers"]["key"]["rows"].to_string().replace('"', "");
    fs::write(
        at.join("class.csv"),
        format!("student,1a,1d\n=HYPERLINK(1),\"{rows}\",\"{shape}\"\nBob,1,\n"),
    )
    .expect("a table");
    let csv = run(at, &["exam", "grade", "class.csv", "--key", "out"]);
    csv.expect(
        0,
        &[
            "'=HYPERLINK(1),tiny-head,1,1a,right,2,2",
            "'=HYPERLINK(1),tiny-head,1,1d,right,1,1",
            "Bob,tiny-head,1,1a,unreadable,0,2",
        ],
    );
    let notebook = serde_json::json!({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
        {"cell_type": "code", "metadata": {"qkvet": {"part": "1a"}}, "source": [format!("answer = {rows}")], "outputs": []}]});
    fs::write(at.join("carol.ipynb"), notebook.to_string()).expect("a notebook");
    run(at, &["exam", "grade", "carol.ipynb", "--key", "out"])
        .expect(0, &["carol,tiny-head,1,1a,right,2,2", "cell 1"]);
}

#[test]
fn worked_solutions_are_checked_from_the_template_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    run(at, &["exam", "new", "--solution", "mine.yaml"]).expect(0, &["qkvet exam check-solution"]);
    run(at, &["exam", "check-solution", "mine.yaml"]).expect(0, &["no slip in 8 steps"]);
    run(at, &["exam", "new", "--solution", "mine.yaml"]).expect(2, &["expected a new one"]);
    let text = fs::read_to_string(at.join("mine.yaml")).expect("a file");
    fs::write(
        at.join("mine.yaml"),
        text.replace(
            "scores: [[1, 0, 1], [1, 1, 2], [2, 1, 3]]",
            "scores: [[1, 0, 1], [1, 1, 2], [-2, 1, 3]]",
        ),
    )
    .expect("a file");
    let found = run(at, &["exam", "check-solution", "mine.yaml"]);
    found.expect(
        1,
        &[
            "SLIP       scores   mine.yaml:22",
            "sign error in entry (3, 1): expected 2, got -2",
            "the first is in scores",
        ],
    );
    found.expect(1, &["the rank of these scores is 3"]);
    let found =
        run(at, &["exam", "check-solution", "mine.yaml", "--format", "json"]).expect(1, &[]).json();
    assert_eq!(
        (&found["first"], &found["steps"][3]["slip"]),
        (&"scores".into(), &"sign-error".into())
    );
    fs::write(at.join("mine.yaml"), text.replace("  scores:", "  score:")).expect("a file");
    run(at, &["exam", "check-solution", "mine.yaml"])
        .expect(2, &["mine.yaml:22", "did you mean `scores`?"]);
    run(at, &["exam", "check-solution", "none.yaml"]).expect(2, &["exam new --solution"]);
}

#[test]
fn a_new_set_builds_and_verifies_as_it_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    run(at, &["exam", "new", "week-3"])
        .expect(0, &["week-3.yaml", "questions/week-3-weights.yaml"]);
    run(at, &["exam", "build", "week-3.yaml", "--variants", "3", "--seed", "1", "--out", "out"])
        .expect(0, &["3 variants"]);
    run(at, &["exam", "verify", "out"]).expect(0, &["3 keys", "; 0 wrong"]);
    run(at, &["exam", "new", "week-3"]).expect(2, &["expected a new one"]);
    run(at, &["exam", "new", "../x"]).expect(2, &["small letters"]);
    let question = at.join("questions/week-3-weights.yaml");
    let text = fs::read_to_string(&question).expect("a question");
    for (from, to, line) in [
        ("places: 3}}\n    # Steps", "places: 30}}\n    # Steps", "week-3-weights.yaml:31"),
        ("softmax_rows(S)", "softmax_row(S)", "week-3-weights.yaml:17"),
        ("points: 2", "point: 2", "week-3-weights.yaml:29"),
        ("mistake: 0.5", "mistake: 50", "expected a share from 0 to 1, got 50"),
        ("points: 2", "points: 0", "points: expected 1 to 1000, got 0"),
        ("credit: 0.75", "credit: -1", "expected a share from 0 to 1, got -1"),
        ("norm_max(Q @ K.T) <= 4", "norm_max(Q @ K.T) <= X", "week-3-weights.yaml:20"),
    ] {
        assert!(text.contains(from), "{from}");
        fs::write(&question, text.replacen(from, to, 1)).expect("a question");
        run(at, &["exam", "build", "week-3.yaml", "--seed", "1", "--out", "other"])
            .expect(2, &[line, "questions/week-3-weights.yaml:"]);
    }
}

/// An exam in `out`, and an answer to it in `ada.yaml`.
fn handed_in(at: &Path) {
    let out = at.join("out").display().to_string();
    run(root(), &["exam", "build", "tiny-head", "--seed", "3", "--out", &out]).expect(0, &[]);
    fs::write(at.join("ada.yaml"), "variant: 1\nstudent: Ada\nanswers:\n  1d: 1 1 2 4\n")
        .expect("a submission");
}

#[test]
fn results_are_written_over_nothing_but_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    handed_in(at);
    fs::write(at.join("notes.txt"), "notes\n").expect("a file");
    fs::write(at.join("empty.csv"), "").expect("a file");
    fs::create_dir(at.join("results")).expect("a folder");
    fs::write(at.join("results/Ada.json"), "{}").expect("a file");
    let key = "out/key/tiny-head-1.json";
    let grade =
        |more: &[&str]| run(at, &[&["exam", "grade", "ada.yaml", "--key", "out"], more].concat());
    for (more, file, got) in [
        (vec!["--out", "ada.yaml"], "ada.yaml", "a submission that was read"),
        (
            vec!["--out", "out/../ada.yaml", "--format", "json"],
            "ada.yaml",
            "a submission that was read",
        ),
        (vec!["--out", key], key, "a key that was read"),
        (vec!["--out", "notes.txt"], "notes.txt", "another file"),
        (vec!["--out", "results", "--format", "gradescope"], "results/Ada.json", "another file"),
    ] {
        let before = fs::read(at.join(file)).expect("a file");
        grade(&more)
            .expect(2, &["results at ", "expected a new file", got, "hint: name another one"]);
        assert_eq!(fs::read(at.join(file)).expect("a file"), before, "{more:?}");
    }
    grade(&["--out", "results"]).expect(2, &["got a folder"]);
    // New, empty, and results of any kind.
    for format in ["csv", "json", "csv"] {
        grade(&["--out", "grades", "--format", format]).expect(0, &["1 graded"]);
        grade(&["--out", "empty.csv", "--format", format]).expect(0, &["1 graded"]);
    }
    fs::remove_file(at.join("results/Ada.json")).expect("a file");
    for _ in 0..2 {
        grade(&["--out", "results", "--format", "gradescope"]).expect(0, &["1 graded"]);
    }
    // A result that is named as a submission is read, and kept.
    run(at, &["exam", "grade", "grades", "--key", "out", "--out", "grades"])
        .expect(2, &["a submission that was read"]);
}

#[test]
fn results_among_submissions_are_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    handed_in(at);
    fs::create_dir(at.join("in")).expect("a folder");
    fs::rename(at.join("ada.yaml"), at.join("in/ada.yaml")).expect("a submission");
    let told = "1 submission: 1 graded, 0 not, 0 with trouble";
    for (out, format) in
        [("in/grades.csv", "csv"), ("in/grades.json", "json"), ("in/each", "gradescope")]
    {
        let grade =
            || run(at, &["exam", "grade", "in", "--key", "out", "--out", out, "--format", format]);
        grade().expect(0, &[told]);
        grade().expect(0, &[told, &format!("note: {out}"), "left out"]);
    }
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_hold_up_no_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    handed_in(at);
    let pipe = |name: &str| {
        let made =
            std::process::Command::new("mkfifo").arg(at.join(name)).status().expect("mkfifo");
        assert!(made.success(), "{name}");
    };
    pipe("pipe.json");
    pipe("out/key/tiny-head-2.json");
    for file in ["pipe.json", "/dev/zero"] {
        for args in [
            vec!["check-solution", file],
            vec!["build", file, "--out", "other"],
            vec!["grade", "ada.yaml", "--key", file],
        ] {
            run(at, &[&["exam"], args.as_slice()].concat())
                .expect(2, &[file, "expected a regular one"]);
        }
        run(at, &["exam", "grade", file, "--key", "out/key/tiny-head-1.json"])
            .expect(4, &["expected a regular one"]);
    }
    for args in [
        vec!["verify", "out"],
        vec!["grade", "ada.yaml", "--key", "out"],
        vec!["export", "out", "--to", "moodle", "--out", "moodle"],
    ] {
        run(at, &[&["exam"], args.as_slice()].concat())
            .expect(2, &["tiny-head-2.json: expected a regular one"]);
    }
    // Beside a set of one's own, and in the place of a sheet.
    run(at, &["exam", "new", "week-3"]).expect(0, &[]);
    pipe("questions/more.yaml");
    run(at, &["exam", "build", "week-3.yaml", "--out", "other"])
        .expect(2, &["more.yaml: expected a regular one"]);
    fs::remove_file(at.join("out/key/tiny-head-2.json")).expect("a pipe");
    fs::remove_file(at.join("out/student/tiny-head-1.html")).expect("a sheet");
    pipe("out/student/tiny-head-1.html");
    run(at, &["exam", "verify", "out"])
        .expect(1, &["student/tiny-head-1.html: expected what its seed gives"]);
}
