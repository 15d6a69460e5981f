//! A law of attention without options, as people prove it.

use qkvet_spec::syntax::{Expr, ExprKind};
use qkvet_spec::{CheckedLaw, Domain};

/// The law with every option off, and its calls without the mask and the bias of the case; nothing if it has none of them.
///
/// It is another law, which may be false where the law is about an option.
pub(crate) fn plain(law: &CheckedLaw) -> Option<CheckedLaw> {
    let given = law.given.iter().filter(|given| matches!(given.domain, Domain::Mask | Domain::Bias));
    let of_case: Vec<&str> = given.flat_map(|given| &given.names).map(String::as_str).collect();
    if law.law.options.is_empty() && of_case.is_empty() {
        return None;
    }
    let mut plain = law.clone();
    plain.law.options.clear();
    let formulas = plain.lets.iter_mut().map(|(_, expr)| expr).chain(&mut plain.through).chain(&mut plain.expect);
    formulas.for_each(|expr| strip(expr, &of_case));
    Some(plain)
}

/// The formula with abbreviations written out.
pub(crate) fn written_out(expr: &mut Expr, lets: &[(String, Expr)]) {
    match &mut expr.kind {
        ExprKind::Number(_) => {}
        ExprKind::Name(name) => {
            if let Some(at) = lets.iter().position(|(own, _)| own == name) {
                *expr = lets[at].1.clone();
                // An abbreviation is made of those above it.
                written_out(expr, &lets[..at]);
            }
        }
        ExprKind::Unary(_, x) | ExprKind::Transpose(x) => written_out(x, lets),
        ExprKind::Binary(_, x, y) | ExprKind::Interval(x, y) => {
            written_out(x, lets);
            written_out(y, lets);
        }
        ExprKind::Tuple(all) => all.iter_mut().for_each(|x| written_out(x, lets)),
        ExprKind::Apply { args, named, .. } => {
            args.iter_mut().chain(named.iter_mut().map(|(_, value)| value)).for_each(|x| written_out(x, lets));
        }
    }
}

/// Takes arguments by name away that are made of what the case has.
fn strip(expr: &mut Expr, of_case: &[&str]) {
    match &mut expr.kind {
        ExprKind::Number(_) | ExprKind::Name(_) => {}
        ExprKind::Unary(_, x) | ExprKind::Transpose(x) => strip(x, of_case),
        ExprKind::Binary(_, x, y) | ExprKind::Interval(x, y) => {
            strip(x, of_case);
            strip(y, of_case);
        }
        ExprKind::Tuple(all) => all.iter_mut().for_each(|x| strip(x, of_case)),
        ExprKind::Apply { args, named, .. } => {
            named.retain(|(_, value)| {
                let mut is_of_case = false;
                value.each_name(&mut |name| is_of_case |= of_case.contains(&name));
                !is_of_case
            });
            args.iter_mut().chain(named.iter_mut().map(|(_, value)| value)).for_each(|x| strip(x, of_case));
        }
    }
}

#[cfg(test)]
mod tests {
    use qkvet_prove::outcome::{Status, prove};
    use qkvet_prove::render::Style;
    use qkvet_spec::Catalog;

    use super::plain;

    #[test]
    fn a_law_without_options_is_proved_without_them() {
        let catalog = Catalog::embedded().unwrap_or_else(|error| panic!("{error}"));
        for id in ["key-value-permutation-invariance", "convex-hull"] {
            let words = |law| {
                let outcome = prove(law);
                assert_eq!(outcome.status, Status::Proved, "{id}");
                outcome.lines.iter().map(|line| line.shown.text(Style::Unicode)).collect::<Vec<_>>().join("\n")
            };
            let law = &catalog.laws[id];
            let all = words(law);
            let some = words(&plain(law).unwrap_or_else(|| panic!("{id}: no options")));
            let is_about_options = |text: &str| {
                ["mask", "bias", "sink", "exist", "alibi", "softcap"].iter().any(|word| text.contains(word))
            };
            assert!(is_about_options(&all) && !is_about_options(&some), "{some}");
        }
        assert!(plain(&catalog.laws["score-entry"]).is_none());
        // What a law says of the mask alone is false without it.
        let causal = plain(&catalog.laws["future-cannot-matter"]).unwrap_or_else(|| panic!("no options"));
        assert!(!matches!(prove(&causal).status, Status::Proved | Status::ProvedTo { .. }));
    }
}
