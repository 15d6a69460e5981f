//! Unknown names: the nearest known one goes into the hint.

use crate::syntax::{ExprError, Span};

/// The known name closest to `name`, when it is close enough to be a slip of the hand.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, candidate)| {
            // One letter is no slip for another.
            let has_common = *distance < candidate.chars().count().max(name.chars().count());
            (has_common || name.eq_ignore_ascii_case(candidate))
                && *distance <= 1 + candidate.len().max(name.len()) / 4
        })
        .min_by_key(|(distance, candidate)| (*distance, candidate.len()))
        .map(|(_, candidate)| candidate)
}

/// The hint for an unknown name: the closest known one, else all of them.
pub fn name_hint(name: &str, known: &[&str]) -> String {
    nearest(name, known.iter().copied()).map_or_else(
        || format!("known: {}", known.join(", ")),
        |near| format!("did you mean `{near}`?"),
    )
}

/// What is called otherwise elsewhere, and its name here.
const ELSEWHERE: [(&str, &str); 8] = [
    ("softmax", "softmax_rows"),
    ("logsumexp", "lse"),
    ("log_sum_exp", "lse"),
    ("identity", "eye"),
    ("ln", "log"),
    ("concat", "hcat"),
    ("hstack", "hcat"),
    ("vstack", "vcat"),
];

/// The error for an unknown name inside an expression.
pub(crate) fn unknown_in<'a>(
    what: &str,
    name: &str,
    span: Span,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> ExprError {
    let list = known.clone().into_iter().collect::<Vec<_>>().join(", ");
    let error = ExprError::new(span, format!("{what} `{name}`: expected a known {what}"));
    let elsewhere = ELSEWHERE
        .iter()
        .find(|(other, own)| *other == name && known.clone().into_iter().any(|one| one == *own));
    match elsewhere.map(|(_, own)| *own).or_else(|| nearest(name, known)) {
        Some(candidate) => error.hint(format!("did you mean `{candidate}`?")),
        None => error.hint(format!("known: {list}")),
    }
}
