//! What `qkvet onnx run` tells: a line that splits the cases, the reasons, and what explains those
//! that disagree.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use qkvet_spec::{OnnxOutcome, OnnxReport};

use crate::terminal::finding;
use crate::text::{count, cut, no_command, visible_line};

const BOLD: Style = Style::new().bold();
const RED: Style = AnsiColor::Red.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default().bold();
/// Findings beyond this are only counted.
const MAX_FINDINGS: usize = 10;
/// Reasons and cases beyond this are only counted, for each outcome.
const MAX_LINES: usize = 5;
/// What `within allowance` means.
const ALLOWANCE: &str = "within: outside the certified bound, and inside of what the test runner of ONNX takes for right: rtol 1e-3, atol 1e-7 \
                         (bfloat16: rtol 1/64)";
/// Longest text of a line.
const WIDTH: usize = 120;

/// The report for people.
pub fn onnx_text(report: &OnnxReport) -> String {
    let run = &report.run;
    let mut out = String::new();
    let (tool, target, suite) =
        (visible_line(&run.tool), visible_line(&run.target), visible_line(&run.suite));
    let _ = writeln!(
        out,
        "{tool} · {BOLD}{target}{BOLD:#} · suite {suite} · {} cases",
        count(report.cases.len())
    );
    for line in &run.environment {
        let _ = writeln!(out, "            {}", visible_line(&line.display().to_string()));
    }
    let _ = writeln!(out, "\n{}\n", split(report));
    for (outcome, word) in [
        (OnnxOutcome::Unsupported, "unsupported"),
        (OnnxOutcome::Refused, "refused"),
        (OnnxOutcome::Broke, "broke"),
    ] {
        if let Some(reasons) = report.reasons.get(outcome.word()) {
            reasons_of(&mut out, word, reasons);
        }
    }
    reasons_of(&mut out, "left out", &report.left_out);
    within(&mut out, report);
    if !report.findings.is_empty() {
        out.push('\n');
    }
    for one in report.findings.iter().take(MAX_FINDINGS) {
        let _ = writeln!(out, "{}", finding(&one.finding));
    }
    let more = report.findings.len().saturating_sub(MAX_FINDINGS);
    if more > 0 {
        let _ = writeln!(out, "and {more} more findings: --format json has them all");
    }
    if let Some(stopped) = &report.stopped {
        let _ = writeln!(out, "stopped: {}", visible_line(&stopped.to_string()));
    }
    no_command(&out).into_owned()
}

/// `73 ok · 16 unsupported · 1 refused · 2 disagree · 1 within allowance`: the five always, the
/// others if there are some.
fn split(report: &OnnxReport) -> String {
    let words = |outcome| match outcome {
        OnnxOutcome::Ok => "ok",
        OnnxOutcome::Unsupported => "unsupported",
        OnnxOutcome::Refused => "refused a valid input",
        OnnxOutcome::Disagrees => "disagree",
        OnnxOutcome::WithinAllowance => "within allowance",
        OnnxOutcome::Broke => "broke",
        OnnxOutcome::Undecided => "undecided",
    };
    let part = |outcome: OnnxOutcome| {
        let n = report.count(outcome);
        let text = format!("{} {}", count(n), words(outcome));
        match outcome {
            OnnxOutcome::Broke | OnnxOutcome::Undecided if n == 0 => None,
            OnnxOutcome::Disagrees | OnnxOutcome::Broke if n > 0 => {
                Some(format!("{RED}{text}{RED:#}"))
            }
            OnnxOutcome::Ok if n > 0 => Some(format!("{GREEN}{text}{GREEN:#}")),
            _ => Some(text),
        }
    };
    OnnxOutcome::ALL.into_iter().filter_map(part).collect::<Vec<_>>().join(" · ")
}

fn reasons_of(out: &mut String, label: &str, reasons: &std::collections::BTreeMap<String, usize>) {
    let mut sorted: Vec<(&String, &usize)> = reasons.iter().collect();
    sorted.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
    for (at, (reason, n)) in sorted.iter().take(MAX_LINES).enumerate() {
        let label = if at == 0 { label } else { "" };
        let noun = if **n == 1 { "case" } else { "cases" };
        let _ = writeln!(
            out,
            "  {label:12}{} {noun}: {}",
            count(**n),
            cut(&visible_line(reason), WIDTH)
        );
    }
    if sorted.len() > MAX_LINES {
        let _ = writeln!(
            out,
            "  {:12}and {} more reasons: --format json has them all",
            "",
            sorted.len() - MAX_LINES
        );
    }
}

/// The cases outside the certified bound that ONNX's own runner lets pass.
fn within(out: &mut String, report: &OnnxReport) {
    let cases: Vec<_> =
        report.cases.iter().filter(|case| case.outcome == OnnxOutcome::WithinAllowance).collect();
    for (at, case) in cases.iter().take(MAX_LINES).enumerate() {
        let label = if at == 0 { "within" } else { "" };
        let detail = case.detail.as_deref().unwrap_or("outside the certified bound");
        let _ = writeln!(
            out,
            "  {label:12}{} {}",
            visible_line(&case.test),
            cut(&visible_line(detail), WIDTH)
        );
    }
    if cases.len() > MAX_LINES {
        let _ = writeln!(
            out,
            "  {:12}and {} more: --format json has them all",
            "",
            cases.len() - MAX_LINES
        );
    }
    if !cases.is_empty() {
        let _ = writeln!(out, "  {:12}{ALLOWANCE}", "");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use qkvet_spec::RunInfo;

    use super::*;

    #[test]
    fn the_five_are_always_told_and_reasons_by_frequency() {
        let run = RunInfo {
            tool: "qkvet".to_owned(),
            target: "onnx-backend:x@23".to_owned(),
            environment: vec!["onnx 1".into()],
            source: None,
            suite: "core".to_owned(),
            suite_version: 1,
            seed: 0,
            conventions: Vec::new(),
            contracts: BTreeMap::new(),
            cases: 0,
            device: None,
            is_layer: false,
            chosen: Vec::new(),
            takes: None,
            fit: None,
            configuration: BTreeMap::new(),
        };
        let few = BTreeMap::from([("rare".to_owned(), 1), ("often".to_owned(), 1204)]);
        let report = OnnxReport {
            run,
            opset: 23,
            counts: BTreeMap::from([("ok".to_owned(), 3), ("unsupported".to_owned(), 1205)]),
            reasons: BTreeMap::from([("unsupported".to_owned(), few)]),
            left_out: BTreeMap::new(),
            findings: Vec::new(),
            cases: Vec::new(),
            stopped: None,
            interrupted: false,
        };
        let text = anstream::adapter::strip_str(&onnx_text(&report)).to_string();
        let line = "3 ok · 1,205 unsupported · 0 refused a valid input · 0 disagree · 0 within allowance\n";
        assert!(text.contains(line), "{text}");
        assert!(text.find("1,204 cases: often") < text.find("1 case: rare"), "{text}");
        assert!(crate::json_document(&report).is_ok_and(|json| json.ends_with("}\n")));
    }
}
