//! A finding in facts: its witness and its numbers, what its cases have in common, and how to see
//! it again.

mod example;
mod patterns;
mod replay;

use std::collections::BTreeMap;

use qkvet_diagnose::{describe_case, describe_inputs};
use qkvet_spec::{Finding, FindingState, Note, Verdict, Witness};

use super::call::Workers;
use super::error::RunError;
use super::shrink::{Depth, Shown};
use super::state::RunState;
use example::{Farthest, Telling, confirm, example, picture};
use patterns::{boundary_of, keep_member, reading, region_of, structure_of};
pub(super) use replay::keep_undecided;
use replay::{Seen, Trace, trace};

/// All that is known of a finding, and the numbers of the cases that show it. Its case is kept for
/// replay. `None` for a case without evidence.
pub(super) fn describe(
    state: &RunState<'_, '_>,
    workers: &Workers<'_, '_>,
    shown: Shown<'_>,
) -> Result<Option<(Finding, Vec<usize>)>, RunError> {
    let Shown { group, case: judged, convention, depth } = shown;
    let law = judged.planned.checked_law(state.config)?;
    let case = judged.planned.case(state.config)?;
    let Some(evidence) = judged.record.evidence.clone() else { return Ok(None) };
    let seen = Seen { case: &case, law, group: &group, judged: &judged };
    let Trace { token, replay, replay_anywhere, script, script_text, views } =
        trace(state, workers, &seen);
    let once = (judged.once && group.is_bare()).then_some(Note::Once);
    let contract = state.config.contracts.get(&judged.planned.dtype()).copied();
    let telling = contract.map(|contract| Telling {
        meaning: state.meaning,
        contract,
        faults: &group.faults,
        convention: convention.as_ref(),
    });
    let is_fail = group.verdict == Verdict::Fail;
    let telling = telling.filter(|_| is_fail || depth == Depth::Numbers);
    let farthest = telling.as_ref().and_then(|telling| Farthest::of(&judged.calls, telling));
    if let (Some(telling), Some(farthest), true) = (&telling, &farthest, is_fail) {
        confirm(&judged.record.id, farthest, telling)?;
    }
    let telling = telling.filter(|_| depth == Depth::Numbers);
    let picture = telling.as_ref().and_then(|telling| picture(state, &group, telling));
    let looked_at = picture.iter().map(|(at, _)| *at).chain(group.beside.iter().copied());
    looked_at.for_each(|at| keep_member(state, workers, at));
    let mut laws = BTreeMap::new();
    for member in state.of(&group.members) {
        *laws.entry(member.record.law.clone()).or_default() += 1;
    }
    let is_read = !group.on_views && !judged.once;
    let finding = Finding {
        state: FindingState::Final,
        kind: group.cause.kind(),
        verdict: group.verdict,
        condition: boundary_of(state, &group),
        region: region_of(state, &group),
        reading: is_read.then(|| reading(state, workers, &group)).flatten(),
        structure: structure_of(state, workers, &group),
        example: telling
            .as_ref()
            .zip(farthest)
            .map(|(telling, farthest)| Box::new(example(&farthest, telling))),
        picture: picture.map(|(_, picture)| Box::new(picture)),
        notes: group.notes.into_iter().chain(once).chain(views).collect(),
        cause: group.cause,
        law: law.law.law.clone(),
        law_title: law.law.title.clone(),
        contract: contract.map(|contract| contract.contract.clone()).unwrap_or_default(),
        laws,
        cases: group.members.len(),
        of: state.cases.iter().filter(|case| case.verdict().is_checked()).count(),
        known: 0,
        witness: Witness {
            call: describe_case(law, &case),
            dims: case.dims,
            inputs: match judged.planned.file() {
                Some(file) => vec![format!("arrays of {file}")],
                None => describe_inputs(law, &case),
            },
            token,
            case: judged.record.id,
        },
        evidence,
        replay,
        replay_anywhere,
        script,
        script_text,
    };
    Ok(Some((finding, group.members)))
}
