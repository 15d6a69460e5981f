//! What no fault of the atlas explains, or explains against evidence, is identified: as a formula
//! with a condition, confirmed by fresh calls.

use std::collections::BTreeSet;

use qkvet_diagnose::{
    Came, ExplainedBy, FreshCalls, Identified, explained_by, foretells, identify, sample_evenly,
};
use qkvet_engine::law::{Attempt, Judge, evaluate};
use qkvet_gen::{CasePlan, case_seed};
use qkvet_spec::{
    Behavior, Call, Cause, Dims, Dtype, Extent, Fault, FaultRef, Reason, Response, Standing,
    Stopped, Target, Verdict,
};

use super::call::Workers;
use super::case::PlannedCase;
use super::group::Group;
use super::judge::judge_again;
use super::state::RunState;

/// The law whose only call is any call.
const VALUE: &str = "value";
/// Right cases whose calls are looked at.
const MAX_RIGHT: usize = 240;
/// Fresh calls that are drawn.
const DRAWN: usize = 160;

/// The groups with what was identified in the place of wrong results that nothing explains, and of
/// names that right results contradict.
pub(super) fn identified<'a>(
    state: &RunState<'_, 'a>,
    workers: &mut Workers<'_, 'a>,
    mut groups: Vec<Group<'a>>,
) -> Vec<Group<'a>> {
    // A fresh call is one more combination for which a compiled target is compiled; a shard has
    // not seen what the others have.
    let is_asked = state.config.identifies
        && state.config.sharding.is_none()
        && state.config.cases.most_shapes().is_none()
        && !matches!(state.stopped, Some(Stopped::Interrupted | Stopped::Gone(_)));
    if !is_asked {
        return groups;
    }
    groups.iter_mut().for_each(|group| doubt(state, workers, group));
    if !groups.iter().any(is_doubtful) {
        return groups;
    }
    let members: Vec<usize> = groups
        .iter()
        .filter(|group| is_of_values(group))
        .flat_map(|it| it.members.clone())
        .collect();
    let mut found: Vec<Group<'a>> = Vec::new();
    let mut formats = Dtype::ALL;
    // What is narrow tells less: it is held against what was found before.
    formats.sort_by_key(|dtype| std::cmp::Reverse(dtype.precision()));
    for dtype in formats {
        let mut of_format: Vec<usize> = members.clone();
        of_format.retain(|at| {
            let case = &state.cases[*at];
            case.planned.dtype() == dtype && !case.planned.is_frozen() && !case.calls.is_empty()
        });
        carry_over(state, &mut found, &mut of_format);
        if of_format.is_empty() {
            continue;
        }
        for group in of_one_format(state, workers, dtype, &of_format) {
            match found.iter_mut().find(|known| known.cause.is_like(&group.cause)) {
                Some(known) => known.members.extend(group.members),
                None => found.push(group),
            }
        }
    }
    // What too few cases of a wider format told is told by those of a narrower one.
    let mut left = members;
    left.retain(|at| !found.iter().any(|group| group.members.contains(at)));
    carry_over(state, &mut found, &mut left);
    // Who is named, and explains nearly all that a group of the atlas does, takes its place.
    for group in groups.iter_mut().filter(|group| is_of_values(group)) {
        let share = |other: &Group<'a>| {
            let is_shared = |at: &&usize| other.members.contains(at);
            group.members.iter().filter(is_shared).count() * 10 >= group.members.len() * 9
        };
        let takes_over = |other: &&mut Group<'a>| {
            !group.faults.is_empty() && other.cause.is_named() && share(other)
        };
        if let Some(other) = found.iter_mut().find(takes_over) {
            other.members.append(&mut group.members);
            other.members.sort_unstable();
            other.members.dedup();
        } else if group.faults.is_empty() {
            group.members.retain(|at| !found.iter().any(|other| other.members.contains(at)));
        } else {
            let is_free = |at: &usize| !group.members.contains(at);
            found.iter_mut().for_each(|other| other.members.retain(is_free));
        }
    }
    groups.retain(|group| !group.members.is_empty());
    found.retain(|group| !group.members.is_empty());
    found.sort_by_key(|group| std::cmp::Reverse(group.members.len()));
    found.into_iter().chain(groups).collect()
}

/// Puts fresh calls that the fault of a group has to foretell: other sizes and options than those of
/// the suite tell it from what is like it in all cases. What it does not foretell speaks against
/// it.
fn doubt<'a>(state: &RunState<'_, 'a>, workers: &mut Workers<'_, 'a>, group: &mut Group<'a>) {
    let Cause::Faults { contradicted, .. } = &mut group.cause else { return };
    let [fault] = group.faults[..] else { return };
    let is_formula = !fault.meaning.is_empty() && fault.execution.is_empty();
    let is_open = group.verdict == Verdict::Fail && !group.on_views && !group.is_contradicted;
    if !is_open || !is_formula || fault.behavior.is_some() {
        return;
    }
    let of = |at: &usize| state.cases[*at].planned.dtype();
    let Some(dtype) = group.members.iter().map(of).max_by_key(|dtype| dtype.precision()) else {
        return;
    };
    let is_put = |at: &usize| of(at) == dtype && !state.cases[*at].planned.is_frozen();
    let members: Vec<usize> = group.members.iter().copied().filter(is_put).collect();
    let failures = state.evidence(&members);
    let mut fresh = Fresh { state, workers, dtype, members: &members, plans: Vec::new(), round: 0 };
    let (put, foretold) = foretells(&failures, state.meaning, fault, &mut fresh);
    *contradicted += put - foretold;
    group.is_contradicted = put > foretold;
}

/// Adds the failures of another format to the formulas that explain them, and leaves the others.
fn carry_over<'a>(state: &RunState<'_, 'a>, found: &mut [Group<'a>], left: &mut Vec<usize>) {
    for group in found {
        let Cause::Deviation { deviation, .. } = &mut group.cause else { continue };
        if deviation.standing != Standing::Named || left.is_empty() {
            continue;
        }
        let ExplainedBy { members, untold, calls } =
            explained_by(&state.evidence(left), state.meaning, deviation);
        let is_all = members.len() + untold.len() == left.len();
        let taken = members.iter().chain(untold.iter().filter(|_| is_all && !members.is_empty()));
        let taken: BTreeSet<usize> = taken.map(|at| left[*at]).collect();
        left.retain(|at| !taken.contains(at));
        group.members.extend(taken);
        deviation.explained += calls;
        deviation.of += calls;
    }
}

/// Whether wrong values are what a group is about.
fn is_of_values(group: &Group<'_>) -> bool {
    let is_cause = matches!(group.cause, Cause::Unexplained { .. } | Cause::Faults { .. });
    group.verdict == Verdict::Fail && is_cause && !group.on_views
}

/// Whether a group has no name, or one that speaks of what a target does besides computing, or that
/// right results contradict.
fn is_doubtful(group: &Group<'_>) -> bool {
    let remembers = |fault: &Fault| {
        matches!(
            fault.behavior,
            Some(
                Behavior::AnswerCached
                    | Behavior::MaskKept
                    | Behavior::ScaleKept
                    | Behavior::LengthsKept
                    | Behavior::RightAtFirst
            )
        )
    };
    is_of_values(group)
        && (group.faults.is_empty()
            || group.is_contradicted
            || group.faults.iter().any(|it| remembers(it)))
}

/// What is identified among cases of one format.
fn of_one_format<'a>(
    state: &RunState<'_, 'a>,
    workers: &mut Workers<'_, 'a>,
    dtype: Dtype,
    members: &[usize],
) -> Vec<Group<'a>> {
    let failures = state.evidence(members);
    let right = right_calls(state, dtype);
    let mut fresh = Fresh { state, workers, dtype, members, plans: Vec::new(), round: 0 };
    let found = identify(&failures, &right, state.meaning, &mut fresh);
    found.into_iter().map(|one| group(state, one, members)).collect()
}

fn group<'a>(state: &RunState<'_, 'a>, found: Identified, cases: &[usize]) -> Group<'a> {
    let Identified { deviation, members } = found;
    let is_same = |fault: &&&'a Fault| {
        deviation.standing == Standing::Named
            && deviation.formula.twist.is_none()
            && fault.execution.is_empty()
            && fault.behavior.is_none()
            && fault.meaning == deviation.formula.meaning
    };
    let faults: Vec<&Fault> = state.config.catalog.faults.values().collect();
    // The plainest of several: the others have a condition of their own.
    let length = |fault: &&&'a Fault| fault.when.as_ref().map_or(0, |when| when.text().len());
    let faults = faults.iter().filter(is_same).min_by_key(length);
    let faults = faults.map(|fault| FaultRef::from(*fault));
    let cause =
        Cause::Deviation { deviation: Box::new(deviation), faults: faults.into_iter().collect() };
    Group::new(Verdict::Fail, cause, members.into_iter().map(|at| cases[at]).collect())
}

/// A target that declines every call, and keeps the first.
#[derive(Default)]
struct FirstCall(Option<Call>);

impl Target for FirstCall {
    fn call(&mut self, call: &Call) -> Response {
        self.0.get_or_insert_with(|| call.clone());
        Response::Unsupported(String::new().into())
    }
}

/// The first call of a plan.
fn first_call(state: &RunState<'_, '_>, planned: &PlannedCase<'_>) -> Option<Call> {
    let (case, law) = (planned.case(state.config).ok()?, planned.checked_law(state.config).ok()?);
    let contract = *state.config.contracts.get(&planned.dtype())?;
    let mut target = FirstCall::default();
    evaluate(law, &case, Judge { meaning: state.meaning, contract }, &mut target).ok()?;
    target.0.filter(|call| call.misfit().is_none())
}

/// Calls of cases of the format that came out right.
fn right_calls(state: &RunState<'_, '_>, dtype: Dtype) -> Vec<Call> {
    let is_right = |at: &usize| {
        let case = &state.cases[*at];
        case.verdict() == Verdict::Pass
            && case.planned.dtype() == dtype
            && !case.planned.is_frozen()
    };
    let passed: Vec<usize> = (0..state.cases.len()).filter(is_right).collect();
    sample_evenly(&passed, MAX_RIGHT)
        .filter_map(|at| first_call(state, &state.cases[*at].planned))
        .collect()
}

/// Calls like those of the run, with other numbers, extents and options.
struct Fresh<'s, 'w, 'r, 'a> {
    state: &'s RunState<'s, 'a>,
    workers: &'w mut Workers<'r, 'a>,
    dtype: Dtype,
    members: &'s [usize],
    plans: Vec<PlannedCase<'a>>,
    round: u64,
}

impl FreshCalls for Fresh<'_, '_, '_, '_> {
    fn draw(&mut self, sizes: &[(Extent, usize)]) -> Vec<Call> {
        let templates = |is_wrong: bool| -> Vec<CasePlan> {
            let is_template = |at: &usize| {
                let case = &self.state.cases[*at];
                let right = !is_wrong && case.verdict() == Verdict::Pass;
                case.planned.dtype() == self.dtype
                    && (right || is_wrong && self.members.contains(at))
            };
            let all: Vec<usize> = (0..self.state.cases.len()).filter(is_template).collect();
            let plans = sample_evenly(&all, DRAWN / 2)
                .filter_map(|at| self.state.cases[*at].planned.plan());
            plans.cloned().collect()
        };
        let (wrong, right) = (templates(true), templates(false));
        let mut calls = Vec::new();
        self.plans.clear();
        for number in 0..DRAWN {
            let own = if number % 2 == 0 || right.is_empty() { &wrong } else { &right };
            let other = if right.is_empty() { &wrong } else { &right };
            let index = usize::try_from(self.round).unwrap_or(0) * DRAWN + number;
            let seed = case_seed(self.state.config.cases.seed(), VALUE, self.dtype, FIRST + index);
            let mut plan = varied(&own[number / 2 % own.len()], &other[number % other.len()], seed);
            // Half of them stay as they are: a condition may end elsewhere than is thought.
            let size = sizes.get(number / 4 % sizes.len().max(1)).filter(|_| number % 4 < 2);
            if let Some((extent, size)) = size {
                set(&mut plan.dims, *extent, *size);
            }
            let planned = PlannedCase::Plan(plan);
            if let Some(call) = first_call(self.state, &planned) {
                self.plans.push(planned);
                calls.push(call);
            }
        }
        self.round += 1;
        calls
    }

    fn put(&mut self, at: usize, _: Reason) -> Option<Came> {
        let planned = self.plans.get(at)?.clone();
        let case = judge_again(self.workers, &planned, self.state.meaning, Attempt::Same).ok()?;
        match case.verdict() {
            Verdict::Pass | Verdict::Suspect => Some(Came::Right),
            Verdict::Fail => case.calls.into_iter().next().map(|call| Came::Wrong(Box::new(call))),
            _ => None,
        }
    }
}

/// Numbers of fresh cases start here: no suite has as many.
const FIRST: usize = 1 << 30;

/// Sizes on both sides of the tiles that kernels have.
const SIZES: [usize; 14] = [1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 48, 63, 65, 97];

/// Gives an extent a size; heads of queries stay a multiple of those of keys.
fn set(dims: &mut Dims, extent: Extent, size: usize) {
    match extent {
        Extent::B => dims.b = size,
        Extent::HQ => {
            (dims.h_q, dims.h_k) = (size, if size.is_multiple_of(dims.h_k) { dims.h_k } else { 1 })
        }
        Extent::HK => (dims.h_q, dims.h_k) = (size * (dims.h_q / dims.h_k).max(1), size),
        Extent::NQ => dims.n_q = size,
        Extent::NK => dims.n_k = size,
        Extent::DK => dims.d_k = size,
        Extent::DV => dims.d_v = size,
    }
}

/// A plan of the law whose only call is any call: as one, with up to two places of another.
fn varied(own: &CasePlan, other: &CasePlan, seed: u64) -> CasePlan {
    let mut plan =
        CasePlan { law: VALUE.to_owned(), law_dims: Vec::new(), tiny: false, seed, ..own.clone() };
    let pick = |bits: u32, n: usize| usize::try_from(seed >> bits & 0xff).unwrap_or(0) % n;
    let near = |n: usize, bits: u32| match pick(bits, 5) {
        0 => n + 1,
        1 => n.saturating_sub(1).max(1),
        2 => SIZES[pick(bits + 3, SIZES.len())],
        3 => 2 * n,
        _ => n.div_ceil(2),
    };
    let d = &mut plan.dims;
    for bits in [0, 24].into_iter().take(1 + pick(56, 2)) {
        match pick(bits, 16) {
            0..=2 => d.n_k = near(d.n_k, bits + 8),
            3 | 4 => d.n_q = near(d.n_q, bits + 8),
            5 => d.n_q = d.n_k,
            6 => d.n_q = 1,
            7 => d.d_k = near(d.d_k, bits + 8),
            8 => d.d_v = near(d.d_v, bits + 8),
            9 => d.d_v = d.d_k,
            10 => d.b = 1 + d.b % 3,
            11 => {
                let heads = 1 + pick(bits + 8, 4);
                (d.h_q, d.h_k) = (heads * (1 + pick(bits + 12, 4)), heads);
            }
            12 => plan.causal = other.causal,
            13 => (plan.mask, plan.bias) = (other.mask, other.bias),
            14 => (plan.scale, plan.softcap) = (other.scale, other.softcap),
            _ => {
                (plan.window, plan.sinks) = (other.window, other.sinks);
                (plan.alibi, plan.sequences) = (other.alibi, other.sequences);
            }
        }
    }
    plan
}
