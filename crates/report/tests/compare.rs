//! Each kind of change between a snapshot and a run is seen, and what a run has not seen is left
//! alone.

use std::collections::{BTreeMap, BTreeSet};

use qkvet_report::{
    ReportFormat, accept, apply_known, compare, new_snapshot, read_known, read_snapshot,
    snapshot_text, write_as, write_snapshot,
};
use qkvet_spec::{
    Aspect, Breakage, CallOption, CaseRecord, Catalog, Cause, Change, Chosen, Coverage, Dims,
    Evidence, Expectation, FaultRef, Finding, FindingKind, FindingState, Got, KnownState, Place,
    Quoted, RunInfo, Snapshot, SnapshotOutcome, Stopped, Summary, Verdict, Warning, Witness,
};

const DIMS: Dims = Dims { b: 1, h_q: 1, h_k: 1, n_q: 1, n_k: 1, d_k: 1, d_v: 1 };

/// A fault, `QK221 title`, or what a broken target said.
fn cause(text: &str) -> Cause {
    let faults: Vec<FaultRef> = text
        .split(", with ")
        .filter(|part| part.starts_with("QK"))
        .filter_map(|part| part.split_once(' '))
        .map(|(code, title)| FaultRef {
            code: code.to_owned(),
            fault: code.to_lowercase(),
            title: title.to_owned(),
            tell: String::new(),
        })
        .collect();
    if faults.is_empty() {
        return Cause::Broken { how: Breakage::Said(text.into()) };
    }
    Cause::Faults { faults, explained: 1, of: 1, contradicted: 0, rival: None }
}

fn finding(title: &str, verdict: Verdict) -> Finding {
    Finding {
        state: FindingState::Final,
        kind: FindingKind::Verdict,
        verdict,
        cause: cause(title),
        notes: Vec::new(),
        law: "value".to_owned(),
        law_title: "Value".to_owned(),
        contract: "f32".to_owned(),
        laws: BTreeMap::new(),
        cases: 1,
        of: 1,
        known: 0,
        condition: None,
        region: None,
        witness: Witness {
            case: "c-1".to_owned(),
            call: String::new(),
            dims: DIMS,
            inputs: Vec::new(),
            token: None,
        },
        evidence: Evidence::new(
            Place { of: "output".to_owned(), its_output: false, what: Aspect::Whole },
            Expectation::Result,
            Got::Said(Quoted::new("2")),
        ),
        reading: None,
        structure: None,
        replay: String::new(),
        replay_anywhere: None,
        script: None,
        script_text: None,
        example: None,
        picture: None,
    }
}

/// A case of `law/id`: verdict, margin, number of the finding.
fn case(name: &str, verdict: Verdict, margin: f64, finding: Option<usize>) -> CaseRecord {
    let (law, id) = name.split_once('/').expect("law/id");
    CaseRecord {
        id: id.to_owned(),
        law: law.to_owned(),
        dtype: "float32".to_owned(),
        call: "float32 n_q=1 n_k=1 causal".to_owned(),
        dims: DIMS,
        options: vec![CallOption::Causal],
        verdict,
        margin: (margin >= 0.0).then_some(margin),
        evidence: None,
        replay: None,
        finding,
        known: false,
        digest: None,
    }
}

fn summary(findings: Vec<Finding>, records: Vec<CaseRecord>) -> Summary {
    let laws = records.iter().map(|record| (record.law.clone(), 1)).collect();
    Summary {
        format: String::new(),
        run: RunInfo {
            tool: "qkvet 1.2.3".to_owned(),
            target: "builtin:x".to_owned(),
            environment: Vec::new(),
            suite: "smoke".to_owned(),
            suite_version: 1,
            seed: 0,
            conventions: Vec::new(),
            contracts: BTreeMap::from([("float32".to_owned(), "f32".to_owned())]),
            cases: records.len(),
            source: None,
            device: None,
            is_layer: false,
            chosen: Vec::new(),
            takes: None,
            fit: None,
            configuration: BTreeMap::new(),
        },
        counts: BTreeMap::new(),
        findings,
        coverage: Coverage { laws, ..Coverage::default() },
        stopped: None,
        interrupted: false,
        other_configuration: false,
        warnings: Vec::new(),
        known: None,
        snapshot: None,
        claim: None,
        records,
    }
}

fn recorded(summary: &Summary) -> Snapshot {
    let mut snapshot = new_snapshot(&summary.run.target);
    let outcome = compare(&snapshot, summary, "s", None, true);
    accept(&mut snapshot, summary, &outcome, false, &|_| true);
    let again = read_snapshot("s", &write_snapshot(&snapshot)).expect("what is written is read");
    assert_eq!(write_snapshot(&again), write_snapshot(&snapshot));
    again
}

fn changes(outcome: &SnapshotOutcome) -> Vec<(Change, &str)> {
    outcome.changes.iter().map(|one| (one.change, one.case.as_str())).collect()
}

/// What becomes of a case that goes from one to the other, beside a case of the same law that stays
/// at 2^-3.
fn change(before: (Verdict, f64, &str), now: (Verdict, f64, &str)) -> Vec<Change> {
    let run = |(verdict, margin, title): (Verdict, f64, &str)| {
        let findings = if title.is_empty() { Vec::new() } else { vec![finding(title, verdict)] };
        let number = (!title.is_empty()).then_some(0);
        summary(
            findings,
            vec![
                case("value/c-1", verdict, margin, number),
                case("value/c-2", Verdict::Pass, 0.12, None),
            ],
        )
    };
    let outcome = compare(&recorded(&run(before)), &run(now), "s", None, false);
    assert_eq!(outcome.compared, 2);
    changes(&outcome).into_iter().map(|(change, _)| change).collect()
}

#[test]
fn each_kind_of_change_is_seen() {
    use Verdict::{Crash, Fail, Inconclusive, Pass, Refused, Suspect, Unsupported};
    const NAMED: &str = "QK221 by remainder";
    let none = Vec::<Change>::new();
    for (before, now, expected) in [
        ((Pass, 0.1, ""), (Pass, 0.1, ""), none.clone()),
        ((Pass, 0.1, ""), (Fail, 9.0, NAMED), vec![Change::Worse]),
        ((Pass, 0.1, ""), (Suspect, 0.9, ""), vec![Change::Worse]),
        ((Pass, 0.1, ""), (Inconclusive, -1.0, ""), vec![Change::Worse]),
        ((Pass, 0.1, ""), (Unsupported, -1.0, ""), vec![Change::Worse]),
        ((Unsupported, -1.0, ""), (Refused, -1.0, ""), vec![Change::Worse]),
        ((Unsupported, -1.0, ""), (Fail, 9.0, NAMED), vec![Change::Worse]),
        ((Fail, 9.0, NAMED), (Unsupported, -1.0, ""), vec![Change::Better]),
        ((Fail, 9.0, NAMED), (Pass, 0.1, ""), vec![Change::Better]),
        ((Unsupported, -1.0, ""), (Pass, 0.1, ""), vec![Change::Better]),
        ((Fail, 9.0, NAMED), (Fail, 9.0, "QK301 not divided"), vec![Change::NewFinding]),
        ((Fail, 9.0, NAMED), (Crash, -1.0, "SIGSEGV"), vec![Change::NewFinding]),
        ((Pass, 0.1, ""), (Pass, 0.1, "undeclared convention: x"), vec![Change::NewFinding]),
        ((Pass, 0.1, "undeclared convention: x"), (Pass, 0.1, ""), vec![Change::Better]),
        // Bands: one step is nothing, two are, if no case of the law was there before.
        ((Pass, 0.12, ""), (Pass, 0.24, ""), vec![Change::Drift]),
        ((Pass, 0.12, ""), (Pass, 0.26, ""), vec![Change::LargerError]),
        ((Pass, 0.001, ""), (Pass, 0.12, ""), vec![Change::Drift]),
        ((Pass, 0.001, ""), (Pass, 0.24, ""), vec![Change::LargerError]),
        ((Pass, 0.0, ""), (Pass, 0.12, ""), vec![Change::Drift]),
        ((Pass, 0.26, ""), (Pass, 0.12, ""), vec![Change::SmallerError]),
        ((Fail, 9.0, NAMED), (Fail, 12.0, NAMED), none.clone()),
        ((Fail, 9.0, NAMED), (Fail, 70.0, NAMED), vec![Change::LargerError]),
        // NaN has no band.
        ((Fail, 9.0, NAMED), (Fail, -1.0, NAMED), vec![Change::LargerError]),
        ((Fail, -1.0, NAMED), (Fail, 9.0, NAMED), vec![Change::SmallerError]),
    ] {
        assert_eq!(change(before, now), expected, "{before:?} {now:?}");
    }
}

#[test]
fn a_run_that_saw_less_says_less() {
    let (a, b) =
        (case("value/c-1", Verdict::Pass, 0.1, None), case("rows/c-2", Verdict::Pass, 0.1, None));
    let whole = summary(Vec::new(), vec![a.clone(), b.clone()]);
    let snapshot = recorded(&whole);
    let text = write_snapshot(&snapshot);
    let partial = summary(Vec::new(), vec![a.clone()]);
    let outcome = compare(&snapshot, &partial, "s", None, false);
    assert_eq!(changes(&outcome), [(Change::Missing, "c-2")], "a whole run that has it no more");
    let mut kept = snapshot.clone();
    accept(&mut kept, &partial, &outcome, false, &|_| true);
    assert_eq!(write_snapshot(&kept), text);
    accept(&mut kept, &partial, &outcome, true, &|_| true);
    assert!(!write_snapshot(&kept).contains("c-2"));

    let skipped = CaseRecord { verdict: Verdict::Skipped, margin: None, ..b.clone() };
    let mut runs = vec![partial.clone(); 3];
    runs[0].run.chosen = vec![Chosen::Laws];
    runs[1].run.chosen = vec![Chosen::Shard];
    runs[2].records.push(skipped);
    runs[2].stopped = Some(Stopped::Interrupted);
    for run in &runs {
        let outcome = compare(&snapshot, run, "s", None, false);
        assert_eq!((changes(&outcome), outcome.left_out), (Vec::new(), 1), "{:?}", run.run.chosen);
        let mut kept = snapshot.clone();
        accept(&mut kept, run, &outcome, true, &|_| true);
        assert_eq!(write_snapshot(&kept), text);
    }
    // Another name of the same failure counts only where every case was looked at.
    let failing = |title: &str, verdict: Verdict| {
        summary(
            vec![finding(title, verdict)],
            vec![case("value/c-1", verdict, 9.0, Some(0)), b.clone()],
        )
    };
    // How a target broke is seen in one case by itself.
    for (verdict, one, another, in_part) in [
        (Verdict::Fail, "QK221 by remainder", "wrong results", Change::Drift),
        (Verdict::Error, "out of memory", "no such head", Change::NewFinding),
        (Verdict::Crash, "SIGSEGV", "SIGBUS", Change::NewFinding),
    ] {
        let snapshot = recorded(&failing(one, verdict));
        let mut other = failing(another, verdict);
        let seen = |other: &Summary| compare(&snapshot, other, "s", None, false);
        assert_eq!(changes(&seen(&other)), [(Change::NewFinding, "c-1")], "{another}");
        other.run.chosen = vec![Chosen::Laws];
        assert_eq!(changes(&seen(&other)), [(in_part, "c-1")], "{another}");
    }
}

#[test]
fn bits_and_keys() {
    let with = |digest: Option<&str>| {
        let digest = digest.map(str::to_owned);
        summary(
            Vec::new(),
            vec![CaseRecord { digest, ..case("value/c-1", Verdict::Pass, 0.1, None) }],
        )
    };
    let snapshot = recorded(&with(Some("aa")));
    let exact = |run: &Summary, exact: bool| {
        let outcome = compare(&snapshot, run, "s", None, exact);
        changes(&outcome).into_iter().map(|(change, _)| change).collect::<Vec<_>>()
    };
    assert_eq!(exact(&with(Some("aa")), true), []);
    assert_eq!(exact(&with(Some("bb")), true), [Change::OtherBits]);
    assert_eq!(exact(&with(Some("bb")), false), []);
    assert_eq!(exact(&with(None), false), []);
    // Another device, suite, seed, contract or convention is another part.
    let base = with(None);
    let mut others = vec![base.clone(); 5];
    others[0].run.device = Some("cuda:0".into());
    others[1].run.suite = "core".to_owned();
    others[2].run.seed = 1;
    others[3].run.contracts.insert("float32".to_owned(), "tf32".to_owned());
    others[4].run.conventions = vec!["causal=upper-left".to_owned()];
    let mut all = snapshot.clone();
    for other in &others {
        let outcome = compare(&snapshot, other, "s", None, false);
        assert_eq!((outcome.compared, changes(&outcome)), (0, vec![(Change::New, "c-1")]));
        assert_eq!(
            (outcome.left_out, outcome.not_asked.len(), outcome.not_recorded.len()),
            (0, 1, 1)
        );
        accept(&mut all, other, &outcome, true, &|_| true);
    }
    assert_eq!(read_snapshot("s", &write_snapshot(&all)).map(|all| all.parts.len()), Ok(6));
    for run in others.iter().chain([&base]) {
        assert!(compare(&all, run, "s", None, false).changes.is_empty());
    }
    // What the run did not ask is told in one line, by what tells it from the run.
    let outcome = compare(&all, &base, "s", None, false);
    let parts: Vec<&str> = outcome.not_asked.iter().map(|part| part.part.as_str()).collect();
    let told = [
        "suite core@1 float32 under f32",
        "float32 under f32 conventions causal=upper-left",
        "seed 1 float32 under f32",
        "float32 under tf32",
        "device cuda:0 float32 under f32",
    ];
    assert_eq!(parts.iter().collect::<BTreeSet<_>>(), told.iter().collect::<BTreeSet<_>>());
    let text = snapshot_text(&outcome, &BTreeMap::new(), None);
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("not asked")).collect();
    assert!(lines.len() == 1 && told.iter().all(|part| lines[0].contains(part)), "{text}");
    assert!(text.contains("no change") && !text.contains("not recorded"), "{text}");
    // A part that somebody deleted is new.
    all.parts.retain(|part| part.contract != "tf32");
    let text = snapshot_text(&compare(&all, &others[3], "s", None, false), &BTreeMap::new(), None);
    assert!(text.contains("not recorded       1  part float32 under tf32"), "{text}");
}

#[test]
fn a_new_name_is_no_change() {
    // No code of the catalog was given up so far: an id stands for one.
    let mut found = finding("QK221 by remainder, with QK310 odds", Verdict::Fail);
    if let Cause::Faults { faults, .. } = &mut found.cause {
        faults[1].code = "raised-score-odds".to_owned();
    }
    let run = summary(
        vec![found],
        vec![
            case("no-larger-than-values/c-1", Verdict::Fail, 9.0, Some(0)),
            case("no-larger-than-values/c-2", Verdict::Pass, 0.1, None),
        ],
    );
    let now = write_snapshot(&recorded(&run));
    let old = now.replace("no-larger-than-values", "no-larger-than-the-values");
    let old = old.replace("raised-score-odds", "raised-score");
    assert_ne!(old, now);
    let snapshot = read_snapshot("s", &old).expect("old names");
    let outcome = compare(&snapshot, &run, "s", None, false);
    assert_eq!((changes(&outcome), outcome.compared), (Vec::new(), 2));
    assert_eq!(write_snapshot(&snapshot), now);
}

#[test]
fn a_file_that_is_cut_anywhere_is_told_to_be_cut() {
    let run = summary(
        vec![finding("QK221 by remainder", Verdict::Fail)],
        vec![
            case("value/c-1", Verdict::Fail, 9.0, Some(0)),
            case("rows/c-2", Verdict::Pass, 0.1, None),
        ],
    );
    let mut other = run.clone();
    other.run.device = Some("cuda:0".into());
    let mut snapshot = recorded(&run);
    let outcome = compare(&snapshot, &other, "s", None, false);
    accept(&mut snapshot, &other, &outcome, false, &|_| true);
    let text = write_snapshot(&snapshot);
    for cut in (1..text.len()).filter(|at| text.is_char_boundary(*at)) {
        let error = read_snapshot("s", &text[..cut]).expect_err("a file that is cut").to_string();
        assert!(
            error.contains("the file is cut off\nhint: take it from version control again"),
            "{cut}: {error}"
        );
    }
    // What is wrong with a whole one is told as it is.
    let conflict = text.replacen(
        "    seed: 0\n",
        "<<<<<<< HEAD\n    seed: 0\n=======\n    seed: 1\n>>>>>>> other\n",
        1,
    );
    for (text, told) in [
        (conflict, "s:8: expected cases, got a merge that is not resolved"),
        (text.replacen("    suite: \"smoke@1\"\n", "", 1), "suite"),
        (
            text.replacen("format: qkvet-snapshot/2", "format: qkvet-snapshot/1", 1)
                .replace("    seed: 0\n", ""),
            "seed",
        ),
        ("targets: {}\n".to_owned(), "format"),
    ] {
        let error = read_snapshot("s", &text).expect_err("a file that is wrong").to_string();
        assert!(error.contains(told) && !error.contains("cut off"), "{error}");
    }
}

#[test]
fn hostile_names_stay_names() {
    let title = "error: \u{1b}[2J # x: [y\u{2028}z]";
    let mut run = summary(
        vec![finding(title, Verdict::Error), finding("QK221 a: \"b\" # c\u{1b}", Verdict::Fail)],
        vec![
            case("a: b # c/c-1", Verdict::Error, -1.0, Some(0)),
            case("true/null", Verdict::Pass, 0.5, None),
            case("value/c-3", Verdict::Fail, 9.0, Some(1)),
        ],
    );
    run.run.target = "exec:./x \"y\" # \n- z".to_owned();
    let snapshot = recorded(&run);
    let text = write_snapshot(&snapshot);
    assert!(!text.contains(['\u{1b}', '\u{2028}']), "{text}");
    assert!(compare(&snapshot, &run, "s", None, false).changes.is_empty(), "{text}");
    assert_eq!(snapshot.target, run.run.target);
}

#[test]
fn states_of_known_deviations() {
    let run = || {
        summary(
            vec![finding("QK221 by remainder", Verdict::Fail)],
            vec![
                case("value/c-1", Verdict::Fail, 9.0, Some(0)),
                case("rows/c-2", Verdict::Pass, 0.1, None),
            ],
        )
    };
    let state = |entry: &str, change: &dyn Fn(&mut Summary)| {
        let file = read_known("k", &format!("known: [{{{entry}, reason: r}}]"))
            .unwrap_or_else(|error| panic!("{error}"));
        let mut summary = run();
        change(&mut summary);
        apply_known(&mut summary, "k", &file, &["mine".to_owned()], "2026-05-01");
        let state = summary.known.as_ref().map(|known| known.entries[0].state);
        (state.expect("an entry"), summary.findings[0].is_known())
    };
    let as_it_is = |_: &mut Summary| {};
    assert_eq!(state("finding: QK221", &as_it_is), (KnownState::Holds, true));
    assert_eq!(state("finding: QK221, option: causal", &as_it_is), (KnownState::Holds, true));
    assert_eq!(state("finding: QK221, option: bias", &as_it_is), (KnownState::Unmatched, false));
    assert_eq!(state("finding: QK221, expires: 2026-05-01", &as_it_is), (KnownState::Holds, true));
    assert_eq!(
        state("finding: QK221, expires: 2026-04-30", &as_it_is),
        (KnownState::Expired, false)
    );
    assert_eq!(state("finding: QK221, law: rows", &as_it_is), (KnownState::Gone, false));
    assert_eq!(state("finding: QK221, law: ro", &as_it_is), (KnownState::Unmatched, false));
    assert_eq!(state("finding: CRASH", &as_it_is), (KnownState::Gone, false));
    let chosen = |chosen: Chosen| move |summary: &mut Summary| summary.run.chosen = vec![chosen];
    // A run of some laws speaks for those that the entry names.
    assert_eq!(
        state("finding: CRASH, law: 'ro*'", &chosen(Chosen::Laws)),
        (KnownState::NotAsked, false)
    );
    assert_eq!(
        state("finding: CRASH, law: rows", &chosen(Chosen::Laws)),
        (KnownState::Gone, false)
    );
    assert_eq!(
        state("finding: CRASH, law: rows", &chosen(Chosen::Shard)),
        (KnownState::NotAsked, false)
    );
    assert_eq!(
        state("finding: CRASH, law: rows", &chosen(Chosen::Dtypes)),
        (KnownState::NotAsked, false)
    );
    assert_eq!(
        state("finding: CRASH, case: c-2", &chosen(Chosen::Laws)),
        (KnownState::Gone, false)
    );
    // What no law is called is about nothing, whatever formats were asked.
    assert_eq!(
        state("finding: CRASH, law: nolaw-*", &chosen(Chosen::Dtypes)),
        (KnownState::Unmatched, false)
    );
    assert_eq!(
        state("finding: CRASH, law: nolaw-*", &chosen(Chosen::Laws)),
        (KnownState::NotAsked, false)
    );
    let stopped = |summary: &mut Summary| summary.stopped = Some(Stopped::FirstFinding);
    assert_eq!(state("finding: CRASH", &stopped), (KnownState::NotAsked, false));
    assert_eq!(state("finding: QK221, target: other", &as_it_is), (KnownState::NotAsked, false));
    // By any name of the target, which `python:` and `./` do not change.
    for target in ["mine", "m*", "builtin:x", "./builtin:x", "python:mine"] {
        let holds = (KnownState::Holds, true);
        assert_eq!(
            state(&format!("finding: QK221, target: '{target}'"), &as_it_is),
            holds,
            "{target}"
        );
    }
    assert_eq!(
        state("finding: QK221, target: 'python:*'", &as_it_is),
        (KnownState::NotAsked, false)
    );
    assert_eq!(state("finding: CRASH, suite: core", &as_it_is), (KnownState::NotAsked, false));
    assert_eq!(state("finding: QK221, suite: core", &as_it_is), (KnownState::Holds, true));
}

/// An old name of a law or a suite leads to what is called otherwise now, and is told once.
#[test]
fn an_entry_may_have_old_names() {
    let (old, new) = ("raised-score", "raised-score-odds");
    for (entry, state) in [
        ("law: raised-score", KnownState::Gone),
        ("law: raised-score-odds", KnownState::Gone),
        ("law: rows, suite: raised-score", KnownState::Gone),
        ("law: rows, suite: raised-score-odds", KnownState::Gone),
        ("law: rows, suite: core", KnownState::NotAsked),
    ] {
        let text = format!("known: [{{{entry}, finding: CRASH, reason: r}}]");
        let file = read_known("k", &text).expect("entries");
        let rows = case("rows/c-1", Verdict::Pass, 0.1, None);
        let named = case(&format!("{new}/c-2"), Verdict::Pass, 0.1, None);
        let mut run = summary(Vec::new(), vec![rows, named]);
        run.run.suite = new.to_owned();
        apply_known(&mut run, "k", &file, &[], "2026-05-01");
        apply_known(&mut run, "k", &file, &[], "2026-05-01");
        let known = run.known.expect("what came of the entries");
        assert_eq!(known.entries[0].state, state, "{entry}");
        assert_eq!(known.entries[0].entry, file.known[0]);
        let is_old = entry.ends_with(old);
        assert_eq!(run.warnings.len(), usize::from(is_old), "{entry}: {:?}", run.warnings);
    }
}

#[test]
fn what_held_in_the_formats_that_were_run_is_told() {
    let warnings = |entry: &str, change: &dyn Fn(&mut Summary)| {
        let file = read_known("k", &format!("known: [{{{entry}, reason: r}}]")).expect("entries");
        let mut run = summary(
            vec![finding("QK221 by remainder", Verdict::Fail)],
            vec![
                case("value/c-1", Verdict::Fail, 9.0, Some(0)),
                case("rows/c-2", Verdict::Pass, 0.1, None),
            ],
        );
        change(&mut run);
        // Looked at twice, it is told once.
        for _ in 0..2 {
            apply_known(&mut run, "k", &file, &[], "2026-05-01");
        }
        run.warnings
    };
    let narrowed = |summary: &mut Summary| summary.run.chosen = vec![Chosen::Dtypes];
    let told = warnings("finding: CRASH, law: rows", &narrowed);
    assert!(
        matches!(told.as_slice(), [Warning::PartlyGone { dtypes, .. }] if *dtypes == ["float32"]),
        "{told:?}"
    );
    // Of a whole run it is stale, and of an entry that holds, or whose cases were not all asked,
    // nothing is told.
    assert!(warnings("finding: CRASH, law: rows", &|_| ()).is_empty());
    assert!(warnings("finding: QK221", &narrowed).is_empty());
    assert!(warnings("finding: CRASH, law: rows, dtype: float16", &narrowed).is_empty());
    let some = |summary: &mut Summary| summary.run.chosen = vec![Chosen::Dtypes, Chosen::Laws];
    assert!(warnings("finding: CRASH, law: 'ro*'", &some).is_empty());
}

#[test]
fn a_run_that_was_stopped_is_no_whole_one_in_any_report() {
    let mut run = summary(
        vec![],
        vec![
            case("value/c-1", Verdict::Pass, 0.1, None),
            case("value/c-2", Verdict::Skipped, 0.0, None),
        ],
    );
    let catalog = Catalog::embedded().expect("specifications");
    let written = |run: &Summary, format| write_as(format, run, &catalog).expect("a report");
    for (format, whole, told) in [
        (ReportFormat::Junit, "failures=\"0\"", "<failure type=\"INCOMPLETE\""),
        (ReportFormat::Gitlab, "[]", "run/incomplete"),
        (ReportFormat::Sarif, "\"executionSuccessful\": true", "\"executionSuccessful\": false"),
        (ReportFormat::Github, "", "title=stopped early::"),
        (ReportFormat::Markdown, "", "stopped early: interrupted"),
        (ReportFormat::Html, "", "stopped early: interrupted"),
        (ReportFormat::Json, "", "\"stopped\": \"interrupted\""),
        (ReportFormat::Ndjson, "", "\"stopped\":\"interrupted\""),
    ] {
        run.stopped = None;
        let text = written(&run, format);
        assert!(text.contains(whole) && !text.contains(told), "{format:?}: {text}");
        run.stopped = Some(Stopped::Interrupted);
        let text = written(&run, format);
        assert!(text.contains(told), "{format:?}: {text}");
    }
}

#[test]
fn what_is_worse_without_a_finding_is_in_every_report_of_findings() {
    let run = |error: f64| summary(vec![], vec![case("value/c-1", Verdict::Pass, error, None)]);
    let mut worse = run(0.9);
    worse.snapshot = Some(compare(&recorded(&run(0.001)), &worse, "s", None, false));
    for (format, told) in [
        (ReportFormat::Gitlab, "snapshot/larger-error"),
        (ReportFormat::Sarif, "snapshot/larger-error"),
        (ReportFormat::Github, "larger error"),
        (ReportFormat::Junit, "larger error"),
    ] {
        let catalog = Catalog::embedded().expect("specifications");
        let text = write_as(format, &worse, &catalog).expect("a report");
        assert!(text.contains(told), "{text}");
        worse.snapshot.as_mut().expect("a comparison").changes.clear();
        let text = write_as(format, &worse, &catalog).expect("a report");
        assert!(!text.contains(told), "{text}");
        worse.snapshot = Some(compare(&recorded(&run(0.001)), &worse, "s", None, false));
    }
}

#[test]
fn faults_that_come_together_are_known_each_for_itself() {
    let right = summary(vec![], vec![case("value/c-1", Verdict::Pass, 0.1, None)]);
    let known = |entries: &[&str]| {
        let list: String =
            entries.iter().map(|entry| format!("- {{{entry}, reason: r}}\n")).collect();
        let file =
            read_known("k", &format!("known:\n{list}")).unwrap_or_else(|error| panic!("{error}"));
        let title = "QK101 scores are divided by d, with QK110 by the width";
        let mut run = summary(
            vec![finding(title, Verdict::Fail)],
            vec![case("value/c-1", Verdict::Fail, 9.0, Some(0))],
        );
        apply_known(&mut run, "k", &file, &[], "2026-05-01");
        // A comparison with a snapshot means the same by it.
        let changes = compare(&recorded(&right), &run, "s", None, false).changes;
        assert_eq!(changes[0].change == Change::Known, run.findings[0].is_known(), "{entries:?}");
        // The fault is there, covered or not.
        assert_eq!(
            run.known.as_ref().expect("entries").entries[0].state,
            KnownState::Holds,
            "{entries:?}"
        );
        run.findings[0].is_known()
    };
    let no = ["finding: QK101", "finding: QK110", "finding: 'QK101*'", "finding: '*divided by d*'"];
    no.iter().for_each(|entry| assert!(!known(&[entry]), "{entry}"));
    let yes = [
        "finding: QK101+QK110",
        "finding: 'QK1*'",
        "finding: 'QK101+*'",
        "finding: FAIL",
        "law: value, finding: '*'",
    ];
    yes.iter().for_each(|entry| assert!(known(&[entry]), "{entry}"));
    assert!(known(&["finding: QK101", "finding: QK110"]));
    assert!(!known(&["finding: QK101", "finding: QK110, law: rows"]));
    assert!(!known(&["finding: QK101", "finding: QK110, expires: 2026-04-30"]));
}

#[test]
fn laws_are_counted_by_what_was_checked_and_errors_by_what_held() {
    let mut cases = vec![
        case("value/c-0", Verdict::Fail, 9.0, Some(0)),
        case("value/c-9", Verdict::Pass, 0.1, None),
    ];
    cases.extend((1..6).map(|n| case(&format!("value/c-{n}"), Verdict::Refused, -1.0, None)));
    let mut run = summary(vec![finding("QK221 by remainder", Verdict::Fail)], cases);
    run.coverage.dtypes.insert("float32".to_owned(), 2);
    run.coverage.margins.insert("float32".to_owned(), 0.1);
    let catalog = Catalog::embedded().expect("specifications");
    let written = |run: &Summary, format| write_as(format, run, &catalog).expect("a report");
    let tables = [
        (ReportFormat::Markdown, "| `value` | `float32` | 1 of 2 |"),
        (ReportFormat::Html, "1 of 2 wrong"),
    ];
    for (format, row) in tables {
        let text = written(&run, format);
        assert!(text.contains(row) && !text.contains("of 7"), "{text}");
    }
    let formats = [ReportFormat::Human, ReportFormat::Markdown, ReportFormat::Html];
    for format in formats {
        let text = written(&run, format);
        assert!(text.contains("worst error that held 0.10 of its bound"), "{text}");
    }
    run.findings.clear();
    run.records.remove(0);
    for format in formats {
        let text = written(&run, format);
        assert!(text.contains(", worst error 0.10 of its bound"), "{text}");
    }
}
