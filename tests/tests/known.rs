//! Known deviations end to end: what is covered does not fail, and what is stale does.

use std::path::Path;

use qkvet_report::English;
use qkvet_spec::{Breakage, CaseRecord, Cause, Summary, SummaryDocument};
use qkvet_tests::{Finished, Folder, finish, has_python, numpy_attention, qkvet, temp};

const FAULT: &str = "builtin:fault/weights-not-normalized";
const FAULT_NAME: &str = "target builtin:fault/weights-not-normalized";
const RIGHT: &str = "builtin:standard";
const FILE: &str = "qkvet.known.yaml";

/// Two laws of the suite `smoke` in two formats, so that a run is short.
const SUITE: &str = include_str!("../../specs/suites/smoke.yaml");

/// A check on a day of its own.
fn check(folder: &Path, target: &str, flags: &str) -> Finished {
    let line = |line: &str| match line.split(':').next() {
        Some("suite") => "suite: small\n".to_owned(),
        Some("laws") => "laws: [rotation-invariance, value]\n".to_owned(),
        Some("dtypes") => "dtypes: [float32, float16]\n".to_owned(),
        Some("together") => String::new(),
        _ => format!("{line}\n"),
    };
    folder.write("small.yaml", SUITE.lines().map(line).collect::<String>());
    let today = if flags.contains("--today") { "" } else { "--today 2026-05-01" };
    folder.at_home(format!("check {target} --suite small.yaml --format json {flags} {today}"))
}

/// Findings that fail, the states of entries, and the exit code that follows.
fn comes_to(finished: &Finished, failing: &[&str], states: &[&str]) {
    let is_stale = |state: &&str| ["gone", "unmatched", "expired"].contains(state);
    let code = !failing.is_empty() || states.iter().any(is_stale);
    let report = finished.report(i32::from(code));
    assert_eq!(report.failing(), failing);
    assert_eq!(report.known(), states);
}

const HOLDS: &[&str] = &["holds"];

fn fails(folder: &Path) {
    comes_to(&check(folder, FAULT, ""), &["QK301"], &[]);
}

/// What it comes to that entries are added.
fn add(folder: &Path, words: &str) -> Finished {
    folder.at_home(format!("known add --today 2026-05-01 --reason old {words}"))
}

fn last(folder: &Path) -> Summary {
    serde_json::from_str(&folder.read(".qkvet/last/report.json")).expect("a report")
}

fn write_report(folder: &Path, name: &str, report: &Summary) {
    folder
        .write(name, serde_json::to_string(&SummaryDocument::new(report, &English)).expect("JSON"));
}

fn remove(folder: &Path) {
    std::fs::remove_file(folder.join(FILE)).expect("it was there");
}

#[test]
fn what_is_known_does_not_fail_until_it_is_gone() {
    let folder = temp();
    let folder = folder.path();
    for command in ["list", "prune"] {
        folder.at_home(format!("known {command}")).expect(2, &[FILE, "`qkvet known add"]);
    }
    fails(folder);
    let reason = "kernel 7 does it so: \"old\"";
    let words = format!("known add --reason '{reason}' --link https://example.org/7 --target *");
    let add = |more: &str| folder.at_home(format!("{words} {more}"));
    finish(qkvet(folder).args(["known", "add", "--reason", "r"]).env("CI", "1")).expect(2, &["CI"]);
    assert!(!folder.has(FILE));
    add("--expires 2026-02-30").expect(2, &["2026-02-30"]);
    add("--expires 2026-01-31 --today 2026-02-01").expect(2, &["--expires", "2026-01-31"]);
    add("--expires 2026-06-30 --today 2026-05-01").expect(0, &["QK301", "1 added"]);
    // The run that it was added from is held against it, though it was before.
    folder.at_home("known list --today 2026-05-01").expect(0, &["QK301", "holds", "2026-06-30"]);
    let written = folder.read(FILE);
    add("--expires 2026-06-30 --today 2026-05-01").expect(0, &["0 added, 1 "]);
    // A day that is none is told where there is nothing to add, too.
    add("--expires 99999-01-01").expect(2, &["--expires", "99999-01-01"]);
    assert_eq!(folder.read(FILE), written);
    let quoted = reason.replace('"', "\\\"");
    assert!(written.contains(&format!("finding: QK301\n    reason: \"{quoted}\"\n")), "{written}");

    let files = "junit=j.xml,sarif=s.json,gitlab=g.json,github=g.txt,html=h.html,markdown=m.md";
    let known = check(folder, FAULT, &format!("--report {files}"));
    comes_to(&known, &[], HOLDS);
    let shown = folder.at_home("report");
    shown.expect(0, &["KNOWN", "QK301", "kernel 7", "2026-06-30", "1 known"]);
    let has = |name: &str, part: &str| folder.read(name).contains(part);
    assert!(has("j.xml", "failures=\"0\"") && has("j.xml", "<skipped message=\"known: kernel 7"));
    assert!(has("s.json", "\"suppressions\""));
    assert_eq!(folder.read("g.json").trim(), "[]");
    assert!(!has("g.txt", "::error"), "{}", folder.read("g.txt"));
    assert!(has("h.html", "kernel 7") && has("m.md", "kernel 7"));
    // Without today's date in it, the report is the same on every day.
    let on = |day: &str| check(folder, FAULT, &format!("--today {day}")).stdout;
    assert_eq!(on("2026-05-01"), on("2026-06-30"));
    // What is known of one target says nothing of a shard or of some laws.
    check(folder, RIGHT, "--law value").finds(&[]);
    check(folder, RIGHT, "--shard 1/2").finds(&[]);

    comes_to(&check(folder, FAULT, "--today 2026-07-01"), &["QK301"], &["expired"]);
    comes_to(&check(folder, RIGHT, ""), &[], &["gone"]);
    folder.at_home("report").expect(0, &["STALE", "QK301"]);
    folder.at_home("known prune").expect(0, &["QK301", "1 removed"]);
    assert!(folder.read(FILE).contains("known: []"), "{}", folder.read(FILE));
    comes_to(&check(folder, RIGHT, ""), &[], &[]);
}

#[test]
fn entries_cover_what_they_name_and_nothing_else() {
    let folder = temp();
    let folder = folder.path();
    let entry =
        |place: &str, finding: &str| format!("- {{{place}finding: {finding}, reason: r}}\n");
    let with = |entries: &str, target: &str| {
        folder.write(FILE, format!("known:\n{entries}"));
        check(folder, target, "")
    };
    let (fails, gone) = (&["QK301"][..], &["gone"][..]);
    for (place, finding, target, failing, states) in [
        ("", "QK301", FAULT, &[][..], HOLDS),
        ("", "QK3?1", FAULT, &[], HOLDS),
        ("", "FAIL", FAULT, &[], HOLDS),
        ("", "\"*divided by their sum*\"", FAULT, &[], HOLDS),
        // A part of the cases is not all of them.
        ("law: '*', dtype: float32, ", "QK301", FAULT, fails, HOLDS),
        ("law: rotation-invariance, ", "QK301", FAULT, fails, HOLDS),
        ("", "QK999", FAULT, fails, gone),
        ("", "QK201", FAULT, fails, gone),
        // A suite may be one of a file.
        ("suite: small, ", "QK301", FAULT, &[], HOLDS),
        ("law: no-such-law, ", "QK301", FAULT, fails, &["unmatched"]),
        ("case: c-0000000000000000, ", "QK301", RIGHT, &[], &["unmatched"]),
        ("dtype: float16, ", "QK301", RIGHT, &[], gone),
        // Entries of other targets and suites wait for them.
        ("target: 'other*', ", "QK301", RIGHT, &[], &["not-asked"]),
        ("suite: core, ", "QK301", RIGHT, &[], &["not-asked"]),
        ("suite: elsewhere, ", "QK301", RIGHT, &[], &["not-asked"]),
    ] {
        comes_to(&with(&entry(place, finding), target), failing, states);
    }
    folder.at_home("known list").expect(0, &["elsewhere"]);
    // A code that no fault has is told apart from a fault that is gone.
    for (code, is_told) in [("QK999", true), ("QK201", false)] {
        with(&entry("", code), FAULT).ends(1);
        let told = folder.at_home("report").stdout;
        assert_eq!(told.matches(code).count() > 1, is_told, "{told}");
    }
    // A run of other formats says nothing of an entry, one of its own does.
    with(&entry("dtype: float16, ", "QK301"), RIGHT).ends(1);
    comes_to(&check(folder, RIGHT, "--dtype float32"), &[], &["not-asked"]);
    comes_to(&check(folder, RIGHT, "--dtype float16"), &[], gone);
    for (entries, part) in [
        (entry("", "''"), "finding"),
        (entry("", "'*'"), "finding"),
        (entry("option: casual, ", "FAIL"), "`causal`?"),
        (entry("dtype: float31, ", "FAIL"), "`float32`?"),
        (entry("suite: smokee, ", "FAIL"), "`smoke`?"),
        (entry("expires: 2026-13-01, ", "FAIL"), "2026-13-01"),
        (entry("laws: x, ", "FAIL"), "`law`?"),
        ("- {finding: FAIL}\n".to_owned(), "reason"),
    ] {
        with(&entries, FAULT).expect(2, &[FILE, part]);
    }
    folder.write(FILE, "");
    folder.at_home("known list").expect(2, &[FILE, "known: []"]);
    // A flag names another file; one above is found from below.
    folder.write("k.yaml", format!("known:\n{}", entry("", "QK301")));
    comes_to(&check(folder, FAULT, "--known k.yaml"), &[], HOLDS);
    check(folder, FAULT, "--known no.yaml").expect(2, &["no.yaml"]);
    folder.write(FILE, format!("known:\n{}", entry("", "QK301")));
    comes_to(&check(&folder.join("below"), FAULT, ""), &[], HOLDS);
}

#[test]
fn an_entry_holds_under_every_name_of_its_target() {
    let folder = temp();
    let folder = folder.path();
    let targets =
        format!("targets:\n  mine: {{target: {FAULT}}}\n  other: {{target: builtin:flash}}\n");
    folder.write("qkvet.yaml", targets);
    for named in ["mine", "m?ne", FAULT] {
        for target in ["mine", FAULT] {
            let _ = std::fs::remove_file(folder.join(FILE));
            comes_to(&check(folder, target, ""), &["QK301"], &[]);
            let entry = format!("known: [{{target: '{named}', finding: QK301, reason: r}}]\n");
            folder.write(FILE, entry);
            add(folder, "").expect(0, &["0 added, 1 "]);
            comes_to(&check(folder, target, "--fail-fast"), &[], HOLDS);
            comes_to(&check(folder, target, ""), &[], HOLDS);
            folder.at_home("report").expect(0, &["KNOWN", ": r"]);
        }
        // It is about no other target.
        check(folder, "other", "").finds(&[]);
    }
}

#[test]
fn an_entry_of_no_target_is_told() {
    let folder = temp();
    let folder = folder.path();
    let entry = |target: &str, finding: &str| {
        let text = format!(
            "known: [{{target: {target}, finding: {finding}, reason: r}}, {{finding: QK301, law: '*', reason: r}}]\n"
        );
        folder.write(FILE, text);
    };
    // One without a target is about all of them, whatever they are called.
    folder.write("qkvet.yaml", format!("targets: {{f: {{target: {FAULT}}}}}\n"));
    folder.write(FILE, "known: [{finding: QK301, law: '*', reason: r}]\n");
    comes_to(&check(folder, "f", ""), &[], HOLDS);
    folder.write("qkvet.yaml", format!("targets: {{mine: {{target: {FAULT}}}}}\n"));
    entry("minee", "QK301");
    check(folder, "mine", "").expect(2, &["qkvet.yaml", "`minee`", "`mine`?"]);
    entry("mine", "QK301");
    add(folder, "--target mnie --law value --finding QK301").expect(2, &["`mnie`", "`mine`?"]);
    // One reason of two entries is told once.
    comes_to(&check(folder, "mine", ""), &[], &["holds", "holds"]);
    assert_eq!(folder.at_home("report").stdout.matches(": r\n").count(), 1);
    // What the cases show in place of what the entry says.
    let stale = |failing: &[&str], states: &[&str]| {
        comes_to(&check(folder, "mine", ""), failing, states);
        folder.at_home("report").stdout
    };
    entry("mine", "QK101");
    assert!(stale(&[], &["gone", "holds"]).contains("STALE"));
    folder.write(FILE, "known: [{finding: QK101, law: value, reason: r}]\n");
    let told = stale(&["QK301"], &["gone"]);
    assert!(told.lines().any(|line| line.contains("entry") && line.contains("QK301")), "{told}");
}

#[test]
fn shards_and_their_whole_know_the_same() {
    let folder = temp();
    let folder = folder.path();
    let entries = |entries: &str| folder.write(FILE, format!("known: [{entries}]\n"));
    entries("{finding: QK301, reason: r}");
    for shard in ["1/2", "2/2"] {
        check(folder, FAULT, &format!("--shard {shard}")).ends(0);
    }
    let merge = || folder.at_home("merge --format json .qkvet/shards");
    comes_to(&merge(), &[], HOLDS);
    entries("{finding: QK301, reason: r}, {finding: QK999, reason: r}");
    comes_to(&merge(), &[], &["holds", "gone"]);
}

#[test]
fn the_first_failure_that_counts_ends_a_run_and_no_other() {
    let folder = temp();
    let folder = folder.path();
    let stops = || {
        let report = check(folder, FAULT, "--fail-fast");
        let code = report.code.unwrap_or(2);
        (code, report.report(code)["stopped"] == "first-finding")
    };
    assert_eq!(stops(), (1, true));
    fails(folder);
    add(folder, "").expect(0, &["1 added"]);
    assert_eq!(stops(), (0, false));
    // What is known of one law says nothing of the others.
    remove(folder);
    add(folder, "--law value --finding *").expect(0, &["1 added"]);
    assert_eq!(stops(), (1, true));
}

#[test]
fn what_nobody_looked_at_is_not_known() {
    let folder = temp();
    let folder = folder.path();
    check(folder, FAULT, "--dtype float32").finds(&["QK301"]);
    add(folder, "").expect(0, &["float32", "1 added"]);
    assert!(folder.read(FILE).contains("dtype: float32"), "{}", folder.read(FILE));
    comes_to(&check(folder, FAULT, "--dtype float32"), &[], HOLDS);
    check(folder, FAULT, "--dtype float16 --law rotation-invariance").finds(&["QK301"]);
    // It is gone as soon as a run of that format does not show it.
    check(folder, "builtin:flash", "--dtype float16").ends(0);
}

#[test]
fn what_has_no_cause_is_known_where_it_was_seen() {
    if !has_python() {
        return;
    }
    let folder = temp();
    let folder = folder.path();
    let write = |line: &str| {
        let lines = format!("    {line}\n");
        folder.write("att.py", numpy_attention("", &lines, "np.where(sums > 0, sums, 1)"));
    };
    let target = "att.py:attention";
    let wrong = "s = s * 1.37 + 0.2 * np.cos(s)";
    // Of the two laws one puts masks.
    for (condition, law, line, name) in [
        ("mask is not None", "value", "raise SystemExit(3)", "ERROR"),
        ("mask is None", "rotation-invariance", wrong, "unexplained"),
    ] {
        write(&format!("if {condition}: {line}"));
        check(folder, target, "").finds(&[name]);
        add(folder, "").expect(0, &[&format!("law {law}")]);
        check(folder, target, "").finds(&[]);
        // The other law has it now.
        write(line);
        check(folder, target, "").finds(&[name]);
        remove(folder);
    }
}

#[test]
fn what_has_no_cause_is_known_by_what_its_cases_share() {
    let folder = temp();
    let folder = folder.path();
    fails(folder);
    let added = |said: Option<&str>, shows: &dyn Fn(&CaseRecord) -> bool, part: &str| {
        let mut report = last(folder);
        report.findings.truncate(1);
        if let Some(said) = said {
            report.findings[0].cause = Cause::Broken { how: Breakage::Said(said.into()) };
        }
        for one in &mut report.records {
            one.finding = (one.law == "value" && shows(one)).then_some(0);
        }
        assert!(report.records.iter().any(|one| one.finding.is_some()), "{part}");
        write_report(folder, "r.json", &report);
        add(folder, "--from r.json").expect(0, &[FAULT_NAME, part, "1 added"]);
        remove(folder);
    };
    let has_bias = |one: &CaseRecord| one.call.contains(" bias");
    let is_half = |one: &CaseRecord| one.dtype == "float16";
    let both = |one: &CaseRecord| has_bias(one) && is_half(one);
    let said = Some("cause b");
    added(said, &|_| true, "law value: fail:cause-b");
    added(said, &is_half, "law value, format float16: fail:cause-b");
    added(said, &has_bias, "law value, option bias: fail:cause-b");
    added(said, &both, "law value, option bias, format float16: fail:cause-b");
    // A fault is the same wherever it shows.
    added(None, &has_bias, &format!("{FAULT_NAME}: QK301"));
}

#[test]
fn what_is_known_already_is_written_once() {
    let folder = temp();
    let folder = folder.path();
    check(folder, FAULT, "--dtype float32").finds(&["QK301"]);
    let add = |words: &str| folder.at_home(format!("known add --today 2026-05-01 {words}"));
    add("--reason old").expect(0, &["1 added"]);
    let once = folder.read(FILE);
    // Another reason for the same finding, of the same run; the entry said so, by hand; and one
    // that is over.
    let again = ["QK301", "0 added, 1 ", "hint: "];
    add("--reason other").expect(0, &again);
    add("--reason other --expires 2026-06-01 --target *").expect(0, &again);
    assert_eq!(folder.read(FILE), once);
    let over = once.trim_end().to_owned() + "\n    expires: 2026-04-30\n";
    folder.write(FILE, &over);
    add("--reason other").expect(0, &[FAULT_NAME, "0 added, 1 "]);
    assert_eq!(folder.read(FILE), over);
    // An entry by hand covers what the run found, and is written once too.
    remove(folder);
    let by_hand = "--law * --finding QK3* --reason";
    add(&format!("{by_hand} old")).expect(0, &["1 added"]);
    let once = folder.read(FILE);
    add(&format!("{by_hand} other")).expect(0, &["0 added, 1 "]);
    add("--reason other").expect(0, &again);
    assert_eq!(folder.read(FILE), once);
    // What nobody knows yet is added beside what is known.
    add("--law value --finding QK301 --reason new").expect(0, &["1 added"]);
}

#[test]
fn more_findings_than_anybody_looked_at_are_no_entries() {
    let folder = temp();
    let folder = folder.path();
    fails(folder);
    let mut report = last(folder);
    let (finding, record) = (report.findings[0].clone(), report.records[0].clone());
    let letters = |n: usize| {
        n.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect::<String>()
    };
    let how = |n| Breakage::Said(format!("cause {}", letters(n)).into());
    let named = |n| qkvet_spec::Finding { cause: Cause::Broken { how: how(n) }, ..finding.clone() };
    let shown = |n| CaseRecord { finding: Some(n), ..record.clone() };
    report.findings = (0..2_000).map(named).collect();
    report.records = (0..2_000).map(shown).collect();
    write_report(folder, "many.json", &report);
    add(folder, "--from many.json").expect(2, &["1000", "2000", "qkvet snapshot record"]);
    assert!(!folder.has(FILE));
    add(folder, "--from many.json --finding fail:cause-bcd")
        .expect(0, &["fail:cause-bcd", "1 added"]);
}

#[cfg(unix)]
#[test]
fn entries_that_are_added_at_once_are_all_there() {
    let folder = temp();
    let folder = folder.path();
    std::thread::scope(|scope| {
        for n in 0..8 {
            scope.spawn(move || {
                add(folder, &format!("--finding QK301 --law law-{n}")).expect(0, &["1 added"]);
            });
        }
    });
    let written = folder.read(FILE);
    assert_eq!(written.matches("law: law-").count(), 8, "{written}");
}
