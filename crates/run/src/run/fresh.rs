//! Fresh calls: like those of the run, with other numbers, extents and options.

use qkvet_diagnose::{Came, FreshCalls, sample_evenly};
use qkvet_engine::law::{Attempt, Judge, evaluate};
use qkvet_gen::{AlibiChoice, CasePlan, SinkChoice, SoftcapChoice, case_seed};
use qkvet_spec::{
    BroadcastForm, Call, CallOption, Dims, Dtype, Extent, MaskPattern, OptionSet, Reason, Response,
    Target, Verdict, Window,
};

use super::call::Workers;
use super::case::PlannedCase;
use super::judge::judge_again;
use super::state::RunState;

/// The law whose only call is any call, and those whose only call asks for another result.
const VALUE: &str = "value";
const LSE: &str = "log-sum-exp";
const WEIGHTS: &str = "weights";
/// Laws that hold of right results alone.
pub(super) const KNOWING: [&str; 3] = [VALUE, LSE, WEIGHTS];
/// Fresh calls that are drawn.
const DRAWN: usize = 160;

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
pub(super) fn first_call(state: &RunState<'_, '_>, planned: &PlannedCase<'_>) -> Option<Call> {
    let (case, law) = (planned.case(state.config).ok()?, planned.checked_law(state.config).ok()?);
    let contract = *state.config.contracts.get(&planned.dtype())?;
    let mut target = FirstCall::default();
    evaluate(law, &case, Judge { meaning: state.meaning, contract }, &mut target).ok()?;
    target.0.filter(|call| call.misfit().is_none())
}

/// Cases of a format that came out right, half of them with all options that every one of these
/// members has: they say most of where a formula ends.
pub(super) fn right_like(
    state: &RunState<'_, '_>,
    dtype: Dtype,
    members: &[usize],
    most: usize,
) -> Vec<usize> {
    let is_shared = |option: &CallOption| state.of(members).all(|case| case.uses(*option));
    let shared: Vec<CallOption> = CallOption::ALL.into_iter().filter(is_shared).collect();
    let is_right = |at: &usize| {
        let case = &state.cases[*at];
        case.verdict() == Verdict::Pass
            && case.planned.dtype() == dtype
            && case.planned.plan().is_some()
    };
    let is_like = |at: &usize| shared.iter().all(|option| state.cases[*at].planned.uses(*option));
    let all = (0..state.cases.len()).filter(is_right);
    let (like, others): (Vec<usize>, Vec<usize>) = all.partition(is_like);
    let some = |of: &[usize]| sample_evenly(of, most.div_ceil(2)).copied().collect::<Vec<_>>();
    [some(&like), some(&others)].concat()
}

/// Calls like those of the run, with other numbers, extents and options.
pub(super) struct Fresh<'s, 'w, 'r, 'a> {
    state: &'s RunState<'s, 'a>,
    workers: &'w mut Workers<'r, 'a>,
    dtype: Dtype,
    members: &'s [usize],
    law: &'static str,
    /// No call uses it.
    without: Option<CallOption>,
    plans: Vec<PlannedCase<'a>>,
    round: u64,
}

impl<'s, 'w, 'r, 'a> Fresh<'s, 'w, 'r, 'a> {
    /// Calls of one format like those of these cases, and like those that came out right.
    pub(super) fn new(
        state: &'s RunState<'s, 'a>,
        workers: &'w mut Workers<'r, 'a>,
        dtype: Dtype,
        members: &'s [usize],
    ) -> Self {
        // Where the output of no single call is wrong, it is another result.
        let is_output = state.of(members).any(|case| case.record.law == VALUE);
        let asks = |asks: fn(&Call) -> bool| {
            let mut calls = state.of(members).flat_map(|case| &case.calls);
            !is_output && calls.any(|record| asks(&record.call))
        };
        let law = match () {
            () if asks(|call| call.return_lse) => LSE,
            () if asks(|call| call.return_weights) => WEIGHTS,
            () => VALUE,
        };
        let (without, plans) = (None, Vec::new());
        Self { state, workers, dtype, members, law, without, plans, round: 0 }
    }

    /// The same without an option.
    pub(super) fn without(self, without: Option<CallOption>) -> Self {
        Self { without, ..self }
    }
}

impl FreshCalls for Fresh<'_, '_, '_, '_> {
    fn draw(&mut self, sizes: &[(Extent, usize)]) -> Vec<Call> {
        let templates = |is_wrong: bool| -> Vec<CasePlan> {
            let all: Vec<usize> = match is_wrong {
                true => {
                    let cases = &self.state.cases;
                    let is_own = |at: &usize| cases[*at].planned.dtype() == self.dtype;
                    self.members.iter().copied().filter(is_own).collect()
                }
                false => right_like(self.state, self.dtype, self.members, DRAWN / 2),
            };
            let plan = |at: &usize| {
                let case = &self.state.cases[*at];
                let mut plan = case.planned.plan()?.clone();
                let calls = case.calls.iter().map(|record| record.call.options.on());
                calls.for_each(|on| switch_on(&mut plan, on, *at));
                Some(plan)
            };
            sample_evenly(&all, DRAWN / 2).filter_map(plan).collect()
        };
        let (wrong, right) = (templates(true), templates(false));
        let mut calls = Vec::new();
        self.plans.clear();
        for number in 0..DRAWN {
            let own = if number % 2 == 0 || right.is_empty() { &wrong } else { &right };
            let other = if right.is_empty() { &wrong } else { &right };
            let index = usize::try_from(self.round).unwrap_or(0) * DRAWN + number;
            let seed = case_seed(self.state.config.cases.seed(), VALUE, self.dtype, FIRST + index);
            let places = (&own[number / 2 % own.len()], &other[number % other.len()]);
            let mut plan = varied(self.law, places, seed);
            // Half of them stay as they are: a condition may end elsewhere than is thought.
            let (round, turn) = (index / 4 / sizes.len().max(1), index / 4 % sizes.len().max(1));
            let size = sizes.get(turn).filter(|_| number % 4 < 2);
            if let Some((extent, size)) = size {
                set(&mut plan.dims, *extent, *size);
            }
            // Half of those that are most like the wrong ones have one option turned: all wrong
            // calls may lack it, or have it.
            if number % 4 == 0 && round % 2 == 0 {
                let option = CallOption::ALL[round / 2 % CallOption::ALL.len()];
                let all = right.iter().chain(&wrong).cycle().skip(number);
                let mut all = all.take(right.len() + wrong.len());
                if let Some(other) = all.find(|it| it.has(option) != plan.has(option)) {
                    take(&mut plan, &[option], other);
                }
            }
            if self.without.is_some_and(|option| plan.has(option)) {
                continue;
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

/// Switches options on in a plan that a law sets in its calls.
fn switch_on(plan: &mut CasePlan, on: OptionSet, number: usize) {
    let is_new = |option: CallOption| on.contains(option);
    let form = BroadcastForm::Shared;
    plan.causal |= is_new(CallOption::Causal);
    let mask = is_new(CallOption::Mask).then_some((MaskPattern::Random, form));
    plan.mask = plan.mask.or(mask);
    plan.bias = plan.bias.or(is_new(CallOption::Bias).then_some(form));
    let softcaps = SoftcapChoice::ALL;
    let softcap = is_new(CallOption::Softcap).then(|| softcaps[number % softcaps.len()]);
    plan.softcap = plan.softcap.or(softcap);
    let sinks = is_new(CallOption::Sinks).then(|| SinkChoice::ALL[number % SinkChoice::ALL.len()]);
    plan.sinks = plan.sinks.or(sinks);
    let alibi =
        is_new(CallOption::AlibiSlopes).then(|| AlibiChoice::ALL[number % AlibiChoice::ALL.len()]);
    plan.alibi = plan.alibi.or(alibi);
    let window = Window { left: Some(number % 4), right: Some(number / 4 % 4) };
    plan.window = plan.window.or(is_new(CallOption::Window).then_some(window));
}

/// Options that are taken together.
const REST: [CallOption; 4] =
    [CallOption::Window, CallOption::Sinks, CallOption::AlibiSlopes, CallOption::Packed];

/// Takes options from another plan, there or not.
fn take(plan: &mut CasePlan, options: &[CallOption], other: &CasePlan) {
    for option in options {
        match option {
            CallOption::Scale => plan.scale = other.scale,
            CallOption::Causal => plan.causal = other.causal,
            CallOption::Mask => plan.mask = other.mask,
            CallOption::Bias => plan.bias = other.bias,
            CallOption::Softcap => plan.softcap = other.softcap,
            CallOption::Window => plan.window = other.window,
            CallOption::Sinks => plan.sinks = other.sinks,
            CallOption::AlibiSlopes => plan.alibi = other.alibi,
            CallOption::KeyLengths | CallOption::QueryLengths | CallOption::Packed => {
                plan.sequences = other.sequences;
            }
        }
    }
}

/// A plan of a law whose only call is any call: as one, with up to two places of another.
fn varied(law: &str, (own, other): (&CasePlan, &CasePlan), seed: u64) -> CasePlan {
    let mut plan =
        CasePlan { law: law.to_owned(), law_dims: Vec::new(), tiny: false, seed, ..own.clone() };
    let pick = |bits: u32, n: usize| usize::try_from(seed >> bits & 0xff).unwrap_or(0) % n;
    let near = |n: usize, bits: u32| match pick(bits, 5) {
        0 => n + 1,
        1 => n.saturating_sub(1).max(1),
        2 => SIZES[pick(bits + 3, SIZES.len())],
        3 => 2 * n,
        _ => n.div_ceil(2),
    };
    for bits in [0, 24].into_iter().take(1 + pick(56, 2)) {
        let d = &mut plan.dims;
        match pick(bits, 20) {
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
            12 | 17 => take(&mut plan, &[CallOption::Causal], other),
            13 | 18 => take(&mut plan, &[CallOption::Mask, CallOption::Bias], other),
            14 => take(&mut plan, &[CallOption::Scale, CallOption::Softcap], other),
            side @ (15 | 16) if plan.window.is_some() => {
                let window = plan.window.get_or_insert_default();
                let [own, opposite] = match side {
                    15 => [&mut window.left, &mut window.right],
                    _ => [&mut window.right, &mut window.left],
                };
                *own = match pick(bits + 8, 3) {
                    0 if opposite.is_some() => None,
                    1 => Some(0),
                    _ => Some(own.map_or(2, |n| n + 1)),
                };
            }
            _ => take(&mut plan, &REST, other),
        }
    }
    plan
}
