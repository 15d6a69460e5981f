//! The report for people: findings, then what they come to. Words carry the meaning; color only
//! repeats it.

mod coverage;
mod finding;
mod rows;

use std::collections::BTreeMap;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use qkvet_spec::{Cause, Finding, RunInfo, Summary, Verdict};

pub use self::coverage::coverage;
pub(crate) use self::coverage::declined;
pub use self::finding::finding;

use self::coverage::{write_coverage, write_gaps, write_open_ends};
use self::finding::write_finding;
use self::rows::{LABEL, Rows};
use crate::finding_name::titles;
use crate::known::{failing_findings, open_findings, settled, stale_lines};
use crate::margins::{margins, worst_margin};
use crate::snapshot::{regressions, snapshot_text};
use crate::text::{cases, count, cut, no_command, ratio, visible_line};
use crate::words::{title, word as word_of};

const BOLD: Style = Style::new().bold();
const RED: Style = AnsiColor::Red.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
/// Findings beyond this are only counted.
const MAX_FINDINGS: usize = 10;

/// How much of the report people get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Findings, and what nobody decided.
    Quiet,
    /// What was not tested, and what to do next, too.
    Short,
    /// All that was checked, too.
    #[default]
    Full,
}

/// How a run ended, for whoever waited for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunEnd {
    /// How long it took.
    pub elapsed: Duration,
    /// The exit code.
    pub exit: u8,
}

/// How the report for people is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportStyle<'a> {
    /// Lines end where a terminal of so many columns does; in a file they end where they end.
    pub columns: Option<usize>,
    /// How much is shown.
    pub detail: Detail,
    /// The worst error of each law and format is shown.
    pub has_margins: bool,
    /// Shown on terminals: a file is the same for the same run.
    pub end: Option<RunEnd>,
    /// The folder of relative paths, where a terminal follows links to files (OSC 8).
    pub links: Option<&'a str>,
    /// The folder in which the report is kept, where it is not the usual one.
    pub kept: Option<&'a str>,
}

/// The whole report, as for a file.
pub fn render(summary: &Summary) -> String {
    render_in(summary, ReportStyle::default())
}

/// The report, as long as it is wanted.
pub fn render_in(summary: &Summary, style: ReportStyle<'_>) -> String {
    let mut rows = Rows { links: style.links.map(str::to_owned), ..Rows::new(style.columns) };
    // Of a run that checked nothing the reasons are what matters.
    let detail = if summary.checked() == 0 { Detail::Full } else { style.detail };
    if detail == Detail::Full {
        write_head(&mut rows, &summary.run);
    }
    let open = open_findings(summary);
    for at in open.iter().take(MAX_FINDINGS) {
        write_finding(&mut rows, &summary.findings[*at], summary.run.source.as_ref());
        rows.line("");
    }
    let more = open.len().saturating_sub(MAX_FINDINGS);
    if more > 0 {
        rows.line(&format!("and {more} more findings: --format json has them all\n"));
    }
    write_settled(&mut rows, summary);
    if let Some(snapshot) = &summary.snapshot {
        rows.text.push_str(&snapshot_text(snapshot, &titles(summary), style.columns));
        rows.line("");
    }
    if detail == Detail::Full {
        write_coverage(&mut rows, summary);
        rows.line("");
    }
    if style.has_margins {
        rows.text.push_str(&margins(summary, rows.width + LABEL));
        rows.line("");
    }
    let end = style.end.map_or_else(String::new, format_end);
    rows.headline(&format!("{}{end}", exit_line(summary)));
    if open.len() > 1 {
        for at in open.iter().take(MAX_FINDINGS) {
            let one = &summary.findings[*at];
            let title = cut(&visible_line(&title(one)), rows.width.saturating_sub(4));
            rows.line(&format!("  {:>12}  {title}", cases(one.cases)));
        }
    }
    if detail == Detail::Short {
        write_run(&mut rows, summary);
    }
    if detail != Detail::Full {
        write_open_ends(&mut rows, summary);
    }
    if detail == Detail::Short {
        write_gaps(&mut rows, summary);
        if let Some(first) = open.first() {
            rows.command("next", &next(summary, &summary.findings[*first], style.kept));
        }
    }
    no_command(&rows.text).into_owned()
}

/// `qkvet 0.1.0 · target mine.py:attention · suite core, seed 0 · 613 cases`, and what the target
/// says of itself.
fn write_head(rows: &mut Rows, run: &RunInfo) {
    rows.headline(&format!(
        "{} · target {BOLD}{}{BOLD:#} · suite {}, seed {} · {} cases",
        visible_line(&run.tool),
        visible_line(&run.target),
        visible_line(&run.suite),
        run.seed,
        count(run.cases)
    ));
    run.environment
        .iter()
        .for_each(|text| rows.row("", &visible_line(&text.display().to_string())));
    rows.row("declared", &run.conventions.join(", "));
    run.configuration
        .iter()
        .for_each(|(path, hash)| rows.row("", &visible_line(&format!("{path} {hash}"))));
    rows.line("");
}

/// Target, suite and the largest share of an allowed error.
fn write_run(rows: &mut Rows, summary: &Summary) {
    let RunInfo { target, suite, seed, conventions, .. } = &summary.run;
    let declared = conventions.iter().map(|one| format!(" · {one}")).collect::<String>();
    let worst = worst_margin(summary)
        .map_or_else(String::new, |worst| format!(" · worst error {} of its bound", ratio(worst)));
    let (target, suite) = (visible_line(target), visible_line(suite));
    rows.told("run", &format!("{target} · suite {suite}, seed {seed}{declared}{worst}"));
}

/// The command that goes on from the first finding.
fn next(summary: &Summary, finding: &Finding, kept: Option<&str>) -> String {
    let target = &summary.run.target;
    match &finding.cause {
        Cause::Convention { field, value, .. } => {
            format!("qkvet check {target} --convention {field}={value}")
        }
        Cause::Precision { contract, .. } => format!("qkvet check {target} --contract {contract}"),
        _ => {
            let from = kept.map_or_else(String::new, |kept| format!(" --from {kept}"));
            format!("qkvet report{from} --report html")
        }
    }
}

/// ` · 1:05 · exit 1`.
fn format_end(RunEnd { elapsed, exit }: RunEnd) -> String {
    let seconds = elapsed.as_secs();
    format!(" · {}:{:02} · exit {exit}", seconds / 60, seconds % 60)
}

/// Findings that do not fail, a line each, and entries of known deviations that are stale.
fn write_settled(rows: &mut Rows, summary: &Summary) {
    let before = rows.text.len();
    let mut n = 0;
    for (at, why) in settled(summary) {
        n += 1;
        if n > MAX_FINDINGS {
            continue;
        }
        let one = &summary.findings[at];
        let word = if one.is_known() { "KNOWN" } else { "RECORDED" };
        let cases = cases(one.cases);
        let title = cut(&visible_line(&title(one)), rows.width);
        rows.headline(&format!("{YELLOW}{word}{YELLOW:#}  {}: {title} in {cases}", word_of(one)));
        rows.row("", &why);
    }
    if n > MAX_FINDINGS {
        let more = n - MAX_FINDINGS;
        rows.line(&format!("and {more} more that do not fail: --format json has them all"));
    }
    for text in stale_lines(summary) {
        rows.headline(&format!("{RED}STALE{RED:#}  {}", visible_line(&text)));
    }
    if let Some(known) = summary.known.as_ref().filter(|known| known.is_stale()) {
        rows.row("", &format!("entries of {}", known.file));
    }
    if rows.text.len() > before {
        rows.line("");
    }
}

/// The last line: what it comes to.
pub fn exit_line(summary: &Summary) -> String {
    let checked = summary.checked();
    let declined = summary.count(Verdict::Unsupported) + summary.count(Verdict::Refused);
    let declined = if declined == 0 {
        String::new()
    } else {
        format!(", {} declined by the target", count(declined))
    };
    let undecided = match summary.count(Verdict::Inconclusive) {
        0 => String::new(),
        n => format!(", {} of them undecided", count(n)),
    };
    let skipped = summary.count(Verdict::Skipped);
    let stopped = match &summary.stopped {
        Some(reason) => format!(" · stopped early: {}", visible_line(&reason.to_string())),
        None if skipped > 0 => format!(", {} not run", count(skipped)),
        None => String::new(),
    };
    let n = open_findings(summary).len();
    let settled = summary.findings.len() - n;
    let is_known = summary.findings.iter().any(Finding::is_known);
    let known = match (settled, is_known) {
        (0, _) => String::new(),
        (settled, true) => format!(", {settled} known"),
        (settled, false) => format!(", {settled} recorded"),
    };
    let stale = match summary.known.as_ref().map_or(0, |known| known.stale().count()) {
        0 => String::new(),
        1 => format!(" · {RED}1 stale known deviation{RED:#}"),
        n => format!(" · {RED}{n} stale known deviations{RED:#}"),
    };
    let worse =
        regressions(summary).map(|worse| format!(" · {RED}{worse}{RED:#} against the snapshot"));
    let worse = worse.unwrap_or_default();
    if n > 0 {
        let noun = if n == 1 { "finding" } else { "findings" };
        let style = if failing_findings(summary) > 0 { RED } else { YELLOW };
        return format!(
            "{style}{n} {noun}{style:#} in {} checked cases{known}{undecided}{declined}{stopped}{stale}{worse}",
            count(checked)
        );
    }
    if checked == 0 {
        return format!("{YELLOW}nothing was checked{YELLOW:#}{declined}{stopped}{stale}");
    }
    if let Some(claim) = summary.claim.as_ref().filter(|claim| claim.contradicted > 0) {
        return format!(
            "{RED}contradicted{RED:#}: {} says something else of {} that came out right{stopped}",
            visible_line(&claim.file),
            cases(claim.contradicted)
        );
    }
    let none = if settled > 0 { "no new finding" } else { "no finding" };
    let style = if worse.is_empty() && summary.stopped.is_none() { GREEN } else { YELLOW };
    format!(
        "{style}{none}{style:#} in {} checked cases{known}{undecided}{declined}{stopped}{stale}{worse}",
        count(checked)
    )
}

/// The laws with the most cases.
fn laws(laws: &BTreeMap<String, usize>) -> String {
    let mut all: Vec<(&String, &usize)> = laws.iter().collect();
    all.sort_by_key(|(law, n)| (std::cmp::Reverse(**n), law.as_str()));
    let shown: Vec<String> = all.iter().take(4).map(|(law, n)| format!("{law} {n}")).collect();
    let more = all.len().saturating_sub(4);
    match more {
        0 => shown.join(", "),
        1 => format!("{} and 1 more law", shown.join(", ")),
        _ => format!("{} and {more} more laws", shown.join(", ")),
    }
}
