//! The words of findings: the one place where English is made of them. With this file alone, what a
//! target said is opened for the escapers of the formats.

use qkvet_spec::{
    CallOption, Cause, Dialect, FaultRef, Finding, FindingKind, Form, Judgment, Note, RightLayout,
    Rival, Sentence, Sentences, ThreadCounts, Verdict, Words, tell_ratio,
};

/// English.
#[derive(Clone, Copy, Debug, Default)]
pub struct English;

/// Sentences of a finding on the command line, for what escapes them.
#[cfg(feature = "formats")]
pub(crate) struct Told {
    pub(crate) title: String,
    pub(crate) cause: Option<String>,
    pub(crate) hint: Option<String>,
}

#[cfg(feature = "formats")]
pub(crate) fn told(finding: &Finding) -> Told {
    let Sentences { title, cause, hint } = Sentences::of(finding, &English, Dialect::CommandLine);
    let text = |sentence: Sentence| sentence.to_string();
    Told { title: text(title), cause: cause.map(text), hint: hint.map(text) }
}

/// The title alone.
#[cfg(feature = "formats")]
pub(crate) fn title(finding: &Finding) -> String {
    English.title(&finding.cause).to_string()
}

/// Findings without a code: the title, and the name by which `qkvet explain` knows them.
const UNEXPLAINED: &str = "wrong results that no known fault explains";
const INTERMITTENT: &str = "wrong results that did not come again";
const LAYOUT: &str = "the result depends on how the inputs lie in memory";
const THREADS: &str = "wrong only when the library uses several threads";

const WRONG_ON_VIEWS: &str = "query, key and value were views of which heads and positions lie exchanged in memory; contiguous, they give";
const WRONG_CONTIGUOUS: &str = "query, key and value lay contiguous in memory; as views of which heads and positions lie exchanged in memory, they give a right result";
const READ_STRIDES: &str = "Read through the strides, or copy what is not contiguous; a function that takes none of it raises an exception. `qkvet explain memory-layout` says more";
const ASK_STRIDES: &str = "Ask the arrays for their strides; the order that positions come before heads in memory is not that of every caller. `qkvet explain memory-layout` says more";

impl Words for English {
    fn title(&self, cause: &Cause) -> Sentence {
        let one = |fault: &FaultRef| format!("{} {}", fault.code, lower_first(&fault.title));
        Sentence::new(match cause {
            Cause::Faults { faults, .. } => {
                faults.iter().map(one).collect::<Vec<_>>().join(", with ")
            }
            Cause::Convention { title, .. } => {
                format!("undeclared convention: {}", lower_first(title))
            }
            Cause::Layout { .. } => LAYOUT.to_owned(),
            Cause::Threads => THREADS.to_owned(),
            Cause::Intermittent => INTERMITTENT.to_owned(),
            Cause::Nondeterministic => "the same call gave different results".to_owned(),
            Cause::Form { form } => wrong_form(*form),
            Cause::Broken { said } => said.open_to_escape(str::to_owned),
            Cause::Unexplained { law: Some(law), .. } => format!("{UNEXPLAINED}, all of {law}"),
            Cause::Unexplained { options, .. } if options.is_empty() => UNEXPLAINED.to_owned(),
            Cause::Unexplained { options, .. } => {
                format!("{UNEXPLAINED}, all with {}", names(options))
            }
        })
    }

    fn cause(&self, cause: &Cause, notes: &[Note]) -> Option<Sentence> {
        let own = match cause {
            Cause::Faults { faults, explained, of, rival } => {
                let ids: Vec<&str> = faults.iter().map(|fault| fault.fault.as_str()).collect();
                let rival = rival.as_ref().map_or_else(String::new, next_best);
                Some(format!("{}: {}{rival}", together(&ids), share(*explained, *of)))
            }
            Cause::Convention { standard, .. } => Some(format!(
                "the standard is {standard}; all else was judged under the convention"
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
            Cause::Threads
            | Cause::Nondeterministic
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
            Cause::Faults { faults, .. } => {
                Some(faults.iter().map(|fault| fault.tell.as_str()).collect::<Vec<_>>().join(" "))
            }
            Cause::Convention { field, value, .. } => {
                Some(format!("declare it with {}, or fix it", declared(field, value, dialect)))
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
            Cause::Broken { .. } => notes.iter().find_map(|note| match note {
                Note::Layout { right } => Some(strides(*right).to_owned()),
                _ => None,
            }),
            Cause::Nondeterministic | Cause::Form { .. } => None,
        };
        hint.map(Sentence::new)
    }
}

/// `declare it` in the words of who reads it.
fn declared(field: &str, value: &str, dialect: Dialect) -> String {
    match dialect {
        Dialect::CommandLine => format!("--convention {field}={value}"),
        Dialect::Python => format!("convention=\"{field}={value}\""),
        Dialect::RustSuite => format!(".convention(\"{field}={value}\")"),
        Dialect::RustMacro => format!("convention = \"{field}={value}\""),
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
            let more = match cases - first.len() {
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
        Note::Once => "it did not come when the same case was put again".to_owned(),
        Note::Views { maybe_contiguous: false } => "in the case shown query, key and value were views of which heads and positions lie exchanged in memory".to_owned(),
        Note::Views { maybe_contiguous: true } => "in the case shown query, key and value were views of which heads and positions lie exchanged in memory, or contiguous if those raised an exception; whether that is the reason was not tried".to_owned(),
    }
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
            margin.map(|margin| format!(", worst error {} of its bound", tell_ratio(margin)));
        let numbers =
            if *elements == 0 { String::new() } else { format!("{elements} numbers within ") };
        return format!("{verdict}: {numbers}contract {contract}{}", margin.unwrap_or_default());
    };
    let ratio = seen.ratio.filter(|_| *verdict == Verdict::Fail);
    let beyond = ratio.map_or_else(String::new, |ratio| {
        format!("   ({} times the bound of contract {contract})", tell_ratio(ratio))
    });
    let mut all = vec![
        ("at", seen.place.clone()),
        ("expected", seen.expected.clone()),
        ("got", format!("{}{beyond}", seen.got)),
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
    if finding.kind == FindingKind::Convention { "CONVENTION" } else { finding.verdict.word() }
}

/// A finding in the output of a test: which cases, what was expected and what came, the cause, how
/// to see it again.
pub fn finding_text(finding: &Finding, dialect: Dialect) -> String {
    let only = finding
        .condition
        .as_ref()
        .map_or_else(String::new, |condition| format!(", only where {condition}"));
    let evidence = &finding.evidence;
    let beyond = match (evidence.ratio, evidence.bound) {
        (Some(ratio), _) => {
            format!("   ({} times the bound of contract {})", tell_ratio(ratio), finding.contract)
        }
        (None, Some(0.0)) if finding.verdict == Verdict::Fail => {
            "   (an exact case: no error is allowed)".to_owned()
        }
        _ => String::new(),
    };
    let Sentences { title, cause, hint } = Sentences::of(finding, &English, dialect);
    let optional = |text: &Option<String>| text.clone().unwrap_or_default();
    let said = |text: Option<Sentence>| text.map_or_else(String::new, |text| text.to_string());
    let all = [
        ("cases", format!("{} of {} show it{only}", finding.cases, finding.of)),
        ("law", format!("{}: {}", finding.law, finding.law_title)),
        (
            "witness",
            [std::slice::from_ref(&finding.witness.call), &finding.witness.inputs]
                .concat()
                .join("\n"),
        ),
        ("at", evidence.place.clone()),
        ("expected", evidence.expected.clone()),
        ("got", format!("{}{beyond}", evidence.got)),
        ("reading", optional(&finding.reading)),
        ("wrong", optional(&finding.structure)),
        ("cause", said(cause)),
        ("hint", said(hint)),
        ("replay", finding.replay.clone()),
    ];
    rows(format!("{}  {title}", word(finding)), &all)
}
