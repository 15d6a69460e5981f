//! Snapshots end to end: recorded, compared, accepted, and what never happens to them.

#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use std::path::{Path, PathBuf};

use qkvet_report::read_snapshot;
use qkvet_spec::Snapshot;
use qkvet_tests::{Finished, finish, has_python, numpy_attention, qkvet, run};
use tempfile::TempDir;

/// A function of NumPy that divides the weights by `sum`.
fn target(folder: &Path, sum: &str) {
    let body = numpy_attention("", "", sum);
    std::fs::write(folder.join("target.py"), body).expect("a file");
}

/// Runs it outside CI.
fn at_home(folder: &Path, args: &[&str]) -> Finished {
    finish(qkvet(folder).args(args).env_remove("CI"))
}

/// Runs it under CI.
fn in_ci(folder: &Path, args: &[&str]) -> Finished {
    finish(qkvet(folder).args(args).env("CI", "true"))
}

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join("snapshots").join(format!("{name}.qkvet.yaml"))
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn read(path: &Path) -> Snapshot {
    read_snapshot("snapshot", &text(path)).unwrap_or_else(|error| panic!("{error}"))
}

fn cases(snapshot: &Snapshot) -> usize {
    snapshot.parts.iter().flat_map(|part| part.cases.values()).map(|entries| entries.len()).sum()
}

const SUM: &str = "np.where(sums > 0, sums, 1)";
const SMOKE: [&str; 5] = ["--suite", "smoke", "--dtype", "float32", "-q"];

fn smoke<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [words, &SMOKE].concat()
}

#[test]
fn a_broken_target_fails_and_a_mended_one_improves() {
    if !has_python() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let name = "target.py:attention";
    target(folder, SUM);
    at_home(folder, &smoke(&["snapshot", "record", name]))
        .expect(0, &["added, 0 replaced, 0 removed"]);
    let path = file(folder, "target.py-attention");
    let good = text(&path);
    assert!(good.contains("      value:\n        c-") && good.contains(": PASS 2^-"), "{good}");
    assert!(good.contains(": UNSUPPORTED\n"), "{good}");
    in_ci(folder, &smoke(&["snapshot", "check", name])).expect(0, &["snapshot: no change in "]);

    target(folder, "1");
    let annotated =
        smoke(&["snapshot", "check", name, "--report", "github", "--report", "junit=j.xml"]);
    let broken = in_ci(folder, &annotated);
    broken.expect(
        1,
        &[
            "worse verdict",
            "PASS → FAIL QK301",
            "all-true-mask",
            "the weights are not divided by their sum",
        ],
    );
    broken.expect(
        1,
        &[
            "title=snapshot%3A worse verdict%3A PASS → FAIL QK301%2C and 1 more::",
            "also UNSUPPORTED → FAIL QK301, 15 cases",
            "title=FAIL QK301 the weights",
        ],
    );
    assert!(text(&folder.join("j.xml")).contains("type=\"SNAPSHOT\""));
    at_home(folder, &["snapshot", "diff", name])
        .expect(0, &["- all-true-mask float32 c-", "FAIL 2^", " QK301\n"]);
    for refused in [
        smoke(&["snapshot", "record", name]),
        vec!["snapshot", "accept", name, "--all"],
        vec!["snapshot", "accept", name, "--only", "*"],
    ] {
        in_ci(folder, &refused).expect(2, &["expected a developer's machine, got CI", "hint: "]);
    }
    at_home(folder, &["snapshot", "accept", name])
        .expect(2, &["expected a terminal to ask at", "--all"]);
    at_home(folder, &["snapshot", "accept", "other.py:attention", "--all"])
        .expect(2, &["expected target other.py"]);
    at_home(folder, &["snapshot", "accept", "--only", "no-such-*"])
        .expect(2, &["--only: expected a pattern of"]);
    assert_eq!(text(&path), good, "nothing was accepted, so nothing is written");

    at_home(folder, &["snapshot", "accept", "--only", "all-true-mask"]).expect(0, &[" 0 added, "]);
    let some = text(&path);
    assert!(
        some != good
            && some.contains("QK301: \"")
            && some.lines().count() == good.lines().count() + 2,
        "{some}"
    );
    at_home(folder, &["snapshot", "accept", "--all"]).expect(0, &[" 0 added, "]);
    let bad = text(&path);
    // What was recorded does not fail, however wrong it is.
    in_ci(folder, &smoke(&["snapshot", "check", name]))
        .expect(0, &["RECORDED  FAIL: QK301", "snapshot: no change"]);

    target(folder, SUM);
    let better = ["better", "FAIL QK301 → PASS", "improvements"];
    in_ci(folder, &smoke(&["snapshot", "check", name])).expect(0, &better);
    in_ci(folder, &smoke(&["snapshot", "check", name, "--strict"])).expect(1, &better);
    assert_eq!(text(&path), bad);
    at_home(folder, &["snapshot", "accept", name, "--all"]).expect(0, &[" 0 added, "]);
    assert_eq!(text(&path), good, "the same run is the same file");
}

#[test]
fn known_deviations_do_not_fail_a_check_and_stale_ones_do() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let fault = "builtin:fault/weights-not-normalized";
    let with = |command: &str, target: &str, words: &[&str]| {
        let small = [
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
        let place = ["snapshot", command, target, "--snapshot", "s.yaml", "--today", "2026-05-01"];
        at_home(folder, &[&place[..], &small, words].concat())
    };
    let known =
        |entries: &str| std::fs::write(folder.join("qkvet.known.yaml"), entries).expect("a file");
    with("record", "builtin:standard", &[]).expect(0, &["added"]);
    // The same target, which has the fault from now on.
    let good = text(&folder.join("s.yaml")).replace("builtin:standard", fault);
    std::fs::write(folder.join("s.yaml"), &good).expect("a file");
    with("check", fault, &[]).expect(1, &["worse verdict", "FAIL  QK301"]);
    known("known: [{law: value, dtype: float32, finding: QK301, reason: kernel 7 does it so}]\n");
    // The rest of the finding is as new as before.
    let part = with("check", fault, &[]);
    part.expect(1, &["worse verdict", "known "]);
    known(
        "known: [{law: 'a*', dtype: float32, finding: FAIL, reason: so}, {law: value, dtype: float32, finding: QK301, reason: kernel 7 does it so}]\n",
    );
    for strict in [&[][..], &["--strict"]] {
        with("check", fault, strict)
            .expect(0, &["KNOWN  FAIL: QK301", "kernel 7 does it so", " known"]);
    }
    let reports = with("check", fault, &["--report", "github=g.txt,junit=j.xml,html=h.html"]);
    reports.expect(0, &[]);
    assert!(
        !text(&folder.join("g.txt")).contains("::error")
            && !text(&folder.join("j.xml")).contains("<failure")
    );
    assert!(text(&folder.join("h.html")).contains("class=\"outcome good\""));
    // What is known is recorded like everything else, and stays known in the last run.
    at_home(folder, &["snapshot", "diff"]).expect(0, &["known: PASS → FAIL QK301"]);
    at_home(folder, &["snapshot", "accept", "--only", "QK301"]).expect(0, &[" 0 added, "]);
    assert!(text(&folder.join("s.yaml")).contains("FAIL 2^"), "{}", text(&folder.join("s.yaml")));
    std::fs::write(folder.join("s.yaml"), &good).expect("a file");
    with("record", fault, &[]).expect(0, &["KNOWN  FAIL: QK301", " 0 added, "]);
    // An entry that is gone fails although the snapshot knows nothing but improvements; so does one
    // that is expired.
    with("check", "builtin:standard", &[])
        .expect(1, &["better", "STALE", "none shows it any more"]);
    known("known: [{finding: QK301, reason: so, expires: 2026-04-30}]\n");
    with("check", fault, &[]).expect(1, &["RECORDED", "STALE", "expired after 2026-04-30"]);
    std::fs::write(folder.join("s.yaml"), &good).expect("a file");
    with("check", fault, &[]).expect(1, &["worse verdict", "STALE"]);
    // Shards are one run, and know the same.
    known("known: [{finding: QK301, reason: so}]\n");
    for shard in ["1/2", "2/2"] {
        let words =
            ["check", fault, "--suite", "smoke", "--law", "all-true-mask", "--law", "value", "-q"];
        at_home(folder, &[&words[..], &["--dtype", "float32", "--shard", shard]].concat())
            .expect(0, &["KNOWN"]);
    }
    with("check", fault, &["--from", ".qkvet/shards"]).expect(0, &["KNOWN  FAIL: QK301"]);
}

#[test]
fn a_partial_run_deletes_nothing() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let record = |target: &str, words: &[&str]| {
        let all = [
            &["snapshot", "record", target, "--suite", "smoke", "-q", "--snapshot", "s.yaml"],
            words,
        ]
        .concat();
        at_home(folder, &all)
    };
    record("builtin:standard", &["--dtype", "float32,float16"]).expect(0, &[" 0 replaced"]);
    let path = folder.join("s.yaml");
    let whole = text(&path);
    let n = cases(&read(&path));
    for words in [
        &["--dtype", "float32", "--law", "value"][..],
        &["--dtype", "float16"],
        &["--dtype", "float32", "--shard", "1/3"],
    ] {
        for prune in [&[][..], &["--prune"]] {
            record("builtin:standard", &[words, prune].concat()).expect(0, &["nothing to change"]);
            assert_eq!(text(&path), whole, "{words:?}");
        }
    }
    // Stopped at its first finding, a run has seen few cases.
    let broken = "builtin:fault/weights-not-normalized";
    std::fs::write(&path, whole.replace("builtin:standard", broken)).expect("a file");
    let fault = record(broken, &["--dtype", "float32", "-x", "--prune"]);
    fault.expect(0, &["0 added", "0 removed", "regression"]);
    let after = read(&path);
    assert_eq!(cases(&after), n);
    let failing = text(&path).matches(": FAIL ").count();
    assert_eq!(failing, 1, "the case that it stopped at");
    // A case that is no more stays until a whole run removes it on request.
    let n_first: usize = read(&path).parts[0].cases.values().map(|entries| entries.len()).sum();
    let gone = whole.replacen(
        "      value:\n",
        "      value:\n        c-0000000000000000: PASS 2^-3\n",
        1,
    );
    let gone =
        gone.replacen(&format!("total: {n_first}\n"), &format!("total: {}\n", n_first + 1), 1);
    std::fs::write(&path, &gone).expect("a file");
    let check =
        ["snapshot", "check", "builtin:standard", "--suite", "smoke", "-q", "--snapshot", "s.yaml"];
    let dtypes = ["--dtype", "float32,float16"];
    at_home(folder, &[&check[..], &dtypes].concat()).expect(0, &["missing case", "1 missing"]);
    at_home(folder, &[&check[..], &dtypes, &["--strict"]].concat()).expect(1, &["1 missing"]);
    at_home(folder, &["snapshot", "accept", "--all"])
        .expect(0, &["nothing to change", "--prune removes it"]);
    assert_eq!(text(&path), gone);
    at_home(folder, &["snapshot", "accept", "--all", "--prune"]).expect(0, &["1 removed"]);
    assert_eq!(text(&path), whole);
    // Of a partial run nothing is missing.
    std::fs::write(&path, &gone).expect("a file");
    let partial = at_home(folder, &[&check[..], &dtypes, &["--law", "value"]].concat());
    partial.expect(0, &["left out"]);
    assert!(!partial.stdout.contains("missing"), "{}", partial.stdout);
}

#[test]
fn shards_are_one_run() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    at_home(folder, &smoke(&["snapshot", "record", "builtin:flash", "--exact"]))
        .expect(0, &["added"]);
    let path = file(folder, "builtin-flash");
    let whole = text(&path);
    assert!(whole.contains(" sha256:"), "{whole}");
    for shard in ["1/3", "2/3", "3/3"] {
        at_home(folder, &smoke(&["check", "builtin:flash", "--shard", shard])).expect(0, &[]);
    }
    let check =
        smoke(&["snapshot", "check", "builtin:flash", "--from", ".qkvet/shards", "--exact"]);
    in_ci(folder, &check).expect(0, &["snapshot: no change"]);
    std::fs::remove_file(&path).expect("it was there");
    let accept =
        ["snapshot", "accept", "builtin:flash", "--from", ".qkvet/shards", "--exact", "--all"];
    at_home(folder, &accept).expect(0, &["added, 0 replaced, 0 removed"]);
    assert_eq!(text(&path), whole);
    // Shards of another target are no progress of this one.
    at_home(
        folder,
        &["snapshot", "accept", "builtin:standard", "--from", ".qkvet/shards", "--all"],
    )
    .expect(2, &["expected target builtin:standard, got builtin:flash"]);
}

#[test]
fn bits_count_where_that_is_asked_for() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let with = |command: &str, target: &str, words: &[&str]| {
        at_home(
            folder,
            &[&smoke(&["snapshot", command, target, "--snapshot", "s.yaml"])[..], words].concat(),
        )
    };
    with("record", "builtin:standard", &["--exact"]).expect(0, &[]);
    with("check", "builtin:standard", &["--exact"]).expect(0, &["no change"]);
    with("check", "builtin:standard", &[]).expect(0, &["no change"]);
    let other = with("check", "builtin:flash", &["--exact"]);
    other.expect(1, &["other bits", "sha256:"]);
    // A run that did not look at bits says nothing of them, and loses none.
    let before = text(&folder.join("s.yaml"));
    with("record", "builtin:standard", &[]).expect(0, &["nothing to change"]);
    assert_eq!(text(&folder.join("s.yaml")), before);
}

#[test]
fn devices_and_contracts_lie_side_by_side() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let with = |command: &str, words: &[&str]| {
        let words = [
            &["snapshot", command, "builtin:flash", "--suite", "smoke", "--law", "value", "-q"],
            words,
        ]
        .concat();
        at_home(folder, &[&words[..], &["--dtype", "float32"]].concat())
    };
    with("record", &["--device-name", "cuda-sm90"]).expect(0, &[]);
    let one = text(&file(folder, "builtin-flash"));
    with("record", &["--device-name", "cuda-sm80"]).expect(0, &[" 0 replaced"]);
    with("record", &["--device-name", "cuda-sm90", "--contract", "tf32"])
        .expect(0, &[" 0 replaced"]);
    let all = read(&file(folder, "builtin-flash"));
    let keys: Vec<(&str, &str)> =
        all.parts.iter().map(|part| (part.device.as_str(), part.contract.as_str())).collect();
    assert_eq!(keys, [("cuda-sm80", "f32"), ("cuda-sm90", "f32"), ("cuda-sm90", "tf32")]);
    with("check", &["--device-name", "cuda-sm80"]).expect(0, &["cuda-sm80", "no change"]);
    with("check", &["--device-name", "cuda-sm90"]).expect(0, &["no change"]);
    // What a check does not ask is told in a line, and fails nothing.
    let told = [
        "not asked",
        "parts device cuda-sm90 float32 under f32, device cuda-sm90 float32 under tf32",
        "no change",
    ];
    for strict in [&[][..], &["--strict"]] {
        with("check", &[&["--device-name", "cuda-sm80"], strict].concat()).expect(0, &told);
    }
    // Nothing recorded is nothing compared, which is not fine.
    let nothing = ["nothing was compared", "new case", "not recorded", "part float32 under f32"];
    with("check", &["--device-name", "cuda-sm70"]).expect(4, &nothing);
    assert!(one.len() * 3 > text(&file(folder, "builtin-flash")).len());
}

#[test]
fn an_error_is_larger_when_rounding_does_not_explain_it() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let with = |command: &str, target: &str| {
        let words = [
            "snapshot",
            command,
            target,
            "--snapshot",
            "s.yaml",
            "--suite",
            "smoke",
            "-q",
            "--dtype",
            "float64",
        ];
        at_home(folder, &words)
    };
    // The tiled implementation has an exponential that is good to single precision by its contract.
    with("record", "builtin:standard").expect(0, &[]);
    with("check", "builtin:flash").expect(1, &["larger error", "PASS 2^"]);
    // Nothing is wrong with it but that: the heads of reports say so first.
    let again = [
        "report",
        "--report",
        "html=r.html",
        "--report",
        "markdown=r.md",
        "--report",
        "junit=r.xml",
    ];
    at_home(folder, &again).expect(0, &[]);
    let (page, words) = (text(&folder.join("r.html")), text(&folder.join("r.md")));
    let heading = words.lines().find(|line| line.starts_with('#')).unwrap_or_default();
    assert!(heading.contains("`builtin:flash`: ") && heading.contains(" regression"), "{heading}");
    let head = page.split("</header>").next().unwrap_or_default();
    assert!(head.contains("outcome bad") && head.contains("against the snapshot"), "{head}");
    assert!(text(&folder.join("r.xml")).contains("type=\"SNAPSHOT\""));
    let flash = text(&folder.join("s.yaml")).replace("builtin:standard", "builtin:flash");
    std::fs::write(folder.join("s.yaml"), flash).expect("a file");
    with("record", "builtin:flash").expect(0, &["regression"]);
    with("check", "builtin:standard").expect(0, &["smaller error"]);
}

#[test]
fn who_accepts_a_part_of_a_law_is_told_what_that_makes_of_the_rest() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let with = |words: &[&str]| {
        let all = [
            "--snapshot",
            "s.yaml",
            "--suite",
            "smoke",
            "--law",
            "value",
            "--dtype",
            "float32",
            "-q",
        ];
        at_home(
            folder,
            &[&["snapshot", words[0], "builtin:standard"], &words[1..], &all[..]].concat(),
        )
    };
    with(&["record"]).expect(0, &[]);
    let path = folder.join("s.yaml");
    let right = text(&path);
    let before = read(&path);
    let bands = &before.parts[0].cases["value"];
    let banded: Vec<(&String, i32)> =
        bands.iter().filter_map(|(id, entry)| Some((id, entry.band?.power()))).collect();
    let (low, _) = *banded.iter().min_by_key(|(_, power)| *power).expect("a case");
    let (_, top) = *banded.iter().max_by_key(|(_, power)| *power).expect("a case");
    // The case with the smallest error was recorded with the largest, and all others with the
    // smallest.
    let lines = right.lines().map(|line| match line.trim().split_once(": PASS ") {
        Some((id, _)) if id == low => format!("        {id}: PASS 2^{}\n", top + 3),
        Some((id, _)) if bands.contains_key(id) => format!("        {id}: PASS 2^-20\n"),
        _ => format!("{line}\n"),
    });
    std::fs::write(&path, lines.collect::<String>()).expect("a file");
    with(&["check"]).expect(0, &["smaller error", "drift"]);
    let told = [
        "1 replaced",
        "cases that were within rounding are larger errors now",
        "hint: `qkvet snapshot accept --only LAW`",
    ];
    at_home(folder, &["snapshot", "accept", "--snapshot", "s.yaml", "--only", low])
        .expect(0, &told);
    with(&["check"]).expect(1, &["larger error"]);
    let whole = at_home(folder, &["snapshot", "accept", "--snapshot", "s.yaml", "--only", "value"]);
    whole.expect(0, &[" replaced, 0 removed"]);
    assert!(!whole.stderr.contains("larger errors now"), "{}", whole.stderr);
    assert_eq!(text(&path), right);
}

#[test]
fn wrong_files_are_told() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let check = smoke(&["snapshot", "check", "builtin:flash", "--snapshot", "s.yaml"]);
    at_home(folder, &check)
        .expect(2, &["snapshot at s.yaml: expected a readable file", "snapshot record"]);
    at_home(folder, &["snapshot", "diff"])
        .expect(2, &["report at ", "expected a readable file, got none"]);
    let part = "  - {device: cpu, suite: smoke, seed: 0, dtype: float32, contract: f32, conventions: [], qkvet: '0', cases: {value: {c-0: PASS}}}\n";
    let head = "format: qkvet-snapshot/1\ntarget: x\nparts:\n";
    let remove = "remove it first: `qkvet snapshot record TARGET`";
    for (text, part) in [
        (String::new(), "empty file"),
        (String::new(), remove),
        (
            "format: qkvet-snapshot/3\ntarget: x\nparts: []\n".to_owned(),
            "expected qkvet-snapshot/2",
        ),
        (format!("{head}{part}{part}"), "expected once, got twice"),
        (format!("{head}{}", part.replace("PASS", "FINE")), "expected `VERDICT BAND FINDING`"),
        (format!("{head}{}", part.replace("seed", "sed")), "did you mean `seed`?"),
        (format!("{head}{}", part.replace("{c-0: PASS}", "{c-0: PASS, c-0: FAIL}")), "duplicate"),
        (
            format!("{head}{}", part.trim_end()),
            "the file is cut off\nhint: take it from version control again",
        ),
        (format!("{head}  - [cpu]\n"), "expected `key: value`"),
        (format!("{head}  - [cpu]\n"), remove),
        ("format: qkvet-snapshot/1\ntarget: x\nparts: {}\n".to_owned(), "expected a list"),
        ("a: &a [x]\nb: [*a".to_owned(), "error"),
    ] {
        std::fs::write(folder.join("s.yaml"), &text).expect("a file");
        at_home(folder, &check).expect(2, &[part]);
        at_home(folder, &smoke(&["snapshot", "record", "builtin:flash", "--snapshot", "s.yaml"]))
            .expect(2, &[part]);
        assert_eq!(
            std::fs::read_to_string(folder.join("s.yaml")).ok(),
            Some(text),
            "what cannot be read is not replaced"
        );
    }
    std::fs::write(folder.join("s.yaml"), b"format: \xff\n").expect("a file");
    at_home(folder, &check).expect(2, &["bytes that are no text", remove]);
    std::fs::remove_file(folder.join("s.yaml")).expect("it was there");
    std::fs::create_dir(folder.join("s.yaml")).expect("a folder");
    at_home(folder, &check).expect(2, &["expected a readable file", remove]);
    std::fs::remove_dir(folder.join("s.yaml")).expect("it was there");
    std::fs::write(folder.join("s.yaml"), format!("{head}{part}")).expect("a file");
    at_home(folder, &check).expect(4, &["1 missing", "nothing was compared"]);
    at_home(folder, &[&check[..], &["--known", "k.yaml"]].concat())
        .expect(2, &["known deviations at k.yaml: expected a readable file"]);
    // The report of the run tells the same.
    let json = run(folder, &[&check[..], &["--format", "json"]].concat()).json();
    assert_eq!(json["snapshot"]["compared"], 0);
    assert!(json["snapshot"]["changes"].as_array().is_some_and(|changes| !changes.is_empty()));
    at_home(folder, &["report", "--format", "markdown"])
        .expect(0, &["## Snapshot", "nothing was compared"]);
    at_home(folder, &["report", "--format", "html"])
        .expect(0, &["<h2 id=\"snapshot-title\">Snapshot</h2>"]);
}

#[test]
fn a_snapshot_that_lost_lines_is_told() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let path = folder.join("s.yaml");
    let with = |command: &str, words: &[&str]| {
        let of = [
            "snapshot",
            command,
            "builtin:flash",
            "--suite",
            "smoke",
            "-q",
            "--snapshot",
            "s.yaml",
        ];
        at_home(
            folder,
            &[&of[..], &["--law", "value", "--dtype", "float32,float16"], words].concat(),
        )
    };
    with("record", &[]).expect(0, &["added"]);
    let whole = text(&path);
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let n = cases(&read(&path));
    let n_first: usize = read(&path).parts[0].cases.values().map(|entries| entries.len()).sum();
    assert!(n > 10 && whole.ends_with("\nend: true\n"), "{whole}");
    // Cut at any line boundary, that of a part included, it is no snapshot; nor is it with any case
    // gone or there twice.
    for (at, line) in lines.iter().enumerate() {
        let error = read_snapshot("s.yaml", &lines[..at].concat())
            .expect_err("a part of a file")
            .to_string();
        assert!(error.contains("remove it first"), "{at}: {error}");
        if line.trim_start().starts_with("c-") {
            let without = [&lines[..at], &lines[at + 1..]].concat().concat();
            let error = read_snapshot("s.yaml", &without).expect_err("a case less").to_string();
            assert!(
                error.contains("(its `total`), got ") && error.contains("lines were lost"),
                "{error}"
            );
        }
    }
    let first = lines.iter().position(|line| line.trim_start().starts_with("c-")).expect("a case");
    std::fs::write(&path, lines[..first + 2].concat()).expect("a file");
    in_ci(
        folder,
        &["snapshot", "check", "builtin:flash", "--suite", "smoke", "-q", "--snapshot", "s.yaml"],
    )
    .expect(
        2,
        &[
            "expected `end: true` as its last line, got none: the file is cut off",
            "remove it first",
        ],
    );
    with("record", &[]).expect(
        2,
        &["the file is cut off\nhint: take it from version control again, or remove it first"],
    );
    // A merge that added cases says what to write.
    let more = whole.replacen(
        "      value:\n",
        "      value:\n        c-0000000000000000: PASS 2^-3\n",
        1,
    );
    std::fs::write(&path, &more).expect("a file");
    let told = with("check", &[]);
    told.expect(2, &["if two branches that added cases were merged"]);
    assert!(
        told.stderr.contains(&format!("write `total: {}` there", n_first + 1)),
        "{}",
        told.stderr
    );
    let mended =
        more.replacen(&format!("total: {n_first}\n"), &format!("total: {}\n", n_first + 1), 1);
    assert_eq!(
        cases(&read_snapshot("s.yaml", &mended).unwrap_or_else(|error| panic!("{error}"))),
        n + 1
    );

    // A file of before is read, and written as one of today on request, be it without another
    // change.
    let keep =
        |line: &&&str| !line.trim_start().starts_with("total: ") && !line.starts_with("end: ");
    let old: String =
        lines.iter().filter(keep).map(|line| line.replace("snapshot/2", "snapshot/1")).collect();
    std::fs::write(&path, &old).expect("a file");
    with("check", &[]).expect(
        0,
        &["no change", "notice: snapshot at s.yaml: it does not say", "snapshot accept`"],
    );
    assert_eq!(text(&path), old);
    at_home(folder, &["snapshot", "accept"]).expect(0, &["says how many cases it has from now on"]);
    assert_eq!(text(&path), whole);
    let same = with("check", &[]);
    assert!(!same.expect(0, &["no change"]).stderr.contains("notice"), "{}", same.stderr);
    std::fs::write(&path, &old).expect("a file");
    with("record", &[]).expect(0, &["says how many cases it has from now on"]);
    assert_eq!(text(&path), whole);
}

#[test]
fn what_is_recorded_does_not_end_a_run_early() {
    let folder = TempDir::new().expect("a folder");
    let fault = "builtin:fault/weights-not-normalized";
    at_home(folder.path(), &smoke(&["snapshot", "record", fault]))
        .expect(0, &["recorded; `qkvet snapshot check` fails on what is worse or new"]);
    let whole = at_home(folder.path(), &smoke(&["snapshot", "check", fault]));
    whole.expect(0, &["no change"]);
    let fast = at_home(folder.path(), &smoke(&["snapshot", "check", fault, "--fail-fast"]));
    fast.expect(0, &["no change"]);
    let last = |finished: &Finished| finished.stdout.lines().last().map(str::to_owned);
    assert_eq!(last(&fast), last(&whole));
}

#[test]
fn a_failure_that_was_not_recorded_is_new() {
    let folder = TempDir::new().expect("a folder");
    let place = ["--snapshot", "one.yaml"];
    let record = smoke(&["snapshot", "record", "builtin:flash", "--law", "single-key"]);
    at_home(folder.path(), &[&record[..], &place].concat()).expect(0, &["added"]);
    let check = |target: &'static str| {
        at_home(folder.path(), &[&smoke(&["snapshot", "check", target])[..], &place].concat())
    };
    check("builtin:flash").expect(0, &["new case"]);
    check("builtin:fault/weights-not-normalized").expect(
        1,
        &["new finding", "regressions", "notice: the snapshot is of target builtin:flash"],
    );
    let wrong = text(&folder.path().join("one.yaml")).replacen(": PASS", ": PASS 2^99999", 1);
    std::fs::write(folder.path().join("one.yaml"), wrong).expect("a file");
    check("builtin:flash").expect(2, &["expected `VERDICT BAND FINDING`"]);
}

#[cfg(unix)]
#[test]
fn formats_that_are_recorded_at_once_are_all_there() {
    let folder = TempDir::new().expect("a folder");
    let dtypes = ["float64", "float32", "float16"];
    std::thread::scope(|scope| {
        for dtype in dtypes {
            let folder = folder.path();
            scope.spawn(move || {
                let record = [
                    "snapshot",
                    "record",
                    "builtin:flash",
                    "--suite",
                    "smoke",
                    "--dtype",
                    dtype,
                    "-q",
                ];
                at_home(folder, &record).expect(0, &["added"]);
            });
        }
    });
    let snapshot = read(&file(folder.path(), "builtin-flash"));
    let mut found: Vec<&str> = snapshot.parts.iter().map(|part| part.dtype.as_str()).collect();
    found.sort_unstable();
    assert_eq!(found, ["float16", "float32", "float64"]);
}

#[test]
fn a_missing_snapshot_is_recorded_by_the_command_that_is_named() {
    let folder = TempDir::new().expect("a folder");
    at_home(folder.path(), &smoke(&["snapshot", "check", "builtin:flash"])).expect(
        2,
        &[
            "expected a readable file, got none",
            "hint: `qkvet snapshot record builtin:flash` writes it",
        ],
    );
}

#[test]
fn two_targets_share_no_file_that_nobody_named() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let of = |words: &[&str]| {
        at_home(
            folder,
            &[&["snapshot"], words, &["--suite", "smoke", "--law", "value", "--dtype", "float32"]]
                .concat(),
        )
    };
    let path = "snapshots/builtin-standard.qkvet.yaml";
    of(&["record", "builtin:flash", "--snapshot", path]).expect(0, &["added"]);
    let before = std::fs::read(folder.join(path)).expect("a snapshot");
    for command in ["check", "record"] {
        of(&[command, "builtin:standard"]).expect(
            2,
            &[
                "expected one of target builtin:standard, got one of builtin:flash",
                "hint: --snapshot FILE",
            ],
        );
        // One that is named is compared all the same, and it is said.
        of(&["check", "builtin:standard", "--snapshot", path])
            .expect(0, &["notice: the snapshot is of target builtin:flash"]);
    }
    // Nor is anything written into one that is named, before its target is changed.
    for words in [&["snapshot", "record", "builtin:standard"][..], &["snapshot", "accept", "--all"]]
    {
        let place = ["--snapshot", path];
        let suite = ["--suite", "smoke", "--law", "value", "--dtype", "float32"];
        let of = if words[1] == "record" { &suite[..] } else { &[] };
        at_home(folder, &[words, &place, of].concat()).expect(
            2,
            &["expected one of target builtin:standard, got one of builtin:flash", "at `target:`"],
        );
    }
    assert_eq!(std::fs::read(folder.join(path)).expect("a snapshot"), before);
    let renamed = text(&folder.join(path)).replace("builtin:flash", "builtin:standard");
    std::fs::write(folder.join(path), renamed).expect("a file");
    of(&["record", "builtin:standard", "--snapshot", path]).expect(0, &["snapshot at"]);
}
