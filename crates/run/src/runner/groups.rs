//! From decided cases to groups that belong together: by fault, by form, by what a broken target said.

use std::collections::BTreeMap;

use qkvet_diagnose::cause;
use qkvet_spec::{Convention, Fault, Verdict};

use super::findings::Scene;
use super::pass::Done;
use super::{evidence, failing, sample};

/// A fault is named as a cause when it explains at least one in this many of the failures looked at.
pub(super) const LEAST_SHARE: usize = 3;
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
    groups.extend(unexplained(scene, &left));
    groups.sort_by_key(|group| std::cmp::Reverse(group.members.len()));
    groups
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
        let title = match scene.done[*at].evidence.as_ref().and_then(|evidence| evidence.form.as_ref()) {
            Some(form) => format!("wrong {form}"),
            None => "wrong results that no known fault explains".to_owned(),
        };
        groups.entry(title).or_default().push(*at);
    }
    groups.into_iter().map(|(title, members)| Group::plain(Verdict::Fail, title, members)).collect()
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
