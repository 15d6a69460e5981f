//! A finding in the output of a test: the rows of `qkvet check`, with what is declared in Rust.

use qkvet_run::answer::row;
use qkvet_spec::{Finding, FindingKind, Verdict, tell_ratio};

/// How a convention is declared on the command line.
const FLAG: &str = "--convention ";

/// Which cases, what was expected and what came, the cause, how to see it again.
pub(crate) fn finding_text(finding: &Finding) -> String {
    let word =
        if finding.kind == FindingKind::Convention { "CONVENTION" } else { finding.verdict.word() };
    let only = finding
        .boundary
        .as_ref()
        .map_or_else(String::new, |boundary| format!(", only where {boundary}"));
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
    let optional = |text: &Option<String>| text.clone().unwrap_or_default();
    let rows = [
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
        ("cause", optional(&finding.cause)),
        ("hint", finding.hint.as_deref().map(in_rust).unwrap_or_default()),
        ("replay", finding.replay.clone()),
    ];
    let rows =
        rows.iter().filter(|(_, text)| !text.is_empty()).map(|(label, text)| row(label, text));
    std::iter::once(format!("{word}  {}", finding.title)).chain(rows).collect::<Vec<_>>().join("\n")
}

/// `declare it with .convention("causal=upper-left"), or fix it`.
fn in_rust(hint: &str) -> String {
    let Some((before, rest)) = hint.split_once(FLAG) else { return hint.to_owned() };
    let end = rest.find([',', ' ']).unwrap_or(rest.len());
    format!("{before}.convention(\"{}\"){}", &rest[..end], &rest[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_becomes_a_method() {
        let told = in_rust("declare it with --convention causal=upper-left, or fix it");
        assert_eq!(told, "declare it with .convention(\"causal=upper-left\"), or fix it");
        assert_eq!(in_rust("Logits beyond"), "Logits beyond");
    }
}
