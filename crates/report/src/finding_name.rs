//! What a finding is called in files that are kept: by its faults, its convention, or its kind of
//! cause. Names are made of facts, and no sentence is: words may change, names may not.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use qkvet_spec::{
    Breakage, CallOption, Catalog, Cause, Finding, Form, Narrowed, Pipe, Redirects, ResultName,
    Summary, Verdict,
};

use crate::glob::matches;
use crate::quote::{UNTITLED, is_quoted_like, words, words_of};
use crate::words::lower_first;

/// How the names of wrong values that nothing explains begin.
pub const UNEXPLAINED: &str = "wrong-results-that-no-known-fault-explains";
/// What wrong results are called that were right when they were put again.
pub const INTERMITTENT: &str = "wrong-results-that-did-not-come-again";
/// What results are called that are right for one layout in memory.
pub const LAYOUT: &str = "the-result-depends-on-how-the-inputs-lie-in-memory";
/// What is called that is wrong on several threads alone.
pub const THREADS: &str = "wrong-only-when-the-library-uses-several-threads";
/// How the names of messages begin that are not of the protocol.
const PROTOCOL: &str = "protocol";
/// How a process ends, as a part of a name.
const EXITED: &str = "exited-with-code";
const KILLED: &str = "was-killed-by-signal";
const CLOSED: [&str; 2] =
    ["closed-its-standard-input-and-went-on", "closed-its-standard-output-and-went-on"];
const SILENT: &str = "no-answer-within-s";
const BROKE_PROTOCOL: &str = "broke-the-protocol";
/// How older names went on where the process had begun a line.
const IN_MIDDLE: &str = "-in-the-middle-of";
const ONLY_LINE: &str = "-only-a-line-without";
const NONDETERMINISTIC: &str = "the-same-call-gave-different-results";

/// `QK221`, `QK221+QK310`, `convention:causal=upper-left`, `wrong-shape-of-the-output`, or
/// `error:runtimeerror-out-of-memory`, where the words are the target's.
pub fn finding_name(finding: &Finding) -> String {
    if let Some(convention) = finding.cause.convention() {
        return format!("convention:{convention}");
    }
    match &finding.cause {
        Cause::Faults { .. } | Cause::Convention { .. } => code(finding).unwrap_or_default(),
        Cause::Precision { dtype, computed, what, .. } => {
            let what = match what {
                Narrowed::Everything => "",
                Narrowed::Softmax => "softmax-",
                Narrowed::Sums => "sums-",
                Narrowed::Operands => "operands-",
            };
            format!("precision:{dtype}-{what}in-{computed}")
        }
        Cause::Deviation { deviation, faults } if faults.is_empty() => {
            words(&format!("deviation {}", crate::deviation::title(deviation)))
        }
        Cause::Deviation { .. } => code(finding).unwrap_or_default(),
        Cause::Layout { .. } => LAYOUT.to_owned(),
        Cause::Threads => THREADS.to_owned(),
        Cause::Declined { said } => format!("declined:{}", words_of(said)),
        Cause::Later => "of-a-later-version".to_owned(),
        Cause::Intermittent => INTERMITTENT.to_owned(),
        Cause::Nondeterministic { .. } => NONDETERMINISTIC.to_owned(),
        Cause::Form { form } => words(&format!("wrong {form}")),
        Cause::Broken { how: Breakage::Protocol { field } } => {
            format!("{PROTOCOL}:{}", words_of(field))
        }
        Cause::Broken { how } => {
            format!("{}:{}", finding.verdict.word().to_ascii_lowercase(), name_of_end(how))
        }
        Cause::Unexplained { law, options } => {
            let options: Vec<&str> =
                options.iter().map(|option| CallOption::name(*option)).collect();
            let law = law.iter().map(|law| format!("all-of-{law}"));
            let options =
                (!options.is_empty()).then(|| format!("all-with-{}", options.join("-and-")));
            words(&law.chain(options).fold(UNEXPLAINED.to_owned(), |name, part| name + "-" + &part))
        }
    }
}

/// How a target broke, as a part of a name: without the numbers that change, and in words that stay
/// as they are.
fn name_of_end(how: &Breakage) -> Cow<'static, str> {
    match how {
        Breakage::Said(said) => {
            let words = words_of(said);
            // Not the name that broken messages had.
            let before = if words.starts_with(BROKE_PROTOCOL) { "said-" } else { "" };
            format!("{before}{words}").into()
        }
        Breakage::Protocol { field } => words_of(field).into(),
        Breakage::Exited(_) => EXITED.into(),
        Breakage::Killed { name, .. } => {
            let name = name.as_ref().map(|name| {
                let letters = name.chars().filter(char::is_ascii_alphanumeric).take(16);
                format!("-{}", letters.collect::<String>().to_lowercase())
            });
            format!("{KILLED}{}", name.unwrap_or_default()).into()
        }
        Breakage::Closed(Pipe::Input) => CLOSED[0].into(),
        Breakage::Closed(Pipe::Output) => CLOSED[1].into(),
        Breakage::Silent { .. } => SILENT.into(),
        Breakage::Memory { .. } => "memory".into(),
        Breakage::Later(_) => "later".into(),
    }
}

/// `QK221`, or `QK221+QK310` of two that come together, where faults are named.
pub(crate) fn code(finding: &Finding) -> Option<String> {
    let codes: Vec<&str> = finding.cause.faults().iter().map(|fault| fault.code.as_str()).collect();
    (!codes.is_empty()).then(|| codes.join("+"))
}

/// Titles of the faults that a run found, by their codes.
pub fn titles(summary: &Summary) -> BTreeMap<String, String> {
    let all = summary.findings.iter().flat_map(|finding| finding.cause.faults());
    all.map(|fault| (fault.code.clone(), lower_first(&fault.title))).collect()
}

/// Whether a name in a file means the finding that is called `name` now: older versions left out
/// the verdict before the words of a target.
pub(crate) fn is_name_of(written: &str, name: &str) -> bool {
    all_names(name).any(|name| {
        let short = name.split_once(':').filter(|(verdict, _)| is_broken(verdict));
        let short = short.map_or(name.as_str(), |(_, short)| short);
        [name.as_str(), short].into_iter().any(|name| written == name || had_line(written, name))
    })
}

/// Whether a name of an older version is that of an end, with the line that the process had begun.
fn had_line(written: &str, name: &str) -> bool {
    let rest = written.strip_prefix(name).unwrap_or_default();
    is_end(name) && [IN_MIDDLE, ONLY_LINE].iter().any(|line| rest.starts_with(line))
}

/// Whether a name is that of an end of a process, or of its silence.
fn is_end(name: &str) -> bool {
    let short = name.split_once(':').map_or(name, |(_, short)| short);
    [EXITED, SILENT].contains(&short) || short.starts_with(KILLED)
}

/// The name that is used now, and the one of before.
fn all_names(name: &str) -> impl Iterator<Item = String> {
    std::iter::once(name.to_owned()).chain(old_name(name))
}

/// What a finding was called before the end of a process and a broken message were facts.
fn old_name(name: &str) -> Option<String> {
    match name.split_once(':')? {
        (PROTOCOL, field) if field.starts_with(UNTITLED) => Some(format!("error:{BROKE_PROTOCOL}")),
        (PROTOCOL, field) => Some(format!("error:{BROKE_PROTOCOL}-{field}")),
        ("crash", "was-killed-by-signal-sigusr1" | "was-killed-by-signal-sigusr2") => {
            Some(format!("crash:{KILLED}"))
        }
        ("crash", "was-killed-by-signal-sigkill") => {
            Some(format!("{name}-perhaps-for-lack-of-memory"))
        }
        _ => None,
    }
}

fn is_broken(verdict: &str) -> bool {
    [Verdict::Error, Verdict::Crash, Verdict::Timeout]
        .iter()
        .any(|one| one.word().eq_ignore_ascii_case(verdict))
}

/// Whether the pattern of a known deviation means a finding that no two faults share: by its
/// verdict, its name, or the title that the catalog gives what it names.
///
/// What a target said is its own text. A pattern that means something of qkvet's is not held
/// against it.
pub(crate) fn is_meant(meant: &Pattern<'_>, finding: &Finding) -> bool {
    let (pattern, name) = (&*meant.text, finding_name(finding));
    if pattern == finding.verdict.word() || matches(pattern, &name) {
        return true;
    }
    match &finding.cause {
        Cause::Faults { faults, .. } | Cause::Deviation { faults, .. } if !faults.is_empty() => {
            faults.iter().any(|fault| is_fault_meant(pattern, &fault.code, &fault.title))
        }
        Cause::Convention { title, .. } => {
            matches(pattern, &format!("undeclared convention: {}", lower_first(title)))
        }
        Cause::Broken { how: Breakage::Said(said) } => {
            matches(pattern, finding.verdict.word())
                || matches(&meant.folded, &name)
                || is_quoted_like(said, pattern) && !meant.is_ours()
        }
        _ => {
            matches(pattern, finding.verdict.word())
                || all_names(&name).any(|name| {
                    let short = name.split_once(':').map_or("", |(_, short)| short);
                    matches(&meant.folded, &name)
                        || matches(&meant.folded, short)
                        || meant.title == short
                        || had_line(&meant.folded, &name)
                })
        }
    }
}

/// Whether a pattern means a fault, by its code, its title or both.
pub(crate) fn is_fault_meant(pattern: &str, code: &str, title: &str) -> bool {
    let title = lower_first(title);
    matches(pattern, code)
        || matches(pattern, &title)
        || matches(pattern, &format!("{code} {title}"))
}

/// The pattern of a known deviation.
pub(crate) struct Pattern<'a> {
    /// With the names that are used now.
    pub(crate) text: Cow<'a, str>,
    folded: String,
    /// Its words, which a title is but for its numbers.
    title: String,
    is_ours: OnceCell<bool>,
}

impl<'a> Pattern<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let text = Redirects::embedded().current(text);
        Self { folded: folded(&text), title: words(&text), text, is_ours: OnceCell::new() }
    }

    /// Whether it means something of qkvet's own, for a run may have many findings.
    fn is_ours(&self) -> bool {
        *self.is_ours.get_or_init(|| means_ours(&self.text))
    }
}

/// Whether a pattern means something of qkvet's own: it fits a verdict, a code, an id, a convention
/// or a title, or begins as names of findings do.
fn means_ours(pattern: &str) -> bool {
    static OURS: OnceLock<Vec<String>> = OnceLock::new();
    let ours = OURS.get_or_init(|| {
        let catalog = Catalog::embedded().ok();
        let of_catalog = catalog.iter().flat_map(|catalog| {
            let faults = catalog.faults.values().flat_map(|fault| {
                let coded = format!("{} {}", fault.code, fault.title);
                [fault.code.clone(), fault.fault.clone(), fault.title.clone(), coded]
            });
            let conventions = catalog.conventions.values().flat_map(|one| {
                let declared = format!("{}={}", one.field, one.value);
                let told = format!("undeclared convention: {}", one.title);
                [one.convention.clone(), one.title.clone(), declared, told]
            });
            faults.chain(conventions).chain(catalog.laws.keys().cloned())
        });
        let results = [ResultName::Output, ResultName::Weights, ResultName::Lse];
        let forms = results.into_iter().flat_map(|one| [Form::Shape(one), Form::Format(one)]);
        let forms = forms.chain([Form::Kind, Form::Number]).map(|form| format!("wrong {form}"));
        let verdicts = Verdict::ALL.iter().map(|verdict| verdict.word().to_owned());
        let kinds = [UNEXPLAINED, INTERMITTENT, LAYOUT, THREADS, NONDETERMINISTIC];
        let ends = [EXITED, SILENT, CLOSED[0], CLOSED[1], BROKE_PROTOCOL];
        let kinds = kinds.into_iter().chain(ends).map(str::to_owned);
        of_catalog.chain(forms).chain(verdicts).chain(kinds).map(|name| folded(&name)).collect()
    });
    let title = words(pattern);
    let pattern = folded(pattern);
    let kind = pattern.split_once(':').map(|(kind, _)| kind);
    let begins = |kind: &str| {
        let verdict = Verdict::ALL.iter().any(|one| one.word().eq_ignore_ascii_case(kind));
        verdict || matches!(kind, "convention" | "undeclared-convention" | PROTOCOL)
    };
    pattern.starts_with(UNEXPLAINED)
        || is_end(&title)
        || title.starts_with(BROKE_PROTOCOL)
        || kind.is_some_and(begins)
        || !pattern.chars().all(|c| c == '*') && ours.iter().any(|name| matches(&pattern, name))
}

/// As names are written: in lower case, with hyphens.
fn folded(text: &str) -> String {
    text.to_lowercase().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_ours_are_not_those_of_targets() {
        for pattern in [
            "QK221",
            "qk221*",
            "QK*",
            "Q*",
            "convention:*",
            "wrong results*",
            "wrong-shape-of-the-output",
            "FAIL",
            "FAI?",
            "crash:signal-killed",
            "exited with code*",
            "exited with code 7",
            "was killed by signal *",
            "no answer within 1 s",
            "broke the protocol: tensors.output",
            "protocol:*",
            "timeout:*",
            "gqa-modulo",
            "causal=upper-left",
            "Query head h reads key/value head h % h_k*",
        ] {
            assert!(means_ours(pattern), "{pattern}");
        }
        for pattern in
            ["RuntimeError*", "kernel-died", "*", "out of memory", "*out of memory*", "日本", "aé"]
        {
            assert!(!means_ours(pattern), "{pattern}");
        }
    }

    #[cfg(feature = "formats")]
    #[test]
    fn titles_of_ends_mean_them() {
        let summary: Summary =
            serde_json::from_str(include_str!("../tests/report.json")).expect("a report");
        let end = |verdict, how| Finding {
            verdict,
            cause: Cause::Broken { how },
            ..summary.findings[0].clone()
        };
        let killed = Breakage::Killed { signal: 11, name: Some("SIGSEGV".to_owned()) };
        let field = Breakage::Protocol { field: "tensors.output".into() };
        for (finding, patterns) in [
            (
                end(Verdict::Crash, Breakage::Exited(7)),
                &["exited with code 7", "exited with code *", "crash:*", "CRASH"][..],
            ),
            (
                end(Verdict::Crash, killed),
                &["was killed by signal 11 (SIGSEGV)", "was killed by signal*"],
            ),
            (
                end(Verdict::Timeout, Breakage::Silent { milliseconds: 1000 }),
                &["no answer within 1 s", "no answer within * s"],
            ),
            (
                end(Verdict::Error, field),
                &["broke the protocol: tensors.output", "protocol:*", "error:broke-the-protocol*"],
            ),
        ] {
            for pattern in patterns {
                assert!(is_meant(&Pattern::new(pattern), &finding), "{pattern}");
                let said = Breakage::Said((*pattern).into());
                let said = Finding { verdict: Verdict::Error, ..end(finding.verdict, said) };
                assert!(!is_meant(&Pattern::new(pattern), &said), "{pattern}, said by a target");
            }
        }
    }

    #[test]
    fn names_of_older_versions_are_known() {
        assert!(is_name_of("signal-killed", "crash:signal-killed"));
        assert!(is_name_of("crash:signal-killed", "crash:signal-killed"));
        for (written, name) in [
            ("error:broke-the-protocol", "protocol:untitled-0"),
            ("error:broke-the-protocol-tensors-output", "protocol:tensors-output"),
            ("crash:was-killed-by-signal", "crash:was-killed-by-signal-sigusr1"),
            ("crash:exited-with-code-in-the-middle-of-seq", "crash:exited-with-code"),
            (
                "timeout:no-answer-within-s-only-a-line-without-its-line-break-seq",
                "timeout:no-answer-within-s",
            ),
        ] {
            assert!(is_name_of(written, name), "{written}");
        }
        assert!(!is_name_of("error:died-in-the-middle-of-seq", "error:died"));
        assert!(is_name_of("QK221", "QK221") && !is_name_of("QK221", "error:qk-221"));
        assert!(!is_name_of("causal=upper-left", "convention:causal=upper-left"));
    }
}
