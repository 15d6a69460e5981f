//! `qkvet exam export`: an exam in the formats of others, each read back; answers for their owner
//! alone.

#![expect(clippy::disallowed_methods, reason = "reads and changes the files of an export")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use qkvet_tests::{Finished, PROBLEM_SETS, finish, has_python, is_thorough, python, root, run};

const FORMATS: [&str; 6] = ["moodle", "qti12", "qti21", "prairielearn", "notebook", "csv"];
const SEED: &str = "987654321";

fn build(set: &str, folder: &Path) {
    let out = folder.join("exam").display().to_string();
    run(root(), &["exam", "build", set, "--variants", "2", "--seed", SEED, "--out", &out])
        .expect(0, &[]);
}

fn export(folder: &Path, format: &str, out: &str, more: &[&str]) -> Finished {
    let (exam, out) =
        (folder.join("exam").display().to_string(), folder.join(out).display().to_string());
    run(
        root(),
        &[&["exam", "export", exam.as_str(), "--to", format, "--out", out.as_str()][..], more]
            .concat(),
    )
}

/// Every file below a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of the export") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all.sort();
    all
}

fn bytes(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let name = |path: &Path| path.strip_prefix(folder).expect("a path below").to_path_buf();
    files(folder).into_iter().map(|path| (name(&path), fs::read(&path).expect("a file"))).collect()
}

#[test]
fn every_set_goes_into_every_format_that_reads_it_back() {
    // Every question goes into every format in the tests of its crate.
    let step = if is_thorough() { 1 } else { 3 };
    for set in PROBLEM_SETS.iter().step_by(step) {
        let folder = tempfile::tempdir().expect("a folder");
        build(set, folder.path());
        for format in FORMATS {
            export(folder.path(), format, format, &[]).expect(0, &["2 variants"]);
        }
        read_back(folder.path());
    }
}

/// What `tests/python/exam_exports.py` asserts, by the readers that `tests/requirements.txt` pins.
fn read_back(folder: &Path) {
    if !has_python() {
        return;
    }
    let base = python().expect("an interpreter");
    let script = root().join("tests/python/exam_exports.py");
    let read =
        finish(Command::new(&base).arg(script).arg(folder).env("PYTHONDONTWRITEBYTECODE", "1"));
    read.expect(
        0,
        &["moodle:", "qti12:", "qti21:", "prairielearn:", "notebook:", "csv:", "typst:"],
    );
}

#[test]
fn the_same_exam_gives_the_same_bytes_and_students_get_no_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    build("tiny-head", folder.path());
    let key: serde_json::Value = serde_json::from_slice(
        &fs::read(folder.path().join("exam/key/tiny-head-1.json")).expect("a key"),
    )
    .expect("JSON");
    let cells = key["questions"][0]["parts"][2]["answer"]["numbers"]["key"]["rows"]
        .as_array()
        .expect("rows");
    let answers: Vec<String> = cells
        .iter()
        .filter_map(|row| row.as_array())
        .flatten()
        .filter_map(|x| x.as_str())
        .map(str::to_owned)
        .collect();
    assert!(answers.len() >= 4, "{answers:?}");
    for format in FORMATS {
        let (one, two) = (format!("{format}-1"), format!("{format}-2"));
        export(folder.path(), format, &one, &[]).expect(0, &[]);
        export(folder.path(), format, &two, &[]).expect(0, &[]);
        let (one, two) = (folder.path().join(one), folder.path().join(two));
        assert_eq!(bytes(&one), bytes(&two), "{format}");
        assert!(!files(&one.join("key")).is_empty(), "{format}");
        for path in files(&one) {
            let name = path.strip_prefix(&one).expect("a path below").display().to_string();
            let text = String::from_utf8_lossy(&fs::read(&path).expect("a file")).into_owned();
            assert!(!text.contains(SEED), "{format}: {name} holds the seed");
            if name.starts_with("student") {
                for secret in answers
                    .iter()
                    .map(String::as_str)
                    .chain(["SOLUTION", "TESTS", "Mistakes", "Steps"])
                {
                    assert!(!text.contains(secret), "{format}: {name} holds {secret}");
                }
            } else {
                assert!(name.starts_with("key"), "{format}: {name}");
                #[cfg(unix)]
                {
                    use std::os::unix::fs::PermissionsExt;
                    let mode = fs::metadata(&path).expect("a file").permissions().mode() & 0o777;
                    assert_eq!(mode, 0o600, "{format}: {name}");
                }
            }
        }
    }
    // The notebook is what students get; all others hold answers.
    assert_eq!(files(&folder.path().join("notebook-1/student")).len(), 2);
}

#[test]
fn what_a_format_cannot_hold_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("questions")).expect("a folder");
    fs::write(
        folder.path().join("small.yaml"),
        "exam: small\ntitle: Small\nquestions:\n  - question: share\n",
    )
    .expect("a set");
    let question = "question: share\ntitle: A small share\ngoal: divide\ndifficulty: 1\ndraw: {k: integer(22..60)}\nparts:\n  - prompt: Divide 1 by $=k$ three times.\n    points: 1\n    answer: {value: {of: 1 / (k * k * k), places: 7}}\n    mistakes:\n      - {gives: 1 / (k * k * k + k * k * k), says: the result was halved}\n";
    fs::write(folder.path().join("questions/share.yaml"), question).expect("a question");
    run(folder.path(), &["exam", "build", "small.yaml", "--seed", "1", "--out", "exam"])
        .expect(0, &["1 variant of"]);
    export(folder.path(), "qti12", "canvas", &[])
        .expect(2, &["qti12 at variant 1, 1a", "0.0001", "hint:"]);
    assert!(!folder.path().join("canvas").exists());
    export(folder.path(), "moodle", "moodle", &[]).expect(0, &[]);
    let quiz =
        fs::read_to_string(folder.path().join("moodle/key/small-moodle.xml")).expect("a quiz");
    assert!(
        quiz.contains("<tolerance>0.00000005</tolerance>") && quiz.contains("fraction=\"50\""),
        "{quiz}"
    );
    // What mistakes earn is said where it can be.
    export(folder.path(), "moodle", "other", &["--mistakes-earn", "25"]).expect(0, &[]);
    let quiz =
        fs::read_to_string(folder.path().join("other/key/small-moodle.xml")).expect("a quiz");
    assert!(quiz.contains("fraction=\"25\"") && !quiz.contains("fraction=\"50\""), "{quiz}");
    export(folder.path(), "qti12", "canvas", &["--mistakes-earn", "25"])
        .expect(2, &["credit in qti12"]);
    export(folder.path(), "moodle", "odd", &["--mistakes-earn", "51"]).expect(2, &["51"]);
    export(folder.path(), "moodle", "moodle", &[]).expect(2, &["expected a new or an empty one"]);
}

#[test]
fn a_key_that_was_changed_is_not_exported() {
    let folder = tempfile::tempdir().expect("a folder");
    build("transformer-worksheet", folder.path());
    let path = folder.path().join("exam/key/transformer-worksheet-2.json");
    let mut key: serde_json::Value =
        serde_json::from_slice(&fs::read(&path).expect("a key")).expect("JSON");
    let rows = &mut key["questions"][1]["parts"][4]["answer"]["numbers"]["key"]["rows"];
    assert!(rows[0][0].is_string(), "{rows}");
    rows[0][0] = serde_json::Value::String("17".to_owned());
    fs::write(&path, key.to_string()).expect("the key is written");
    export(folder.path(), "csv", "table", &[]).expect(2, &["key of variant 2", "heads-and-shapes"]);
}
