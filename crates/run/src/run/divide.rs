//! Wrong results divided by options, where no option is in all of them: two faults, each beside an
//! option of its own, are found apart sooner than together.

use qkvet_spec::{CallOption, IndexExpr, IndexName, Verdict};

use super::case::JudgedCase;
use super::state::RunState;

/// With fewer cases a part tells too little.
pub(super) const MIN_PART: usize = 4;

/// Cases that use one of the two options by which all are divided, and not the other.
pub(super) struct Part {
    /// Their numbers.
    pub(super) members: Vec<usize>,
    /// The other option.
    pub(super) without: CallOption,
}

/// The same condition, and that a call does not use an option, where nothing is said of it.
pub(super) fn only_without(when: Option<IndexExpr>, option: CallOption) -> Option<IndexExpr> {
    let without = format!("not {}", option.name());
    let text = match &when {
        None => without,
        Some(it) if IndexName::named(option.name()).is_some_and(|name| it.mentions(name)) => {
            return when;
        }
        Some(it) if it.is_either() => format!("({}) and {without}", it.text()),
        Some(it) => format!("{} and {without}", it.text()),
    };
    IndexExpr::new(&text).ok()
}

/// The parts of wrong results that use one of two options, where all use one of them and none is
/// in all. Of several such pairs, the one that the fewest right cases use.
pub(super) fn divided(state: &RunState<'_, '_>, members: &[usize]) -> Option<[Part; 2]> {
    let using = |option: CallOption| {
        members.iter().copied().filter(move |at| state.cases[*at].uses(option))
    };
    let counts = CallOption::ALL.map(|option| using(option).count());
    if members.is_empty() || counts.contains(&members.len()) {
        return None;
    }
    let used = CallOption::ALL.into_iter().zip(counts).filter(|(_, n)| *n >= MIN_PART);
    let used: Vec<CallOption> = used.map(|(option, _)| option).collect();
    let pairs = used.iter().enumerate().flat_map(|(at, x)| used[..at].iter().map(|y| (*y, *x)));
    let parts = |(x, y): (CallOption, CallOption)| {
        let is_all = members.iter().all(|at| [x, y].iter().any(|one| state.cases[*at].uses(*one)));
        let part = |own: CallOption, without: CallOption| {
            let members = using(own).filter(|at| !state.cases[*at].uses(without)).collect();
            Part { members, without }
        };
        let parts = [part(x, y), part(y, x)];
        let is_right = |case: &&JudgedCase<'_>| {
            case.verdict() == Verdict::Pass && (case.uses(x) || case.uses(y))
        };
        (is_all && parts.iter().all(|part| part.members.len() >= MIN_PART))
            .then(|| (state.cases.iter().filter(is_right).count(), parts))
    };
    let (_, mut parts) = pairs.filter_map(parts).min_by_key(|(n_right, _)| *n_right)?;
    parts.sort_by_key(|part| std::cmp::Reverse(part.members.len()));
    Some(parts)
}
