//! From decided cases to groups that belong together: by fault, by form, by what a broken target
//! said.

mod layout;

use std::collections::BTreeMap;

use qkvet_diagnose::{Named, named, sample_evenly};
use qkvet_engine::law::{CallRecord, Judge, evaluate};
use qkvet_engine::simulate::Simulator;
use qkvet_spec::{
    Breakage, CallOption, Cause, Contract, Convention, Evidence, Execution, Expectation, Fault,
    FaultRef, Form, Got, Note, Quoted, Rival, Verdict,
};

use super::case::JudgedCase;
use super::state::{RunState, failing};
use layout::by_layout;

/// Right results contradict a fault if they are one to so many wrong ones.
const MUCH: usize = 10;
/// Cases beside a fault that are named.
const MAX_BESIDE: usize = 3;
/// What a target says may be long.
const MAX_TITLE: usize = 240;

/// Cases that belong together.
pub(super) struct Group<'a> {
    pub(super) verdict: Verdict,
    pub(super) cause: Cause,
    pub(super) notes: Vec<Note>,
    /// What explains every member: nothing, a fault, or two together.
    pub(super) faults: Vec<&'a Fault>,
    pub(super) members: Vec<usize>,
    /// Whether it is about what views gave beside a fault that contiguous inputs show.
    pub(super) on_views: bool,
    /// Further cases that its cause speaks of.
    pub(super) beside: Vec<usize>,
    /// All cases that a note says are explained by nothing.
    pub(super) others: Vec<usize>,
    /// How many groups of its verdict come before it.
    pub(super) rank: usize,
}

impl<'a> Group<'a> {
    pub(super) fn new(verdict: Verdict, cause: Cause, members: Vec<usize>) -> Self {
        Self {
            verdict,
            cause,
            notes: Vec::new(),
            faults: Vec::new(),
            members,
            on_views: false,
            beside: Vec::new(),
            others: Vec::new(),
            rank: 0,
        }
    }

    /// Whether right results speak against its faults.
    pub(super) fn is_contradicted(&self) -> bool {
        matches!(self.cause, Cause::Faults { contradicted: 1.., .. })
    }

    /// Whether nothing says what explains the cases.
    pub(super) fn is_unexplained(&self) -> bool {
        matches!(self.cause, Cause::Unexplained { .. } | Cause::Form { .. })
            && self.notes.is_empty()
    }

    /// Whether nothing says more of the cases than what they show.
    pub(super) fn is_bare(&self) -> bool {
        let is_plain = matches!(self.cause, Cause::Broken { .. } | Cause::Nondeterministic { .. });
        self.is_unexplained() || is_plain && self.notes.is_empty()
    }

    /// The failing cases that a fault explains, or two together.
    fn of_faults(named: &Named<'a>, members: Vec<usize>) -> Self {
        Self { faults: named.faults.clone(), ..Self::new(Verdict::Fail, cause_of(named), members) }
    }

    /// Its cases, and those that a note says are explained by nothing.
    pub(super) fn with_others(&self) -> Vec<usize> {
        [&self.members[..], &self.others].concat()
    }

    /// Leaves those of the others out that are explained now.
    pub(super) fn leave_out(
        &mut self,
        state: &RunState<'_, '_>,
        explained: impl Fn(usize) -> bool,
    ) {
        let others = std::mem::take(&mut self.others);
        let left: Vec<usize> = others.iter().copied().filter(|at| !explained(*at)).collect();
        if left.len() == others.len() {
            self.others = others;
            return;
        }
        self.notes.retain(|note| !matches!(note, Note::Others { .. }));
        self.beside.clear();
        if !left.is_empty() {
            self.note_others(state, &left);
        }
    }

    /// Notes that further cases use the same options and are explained by nothing.
    fn note_others(&mut self, state: &RunState<'_, '_>, others: &[usize]) {
        let named = &others[..others.len().min(MAX_BESIDE)];
        self.notes.push(Note::Others {
            options: shared(state, &self.members),
            cases: others.len(),
            first: state.of(named).map(|case| case.record.id.clone()).collect(),
        });
        self.beside.extend(named);
        self.others.extend(others);
    }

    /// Adds cases without a mask that were put with one, which is right for them by the convention.
    pub(super) fn note_filled(&mut self, filled: &[usize]) {
        if !filled.is_empty() {
            self.notes.push(Note::Filled { cases: filled.len() });
            self.members.extend(filled);
        }
    }
}

/// Whether right results speak against what is named: one is enough where it is a formula, for then
/// it is certain; what a simulated execution does may differ.
fn is_contradicted(named: &Named<'_>, members: usize) -> bool {
    let is_formula = named.faults.iter().all(|fault| fault.is_formula());
    named.contradicted > 0 && (is_formula || MUCH * named.contradicted > members)
}

/// What explains failures: a fault, or two together.
pub(crate) fn cause_of(named: &Named<'_>) -> Cause {
    let rival = named.rival.as_ref().map(|(faults, explained, of)| Rival {
        faults: faults.iter().map(|fault| fault.fault.clone()).collect(),
        explained: *explained,
        of: *of,
    });
    Cause::Faults {
        faults: named.faults.iter().map(|fault| FaultRef::from(*fault)).collect(),
        explained: named.members.len(),
        of: named.of,
        contradicted: if is_contradicted(named, named.members.len()) {
            named.contradicted
        } else {
            0
        },
        rival,
    }
}

/// What an undeclared convention explains.
pub(crate) fn undeclared(convention: &Convention) -> Cause {
    let Convention { field, value, title, standard, .. } = convention;
    Cause::Convention {
        field: field.clone(),
        value: value.clone(),
        title: title.clone(),
        standard: standard.clone(),
    }
}

/// Wrong results, the most frequent first, then what broke, and what was answered that should have
/// been refused.
pub(super) fn groups<'a>(state: &RunState<'_, 'a>) -> Vec<Group<'a>> {
    let broken = [Verdict::Nondet, Verdict::Crash, Verdict::Timeout, Verdict::Error]
        .map(|verdict| broken(verdict, state.cases));
    let ranked = |groups: Vec<Group<'a>>| {
        groups.into_iter().enumerate().map(|(rank, group)| Group { rank, ..group })
    };
    let unguarded = |at: &usize| state.cases[*at].verdict() == Verdict::Unguarded;
    let unguarded = (0..state.cases.len()).filter(unguarded).collect();
    let mut unguarded = wrong(state, unguarded);
    unguarded.iter_mut().for_each(|group| group.verdict = Verdict::Unguarded);
    let mut failing = wrong(state, failing(state.cases));
    let of_layout = by_layout(state, &mut failing);
    failing.extend(of_layout);
    for groups in [&mut failing, &mut unguarded] {
        groups.sort_by_key(|group| std::cmp::Reverse(group.members.len()));
    }
    std::iter::once(failing).chain(broken).chain([unguarded]).flat_map(ranked).collect()
}

/// The member that is shown: the relation refuted if possible, then the law with the fewest
/// variables, then the fewest of the less ordinary options, then the smallest.
pub(super) fn representative(state: &RunState<'_, '_>, members: &[usize]) -> Option<usize> {
    let key = |at: &usize| {
        let case = &state.cases[*at];
        let law = case.planned.checked_law(state.config);
        let variables = law.map_or(usize::MAX, |law| law.given.len() + law.lets.len());
        let is_rare = |option: &&CallOption| case.planned.uses(**option);
        let rare = CallOption::ALL[4..].iter().filter(is_rare).count();
        (!case.is_relation(), variables, rare, case.planned.size(), *at)
    };
    members.iter().copied().min_by_key(key)
}

/// Wrong results among these cases: by fault as long as one explains a good part of what is left,
/// then by what is wrong with them.
pub(super) fn wrong<'a>(state: &RunState<'_, 'a>, mut left: Vec<usize>) -> Vec<Group<'a>> {
    let mut groups = if left.is_empty() { Vec::new() } else { caused(state, &left) };
    left.retain(|at| !groups.iter().any(|group| group.members.contains(at)));
    let mut rest = Vec::new();
    for group in unexplained(state, &left) {
        let named = groups.iter_mut().find(|named| is_beside(state, named, &group));
        match named {
            Some(named) => named.note_others(state, &group.members),
            None => rest.push(group),
        }
    }
    groups.extend(rest);
    groups
}

/// Options that all of these cases use and not every case does that was checked.
fn shared(state: &RunState<'_, '_>, members: &[usize]) -> Vec<CallOption> {
    let of_all = |option: &CallOption| state.of(members).all(|case| case.planned.uses(*option));
    let elsewhere = |option: &CallOption| {
        state.cases.iter().any(|case| case.verdict().is_checked() && !case.planned.uses(*option))
    };
    CallOption::ALL.into_iter().filter(|option| of_all(option) && elsewhere(option)).collect()
}

/// Whether wrong values that nothing explains belong to the same option as those of a fault.
fn is_beside(state: &RunState<'_, '_>, named: &Group<'_>, unexplained: &Group<'_>) -> bool {
    let (own, other) = (shared(state, &named.members), shared(state, &unexplained.members));
    !own.is_empty()
        && own.iter().all(|option| other.contains(option))
        && state.of(&unexplained.members).all(|case| case.form().is_none())
}

/// Calls of a case that came out right, as a target without a fault answers them.
type Right<'a> = (Vec<CallRecord>, &'a Contract);

/// Cases that came out right and are held against a cause.
const MAX_RIGHT: usize = 240;

/// What the target got right, thinned out evenly. The results of a right target stand for those of
/// this one, which are within the same bounds.
fn right<'a>(state: &RunState<'_, 'a>) -> Vec<Right<'a>> {
    let RunState { config, meaning, cases, .. } = *state;
    let passed: Vec<_> = cases.iter().filter(|case| case.verdict() == Verdict::Pass).collect();
    let answered = |judged: &JudgedCase<'a>| {
        let planned = &judged.planned;
        let (case, law) = (planned.case(config).ok()?, planned.checked_law(config).ok()?);
        let contract = *config.contracts.get(&planned.dtype())?;
        let mut target = Simulator::new(meaning.clone(), Execution::standard());
        let outcome = evaluate(law, &case, Judge { meaning, contract }, &mut target).ok()?;
        Some((outcome.calls, contract))
    };
    sample_evenly(&passed, MAX_RIGHT).filter_map(|case| answered(case)).collect()
}

/// Failing cases by the faults that explain them.
fn caused<'a>(state: &RunState<'_, 'a>, failing: &[usize]) -> Vec<Group<'a>> {
    let right = right(state);
    let passing: Vec<_> =
        right.iter().map(|(calls, contract)| (calls.as_slice(), *contract)).collect();
    let faults: Vec<&Fault> = state.config.catalog.faults.values().collect();
    let found = named(&state.evidence(failing), &passing, state.meaning, &faults);
    // What right results speak against, and most of the wrong ones do not bear out, is no name.
    let is_borne_out = |named: &Named<'_>| {
        2 * named.members.len() >= named.of || !is_contradicted(named, named.members.len())
    };
    found
        .into_iter()
        .filter(is_borne_out)
        .map(|named| {
            Group::of_faults(&named, named.members.iter().map(|at| failing[*at]).collect())
        })
        .collect()
}

/// What no fault explains: results of the wrong form by what is wrong with it, all other wrong
/// results together.
pub(super) fn unexplained<'a>(state: &RunState<'_, 'a>, failing: &[usize]) -> Vec<Group<'a>> {
    let mut groups: BTreeMap<Option<Form>, Vec<usize>> = BTreeMap::new();
    for at in failing {
        groups.entry(state.cases[*at].form()).or_default().push(*at);
    }
    let cause = |form: Option<Form>, members: &[usize]| {
        if let Some(form) = form {
            return Cause::Form { form };
        }
        let law = &state.cases[members[0]].record.law;
        let is_of = |case: &JudgedCase<'_>| case.record.law == *law;
        let is_alone = members.len() > 1
            && state.of(members).all(is_of)
            && state.cases.iter().any(|case| case.verdict().is_checked() && !is_of(case));
        let options = if is_alone { Vec::new() } else { shared(state, members) };
        Cause::Unexplained { law: is_alone.then(|| law.clone()), options }
    };
    // Forms after values.
    groups
        .into_iter()
        .map(|(form, members)| Group::new(Verdict::Fail, cause(form, &members), members))
        .collect()
}

/// What is known of calls that gave different results.
fn changing(cases: &[JudgedCase<'_>]) -> Cause {
    let changing: Vec<_> = cases
        .iter()
        .filter(|case| case.verdict() == Verdict::Nondet)
        .filter_map(|case| Some((case, case.record.evidence.as_ref()?)))
        .collect();
    let within_bound = changing.iter().all(|(_, evidence)| evidence.within_bound == Some(true));
    // The weight of a key that is alone is 1.
    let alone = changing.iter().filter(|(case, _)| case.record.dims.n_k == 1);
    let ratios: Vec<f64> = alone.flat_map(|(_, evidence)| ratios(evidence)).collect();
    Cause::Nondeterministic { within_bound, dropout: dropped(&ratios) }
}

/// What two answers are over the right one.
fn ratios(evidence: &Evidence) -> Vec<f64> {
    match (&evidence.expected, &evidence.got) {
        (Expectation::EveryTime(Some(right)), Got::Then(x, y)) if right.value.0 != 0.0 => {
            vec![x.0 / right.value.0, y.0 / right.value.0]
        }
        _ => Vec::new(),
    }
}

/// The chance of dropout in percent, where every ratio is 0 or `1/(1 − p)`, and both occur more than once.
fn dropped(ratios: &[f64]) -> Option<u8> {
    let kept: Vec<f64> = ratios.iter().copied().filter(|ratio| *ratio != 0.0).collect();
    let largest = kept.iter().copied().fold(0.0, f64::max);
    // Three digits survive in every format of 16 bits, but for the last one.
    let is_one = kept.iter().all(|ratio| (largest - ratio).abs() <= largest / 128.0);
    let is_both = kept.len() > 1 && ratios.len() > kept.len() + 1;
    let percent = (100.0 - 100.0 / largest).round();
    (is_both && is_one && percent >= 1.0).then_some(percent as u8)
}

/// Targets that broke: by what they said, numbers aside, in order of first appearance.
fn broken<'a>(verdict: Verdict, cases: &[JudgedCase<'_>]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let all = cases.iter().enumerate().filter(|(_, case)| case.verdict() == verdict);
    for (at, one) in all {
        let cause = match verdict {
            Verdict::Nondet => changing(cases),
            Verdict::Error if one.is_required => {
                let evidence = one.record.evidence.as_ref();
                let said = evidence.map(|evidence| evidence.said(MAX_TITLE)).unwrap_or_default();
                Cause::Declined { said }
            }
            _ => {
                let how = one.record.evidence.as_ref().map(|evidence| evidence.breakage(MAX_TITLE));
                Cause::Broken { how: how.unwrap_or_else(|| Breakage::Said(Quoted::default())) }
            }
        };
        let notes: Vec<Note> =
            one.right_on().map(|right| Note::Layout { right }).into_iter().collect();
        let is_like = |group: &&mut Group<'a>| group.notes == notes && group.cause.is_like(&cause);
        match groups.iter_mut().find(is_like) {
            Some(group) => group.members.push(at),
            None => groups.push(Group { notes, ..Group::new(verdict, cause, vec![at]) }),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::dropped;

    #[test]
    fn dropout_shows_as_zeros_and_one_factor() {
        assert_eq!(dropped(&[0.0, 1.1111, 1.1111, 0.0, 1.1111, 0.0]), Some(10));
        assert_eq!(dropped(&[2.0, 0.0, 1.996, 0.0]), Some(50));
        // Nothing that is kept, nothing that is dropped, several factors, no factor.
        for ratios in [&[0.0; 6][..], &[1.25; 6], &[0.0, 1.1, 1.5, 0.0], &[0.0, 1.0, 1.0, 0.0]] {
            assert_eq!(dropped(ratios), None, "{ratios:?}");
        }
    }
}
