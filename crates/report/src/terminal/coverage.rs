//! What a run checked: verdicts, formats, options, sizes, laws, what was declined or left undecided.

use std::collections::{BTreeMap, BTreeSet};

use qkvet_spec::{CaseRecord, Chosen, ClaimOutcome, Declined, Summary, Takes, Verdict};

use super::laws as laws_of;
use super::rows::Rows;
use crate::text::{cases, count, cut, first_line, ratio, visible_line};
use crate::words::english_warnings;

/// Reasons for declining beyond this are only counted.
const MAX_REASONS: usize = 4;
/// Longest reason in the short report.
const REASON: usize = 60;
/// So many times more cases declined than checked are worth a hint.
const FEW: usize = 9;
const WANTED: &str = "The target declined nearly all cases, for the reasons above. Most cases set `scale`, have several batch items and \
                      heads, and values of another width than keys. A target that accepts these is checked on more cases";
const EVEN: &str = ". Suite `even` has one width";
/// Refusals that nobody may have looked at.
const REFUSED: &str = "cases raised an exception other than NotImplementedError. Raise NotImplementedError for options that the target \
                       does not offer; any other exception may be a bug";
/// What to do about suspects, and about what is undecided.
const PROMISE_MORE: [&str; 2] = [
    "A stricter contract (--contract NAME, `qkvet list contracts`) proves it wrong or clears it.",
    "A stricter contract (--contract NAME, `qkvet list contracts`) decides more.",
];

/// Counts, options, formats, sizes, what was declined and what was not checked, as for a file.
pub fn coverage(summary: &Summary) -> String {
    let mut rows = Rows::new(None);
    write_coverage(&mut rows, summary);
    rows.text
}

pub(super) fn write_coverage(rows: &mut Rows, summary: &Summary) {
    let verdicts = Verdict::ALL.iter().filter_map(|verdict| {
        Some(format!("{verdict} {}", count(*summary.counts.get(verdict.word())?)))
    });
    rows.listed("verdicts", &verdicts.collect::<Vec<_>>(), " ·");
    let covered = &summary.coverage;
    rows.told("formats", &formats(summary));
    rows.listed("options", &tally(&covered.options), " ·");
    let sizes = covered.sizes.iter().map(|(name, (low, high))| {
        if low == high { format!("{name} {low}") } else { format!("{name} {low}–{high}") }
    });
    rows.listed("sizes", &sizes.collect::<Vec<_>>(), " ·");
    rows.told("reference", &references(&covered.references));
    let missed = missed_laws(summary);
    let of = covered.laws.len();
    rows.row("laws", &format!("{} of {of} checked", of - missed.len()));
    rows.wrapped("not", &missed.join(", "));
    rows.wrapped("suspect", &suspects(summary));
    rows.wrapped("undecided", &undecided(summary));
    write_claim(rows, summary);
    let declined = declined(summary);
    for one in declined.iter().take(MAX_REASONS) {
        rows.row("declined", &format!("{}: {}", cases(one.cases), one.display()));
    }
    let others = &declined[declined.len().min(MAX_REASONS)..];
    if !others.is_empty() {
        let n = cases(others.iter().map(|one| one.cases).sum());
        let reasons = more(others.len(), "reason");
        rows.row("", &format!("{n} for {reasons}: --format json has them all"));
    }
    write_advice(rows, summary);
    write_warnings(rows, summary);
    let apart = apart(summary, usize::MAX);
    rows.told(
        "unchecked",
        &format!("{apart}{} (not in this version)", covered.unchecked.join(", ")),
    );
}

/// What came of a file of deviations.
fn write_claim(rows: &mut Rows, summary: &Summary) {
    let Some(ClaimOutcome { file, explained, contradicted, first }) = &summary.claim else {
        return;
    };
    let file = visible_line(file);
    if *explained == 0 && *contradicted == 0 {
        rows.wrapped("as", &format!("no case tells {file} from attention: nothing was decided"));
        return;
    }
    let explained = match explained {
        0 => "explains no wrong result".to_owned(),
        n => format!("explains {}", cases(*n)),
    };
    let contradicted = match (contradicted, first) {
        (n @ 1.., Some(id)) => format!("contradicts {}, such as {id}", cases(*n)),
        _ => "contradicts none".to_owned(),
    };
    rows.wrapped("as", &format!("{file} {explained} and {contradicted}"));
}

/// What nobody decided, and what should be known: no run is silent about that.
pub(super) fn write_open_ends(rows: &mut Rows, summary: &Summary) {
    write_claim(rows, summary);
    rows.wrapped("suspect", &suspects(summary));
    let Tally { contracts, .. } = Tally::of(summary, Verdict::Inconclusive);
    if !contracts.is_empty() {
        let n = cases(contracts.values().sum());
        let named: Vec<&str> = contracts.into_keys().collect();
        let allow = if named.len() == 1 { "allows" } else { "allow" };
        let named = named.join(", ");
        rows.wrapped("undecided", &format!("{n}: {named} {allow} any weights; try --contract"));
    }
    write_warnings(rows, summary);
}

/// What the run did not test, in a few lines.
pub(super) fn write_gaps(rows: &mut Rows, summary: &Summary) {
    if let Some(Takes { cases: takes, of }) = summary.run.takes {
        let (checked, asked) = (summary.checked(), summary.records.len().max(1));
        let about = if checked == asked || checked == 0 { "" } else { "about " };
        let answered = count(takes * checked / asked);
        let suite = visible_line(&summary.run.suite);
        let text = format!("{about}{answered} of the {} that {suite} draws", cases(of));
        rows.wrapped("answered", &text);
    }
    let declined = declined(summary);
    if !declined.is_empty() {
        let reason = |one: &&Declined| {
            let reason = one.reason.display().to_string();
            format!("{} {}", cut(first_line(&reason), REASON), count(one.cases))
        };
        let mut shown: Vec<String> = declined.iter().take(MAX_REASONS).map(reason).collect();
        if declined.len() > MAX_REASONS {
            shown.push(more(declined.len() - MAX_REASONS, "reason"));
        }
        let n = declined.iter().map(|one| one.cases).sum();
        let all = cases(summary.records.len());
        rows.wrapped("declined", &format!("{} of {all}: {}", count(n), shown.join(", ")));
    }
    let mut missed = missed_laws(summary);
    // That the values are right is what most would miss.
    missed.sort_by_key(|law| *law != "value");
    let shown = missed[..missed.len().min(MAX_REASONS)].join(", ");
    let laws = match missed.len() {
        0 => String::new(),
        1..=MAX_REASONS => format!("laws {shown}; "),
        n => format!("laws {shown} and {} more; ", n - MAX_REASONS),
    };
    let unchecked = summary.coverage.unchecked.join(", ");
    rows.wrapped("unchecked", &format!("{laws}{}{unchecked}", apart(summary, MAX_REASONS)));
    write_advice(rows, summary);
}

/// Options that were checked, but not together; where laws were left out by choice that is no news.
fn apart(summary: &Summary, most: usize) -> String {
    let pairs = &summary.coverage.apart;
    if pairs.is_empty() || summary.run.chosen.contains(&Chosen::Laws) {
        return String::new();
    }
    let mut named: Vec<String> =
        pairs.iter().take(most).map(|(one, two)| format!("{one} with {two}")).collect();
    if pairs.len() > most {
        named.push(more(pairs.len() - most, "pair"));
    }
    format!("{}; ", named.join(", "))
}

fn write_advice(rows: &mut Rows, summary: &Summary) {
    let declined: usize = summary.coverage.declined.iter().map(|one| one.cases).sum();
    if declined > FEW * summary.checked() {
        let even = if summary.run.suite == "even" { "" } else { EVEN };
        rows.wrapped("hint", &format!("{WANTED}{even}"));
    }
    let refused = summary.count(Verdict::Refused);
    if refused > 0 {
        rows.wrapped("hint", &format!("{} {REFUSED}", count(refused)));
    }
}

fn write_warnings(rows: &mut Rows, summary: &Summary) {
    english_warnings(summary).for_each(|warning| rows.wrapped("warning", &warning));
}

/// `3 more reasons`.
fn more(n: usize, noun: &str) -> String {
    format!("{n} more {noun}{}", if n == 1 { "" } else { "s" })
}

fn missed_laws(summary: &Summary) -> Vec<&str> {
    let laws = &summary.coverage.laws;
    laws.iter().filter(|(_, n)| **n == 0).map(|(law, _)| law.as_str()).collect()
}

/// What was declined, the most frequent reason first.
pub(crate) fn declined(summary: &Summary) -> Vec<&Declined> {
    let mut all: Vec<&Declined> = summary.coverage.declined.iter().collect();
    all.sort_by(|x, y| y.cases.cmp(&x.cases).then_with(|| x.reason.cmp(&y.reason)));
    all
}

/// Cases beyond the probable bound: how many, the worst of each contract, what to do.
fn suspects(summary: &Summary) -> String {
    let Tally { contracts, laws } = Tally::of(summary, Verdict::Suspect);
    if contracts.is_empty() {
        return String::new();
    }
    let head = format!(
        "farther from the exact value than roundings of mean zero would be, but within what the contract allows: {}",
        laws_of(&laws)
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
        .chain([PROMISE_MORE[0].to_owned()])
        .collect::<Vec<_>>()
        .join("\n")
}

/// Which contracts left which laws undecided, the most frequent first, and a case of each contract.
fn undecided(summary: &Summary) -> String {
    let Tally { contracts, laws } = Tally::of(summary, Verdict::Inconclusive);
    let named: Vec<String> =
        contracts.iter().map(|(contract, n)| format!("{contract} {}", count(*n))).collect();
    if laws.is_empty() {
        return String::new();
    }
    let head =
        format!("the contract allows any weights there ({}): {}", named.join(", "), laws_of(&laws));
    let cases =
        summary.standing_for(Verdict::Inconclusive).into_iter().filter_map(|(contract, at)| {
            let replay = summary.records[at].replay.as_ref()?;
            Some(format!("{contract}, for example: {replay}"))
        });
    std::iter::once(head)
        .chain(cases)
        .chain([PROMISE_MORE[1].to_owned()])
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

fn tally(counts: &BTreeMap<String, usize>) -> Vec<String> {
    counts.iter().map(|(name, n)| format!("{name} {}", count(*n))).collect()
}
