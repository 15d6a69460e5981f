//! Known deviations: which cases of a run they cover, and which entries are stale.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use qkvet_spec::{
    CallOption, CaseRecord, Catalog, Chosen, Dtype, Finding, KnownDeviation, KnownFile,
    KnownOutcome, KnownState, KnownStatus, Redirects, SpecError, Summary, Unexpected, Verdict,
    Warning, name_hint, nearest, parse_yaml, suite_id,
};

use crate::finding_name::{Pattern, finding_name, is_fault_meant, is_meant};
use crate::glob::{is_literal, matches};

/// Reads a file of known deviations.
///
/// # Errors
/// YAML that does not fit; an entry without a reason or a finding, for everything at once, or with
/// a day that is none.
pub fn read_known(path: &str, source: &str) -> Result<KnownFile, SpecError> {
    if source.trim().is_empty() {
        let hint = "remove it, or write `known: []`, which is a file without entries";
        return Err(Unexpected::at_path("known deviations", path, "entries")
            .got("an empty file")
            .hint(hint)
            .into());
    }
    let file: KnownFile = parse_yaml(path, source)?;
    for (at, entry) in file.known.iter().enumerate() {
        check_known(entry)
            .map_err(|error| error.inside(format_args!("entry {} at {path}", at + 1)))?;
    }
    Ok(file)
}

/// Whether an entry says what it has to.
///
/// # Errors
/// What is wrong with it.
pub fn check_known(entry: &KnownDeviation) -> Result<(), Unexpected> {
    if entry.finding.trim().is_empty() {
        let expected = "a code such as QK221, a title or a verdict";
        return Err(Unexpected::at("finding", expected).got("nothing"));
    }
    if entry.reason.trim().is_empty() {
        return Err(Unexpected::at("reason", "why the deviation may stay").got("nothing"));
    }
    let is_all = |pattern: &Option<String>| {
        pattern.as_deref().is_none_or(|pattern| pattern.chars().all(|c| c == '*'))
    };
    let places = [&entry.law, &entry.case, &entry.option, &entry.dtype];
    if places.into_iter().all(is_all) && entry.finding.chars().all(|c| c == '*') {
        return Err(Unexpected::at("entry", "what it is about")
            .got("a pattern of everything")
            .hint("name a law, a case, an option, a format or a finding"));
    }
    let options: Vec<&'static str> = CallOption::ALL.iter().map(|option| option.name()).collect();
    one_of("option", entry.option.as_deref(), &options)?;
    one_of("dtype", entry.dtype.as_deref(), &Dtype::CHECKED.map(Dtype::name))?;
    let near = entry.suite.as_deref().filter(|_| is_of_no_suite(entry));
    if let Some((suite, near)) =
        near.and_then(|suite| Some((suite, nearest(suite, suites().iter().map(String::as_str))?)))
    {
        let hint = format!(
            "did you mean `{near}`? one of a file needs a name that is not nearly that of another"
        );
        return Err(Unexpected::at("suite", "a known one").quoted(suite).hint(hint));
    }
    match &entry.expires {
        Some(day) if !is_day(day) => {
            Err(Unexpected::at("expires", "a day such as 2027-01-31").quoted(day))
        }
        _ => Ok(()),
    }
}

fn one_of(field: &str, pattern: Option<&str>, known: &[&str]) -> Result<(), Unexpected> {
    let Some(pattern) = pattern.filter(|pattern| !known.iter().any(|name| matches(pattern, name)))
    else {
        return Ok(());
    };
    Err(Unexpected::at(field, "a known one").quoted(pattern).hint(name_hint(pattern, known)))
}

/// Names of the suites that are built in.
fn suites() -> &'static [String] {
    static SUITES: OnceLock<Vec<String>> = OnceLock::new();
    SUITES.get_or_init(|| {
        Catalog::embedded().map(|catalog| catalog.suites.into_keys().collect()).unwrap_or_default()
    })
}

/// Whether the entry names a suite, and none that is built in: it is of a file, or of nothing.
pub fn is_of_no_suite(entry: &KnownDeviation) -> bool {
    with_current_names(entry)
        .suite
        .is_some_and(|pattern| !suites().iter().any(|suite| matches(&pattern, suite)))
}

/// The first code of a finding that no fault has.
fn no_code(finding: &str) -> Option<&str> {
    static CODES: OnceLock<BTreeSet<String>> = OnceLock::new();
    let is_code = |word: &&str| {
        let digits = word.strip_prefix("QK");
        digits.is_some_and(|digits| {
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let mut named = finding.split('+').filter(is_code).peekable();
    named.peek()?;
    let all = CODES.get_or_init(|| {
        let faults = Catalog::embedded().map(|catalog| catalog.faults).unwrap_or_default();
        faults.into_values().map(|fault| fault.code).collect()
    });
    named.find(|code| !all.contains(*code))
}

/// Whether the text is a day of the calendar, `2027-01-31`. Days compare as their texts do.
pub fn is_day(text: &str) -> bool {
    let form = |(at, byte): (usize, u8)| {
        if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() }
    };
    if text.len() != 10 || !text.bytes().enumerate().all(form) {
        return false;
    }
    let number = |range: std::ops::Range<usize>| text[range].parse::<u32>().unwrap_or(0);
    let (year, month, day) = (number(0..4), number(5..7), number(8..10));
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// Marks the cases and findings of the run that are known, and keeps what came of each entry.
/// Entries may name the target by one of `others` too. Where faults come together, entries must
/// name each of them. `today` is compared with the last days of entries and kept nowhere.
pub fn apply_known(
    summary: &mut Summary,
    file: &str,
    known: &KnownFile,
    others: &[String],
    today: &str,
) {
    let outcome =
        KnownOutcome { file: file.to_owned(), names: others.to_vec(), entries: Vec::new() };
    // The warnings of an earlier look are in the summary.
    let before = summary.known.replace(outcome).map_or_else(Vec::new, |outcome| outcome.entries);
    let target = target_names(summary);
    let (mut entries, mut gone_in_part) = (Vec::new(), Vec::new());
    // Of each case what entries name of it.
    let mut named: BTreeMap<usize, Vec<bool>> = BTreeMap::new();
    for (at, entry) in known.known.iter().enumerate() {
        let is_new = before.iter().all(|status| status.entry != *entry);
        let names = [&entry.law, &entry.suite].into_iter().flatten().chain([&entry.finding]);
        let old = names.flat_map(|name| Redirects::embedded().notices(name)).filter(|_| is_new);
        summary.warnings.extend(old.map(|redirect| Warning::OldName {
            file: file.to_owned(),
            entry: at + 1,
            redirect: redirect.clone(),
        }));
        let current = with_current_names(entry);
        let covered = |at: &usize| covers(&current, &target, &summary.records[*at]);
        let scope: Vec<usize> = (0..summary.records.len()).filter(covered).collect();
        let pattern = Pattern::new(&entry.finding);
        // A finding has many cases, and its name is not made for each of them.
        let mut all_parts: BTreeMap<(Option<usize>, Verdict), Vec<bool>> = BTreeMap::new();
        let shown = |at: &usize| {
            let record = &summary.records[*at];
            let parts = all_parts.entry((record.finding, record.verdict)).or_insert_with(|| {
                let finding = record.finding.and_then(|finding| summary.findings.get(finding));
                parts_named(&pattern, record.verdict, finding)
            });
            let parts = parts.clone();
            let shows =
                (record.finding.is_some() || record.verdict.is_finding()) && parts.contains(&true);
            shows.then_some((*at, parts))
        };
        let showing: Vec<(usize, Vec<bool>)> = scope.iter().filter_map(shown).collect();
        let is_over = entry.expires.as_deref().is_some_and(|day| day < today);
        let is_checked = scope.iter().any(|at| summary.records[*at].verdict.is_checked());
        let asked = asked(&current, summary, &scope);
        let state = match showing.len() {
            _ if is_over => KnownState::Expired,
            0 if asked != AskedCases::Whole => {
                if asked == AskedCases::SomeFormats && is_checked && is_new {
                    gone_in_part.push(partly_gone(entry, summary, &scope));
                }
                KnownState::NotAsked
            }
            0 if is_checked => KnownState::Gone,
            0 => KnownState::Unmatched,
            _ => KnownState::Holds,
        };
        entries.push(KnownStatus { entry: entry.clone(), state, cases: showing.len() });
        for (at, parts) in showing.into_iter().filter(|_| state == KnownState::Holds) {
            let all = named.entry(at).or_insert_with(|| vec![false; parts.len()]);
            all.iter_mut().zip(parts).for_each(|(all, part)| *all |= part);
        }
    }
    for (at, parts) in named {
        summary.records[at].known |= !parts.contains(&false);
    }
    // Of each finding its cases, and those of them that are known.
    let mut of = vec![(0, 0); summary.findings.len()];
    for record in &summary.records {
        if let Some((n_cases, n_known)) = record.finding.and_then(|number| of.get_mut(number)) {
            *n_cases += 1;
            *n_known += usize::from(record.known);
        }
    }
    for (finding, (n_cases, n_known)) in summary.findings.iter_mut().zip(of) {
        finding.known = if n_known > 0 && n_known == n_cases { finding.cases } else { n_known };
    }
    if let Some(outcome) = &mut summary.known {
        outcome.entries = entries;
    }
    summary.warnings.extend(gone_in_part);
}

/// The entry with the names that its law and its suite have now; [`Pattern`] does the same for its
/// finding.
fn with_current_names(entry: &KnownDeviation) -> KnownDeviation {
    let current = |name: &Option<String>| {
        name.as_deref().map(|name| Redirects::embedded().current(name).into_owned())
    };
    KnownDeviation { law: current(&entry.law), suite: current(&entry.suite), ..entry.clone() }
}

/// The warning that nothing shows an entry any more in the formats that the run had. It may hold in
/// others, so that it is not stale; but where no run has those, nobody would hear of it.
fn partly_gone(entry: &KnownDeviation, summary: &Summary, scope: &[usize]) -> Warning {
    let checked =
        scope.iter().map(|at| &summary.records[*at]).filter(|record| record.verdict.is_checked());
    let dtypes: BTreeSet<&String> = checked.map(|record| &record.dtype).collect();
    let dtypes = dtypes.into_iter().cloned().collect();
    Warning::PartlyGone { entry: Box::new(entry.clone()), dtypes }
}

/// Every name of the run's target.
fn target_names(summary: &Summary) -> Vec<String> {
    let others = summary.known.iter().flat_map(|known| &known.names);
    std::iter::once(&summary.run.target).chain(others).cloned().collect()
}

/// Whether the entry may be about a target of these names. Without a pattern, `python:` and `./`
/// before a name do not count.
fn is_about_target(entry: &KnownDeviation, names: &[String]) -> bool {
    let bare = |name: &str| {
        let name = name.strip_prefix("python:").unwrap_or(name);
        name.strip_prefix("./").unwrap_or(name).to_owned()
    };
    entry.target.as_deref().is_none_or(|pattern| {
        let is_same = |name: &str| is_literal(pattern) && bare(name) == bare(pattern);
        names.iter().any(|name| matches(pattern, name) || is_same(name))
    })
}

/// Whether the record is one of those that the entry is about.
fn covers(entry: &KnownDeviation, names: &[String], record: &CaseRecord) -> bool {
    let CaseRecord { law, id, dtype, options, .. } = record;
    is_about_known(entry, names, [law, id, dtype], options)
}

/// Whether the entry is about a case of the target with these names, whatever that shows: its law,
/// id, format and options.
pub fn is_about_known(
    entry: &KnownDeviation,
    names: &[String],
    [law, id, dtype]: [&str; 3],
    options: &[CallOption],
) -> bool {
    let fits = |pattern: &Option<String>, text: &str| {
        pattern.as_deref().is_none_or(|pattern| matches(pattern, text))
    };
    let own = entry.law.as_deref().map(|law| Redirects::embedded().current(law));
    own.is_none_or(|pattern| matches(&pattern, law))
        && fits(&entry.case, id)
        && fits(&entry.dtype, dtype)
        && entry
            .option
            .as_deref()
            .is_none_or(|pattern| options.iter().any(|option| matches(pattern, option.name())))
        && is_about_target(entry, names)
}

/// What the entry names of what the case shows: of faults that come together each for itself, else
/// the whole.
fn parts_named(meant: &Pattern<'_>, verdict: Verdict, finding: Option<&Finding>) -> Vec<bool> {
    let pattern = &*meant.text;
    let is_verdict = matches(pattern, verdict.word());
    let Some(finding) = finding else { return vec![is_verdict] };
    let faults = finding.cause.faults();
    if faults.len() < 2 {
        return vec![is_verdict || is_meant(meant, finding)];
    }
    // A pattern that fits the whole may mean one of them alone.
    let name = finding_name(finding);
    let is_whole =
        is_verdict || pattern == name || (pattern.contains('+') && matches(pattern, &name));
    faults
        .iter()
        .map(|fault| is_whole || is_fault_meant(pattern, &fault.code, &fault.title))
        .collect()
}

/// How much of what an entry is about a run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AskedCases {
    /// All cases.
    Whole,
    /// All cases in some formats.
    SomeFormats,
    /// Nobody knows.
    Part,
}

fn asked(entry: &KnownDeviation, summary: &Summary, scope: &[usize]) -> AskedCases {
    let run = &summary.run;
    let fits = |pattern: &Option<String>, text: &str| {
        pattern.as_deref().is_none_or(|pattern| matches(pattern, text))
    };
    // A name without a version is of every version.
    let is_of_suite =
        [suite_id(&run.suite), &run.suite].iter().any(|name| fits(&entry.suite, name));
    if !is_about_target(entry, &target_names(summary)) || !is_of_suite {
        return AskedCases::Part;
    }
    if !summary.was_finished() || run.is_part() {
        return AskedCases::Part;
    }
    // What no law of the suite is called is about nothing, whatever formats were asked.
    let is_law = |pattern: &str| summary.coverage.laws.keys().any(|law| matches(pattern, law));
    if !run.chosen.contains(&Chosen::Laws)
        && entry.law.as_deref().is_some_and(|pattern| !is_law(pattern))
    {
        return AskedCases::Whole;
    }
    if entry.case.as_deref().is_some_and(is_literal) && !scope.is_empty() {
        return AskedCases::Whole;
    }
    let is_named = |pattern: &Option<String>, has: &dyn Fn(&str) -> bool| {
        pattern.as_deref().is_some_and(|pattern| is_literal(pattern) && has(pattern))
    };
    let laws = !run.chosen.contains(&Chosen::Laws)
        || is_named(&entry.law, &|law| summary.coverage.laws.contains_key(law));
    let dtypes = !run.chosen.contains(&Chosen::Dtypes)
        || is_named(&entry.dtype, &|dtype| run.contracts.contains_key(dtype));
    match (laws, dtypes) {
        (true, true) => AskedCases::Whole,
        (true, false) => AskedCases::SomeFormats,
        (false, _) => AskedCases::Part,
    }
}

/// Entries that cover cases of findings that are known, by number of the finding.
fn entries_of(summary: &Summary) -> BTreeMap<usize, Vec<&KnownDeviation>> {
    let mut all: BTreeMap<usize, Vec<&KnownDeviation>> = BTreeMap::new();
    let Some(outcome) = &summary.known else { return all };
    let is_known = |number: &usize| summary.findings.get(*number).is_some_and(Finding::is_known);
    let of: Vec<(usize, usize)> = (0..summary.records.len())
        .filter_map(|at| Some((at, summary.records[at].finding.filter(is_known)?)))
        .collect();
    let target = target_names(summary);
    for status in outcome.entries.iter().filter(|status| status.state == KnownState::Holds) {
        let entry = &status.entry;
        let pattern = Pattern::new(&entry.finding);
        for (at, number) in &of {
            // One case of a finding is enough.
            let is_there = all
                .get(number)
                .and_then(|entries| entries.last())
                .is_some_and(|last| std::ptr::eq(*last, entry));
            let record = &summary.records[*at];
            let is_named = || {
                let finding = summary.findings.get(*number);
                parts_named(&pattern, record.verdict, finding).contains(&true)
            };
            if !is_there && covers(entry, &target, record) && is_named() {
                all.entry(*number).or_default().push(entry);
            }
        }
    }
    all
}

/// Why findings do not fail, by their number, in a line each: they are known, or the snapshot has
/// them.
pub fn settled(summary: &Summary) -> BTreeMap<usize, String> {
    let recorded = summary.snapshot.iter().flat_map(|snapshot| &snapshot.recorded_findings);
    let recorded = recorded.filter(|number| **number < summary.findings.len());
    let mut all: BTreeMap<usize, String> =
        recorded.map(|number| (*number, "recorded in the snapshot".to_owned())).collect();
    let tell = |entry: &&KnownDeviation| {
        let until = entry.expires.as_ref().map(|day| format!("until {day}"));
        let parts = [Some(entry.reason.clone()), entry.link.clone(), until];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    };
    let entries = entries_of(summary);
    for number in (0..summary.findings.len()).filter(|number| summary.findings[*number].is_known())
    {
        let mut reasons: Vec<String> =
            entries.get(&number).into_iter().flatten().map(tell).collect();
        let mut seen = BTreeSet::new();
        reasons.retain(|reason| seen.insert(reason.clone()));
        all.insert(number, format!("known: {}", reasons.join("; ")));
    }
    all
}

/// Numbers of the findings that fail.
pub fn open_findings(summary: &Summary) -> Vec<usize> {
    let recorded: BTreeSet<usize> = summary
        .snapshot
        .iter()
        .flat_map(|snapshot| snapshot.recorded_findings.iter().copied())
        .collect();
    (0..summary.findings.len())
        .filter(|at| !summary.findings[*at].is_known() && !recorded.contains(at))
        .collect()
}

/// How many of the open findings make the run fail.
pub(crate) fn failing_findings(summary: &Summary) -> usize {
    open_findings(summary).into_iter().filter(|at| summary.findings[*at].verdict.fails()).count()
}

/// Lines that say which entries of known deviations are stale.
pub fn stale_lines(summary: &Summary) -> Vec<String> {
    let names = target_names(summary);
    let entries = summary.known.iter().flat_map(|known| &known.entries);
    let line = |status: &KnownStatus| {
        let line = stale_line(status)?;
        let other = (status.state == KnownState::Gone)
            .then(|| other_findings(&status.entry, summary, &names))
            .flatten();
        Some(line + &other.unwrap_or_default())
    };
    entries.filter_map(line).collect()
}

/// What the cases of an entry show in place of what it says: one fault may be named otherwise after
/// a change of the target or of qkvet.
fn other_findings(entry: &KnownDeviation, summary: &Summary, names: &[String]) -> Option<String> {
    // Of all cases any other finding would do, which says nothing of this one.
    if entry.law.is_none() && entry.case.is_none() {
        return None;
    }
    let wrong =
        summary.records.iter().filter(|record| covers(entry, names, record) && !record.known);
    let found = wrong.filter_map(|record| summary.findings.get(record.finding?)).map(finding_name);
    let found: BTreeSet<String> = found.collect();
    let first = found.first()?;
    let more =
        if found.len() > 1 { format!(" and {} more", found.len() - 1) } else { String::new() };
    Some(format!("; they show {first}{more} now"))
}

/// What is wrong with a stale entry, in a line: `stale  law value: QK221: …`.
pub fn stale_line(status: &KnownStatus) -> Option<String> {
    let what = match status.state {
        KnownState::Gone => {
            "its cases were checked and none shows it any more: remove the entry".to_owned()
        }
        KnownState::Unmatched => {
            "no checked case of the run is meant by it: mend or remove the entry".to_owned()
        }
        KnownState::Expired => {
            let day = status.entry.expires.as_deref().unwrap_or_default();
            format!("expired after {day}: fix the target, or look again and move the day")
        }
        KnownState::Holds | KnownState::NotAsked => return None,
    };
    let finding = Redirects::embedded().current(&status.entry.finding);
    let code = no_code(&finding).map(|code| format!("; no fault has the code {code}"));
    Some(format!("{}: {what}{}", status.entry.describe(), code.unwrap_or_default()))
}
