//! From groups to findings, each with its smallest witness.

use std::collections::BTreeMap;

use qkvet_diagnose::{cause, describe_call, describe_inputs, smallest};
use qkvet_gen::{CasePlan, case_id};
use qkvet_spec::{CallOption, Convention, Finding, FindingKind, Meaning, Verdict, Witness};

use super::groups::{Group, broken, wrong};
use super::pass::{Done, Pass, Stopped, case_of, law_of};
use super::trace::{Seen, Trace, trace};
use super::{RunConfig, RunError, evidence, failing};

/// Calls of the target spent on shrinking one witness.
const SHRINK_BUDGET: usize = 160;
/// The same where each failing call costs a restart.
const SHRINK_BUDGET_CRASH: usize = 12;
/// Cases tried in search of one that a single convention explains.
const MOST_TRIED: usize = 20;
/// Findings beyond this are counted, not shrunk.
const MOST_SHRUNK: usize = 10;

/// What was run, how it came out and by what it was judged.
#[derive(Clone, Copy)]
pub(super) struct Scene<'r, 'a> {
    pub(super) config: &'r RunConfig<'a>,
    pub(super) plans: &'r [CasePlan],
    pub(super) done: &'r [Done],
    pub(super) meaning: &'r Meaning,
    /// Conventions that `meaning` follows.
    pub(super) conventions: &'r [&'a Convention],
}

/// One finding for each undeclared convention; the scene is the one in which it was not yet known.
pub(super) fn conventions(
    scene: &Scene<'_, '_>,
    pass: &mut Pass<'_>,
    found: &[&Convention],
) -> Result<Vec<Finding>, RunError> {
    let failing = failing(scene.done);
    let mut findings = Vec::new();
    for convention in found {
        // A case without the convention's option cannot show it.
        let uses = |at: &usize| convention.option.is_none_or(|option| uses(&scene.plans[*at], option));
        let group = Group::of_convention(convention, failing.iter().copied().filter(uses).collect());
        let alone = convention.meaning.apply(scene.meaning);
        let shown = shown_by(scene, pass, &group.members, &alone)?;
        if let Some(start) = shown.or_else(|| representative(scene, &group.members)) {
            findings.extend(finding(scene, pass, &group, start, Some(&alone))?);
        }
    }
    Ok(findings)
}

/// A case that one convention explains without the others.
fn shown_by(
    scene: &Scene<'_, '_>,
    pass: &mut Pass<'_>,
    members: &[usize],
    alone: &Meaning,
) -> Result<Option<usize>, RunError> {
    let mut left = members.to_vec();
    for _ in 0..MOST_TRIED {
        let Some(at) = representative(scene, &left) else { break };
        if pass.try_plan(&scene.plans[at], alone)?.verdict != Verdict::Fail {
            return Ok(Some(at));
        }
        left.retain(|other| *other != at);
    }
    Ok(None)
}

fn uses(plan: &CasePlan, option: CallOption) -> bool {
    match option {
        CallOption::Scale => plan.scale.value().is_some(),
        CallOption::Causal => plan.causal,
        CallOption::Mask => plan.mask.is_some(),
        CallOption::Bias => plan.bias.is_some(),
    }
}

/// Wrong results, the most frequent first, then what broke.
fn groups<'a>(scene: &Scene<'_, 'a>) -> Vec<Group<'a>> {
    let mut groups = wrong(scene);
    for verdict in [Verdict::Nondet, Verdict::Crash, Verdict::Timeout, Verdict::Error] {
        groups.extend(broken(verdict, scene.done));
    }
    groups
}

/// The findings among decided cases. A run that the user ended calls the target no more: nothing is shrunk.
pub(super) fn verdicts(scene: &Scene<'_, '_>, pass: &mut Pass<'_>) -> Result<Vec<Finding>, RunError> {
    let most_shrunk = if pass.stopped() == Some(Stopped::Interrupted) { 0 } else { MOST_SHRUNK };
    let mut findings = Vec::new();
    for (number, group) in groups(scene).iter().enumerate() {
        let Some(start) = representative(scene, &group.members) else { continue };
        findings.extend(if number < most_shrunk {
            finding(scene, pass, group, start, None)?
        } else {
            describe(scene, pass, group, FindingKind::Verdict, (&scene.plans[start], &scene.done[start]))?
        });
    }
    Ok(findings)
}

fn size(plan: &CasePlan) -> usize {
    let d = plan.dims;
    d.b * (d.h_q * d.n_q * d.d_k + d.h_k * d.n_k * (d.d_k + d.d_v)) + plan.law_dims.iter().sum::<usize>()
}

fn is_relation(done: &Done) -> bool {
    done.evidence.as_ref().is_some_and(|evidence| evidence.relation)
}

/// The member that is shown: the relation refuted if possible, then the law with the fewest variables, then the smallest.
fn representative(scene: &Scene<'_, '_>, members: &[usize]) -> Option<usize> {
    let variables =
        |at: usize| law_of(scene.config, &scene.plans[at]).map_or(usize::MAX, |law| law.given.len() + law.lets.len());
    let key = |at: &usize| (!is_relation(&scene.done[*at]), variables(*at), size(&scene.plans[*at]), *at);
    members.iter().copied().min_by_key(key)
}

/// The finding of a group, starting from one of its cases. Its witness is the smallest input that fails for the same
/// reason: the same verdict, the relation if it was one, the same fault, and for a convention nothing once `alone` is
/// granted.
fn finding(
    scene: &Scene<'_, '_>,
    pass: &mut Pass<'_>,
    group: &Group<'_>,
    start: usize,
    alone: Option<&Meaning>,
) -> Result<Option<Finding>, RunError> {
    let (plan, first) = (&scene.plans[start], &scene.done[start]);
    let budget = match group.verdict {
        Verdict::Timeout => 0,
        Verdict::Crash => SHRINK_BUDGET_CRASH,
        _ => SHRINK_BUDGET,
    };
    let mut failure = None;
    let mut same_reason = |plan: &CasePlan| -> Result<bool, RunError> {
        let done = pass.try_plan(plan, scene.meaning)?;
        if done.verdict != group.verdict || (is_relation(first) && !is_relation(&done)) {
            return Ok(false);
        }
        if let Some(fault) = group.fault
            && cause(&evidence(scene.config, std::slice::from_ref(&done), &[0]), scene.meaning, [fault]).is_empty()
        {
            return Ok(false);
        }
        Ok(match alone {
            Some(alone) => pass.try_plan(plan, alone)?.verdict != Verdict::Fail,
            None => true,
        })
    };
    let mut still_fails = |plan: &CasePlan, _: &qkvet_spec::Case| {
        same_reason(plan).unwrap_or_else(|error| {
            failure.get_or_insert(error);
            false
        })
    };
    let law = law_of(scene.config, plan)?;
    let small = if budget == 0 { plan.clone() } else { smallest(law, plan, budget, &mut still_fails) };
    if let Some(error) = failure {
        return Err(error);
    }
    let again = if budget == 0 { first.clone() } else { pass.try_plan(&small, scene.meaning)? };
    // A target that changed its mind is shown by the case as it was first seen.
    let (plan, shown) = if again.evidence.is_some() { (&small, &again) } else { (plan, first) };
    let kind = if alone.is_some() { FindingKind::Convention } else { FindingKind::Verdict };
    describe(scene, pass, group, kind, (plan, shown))
}

fn laws(scene: &Scene<'_, '_>, members: &[usize]) -> BTreeMap<String, usize> {
    let mut laws = BTreeMap::new();
    for at in members {
        *laws.entry(scene.plans[*at].law.clone()).or_default() += 1;
    }
    laws
}

/// Keeps the case for replay and puts the finding into words.
fn describe(
    scene: &Scene<'_, '_>,
    pass: &Pass<'_>,
    group: &Group<'_>,
    kind: FindingKind,
    (plan, shown): (&CasePlan, &Done),
) -> Result<Option<Finding>, RunError> {
    let law = law_of(scene.config, plan)?;
    let case = case_of(scene.config, plan)?;
    let id = case_id(&case);
    let Some(evidence) = shown.evidence.clone() else { return Ok(None) };
    let Trace { token, replay, replay_anywhere, script } =
        trace(scene, pass, &Seen { id: &id, case: &case, law, verdict: group.verdict, title: &group.title, shown });
    Ok(Some(Finding {
        kind,
        verdict: group.verdict,
        title: group.title.clone(),
        law: plan.law.clone(),
        law_title: law.law.title.clone(),
        contract: scene.config.contracts.get(&plan.dtype).map(|contract| contract.contract.clone()).unwrap_or_default(),
        laws: laws(scene, &group.members),
        cases: group.members.len(),
        of: scene.done.iter().filter(|done| done.verdict.is_checked()).count(),
        witness: Witness { case: id, call: describe_call(&case), inputs: describe_inputs(law, &case), token },
        evidence,
        cause: group.cause.clone(),
        hint: group.hint.clone(),
        replay,
        replay_anywhere,
        script,
    }))
}
