//! Wrong results divided by options, where no option is in all of them: two faults, each beside an
//! option of its own, are found apart sooner than together.

use qkvet_spec::{CallOption, Verdict};

use super::case::JudgedCase;
use super::state::RunState;

/// With fewer cases a part tells too little.
const MIN_PART: usize = 4;

/// Cases that use one of the two options by which all are divided, and not the other.
pub(super) struct Part {
    /// Their numbers.
    pub(super) members: Vec<usize>,
    /// The other option.
    pub(super) without: CallOption,
}

/// Whether a case uses an option: it is drawn with it, or its law sets it.
pub(super) fn has(case: &JudgedCase<'_>, option: CallOption) -> bool {
    case.planned.uses(option) || case.calls.iter().any(|it| it.call.options.has(option))
}

/// The parts of wrong results that use one of two options, where all use one of them and none is
/// in all. Of several such pairs, the one that the fewest right cases use.
pub(super) fn divided(state: &RunState<'_, '_>, members: &[usize]) -> Option<[Part; 2]> {
    let using = |option: CallOption| {
        members.iter().copied().filter(move |at| has(&state.cases[*at], option))
    };
    let counts = CallOption::ALL.map(|option| using(option).count());
    if members.is_empty() || counts.contains(&members.len()) {
        return None;
    }
    let used = CallOption::ALL.into_iter().zip(counts).filter(|(_, n)| *n >= MIN_PART);
    let used: Vec<CallOption> = used.map(|(option, _)| option).collect();
    let pairs = used.iter().enumerate().flat_map(|(at, x)| used[..at].iter().map(|y| (*y, *x)));
    let parts = |(x, y): (CallOption, CallOption)| {
        let is_all = members.iter().all(|at| [x, y].iter().any(|one| has(&state.cases[*at], *one)));
        let part = |own: CallOption, without: CallOption| {
            let members = using(own).filter(|at| !has(&state.cases[*at], without)).collect();
            Part { members, without }
        };
        let parts = [part(x, y), part(y, x)];
        let is_right = |case: &&JudgedCase<'_>| {
            case.verdict() == Verdict::Pass && (has(case, x) || has(case, y))
        };
        (is_all && parts.iter().all(|part| part.members.len() >= MIN_PART))
            .then(|| (state.cases.iter().filter(is_right).count(), parts))
    };
    let (_, mut parts) = pairs.filter_map(parts).min_by_key(|(n_right, _)| *n_right)?;
    parts.sort_by_key(|part| std::cmp::Reverse(part.members.len()));
    Some(parts)
}
