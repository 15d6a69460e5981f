//! Known deviations end to end: what is covered does not fail, and what is stale does.

#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use std::path::Path;

use qkvet_spec::{Cause, Quoted};
use qkvet_tests::{Finished, finish, has_python, numpy_attention, qkvet};
use tempfile::TempDir;

const FAULT: &str = "builtin:fault/weights-not-normalized";
const FAULT_NAME: &str = "target builtin:fault/weights-not-normalized";
const FILE: &str = "qkvet.known.yaml";

/// Runs it outside CI, on a day of its own.
fn at_home(folder: &Path, args: &[&str]) -> Finished {
    finish(qkvet(folder).args(args).env_remove("CI"))
}

/// Two laws of the suite `smoke` in two formats, so that a run is short.
const SUITE: &str = include_str!("../../specs/suites/smoke.yaml");

fn check(folder: &Path, target: &str, words: &[&str]) -> Finished {
    let line = |line: &str| match line.split(':').next() {
        Some("suite") => "suite: small\n".to_owned(),
        Some("laws") => "laws: [rotation-invariance, value]\n".to_owned(),
        Some("dtypes") => "dtypes: [float32, float16]\n".to_owned(),
        _ => format!("{line}\n"),
    };
    std::fs::write(folder.join("small.yaml"), SUITE.lines().map(line).collect::<String>())
        .expect("a file");
    let today = if words.contains(&"--today") { &[][..] } else { &["--today", "2026-05-01"] };
    at_home(folder, &[&["check", target, "--suite", "small.yaml", "-q"], words, today].concat())
}

fn text(folder: &Path) -> String {
    std::fs::read_to_string(folder.join(FILE)).expect("a file")
}

#[test]
fn what_is_known_does_not_fail_until_it_is_gone() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    for command in ["list", "prune"] {
        let none = [
            "known deviations at qkvet.known.yaml: expected a readable file, got none",
            "hint: `qkvet known add",
        ];
        at_home(folder, &["known", command]).expect(2, &none);
    }
    check(folder, FAULT, &[]).expect(1, &["FAIL  QK301"]);
    let add = [
        "known",
        "add",
        "--reason",
        "kernel 7 does it so: \"old\"",
        "--link",
        "https://example.org/7",
        "--target",
        "*",
    ];
    let ci = finish(qkvet(folder).args(add).env("CI", "1"));
    ci.expect(2, &["expected a developer's machine, got CI"]);
    assert!(!folder.join(FILE).exists());
    at_home(folder, &[&add[..], &["--expires", "2026-02-30"]].concat())
        .expect(2, &["expected a day such as"]);
    at_home(folder, &[&add[..], &["--expires", "2026-01-31", "--today", "2026-02-01"]].concat())
        .expect(2, &["--expires: expected a day to come"]);
    at_home(folder, &[&add[..], &["--expires", "2026-06-30", "--today", "2026-05-01"]].concat())
        .expect(0, &["QK301", "1 added"]);
    // The run that it was added from is held against it, though it was before.
    at_home(folder, &["known", "list", "--today", "2026-05-01"]).expect(0, &["QK301  (holds, "]);
    at_home(folder, &[&add[..], &["--expires", "2026-06-30", "--today", "2026-05-01"]].concat())
        .expect(0, &["0 added, 1 known already"]);
    // A day that is none is told where there is nothing to add, too.
    at_home(folder, &[&add[..], &["--expires", "99999-01-01"]].concat())
        .expect(2, &["--expires: expected a day such as"]);
    assert!(
        text(folder).contains("finding: QK301\n    reason: \"kernel 7 does it so: \\\"old\\\"\"\n"),
        "{}",
        text(folder)
    );

    let known = check(
        folder,
        FAULT,
        &[
            "--report",
            "junit=j.xml,sarif=s.json,gitlab=g.json,github=g.txt,html=h.html,markdown=m.md",
        ],
    );
    known.expect(
        0,
        &[
            "KNOWN  FAIL: QK301",
            "kernel 7 does it so",
            "until 2026-06-30",
            "no new finding",
            "1 known",
        ],
    );
    let report = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a report");
    assert!(
        report("j.xml").contains("failures=\"0\"")
            && report("j.xml").contains("<skipped message=\"known: kernel 7")
    );
    assert!(report("s.json").contains("\"suppressions\""));
    assert_eq!(report("g.json").trim(), "[]");
    assert!(!report("g.txt").contains("::error"), "{}", report("g.txt"));
    assert!(
        report("h.html").contains("These do not fail")
            && report("m.md").contains("known: kernel 7")
    );
    at_home(folder, &["known", "list", "--today", "2026-05-01"])
        .expect(0, &["QK301  (holds, ", "until 2026-06-30"]);
    // Without today's date in it, the report is the same on every day.
    let on = |day: &str| check(folder, FAULT, &["--today", day, "--format", "json"]).stdout;
    assert_eq!(on("2026-05-01"), on("2026-06-30"));
    // What is known of one target says nothing of a shard or of some laws.
    check(folder, "builtin:standard", &["--law", "value"]).expect(0, &["no finding"]);
    check(folder, "builtin:standard", &["--shard", "1/2"]).expect(0, &["no finding"]);

    check(folder, FAULT, &["--today", "2026-07-01"])
        .expect(1, &["FAIL  QK301", "STALE", "expired after 2026-06-30"]);
    let gone = check(folder, "builtin:standard", &[]);
    gone.expect(1, &["STALE", "none shows it any more", "1 stale known deviation"]);
    at_home(folder, &["known", "prune"]).expect(0, &["QK301", "1 removed"]);
    assert!(text(folder).contains("known: []"), "{}", text(folder));
    check(folder, "builtin:standard", &[]).expect(0, &["no finding"]);
}

#[test]
fn entries_cover_what_they_name_and_nothing_else() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let with = |entries: &str, target: &str, code: i32, parts: &[&str]| {
        std::fs::write(folder.join(FILE), format!("known:\n{entries}")).expect("a file");
        check(folder, target, &[]).expect(code, parts);
    };
    let entry =
        |place: &str, finding: &str| format!("- {{{place}finding: {finding}, reason: r}}\n");
    with(&entry("", "QK301"), FAULT, 0, &["KNOWN"]);
    with(&entry("", "QK3?1"), FAULT, 0, &["KNOWN"]);
    with(&entry("", "FAIL"), FAULT, 0, &["KNOWN"]);
    with(&entry("", "\"*divided by their sum*\""), FAULT, 0, &["KNOWN"]);
    // A part of the cases is not all of them.
    with(&entry("law: '*', dtype: float32, ", "QK301"), FAULT, 1, &["FAIL  QK301"]);
    with(&entry("law: rotation-invariance, ", "QK301"), FAULT, 1, &["FAIL  QK301"]);
    with(
        &entry("", "QK999"),
        FAULT,
        1,
        &["FAIL  QK301", "STALE", "none shows it any more", "no fault has the code QK999"],
    );
    let gone = entry("", "QK201");
    with(&gone, FAULT, 1, &["STALE", "none shows it any more"]);
    assert!(!check(folder, FAULT, &[]).stdout.contains("no fault has the code"));
    // A suite may be one of a file.
    with(&entry("suite: small, ", "QK301"), FAULT, 0, &["KNOWN"]);
    with(&entry("suite: elsewhere, ", "QK301"), "builtin:standard", 0, &["no finding"]);
    at_home(folder, &["known", "list"])
        .expect(0, &["(not asked in the last run; elsewhere is no built-in suite)"]);
    with(
        &entry("law: no-such-law, ", "QK301"),
        FAULT,
        1,
        &["FAIL  QK301", "no checked case of the run is meant"],
    );
    with(
        &entry("case: c-0000000000000000, ", "QK301"),
        "builtin:standard",
        1,
        &["no checked case of the run"],
    );
    with(&entry("dtype: float16, ", "QK301"), "builtin:standard", 1, &["none shows it any more"]);
    // A run of other formats says nothing of an entry, one of its own does.
    at_home(
        folder,
        &["check", "builtin:standard", "--suite", "small.yaml", "-q", "--dtype", "float32"],
    )
    .expect(0, &[]);
    at_home(
        folder,
        &["check", "builtin:standard", "--suite", "small.yaml", "-q", "--dtype", "float16"],
    )
    .expect(1, &["STALE"]);
    // Entries of other targets and suites wait for them.
    with(&entry("target: 'other*', ", "QK301"), "builtin:standard", 0, &["no finding"]);
    with(&entry("suite: core, ", "QK301"), "builtin:standard", 0, &["no finding"]);
    for (entries, part) in [
        (entry("", "''"), "finding: expected a code"),
        (entry("", "'*'"), "got a pattern of everything"),
        (entry("option: casual, ", "FAIL"), "did you mean `causal`?"),
        (entry("dtype: float31, ", "FAIL"), "did you mean `float32`?"),
        (
            entry("suite: smokee, ", "FAIL"),
            "suite: expected a known one, got `smokee`\nhint: did you mean `smoke`?",
        ),
        (entry("expires: 2026-13-01, ", "FAIL"), "expected a day such as"),
        (entry("laws: x, ", "FAIL"), "did you mean `law`?"),
        ("- {finding: FAIL}\n".to_owned(), "reason"),
    ] {
        with(&entries, FAULT, 2, &[FILE, part]);
    }
    std::fs::write(folder.join(FILE), "").expect("a file");
    at_home(folder, &["known", "list"])
        .expect(2, &["qkvet.known.yaml: expected entries, got an empty file", "known: []"]);
    // A flag names another file; one above is found from below.
    std::fs::write(folder.join("k.yaml"), format!("known:\n{}", entry("", "QK301")))
        .expect("a file");
    check(folder, FAULT, &["--known", "k.yaml"]).expect(0, &["KNOWN"]);
    check(folder, FAULT, &["--known", "no.yaml"]).expect(2, &["expected a readable file"]);
    std::fs::write(folder.join(FILE), format!("known:\n{}", entry("", "QK301"))).expect("a file");
    std::fs::create_dir(folder.join("below")).expect("a folder");
    check(&folder.join("below"), FAULT, &[]).expect(0, &["KNOWN"]);
}

#[test]
fn an_entry_holds_under_every_name_of_its_target() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let targets =
        format!("targets:\n  mine: {{target: {FAULT}}}\n  other: {{target: builtin:flash}}\n");
    std::fs::write(folder.join("qkvet.yaml"), targets).expect("a file");
    for named in ["mine", "m?ne", FAULT] {
        for target in ["mine", FAULT] {
            let _ = std::fs::remove_file(folder.join(FILE));
            check(folder, target, &[]).expect(1, &["FAIL  QK301"]);
            let entry = format!("known: [{{target: '{named}', finding: QK301, reason: r}}]\n");
            std::fs::write(folder.join(FILE), entry).expect("a file");
            at_home(folder, &["known", "add", "--reason", "old"])
                .expect(0, &["0 added, 1 known already"]);
            check(folder, target, &["--fail-fast"]).expect(0, &["KNOWN  FAIL: QK301"]);
            check(folder, target, &[]).expect(0, &["KNOWN  FAIL: QK301"]);
            at_home(folder, &["report"]).expect(0, &["KNOWN", "known: r"]);
        }
        // It is about no other target.
        check(folder, "other", &[]).expect(0, &["no finding"]);
    }
}

#[test]
fn an_entry_of_no_target_is_told() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join("qkvet.yaml"), format!("targets: {{mine: {{target: {FAULT}}}}}\n"))
        .expect("a file");
    let entry = |target: &str, finding: &str| {
        let text = format!(
            "known: [{{target: {target}, finding: {finding}, reason: r}}, {{finding: QK301, law: '*', reason: r}}]\n"
        );
        std::fs::write(folder.join(FILE), text).expect("a file");
    };
    // One without a target is about all of them, whatever they are called.
    std::fs::write(folder.join("qkvet.yaml"), format!("targets: {{f: {{target: {FAULT}}}}}\n"))
        .expect("a file");
    std::fs::write(folder.join(FILE), "known: [{finding: QK301, law: '*', reason: r}]\n")
        .expect("a file");
    check(folder, "f", &[]).expect(0, &["known: r\n"]);
    std::fs::write(folder.join("qkvet.yaml"), format!("targets: {{mine: {{target: {FAULT}}}}}\n"))
        .expect("a file");
    entry("minee", "QK301");
    check(folder, "mine", &[])
        .expect(2, &["target: expected a name of qkvet.yaml, got `minee`", "did you mean `mine`?"]);
    let add = [
        "known",
        "add",
        "--target",
        "mnie",
        "--law",
        "value",
        "--finding",
        "QK301",
        "--reason",
        "r",
    ];
    entry("mine", "QK301");
    at_home(folder, &add).expect(2, &["got `mnie`", "did you mean `mine`?"]);
    // One reason of two entries is told once.
    let known = check(folder, "mine", &[]);
    known.expect(0, &["known: r\n"]);
    // What the cases show in place of what the entry says.
    entry("mine", "QK101");
    check(folder, "mine", &[]).expect(1, &["none shows it any more: remove the entry\n"]);
    std::fs::write(folder.join(FILE), "known: [{finding: QK101, law: value, reason: r}]\n")
        .expect("a file");
    check(folder, "mine", &[]).expect(1, &["remove the entry; they show QK301 now"]);
}

#[test]
fn shards_and_their_whole_know_the_same() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join(FILE), "known: [{finding: QK301, reason: r}]\n").expect("a file");
    for shard in ["1/2", "2/2"] {
        check(folder, FAULT, &["--shard", shard]).expect(0, &[]);
    }
    at_home(folder, &["merge", "-q", ".qkvet/shards"]).expect(0, &["KNOWN"]);
    std::fs::write(
        folder.join(FILE),
        "known: [{finding: QK301, reason: r}, {finding: QK999, reason: r}]\n",
    )
    .expect("a file");
    at_home(folder, &["merge", "-q", ".qkvet/shards"]).expect(1, &["STALE"]);
}

#[test]
fn the_first_failure_that_counts_ends_a_run_and_no_other() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let first = check(folder, FAULT, &["--fail-fast"]);
    first.expect(1, &["stopped early"]);
    check(folder, FAULT, &[]).expect(1, &["FAIL  QK301"]);
    at_home(folder, &["known", "add", "--reason", "old"]).expect(0, &["1 added"]);
    let known = check(folder, FAULT, &["--fail-fast"]);
    known.expect(0, &["KNOWN"]);
    assert!(!known.stdout.contains("stopped early"), "{}", known.stdout);
    // What is known of one law says nothing of the others.
    std::fs::remove_file(folder.join(FILE)).expect("a file");
    let law = ["known", "add", "--reason", "old", "--law", "value", "--finding", "*"];
    at_home(folder, &law).expect(0, &["1 added"]);
    check(folder, FAULT, &["--fail-fast"]).expect(1, &["stopped early"]);
}

#[test]
fn what_nobody_looked_at_is_not_known() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    check(folder, FAULT, &["--dtype", "float32"]).expect(1, &["FAIL  QK301"]);
    at_home(folder, &["known", "add", "--reason", "old"]).expect(0, &["float32", "1 added"]);
    assert!(text(folder).contains("dtype: float32"), "{}", text(folder));
    check(folder, FAULT, &["--dtype", "float32"]).expect(0, &["KNOWN"]);
    check(folder, FAULT, &["--dtype", "float16"]).expect(1, &["FAIL  QK301"]);
    // It is gone as soon as a run of that format does not show it.
    check(folder, "builtin:flash", &["--dtype", "float16"]).expect(0, &[]);
}

#[test]
fn what_has_no_cause_is_known_where_it_was_seen() {
    if !has_python() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let write = |line: &str| {
        let text = numpy_attention("", &format!("    {line}\n"), "np.where(sums > 0, sums, 1)");
        std::fs::write(folder.join("att.py"), text).expect("a file");
    };
    let target = "att.py:attention";
    let wrong = "s = s * 1.37 + 0.2 * np.cos(s)";
    // Of the two laws one puts masks.
    for (condition, law, line, word) in [
        ("mask is not None", "value", "raise SystemExit(3)", "ERROR  SystemExit: 3"),
        (
            "mask is None",
            "rotation-invariance",
            wrong,
            "FAIL  wrong results that no known fault explains",
        ),
    ] {
        write(&format!("if {condition}: {line}"));
        check(folder, target, &[]).expect(1, &[word]);
        at_home(folder, &["known", "add", "--reason", "old"])
            .expect(0, &[&format!("law {law}"), " added"]);
        check(folder, target, &[]).expect(0, &["KNOWN  "]);
        // The other law has it now.
        write(line);
        check(folder, target, &[]).expect(1, &[word]);
        std::fs::remove_file(folder.join(FILE)).expect("it was there");
    }
}

#[test]
fn what_has_no_cause_is_known_by_what_its_cases_share() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    check(folder, FAULT, &[]).expect(1, &["FAIL  QK301"]);
    let report = std::fs::read_to_string(folder.join(".qkvet/last/report.json")).expect("a report");
    let added = |title: &str, shows: &dyn Fn(&qkvet_spec::CaseRecord) -> bool, parts: &[&str]| {
        let mut report: qkvet_spec::Summary = serde_json::from_str(&report).expect("a report");
        report.findings.truncate(1);
        if !title.starts_with("QK") {
            report.findings[0].cause = Cause::Broken { said: Quoted::new(title) };
        }
        for one in &mut report.records {
            one.finding = (one.law == "value" && shows(one)).then_some(0);
        }
        assert!(report.records.iter().any(|one| one.finding.is_some()), "{title}");
        std::fs::write(folder.join("r.json"), serde_json::to_string(&report).expect("JSON"))
            .expect("a file");
        at_home(folder, &["known", "add", "--reason", "old", "--from", "r.json"]).expect(0, parts);
        std::fs::remove_file(folder.join(FILE)).expect("it was there");
    };
    let is_causal = |one: &qkvet_spec::CaseRecord| one.call.contains(" causal");
    let is_half = |one: &qkvet_spec::CaseRecord| one.dtype == "float16";
    added("cause b", &|_| true, &[FAULT_NAME, "law value: fail:cause-b", "1 added"]);
    added("cause b", &is_half, &["law value, format float16: fail:cause-b", "1 added"]);
    added("cause b", &is_causal, &["law value, option causal: fail:cause-b", "1 added"]);
    added(
        "cause b",
        &|one| is_causal(one) && is_half(one),
        &["law value, option causal, format float16: fail:cause-b"],
    );
    // A fault is the same wherever it shows.
    added("QK301 so", &is_causal, &[&format!("{FAULT_NAME}: QK301")]);
}

#[test]
fn what_is_known_already_is_written_once() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    check(folder, FAULT, &["--dtype", "float32"]).expect(1, &["FAIL  QK301"]);
    let add = |words: &[&str]| {
        at_home(folder, &[&["known", "add", "--today", "2026-05-01"], words].concat())
    };
    add(&["--reason", "old"]).expect(0, &["1 added"]);
    let once = text(folder);
    // Another reason for the same finding, of the same run; the entry said so, by hand; and one
    // that is over.
    let again = ["known already: QK301", "0 added, 1 known already", "hint: a reason"];
    add(&["--reason", "other"]).expect(0, &again);
    add(&["--reason", "other", "--expires", "2026-06-01", "--target", "*"]).expect(0, &again);
    assert_eq!(text(folder), once);
    let over = once.trim_end().to_owned() + "\n    expires: 2026-04-30\n";
    std::fs::write(folder.join(FILE), &over).expect("a file");
    add(&["--reason", "other"]).expect(
        0,
        &["known already: target builtin:fault/weights-not-normalized", "0 added, 1 known already"],
    );
    assert_eq!(text(folder), over);
    // An entry by hand covers what the run found, and is written once too.
    std::fs::remove_file(folder.join(FILE)).expect("it was there");
    let by_hand = ["--law", "*", "--finding", "QK3*", "--reason", "old"];
    add(&by_hand).expect(0, &["1 added"]);
    let once = text(folder);
    add(&[&by_hand[..5], &["other"]].concat()).expect(0, &["0 added, 1 known already"]);
    add(&["--reason", "other"]).expect(0, &again);
    assert_eq!(text(folder), once);
    // What nobody knows yet is added beside what is known.
    add(&["--law", "value", "--finding", "QK301", "--reason", "new"]).expect(0, &["1 added"]);
}

#[test]
fn more_findings_than_anybody_looked_at_are_no_entries() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    check(folder, FAULT, &[]).expect(1, &["FAIL  QK301"]);
    let report = std::fs::read_to_string(folder.join(".qkvet/last/report.json")).expect("a report");
    let mut report: qkvet_spec::Summary = serde_json::from_str(&report).expect("a report");
    let (finding, record) = (report.findings[0].clone(), report.records[0].clone());
    let letters = |n: usize| {
        n.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect::<String>()
    };
    let said = |n| Quoted::new(format!("cause {}", letters(n)));
    let named =
        |n| qkvet_spec::Finding { cause: Cause::Broken { said: said(n) }, ..finding.clone() };
    let shown = |n| qkvet_spec::CaseRecord { finding: Some(n), ..record.clone() };
    report.findings = (0..20_000).map(named).collect();
    report.records = (0..20_000).map(shown).collect();
    std::fs::write(folder.join("many.json"), serde_json::to_string(&report).expect("JSON"))
        .expect("a file");
    let add = ["known", "add", "--reason", "old", "--from", "many.json"];
    at_home(folder, &add)
        .expect(2, &["at most 1000 entries to add at once, got 20000", "qkvet snapshot record"]);
    assert!(!folder.join(FILE).exists());
    at_home(folder, &[&add[..], &["--finding", "fail:cause-bcd"]].concat())
        .expect(0, &["fail:cause-bcd", "1 added"]);
}

#[cfg(unix)]
#[test]
fn entries_that_are_added_at_once_are_all_there() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    std::thread::scope(|scope| {
        for n in 0..8 {
            scope.spawn(move || {
                let law = format!("law-{n}");
                let add = ["known", "add", "--reason", "old", "--finding", "QK301", "--law", &law];
                at_home(folder, &add).expect(0, &["1 added"]);
            });
        }
    });
    assert_eq!(text(folder).matches("law: law-").count(), 8, "{}", text(folder));
}
