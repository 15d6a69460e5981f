//! From decided cases to groups that belong together: by fault, by form, by what a broken target
//! said.

use std::collections::BTreeMap;

use qkvet_diagnose::{Named, named, thinned};
use qkvet_engine::law::{CallRecord, Judge, evaluate};
use qkvet_engine::simulate::Simulator;
use qkvet_spec::{CallOption, Contract, Convention, Execution, Fault, Verdict};

use super::findings::Scene;
use super::layout::{by_layout, layout_lines};
use super::pass::Done;
use super::planned::Planned;
use super::{evidence, failing};

/// Title of wrong values that no fault explains.
pub const UNEXPLAINED: &str = "wrong results that no known fault explains";
/// Title of wrong results of cases that are right when they are put again.
pub const ONCE: &str = "wrong results that did not come again";
/// Cases beside a fault that are named.
const MOST_BESIDE: usize = 3;
/// What a target says may be long.
const LONGEST_TITLE: usize = 240;

/// Cases that belong together.
pub(super) struct Group<'a> {
    pub(super) verdict: Verdict,
    pub(super) title: String,
    /// What explains every member: nothing, a fault, or two together.
    pub(super) faults: Vec<&'a Fault>,
    pub(super) cause: Option<String>,
    pub(super) hint: Option<String>,
    pub(super) members: Vec<usize>,
    /// Whether it is about what views gave beside a fault that contiguous inputs show.
    pub(super) on_views: bool,
    /// Further cases that its cause speaks of.
    pub(super) beside: Vec<usize>,
}

impl<'a> Group<'a> {
    pub(super) fn plain(verdict: Verdict, title: String, members: Vec<usize>) -> Self {
        Self {
            verdict,
            title,
            faults: Vec::new(),
            cause: None,
            hint: None,
            members,
            on_views: false,
            beside: Vec::new(),
        }
    }

    /// The failing cases that a fault explains, or two together.
    fn of_faults(named: &Named<'a>, members: Vec<usize>) -> Self {
        let (title, cause, hint) = cause_lines(named);
        Self {
            faults: named.faults.clone(),
            cause: Some(cause),
            hint: Some(hint),
            ..Self::plain(Verdict::Fail, title, members)
        }
    }

    /// The same of failures that did not come again: a fault of attention would have.
    pub(super) fn of_once(self) -> Self {
        Self {
            title: ONCE.to_owned(),
            faults: Vec::new(),
            cause: Some(
                "right when the same case was put again: what a call gives depends on the calls before".to_owned(),
            ),
            hint: Some("look for what is kept between calls, by address, shape or some of the numbers".to_owned()),
            ..self
        }
    }

    /// Says that further cases use the same options and are explained by nothing, the first of them
    /// by their ids.
    fn tell_beside(&mut self, scene: &Scene<'_, '_>, others: &[usize]) {
        let options = names(&shared(scene, &self.members));
        let cause = self.cause.take().unwrap_or_default();
        let n = others.len();
        let (use_it, them, case) =
            if n == 1 { ("uses", "it", "case") } else { ("use", "them", "cases") };
        let named = &others[..n.min(MOST_BESIDE)];
        let ids = named.iter().map(|at| scene.done[*at].id.as_str()).collect::<Vec<_>>().join(", ");
        let more =
            if n > named.len() { format!(" and {} more", n - named.len()) } else { String::new() };
        self.cause = Some(format!(
            "{cause}; {n} more {use_it} {options} too, and no known fault explains {them} ({case} {ids}{more})"
        ));
        self.beside.extend(named);
    }

    /// Adds cases without a mask that were put with one, which is right for them by the convention.
    pub(super) fn tell_filled(&mut self, filled: &[usize]) {
        if let (Some(cause), false) = (&mut self.cause, filled.is_empty()) {
            let n = filled.len();
            *cause += &format!(
                "; {n} without a mask got one of true, for the target takes a mask in every call"
            );
            self.members.extend(filled);
        }
    }

    /// The failing cases that use the option of an undeclared convention.
    pub(super) fn of_convention(convention: &Convention, members: Vec<usize>) -> Self {
        let (title, cause) = convention_lines(convention);
        Self {
            cause: Some(cause),
            hint: Some(format!(
                "declare it with --convention {}={}, or fix it",
                convention.field, convention.value
            )),
            ..Self::plain(Verdict::Fail, title, members)
        }
    }
}

/// Title, cause and hint of failures that a fault explains, or two together.
pub(crate) fn cause_lines(named: &Named<'_>) -> (String, String, String) {
    let names = |faults: &[&Fault]| match faults {
        [x, y] => format!("{} and {} together", x.fault, y.fault),
        _ => faults.iter().map(|fault| fault.fault.as_str()).collect(),
    };
    let rival = named.rival.as_ref().map_or(String::new(), |(faults, explained, of)| {
        format!("; next best, {}, matches {explained} of {of} looked at", names(faults))
    });
    let (n, of) = (named.members.len(), named.of);
    let share = match (n, of) {
        (1, 1) => "the only failing case matches".to_owned(),
        _ if n == of => format!("all {n} failing cases match"),
        _ => format!("{n} of {of} failing cases match"),
    };
    let (title, tells): (Vec<String>, Vec<&str>) = named
        .faults
        .iter()
        .map(|fault| (format!("{} {}", fault.code, lower_first(&fault.title)), fault.tell.as_str()))
        .unzip();
    (title.join(", with "), format!("{}: {share}{rival}", names(&named.faults)), tells.join(" "))
}

/// Title and cause of failures that an undeclared convention explains.
pub(crate) fn convention_lines(convention: &Convention) -> (String, String) {
    let title = format!("undeclared convention: {}", lower_first(&convention.title));
    (
        title,
        format!(
            "the standard is {}; all else was judged under the convention",
            convention.standard
        ),
    )
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// Wrong results: by fault as long as one explains a good part of what is left, then by what is
/// wrong with them.
pub(super) fn wrong<'a>(scene: &Scene<'_, 'a>) -> Vec<Group<'a>> {
    let mut left = failing(scene.done);
    let mut groups = if left.is_empty() { Vec::new() } else { caused(scene, &left) };
    left.retain(|at| !groups.iter().any(|group| group.members.contains(at)));
    let mut rest = Vec::new();
    for group in unexplained(scene, &left) {
        let named = groups.iter_mut().find(|named| is_beside(scene, named, &group));
        match named {
            Some(named) => named.tell_beside(scene, &group.members),
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
fn shared(scene: &Scene<'_, '_>, members: &[usize]) -> Vec<CallOption> {
    let of_all = |option: &CallOption| members.iter().all(|at| scene.cases[*at].uses(*option));
    let checked = |option: CallOption, (done, case): (&Done, &Planned<'_>)| {
        done.verdict.is_checked() && !case.uses(option)
    };
    let elsewhere =
        |option: &CallOption| scene.done.iter().zip(scene.cases).any(|pair| checked(*option, pair));
    CallOption::ALL.into_iter().filter(|option| of_all(option) && elsewhere(option)).collect()
}

/// Whether wrong values that nothing explains belong to the same option as those of a fault.
fn is_beside(scene: &Scene<'_, '_>, named: &Group<'_>, unexplained: &Group<'_>) -> bool {
    let (own, other) = (shared(scene, &named.members), shared(scene, &unexplained.members));
    let of_value = |at: &usize| {
        scene.done[*at].evidence.as_ref().is_none_or(|evidence| evidence.form.is_none())
    };
    !own.is_empty()
        && own.iter().all(|option| other.contains(option))
        && unexplained.members.iter().all(of_value)
}

fn names(options: &[CallOption]) -> String {
    options.iter().map(|option| option.name()).collect::<Vec<_>>().join(" and ")
}

/// Calls of a case that came out right, as a target without a fault answers them.
type Right<'a> = (Vec<CallRecord>, &'a Contract);

/// Cases that came out right and are held against a cause.
const MOST_RIGHT: usize = 240;

/// What the target got right, thinned out evenly. The results of a right target stand for those of
/// this one, which are within the same bounds.
fn right<'a>(scene: &Scene<'_, 'a>) -> Vec<Right<'a>> {
    let Scene { config, meaning, done, .. } = *scene;
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
    thinned(&passed, MOST_RIGHT).copied().filter_map(answered).collect()
}

/// Failing cases by the faults that explain them.
fn caused<'a>(scene: &Scene<'_, 'a>, failing: &[usize]) -> Vec<Group<'a>> {
    let Scene { config, meaning, done, .. } = *scene;
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
fn unexplained<'a>(scene: &Scene<'_, 'a>, failing: &[usize]) -> Vec<Group<'a>> {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for at in failing {
        let form = scene.done[*at].evidence.as_ref().and_then(|evidence| evidence.form.as_ref());
        let title = form.map_or_else(|| UNEXPLAINED.to_owned(), |form| format!("wrong {form}"));
        groups.entry(title).or_default().push(*at);
    }
    let told = |(title, members): (String, Vec<usize>)| {
        let law = scene.cases[members[0]].law();
        let is_alone = members.iter().all(|at| scene.cases[*at].law() == law)
            && scene
                .done
                .iter()
                .zip(scene.cases)
                .any(|(done, case)| done.verdict.is_checked() && case.law() != law);
        if title == UNEXPLAINED && members.len() > 1 && is_alone {
            let hint = format!("`qkvet explain {law}` says what is asked for");
            return Group {
                hint: Some(hint),
                ..Group::plain(Verdict::Fail, format!("{title}, all of {law}"), members)
            };
        }
        let options = if title == UNEXPLAINED { shared(scene, &members) } else { Vec::new() };
        let Some(first) = options.first() else {
            return Group::plain(Verdict::Fail, title, members);
        };
        let hint = format!("`qkvet explain {first}` says what is asked for");
        let title = format!("{title}, all with {}", names(&options));
        Group { hint: Some(hint), ..Group::plain(Verdict::Fail, title, members) }
    };
    groups.into_iter().map(told).collect()
}

/// Targets that broke: by what they said, numbers aside, in order of first appearance.
pub(super) fn broken<'a>(verdict: Verdict, done: &[Done]) -> Vec<Group<'a>> {
    let mut groups: Vec<(String, Group<'a>)> = Vec::new();
    for (at, one) in done.iter().enumerate().filter(|(_, done)| done.verdict == verdict) {
        let said = match verdict {
            Verdict::Nondet => "the same call gave different results",
            _ => one.evidence.as_ref().map_or("", |evidence| evidence.got.as_str()),
        };
        // Which field was wrong, not by how much.
        let said = match one.evidence.as_ref() {
            Some(evidence) if evidence.broke_protocol => {
                said.split(": expected ").next().unwrap_or_default()
            }
            _ => said,
        };
        let said = said.lines().next().unwrap_or_default();
        let said: &str = &said.chars().take(LONGEST_TITLE).collect::<String>();
        let layout = one.evidence.as_ref().and_then(layout_lines);
        let key: String = said.chars().filter(|c| !c.is_ascii_digit()).collect();
        match groups
            .iter_mut()
            .find(|(known, group)| *known == key && group.cause.is_some() == layout.is_some())
        {
            Some((_, group)) => group.members.push(at),
            None => {
                let (cause, hint) = layout.unzip();
                groups.push((
                    key,
                    Group { cause, hint, ..Group::plain(verdict, said.to_owned(), vec![at]) },
                ));
            }
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}
