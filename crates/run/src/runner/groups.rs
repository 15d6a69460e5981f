//! From decided cases to groups that belong together: by fault, by form, by what a broken target said.

use std::collections::BTreeMap;

use qkvet_diagnose::cause;
use qkvet_spec::{CallOption, Convention, Fault, Verdict};

use super::findings::Scene;
use super::pass::Done;
use super::planned::Planned;
use super::{evidence, failing, sample};

/// A fault is named as a cause when it explains at least one in this many of the failures looked at.
pub(super) const LEAST_SHARE: usize = 3;
/// Title of wrong values that no fault explains.
const UNEXPLAINED: &str = "wrong results that no known fault explains";
/// What a target says may be long.
const LONGEST_TITLE: usize = 240;

/// Cases that belong together.
pub(super) struct Group<'a> {
    pub(super) verdict: Verdict,
    pub(super) title: String,
    /// The fault that explains every member.
    pub(super) fault: Option<&'a Fault>,
    pub(super) cause: Option<String>,
    pub(super) hint: Option<String>,
    pub(super) members: Vec<usize>,
}

impl<'a> Group<'a> {
    fn plain(verdict: Verdict, title: String, members: Vec<usize>) -> Self {
        Self { verdict, title, fault: None, cause: None, hint: None, members }
    }

    /// Says that so many further cases use the same options and are explained by nothing.
    fn tell_beside(&mut self, scene: &Scene<'_, '_>, others: usize) {
        let options = names(&shared(scene, &self.members));
        let (cause, use_it) = (self.cause.take().unwrap_or_default(), if others == 1 { "uses" } else { "use" });
        let them = if others == 1 { "it" } else { "them" };
        self.cause = Some(format!("{cause}; {others} more {use_it} {options} too, and no known fault explains {them}"));
    }

    /// The failing cases that use the option of an undeclared convention.
    pub(super) fn of_convention(convention: &Convention, members: Vec<usize>) -> Self {
        let title = format!("undeclared convention: {}", lower_first(&convention.title));
        Self {
            cause: Some(format!("the standard is {}; all else was judged under the convention", convention.standard)),
            hint: Some(format!("declare it with --convention {}={}, or fix it", convention.field, convention.value)),
            ..Self::plain(Verdict::Fail, title, members)
        }
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// Wrong results: by fault as long as one explains a good part of what is left, then by what is wrong with them.
pub(super) fn wrong<'a>(scene: &Scene<'_, 'a>) -> Vec<Group<'a>> {
    let mut left = failing(scene.done);
    let mut groups = Vec::new();
    while !left.is_empty() {
        let Some(group) = caused(scene, &left) else { break };
        left.retain(|at| !group.members.contains(at));
        groups.push(group);
    }
    let mut rest = Vec::new();
    for group in unexplained(scene, &left) {
        let named = groups.iter_mut().find(|named| is_beside(scene, named, &group));
        match named {
            Some(named) => named.tell_beside(scene, group.members.len()),
            None => rest.push(group),
        }
    }
    groups.extend(rest);
    groups.sort_by_key(|group| std::cmp::Reverse(group.members.len()));
    groups
}

/// Options that all of these cases use and not every case does that was checked.
fn shared(scene: &Scene<'_, '_>, members: &[usize]) -> Vec<CallOption> {
    let of_all = |option: &CallOption| members.iter().all(|at| scene.cases[*at].uses(*option));
    let checked =
        |option: CallOption, (done, case): (&Done, &Planned<'_>)| done.verdict.is_checked() && !case.uses(option);
    let elsewhere = |option: &CallOption| scene.done.iter().zip(scene.cases).any(|pair| checked(*option, pair));
    CallOption::ALL.into_iter().filter(|option| of_all(option) && elsewhere(option)).collect()
}

/// Whether wrong values that nothing explains belong to the same option as those of a fault.
fn is_beside(scene: &Scene<'_, '_>, named: &Group<'_>, unexplained: &Group<'_>) -> bool {
    let (own, other) = (shared(scene, &named.members), shared(scene, &unexplained.members));
    let of_value = |at: &usize| scene.done[*at].evidence.as_ref().is_none_or(|evidence| evidence.form.is_none());
    !own.is_empty() && own.iter().all(|option| other.contains(option)) && unexplained.members.iter().all(of_value)
}

fn names(options: &[CallOption]) -> String {
    options.iter().map(|option| option.name()).collect::<Vec<_>>().join(" and ")
}

/// The cases that one fault explains, if one explains enough of a sample to be more than a coincidence.
fn caused<'a>(scene: &Scene<'_, 'a>, left: &[usize]) -> Option<Group<'a>> {
    let Scene { config, meaning, done, .. } = *scene;
    let sample = sample(done, left);
    let causes = cause(&evidence(config, done, &sample), meaning, config.catalog.faults.values());
    let best = causes.first().filter(|best| best.explained.len() * LEAST_SHARE >= sample.len())?;
    // A case without recorded calls is explained by nothing.
    let all = cause(&evidence(config, done, left), meaning, [best.fault]);
    let members: Vec<usize> = all.first()?.explained.iter().map(|at| left[*at]).collect();
    let rival = causes.get(1).map_or(String::new(), |rival| {
        format!("; next best, {}, matches {} of {} looked at", rival.fault.fault, rival.explained.len(), sample.len())
    });
    let share = if members.len() == left.len() {
        format!("all {} failing cases match", members.len())
    } else {
        format!("{} of {} failing cases match", members.len(), left.len())
    };
    let title = format!("{} {}", best.fault.code, lower_first(&best.fault.title));
    Some(Group {
        fault: Some(best.fault),
        cause: Some(format!("{}: {share}{rival}", best.fault.fault)),
        hint: Some(best.fault.tell.clone()),
        ..Group::plain(Verdict::Fail, title, members)
    })
}

/// What no fault explains: results of the wrong form by what is wrong with it, all other wrong results together.
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
            && scene.done.iter().zip(scene.cases).any(|(done, case)| done.verdict.is_checked() && case.law() != law);
        if title == UNEXPLAINED && members.len() > 1 && is_alone {
            let hint = format!("`qkvet explain {law}` says what is asked for");
            return Group {
                hint: Some(hint),
                ..Group::plain(Verdict::Fail, format!("{title}, all of {law}"), members)
            };
        }
        let options = if title == UNEXPLAINED { shared(scene, &members) } else { Vec::new() };
        let Some(first) = options.first() else { return Group::plain(Verdict::Fail, title, members) };
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
            Some(evidence) if evidence.broke_protocol => said.split(": expected ").next().unwrap_or_default(),
            _ => said,
        };
        let said = said.lines().next().unwrap_or_default();
        let said: &str = &said.chars().take(LONGEST_TITLE).collect::<String>();
        let key: String = said.chars().filter(|c| !c.is_ascii_digit()).collect();
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.members.push(at),
            None => groups.push((key, Group::plain(verdict, said.to_owned(), vec![at]))),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}
