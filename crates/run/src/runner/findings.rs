//! From decided cases to findings: one a cause, each with its smallest witness.

use std::collections::BTreeMap;

use qkvet_diagnose::{cause, describe_call, describe_inputs, smallest};
use qkvet_gen::{CasePlan, case_id};
use qkvet_spec::{CallOption, Convention, Finding, FindingKind, Meaning, Verdict, Witness};

use super::pass::{Done, Pass, case_of, law_of};
use super::{EVIDENCE_LIMIT, RunConfig, RunError, evidence};

/// Calls of the target spent on shrinking one witness.
const SHRINK_BUDGET: usize = 160;
/// The same where each failing call costs a restart.
const SHRINK_BUDGET_CRASH: usize = 12;
/// Cases tried in search of one that a single convention explains.
const MOST_TRIED: usize = 20;
/// A fault is named as a cause when it explains at least one in this many of the failures looked at.
const LEAST_SHARE: usize = 10;
/// Findings beyond this are counted, not shrunk.
const MOST_SHRUNK: usize = 10;

/// Cases that belong together.
struct Group {
    verdict: Verdict,
    title: String,
    cause: Option<String>,
    hint: Option<String>,
    members: Vec<usize>,
}

/// One finding for each undeclared convention.
pub(super) fn conventions(
    config: &RunConfig<'_>,
    pass: &mut Pass<'_>,
    plans: &[CasePlan],
    declared: &Meaning,
    found: &[&Convention],
    done: &[Done],
) -> Result<Vec<Finding>, RunError> {
    let failing: Vec<usize> = (0..done.len()).filter(|at| done[*at].verdict == Verdict::Fail).collect();
    let mut findings = Vec::new();
    for convention in found {
        // A case without the convention's option cannot show it.
        let uses = |at: &usize| convention.option.is_none_or(|option| uses(&plans[*at], option));
        let members: Vec<usize> = failing.iter().copied().filter(uses).collect();
        let group = Group {
            verdict: Verdict::Fail,
            title: format!("undeclared convention: {}", lower_first(&convention.title)),
            cause: Some(format!(
                "the standard here is {}; every other case was judged under the convention",
                convention.standard
            )),
            hint: Some(format!("declare it with --convention {}={}, or fix it", convention.field, convention.value)),
            members,
        };
        let only = Meaning { ..convention.meaning.apply(declared) };
        findings.extend(finding(config, pass, plans, declared, Some(&only), done, &group, FindingKind::Convention)?);
    }
    Ok(findings)
}

fn uses(plan: &CasePlan, option: CallOption) -> bool {
    match option {
        CallOption::Scale => plan.scale.value().is_some(),
        CallOption::Causal => plan.causal,
        CallOption::Mask => plan.mask.is_some(),
        CallOption::Bias => plan.bias.is_some(),
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// The findings among decided cases, gravest first.
pub(super) fn verdicts(
    config: &RunConfig<'_>,
    pass: &mut Pass<'_>,
    plans: &[CasePlan],
    meaning: &Meaning,
    done: &[Done],
) -> Result<Vec<Finding>, RunError> {
    let mut groups = wrong(config, meaning, plans, done);
    for verdict in [Verdict::Nondet, Verdict::Crash, Verdict::Timeout, Verdict::Error] {
        groups.extend(broken(verdict, done));
    }
    let mut findings = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        if number < MOST_SHRUNK {
            findings.extend(finding(config, pass, plans, meaning, None, done, group, FindingKind::Verdict)?);
        } else {
            findings.extend(unshrunk(config, plans, done, group)?);
        }
    }
    Ok(findings)
}

/// Wrong results: by fault as long as one explains a good part of what is left, then by the law they break.
fn wrong(config: &RunConfig<'_>, meaning: &Meaning, plans: &[CasePlan], done: &[Done]) -> Vec<Group> {
    let mut left: Vec<usize> = (0..done.len()).filter(|at| done[*at].verdict == Verdict::Fail).collect();
    let mut groups = Vec::new();
    while !left.is_empty() {
        let Some(group) = caused(config, meaning, done, &left) else { break };
        left.retain(|at| !group.members.contains(at));
        groups.push(group);
    }
    groups.extend(by_law(config, plans, done, &left));
    groups.sort_by_key(|group| std::cmp::Reverse(group.members.len()));
    groups
}

/// The cases that one fault explains, if one explains enough of a sample to be more than a coincidence.
fn caused(config: &RunConfig<'_>, meaning: &Meaning, done: &[Done], left: &[usize]) -> Option<Group> {
    let with_calls: Vec<usize> = left.iter().copied().filter(|at| !done[*at].calls.is_empty()).collect();
    let step = with_calls.len().div_ceil(EVIDENCE_LIMIT).max(1);
    let sample: Vec<usize> = with_calls.iter().copied().step_by(step).collect();
    let causes = cause(&evidence(config, done, &sample), meaning, config.catalog.faults.values());
    let best = causes.first().filter(|best| best.explained.len() * LEAST_SHARE >= sample.len())?;
    let all = cause(&evidence(config, done, &with_calls), meaning, [best.fault]);
    let members: Vec<usize> = all.first()?.explained.iter().map(|at| with_calls[*at]).collect();
    let rival = causes.get(1).map_or(String::new(), |rival| {
        format!("; next best, {}, matches {} of {} looked at", rival.fault.fault, rival.explained.len(), sample.len())
    });
    let share = if members.len() == left.len() {
        format!("all {} failing cases match", members.len())
    } else {
        format!("{} of {} failing cases match", members.len(), left.len())
    };
    Some(Group {
        verdict: Verdict::Fail,
        title: format!("{} {}", best.fault.code, lower_first(&best.fault.title)),
        cause: Some(format!("{}: {share}{rival}", best.fault.fault)),
        hint: Some(best.fault.tell.clone()),
        members,
    })
}

fn by_law(config: &RunConfig<'_>, plans: &[CasePlan], done: &[Done], failing: &[usize]) -> Vec<Group> {
    let mut by_law: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for at in failing {
        let relation = done[*at].evidence.as_ref().is_some_and(|evidence| evidence.relation);
        by_law.entry(if relation { &plans[*at].law } else { "value" }).or_default().push(*at);
    }
    let group = |(law, members): (&str, Vec<usize>)| {
        let title = config.catalog.laws.get(law).map_or_else(|| law.to_owned(), |law| law.law.title.clone());
        Group {
            verdict: Verdict::Fail,
            title: format!("{law}: {}", lower_first(&title)),
            cause: None,
            hint: None,
            members,
        }
    };
    by_law.into_iter().map(group).collect()
}

/// Targets that broke: by what they said, in order of first appearance.
fn broken(verdict: Verdict, done: &[Done]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (at, done) in done.iter().enumerate().filter(|(_, done)| done.verdict == verdict) {
        let said = done.evidence.as_ref().map_or("", |evidence| evidence.got.as_str());
        let title = match verdict {
            Verdict::Nondet => "the same call gave different results".to_owned(),
            // Without numbers, so that one message with changing extents is one finding.
            _ => said
                .lines()
                .next()
                .unwrap_or_default()
                .split("; stderr")
                .next()
                .unwrap_or_default()
                .replace(|c: char| c.is_ascii_digit(), "#"),
        };
        match groups.iter_mut().find(|group| group.title == title) {
            Some(group) => group.members.push(at),
            None => groups.push(Group { verdict, title, cause: None, hint: None, members: vec![at] }),
        }
    }
    for group in groups.iter_mut().filter(|group| verdict != Verdict::Nondet && !group.members.is_empty()) {
        let said = done[group.members[0]].evidence.as_ref().map_or("", |evidence| evidence.got.as_str());
        group.title = said.lines().next().unwrap_or_default().split("; stderr").next().unwrap_or_default().to_owned();
    }
    groups
}

fn size(plan: &CasePlan) -> usize {
    let d = plan.dims;
    d.b * (d.h_q * d.n_q * d.d_k + d.h_k * d.n_k * (d.d_k + d.d_v)) + plan.law_dims.iter().sum::<usize>()
}

/// The member that is shown: the relation refuted if possible, then the law with the fewest variables, then the smallest.
fn representative(config: &RunConfig<'_>, plans: &[CasePlan], done: &[Done], members: &[usize]) -> Option<usize> {
    let relation = |at: usize| done[at].evidence.as_ref().is_some_and(|evidence| evidence.relation);
    let variables = |at: usize| {
        let law = config.laws.iter().find(|law| law.law.law == plans[at].law);
        law.map_or(usize::MAX, |law| law.given.len() + law.lets.len())
    };
    members.iter().copied().min_by_key(|at| (!relation(*at), variables(*at), size(&plans[*at]), *at))
}

#[expect(clippy::too_many_arguments, reason = "the state of the run and what to show of it")]
fn finding(
    config: &RunConfig<'_>,
    pass: &mut Pass<'_>,
    plans: &[CasePlan],
    meaning: &Meaning,
    unless: Option<&Meaning>,
    done: &[Done],
    group: &Group,
    kind: FindingKind,
) -> Result<Option<Finding>, RunError> {
    // A convention is shown by a case that it alone explains.
    let mut members = group.members.clone();
    if let Some(other) = unless {
        let mut left = members.clone();
        for _ in 0..MOST_TRIED {
            let Some(at) = representative(config, plans, done, &left) else { break };
            if pass.try_plan(&plans[at], other)?.verdict != Verdict::Fail {
                members = vec![at];
                break;
            }
            left.retain(|other| *other != at);
        }
    }
    let Some(start) = representative(config, plans, done, &members) else { return Ok(None) };
    let relation = done[start].evidence.as_ref().is_some_and(|evidence| evidence.relation);
    let law = law_of(config, &plans[start])?;
    let budget = match group.verdict {
        Verdict::Timeout => 0,
        Verdict::Crash => SHRINK_BUDGET_CRASH,
        _ => SHRINK_BUDGET,
    };
    let mut failure = None;
    let mut still_fails = |plan: &CasePlan, _: &qkvet_spec::Case| {
        let same = |done: &Done| {
            done.verdict == group.verdict
                && (!relation || done.evidence.as_ref().is_some_and(|evidence| evidence.relation))
        };
        match pass.try_plan(plan, meaning) {
            Ok(result) if same(&result) => match unless {
                Some(other) => pass.try_plan(plan, other).is_ok_and(|result| result.verdict != Verdict::Fail),
                None => true,
            },
            Ok(_) => false,
            Err(error) => {
                failure.get_or_insert(error);
                false
            }
        }
    };
    let plan = if budget == 0 { plans[start].clone() } else { smallest(law, &plans[start], budget, &mut still_fails) };
    if let Some(error) = failure {
        return Err(error);
    }
    let shown = if budget == 0 { done[start].clone() } else { pass.try_plan(&plan, meaning)? };
    // A target that changed its mind is shown by the case as it was first seen.
    let (plan, shown) =
        if shown.evidence.is_some() { (plan, shown) } else { (plans[start].clone(), done[start].clone()) };
    let case = case_of(config, &plan)?;
    let id = case_id(&case);
    if let Some(store) = pass.store() {
        store.keep(&id, &case)?;
    }
    Ok(describe(config, plans, done, group, kind, &plan, &shown, &case))
}

/// A finding beyond the limit: counted, with the case as it was.
fn unshrunk(
    config: &RunConfig<'_>,
    plans: &[CasePlan],
    done: &[Done],
    group: &Group,
) -> Result<Option<Finding>, RunError> {
    let Some(at) = representative(config, plans, done, &group.members) else { return Ok(None) };
    let case = case_of(config, &plans[at])?;
    Ok(describe(config, plans, done, group, FindingKind::Verdict, &plans[at], &done[at], &case))
}

#[expect(clippy::too_many_arguments, reason = "a finding is put together here and nowhere else")]
fn describe(
    config: &RunConfig<'_>,
    plans: &[CasePlan],
    done: &[Done],
    group: &Group,
    kind: FindingKind,
    plan: &CasePlan,
    shown: &Done,
    case: &qkvet_spec::Case,
) -> Option<Finding> {
    let mut laws = BTreeMap::new();
    for at in &group.members {
        *laws.entry(plans[*at].law.clone()).or_default() += 1;
    }
    let id = case_id(case);
    Some(Finding {
        kind,
        verdict: group.verdict,
        title: group.title.clone(),
        law: plan.law.clone(),
        law_title: config.catalog.laws.get(&plan.law).map(|law| law.law.title.clone()).unwrap_or_default(),
        contract: config.contracts.get(&plan.dtype).map(|contract| contract.contract.clone()).unwrap_or_default(),
        laws,
        cases: group.members.len(),
        of: done.iter().filter(|done| done.verdict.is_checked()).count(),
        witness: Witness {
            case: id.clone(),
            call: describe_call(case),
            inputs: law_of(config, plan).map(|law| describe_inputs(law, case)).unwrap_or_default(),
        },
        evidence: shown.evidence.clone()?,
        cause: group.cause.clone(),
        hint: group.hint.clone(),
        replay: format!("qkvet replay {id}"),
    })
}
