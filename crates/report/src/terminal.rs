//! The report for people: findings, then what was checked. Words carry the meaning; color only
//! repeats it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use qkvet_spec::{CaseRecord, Dialect, Finding, Summary, Verdict};
use textwrap::core::display_width;

use crate::finding_name::titles;
use crate::known::{failing_findings, open_findings, settled, stale_lines};
use crate::margins::margins;
use crate::snapshot::{regressions, snapshot_text};
use crate::text::{count, cut, in_lines, no_command, ratio, visible, visible_line, whole_words};
use crate::words::word as word_of;
use crate::words::{self, english_warnings, title};

const BOLD: Style = Style::new().bold();
const RED: Style = AnsiColor::Red.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
/// Findings beyond this are only counted.
const MAX_FINDINGS: usize = 10;
/// Reasons for declining beyond this are only counted.
const MAX_REASONS: usize = 4;
/// Lines of one finding.
const MAX_LINES: usize = 12;
/// Room before the value of a row.
const LABEL: usize = 12;
/// Prose is broken into lines of at most this many characters, however wide a terminal is.
const WIDTH: usize = 108;
/// Less than this is no room for anything: a narrower terminal wraps lines itself.
const NARROWEST: usize = 40;
/// Longest value where no terminal is: whoever searches a file wants whole lines, and nobody a
/// message of megabytes.
const MAX_LEN: usize = 2000;

/// How much of the report people get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportStyle {
    /// Lines end where a terminal of so many columns does; in a file they end where they end.
    pub columns: Option<usize>,
    /// What was checked is left out, unless that was nothing.
    pub is_brief: bool,
    /// The worst error of each law and format is told.
    pub has_margins: bool,
}

impl ReportStyle {
    fn width(self) -> usize {
        self.columns.map_or(MAX_LEN, |columns| columns.saturating_sub(LABEL).max(NARROWEST))
    }
}

/// The whole report, as for a file.
pub fn render(summary: &Summary) -> String {
    render_in(summary, ReportStyle::default())
}

/// The report, as long as it is wanted.
pub fn render_in(summary: &Summary, style: ReportStyle) -> String {
    let run = &summary.run;
    let width = style.width();
    let mut out = String::new();
    headline(
        &mut out,
        &format!(
            "{} · target {BOLD}{}{BOLD:#} · suite {}, seed {} · {} cases",
            visible_line(&run.tool),
            visible_line(&run.target),
            visible_line(&run.suite),
            run.seed,
            count(run.cases)
        ),
        width,
    );
    for text in &run.environment {
        row(&mut out, "", &visible_line(&text.display().to_string()), width);
    }
    if !run.conventions.is_empty() {
        row(&mut out, "declared", &run.conventions.join(", "), width);
    }
    out.push('\n');
    let open = open_findings(summary);
    for at in open.iter().take(MAX_FINDINGS) {
        out.push_str(&finding_in(&summary.findings[*at], width));
        out.push('\n');
    }
    let more = open.len().saturating_sub(MAX_FINDINGS);
    if more > 0 {
        line(&mut out, &format!("and {more} more findings: --format json has them all\n"));
    }
    out.push_str(&settled_findings(summary, width));
    let is_short = style.is_brief && summary.checked() > 0;
    out.push_str(&if is_short { open_ends(summary, width) } else { covered(summary, width) });
    if style.has_margins {
        out.push('\n');
        out.push_str(&margins(summary, width + LABEL));
    }
    // One blank line stands before it, whatever is before that.
    let last = exit_line(summary);
    let last = if out.ends_with("\n\n") { last.trim_start_matches('\n') } else { &last };
    headline(&mut out, last, width);
    if let Some(snapshot) = &summary.snapshot {
        out.push('\n');
        out.push_str(&snapshot_text(snapshot, &titles(summary), style.columns));
    }
    no_command(&out).into_owned()
}

/// Findings that do not fail, a line each, and entries of known deviations that are stale.
fn settled_findings(summary: &Summary, width: usize) -> String {
    let mut out = String::new();
    let mut n = 0;
    for (at, why) in settled(summary) {
        n += 1;
        if n > MAX_FINDINGS {
            continue;
        }
        let one = &summary.findings[at];
        let word = if one.is_known() { "KNOWN" } else { "RECORDED" };
        let cases = if one.cases == 1 {
            "1 case".to_owned()
        } else {
            format!("{} cases", count(one.cases))
        };
        headline(
            &mut out,
            &format!(
                "{YELLOW}{word}{YELLOW:#}  {}: {} in {cases}",
                word_of(one),
                cut(&visible_line(&title(one)), width)
            ),
            width,
        );
        row(&mut out, "", &why, width);
    }
    if n > MAX_FINDINGS {
        line(
            &mut out,
            &format!("and {} more that do not fail: --format json has them all", n - MAX_FINDINGS),
        );
    }
    for text in stale_lines(summary) {
        headline(&mut out, &format!("{RED}STALE{RED:#}  {}", visible_line(&text)), width);
    }
    if let Some(known) = summary.known.as_ref().filter(|known| known.is_stale()) {
        row(&mut out, "", &format!("entries of {}", known.file), width);
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// One finding, twelve lines at most, as for a file.
pub fn finding(finding: &Finding) -> String {
    finding_in(finding, MAX_LEN)
}

fn finding_in(finding: &Finding, width: usize) -> String {
    let mut out = String::new();
    let word = word_of(finding);
    let said = words::told(finding, Dialect::CommandLine);
    let shows = if finding.cases == 1 { "shows" } else { "show" };
    headline(
        &mut out,
        &format!("{RED}{word}{RED:#}  {BOLD}{}{BOLD:#}", visible_line(&said.title)),
        width,
    );
    told(
        &mut out,
        "cases",
        &format!(
            "{} of {} {shows} it{}: {}",
            count(finding.cases),
            count(finding.of),
            said.only,
            laws(&finding.laws)
        ),
        width,
    );
    told(&mut out, "law", &format!("{}: {}", finding.law, finding.law_title), width);
    row(&mut out, "witness", &finding.witness.call, width);
    row(&mut out, "", &apart(&finding.witness.inputs, " ", width), width);
    row(&mut out, "at", &said.at, width);
    row(&mut out, "expected", &said.expected, width);
    let margin = if said.beyond.is_empty() { String::new() } else { format!("({})", said.beyond) };
    let got = cut(&visible(&said.got), width);
    // Behind the number where there is room, else below it.
    let is_beside =
        display_width(&got) + 3 + display_width(&margin) <= width && !got.contains('\n');
    let gap = if margin.is_empty() { "" } else { ["\n", "   "][usize::from(is_beside)] };
    row(&mut out, "got", &format!("{got}{gap}{margin}"), width);
    for (label, text) in &said.more {
        let put = if *label == "stderr" { row } else { wrapped };
        put(&mut out, label, text, width);
    }
    let by_script = finding.script.as_ref().map(|script| format!("python {script}"));
    match by_script.map(|by_script| (format!("{}   or  {by_script}", finding.replay), by_script)) {
        Some((both, _)) if display_width(&both) <= width => command(&mut out, "replay", &both),
        Some((_, by_script)) => {
            command(&mut out, "replay", &finding.replay);
            command(&mut out, "or", &by_script);
        }
        None => command(&mut out, "replay", &finding.replay),
    }
    if let Some(anywhere) = &finding.replay_anywhere
        && *anywhere != finding.replay
        && anywhere.chars().count() <= 2 * WIDTH
        && out.lines().count() < MAX_LINES
    {
        command(&mut out, "or", anywhere);
    }
    out
}

/// So many times more cases declined than checked are worth a hint.
const FEW: usize = 9;
const WANTED: &str = "nearly all cases were declined, for the reasons above. Most set `scale`, and have several items and heads, and \
                      other widths for values than for keys: a target that takes these is checked on more";
const EVEN: &str = ". Suite `even` has one width";
/// Refusals that nobody may have looked at.
const REFUSED: &str = "cases were refused with an exception. What a target does not offer it says with NotImplementedError; another \
                       exception may be a fault of its own: the reasons above are its words";

/// Counts, options, formats, sizes, what was declined and what was not checked, as for a file.
pub fn coverage(summary: &Summary) -> String {
    covered(summary, MAX_LEN)
}

/// What nobody decided, and what should be known: no run is silent about that.
fn open_ends(summary: &Summary, width: usize) -> String {
    let mut out = String::new();
    undecided_rows(&mut out, summary, width);
    warnings(&mut out, summary, width);
    out
}

fn undecided_rows(out: &mut String, summary: &Summary, width: usize) {
    wrapped(out, "suspect", &suspects(summary), width);
    wrapped(out, "undecided", &undecided(summary), width);
}

fn warnings(out: &mut String, summary: &Summary, width: usize) {
    for warning in english_warnings(summary) {
        wrapped(out, "warning", &warning, width);
    }
}

fn covered(summary: &Summary, width: usize) -> String {
    let mut out = String::new();
    let words = Verdict::ALL
        .iter()
        .filter_map(|verdict| Some((verdict.word(), *summary.counts.get(verdict.word())?)));
    let words: Vec<String> = words.map(|(word, n)| format!("{word} {}", count(n))).collect();
    listed(&mut out, "verdicts", &words, width);
    let covered = &summary.coverage;
    told(&mut out, "formats", &formats(summary), width);
    listed(&mut out, "options", &tally(&covered.options), width);
    let sizes = covered.sizes.iter().map(|(name, (low, high))| {
        if low == high { format!("{name} {low}") } else { format!("{name} {low}–{high}") }
    });
    listed(&mut out, "sizes", &sizes.collect::<Vec<_>>(), width);
    told(&mut out, "reference", &references(&covered.references), width);
    let checked = covered.laws.values().filter(|n| **n > 0).count();
    row(&mut out, "laws", &format!("{checked} of {} checked", covered.laws.len()), width);
    let missed: Vec<&str> =
        covered.laws.iter().filter(|(_, n)| **n == 0).map(|(law, _)| law.as_str()).collect();
    wrapped(&mut out, "not", &missed.join(", "), width);
    undecided_rows(&mut out, summary, width);
    let reasons = covered.declined.iter().map(|it| (it.display().to_string(), it.cases));
    let mut declined: Vec<_> = reasons.collect();
    declined.sort_by(|(x, n), (y, m)| m.cmp(n).then_with(|| x.cmp(y)));
    for (reason, n) in declined.iter().take(MAX_REASONS) {
        let noun = if *n == 1 { "case" } else { "cases" };
        row(&mut out, "declined", &format!("{} {noun}: {reason}", count(*n)), width);
    }
    let others: Vec<usize> = declined.iter().skip(MAX_REASONS).map(|(_, n)| *n).collect();
    if !others.is_empty() {
        let noun = if others.len() == 1 { "reason" } else { "reasons" };
        let (more, cases) = (others.len(), count(others.iter().sum()));
        row(
            &mut out,
            "",
            &format!("{cases} cases for {more} more {noun}: --format json has them all"),
            width,
        );
    }
    if covered.declined.iter().map(|it| it.cases).sum::<usize>() > FEW * summary.checked() {
        let even = if summary.run.suite == "even" { "" } else { EVEN };
        wrapped(&mut out, "hint", &format!("{WANTED}{even}"), width);
    }
    let refused = summary.count(Verdict::Refused);
    if refused > 0 {
        wrapped(&mut out, "hint", &format!("{} {REFUSED}", count(refused)), width);
    }
    warnings(&mut out, summary, width);
    told(
        &mut out,
        "unchecked",
        &format!("{} (not in this version)", covered.unchecked.join(", ")),
        width,
    );
    out
}

/// Cases beyond the probable bound: how many, the worst of each contract, what to do.
fn suspects(summary: &Summary) -> String {
    let Tally { contracts, laws } = Tally::of(summary, Verdict::Suspect);
    if contracts.is_empty() {
        return String::new();
    }
    let head = format!(
        "farther from the exact value than roundings of mean zero would be, but within what the contract allows: {}",
        self::laws(&laws)
    );
    let cases = summary.standing_for(Verdict::Suspect).into_iter().flat_map(|(contract, at)| {
        let n = contracts.get(contract).copied().unwrap_or_default();
        let noun = if n == 1 { "case" } else { "cases" };
        let record = &summary.records[at];
        let worst = record.evidence.as_ref().map_or(String::new(), |evidence| {
            let share = ratio(evidence.ratio.unwrap_or(0.0));
            format!(", the worst {share} of its bound: {evidence}")
        });
        std::iter::once(format!("{contract}: {} {noun}{worst}", count(n)))
            .chain(record.replay.clone())
    });
    std::iter::once(head)
        .chain(cases)
        .chain([PROMISE_MORE.0.to_owned()])
        .collect::<Vec<_>>()
        .join("\n")
}

/// What to do about suspects, and about what is undecided.
const PROMISE_MORE: (&str, &str) = (
    "A contract that promises more (--contract NAME, `qkvet list contracts`) proves it wrong or clears it.",
    "A contract that promises more (--contract NAME, `qkvet list contracts`) decides more.",
);

/// Which contracts left which laws undecided, the most frequent first, and a case of each contract.
fn undecided(summary: &Summary) -> String {
    let Tally { contracts, laws } = Tally::of(summary, Verdict::Inconclusive);
    let named: Vec<String> =
        contracts.iter().map(|(contract, n)| format!("{contract} {}", count(*n))).collect();
    if laws.is_empty() {
        return String::new();
    }
    let head = format!(
        "the contract allows any number there ({}): {}",
        named.join(", "),
        self::laws(&laws)
    );
    let cases =
        summary.standing_for(Verdict::Inconclusive).into_iter().filter_map(|(contract, at)| {
            let replay = summary.records[at].replay.as_ref()?;
            Some(format!("{contract}, for example: {replay}"))
        });
    std::iter::once(head)
        .chain(cases)
        .chain([PROMISE_MORE.1.to_owned()])
        .collect::<Vec<_>>()
        .join("\n")
}

/// `1,204 rows by enclosure, 96 exact, 3 by arbitrary precision`.
fn references(rows: &BTreeMap<String, usize>) -> String {
    let known = [
        ("enclosure", "by enclosure"),
        ("exact", "exact"),
        ("defined", "by definition"),
        ("arbitrary-precision", "by arbitrary precision"),
        ("stored", "by stored digits"),
    ];
    let parts: Vec<String> = known
        .iter()
        .filter_map(|(word, text)| Some(format!("{} {text}", count(*rows.get(*word)?))))
        .collect();
    // The first one says of what.
    parts.join(", ").replacen(' ', " rows ", 1)
}

/// `float32 512 under f32, worst error 0.02 of its bound`. Where cases did not hold, it is the
/// worst of those that did.
fn formats(summary: &Summary) -> String {
    let is_worse =
        |record: &&CaseRecord| record.verdict.is_checked() && record.verdict != Verdict::Pass;
    let worse: BTreeSet<&str> =
        summary.records.iter().filter(is_worse).map(|record| record.dtype.as_str()).collect();
    let parts = summary.coverage.dtypes.iter().filter(|(_, n)| **n > 0).map(|(dtype, n)| {
        let contract = summary.run.contracts.get(dtype).map_or("", String::as_str);
        let what =
            if worse.contains(dtype.as_str()) { "worst error that held" } else { "worst error" };
        let margin =
            summary.coverage.margins.get(dtype).map_or(String::new(), |margin| {
                format!(", {what} {} of its bound", ratio(*margin))
            });
        format!("{dtype} {} under {contract}{margin}", count(*n))
    });
    parts.collect::<Vec<_>>().join("\n")
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
            "\n{style}{n} {noun}{style:#} in {} checked cases{known}{undecided}{declined}{stopped}{stale}{worse}",
            count(checked)
        );
    }
    if checked == 0 {
        return format!("\n{YELLOW}nothing was checked{YELLOW:#}{declined}{stopped}{stale}");
    }
    let none = if settled > 0 { "no new finding" } else { "no finding" };
    let style = if worse.is_empty() && summary.stopped.is_none() { GREEN } else { YELLOW };
    format!(
        "\n{style}{none}{style:#} in {} checked cases{known}{undecided}{declined}{stopped}{stale}{worse}",
        count(checked)
    )
}

/// Cases of one verdict.
#[derive(Default)]
struct Tally<'a> {
    /// By contract.
    contracts: BTreeMap<&'a str, usize>,
    /// By law.
    laws: BTreeMap<String, usize>,
}

impl<'a> Tally<'a> {
    fn of(summary: &'a Summary, verdict: Verdict) -> Self {
        let mut tally = Self::default();
        for record in summary.records.iter().filter(|record| record.verdict == verdict) {
            let contract = summary.run.contracts.get(&record.dtype).map_or("", String::as_str);
            *tally.contracts.entry(contract).or_default() += 1;
            *tally.laws.entry(record.law.clone()).or_default() += 1;
        }
        tally
    }
}

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

fn tally(counts: &BTreeMap<String, usize>) -> Vec<String> {
    counts.iter().map(|(name, n)| format!("{name} {}", count(*n))).collect()
}

fn row(out: &mut String, label: &str, value: &str, width: usize) {
    if value.is_empty() {
        return;
    }
    let shown: Vec<String> = value.lines().map(|text| cut(&visible(text), width)).collect();
    line(out, &format!("  {label:9} {}", shown.join(&format!("\n{:LABEL$}", ""))));
}

/// A row to be copied: neither cut nor broken into lines.
fn command(out: &mut String, label: &str, text: &str) {
    line(out, &format!("  {label:9} {}", visible_line(text)));
}

/// A row that is broken into lines rather than cut.
fn wrapped(out: &mut String, label: &str, value: &str, width: usize) {
    row(out, label, &textwrap::wrap(value, whole_words(width.min(WIDTH))).join("\n"), width);
}

/// A row that is broken where a terminal ends, and one line in a file.
fn told(out: &mut String, label: &str, value: &str, width: usize) {
    if width >= MAX_LEN { row(out, label, value, width) } else { wrapped(out, label, value, width) }
}

/// A row of entries that is broken between them alone.
fn listed(out: &mut String, label: &str, entries: &[String], width: usize) {
    row(out, label, &apart(entries, " ·", width.min(WIDTH)), width);
}

/// Entries with a mark behind each but the last, in lines that are broken between them alone.
fn apart(entries: &[String], mark: &str, width: usize) -> String {
    // A space that is no place to break a line, as long as lines are broken.
    const HARD: &str = "\u{a0}";
    let joined = entries.iter().map(|entry| entry.replace(' ', HARD)).collect::<Vec<_>>();
    let joined = joined.join(&format!("{} ", mark.replace(' ', HARD)));
    let lines = textwrap::wrap(&joined, whole_words(width).break_words(false));
    lines
        .iter()
        .map(|line| line.trim_end_matches(HARD).replace(HARD, " "))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Lines of their own, broken where a terminal ends. Colors take no room.
fn headline(out: &mut String, text: &str, width: usize) {
    for text in text.lines() {
        let options = whole_words(width.saturating_add(LABEL)).subsequent_indent("      ");
        line(out, &in_lines(text, options));
    }
}

fn line(out: &mut String, text: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{text}");
}
