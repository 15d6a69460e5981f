//! Six thousand failing cases, a hundred thousand in the slow tests, of one cause and of as many:
//! every format is made, none is larger than its reader bears, and what has no place is counted. The
//! runner ends what looks at every case for every finding: see `.config/nextest.toml`.

#![expect(clippy::disallowed_methods, reason = "reads the report")]

use std::path::Path;

use qkvet_report::{
    ReportFormat, accept, apply_known, change_groups, compare, new_snapshot, open_findings,
    read_known, read_snapshot, settled, snapshot_diff, titles, write_as, write_snapshot,
};
use qkvet_spec::{Breakage, Catalog, Cause, Change, Finding, Summary, Verdict};
use serde_json::Value;

/// How many failing cases there are.
fn many() -> usize {
    if std::env::var("QKVET_TEST_TIER").as_deref() == Ok("all") { 100_000 } else { 6_000 }
}

/// A count as reports write it: `99,991`.
fn with_commas(n: usize) -> String {
    format!("{},{:03}", n / 1000, n % 1000)
}

/// A run with so many failing cases, which show `n_causes` findings.
fn failing(n_causes: usize) -> Summary {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/report.json");
    let text = std::fs::read_to_string(path).expect("the report");
    let mut summary: Summary = serde_json::from_str(&text).expect("a report");
    let finding =
        Finding { example: None, picture: None, script_text: None, ..summary.findings[1].clone() };
    let record = summary
        .records
        .iter()
        .find(|record| record.verdict == Verdict::Fail)
        .expect("a failing case")
        .clone();
    let letters = |n: usize| {
        n.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect::<String>()
    };
    summary.findings = (0..n_causes)
        .map(|n| Finding {
            cause: Cause::Broken { how: Breakage::Said(format!("cause {}", letters(n)).into()) },
            cases: many() / n_causes,
            ..finding.clone()
        })
        .collect();
    summary.records = (0..many())
        .map(|n| {
            let mut record = record.clone();
            record.id = format!("c-{n:016x}");
            record.finding = Some(n % n_causes);
            record
        })
        .collect();
    summary.counts = [("FAIL".to_owned(), many())].into();
    summary
}

fn made(format: ReportFormat, summary: &Summary) -> String {
    let catalog = Catalog::embedded().expect("a catalog");
    write_as(format, summary, &catalog).expect("a report")
}

/// A number behind a name in the first tag that has it.
fn number(text: &str, name: &str) -> usize {
    let rest = &text[text.find(&format!(" {name}=\"")).expect(name) + name.len() + 3..];
    rest.split('"').next().and_then(|digits| digits.parse().ok()).expect(name)
}

#[test]
fn every_format_bears_many_findings() {
    let more = |shown| format!(" {} more ", with_commas(many() - shown));
    for n_causes in [1, many()] {
        let summary = failing(n_causes);
        let is_many = n_causes > 1;
        let page = made(ReportFormat::Html, &summary);
        assert!(page.len() < 5_000_000, "{} bytes", page.len());
        assert_eq!(page.contains("more: the JSON report has them all"), is_many);
        let annotations = made(ReportFormat::Github, &summary);
        let errors: Vec<&str> =
            annotations.lines().filter(|line| line.starts_with("::error ")).collect();
        assert_eq!(errors.len(), if is_many { 10 } else { 1 });
        assert_eq!(errors[errors.len() - 1].contains(&more(9)), is_many);
        let junit = made(ReportFormat::Junit, &summary);
        assert!(junit.len() < 10_000_000, "{} bytes", junit.len());
        assert_eq!(number(&junit, "tests"), junit.matches("<testcase ").count());
        assert_eq!(number(&junit, "failures"), junit.matches("<failure ").count());
        assert_eq!(junit.contains(&more(1000)), is_many);
        let sarif: Value =
            serde_json::from_str(&made(ReportFormat::Sarif, &summary)).expect("JSON");
        assert_eq!(sarif["runs"][0]["results"].as_array().map(Vec::len), Some(n_causes.min(5000)));
        let told = sarif["runs"][0]["invocations"].to_string();
        assert_eq!(told.contains(&more(5000)), is_many, "{told}");
        let gitlab: Value =
            serde_json::from_str(&made(ReportFormat::Gitlab, &summary)).expect("JSON");
        let entries = gitlab.as_array().expect("entries");
        assert_eq!(entries.len(), if is_many { 1001 } else { 1 });
        let last = entries[entries.len() - 1]["description"].as_str().expect("a text");
        assert_eq!(last.starts_with(&format!("and{}findings", more(1000))), is_many, "{last}");
        let markdown = made(ReportFormat::Markdown, &summary);
        assert!(
            markdown.len() < 1 << 20,
            "{} bytes: a step summary holds one mebibyte",
            markdown.len()
        );
        assert!(made(ReportFormat::Human, &summary).lines().count() < 300);
        assert!(made(ReportFormat::Verdict, &summary).len() < 2048);
        let lines = made(ReportFormat::Ndjson, &summary)
            .lines()
            .filter(|line| line.starts_with("{\"case\""))
            .count();
        assert_eq!(lines, many());
        // The document is whole, whatever it takes.
        let again: Summary =
            serde_json::from_str(&made(ReportFormat::Json, &summary)).expect("a report");
        assert_eq!(again, summary);
    }
}

#[test]
fn snapshots_and_known_deviations_bear_many_findings() {
    for n_causes in [1, many()] {
        let mut summary = failing(n_causes);
        let nothing = new_snapshot(&summary.run.target);
        let outcome = compare(&nothing, &summary, "s.yaml", None, false);
        assert_eq!(outcome.count(|change| change == Change::NewFinding), many());
        assert_eq!(change_groups(&outcome).len(), n_causes);
        summary.snapshot = Some(outcome.clone());
        for format in
            [ReportFormat::Human, ReportFormat::Github, ReportFormat::Junit, ReportFormat::Markdown]
        {
            let text = made(format, &summary);
            assert!(text.len() < 10_000_000, "{}: {} bytes", format.name(), text.len());
        }
        assert!(snapshot_diff(&outcome, &titles(&summary)).lines().count() > many());
        let mut snapshot = nothing;
        accept(&mut snapshot, &summary, &outcome, false, &|_| true);
        let text = write_snapshot(&snapshot);
        let snapshot = read_snapshot("s.yaml", &text).expect("a snapshot");
        let same = compare(&snapshot, &summary, "s.yaml", None, false);
        assert_eq!(
            (same.compared, same.changes.len(), same.recorded_findings.len()),
            (many(), 0, n_causes)
        );
        summary.snapshot = Some(same);
        assert!(open_findings(&summary).is_empty());
        ReportFormat::ALL.iter().for_each(|format| drop(made(*format, &summary)));

        summary.snapshot = None;
        let known =
            "known: [{law: '*', finding: 'cause-*', reason: so}, {finding: FAIL, reason: other}]\n";
        let known = read_known("k.yaml", known).expect("entries");
        apply_known(&mut summary, "k.yaml", &known, &[], "2026-01-01");
        assert!(open_findings(&summary).is_empty());
        let why = settled(&summary);
        assert_eq!((why.len(), why[&0].as_str()), (n_causes, "known: so; other"));
        ReportFormat::ALL.iter().for_each(|format| drop(made(*format, &summary)));
    }
}
