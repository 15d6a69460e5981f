//! Differences in words.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use qkvet_spec::{CaseChange, Change, PartCount, SnapshotEntry, SnapshotOutcome, Summary};

use crate::glob::matches;
use crate::text::{count, cut, in_lines, visible_line, whole_words};

const BOLD: Style = Style::new().bold();
const RED: Style = AnsiColor::Red.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default().bold();
/// Groups of one kind that are shown.
const MAX_GROUPS: usize = 8;
/// Cases of a group that are named.
const MAX_CASES: usize = 3;
/// Room before what is said of a group.
const LABEL: usize = 24;
/// Longest line where no terminal ends it.
const MAX_LEN: usize = 2000;

/// Cases that changed in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeGroup<'a> {
    /// How.
    pub change: Change,
    /// `PASS → FAIL QK221`.
    pub title: String,
    /// The cases.
    pub cases: Vec<&'a CaseChange>,
}

impl ChangeGroup<'_> {
    /// Laws with how many cases each, the most frequent first.
    pub fn laws(&self) -> String {
        let mut laws: BTreeMap<&str, usize> = BTreeMap::new();
        for one in &self.cases {
            *laws.entry(&one.law).or_default() += 1;
        }
        let mut laws: Vec<(&str, usize)> = laws.into_iter().collect();
        laws.sort_by_key(|(law, n)| (std::cmp::Reverse(*n), *law));
        let mut named: Vec<String> =
            laws.iter().take(4).map(|(law, n)| format!("{law} {}", count(*n))).collect();
        match laws.len().saturating_sub(4) {
            0 => {}
            1 => named.push("1 more law".to_owned()),
            more => named.push(format!("{more} more laws")),
        }
        named.join(", ")
    }

    /// How it changed, and of which fault a code is.
    pub fn named(&self, titles: &BTreeMap<String, String>) -> String {
        let about = match self.change {
            Change::Drift => drifted(&self.cases),
            _ => self.title.clone(),
        };
        // `FAIL QK101 → FAIL QK101+QK110` has a code twice.
        let mut seen = BTreeSet::new();
        let codes = self.cases.first().filter(|_| !is_of_size(self.change)).into_iter();
        let known: Vec<&str> = codes
            .flat_map(|one| parts(one))
            .filter_map(|code| titles.get(code))
            .filter(|title| seen.insert(*title))
            .map(String::as_str)
            .collect();
        let known =
            if known.is_empty() { String::new() } else { format!(" ({})", known.join("; ")) };
        visible_line(&(about + &known)).into_owned()
    }

    /// A case in a line: `c-78bac45d510d9835  value float32  PASS 2^-8 → FAIL 2^5 QK221`.
    pub fn line(one: &CaseChange) -> String {
        let (case, about) = Self::case_and_change(one);
        format!("{case}  {about}")
    }

    /// The case, and what was recorded of it and found.
    fn case_and_change(one: &CaseChange) -> (String, String) {
        let tell =
            |entry: &Option<SnapshotEntry>| entry.as_ref().map_or_else(|| "–".to_owned(), short);
        let (before, now) = (tell(&one.recorded), tell(&one.found));
        let about = format!("{} {}  {before} → {now}", one.law, one.dtype);
        (visible_line(&one.case).into_owned(), visible_line(&about).into_owned())
    }
}

/// The entry with the beginning of its digest.
fn short(entry: &SnapshotEntry) -> String {
    let digest = entry.digest.as_ref().map(|digest| digest.chars().take(8).collect());
    SnapshotEntry { digest, ..entry.clone() }.to_string()
}

/// Whether a pattern fits the law, the case or a finding of a change.
pub fn is_about(one: &CaseChange, pattern: &str) -> bool {
    [one.law.as_str(), one.case.as_str()]
        .into_iter()
        .chain(parts(one))
        .any(|name| matches(pattern, name))
}

/// The names of its findings, of two faults together those of each as well.
fn parts(one: &CaseChange) -> impl Iterator<Item = &str> {
    let entries = [&one.recorded, &one.found].into_iter().flatten();
    let names = entries.filter_map(|entry| entry.finding.as_deref());
    names.flat_map(|name| name.split('+').chain([name]))
}

/// Whether the change is one of how far out a case is, or of its bits.
fn is_of_size(change: Change) -> bool {
    use Change::{Drift, LargerError, OtherBits, SmallerError};
    matches!(change, Drift | LargerError | OtherBits | SmallerError)
}

/// Differences that belong together, regressions first.
pub fn change_groups(outcome: &SnapshotOutcome) -> Vec<ChangeGroup<'_>> {
    let mut groups: Vec<ChangeGroup<'_>> = Vec::new();
    let mut places: BTreeMap<(Change, String), usize> = BTreeMap::new();
    for one in &outcome.changes {
        let title = title(one);
        let at = *places.entry((one.change, title.clone())).or_insert_with(|| {
            groups.push(ChangeGroup { change: one.change, title, cases: Vec::new() });
            groups.len() - 1
        });
        groups[at].cases.push(one);
    }
    groups.sort_by_key(|group| (group.change, std::cmp::Reverse(group.cases.len())));
    groups
}

fn title(one: &CaseChange) -> String {
    let words = |entry: &Option<SnapshotEntry>| {
        let entry = entry.as_ref()?;
        let bare = SnapshotEntry { band: None, digest: None, ..entry.clone() };
        Some(bare.to_string())
    };
    let (before, now) = (words(&one.recorded), words(&one.found));
    match one.change {
        Change::LargerError | Change::SmallerError | Change::OtherBits => {
            format!("{} {}", one.law, one.dtype)
        }
        Change::Drift => String::new(),
        _ => match (before, now) {
            (Some(before), Some(now)) => format!("{before} → {now}"),
            (before, now) => before.or(now).unwrap_or_default(),
        },
    }
}

/// What is different, for the end of a report; of each kind the largest groups. Lines end where a
/// terminal of so many columns does.
pub fn snapshot_text(
    outcome: &SnapshotOutcome,
    titles: &BTreeMap<String, String>,
    columns: Option<usize>,
) -> String {
    let columns = columns.unwrap_or(MAX_LEN).max(LABEL * 2);
    let width = columns - LABEL;
    let mut out = String::new();
    let mut line = |text: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(out, "{text}");
    };
    let compared = format!("{} cases compared", count(outcome.compared));
    let head = format!(
        "{BOLD}SNAPSHOT{BOLD:#}  {} · {} · {compared}",
        visible_line(&outcome.file),
        visible_line(&outcome.device)
    );
    line(&in_lines(&head, whole_words(columns).subsequent_indent("          ")));
    let groups = change_groups(outcome);
    for change in Change::ALL {
        let of: Vec<&ChangeGroup<'_>> =
            groups.iter().filter(|group| group.change == change).collect();
        let style = if change.is_regression() {
            RED
        } else if change.is_improvement() {
            GREEN
        } else {
            Style::new()
        };
        for group in of.iter().take(MAX_GROUPS) {
            let (name, n) = (change.name(), count(group.cases.len()));
            let about = beside(&group.named(titles), width);
            line(&format!("  {style}{name:13}{style:#} {n:>6}  {about}"));
            if change == Change::Drift || change == Change::New {
                continue;
            }
            line(&format!("  {:13} {:>6}  {}", "", "", beside(&group.laws(), width)));
            if change.is_regression() {
                for one in group.cases.iter().take(MAX_CASES) {
                    let (case, about) = ChangeGroup::case_and_change(one);
                    // The case stands where counts do, as long as it is no longer than ours are.
                    let case = cut(&case, LABEL - 6);
                    line(&format!("    {case:18}  {}", beside(&about, width)));
                }
            }
        }
        let more: usize = of.iter().skip(MAX_GROUPS).map(|group| group.cases.len()).sum();
        if more > 0 {
            let (n, noun) = (
                of.len() - MAX_GROUPS,
                if of.len() - MAX_GROUPS == 1 { "group" } else { "groups" },
            );
            line(&format!("  {:13} {:>6}  in {n} more {noun}", "", count(more)));
        }
    }
    if outcome.left_out > 0 {
        line(&format!(
            "  {:13} {:>6}  recorded cases that this run left out; they stay",
            "left out",
            count(outcome.left_out)
        ));
    }
    for (name, parts) in
        [("not asked", &outcome.not_asked), ("not recorded", &outcome.not_recorded)]
    {
        if !parts.is_empty() {
            let n = parts.iter().map(|part| part.cases).sum();
            line(&format!("  {name:13} {:>6}  {}", count(n), beside(&part_names(parts), width)));
        }
    }
    line("");
    line(&snapshot_line(outcome));
    let hint = if outcome.changes.is_empty() {
        None
    } else if outcome.count(|change| change != Change::Missing) == 0 {
        Some("hint: `qkvet snapshot accept --prune` removes entries of missing cases")
    } else {
        Some(
            "hint: `qkvet snapshot diff` shows every case, `qkvet snapshot accept` takes over what you choose",
        )
    };
    if let Some(hint) = hint {
        line(&textwrap::wrap(hint, whole_words(columns)).join("\n"));
    }
    out
}

/// Text beside what it is about, in lines of that width below each other.
fn beside(text: &str, width: usize) -> String {
    textwrap::wrap(&visible_line(text), whole_words(width)).join(&format!("\n{:LABEL$}", ""))
}

/// Parts that are named; others are only counted.
const MAX_PARTS: usize = 6;

/// `parts float16 under f16, seed 1 float32 under f32`.
fn part_names(parts: &[PartCount]) -> String {
    let named: Vec<&str> = parts.iter().take(MAX_PARTS).map(|part| part.part.as_str()).collect();
    let more = parts.len().saturating_sub(MAX_PARTS);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let noun = if parts.len() == 1 { "part" } else { "parts" };
    format!("{noun} {}{more}", named.join(", "))
}

/// Which way errors moved that rounding may explain: all the same way is worth a look.
fn drifted(cases: &[&CaseChange]) -> String {
    let band = |entry: &Option<SnapshotEntry>| entry.as_ref().and_then(|entry| entry.band);
    let is_larger = |one: &&&CaseChange| band(&one.found) > band(&one.recorded);
    let larger = cases.iter().filter(is_larger).count();
    let (up, down) = (count(larger), count(cases.len() - larger));
    format!("by a step, or no farther than others of their law: {up} larger, {down} smaller")
}

fn plural(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// `2 regressions`: how many cases are worse than in the snapshot, if there is one and any is.
pub(crate) fn regressions(summary: &Summary) -> Option<String> {
    let n = summary.snapshot.as_ref().map_or(0, |outcome| outcome.count(Change::is_regression));
    (n > 0).then(|| plural(n, "regression", "regressions"))
}

/// What it comes to: `2 regressions, 1 improvement, 40 cases new`.
pub fn snapshot_line(outcome: &SnapshotOutcome) -> String {
    let n = |is: fn(Change) -> bool| outcome.count(is);
    let (worse, better) = (n(Change::is_regression), n(Change::is_improvement));
    let mut parts = Vec::new();
    if worse > 0 {
        parts.push(format!("{RED}{}{RED:#}", plural(worse, "regression", "regressions")));
    }
    if better > 0 {
        parts.push(format!("{GREEN}{}{GREEN:#}", plural(better, "improvement", "improvements")));
    }
    for (change, word) in [
        (Change::Known, "known"),
        (Change::Drift, "within rounding"),
        (Change::New, "new"),
        (Change::Missing, "missing"),
    ] {
        let n = outcome.count(|other| other == change);
        if n > 0 {
            parts.push(format!("{} {word}", count(n)));
        }
    }
    if outcome.compared == 0 {
        parts.insert(0, format!("{RED}nothing was compared{RED:#}"));
    } else if parts.is_empty() {
        return format!(
            "{GREEN}snapshot: no change{GREEN:#} in {}",
            plural(outcome.compared, "case", "cases")
        );
    }
    format!("snapshot: {}", parts.join(", "))
}

/// Every difference, as lines that are gone and lines that come, by law.
pub fn snapshot_diff(outcome: &SnapshotOutcome, titles: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    for group in change_groups(outcome) {
        // Writing to a string does not fail.
        let title = match group.change {
            Change::Drift => String::new(),
            _ => format!(": {}", group.named(titles)),
        };
        let _ = writeln!(out, "{BOLD}{}{title}{BOLD:#}", group.change.name());
        for CaseChange { law, dtype, case, recorded, found, .. } in group.cases {
            for (sign, style, entry) in [('-', RED, recorded), ('+', GREEN, found)] {
                if let Some(entry) = entry {
                    let _ = writeln!(
                        out,
                        "{style}{sign} {}{style:#}",
                        visible_line(&format!("{law} {dtype} {case}: {entry}"))
                    );
                }
            }
        }
    }
    out
}
