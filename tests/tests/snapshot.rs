//! Snapshots end to end: recorded, compared, accepted, and what never happens to them.

use std::path::Path;

use qkvet_report::read_snapshot;
use qkvet_spec::Snapshot;
use qkvet_tests::{
    Finished, Folder, Report, Words, finish, has_python, numpy_attention, qkvet, temp,
};

const FAULT: &str = "builtin:fault/weights-not-normalized";
const RIGHT: &str = "builtin:standard";
const FLASH: &str = "builtin:flash";
/// The snapshot of most tests.
const FILE: &str = "s.yaml";

/// A function of NumPy that divides the weights by `sum`.
fn target(folder: &Path, sum: &str) {
    folder.write("target.py", numpy_attention("", "", sum));
}

/// Runs it under CI.
fn in_ci(folder: &Path, words: impl Words) -> Finished {
    finish(qkvet(folder).args(words.words()).env("CI", "true"))
}

fn file(name: &str) -> String {
    format!("snapshots/{name}.qkvet.yaml")
}

fn read(folder: &Path, name: &str) -> Snapshot {
    read_snapshot("snapshot", &folder.read(name)).unwrap_or_else(|error| panic!("{error}"))
}

fn cases(snapshot: &Snapshot) -> usize {
    snapshot.parts.iter().flat_map(|part| part.cases.values()).map(|entries| entries.len()).sum()
}

const SUM: &str = "np.where(sums > 0, sums, 1)";
const SMOKE: &str = "--suite smoke --dtype float32 -q --format json";
/// Two laws of it, in the one file.
const SMALL: &str = "--suite smoke --law all-true-mask --law value --dtype float32 -q \
                     --format json --snapshot s.yaml";

/// A command of snapshots on a target.
fn smoke(command: &str, target: &str, flags: &str) -> String {
    format!("snapshot {command} {target} {SMOKE} {flags}")
}

/// Exit code and kinds of changes.
fn comes_to(finished: &Finished, code: i32, changes: &[&str]) -> Report {
    let report = finished.report(code);
    assert_eq!(report.changes(), changes, "{}", report["snapshot"]);
    report
}

/// What has the case of another name in the first part.
fn with_a_case_more(snapshot: &str, n_first: usize) -> String {
    let more = "      value:\n        c-0000000000000000: PASS 2^-3\n";
    let total = |n: usize| format!("total: {n}\n");
    snapshot.replacen("      value:\n", more, 1).replacen(&total(n_first), &total(n_first + 1), 1)
}

fn in_first_part(snapshot: &Snapshot) -> usize {
    snapshot.parts[0].cases.values().map(|entries| entries.len()).sum()
}

#[test]
fn a_broken_target_fails_and_a_mended_one_improves() {
    if !has_python() {
        return;
    }
    let folder = temp();
    let folder = folder.path();
    let name = "target.py:attention";
    target(folder, SUM);
    folder.at_home(smoke("record", name, "")).expect(0, &[" 0 replaced, 0 removed"]);
    let path = file("target.py-attention");
    let good = folder.read(&path);
    assert!(good.contains("      value:\n        c-") && good.contains(": PASS 2^-"), "{good}");
    assert!(good.contains(": UNSUPPORTED\n"), "{good}");
    let check = |flags: &str| in_ci(folder, smoke("check", name, flags));
    comes_to(&check(""), 0, &[]);

    target(folder, "1");
    let broken = check("--report github --report junit=j.xml");
    let annotations = ["::error ", "PASS → FAIL QK301", "UNSUPPORTED → FAIL QK301, 28 "];
    broken.expect(1, &annotations);
    let report = broken.finds(&["QK301"]);
    assert!(report.changes().contains(&"worse"), "{:?}", report.changes());
    let changes = report["snapshot"]["changes"].to_string();
    assert!(changes.contains("all-true-mask"), "{changes}");
    assert!(folder.read("j.xml").contains("type=\"SNAPSHOT\""));
    folder
        .at_home(format!("snapshot diff {name}"))
        .expect(0, &["- all-true-mask float32 c-", "FAIL 2^", " QK301\n"]);
    for words in [
        smoke("record", name, ""),
        format!("snapshot accept {name} --all"),
        format!("snapshot accept {name} --only *"),
    ] {
        in_ci(folder, words).expect(2, &["CI", "hint: "]);
    }
    folder.at_home(format!("snapshot accept {name}")).expect(2, &["--all"]);
    folder.at_home("snapshot accept other.py:attention --all").expect(2, &["other.py"]);
    folder.at_home("snapshot accept --only no-such-*").expect(2, &["--only"]);
    assert_eq!(folder.read(&path), good, "nothing was accepted, so nothing is written");

    folder.at_home("snapshot accept --only all-true-mask").expect(0, &[" 0 added, "]);
    let some = folder.read(&path);
    assert!(some != good && some.contains("QK301: \""), "{some}");
    assert_eq!(some.lines().count(), good.lines().count() + 2);
    folder.at_home("snapshot accept --all").expect(0, &[" 0 added, "]);
    let bad = folder.read(&path);
    // What was recorded does not fail, however wrong it is.
    assert_eq!(comes_to(&check(""), 0, &[]).names(), ["QK301"]);
    folder.at_home("report").expect(0, &["RECORDED", "QK301"]);

    target(folder, SUM);
    let better = check("").finds(&[]);
    assert!(better.changes().contains(&"better"), "{:?}", better.changes());
    folder.at_home("report").expect(0, &["FAIL QK301 → PASS"]);
    assert_eq!(check("--strict").report(1).changes(), better.changes());
    assert_eq!(folder.read(&path), bad);
    folder.at_home(format!("snapshot accept {name} --all")).expect(0, &[" 0 added, "]);
    assert_eq!(folder.read(&path), good, "the same run is the same file");
}

#[test]
fn known_deviations_do_not_fail_a_check_and_stale_ones_do() {
    let folder = temp();
    let folder = folder.path();
    let with = |command: &str, target: &str, flags: &str| {
        folder.at_home(format!("snapshot {command} {target} {SMALL} --today 2026-05-01 {flags}"))
    };
    let known = |entries: &str| folder.write("qkvet.known.yaml", format!("known: [{entries}]\n"));
    with("record", RIGHT, "").ends(0);
    // The same target, which has the fault from now on.
    let good = folder.read(FILE).replace(RIGHT, FAULT);
    folder.write(FILE, &good);
    assert_eq!(comes_to(&with("check", FAULT, ""), 1, &["worse"]).failing(), ["QK301"]);
    let value = "{law: value, dtype: float32, finding: QK301, reason: kernel 7 does it so}";
    known(value);
    // The rest of the finding is as new as before.
    comes_to(&with("check", FAULT, ""), 1, &["known", "worse"]);
    known(&format!("{{law: 'a*', dtype: float32, finding: FAIL, reason: so}}, {value}"));
    for strict in ["", "--strict"] {
        let report = comes_to(&with("check", FAULT, strict), 0, &["known"]);
        assert_eq!((report.names(), report.failing()), (vec!["QK301".to_owned()], Vec::new()));
    }
    folder.at_home("report").expect(0, &["KNOWN", "QK301", "kernel 7"]);
    folder.at_home("report --report github=g.txt,junit=j.xml,html=h.html").ends(0);
    assert!(!folder.read("g.txt").contains("::error"));
    assert!(!folder.read("j.xml").contains("<failure"));
    assert!(folder.read("h.html").contains("class=\"outcome good\""));
    // What is known is recorded like everything else, and stays known in the last run.
    folder.at_home("snapshot diff").expect(0, &["known: PASS → FAIL QK301"]);
    folder.at_home("snapshot accept --only QK301").expect(0, &[" 0 added, "]);
    assert!(folder.read(FILE).contains("FAIL 2^"), "{}", folder.read(FILE));
    folder.write(FILE, &good);
    let record = with("record", FAULT, "");
    record.expect(0, &[" 0 added, "]);
    assert_eq!(record.report(0).known(), ["holds", "holds"]);
    // An entry that is gone fails although the snapshot knows nothing but improvements; so does one
    // that is expired.
    assert!(comes_to(&with("check", RIGHT, ""), 1, &["better"]).known().contains(&"gone"));
    known("{finding: QK301, reason: so, expires: 2026-04-30}");
    let recorded = comes_to(&with("check", FAULT, ""), 1, &[]);
    assert_eq!((recorded.failing().len(), recorded.known()), (0, vec!["expired"]));
    folder.write(FILE, &good);
    assert_eq!(comes_to(&with("check", FAULT, ""), 1, &["worse"]).known(), ["expired"]);
    // Shards are one run, and know the same.
    known("{finding: QK301, reason: so}");
    let laws = "--law all-true-mask --law value --dtype float32";
    for shard in ["1/2", "2/2"] {
        folder.at_home(format!("check {FAULT} --suite smoke {laws} --shard {shard}")).ends(0);
    }
    assert_eq!(with("check", FAULT, "--from .qkvet/shards").report(0).known(), ["holds"]);
}

#[test]
fn a_partial_run_deletes_nothing() {
    let folder = temp();
    let folder = folder.path();
    let with = |command: &str, target: &str, flags: &str| {
        let of = "--suite smoke -q --format json --snapshot s.yaml";
        folder.at_home(format!("snapshot {command} {target} {of} {flags}"))
    };
    let both = "--dtype float32,float16";
    with("record", RIGHT, both).expect(0, &[" 0 replaced"]);
    let whole = folder.read(FILE);
    let n = cases(&read(folder, FILE));
    for flags in ["--dtype float32 --law value", "--dtype float16", "--dtype float32 --shard 1/3"] {
        for prune in ["", "--prune"] {
            with("record", RIGHT, &format!("{flags} {prune}")).ends(0);
            assert_eq!(folder.read(FILE), whole, "{flags}");
        }
    }
    // Stopped at its first finding, a run has seen few cases.
    folder.write(FILE, whole.replace(RIGHT, FAULT));
    with("record", FAULT, "--dtype float32 -x --prune").expect(0, &["0 added", "0 removed"]);
    let after = read(folder, FILE);
    assert_eq!(cases(&after), n);
    assert_eq!(folder.read(FILE).matches(": FAIL ").count(), 1, "the case that it stopped at");
    // A case that is no more stays until a whole run removes it on request.
    let gone = with_a_case_more(&whole, in_first_part(&after));
    folder.write(FILE, &gone);
    comes_to(&with("check", RIGHT, both), 0, &["missing"]);
    comes_to(&with("check", RIGHT, &format!("{both} --strict")), 1, &["missing"]);
    folder.at_home("snapshot accept --all").expect(0, &["--prune"]);
    assert_eq!(folder.read(FILE), gone);
    folder.at_home("snapshot accept --all --prune").expect(0, &["1 removed"]);
    assert_eq!(folder.read(FILE), whole);
    // Of a partial run nothing is missing.
    folder.write(FILE, &gone);
    let partial = comes_to(&with("check", RIGHT, &format!("{both} --law value")), 0, &[]);
    assert!(partial["snapshot"]["left_out"].as_u64() > Some(0), "{}", partial["snapshot"]);
}

#[test]
fn shards_are_one_run() {
    let folder = temp();
    let folder = folder.path();
    folder.at_home(smoke("record", FLASH, "--exact")).ends(0);
    let path = file("builtin-flash");
    let whole = folder.read(&path);
    assert!(whole.contains(" sha256:"), "{whole}");
    for shard in ["1/3", "2/3", "3/3"] {
        folder.at_home(format!("check {FLASH} {SMOKE} --shard {shard}")).ends(0);
    }
    comes_to(&in_ci(folder, smoke("check", FLASH, "--from .qkvet/shards --exact")), 0, &[]);
    std::fs::remove_file(folder.join(&path)).expect("it was there");
    let from = "--from .qkvet/shards --all";
    folder
        .at_home(format!("snapshot accept {FLASH} --exact {from}"))
        .expect(0, &[" 0 replaced, 0 removed"]);
    assert_eq!(folder.read(&path), whole);
    // Shards of another target are no progress of this one.
    folder.at_home(format!("snapshot accept {RIGHT} {from}")).expect(2, &[RIGHT, FLASH]);
}

#[test]
fn bits_count_where_that_is_asked_for() {
    let folder = temp();
    let with = |command: &str, target: &str, flags: &str| {
        folder.at_home(smoke(command, target, &format!("--snapshot s.yaml {flags}")))
    };
    with("record", RIGHT, "--exact").ends(0);
    comes_to(&with("check", RIGHT, "--exact"), 0, &[]);
    comes_to(&with("check", RIGHT, ""), 0, &[]);
    let other = with("check", FLASH, "--exact").report(1);
    assert!(other.changes().contains(&"other-bits"), "{:?}", other.changes());
    assert!(other["snapshot"]["changes"].to_string().contains("sha256:"));
    // A run that did not look at bits says nothing of them, and loses none.
    let before = folder.read(FILE);
    with("record", RIGHT, "").ends(0);
    assert_eq!(folder.read(FILE), before);
}

#[test]
fn devices_and_contracts_lie_side_by_side() {
    let folder = temp();
    let folder = folder.path();
    let with = |command: &str, flags: &str| {
        folder.at_home(smoke(command, FLASH, &format!("--law value {flags}")))
    };
    with("record", "--device-name cuda-sm90").ends(0);
    let path = file("builtin-flash");
    let one = folder.read(&path);
    with("record", "--device-name cuda-sm80").expect(0, &[" 0 replaced"]);
    with("record", "--device-name cuda-sm90 --contract tf32").expect(0, &[" 0 replaced"]);
    let all = read(folder, &path);
    let keys: Vec<(&str, &str)> =
        all.parts.iter().map(|part| (part.device.as_str(), part.contract.as_str())).collect();
    assert_eq!(keys, [("cuda-sm80", "f32"), ("cuda-sm90", "f32"), ("cuda-sm90", "tf32")]);
    comes_to(&with("check", "--device-name cuda-sm90"), 0, &[]);
    // What a check does not ask is told in a line, and fails nothing.
    for strict in ["", "--strict"] {
        let report = comes_to(&with("check", &format!("--device-name cuda-sm80 {strict}")), 0, &[]);
        let parts = report["snapshot"]["not_asked"].to_string();
        for part in ["device cuda-sm90 float32 under f32", "device cuda-sm90 float32 under tf32"] {
            assert!(parts.contains(part), "{parts}");
        }
    }
    // Nothing recorded is nothing compared, which is not fine.
    let nothing = comes_to(&with("check", "--device-name cuda-sm70"), 4, &["new"]);
    assert_eq!(nothing["snapshot"]["compared"], 0);
    let parts = nothing["snapshot"]["not_recorded"].to_string();
    assert!(parts.contains("float32 under f32"), "{parts}");
    assert!(one.len() * 3 > folder.read(&path).len());
}

#[test]
fn an_error_is_larger_when_rounding_does_not_explain_it() {
    let folder = temp();
    let folder = folder.path();
    let with = |command: &str, target: &str| {
        let of = "--snapshot s.yaml --suite smoke -q --dtype float64 --format json";
        folder.at_home(format!("snapshot {command} {target} {of}"))
    };
    // The tiled implementation has an exponential that is good to single precision by its contract.
    with("record", RIGHT).ends(0);
    let larger = with("check", FLASH).report(1);
    assert!(larger.changes().contains(&"larger-error"), "{:?}", larger.changes());
    assert_eq!(larger.failing(), [""; 0]);
    // Nothing is wrong with it but that: the heads of reports say so first.
    folder.at_home("report --report html=r.html,markdown=r.md,junit=r.xml").ends(0);
    let (page, words) = (folder.read("r.html"), folder.read("r.md"));
    let heading = words.lines().find(|line| line.starts_with('#')).unwrap_or_default();
    assert!(heading.contains("`builtin:flash`: ") && heading.contains(" regression"), "{heading}");
    let head = page.split("</header>").next().unwrap_or_default();
    assert!(head.contains("\"outcome bad\"") && head.contains(" regression"), "{head}");
    assert!(folder.read("r.xml").contains("type=\"SNAPSHOT\""));
    folder.write(FILE, folder.read(FILE).replace(RIGHT, FLASH));
    with("record", FLASH).expect(0, &["regression"]);
    let smaller = with("check", RIGHT).report(0);
    assert!(smaller.changes().contains(&"smaller-error"), "{:?}", smaller.changes());
}

#[test]
fn who_accepts_a_part_of_a_law_is_told_what_that_makes_of_the_rest() {
    let folder = temp();
    let folder = folder.path();
    let with = |command: &str| {
        let flags = "--law value --snapshot s.yaml";
        folder.at_home(smoke(command, RIGHT, flags))
    };
    with("record").ends(0);
    let right = folder.read(FILE);
    let before = read(folder, FILE);
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
    folder.write(FILE, lines.collect::<String>());
    comes_to(&with("check"), 0, &["drift", "smaller-error"]);
    let accept =
        |only: &str| folder.at_home(format!("snapshot accept --snapshot s.yaml --only {only}"));
    accept(low).expect(0, &["1 replaced", "`qkvet snapshot accept --only LAW`"]);
    let larger = with("check").report(1);
    assert!(larger.changes().contains(&"larger-error"), "{:?}", larger.changes());
    let whole = accept("value");
    whole.expect(0, &[" replaced, 0 removed"]);
    assert!(!whole.stderr.contains("hint"), "{}", whole.stderr);
    assert_eq!(folder.read(FILE), right);
}

#[test]
fn wrong_files_are_told() {
    let folder = temp();
    let folder = folder.path();
    let check =
        |flags: &str| folder.at_home(smoke("check", FLASH, &format!("--snapshot s.yaml {flags}")));
    check("").expect(2, &[FILE, "snapshot record"]);
    folder.at_home("snapshot diff").expect(2, &[".qkvet/last"]);
    let part = "  - {device: cpu, suite: smoke@2, seed: 0, dtype: float32, contract: f32, conventions: [], qkvet: '0', cases: {value: {c-0: PASS}}}\n";
    let head = "format: qkvet-snapshot/1\ntarget: x\nparts:\n";
    let remove = "`qkvet snapshot record TARGET`";
    for (text, part) in [
        (String::new(), remove),
        ("format: qkvet-snapshot/3\ntarget: x\nparts: []\n".to_owned(), "qkvet-snapshot/2"),
        (format!("{head}{part}{part}"), "float32"),
        (format!("{head}{}", part.replace("PASS", "FINE")), "`VERDICT BAND FINDING`"),
        (format!("{head}{}", part.replace("seed", "sed")), "`seed`?"),
        (format!("{head}{}", part.replace("{c-0: PASS}", "{c-0: PASS, c-0: FAIL}")), "duplicate"),
        (format!("{head}{}", part.trim_end()), "hint: "),
        (format!("{head}  - [cpu]\n"), "`key: value`"),
        (format!("{head}  - [cpu]\n"), remove),
        ("format: qkvet-snapshot/1\ntarget: x\nparts: {}\n".to_owned(), "list"),
        ("a: &a [x]\nb: [*a".to_owned(), "error"),
    ] {
        folder.write(FILE, &text);
        check("").expect(2, &[FILE, part]);
        folder.at_home(smoke("record", FLASH, "--snapshot s.yaml")).expect(2, &[FILE, part]);
        assert_eq!(folder.read(FILE), text, "what cannot be read is not replaced");
    }
    folder.write(FILE, b"format: \xff\n");
    check("").expect(2, &[FILE, remove]);
    std::fs::remove_file(folder.join(FILE)).expect("it was there");
    std::fs::create_dir(folder.join(FILE)).expect("a folder");
    check("").expect(2, &[FILE, remove]);
    std::fs::remove_dir(folder.join(FILE)).expect("it was there");
    folder.write(FILE, format!("{head}{part}"));
    check("--known k.yaml").expect(2, &["k.yaml"]);
    let nothing = comes_to(&check(""), 4, &["missing", "new"]);
    assert_eq!(nothing["snapshot"]["compared"], 0);
    folder.at_home("report --format markdown").expect(0, &["## Snapshot"]);
    folder.at_home("report --format html").expect(0, &["<h2 id=\"snapshot-title\">Snapshot</h2>"]);
}

#[test]
fn a_snapshot_that_lost_lines_is_told() {
    let folder = temp();
    let folder = folder.path();
    let with = |command: &str| {
        let flags = "-q --law value --dtype float32,float16 --snapshot s.yaml --format json";
        folder.at_home(format!("snapshot {command} {FLASH} --suite smoke {flags}"))
    };
    with("record").ends(0);
    let whole = folder.read(FILE);
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let n = cases(&read(folder, FILE));
    let n_first = in_first_part(&read(folder, FILE));
    assert!(n > 10 && whole.ends_with("\nend: true\n"), "{whole}");
    // Cut at any line boundary, that of a part included, it is no snapshot; nor is it with any case
    // gone or there twice.
    for (at, line) in lines.iter().enumerate() {
        assert!(read_snapshot(FILE, &lines[..at].concat()).is_err(), "{at}");
        if line.trim_start().starts_with("c-") {
            let without = [&lines[..at], &lines[at + 1..]].concat().concat();
            let error = read_snapshot(FILE, &without).expect_err("a case less").to_string();
            assert!(error.contains("`total`"), "{error}");
        }
    }
    let first = lines.iter().position(|line| line.trim_start().starts_with("c-")).expect("a case");
    folder.write(FILE, lines[..first + 2].concat());
    in_ci(folder, format!("snapshot check {FLASH} --suite smoke -q --snapshot s.yaml"))
        .expect(2, &[FILE, "`end: true`"]);
    with("record").expect(2, &[FILE, "`end: true`"]);
    // A merge that added cases says what to write.
    let mended = with_a_case_more(&whole, n_first);
    let total = |n: usize| format!("total: {n}");
    folder.write(FILE, mended.replacen(&total(n_first + 1), &total(n_first), 1));
    with("check").expect(2, &[&format!("`{}`", total(n_first + 1))]);
    assert_eq!(cases(&read_snapshot(FILE, &mended).expect("a snapshot")), n + 1);

    // A file of before is read, and written as one of today on request, be it without another
    // change.
    let keep =
        |line: &&&str| !line.trim_start().starts_with("total: ") && !line.starts_with("end: ");
    let old: String =
        lines.iter().filter(keep).map(|line| line.replace("snapshot/2", "snapshot/1")).collect();
    folder.write(FILE, &old);
    let noticed = with("check");
    comes_to(&noticed, 0, &[]);
    noticed.expect(0, &["notice: ", FILE, "snapshot accept`"]);
    assert_eq!(folder.read(FILE), old);
    folder.at_home("snapshot accept").ends(0);
    assert_eq!(folder.read(FILE), whole);
    let same = with("check");
    comes_to(&same, 0, &[]);
    assert!(!same.stderr.contains("notice"), "{}", same.stderr);
    folder.write(FILE, &old);
    with("record").ends(0);
    assert_eq!(folder.read(FILE), whole);
}

#[test]
fn what_is_recorded_does_not_end_a_run_early() {
    let folder = temp();
    folder.at_home(smoke("record", FAULT, "")).expect(0, &["`qkvet snapshot check`"]);
    let check = |flags: &str| comes_to(&folder.at_home(smoke("check", FAULT, flags)), 0, &[]);
    let (whole, fast) = (check(""), check("--fail-fast"));
    assert_eq!(fast["counts"], whole["counts"]);
}

#[test]
fn a_failure_that_was_not_recorded_is_new() {
    let folder = temp();
    let with = |command: &str, target: &str, flags: &str| {
        folder.at_home(smoke(command, target, &format!("--snapshot s.yaml {flags}")))
    };
    with("record", FLASH, "--law single-key").ends(0);
    comes_to(&with("check", FLASH, ""), 0, &["new"]);
    let other = with("check", FAULT, "");
    other.expect(1, &["notice: ", FLASH]);
    assert!(other.report(1).changes().contains(&"new-finding"));
    folder.write(FILE, folder.read(FILE).replacen(": PASS", ": PASS 2^99999", 1));
    with("check", FLASH, "").expect(2, &["`VERDICT BAND FINDING`"]);
}

/// Cases of another version of a suite are carried over by one command, and nothing that was wrong
/// is forgotten.
#[test]
fn another_version_of_a_suite_is_carried_over() {
    let folder = temp();
    let of = |words: &str, suite: &str| {
        folder.at_home(format!(
            "snapshot {words} --suite {suite} --law value --dtype float32 -q --snapshot {FILE}"
        ))
    };
    let suites = || {
        let parts = read(folder.path(), FILE).parts;
        parts.into_iter().map(|part| part.suite).collect::<Vec<_>>()
    };
    of(&format!("record {FAULT}"), "smoke@1").ends(0);
    assert_eq!(suites(), ["smoke@1"]);
    // A file that names no version is of the first.
    folder.write(FILE, folder.read(FILE).replace("suite: \"smoke@1\"", "suite: smoke"));
    of(&format!("check {FAULT}"), "smoke@1").ends(0);
    let other = of(&format!("check {FAULT}"), "smoke");
    other.expect(2, &["smoke@2", "smoke@1", "`qkvet snapshot upgrade builtin:fault/"]);
    of(&format!("upgrade {FAULT}"), "smoke").expect(0, &["smoke@2 in place of those of smoke@1"]);
    assert_eq!(suites(), ["smoke@2"]);
    of(&format!("check {FAULT}"), "smoke").ends(0);
    of(&format!("upgrade {FAULT}"), "smoke").expect(0, &["no cases of another version"]);

    // What the old cases showed and the new ones do not stays.
    folder.write(FILE, "");
    std::fs::remove_file(folder.path().join(FILE)).expect("the file");
    of(&format!("record {FAULT}"), "smoke@1").ends(0);
    folder.write(FILE, folder.read(FILE).replace(FAULT, FLASH));
    let upgraded = of(&format!("upgrade {FLASH}"), "smoke");
    upgraded.expect(1, &["does not show what smoke@1 showed: QK301"]);
    assert_eq!(suites(), ["smoke@1", "smoke@2"]);
    of(&format!("upgrade {FLASH} --prune"), "smoke").expect(0, &["in place"]);
    assert_eq!(suites(), ["smoke@2"]);
}

#[cfg(unix)]
#[test]
fn formats_that_are_recorded_at_once_are_all_there() {
    let folder = temp();
    std::thread::scope(|scope| {
        for dtype in ["float64", "float32", "float16"] {
            let folder = folder.path();
            scope.spawn(move || {
                let record = format!("snapshot record {FLASH} --suite smoke --dtype {dtype} -q");
                folder.at_home(record).expect(0, &["added"]);
            });
        }
    });
    let snapshot = read(folder.path(), &file("builtin-flash"));
    let mut found: Vec<&str> = snapshot.parts.iter().map(|part| part.dtype.as_str()).collect();
    found.sort_unstable();
    assert_eq!(found, ["float16", "float32", "float64"]);
}

#[test]
fn a_missing_snapshot_is_recorded_by_the_command_that_is_named() {
    let check = temp().at_home(smoke("check", FLASH, ""));
    check.expect(2, &[&file("builtin-flash"), "`qkvet snapshot record builtin:flash`"]);
}

#[test]
fn two_targets_share_no_file_that_nobody_named() {
    let folder = temp();
    let of = |words: &str| {
        folder.at_home(format!("snapshot {words} --suite smoke --law value --dtype float32"))
    };
    let path = file("builtin-standard");
    of(&format!("record {FLASH} --snapshot {path}")).ends(0);
    let before = folder.read(&path);
    for command in ["check", "record"] {
        of(&format!("{command} {RIGHT}")).expect(2, &[RIGHT, FLASH, "--snapshot FILE"]);
        // One that is named is compared all the same, and it is said.
        of(&format!("check {RIGHT} --snapshot {path}")).expect(0, &["notice: ", FLASH]);
    }
    // Nor is anything written into one that is named, before its target is changed.
    of(&format!("record {RIGHT} --snapshot {path}")).expect(2, &[RIGHT, FLASH, "`target:`"]);
    folder
        .at_home(format!("snapshot accept --all --snapshot {path}"))
        .expect(2, &[RIGHT, FLASH, "`target:`"]);
    assert_eq!(folder.read(&path), before);
    folder.write(&path, before.replace(FLASH, RIGHT));
    of(&format!("record {RIGHT} --snapshot {path}")).expect(0, &[&path]);
}
