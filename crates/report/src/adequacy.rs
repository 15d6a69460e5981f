//! The kill matrix of a suite: for a terminal, and as a page.

use std::fmt::Write;

use qkvet_spec::{AdequacyReport, Dtype, FaultInFormat, FaultMarks, Mark, Survival};

use crate::text::count;

/// Signs of laws in the table.
fn letters() -> impl Iterator<Item = char> {
    ('a'..='z').chain('A'..='Z').chain('0'..='9')
}

/// What is said of every format, in lines: how many faults are noticed, which are not and why.
fn formats(report: &AdequacyReport) -> Vec<String> {
    let Some(first) = report.faults.first() else { return Vec::new() };
    let of = |at: usize, dtype: Dtype| {
        let all = || report.faults.iter().map(|fault| (fault, &fault.formats[at]));
        let left = |why: Survival| all().filter(|(_, one)| one.survives == Some(why)).count();
        let noticed = all().filter(|(_, one)| one.survives.is_none()).count();
        let mut line = format!("{dtype}: {noticed} of {} faults noticed", report.faults.len());
        for (why, text) in [
            (Survival::Equivalent, "make no difference there"),
            (Survival::NotStruck, "not triggered"),
            (Survival::Gap, "missed"),
        ] {
            let n = left(why);
            if n > 0 {
                let _ = write!(line, ", {n} {text}");
            }
        }
        line
    };
    first.formats.iter().enumerate().map(|(at, one)| of(at, one.dtype)).collect()
}

/// A fault that survives in a format, and why.
fn survivors(report: &AdequacyReport) -> Vec<String> {
    let of = |fault: &FaultMarks, one: &FaultInFormat| {
        let why = match one.survives? {
            Survival::Equivalent => "its file says that it makes no difference there",
            Survival::NotStruck => "no case triggers it",
            Survival::Gap => "no case notices it",
        };
        Some(format!("{} {} in {}: {why}", fault.code, fault.fault, one.dtype))
    };
    report
        .faults
        .iter()
        .flat_map(|fault| fault.formats.iter().filter_map(|one| of(fault, one)).collect::<Vec<_>>())
        .collect()
}

/// Laws by sign, then a line for each fault with a sign for each law and format.
fn table(report: &AdequacyReport) -> String {
    let mut out = String::new();
    for (letter, law) in letters().zip(&report.laws) {
        let _ = writeln!(out, "{letter} {law}");
    }
    let formats = report.faults.first().map_or(1, |fault| fault.formats.len());
    let header: Vec<String> =
        letters().take(report.laws.len()).map(|letter| format!("{letter:<formats$}")).collect();
    let width = report.faults.iter().map(|fault| fault.fault.len()).max().unwrap_or(0);
    let _ = writeln!(out, "\n{:width$} {}", "", header.join(" ").trim_end());
    for fault in &report.faults {
        let cell =
            |law: usize| fault.formats.iter().map(|one| sign(one.marks[law])).collect::<String>();
        let cells: Vec<String> = (0..report.laws.len()).map(cell).collect();
        let _ = writeln!(out, "{:width$} {}", fault.fault, cells.join(" "));
    }
    out
}

fn sign(mark: Mark) -> char {
    match mark {
        Mark::NotStruck => ' ',
        Mark::Held => '.',
        Mark::Value => '+',
        Mark::Refuted => '#',
    }
}

/// The small set of cases in lines.
fn cover(report: &AdequacyReport) -> Vec<String> {
    let line = |case: &qkvet_spec::CoverCase| {
        format!("{} {} {}: {} ({})", case.dtype, case.case, case.law, case.call, case.faults.len())
    };
    report.cover.iter().map(line).collect()
}

/// For a terminal.
pub fn adequacy(report: &AdequacyReport) -> String {
    let mut out = format!("suite {} seed {}\n", report.suite, report.seed);
    for line in formats(report).iter().chain(&survivors(report)) {
        let _ = writeln!(out, "{line}");
    }
    for alarm in &report.alarms {
        let _ = writeln!(out, "false alarm: {alarm}");
    }
    let by_format = report.faults.first().into_iter().flat_map(|fault| &fault.formats);
    let sizes: Vec<String> = by_format
        .map(|one| {
            format!(
                "{} in {}",
                report.cover.iter().filter(|case| case.dtype == one.dtype).count(),
                one.dtype
            )
        })
        .collect();
    let _ =
        writeln!(out, "cases that are enough to notice all that is noticed: {}", sizes.join(", "));
    let _ = writeln!(
        out,
        "laws without which every fault is noticed as well: {} of {}",
        report.unneeded.len(),
        report.laws.len()
    );
    out
}

/// The page docs/adequacy.md.
pub fn adequacy_page(report: &AdequacyReport) -> String {
    let list =
        |lines: &[String]| lines.iter().fold(String::new(), |out, line| out + "- " + line + "\n");
    format!(
        "# What the suite notices

This page is written by `qkvet adequacy --suite {suite} --format markdown`; a test compares it with what the suite does.

Every fault of `specs/faults/` ({faults} of them) is run through the suite `{suite}` by the simulator. A fault is noticed by a law where a case of the law fails: its relation is refuted (`#`), or a value is outside its certified bound (`+`). A law that holds on every case that the fault changes has `.`, and a law that the fault never touches has a blank. The signs of a cell stand for {dtypes}. A law is asked until its relation is refuted, or eight values were wrong.

{formats}
## Faults that are not noticed

{survivors}
## A small set of cases

These cases, chosen greedily, notice every fault that the suite notices. In brackets: how many of them no case before it did.

{cover}
## Laws that no fault needs

Without any one of these laws every fault is still noticed by another one. They name the property that broke.

{unneeded}
## The table

```text
{table}```
",
        suite = report.suite,
        faults = count(report.faults.len()),
        dtypes = report.faults.first().map_or_else(String::new, |fault| {
            fault.formats.iter().map(|one| one.dtype.to_string()).collect::<Vec<_>>().join(", ")
        }),
        formats = list(&formats(report)),
        survivors = list(&survivors(report)),
        cover = list(&cover(report)),
        unneeded = list(&report.unneeded),
        table = table(report),
    )
}
