//! From decided cases to groups that belong together: by fault, by form, by what a broken target
//! said.

use std::collections::BTreeMap;

use qkvet_diagnose::{Named, named, sample_evenly};
use qkvet_engine::law::{CallRecord, Judge, evaluate};
use qkvet_engine::simulate::Simulator;
use qkvet_spec::{
    Breakage, CallOption, Cause, Contract, Convention, Execution, Fault, FaultRef, Form, Note,
    Quoted, Rival, Verdict,
};

use super::layout::by_layout;
use super::planned::Planned;
use super::state::{Done, Group, RunState};
use super::{evidence, failing};

/// Cases beside a fault that are named.
const MAX_BESIDE: usize = 3;
/// What a target says may be long.
const MAX_TITLE: usize = 240;

impl<'a> Group<'a> {
    /// The failing cases that a fault explains, or two together.
    fn of_faults(named: &Named<'a>, members: Vec<usize>) -> Self {
        Self { faults: named.faults.clone(), ..Self::new(Verdict::Fail, cause_of(named), members) }
    }

    /// Notes that further cases use the same options and are explained by nothing.
    fn note_others(&mut self, scene: &RunState<'_, '_>, others: &[usize]) {
        let named = &others[..others.len().min(MAX_BESIDE)];
        self.notes.push(Note::Others {
            options: shared(scene, &self.members),
            cases: others.len(),
            first: named.iter().map(|at| scene.done[*at].id.clone()).collect(),
        });
        self.beside.extend(named);
    }

    /// Adds cases without a mask that were put with one, which is right for them by the convention.
    pub(super) fn note_filled(&mut self, filled: &[usize]) {
        if !filled.is_empty() {
            self.notes.push(Note::Filled { cases: filled.len() });
            self.members.extend(filled);
        }
    }
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

/// Wrong results: by fault as long as one explains a good part of what is left, then by what is
/// wrong with them.
pub(super) fn wrong<'a>(scene: &RunState<'_, 'a>) -> Vec<Group<'a>> {
    let mut left = failing(scene.done);
    let mut groups = if left.is_empty() { Vec::new() } else { caused(scene, &left) };
    left.retain(|at| !groups.iter().any(|group| group.members.contains(at)));
    let mut rest = Vec::new();
    for group in unexplained(scene, &left) {
        let named = groups.iter_mut().find(|named| is_beside(scene, named, &group));
        match named {
            Some(named) => named.note_others(scene, &group.members),
            None => rest.push(group),
        }
    }
    groups.extend(rest);
    let of_layout = by_layout(scene, &mut groups);
    groups.extend(of_layout);
    groups.sort_by_key(|group| std::cmp::Reverse(group.members.len()));
    groups
}

/// Options that all of these cases use and not every case does that was checked.
fn shared(scene: &RunState<'_, '_>, members: &[usize]) -> Vec<CallOption> {
    let of_all = |option: &CallOption| members.iter().all(|at| scene.cases[*at].uses(*option));
    let checked = |option: CallOption, (done, case): (&Done, &Planned<'_>)| {
        done.verdict.is_checked() && !case.uses(option)
    };
    let elsewhere =
        |option: &CallOption| scene.done.iter().zip(scene.cases).any(|pair| checked(*option, pair));
    CallOption::ALL.into_iter().filter(|option| of_all(option) && elsewhere(option)).collect()
}

/// Whether wrong values that nothing explains belong to the same option as those of a fault.
fn is_beside(scene: &RunState<'_, '_>, named: &Group<'_>, unexplained: &Group<'_>) -> bool {
    let (own, other) = (shared(scene, &named.members), shared(scene, &unexplained.members));
    let of_value = |at: &usize| {
        scene.done[*at].evidence.as_ref().is_none_or(|evidence| evidence.form.is_none())
    };
    !own.is_empty()
        && own.iter().all(|option| other.contains(option))
        && unexplained.members.iter().all(of_value)
}

/// Calls of a case that came out right, as a target without a fault answers them.
type Right<'a> = (Vec<CallRecord>, &'a Contract);

/// Cases that came out right and are held against a cause.
const MAX_RIGHT: usize = 240;

/// What the target got right, thinned out evenly. The results of a right target stand for those of
/// this one, which are within the same bounds.
fn right<'a>(scene: &RunState<'_, 'a>) -> Vec<Right<'a>> {
    let RunState { config, meaning, done, .. } = *scene;
    let passed: Vec<usize> =
        (0..done.len()).filter(|at| done[*at].verdict == Verdict::Pass).collect();
    let answered = |at: usize| {
        let planned = &scene.cases[at];
        let (case, law) = (planned.case(config).ok()?, planned.checked_law(config).ok()?);
        let contract = *config.contracts.get(&planned.dtype())?;
        let mut target = Simulator::new(meaning.clone(), Execution::standard());
        let outcome = evaluate(law, &case, Judge { meaning, contract }, &mut target).ok()?;
        Some((outcome.calls, contract))
    };
    sample_evenly(&passed, MAX_RIGHT).copied().filter_map(answered).collect()
}

/// Failing cases by the faults that explain them.
fn caused<'a>(scene: &RunState<'_, 'a>, failing: &[usize]) -> Vec<Group<'a>> {
    let RunState { config, meaning, done, .. } = *scene;
    let right = right(scene);
    let passing: Vec<_> =
        right.iter().map(|(calls, contract)| (calls.as_slice(), *contract)).collect();
    let faults: Vec<&Fault> = config.catalog.faults.values().collect();
    let found = named(&evidence(config, done, failing), &passing, meaning, &faults);
    found
        .into_iter()
        .map(|named| {
            Group::of_faults(&named, named.members.iter().map(|at| failing[*at]).collect())
        })
        .collect()
}

/// What no fault explains: results of the wrong form by what is wrong with it, all other wrong
/// results together.
fn unexplained<'a>(scene: &RunState<'_, 'a>, failing: &[usize]) -> Vec<Group<'a>> {
    let mut groups: BTreeMap<Option<Form>, Vec<usize>> = BTreeMap::new();
    for at in failing {
        let form = scene.done[*at].evidence.as_ref().and_then(|evidence| evidence.form);
        groups.entry(form).or_default().push(*at);
    }
    let cause = |form: Option<Form>, members: &[usize]| {
        if let Some(form) = form {
            return Cause::Form { form };
        }
        let law = scene.cases[members[0]].law();
        let is_alone = members.len() > 1
            && members.iter().all(|at| scene.cases[*at].law() == law)
            && scene
                .done
                .iter()
                .zip(scene.cases)
                .any(|(done, case)| done.verdict.is_checked() && case.law() != law);
        let options = if is_alone { Vec::new() } else { shared(scene, members) };
        Cause::Unexplained { law: is_alone.then(|| law.to_owned()), options }
    };
    // Forms after values.
    groups
        .into_iter()
        .map(|(form, members)| Group::new(Verdict::Fail, cause(form, &members), members))
        .collect()
}

/// Targets that broke: by what they said, numbers aside, in order of first appearance.
pub(super) fn broken<'a>(verdict: Verdict, done: &[Done]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for (at, one) in done.iter().enumerate().filter(|(_, done)| done.verdict == verdict) {
        let cause = match verdict {
            Verdict::Nondet => Cause::Nondeterministic,
            _ => {
                let how = one.evidence.as_ref().map(|evidence| evidence.breakage(MAX_TITLE));
                Cause::Broken { how: how.unwrap_or_else(|| Breakage::Said(Quoted::default())) }
            }
        };
        let notes: Vec<Note> =
            one.right_on().map(|right| Note::Layout { right }).into_iter().collect();
        let is_like = |group: &&mut Group<'a>| {
            group.notes == notes
                && match (&group.cause, &cause) {
                    (Cause::Broken { how: x }, Cause::Broken { how: y }) => x.is_like(y),
                    (x, y) => x == y,
                }
        };
        match groups.iter_mut().find(is_like) {
            Some(group) => group.members.push(at),
            None => groups.push(Group { notes, ..Group::new(verdict, cause, vec![at]) }),
        }
    }
    groups
}
