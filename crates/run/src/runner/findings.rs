//! From groups to findings, each with its smallest witness.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use qkvet_diagnose::{describe_case, describe_inputs, smallest, together};
use qkvet_gen::CasePlan;
use qkvet_spec::{
    CallOption, Convention, Finding, FindingState, Form, Meaning, Note, Stopped, Threads, Verdict,
    Witness,
};

use super::example::{Telling, example, picture};
use super::filled::is_of_masks;
use super::groups::{broken, undeclared, wrong};
use super::pass::Pass;
use super::planned::Planned;
use super::reading::{boundary_of, keep_member, reading, structure_of};
use super::state::{Done, Group, RunState};
use super::threads::of_threads;
use super::trace::{Seen, Trace, trace};
use super::{RunError, evidence, failing};

/// Calls of the target spent on shrinking one witness.
const SHRINK_BUDGET: usize = 160;
/// Processes spent on it: each finding has its own, so that neither a long run nor another finding
/// takes them away, and a shard spends as many as the whole run.
const SHRINK_ENDS: usize = 12;
/// Cases tried in search of one that a single convention explains.
const MAX_TRIED: usize = 20;
/// Members put again in search of one that still fails.
const MAX_AGAIN: usize = 6;
/// Findings of one verdict beyond this are counted, not shrunk.
const MAX_SHRUNK: usize = 10;

/// A finding, and the numbers of the cases that show it.
pub(super) type Told = (Finding, Vec<usize>);

/// One finding for each undeclared convention; the scene is the one in which it was not yet known.
/// Cases `beside` have no mask and were put with one.
pub(super) fn conventions(
    scene: &RunState<'_, '_>,
    pass: &mut Pass<'_>,
    found: &[&Convention],
    beside: &[usize],
) -> Result<Vec<Told>, RunError> {
    let failing = failing(scene.done);
    let mut findings = Vec::new();
    for convention in found {
        // A case without the convention's option cannot show it.
        let uses =
            |at: &usize| convention.option.is_none_or(|option| scene.cases[*at].uses(option));
        let members = failing.iter().copied().filter(uses).collect();
        let mut group = Group::new(Verdict::Fail, undeclared(convention), members);
        let alone = convention.meaning.apply(scene.meaning);
        let shown = shown_by(scene, pass, &group.members, &alone)?;
        if let Some(start) = shown.or_else(|| representative(scene, &group.members)) {
            if is_of_masks(convention) {
                group.note_filled(beside);
            }
            findings.extend(
                finding(scene, pass, &group, start, Some(&alone))?
                    .map(|finding| (finding, group.members)),
            );
        }
    }
    Ok(findings)
}

/// A case that one convention explains without the others.
fn shown_by(
    scene: &RunState<'_, '_>,
    pass: &mut Pass<'_>,
    members: &[usize],
    alone: &Meaning,
) -> Result<Option<usize>, RunError> {
    let mut left = members.to_vec();
    for _ in 0..MAX_TRIED {
        let Some(at) = representative(scene, &left) else { break };
        if pass.try_case(&scene.cases[at], alone)?.verdict != Verdict::Fail {
            return Ok(Some(at));
        }
        left.retain(|other| *other != at);
    }
    Ok(None)
}

/// Wrong results, the most frequent first, then what broke.
fn groups<'a>(scene: &RunState<'_, 'a>) -> Vec<Group<'a>> {
    let mut groups = wrong(scene);
    for verdict in [Verdict::Nondet, Verdict::Crash, Verdict::Timeout, Verdict::Error] {
        groups.extend(broken(verdict, scene.done));
    }
    groups
}

/// Whether the witness of the group is looked for.
///
/// Not in a run that the user ended, nor on a target that is gone. Where a run is stopped by what
/// broke, its shards see cases beyond it and may start from another one, so that only what broke is
/// shrunk, which starts from the first.
fn is_shrunk(group: &Group<'_>, stopped: Option<&Stopped>) -> bool {
    match stopped {
        None | Some(Stopped::FirstFinding) => true,
        Some(Stopped::Timeouts(_) | Stopped::Ends(_)) => starts_first(group.verdict),
        Some(_) => false,
    }
}

/// Whether the first case of a group is shown. It is the first one in every shard too, however far
/// that one went.
fn starts_first(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Crash | Verdict::Error)
}

/// The findings among decided cases.
pub(super) fn verdicts(
    scene: &RunState<'_, '_>,
    pass: &mut Pass<'_>,
) -> Result<Vec<Told>, RunError> {
    let mut findings = Vec::new();
    let mut shrunk: BTreeMap<Verdict, usize> = BTreeMap::new();
    for mut group in groups(scene) {
        let first = group.members.first().copied().filter(|_| starts_first(group.verdict));
        let Some(start) = first.or_else(|| representative(scene, &group.members)) else { continue };
        let number = shrunk.entry(group.verdict).or_default();
        *number += 1;
        if let Some(told) = of_threads(scene, pass, &group, start)? {
            group = group.on_threads(told);
            let threads = Threads::Library;
            let found =
                pass.on_threads(threads, |pass| finding(scene, pass, &group, start, None))?;
            findings.extend(found.map(|finding| (finding, group.members)));
            continue;
        }
        let is_asked =
            group.verdict == Verdict::Fail && !group.on_views && is_shrunk(&group, pass.stopped());
        let steady = if is_asked && *number <= MAX_SHRUNK {
            steady(scene, pass, &group)?
        } else {
            Some(start)
        };
        let start = steady.unwrap_or(start);
        let told = if steady.is_none() {
            group = group.of_once();
            let once = Done { once: true, ..scene.done[start].clone() };
            describe(scene, pass, &group, (None, Depth::Words), (&scene.cases[start], &once))?
        } else if group.on_views {
            describe(
                scene,
                pass,
                &group,
                (None, Depth::Words),
                (&scene.cases[start], &scene.done[start].on_views()),
            )?
        } else if *number <= MAX_SHRUNK && is_shrunk(&group, pass.stopped()) {
            finding(scene, pass, &group, start, None)?
        } else {
            let telling = if *number <= MAX_SHRUNK { Depth::Numbers } else { Depth::Words };
            describe(
                scene,
                pass,
                &group,
                (None, telling),
                (&scene.cases[start], &scene.done[start]),
            )?
        };
        findings.extend(told.map(|finding| (finding, group.members)));
    }
    Ok(findings)
}

/// The member to start from: the first one that fails when it is put again. `None` if none does:
/// what they gave came of the calls before.
fn steady(
    scene: &RunState<'_, '_>,
    pass: &mut Pass<'_>,
    group: &Group<'_>,
) -> Result<Option<usize>, RunError> {
    let mut left = group.members.clone();
    for _ in 0..MAX_AGAIN {
        let Some(at) = representative(scene, &left) else { break };
        // Frozen cases are judged as they are, and nothing else is asked.
        if matches!(scene.cases[at], Planned::Frozen(_)) || !right_again(scene, pass, at)? {
            return Ok(Some(at));
        }
        left.retain(|other| *other != at);
    }
    Ok(None)
}

/// Whether a case that failed is right when it is put again.
fn right_again(scene: &RunState<'_, '_>, pass: &mut Pass<'_>, at: usize) -> Result<bool, RunError> {
    Ok(is_right(&pass.try_case(&scene.cases[at], scene.meaning)?))
}

/// Whether nothing that came back is wrong, where something did.
fn is_right(done: &Done) -> bool {
    matches!(done.verdict, Verdict::Pass | Verdict::Suspect | Verdict::Inconclusive)
        || done.verdict == Verdict::Unsupported && done.asked > 1
}

fn is_relation(done: &Done) -> bool {
    done.evidence.as_ref().is_some_and(|evidence| evidence.relation)
}

/// What is wrong with the form of a result, if it is its form.
fn form(done: &Done) -> Option<Form> {
    done.evidence.as_ref().and_then(|evidence| evidence.form)
}

/// The member that is shown: the relation refuted if possible, then the law with the fewest
/// variables, then the fewest of the less ordinary options, then the smallest.
fn representative(scene: &RunState<'_, '_>, members: &[usize]) -> Option<usize> {
    let variables = |at: usize| {
        scene.cases[at]
            .checked_law(scene.config)
            .map_or(usize::MAX, |law| law.given.len() + law.lets.len())
    };
    let rare = |at: usize| {
        CallOption::ALL[4..].iter().filter(|option| scene.cases[at].uses(**option)).count()
    };
    let key = |at: &usize| {
        (!is_relation(&scene.done[*at]), variables(*at), rare(*at), scene.cases[*at].size(), *at)
    };
    members.iter().copied().min_by_key(key)
}

/// The finding of a group, starting from one of its cases. Its witness is the smallest input that
/// fails for the same reason: the same verdict, the relation if it was one, the same form, the same
/// fault, and for a convention nothing once `alone` is granted.
fn finding(
    scene: &RunState<'_, '_>,
    pass: &mut Pass<'_>,
    group: &Group<'_>,
    start: usize,
    alone: Option<&Meaning>,
) -> Result<Option<Finding>, RunError> {
    let (case, first) = (&scene.cases[start], &scene.done[start]);
    let budget = if group.verdict == Verdict::Timeout { 0 } else { SHRINK_BUDGET };
    let (mut failure, mut ends) = (None, 0);
    let mut same_reason = |case: &Planned<'_>| -> Result<bool, RunError> {
        if ends >= SHRINK_ENDS || scene.config.stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let done = pass.try_case(case, scene.meaning)?;
        if done.broke() {
            ends += 1;
        }
        if done.verdict == Verdict::Skipped {
            // Nobody answers, so nobody will: what was found so far is the witness.
            ends = SHRINK_ENDS;
        }
        let is_other = done.right_on() != first.right_on()
            || form(&done) != form(first)
            || (is_relation(first) && !is_relation(&done));
        if done.verdict != group.verdict || is_other {
            return Ok(false);
        }
        let own = evidence(scene.config, std::slice::from_ref(&done), &[0]);
        if !group.faults.is_empty() && together(&own, scene.meaning, &group.faults).is_none() {
            return Ok(false);
        }
        Ok(match alone {
            Some(alone) => pass.try_case(case, alone)?.verdict != Verdict::Fail,
            None => true,
        })
    };
    let mut still_fails = |plan: &CasePlan, _: &qkvet_spec::Case| {
        same_reason(&Planned::Plan(plan.clone())).unwrap_or_else(|error| {
            failure.get_or_insert(error);
            false
        })
    };
    let small = match case {
        Planned::Plan(plan) if budget > 0 => {
            Some(smallest(case.checked_law(scene.config)?, plan, budget, &mut still_fails))
        }
        // Frozen cases are judged as they are, and nothing else is asked.
        _ => None,
    };
    if let Some(error) = failure {
        return Err(error);
    }
    let small = small.map(Planned::Plan);
    // A hang is asked for once more, and not made smaller: every try may take as long as a call is
    // waited for.
    let waited =
        (group.verdict == Verdict::Timeout && matches!(case, Planned::Plan(_))).then_some(case);
    let again =
        small.as_ref().or(waited).map(|again| pass.try_case(again, scene.meaning)).transpose()?;
    // A target that changed its mind is shown by the case as it was first seen.
    let once = Done { once: true, ..first.clone() };
    let (case, shown) = match (&small, &again) {
        (Some(small), Some(again)) if again.verdict == group.verdict => (small, again),
        (_, Some(again)) if is_right(again) => (case, &once),
        _ => (case, first),
    };
    describe(scene, pass, group, (alone, Depth::Numbers), (case, shown))
}

/// How much is told of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    Words,
    /// A worked example and a picture too.
    Numbers,
}

fn laws(scene: &RunState<'_, '_>, members: &[usize]) -> BTreeMap<String, usize> {
    let mut laws = BTreeMap::new();
    for at in members {
        *laws.entry(scene.cases[*at].law().to_owned()).or_default() += 1;
    }
    laws
}

/// Keeps the case for replay and says all that is known of the finding.
fn describe(
    scene: &RunState<'_, '_>,
    pass: &Pass<'_>,
    group: &Group<'_>,
    (alone, depth): (Option<&Meaning>, Depth),
    (planned, shown): (&Planned<'_>, &Done),
) -> Result<Option<Finding>, RunError> {
    let law = planned.checked_law(scene.config)?;
    let case = planned.case(scene.config)?;
    let id = planned.id(&case);
    let Some(evidence) = shown.evidence.clone() else { return Ok(None) };
    let Trace { token, replay, replay_anywhere, script, script_text, views } = trace(
        scene,
        pass,
        &Seen { id: &id, case: &case, law, verdict: group.verdict, cause: &group.cause, shown },
    );
    let once = (shown.once && group.is_bare()).then_some(Note::Once);
    let notes = group.notes.iter().cloned().chain(once).chain(views).collect();
    let contract = scene.config.contracts.get(&planned.dtype()).copied();
    let telling = contract.filter(|_| depth == Depth::Numbers).map(|contract| Telling {
        meaning: scene.meaning,
        contract,
        faults: &group.faults,
        convention: alone,
    });
    let picture = telling.as_ref().and_then(|telling| picture(scene, group, telling));
    let looked_at = picture.iter().map(|(at, _)| *at).chain(group.beside.iter().copied());
    looked_at.for_each(|at| keep_member(scene, pass, at));
    Ok(Some(Finding {
        state: FindingState::Final,
        kind: group.cause.kind(),
        verdict: group.verdict,
        cause: group.cause.clone(),
        notes,
        law: planned.law().to_owned(),
        law_title: law.law.title.clone(),
        contract: contract.map(|contract| contract.contract.clone()).unwrap_or_default(),
        laws: laws(scene, &group.members),
        cases: group.members.len(),
        of: scene.done.iter().filter(|done| done.verdict.is_checked()).count(),
        known: 0,
        witness: Witness {
            case: id,
            call: describe_case(law, &case),
            dims: case.dims,
            inputs: describe_inputs(law, &case),
            token,
        },
        evidence,
        condition: boundary_of(scene, group),
        reading: if group.on_views || shown.once { None } else { reading(scene, pass, group) },
        structure: structure_of(scene, pass, group),
        replay,
        replay_anywhere,
        script,
        script_text,
        example: telling.as_ref().and_then(|telling| example(shown, telling)).map(Box::new),
        picture: picture.map(|(_, picture)| Box::new(picture)),
    }))
}
