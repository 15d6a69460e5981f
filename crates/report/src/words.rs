//! The words of findings: the one place where English is made of them. With this file alone, what a
//! target said is opened for the escapers of the formats.

use qkvet_spec::{
    Breakage, CallOption, Cause, Condition, Dialect, Evidence, FaultFamily, FaultRef, Finding,
    FindingKind, Form, Indices, Judgment, Narrowed, Note, Reading, RightLayout, Rival, SeenIn,
    Sentence, Sentences, ThreadCounts, UnknownOffer, Verdict, Warning, Witness, Words, WrongAxis,
    WrongElements, format_ratio, span, spans,
};

use crate::deviation;
use crate::repair::{family_of, fix_of};

/// English.
#[derive(Clone, Copy, Debug, Default)]
pub struct English;

/// What is told of a finding, for what lays it out and escapes it.
pub(crate) struct FindingText {
    pub(crate) title: String,
    /// `, only where n_k ≥ 65 (12 of 14 there)`, or nothing.
    pub(crate) only: String,
    pub(crate) at: String,
    pub(crate) expected: String,
    pub(crate) got: String,
    /// How far that is from what is allowed, or nothing.
    pub(crate) beyond: String,
    /// What else there is, by label: hint, fix, look, cause, reading, wrong, stderr.
    pub(crate) more: Vec<(&'static str, String)>,
}

impl FindingText {
    /// The row of a label, if there is one.
    #[cfg(feature = "formats")]
    pub(crate) fn row(&self, label: &str) -> Option<&str> {
        self.more.iter().find(|(name, _)| *name == label).map(|(_, text)| text.as_str())
    }
}

pub(crate) fn told(finding: &Finding, dialect: Dialect) -> FindingText {
    let Sentences { title, cause, hint, place, expected, got } =
        Sentences::of(finding, &English, dialect);
    let Evidence { ratio, bound, .. } = &finding.evidence;
    let contract = &finding.contract;
    let beyond = match (ratio, bound) {
        (Some(ratio), _) => {
            format!("{} times the bound of contract {contract}", format_ratio(*ratio))
        }
        (None, Some(0.0)) if finding.verdict == Verdict::Fail => {
            format!("an exact case: contract {contract} allows no error")
        }
        _ => String::new(),
    };
    let [fix, look] = repair(&finding.cause);
    let more = [
        ("hint", hint.map(|text| text.to_string())),
        ("fix", fix),
        ("look", look),
        ("cause", cause.map(|text| text.to_string())),
        ("reading", finding.reading.as_ref().map(reading)),
        ("wrong", wrong(finding)),
        ("stderr", finding.evidence.format_stderr().map(|text| text.to_string())),
    ];
    FindingText {
        title: title.to_string(),
        only: finding.condition.as_ref().map_or_else(String::new, only_where),
        at: place.to_string(),
        expected: expected.to_string(),
        got: got.to_string(),
        beyond,
        more: more.into_iter().filter_map(|(label, text)| Some((label, text?))).collect(),
    }
}

/// What is right, and where to look, for each family of the faults.
fn repair(cause: &Cause) -> [Option<String>; 2] {
    let mut families: Vec<_> =
        cause.faults().iter().filter_map(|fault| Some((fault, family_of(fault)?))).collect();
    families.dedup_by_key(|(_, family)| &family.family);
    if families.is_empty() {
        return [None, None];
    }
    let joined = |one: fn(&(&FaultRef, &FaultFamily)) -> String| {
        Some(families.iter().map(one).collect::<Vec<_>>().join("\n"))
    };
    [
        joined(|(fault, family)| fix_of(fault, family)),
        joined(|(fault, family)| format!("{} (`qkvet explain {}`)", family.look, fault.code)),
    ]
}

/// The title alone.
#[cfg(feature = "formats")]
pub(crate) fn title(finding: &Finding) -> String {
    English.title(&finding.cause).to_string()
}

/// The warnings of a run, in order.
#[cfg(feature = "formats")]
pub(crate) fn english_warnings(summary: &qkvet_spec::Summary) -> impl Iterator<Item = String> {
    summary.warnings.iter().map(|warning| English.warning(warning).to_string())
}

/// What is told of a run while it runs.
#[cfg(feature = "formats")]
pub(crate) fn notice(notice: &qkvet_spec::Notice) -> Sentence {
    use qkvet_spec::Notice;

    Sentence::new(match notice {
        Notice::Fitted { suite, fit } => {
            format!("suite {suite} is made to fit what the target takes: {fit}")
        }
        Notice::Compiled => {
            "each new shape takes far longer than a repeated one: the function seems \
                             to be compiled; `--shapes 12` asks for 12 combinations of shapes and \
                             options alone"
                .to_owned()
        }
        Notice::JudgedAgain { conventions } => {
            format!("judging again as if {} were declared", conventions.join(", "))
        }
    })
}

fn warning(warning: &Warning) -> String {
    match warning {
        Warning::StrayLines { first } => {
            format!("{STRAY_LINES}, the first is {}", first.display())
        }
        Warning::UnknownOffers { first, more } => {
            let first: Vec<String> = first.iter().map(unknown_offer).collect();
            let more = if *more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{UNKNOWN_OFFERS}: {}{more}", first.join(", "))
        }
        Warning::Silence { message } => format!(
            "no answer to {message} for 5 s: still computing, or did the program not flush its standard output?"
        ),
        Warning::ResultReused { cases } => {
            let noun = if *cases == 1 { "case" } else { "cases" };
            format!("{RESULT_REUSED} (seen in {cases} {noun})")
        }
        Warning::OnlyFailed => {
            "only the cases that did not hold in the run before were asked (--lf)".to_owned()
        }
        Warning::FewShapes { most } => {
            format!(
                "calls had at most {most} combinations of extents, format and options: what shows \
                 on others was not asked"
            )
        }
        Warning::SomeRows { n, seed } => {
            format!(
                "at most {n} query rows of each call were judged, drawn by seed {seed}; the others \
                 were not looked at"
            )
        }
        Warning::NothingRequired { required } => format!(
            "no case of the law value lies in what is required ({required}): nothing is known of it"
        ),
        Warning::Cut { cases, of } => {
            format!("{cases} of {of} cases were run; `--until {cases}` runs the same again")
        }
        Warning::CasesLost { error } => {
            format!("`qkvet replay` will not find the cases of this run: {error}")
        }
        Warning::ConfigurationChanged { error } => format!("the configuration changed: {error}"),
        Warning::OldName { file, entry, redirect } => {
            format!("entry {entry} of {file}: {redirect}")
        }
        Warning::PartlyGone { entry, dtypes } => format!(
            "known deviation {}: no case in {} shows it any more, {NO_OTHER_FORMATS}",
            entry.describe(),
            dtypes.join(", ")
        ),
        Warning::Recorded { text } => text.display().to_string(),
    }
}

fn unknown_offer(UnknownOffer { list, name, nearest }: &UnknownOffer) -> String {
    let meant = nearest.as_ref().map(|meant| format!(" (did you mean `{meant}`?)"));
    format!("{list} {}{}", name.display(), meant.unwrap_or_default())
}

/// Findings without a code: the title, and the name by which `qkvet explain` knows them.
const UNEXPLAINED: &str = "wrong results that no known fault explains";
const INTERMITTENT: &str = "wrong results that did not come again";
const LAYOUT: &str = "the result depends on how the inputs lie in memory";
const THREADS: &str = "wrong only when the library uses several threads";

const STRAY_LINES: &str = "the target wrote lines to the protocol's pipe that are no messages";
const UNKNOWN_OFFERS: &str = "the program offers what qkvet does not know, and is not asked for it";
const RESULT_REUSED: &str = "the function returned the memory of its earlier result, which was still in use and is lost: a caller has to copy what is to be kept";
const NO_OTHER_FORMATS: &str =
    "and the run has no other formats: name the formats that do (`dtype:`), or remove the entry";

const LATER: &str = "a later version of qkvet wrote this, which says more of it";

const WRONG_ON_VIEWS: &str =
    "the inputs were views whose axes lie in another order in memory; contiguous, they give";
const WRONG_CONTIGUOUS: &str = "the inputs lay contiguous in memory; as views whose axes lie in another order, they give a right result";
const READ_STRIDES: &str = "Read through the strides, or copy what is not contiguous; a function that takes none of it raises an exception. `qkvet explain memory-layout` says more";
const ASK_STRIDES: &str = "Ask the arrays for their strides; the order that positions come before heads in memory is not that of every caller. `qkvet explain memory-layout` says more";
const DECLINE: &str = "A call that is not offered is declined: NotImplementedError in Python, status `unsupported` of the protocol. `qkvet explain UNSUPPORTED` says more";

impl Words for English {
    fn warning(&self, one: &Warning) -> Sentence {
        Sentence::new(warning(one))
    }

    fn title(&self, cause: &Cause) -> Sentence {
        let one = |fault: &FaultRef| format!("{} {}", fault.code, lower_first(&fault.title));
        Sentence::new(match cause {
            Cause::Faults { faults, contradicted, .. } => {
                let names = faults.iter().map(one).collect::<Vec<_>>().join(", with ");
                if *contradicted == 0 { names } else { format!("at times as if {names}") }
            }
            Cause::Deviation { deviation, faults } => match faults.as_slice() {
                [] => deviation::title(deviation),
                faults => {
                    let names = faults.iter().map(one).collect::<Vec<_>>().join(", with ");
                    names + &deviation::only(deviation)
                }
            },
            Cause::Convention { title, .. } => {
                format!("undeclared convention: {}", lower_first(title))
            }
            Cause::Precision { dtype, computed, what, .. } => match what {
                Narrowed::Everything => format!("{dtype} is computed in {computed}"),
                Narrowed::Softmax => format!("the softmax of {dtype} is computed in {computed}"),
                Narrowed::Sums => format!("products of {dtype} are summed in {computed}"),
                Narrowed::Operands => format!("operands of {dtype} are rounded to {computed}"),
            },
            Cause::Layout { .. } => LAYOUT.to_owned(),
            Cause::Threads => THREADS.to_owned(),
            Cause::Intermittent => INTERMITTENT.to_owned(),
            Cause::Nondeterministic { dropout: Some(p), .. } => {
                format!(
                    "the same call gave different results: dropout is on, p = {}",
                    f64::from(*p) / 100.0
                )
            }
            Cause::Nondeterministic { within_bound: true, .. } => {
                "the same call gave different results, all of them within the bound".to_owned()
            }
            Cause::Nondeterministic { .. } => "the same call gave different results".to_owned(),
            Cause::Form { form } => wrong_form(*form),
            Cause::Broken { how } => how.display().to_string(),
            Cause::Declined { said } => {
                format!("declines what it is required to answer: {}", said.display())
            }
            Cause::Later => LATER.to_owned(),
            Cause::Unexplained { law: Some(law), .. } => format!("{UNEXPLAINED}, all of {law}"),
            Cause::Unexplained { options, .. } if options.is_empty() => UNEXPLAINED.to_owned(),
            Cause::Unexplained { options, .. } => {
                format!("{UNEXPLAINED}, all with {}", names(options))
            }
        })
    }

    fn cause(&self, cause: &Cause, notes: &[Note]) -> Option<Sentence> {
        let own = match cause {
            Cause::Faults { faults, explained, of, contradicted, rival } => {
                let ids: Vec<&str> = faults.iter().map(|fault| fault.fault.as_str()).collect();
                let rival = rival.as_ref().map_or_else(String::new, next_best);
                let against = match contradicted {
                    0 => String::new(),
                    1 => "; 1 right case speaks against it".to_owned(),
                    n => format!("; {n} right cases speak against it"),
                };
                Some(format!("{}: {}{against}{rival}", together(&ids), share(*explained, *of)))
            }
            Cause::Deviation { deviation, .. } => Some(deviation::evidence(deviation)),
            Cause::Convention { standard, .. } => Some(format!(
                "the standard is {standard}; all else was judged under the convention"
            )),
            Cause::Precision {
                computed, contract, explained, of, what: Narrowed::Everything, ..
            } => Some(format!(
                "every number returned is one of {computed}, and {explained} of {of} failing cases are right under {contract}; all else was judged under it"
            )),
            Cause::Precision { contract, explained, of, what: Narrowed::Sums, computed, .. } => {
                Some(format!(
                    "2^p + 1 − 2^p is not 1 from the precision of {computed} on, and {explained} of {of} failing cases are right under {contract}"
                ))
            }
            Cause::Precision { contract, explained, of, what: Narrowed::Operands, computed, .. } => {
                Some(format!(
                    "the value of a single key comes back as a number of {computed}, and {explained} of {of} failing cases are right under {contract}"
                ))
            }
            Cause::Precision { contract, explained, of, .. } => Some(format!(
                "no formula explains them, and {explained} of {of} failing cases are right under {contract}"
            )),
            Cause::Layout { right, faults } if faults.is_empty() => Some(layout(*right)),
            Cause::Layout { faults, .. } => Some(format!(
                "{WRONG_ON_VIEWS} what {} explains, and as views they do not",
                faults.join(" with ")
            )),
            Cause::Intermittent => Some(
                "right when the same case was put again: what a call gives depends on the calls before"
                    .to_owned(),
            ),
            Cause::Nondeterministic { dropout: Some(p), .. } => Some(format!(
                "where one key is seen every result is 0 or 1/(1 − {}) times the right one",
                f64::from(*p) / 100.0
            )),
            Cause::Threads
            | Cause::Later
            | Cause::Declined { .. }
            | Cause::Nondeterministic { .. }
            | Cause::Form { .. }
            | Cause::Broken { .. }
            | Cause::Unexplained { .. } => None,
        };
        let all: Vec<String> = own.into_iter().chain(notes.iter().map(note)).collect();
        (!all.is_empty()).then(|| Sentence::new(all.join("; ")))
    }

    fn hint(&self, cause: &Cause, notes: &[Note], dialect: Dialect) -> Option<Sentence> {
        let asked = |name: &dyn std::fmt::Display| {
            Some(format!("`qkvet explain {name}` says what is asked for"))
        };
        let hint = match cause {
            Cause::Faults { faults, .. } | Cause::Deviation { faults, .. } if !faults.is_empty() => {
                Some(faults.iter().map(|fault| fault.tell.as_str()).collect::<Vec<_>>().join(" "))
            }
            Cause::Convention { field, value, .. } => {
                let declared = declared(("convention", &format!("{field}={value}")), dialect);
                Some(format!("declare it with {declared}, or fix it"))
            }
            Cause::Precision { dtype, contract, what, .. } => {
                let instead = match what {
                    Narrowed::Sums => "sum in float32".to_owned(),
                    Narrowed::Operands => format!("multiply in {dtype}"),
                    Narrowed::Everything | Narrowed::Softmax => format!("compute in {dtype}"),
                };
                let declared = declared(("contract", contract), dialect);
                Some(format!("declare it with {declared}, or {instead}"))
            }
            Cause::Layout { right, .. } => Some(strides(*right).to_owned()),
            Cause::Threads => Some(
                "look for memory that two threads write, or that one reads before another wrote it; `qkvet explain threads` says more"
                    .to_owned(),
            ),
            Cause::Intermittent => Some(
                "look for what is kept between calls, by address, shape or some of the numbers"
                    .to_owned(),
            ),
            Cause::Unexplained { law: Some(law), .. } => asked(law),
            Cause::Unexplained { options, .. } => {
                options.first().and_then(|option| asked(option))
            }
            Cause::Broken { how } => notes
                .iter()
                .find_map(|note| match note {
                    Note::Layout { right } => Some(strides(*right).to_owned()),
                    _ => None,
                })
                .or_else(|| matches!(how, Breakage::Said(_)).then(|| DECLINE.to_owned())),
            Cause::Nondeterministic { dropout: Some(_), .. } => Some(
                "switch it off for inference: `model.eval()`, `dropout_p=0.0`".to_owned(),
            ),
            Cause::Nondeterministic { within_bound: true, .. } => Some(
                "sums that are added in the order in which threads finish, by atomic additions or split keys, do this; a fixed order gives the same bits every time"
                    .to_owned(),
            ),
            Cause::Nondeterministic { .. }
            | Cause::Form { .. }
            | Cause::Later
            | Cause::Declined { .. }
            | Cause::Faults { .. }
            | Cause::Deviation { .. } => None,
        };
        hint.map(Sentence::new)
    }
}

/// `declare it` in the words of who reads it.
fn declared((kind, name): (&str, &str), dialect: Dialect) -> String {
    match dialect {
        Dialect::CommandLine => format!("--{kind} {name}"),
        Dialect::Python => format!("{kind}=\"{name}\""),
        Dialect::RustSuite => format!(".{kind}(\"{name}\")"),
        Dialect::RustMacro => format!("{kind} = \"{name}\""),
    }
}

fn layout(right: RightLayout) -> String {
    match right {
        RightLayout::Contiguous => format!("{WRONG_ON_VIEWS} a right result"),
        RightLayout::Views => WRONG_CONTIGUOUS.to_owned(),
    }
}

fn strides(right: RightLayout) -> &'static str {
    match right {
        RightLayout::Contiguous => READ_STRIDES,
        RightLayout::Views => ASK_STRIDES,
    }
}

fn wrong_form(form: Form) -> String {
    format!("wrong {form}")
}

fn note(note: &Note) -> String {
    match note {
        Note::Others { options, cases, first } => {
            let (use_it, them, case) =
                if *cases == 1 { ("uses", "it", "case") } else { ("use", "them", "cases") };
            let more = match cases.saturating_sub(first.len()) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!(
                "{cases} more {use_it} {} too, and no known fault explains {them} ({case} {}{more})",
                names(options),
                first.join(", ")
            )
        }
        Note::Filled { cases } => format!(
            "{cases} without a mask got one of true, for the target takes a mask in every call"
        ),
        Note::Layout { right } => layout(*right),
        Note::Threads(ThreadCounts::Cases { wrong, several, one }) => format!(
            "on several threads {wrong} of {several} cases show it, on one thread none of {one}"
        ),
        Note::Threads(ThreadCounts::Again { wrong, times }) => format!(
            "put again it was wrong {wrong} of {times} times on several threads, never of {times} on one"
        ),
        Note::Later => LATER.to_owned(),
        Note::Once => "it did not come when the same case was put again".to_owned(),
        Note::Views { maybe_contiguous: false } => "in the case shown the inputs were views whose axes lie in another order in memory".to_owned(),
        Note::Views { maybe_contiguous: true } => "in the case shown the inputs were views whose axes lie in another order in memory, or contiguous if those raised an exception; whether that is the reason was not tried".to_owned(),
    }
}

/// `, only where bias and n_k mod 64 ≠ 0 (12 of 14 there)`.
fn only_where(Condition { when, wrong, of }: &Condition) -> String {
    format!(", only where {} ({wrong} of {of} there)", deviation::condition(when))
}

/// `310 of 322 elements looked at where causal and i ≥ 4, none of the others`, else those of one case.
fn wrong(finding: &Finding) -> Option<String> {
    let region = |Condition { when, wrong, of }: &Condition| {
        let when = deviation::condition(when);
        format!("{wrong} of {of} elements looked at where {when}, none of the others")
    };
    let of_case = || finding.structure.as_ref().map(wrong_elements);
    finding.region.as_ref().map(region).or_else(of_case)
}

/// `query [b=0, h=1, i=3] weighs keys 0, 2; expected keys 0, 2, 5 (case 3f2a)`.
fn reading(SeenIn { case, seen }: &SeenIn<Reading>) -> String {
    let Reading { item, head, query, weighed, expected } = seen;
    let keys = |all: &[usize]| match all {
        [] => "no key".to_owned(),
        [one] => format!("key {one}"),
        all => format!("keys {}", spans(all)),
    };
    let (weighed, expected) = (keys(weighed), keys(expected));
    format!(
        "query [b={item}, h={head}, i={query}] weighs {weighed}; expected {expected} (case {case})"
    )
}

/// `24 of 96 elements: h 1, 3 of 0–3; i 4n+3 of 0–11 (case 3f2a)`.
fn wrong_elements(SeenIn { case, seen }: &SeenIn<WrongElements>) -> String {
    let WrongElements { wrong, of, axes, is_whole } = seen;
    let axis = |WrongAxis { axis, extent, at }: &WrongAxis| {
        let at = match at {
            Indices::Every { first: 0, step } => format!("{step}n"),
            Indices::Every { first, step } => format!("{step}n+{first}"),
            Indices::Spans(all) => all.iter().copied().map(span).collect::<Vec<_>>().join(", "),
        };
        format!("{axis} {at} of 0–{}", extent.saturating_sub(1))
    };
    let axes = axes.iter().map(axis).collect::<Vec<_>>().join("; ");
    let within = match (axes.is_empty(), is_whole) {
        (true, _) => "",
        (false, true) => ": ",
        (false, false) => ", within ",
    };
    format!("{wrong} of {of} elements{within}{axes} (case {case})")
}

fn next_best(Rival { faults, explained, of }: &Rival) -> String {
    let ids: Vec<&str> = faults.iter().map(String::as_str).collect();
    format!("; next best, {}, matches {explained} of {of} looked at", together(&ids))
}

fn together(ids: &[&str]) -> String {
    match ids {
        [x, y] => format!("{x} and {y} together"),
        _ => ids.concat(),
    }
}

fn share(explained: usize, of: usize) -> String {
    match (explained, of) {
        (1, 1) => "the only failing case matches".to_owned(),
        _ if explained == of => format!("all {explained} failing cases match"),
        _ => format!("{explained} of {of} failing cases match"),
    }
}

fn names(options: &[CallOption]) -> String {
    options.iter().map(|option| option.name()).collect::<Vec<_>>().join(" and ")
}

/// The text as it goes on within a sentence.
pub(crate) fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// One row of what is told of a wrong answer: `  expected  0.5`. A text of several lines goes on
/// below itself.
fn row(label: &str, text: &str) -> String {
    format!("  {label:9} {}", text.lines().collect::<Vec<_>>().join(&format!("\n{:12}", "")))
}

fn rows(head: String, rows: &[(&str, String)]) -> String {
    let rows = rows.iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| row(name, text));
    std::iter::once(head).chain(rows).collect::<Vec<_>>().join("\n")
}

/// What is known of one answer, for people.
pub fn judgment(judgment: &Judgment, dialect: Dialect) -> String {
    let Judgment { verdict, contract, elements, refuted, margin, evidence, explanation } = judgment;
    let Some(seen) = evidence else {
        let margin =
            margin.map(|margin| format!(", worst error {} of its bound", format_ratio(margin)));
        let numbers =
            if *elements == 0 { String::new() } else { format!("{elements} numbers within ") };
        return format!("{verdict}: {numbers}contract {contract}{}", margin.unwrap_or_default());
    };
    let ratio = seen.ratio.filter(|_| *verdict == Verdict::Fail);
    let beyond = ratio.map_or_else(String::new, |ratio| {
        format!("   ({} times the bound of contract {contract})", format_ratio(ratio))
    });
    let mut all = vec![
        ("at", seen.format_place().to_string()),
        ("expected", seen.format_expected().to_string()),
        ("got", format!("{}{beyond}", seen.format_got())),
    ];
    if *refuted > 0 {
        all.push(("wrong", format!("{refuted} of {elements} elements are proved wrong")));
    }
    if let Some(cause) = explanation {
        all.push(("likely", English.title(cause).to_string()));
        if let Cause::Convention { standard, .. } = cause {
            all.push(("cause", format!("the standard is {standard}")));
        }
        let hint = English.hint(cause, &[], dialect);
        all.push(("hint", hint.map_or_else(String::new, |hint| hint.to_string())));
    }
    rows(format!("{verdict}  attention"), &all)
}

/// The word that a finding begins with.
pub(crate) fn word(finding: &Finding) -> &'static str {
    word_of(finding.kind, finding.verdict)
}

pub(crate) fn word_of(kind: FindingKind, verdict: Verdict) -> &'static str {
    match kind {
        FindingKind::Convention => "CONVENTION",
        FindingKind::Precision => "PRECISION",
        FindingKind::Verdict => verdict.word(),
    }
}

/// A finding in the output of a test: which cases, what was expected and what came, the cause, how
/// to see it again.
pub fn finding_text(finding: &Finding, dialect: Dialect) -> String {
    let FindingText { title, only, at, expected, got, beyond, more } = told(finding, dialect);
    let beyond = if beyond.is_empty() { beyond } else { format!("   ({beyond})") };
    let Witness { call, inputs, .. } = &finding.witness;
    let mut all = vec![
        ("cases", format!("{} of {} show it{only}", finding.cases, finding.of)),
        ("law", format!("{}: {}", finding.law, finding.law_title)),
        ("witness", [std::slice::from_ref(call), inputs].concat().join("\n")),
        ("at", at),
        ("expected", expected),
        ("got", format!("{got}{beyond}")),
    ];
    all.extend(more);
    all.push(("replay", finding.replay.clone()));
    rows(format!("{}  {title}", word(finding)), &all)
}

#[cfg(test)]
mod tests {
    use qkvet_spec::{KnownDeviation, Redirect, Unexpected};

    use super::*;

    #[test]
    fn wrong_elements_are_told_axis_by_axis() {
        let told = |wrong, axes: &[(char, usize, Indices)], is_whole| {
            let axes =
                axes.iter().cloned().map(|(axis, extent, at)| WrongAxis { axis, extent, at });
            let seen = WrongElements { wrong, of: 288, axes: axes.collect(), is_whole };
            wrong_elements(&SeenIn { case: "3f".to_owned(), seen })
        };
        let row = |first, step| ('i', 12, Indices::Every { first, step });
        assert_eq!(told(288, &[], true), "288 of 288 elements (case 3f)");
        assert_eq!(told(72, &[row(0, 4)], true), "72 of 288 elements: i 4n of 0–11 (case 3f)");
        let heads = ('h', 4, Indices::Spans(vec![[0, 1], [3, 3]]));
        assert_eq!(
            told(12, &[heads, row(3, 4)], false),
            "12 of 288 elements, within h 0–1, 3 of 0–3; i 4n+3 of 0–11 (case 3f)"
        );
    }

    #[test]
    fn a_warning_says_each_of_its_facts() {
        let offer = |name: &str, nearest: Option<&str>| UnknownOffer {
            list: "options",
            name: name.into(),
            nearest: nearest.map(str::to_owned),
        };
        let entry = KnownDeviation { finding: "QK221".to_owned(), ..KnownDeviation::default() };
        let redirect =
            Redirect { from: "QK1".to_owned(), to: "QK2".to_owned(), since: "0.1.0".to_owned() };
        let error = Box::new(Unexpected::at("case at c.json", "a file to write"));
        let first = vec![offer("\"casual\"", Some("causal")), offer("\"x\"", None)];
        for (warning, text) in [
            (
                Warning::StrayLines { first: "\"QK221\"".into() },
                "the target wrote lines to the protocol's pipe that are no messages, the first is \"QK221\"",
            ),
            (
                Warning::UnknownOffers { first, more: 3 },
                "the program offers what qkvet does not know, and is not asked for it: options \"casual\" (did you mean `causal`?), options \"x\" and 3 more",
            ),
            (
                Warning::Silence { message: "hello" },
                "no answer to hello for 5 s: still computing, or did the program not flush its standard output?",
            ),
            (
                Warning::FewShapes { most: 12 },
                "calls had at most 12 combinations of extents, format and options: what shows on \
                 others was not asked",
            ),
            (
                Warning::SomeRows { n: 64, seed: 3 },
                "at most 64 query rows of each call were judged, drawn by seed 3; the others were not \
                 looked at",
            ),
            (
                Warning::Cut { cases: 212, of: 1051 },
                "212 of 1051 cases were run; `--until 212` runs the same again",
            ),
            (
                Warning::ResultReused { cases: 1 },
                "the function returned the memory of its earlier result, which was still in use and is lost: a caller has to copy what is to be kept (seen in 1 case)",
            ),
            (
                Warning::CasesLost { error },
                "`qkvet replay` will not find the cases of this run: case at c.json: expected a file to write",
            ),
            (
                Warning::OldName { file: "k.yaml".to_owned(), entry: 2, redirect },
                "entry 2 of k.yaml: `QK1` is called `QK2` since version 0.1.0",
            ),
            (
                Warning::PartlyGone {
                    entry: Box::new(entry),
                    dtypes: vec!["float16".to_owned(), "float32".to_owned()],
                },
                "known deviation every case: QK221: no case in float16, float32 shows it any more, and the run has no other formats: name the formats that do (`dtype:`), or remove the entry",
            ),
            (Warning::Recorded { text: "so".into() }, "so"),
        ] {
            assert_eq!(English.warning(&warning).to_string(), text);
        }
    }
}
