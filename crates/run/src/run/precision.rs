//! Formats that a target computes in without saying so: every number that it returns is one of a
//! narrower format, and what is wrong is right under the contract of that format. Or a step does,
//! where nothing else explains what is wrong.

use qkvet_diagnose::{operands_keep, sample_evenly, sums_keep};
use qkvet_engine::format::is_representable;
use qkvet_engine::law::CallRecord;
use qkvet_spec::{Cause, Contract, Dtype, ExecutionPatch, Format, Narrowed, Verdict};

use super::call::Workers;
use super::case::JudgedCase;
use super::error::RunError;
use super::group::Group;
use super::identify::is_asked;
use super::judge::judge_under;
use super::state::{RunState, failing_of};

/// Formats that may hide in wider ones, the narrowest first.
const NARROW: [Dtype; 3] = [Dtype::Bfloat16, Dtype::Float16, Dtype::Float32];

/// Failing cases that a narrower format has to explain, and the part of all: one in so many.
const MIN_SETTLED: usize = 3;
const MIN_SHARE: usize = 4;

/// A format in which calls of another are computed.
pub(super) struct Precision<'a> {
    /// Format of the calls.
    pub(super) dtype: Dtype,
    /// What holds instead of the contract of the run.
    pub(super) contract: Contract,
    /// What is told: the failing cases that it explains.
    pub(super) group: Group<'a>,
    /// All failing cases of the format, judged by it.
    pub(super) judged: Vec<(usize, JudgedCase<'a>)>,
}

/// The failing cases of a format, most of which lie on the grid of a narrower one: no number of a
/// wider format does but by accident.
pub(super) struct Suspected {
    pub(super) dtype: Dtype,
    narrow: Dtype,
    contract: Contract,
    failing: Vec<usize>,
    pub(super) on_grid: Vec<usize>,
}

impl Suspected {
    /// What is told if `explained` of the failing cases are right in the narrower format.
    pub(super) fn cause(&self, explained: usize) -> Cause {
        Cause::Precision {
            dtype: self.dtype,
            computed: self.narrow.into(),
            what: Narrowed::Everything,
            contract: self.contract.contract.clone(),
            explained,
            of: self.failing.len(),
        }
    }
}

/// Formats whose wrong results lie on the grid of a narrower one.
pub(super) fn suspected(state: &RunState<'_, '_>) -> Vec<Suspected> {
    let of = |(dtype, contract): (&Dtype, &&Contract)| {
        let failing = failing_of(state.cases, *dtype);
        let (narrow, on_grid) = NARROW
            .into_iter()
            .filter(|narrow| narrow.precision() < contract.storage().precision())
            .find_map(|narrow| {
                let is_on = |at: &usize| is_on_grid(&state.cases[*at], narrow);
                let on_grid: Vec<usize> = failing.iter().copied().filter(is_on).collect();
                is_most(&on_grid, &failing).then_some((narrow, on_grid))
            })?;
        // A contract that says so already, or promises what does not go with it, stays.
        let name = format!("{}+{narrow}-inside", contract.contract);
        let contract = state.config.catalog.contract(&name).ok()?;
        Some(Suspected { dtype: *dtype, narrow, contract, failing, on_grid })
    };
    state.config.contracts.iter().filter_map(of).collect()
}

fn is_most(some: &[usize], of: &[usize]) -> bool {
    2 * some.len() > of.len()
}

/// Judges what is suspected by the contract of the narrower format. It is taken where a good part of
/// the failing cases are right under it: the others may have a fault besides, but a stub that returns
/// small integers is not excused by their shortness.
pub(super) fn precisions<'a>(
    state: &RunState<'_, 'a>,
    workers: &mut Workers<'_, 'a>,
) -> Result<Vec<Precision<'a>>, RunError> {
    let mut found = Vec::new();
    if state.stopped.is_some() {
        return Ok(found);
    }
    for one in suspected(state) {
        let judged = judge_under(state, workers, &one.failing, &one.contract)?;
        // Those on the grid are in the order of all.
        let is_settled = |(at, case): &&(usize, JudgedCase<'a>)| {
            case.verdict() != Verdict::Fail && one.on_grid.binary_search(at).is_ok()
        };
        let settled: Vec<usize> = judged.iter().filter(is_settled).map(|(at, _)| *at).collect();
        if settled.len() >= MIN_SETTLED && MIN_SHARE * settled.len() >= one.failing.len() {
            let group = Group::new(Verdict::Fail, one.cause(settled.len()), settled);
            found.push(Precision { dtype: one.dtype, contract: one.contract, group, judged });
        }
    }
    Ok(found)
}

/// Steps that a target may compute in a narrower format than its contract allows, where numbers of
/// `dtype` are stored: in `computed`, under a contract that is `declared`.
struct Step {
    dtype: Dtype,
    computed: Format,
    what: Narrowed,
    declared: Declared,
}

/// How a contract says it.
enum Declared {
    /// By a modifier.
    With(&'static str),
    /// By another contract than the default one.
    Instead { of: &'static str, is: &'static str },
}

const STEPS: [Step; 3] = [
    Step {
        dtype: Dtype::Float64,
        computed: Format::Float32,
        what: Narrowed::Softmax,
        declared: Declared::With("f32-softmax"),
    },
    Step {
        dtype: Dtype::Float16,
        computed: Format::Float16,
        what: Narrowed::Sums,
        declared: Declared::With("f16-accumulation"),
    },
    Step {
        dtype: Dtype::Float32,
        computed: Format::Tf32,
        what: Narrowed::Operands,
        declared: Declared::Instead { of: "f32", is: "tf32" },
    },
];
/// Failing cases that it is tried on before all are put again.
const TRIED: usize = 12;
/// Where values are multiples of one over the first, sums of weights of float32 are multiples of one
/// over the last: weights from `2⁻¹⁶` on are multiples of `2⁻⁴⁰`. Those of the middle one are so by
/// accident.
const COARSE: [f64; 3] = [64.0, 1_048_576.0, 70_368_744_177_664.0];
/// Smaller results have fewer places behind those.
const LEAST: f64 = 1.0 / 16.0;
/// One result in so many has to be such a sum, of so many at least. Of others one in 128 is.
const SUMS: [usize; 2] = [4, 32];

/// Names a step in a narrower format where nothing else explains wrong results, or the fault that
/// does is this step: it shows in exact cases, and all results are right under the contract that
/// allows for it.
pub(super) fn name_steps<'a>(
    state: &RunState<'_, 'a>,
    workers: &mut Workers<'_, 'a>,
    groups: &mut [Group<'a>],
) -> Result<(), RunError> {
    let is_open = |step: &Step, cause: &Cause| match cause {
        Cause::Unexplained { .. } => true,
        Cause::Faults { faults, contradicted: 0, .. } => {
            matches!(&faults[..], [fault] if step.is_fault(state, &fault.fault))
        }
        _ => false,
    };
    // What is wrong beside a fault and has no name is in no other group: it must not be excused.
    let is_whole = |group: &&mut Group<'_>| !group.on_views && group.others.is_empty();
    for group in groups.iter_mut().filter(is_whole) {
        let open: Vec<Step> =
            STEPS.into_iter().filter(|step| is_open(step, &group.cause)).collect();
        for step in open {
            if let Some((contract, right)) = step.explains(state, workers, &group.members)? {
                group.cause = step.cause(&contract, right, group.members.len());
                break;
            }
        }
    }
    Ok(())
}

impl Step {
    /// Whether a fault of the atlas is sums in this format.
    fn is_fault(&self, state: &RunState<'_, '_>, id: &str) -> bool {
        let ExecutionPatch { arithmetic, dots, outputs, .. } =
            state.config.catalog.faults[id].execution;
        let format = arithmetic.or(dots).or(outputs).map(|one| one.format(self.dtype));
        self.what == Narrowed::Sums && format.map(Format::from) == Some(self.computed)
    }

    /// The contract of the run that says so as well, where it is another.
    fn contract(&self, state: &RunState<'_, '_>) -> Option<Contract> {
        let name = &state.config.contracts.get(&self.dtype)?.contract;
        let name = match self.declared {
            Declared::With(modifier) => format!("{name}+{modifier}"),
            Declared::Instead { of, is } => {
                let mut parts = name.split('+');
                let base = parts.next().filter(|base| *base == of).map(|_| is)?;
                std::iter::once(base).chain(parts).collect::<Vec<_>>().join("+")
            }
        };
        state.config.catalog.contract(&name).ok()
    }

    /// The contract, and how many of the members are right under it. What it allows anything for
    /// is finite at least, and less than half of them.
    fn explains<'a>(
        &self,
        state: &RunState<'_, 'a>,
        workers: &mut Workers<'_, 'a>,
        members: &[usize],
    ) -> Result<Option<(Contract, usize)>, RunError> {
        let is_of = |case: &JudgedCase<'_>| case.planned.dtype() == self.dtype;
        let (Some(contract), None) = (self.contract(state), state.stopped) else {
            return Ok(None);
        };
        if !state.of(members).all(is_of) || !self.shows(state, workers, members) {
            return Ok(None);
        }
        let some: Vec<usize> = sample_evenly(members, TRIED).copied().collect();
        let is_finite = |case: &JudgedCase<'_>| {
            let mut results = case.calls.iter().flat_map(CallRecord::results);
            results.all(|it| it.tensor().is_some_and(|x| x.data.iter().all(|x| x.is_finite())))
        };
        let mut right = |members: &[usize]| -> Result<Option<usize>, RunError> {
            let judged = judge_under(state, workers, members, &contract)?;
            let is_right =
                |case: &JudgedCase<'_>| matches!(case.verdict(), Verdict::Pass | Verdict::Suspect);
            let is_open =
                |case: &JudgedCase<'_>| case.verdict() == Verdict::Inconclusive && is_finite(case);
            let n_right = judged.iter().filter(|(_, case)| is_right(case)).count();
            let all = judged.iter().all(|(_, case)| is_right(case) || is_open(case));
            Ok((all && 2 * n_right > members.len()).then_some(n_right))
        };
        let some = right(&some)?;
        let all = if some.is_some() { right(members)? } else { None };
        Ok(all.map(|n_right| (contract, n_right)))
    }

    /// Whether exact cases show the step: no fault besides makes them come out so.
    fn shows(
        &self,
        state: &RunState<'_, '_>,
        workers: &mut Workers<'_, '_>,
        members: &[usize],
    ) -> bool {
        match self.what {
            Narrowed::Softmax => are_sums(state, members),
            Narrowed::Everything => false,
            Narrowed::Sums | Narrowed::Operands => {
                let contract = state.config.contracts[&self.dtype];
                let keeps = if self.what == Narrowed::Sums { sums_keep } else { operands_keep };
                is_asked(state)
                    && keeps(workers.targets[0].target.as_mut(), contract, self.computed)
            }
        }
    }

    fn cause(&self, contract: &Contract, explained: usize, of: usize) -> Cause {
        Cause::Precision {
            dtype: self.dtype,
            computed: self.computed,
            what: self.what,
            contract: contract.contract.clone(),
            explained,
            of,
        }
    }
}

/// Whether outputs of coarse values are sums of weights of float32.
fn are_sums(state: &RunState<'_, '_>, members: &[usize]) -> bool {
    let is_multiple = |x: f64, of: f64| (x * of).fract().to_bits() << 1 == 0;
    let is_coarse =
        |record: &&CallRecord| record.call.value.data.iter().all(|v| is_multiple(*v, COARSE[0]));
    let calls = state.of(members).flat_map(|case| &case.calls).filter(is_coarse);
    let outputs = calls.flat_map(|record| record.output.output.data.iter().copied());
    let (mut all, mut sums) = (0, 0);
    for x in outputs.filter(|x| x.abs() >= LEAST && !is_multiple(*x, COARSE[1])) {
        all += 1;
        sums += usize::from(is_multiple(x, COARSE[2]));
    }
    all >= SUMS[1] && sums * SUMS[0] >= all
}

/// Whether every number of the results is one of the format, and there is one.
fn is_on_grid(case: &JudgedCase<'_>, format: Dtype) -> bool {
    let mut numbers = case
        .calls
        .iter()
        .flat_map(|record| record.results())
        .filter_map(|result| result.tensor())
        .flat_map(|tensor| &tensor.data)
        .filter(|x| x.is_finite() && **x != 0.0)
        .peekable();
    numbers.peek().is_some() && numbers.all(|x| is_representable(*x, format))
}
