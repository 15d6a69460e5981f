//! A law of attention without options, as people prove it.

use qkvet_spec::syntax::{Expr, ExprKind};
use qkvet_spec::{CheckedLaw, Domain};

/// The law with every option off, and its calls without the mask and the bias of the case; nothing
/// if it has none of them.
///
/// It is another law, which may be false where the law is about an option.
pub(crate) fn optionless(law: &CheckedLaw) -> Option<CheckedLaw> {
    let given =
        law.given.iter().filter(|given| matches!(given.domain, Domain::Mask | Domain::Bias));
    let of_case: Vec<&str> = given.flat_map(|given| &given.names).map(String::as_str).collect();
    if law.law.options.is_empty() && of_case.is_empty() {
        return None;
    }
    let mut bare = law.clone();
    bare.law.options.clear();
    let formulas =
        bare.lets.iter_mut().map(|(_, expr)| expr).chain(&mut bare.through).chain(&mut bare.expect);
    formulas.for_each(|expr| strip(expr, &of_case));
    Some(bare)
}

/// The formula with abbreviations written out.
pub(crate) fn written_out(expr: &mut Expr, lets: &[(String, Expr)]) {
    if let ExprKind::Name(name) = &expr.kind
        && let Some(at) = lets.iter().position(|(own, _)| own == name)
    {
        *expr = lets[at].1.clone();
        // An abbreviation is made of those above it.
        return written_out(expr, &lets[..at]);
    }
    expr.parts_mut().into_iter().for_each(|part| written_out(part, lets));
}

/// Takes arguments by name away that are made of what the case has.
fn strip(expr: &mut Expr, of_case: &[&str]) {
    if let ExprKind::Apply { named, .. } = &mut expr.kind {
        named.retain(|(_, value)| !of_case.iter().any(|name| value.mentions(name)));
    }
    expr.parts_mut().into_iter().for_each(|part| strip(part, of_case));
}

#[cfg(test)]
mod tests {
    use qkvet_prove::outcome::{Status, prove};
    use qkvet_prove::render::Style;
    use qkvet_spec::Catalog;

    use super::optionless;

    #[test]
    fn a_law_without_options_is_proved_without_them() {
        let catalog = Catalog::embedded().unwrap_or_else(|error| panic!("{error}"));
        for id in ["key-value-permutation-invariance", "convex-hull"] {
            let words = |law| {
                let outcome = prove(law);
                assert_eq!(outcome.status, Status::Proved, "{id}");
                outcome
                    .lines
                    .iter()
                    .map(|line| line.shown.text(Style::Unicode))
                    .collect::<Vec<_>>()
                    .join("\n")
            };
            let law = &catalog.laws[id];
            let all = words(law);
            let some = words(&optionless(law).unwrap_or_else(|| panic!("{id}: no options")));
            let is_about_options = |text: &str| {
                ["mask", "bias", "sink", "exist", "alibi", "softcap"]
                    .iter()
                    .any(|word| text.contains(word))
            };
            assert!(is_about_options(&all) && !is_about_options(&some), "{some}");
        }
        assert!(optionless(&catalog.laws["score-entry"]).is_none());
        // What a law says of the mask alone is false without it.
        let causal = optionless(&catalog.laws["future-cannot-matter"])
            .unwrap_or_else(|| panic!("no options"));
        assert!(!matches!(prove(&causal).status, Status::Proved | Status::ProvedTo { .. }));
    }
}
