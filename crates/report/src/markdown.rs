//! The report as Markdown, and one finding as an issue that can be pasted anywhere. Names and
//! messages come from others: what they say is text, never markup.

use std::fmt::Write;

use qkvet_spec::{Dialect, Finding, Numbers, Summary, Verdict, WorkedExample};

use crate::finding_name::titles;
use crate::groups::case_groups;
use crate::known::{open_findings, settled, stale_lines};
use crate::snapshot::regressions;
use crate::snapshot::snapshot_text;
use crate::text::{count, cut, no_command, plain, visible};
use crate::words::word;
use crate::words::{title, told};

/// Findings beyond this are only named.
const MAX_FINDINGS: usize = 20;
/// Findings beyond this are only counted: a step summary holds one mebibyte.
const MAX_NAMED: usize = 200;
/// Longest name in a table.
const MAX_LEN: usize = 300;

/// A page of the size of a step summary.
pub fn markdown(summary: &Summary) -> String {
    let run = &summary.run;
    let mut out = format!("# {}\n\n{}\n\n", heading(summary), line_of(summary));
    let mut line = |text: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(out, "{text}");
    };
    if !summary.findings.is_empty() {
        line("| | finding | cases | law |\n|---|---|---:|---|");
        let settled = settled(summary);
        for (at, one) in summary.findings.iter().enumerate().take(MAX_NAMED) {
            let (title, law) = (inline(&cut(&title(one), MAX_LEN)), code(&one.law));
            let why = settled
                .get(&at)
                .map_or_else(String::new, |why| format!(" ({})", inline(&cut(why, MAX_LEN))));
            line(&format!(
                "| {} | {title}{why} | {} of {} | {law} |",
                word(one),
                count(one.cases),
                count(one.of)
            ));
        }
        let more = summary.findings.len().saturating_sub(MAX_NAMED);
        line(&if more > 0 {
            format!("\nand {} more findings\n", count(more))
        } else {
            String::new()
        });
    }
    for text in stale_lines(summary) {
        line(&format!("- stale known deviation: {}", inline(&text)));
    }
    if !stale_lines(summary).is_empty() {
        line("");
    }
    if let Some(snapshot) = &summary.snapshot {
        line("## Snapshot\n");
        line(&fenced("text", &plain(&snapshot_text(snapshot, &titles(summary), None))));
    }
    for at in open_findings(summary).into_iter().take(MAX_FINDINGS) {
        let one = &summary.findings[at];
        line(&format!(
            "<details><summary>{} {}</summary>\n",
            word(one),
            inline(&cut(&title(one), MAX_LEN))
        ));
        line(&fenced("text", &plain(&crate::finding(one))));
        line("</details>\n");
    }
    line("## What was checked\n");
    line(&fenced("text", &plain(&crate::coverage(summary))));
    let groups = case_groups(summary);
    let wrong: Vec<String> = groups
        .iter()
        .filter(|group| group.wrong.is_some())
        .map(|group| {
            let (n, checked) = (group.count(Verdict::is_finding), group.count(Verdict::is_checked));
            format!(
                "| {} | {} | {} of {} |",
                code(group.law),
                code(group.dtype),
                count(n),
                count(checked)
            )
        })
        .collect();
    if !wrong.is_empty() {
        line("## Laws that do not hold\n\n| law | format | wrong of checked |\n|---|---|---:|");
        wrong.iter().for_each(|row| line(row));
        line("");
    }
    line(&format!("{} · suite {} · seed {}", inline(&run.tool), code(&run.suite), run.seed));
    no_command(&out).into_owned()
}

fn heading(summary: &Summary) -> String {
    let checked = summary.checked();
    let target = code(&summary.run.target);
    let open = open_findings(summary).len();
    let found = match open {
        0 => None,
        1 => Some("1 finding".to_owned()),
        n => Some(format!("{n} findings")),
    };
    let wrong: Vec<String> = found.into_iter().chain(regressions(summary)).collect();
    match wrong.as_slice() {
        [] if checked == 0 => format!("{target}: nothing was checked"),
        [] if open < summary.findings.len() => format!("{target}: no new finding"),
        [] => format!("{target}: no finding"),
        wrong => format!("{target}: {}", wrong.join(", ")),
    }
}

fn line_of(summary: &Summary) -> String {
    inline(plain(&crate::exit_line(summary)).trim())
}

/// One finding as an issue for whoever maintains the target: what was expected and why, what came,
/// how to see it.
pub fn issue(summary: &Summary, finding: &Finding) -> String {
    let run = &summary.run;
    let told = told(finding, Dialect::CommandLine);
    let mut out = format!("# {}\n\n", inline(&told.title));
    let mut line = |text: &str| {
        let _ = writeln!(out, "{text}");
    };
    line(&format!(
        "Law {}: {}.\n",
        code(&finding.law),
        inline(finding.law_title.trim_end_matches('.'))
    ));
    line("| | |\n|---|---|");
    let mut row = |name: &str, text: &str| line(&format!("| {name} | {} |", code(text)));
    row("target", &run.target);
    row("call", &finding.witness.call);
    finding.witness.inputs.iter().for_each(|input| row("input", input));
    row("at", &told.at);
    row("expected", &told.expected);
    row("got", &told.got);
    row("contract", &finding.contract);
    row("cases", &format!("{} of {} show it", count(finding.cases), count(finding.of)));
    for text in &run.environment {
        row("environment", &text.display().to_string());
    }
    line("");
    for (name, label) in [("Cause", "cause"), ("Hint", "hint"), ("Where", "wrong")] {
        if let Some(text) = told.row(label) {
            line(&format!("{name}: {}\n", inline(text)));
        }
    }
    if let Some(example) = &finding.example {
        line(&worked(example));
    }
    line("To see it again:\n");
    let commands: Vec<&str> = std::iter::once(&finding.replay)
        .chain(&finding.replay_anywhere)
        .map(String::as_str)
        .collect();
    line(&fenced("sh", &commands.join("\n")));
    if let (Some(text), Some(path)) = (&finding.script_text, &finding.script) {
        line(&format!("Without qkvet: this script, as {}.\n", code(path)));
        line(&fenced("python", text));
    }
    line(&format!("Found by {}.", inline(&run.tool)));
    out
}

/// The worked example as two tables.
fn worked(example: &WorkedExample) -> String {
    let WorkedExample { item, head, query, .. } = example;
    let mut out =
        format!("Query `[b={item}, h={head}, i={query}]` of {}:\n\n", code(&example.call));
    let header = if example.supposed.is_some() { " with the cause |" } else { "" };
    let rule = if example.supposed.is_some() { "---:|" } else { "" };
    let _ = write!(out, "| key | logit | weight |{header}\n|---:|---:|---:|{rule}\n");
    for (at, key) in example.keys.iter().enumerate() {
        let number = |numbers: &Numbers| numbers.0.get(at).copied().map_or_else(String::new, short);
        let other = example
            .supposed
            .as_ref()
            .map_or_else(String::new, |other| format!(" {} |", number(&other.weights)));
        let own = &example.expected;
        let _ =
            writeln!(out, "| {key} | {} | {} |{other}", number(&own.logits), number(&own.weights));
    }
    let _ = write!(
        out,
        "\n| {} | exact | allowed error | got |\n|---:|---:|---:|---:|\n",
        example.result
    );
    for (at, column) in example.columns.iter().enumerate() {
        let number = |numbers: &Numbers| numbers.0.get(at).copied().unwrap_or(f64::NAN);
        let (exact, allowed, got) =
            (number(&example.exact), number(&example.allowed), number(&example.got));
        let _ = writeln!(out, "| {column} | {exact:?} | {} | {got:?} |", short(allowed));
    }
    out
}

/// A number for people: at most six digits, `hidden` for −∞.
pub(crate) fn short(x: f64) -> String {
    if x == f64::NEG_INFINITY {
        return "−∞".to_owned();
    }
    if x == f64::INFINITY {
        return "∞".to_owned();
    }
    if x != 0.0 && (x.abs() < 1e-4 || x.abs() >= 1e7) {
        return format!("{x:.3e}").replace('-', "−");
    }
    let text = format!("{x:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.replace('-', "−") }
}

/// Text in a line: no character of it means anything to Markdown or HTML.
fn inline(text: &str) -> String {
    let text = visible(text).replace(['\n', '\t'], " ");
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // Nobody is called, and no issue is linked.
            '@' => out.push_str("&#64;"),
            '#' => out.push_str("&#35;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '!' | '$' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// Text as it is, in a line.
fn code(text: &str) -> String {
    let text = visible(text).replace(['\n', '\t'], " ");
    let fence = "`".repeat(longest_run(&text) + 1);
    // In a table a bar ends the cell, in code too.
    let text = text.replace('|', "\\|");
    if text.is_empty() {
        return String::new();
    }
    if fence.len() > 1 {
        format!("{fence} {text} {fence}")
    } else {
        format!("{fence}{text}{fence}")
    }
}

/// Text as it is, in lines of its own.
fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", visible(text).trim_end())
}

/// The longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c: char| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_is_no_markup() {
        assert_eq!(inline("<b>@you|*x*\u{1b}"), "&lt;b&gt;&#64;you\\|\\*x\\*\\\\u{1b}");
        assert_eq!(code("a`b|c"), "`` a`b\\|c ``");
        assert_eq!(fenced("text", "```\nx"), "````text\n```\nx\n````\n");
    }

    #[test]
    fn numbers_are_short() {
        let shown: Vec<String> = [0.5, -0.0, 1.0 / 3.0, -1e-9, 1e300, f64::NEG_INFINITY, f64::NAN]
            .into_iter()
            .map(short)
            .collect();
        assert_eq!(shown, ["0.5", "0", "0.333333", "−1.000e−9", "1.000e300", "−∞", "NaN"]);
    }
}
