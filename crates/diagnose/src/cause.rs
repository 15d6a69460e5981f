//! Causes: the fault whose exact function holds every wrong result, or whose simulation returns the
//! like; or two of them together.

mod pair;

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use qkvet_engine::affects::{AffectedElements, affects, faulty, faulty_while, touches};
use qkvet_engine::interpret::{Expected, GoesOn, interpret};
use qkvet_engine::law::{CallRecord, CallResult, confirms, explains, explains_by_head, fits};
use qkvet_engine::lowering::ResultName;
use qkvet_engine::simulate::Simulator;
use qkvet_spec::{
    Behavior, Call, CallOptions, Contract, Execution, Fault, Meaning, Response, Target, Tensor,
};

use crate::sample_evenly::sample_evenly;

/// A fault, or faults together, and how much of the evidence they explain.
#[derive(Clone, Debug)]
pub struct Cause<'a> {
    /// The faults, mostly one.
    pub faults: Vec<&'a Fault>,
    /// Numbers of the failures it explains.
    pub explained: Vec<usize>,
    /// How many of the calls that came out right would be wrong with it.
    pub contradicted: usize,
}

/// Recorded calls of cases, each with the contract that they were judged by.
pub type Records<'a> = [(&'a [CallRecord], &'a Contract)];

/// One recorded call, and whether it is right as it is.
struct Seen<'a> {
    record: &'a CallRecord,
    contract: &'a Contract,
    is_right: bool,
    right: Answer,
    /// Which faults touch it, by where they lie: many pairs have a fault in common.
    touched: Mutex<BTreeMap<usize, bool>>,
}

/// What a call returns under one meaning, each result computed when it is first asked for.
#[derive(Default)]
struct Answer([OnceLock<Expected>; ResultName::ALL.len()]);

impl Answer {
    fn get(&self, want: ResultName, compute: impl FnOnce() -> Expected) -> &Expected {
        self.0[want as usize].get_or_init(compute)
    }
}

impl<'a> Seen<'a> {
    fn new(record: &'a CallRecord, contract: &'a Contract) -> Self {
        let (right, touched) = (Answer::default(), Mutex::default());
        Self { record, contract, is_right: false, right, touched }
    }

    /// What is right.
    fn right(&self, base: &Meaning, want: ResultName) -> &Expected {
        self.right.get(want, || interpret(base, &self.record.call, self.contract, want))
    }

    /// Whether anything of the fault can show.
    fn is_touched(&self, base: &Meaning, fault: &Fault) -> bool {
        let known = || self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        let key = std::ptr::from_ref(fault).addr();
        if let Some(is_touched) = known().get(&key) {
            return *is_touched;
        }
        let is_touched = touches(fault, base, &self.record.call);
        known().insert(key, is_touched);
        is_touched
    }
}

/// Calls of the same form that a result is held against.
const MAX_CALLS_TRIED: usize = 16;
/// Failures that every fault is tried on; one that explains none of them is not looked at further.
const TRIED: usize = 12;

/// Faults are named when one in so many of the failures that they explain, of those that this is
/// tried on, confirms them.
const MIN_CONFIRMING: usize = 3;

/// The faults that explain at least one of `failures`, the best first: by how many they explain,
/// then by how few of `passing` they contradict.
///
/// A fault of meaning explains a failure when the enclosure of every call under it, widened by the
/// contract's bound, holds what came back, and the enclosure without it does not. A fault of
/// execution explains it when the simulator returns the same elements. A fault contradicts a call
/// that came out right when it would not have. Where all that is equal, what is computed wrongly
/// comes before how, and that before what a target does besides; then the lower code, which is the
/// plainer fault.
pub fn cause<'a>(
    failures: &Records<'_>,
    passing: &Records<'_>,
    base: &Meaning,
    faults: impl IntoIterator<Item = &'a Fault>,
) -> Vec<Cause<'a>> {
    let evidence = Evidence::new(failures, passing, base);
    let mut causes: Vec<Cause<'a>> =
        faults.into_iter().filter_map(|fault| evidence.explained(&[fault])).collect();
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.explained.len()));
    // Only what explains as much as the best has to be told from it.
    let most = causes.first().map_or(0, |best| best.explained.len());
    for cause in causes.iter_mut().take_while(|cause| cause.explained.len() == most) {
        cause.contradicted = contradicting(passing, base, &cause.faults, Room::None).count();
    }
    // Whatever is wrong in some rows looks as if they had not been written, and NaN for whatever
    // reason as if something had overflowed, so that what is right in them counts.
    let is_refuted = |cause: &Cause<'_>| {
        let is_unwritten =
            cause.faults.iter().any(|fault| fault.behavior == Some(Behavior::RowsUnwritten));
        let is_of_execution = cause
            .faults
            .iter()
            .all(|fault| !fault.execution.is_empty() && fault.meaning.is_empty());
        is_unwritten && 2 * cause.contradicted > cause.explained.len()
            || is_of_execution && cause.contradicted > cause.explained.len()
    };
    causes.retain(|cause| !is_refuted(cause));
    causes.sort_by(|x, y| x.rank().cmp(&y.rank()));
    causes
}

/// What faults explain together; `None` if that is nothing.
pub fn together<'a>(
    failures: &Records<'_>,
    base: &Meaning,
    faults: &[&'a Fault],
) -> Option<Cause<'a>> {
    Evidence::new(failures, &[], base).all_explained(faults)
}

/// Pairs of faults that explain failures together which neither explains on its own, the best
/// first: one of them is among `known`, which explain other failures, if there are any.
///
/// Only faults are tried that contradict none of `passing`, and no behaviors.
pub(crate) fn pairs<'a>(
    failures: &Records<'_>,
    passing: &Records<'_>,
    base: &Meaning,
    known: &[&'a Fault],
    faults: impl IntoIterator<Item = &'a Fault>,
) -> Vec<Cause<'a>> {
    let is_possible = |fault: &&'a Fault| {
        fault.behavior.is_none()
            && contradicting(passing, base, std::slice::from_ref(fault), Room::None)
                .next()
                .is_none()
    };
    pair::pairs(
        &Evidence::new(failures, passing, base),
        known,
        &faults.into_iter().filter(is_possible).collect::<Vec<_>>(),
    )
}

/// With no more keys, what is computed can hardly be told from something else.
const FEW_KEYS: usize = 3;

/// Whether a call has the keys to tell one formula from another.
pub(crate) fn tells_apart(call: &Call) -> bool {
    call.dims().n_k > FEW_KEYS
}

impl Cause<'_> {
    fn rank(&self) -> impl Ord {
        let kind = |fault: &&Fault| (fault.behavior.is_some(), fault.meaning.is_empty());
        let codes: Vec<String> = self.faults.iter().map(|fault| fault.code.clone()).collect();
        (
            std::cmp::Reverse(self.explained.len()),
            self.contradicted,
            self.faults.iter().map(kind).max(),
            codes,
        )
    }
}

/// Failures to be explained, and every call that was seen.
struct Evidence<'a> {
    failures: Vec<Vec<Seen<'a>>>,
    others: Vec<&'a CallRecord>,
    base: &'a Meaning,
}

impl<'a> Evidence<'a> {
    fn new(failures: &'a Records<'a>, passing: &'a Records<'a>, base: &'a Meaning) -> Self {
        let records = failures.iter().chain(passing).flat_map(|(calls, _)| calls.iter());
        let others = records.filter(|record| record.call.misfit().is_none()).collect();
        Self { failures: failures.iter().map(|case| seen(case, base)).collect(), others, base }
    }

    /// Whether the faults explain a failure together.
    fn explains(&self, at: usize, faults: &[&Fault]) -> bool {
        matches(&self.failures[at], self.base, faults, &self.others)
    }

    /// The faults as a cause; `None` if they explain none of the failures that everything is tried
    /// on, or nothing confirms them.
    fn explained<'f>(&self, faults: &[&'f Fault]) -> Option<Cause<'f>> {
        let is_candidate = sample_evenly(&self.failures, TRIED)
            .any(|calls| matches(calls, self.base, faults, &self.others));
        if is_candidate { self.all_explained(faults) } else { None }
    }

    /// The faults as a cause, tried on every failure.
    fn all_explained<'f>(&self, faults: &[&'f Fault]) -> Option<Cause<'f>> {
        let explained: Vec<usize> =
            (0..self.failures.len()).filter(|at| self.explains(*at, faults)).collect();
        // Confirming costs as much as explaining: a few speak for all. Where any weights are
        // allowed nobody can.
        let bounded: Vec<usize> =
            explained.iter().copied().filter(|at| self.is_bounded(*at)).collect();
        let speaking = if bounded.is_empty() { &explained } else { &bounded };
        let tried: Vec<usize> = sample_evenly(speaking, TRIED).copied().collect();
        let confirming = tried.iter().filter(|at| self.is_confirmed(**at, faults)).count();
        let is_confirmed = confirming > 0
            && confirming * MIN_CONFIRMING >= tried.len()
            && !self.is_right_later(faults, explained.len());
        is_confirmed.then(|| Cause { faults: faults.to_vec(), explained, contradicted: 0 })
    }

    /// Whether a failure has a wrong number of which the contract bounds the weights.
    fn is_bounded(&self, at: usize) -> bool {
        self.failures[at].iter().filter(|seen| !seen.is_right).any(|seen| {
            // Nothing is right of a call that does not fit.
            if seen.record.call.misfit().is_some() {
                return true;
            }
            seen.record.results().any(|result| {
                let right = seen.right(self.base, result.want);
                let is_shown = |(at, x): (usize, &f64)| {
                    at >= right.exact.len() || !right.holds(at, *x) && right.bounds_weights(at)
                };
                result.tensor().is_none_or(|got| got.data.iter().enumerate().any(is_shown))
            })
        })
    }

    /// Whether only the first call is said to be right, though more than `n` calls are that half of
    /// the keys would make wrong.
    fn is_right_later(&self, faults: &[&Fault], n: usize) -> bool {
        let [Fault { behavior: Some(Behavior::RightAtFirst), .. }] = faults else { return false };
        let contract_of = |call: &Call| {
            let mut seen = self.failures.iter().flatten();
            seen.find(|seen| seen.record.call.dtype() == call.dtype()).map(|it| it.contract)
        };
        let is_right = |record: &&&CallRecord| {
            let call = &record.call;
            let (Some(contract), Some(half)) = (contract_of(call), half_of_keys(call)) else {
                return false;
            };
            let of_half = CallRecord { call: half, ..CallRecord::clone(record) };
            fits(record, self.base, contract) && !fits(&of_half, self.base, contract)
        };
        self.others.iter().filter(is_right).nth(n).is_some()
    }

    /// Whether a failure that the faults explain confirms them: where bounds are wide, many faults
    /// hold whatever came back.
    fn is_confirmed(&self, at: usize, faults: &[&Fault]) -> bool {
        let calls = &self.failures[at];
        let mut wrong = calls.iter().filter(|seen| !seen.is_right);
        if is_of_meaning(faults) {
            let is_shown = |seen: &Seen<'_>| {
                is_struck(faults, seen)
                    && confirms(seen.record, |want| expected(self.base, faults, seen, want))
                    && tells(seen, self.base, |want| expected(self.base, faults, seen, want))
            };
            return wrong.any(is_shown);
        }
        match faults {
            [Fault { behavior: Some(behavior), .. }] if behavior.keeps_something() => {
                wrong.any(|seen| remembers(*behavior, seen, self.base, &self.others, is_told_for))
            }
            _ => true,
        }
    }
}

fn seen<'a>((calls, contract): &(&'a [CallRecord], &'a Contract), base: &Meaning) -> Vec<Seen<'a>> {
    let seen = |record: &'a CallRecord| {
        let seen = Seen::new(record, contract);
        // What does not fit has no right answer.
        let is_right =
            record.call.misfit().is_none() && explains(record, |want| seen.right(base, want));
        Seen { is_right, ..seen }
    };
    calls.iter().map(seen).collect()
}

/// Whether a case that came out right would have been wrong with the fault.
fn contradicts(
    (calls, contract): &(&[CallRecord], &Contract),
    base: &Meaning,
    faults: &[&Fault],
    room: Room,
) -> bool {
    let is_wrong = |record: &CallRecord| {
        let seen = Seen { is_right: true, ..Seen::new(record, contract) };
        if !faults.iter().any(|fault| touches(fault, base, &record.call)) {
            return false;
        }
        // Rows that are not written are wrong wherever they are.
        if faults.iter().any(|fault| fault.behavior == Some(Behavior::RowsUnwritten)) {
            return true;
        }
        if !faults.iter().any(|fault| !fault.execution.is_empty()) {
            let is_of_meaning = faults.iter().any(|fault| !fault.meaning.is_empty());
            let is_explained = |room| match room {
                Room::None => explains_by_head(record, |want, goes_on| {
                    faulty_while(base, faults, &record.call, contract, want, goes_on)
                }),
                Room::OfRight => explains(record, |want| near_right(base, faults, &seen, want)),
            };
            return is_of_meaning && !is_explained(room);
        }
        let Response::Output(output) = faulty_target(base, faults).call(&record.call) else {
            return false;
        };
        let simulated = CallRecord { output: *output, ..record.clone() };
        !fits(&simulated, base, contract)
    };
    calls.iter().any(is_wrong)
}

fn faulty_target(base: &Meaning, faults: &[&Fault]) -> Simulator {
    let right = Simulator::new(base.clone(), Execution::standard());
    faults.iter().fold(right, |target, fault| target.with_fault(Fault::clone(fault)))
}

fn expected(base: &Meaning, faults: &[&Fault], seen: &Seen<'_>, want: ResultName) -> Expected {
    faulty(base, faults, &seen.record.call, seen.contract, want)
}

/// What a result that came out right may differ by from the right one, which is all that is known of
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// Nothing: then a call or two speak against any fault by accident.
    None,
    /// As much as the contract allows: what speaks against a fault is certain to.
    OfRight,
}

/// The cases that came out right and would not have with the faults.
pub(crate) fn contradicting<'a>(
    passing: &'a Records<'a>,
    base: &'a Meaning,
    faults: &'a [&'a Fault],
    room: Room,
) -> impl Iterator<Item = &'a (&'a [CallRecord], &'a Contract)> {
    passing.iter().filter(move |case| contradicts(case, base, faults, room))
}

/// What the faults give, with room for a result that is anywhere near the right one: of a call that
/// came out right no more is known.
fn near_right(base: &Meaning, faults: &[&Fault], seen: &Seen<'_>, want: ResultName) -> Expected {
    let mut faulty = expected(base, faults, seen, want);
    let right = interpret(base, &seen.record.call, seen.contract, want);
    if right.shape == faulty.shape {
        let room = right.hard.iter().zip(&right.exact).map(|(hard, exact)| hard + exact.rad);
        faulty.hard.iter_mut().zip(room).for_each(|(hard, room)| *hard += room);
    }
    faulty
}

fn is_struck(faults: &[&Fault], seen: &Seen<'_>) -> bool {
    faults.iter().any(|fault| affects(fault, &seen.record.call) != AffectedElements::Nothing)
}

/// Whether faults are held against results by the enclosure of a faulty meaning: nothing of them is
/// a habit of execution alone.
fn is_of_meaning(faults: &[&Fault]) -> bool {
    faults.iter().all(|fault| !fault.meaning.is_empty())
}

/// Whether results of a call tell `other` from what is right: at most of the wrong elements it does
/// not hold the right value as well. Elements of which it says less than what is wrong with them
/// have no say.
fn tells(seen: &Seen<'_>, base: &Meaning, other: impl Fn(ResultName) -> Expected) -> bool {
    seen.record.results().any(|result| {
        let right = seen.right(base, result.want);
        let Some(got) = result.tensor().filter(|got| got.data.len() == right.exact.len()) else {
            return true;
        };
        let other = other(result.want);
        if other.shape != right.shape {
            return true;
        }
        let (mut apart, mut of) = (0, 0);
        for (at, x) in got.data.iter().enumerate().filter(|(at, x)| !right.holds(*at, **x)) {
            let mid = right.exact[at].mid;
            let is_vague = other.exact[at].rad + other.hard[at] >= (x - mid).abs();
            of += usize::from(!is_vague);
            apart += usize::from(!is_vague && !other.holds(at, mid));
        }
        2 * apart > of
    })
}

/// Whether a wrong result is right for another call.
fn is_right_for(seen: &Seen<'_>, base: &Meaning, other: Call) -> bool {
    let of_other = CallRecord { call: other, ..seen.record.clone() };
    fits(&of_other, base, seen.contract)
}

/// Whether a wrong result is right for another call, and what is right for that is told from what
/// is right for its own.
fn is_told_for(seen: &Seen<'_>, base: &Meaning, other: Call) -> bool {
    let of_other = CallRecord { call: other, ..seen.record.clone() };
    let expected = |want: ResultName| interpret(base, &of_other.call, seen.contract, want);
    confirms(&of_other, expected) && tells(seen, base, expected)
}

/// Whether faults make `wrong` of a call, another answer and not just a wider bound: the exact result
/// is itself outside of what is right, or nearer than that to all that came out wrong.
fn moves<'e>(base: &Meaning, seen: &Seen<'_>, wrong: impl Fn(ResultName) -> &'e Expected) -> bool {
    seen.record.results().any(|result| {
        let (right, wrong) = (seen.right(base, result.want), wrong(result.want));
        if right.shape != wrong.shape
            || wrong.exact.iter().enumerate().any(|(at, x)| !right.holds(at, x.mid))
        {
            return true;
        }
        let Some(got) = result.tensor().filter(|got| got.data.len() == right.exact.len()) else {
            return false;
        };
        let is_refuted = |(at, x): &(usize, &f64)| !right.holds(*at, **x);
        let distance = |expected: &Expected, at: usize, x: f64| (x - expected.exact[at].mid).abs();
        let mut refuted = got.data.iter().enumerate().filter(is_refuted).peekable();
        refuted.peek().is_some()
            && refuted.all(|(at, x)| distance(wrong, at, *x) < distance(right, at, *x))
    })
}

fn matches(calls: &[Seen<'_>], base: &Meaning, faults: &[&Fault], others: &[&CallRecord]) -> bool {
    if faults.iter().any(|fault| fault.behavior == Some(Behavior::InputsOverwritten)) {
        // Numbers that are wrong besides have another cause, which would not be looked for.
        return calls.iter().all(|seen| seen.is_right || seen.record.call.misfit().is_some())
            && calls.iter().any(|seen| !seen.record.output.inputs_unchanged);
    }
    // A fault explains what is wrong by touching it: a call that it leaves as it is stays wrong.
    let is_touched = |seen: &Seen<'_>| faults.iter().any(|fault| seen.is_touched(base, fault));
    let mut wrong = calls.iter().filter(|seen| !seen.is_right).peekable();
    if wrong.peek().is_none() || !wrong.all(is_touched) {
        return false;
    }
    if let [fault] = faults
        && let Some(behavior) = fault.behavior
    {
        let behaves = |seen: &Seen<'_>| {
            behaves(behavior, fault, seen, base)
                || remembers(behavior, seen, base, others, is_right_for)
        };
        return calls.iter().all(|seen| seen.is_right || behaves(seen));
    }
    if is_of_meaning(faults) {
        // What a fault does not strike stays as right as it was.
        let holds = |seen: &Seen<'_>| {
            let faulty = Answer::default();
            let wrong = |want| faulty.get(want, || expected(base, faults, seen, want));
            let is_held = |want, goes_on: GoesOn<'_>| {
                let (call, contract) = (&seen.record.call, seen.contract);
                let wrong = faulty_while(base, faults, call, contract, want, goes_on)?;
                Some(faulty.get(want, || wrong))
            };
            match is_struck(faults, seen) {
                true => {
                    explains_by_head(seen.record, is_held)
                        && (seen.is_right || moves(base, seen, wrong))
                }
                false => seen.is_right,
            }
        };
        return calls.iter().all(holds);
    }
    if faults.iter().all(|fault| fault.execution.is_empty()) {
        return false;
    }
    let mut simulator = faulty_target(base, faults);
    calls.iter().all(|seen| match simulator.call(&seen.record.call) {
        Response::Output(output) => seen.record.results().all(|result| {
            let simulated = result.want.of(&output);
            simulated
                .is_some_and(|simulated| alike(result, simulated, seen.right(base, result.want)))
        }),
        _ => false,
    })
}

/// Whether a wrong result looks like that of a target with this behavior.
fn behaves(behavior: Behavior, fault: &Fault, seen: &Seen<'_>, base: &Meaning) -> bool {
    let (call, got) = (&seen.record.call, &seen.record.output.output);
    let dims = call.dims();
    let right = || seen.right(base, ResultName::Output);
    match behavior {
        // It strikes no other call, and whatever came is its sign.
        Behavior::MisfitAnswered(_) => true,
        Behavior::WideOutput => {
            let expected = right();
            got.dtype.precision() > expected.dtype.precision()
                && got.shape == expected.shape
                && got.data.iter().enumerate().all(|(at, x)| expected.holds(at, *x))
        }
        Behavior::HeadsLast => {
            let (h, n, width) = (dims.h_q, dims.n_q, dims.d_v);
            let expected = right();
            // Row (item, i, h) of what came back is row (item, h, i).
            let place = |at: usize| {
                let (row, c) = (at / width.max(1), at % width.max(1));
                let (item, i, head) = (row / (n * h), row / h % n, row % h);
                ((item * h + head) * n + i) * width + c
            };
            got.shape == [dims.b, n, h, width]
                && got.shape != expected.shape
                && got.dtype == expected.dtype
                && got.data.iter().enumerate().all(|(at, x)| expected.holds(place(at), *x))
        }
        Behavior::RowsUnwritten => {
            let AffectedElements::Rows(rows) = affects(fault, call) else { return false };
            let (expected, width) = (right(), dims.d_v.max(1));
            if got.shape != expected.shape {
                return false;
            }
            // What is written is right, and most of what is not is wrong: what a buffer held is
            // right here and there by chance.
            let (mut struck, mut wrong) = (0, 0);
            for (row, elements) in got.data.chunks(width).enumerate() {
                let n_wrong = elements
                    .iter()
                    .enumerate()
                    .filter(|(c, x)| !expected.holds(row * width + c, **x))
                    .count();
                match rows.get(row) {
                    Some(true) => (struck, wrong) = (struck + elements.len(), wrong + n_wrong),
                    _ if n_wrong > 0 => return false,
                    _ => {}
                }
            }
            2 * wrong > struck
        }
        _ => false,
    }
}

/// Whether a wrong result is right, as `is_right` sees it, for something that an earlier call may
/// have left behind.
fn remembers(
    behavior: Behavior,
    seen: &Seen<'_>,
    base: &Meaning,
    others: &[&CallRecord],
    is_right: impl Fn(&Seen<'_>, &Meaning, Call) -> bool,
) -> bool {
    let (record, call) = (seen.record, &seen.record.call);
    let is_of = |options: CallOptions| is_right(seen, base, Call { options, ..call.clone() });
    let own = || call.options.clone();
    // Every other option of this kind that was seen, once.
    fn distinct<T: PartialEq>(all: impl Iterator<Item = T>, own: &T) -> Vec<T> {
        let mut kept: Vec<T> = Vec::new();
        for one in all.filter(|one| one != own) {
            if !kept.contains(&one) {
                kept.push(one);
            }
        }
        kept
    }
    let options = || others.iter().map(|other| &other.call.options);
    match behavior {
        // What came back is right for another call of these shapes.
        Behavior::AnswerCached => {
            let form = |call: &Call| (call.dims(), call.dtype(), call.options.on());
            let alike = others
                .iter()
                .filter(|other| form(&other.call) == form(call) && other.want == record.want);
            let calls = distinct(alike.map(|other| other.call.clone()), call);
            calls.into_iter().take(MAX_CALLS_TRIED).any(|other| is_right(seen, base, other))
        }
        Behavior::ScaleKept => {
            // A result that no score has a part in is that of any scale, for one of 0 gives it too.
            if is_of(CallOptions { scale: Some(0.0), ..own() }) {
                return false;
            }
            let scales = distinct(options().map(|options| options.scale), &call.options.scale);
            scales.into_iter().any(|scale| is_of(CallOptions { scale, ..own() }))
        }
        Behavior::MaskKept => {
            let Some(mask) = &call.options.mask else { return false };
            let same = options()
                .filter_map(|options| options.mask.clone())
                .filter(|other| other.shape == mask.shape);
            distinct(same, mask)
                .into_iter()
                .any(|mask| is_of(CallOptions { mask: Some(mask), ..own() }))
        }
        Behavior::LengthsKept => {
            let Some(lengths) = &call.options.key_lengths else { return false };
            let n_k = call.dims().n_k;
            let same = options()
                .filter_map(|options| options.key_lengths.clone())
                .filter(|one| one.len() == lengths.len());
            let fitting =
                same.map(|one| one.into_iter().map(|n| n.min(n_k)).collect::<Vec<usize>>());
            let kept = distinct(fitting, lengths);
            kept.into_iter()
                .any(|lengths| is_of(CallOptions { key_lengths: Some(lengths), ..own() }))
        }
        Behavior::RightAtFirst => half_of_keys(call).is_some_and(|half| is_right(seen, base, half)),
        _ => false,
    }
}

/// The call that sees the first half of its keys; none for packed sequences.
fn half_of_keys(call: &Call) -> Option<Call> {
    let half = vec![call.dims().n_k.div_ceil(2); call.dims().b];
    let options = CallOptions { key_lengths: Some(half), ..call.options.clone() };
    call.options.packed.is_none().then(|| Call { options, ..call.clone() })
}

/// Element by element: not finite in both, or the same bits, or right in both. Where some elements
/// overflowed in both, others may have lost their digits in different ways: there wrong in both
/// counts too.
fn alike(result: CallResult<'_>, simulated: &Tensor, expected: &Expected) -> bool {
    let Some(got) =
        result.tensor().filter(|got| got.shape == simulated.shape && got.dtype == simulated.dtype)
    else {
        return false;
    };
    let right = |at: usize, x: f64| expected.holds(at, x);
    let overflowed =
        got.data.iter().zip(&simulated.data).any(|(x, y)| !x.is_finite() && !y.is_finite());
    // Both carry errors of the arithmetic, and these of one computation are within the bound of
    // what the other one has.
    let near = |at: usize, x: f64, y: f64| (x - y).abs() <= 2.0 * expected.hard[at];
    let same = |at: usize, x: f64, y: f64| match (x.is_finite(), y.is_finite()) {
        (true, true) if x.to_bits() == y.to_bits() => true,
        (true, true) if overflowed => right(at, x) == right(at, y),
        (true, true) => {
            right(at, x) && right(at, y) || !right(at, x) && !right(at, y) && near(at, x, y)
        }
        (x, y) => x == y,
    };
    let mut pairs = got.data.iter().zip(&simulated.data).enumerate();
    expected.exact.len() == got.data.len() && pairs.all(|(at, (x, y))| same(at, *x, *y))
}
