//! How a finding is seen again: the stored case, the command, the token, the script.

use qkvet_engine::law::Judge;
use qkvet_gen::token;
use qkvet_spec::{
    Aspect, Call, Case, CheckedLaw, Contract, Convention, Note, Strides, Summary, Verdict,
};

use crate::adapters::python::{Arrays, Layout, gets_views};
use crate::adapters::{Again, OwnTarget, StoredCall};
use crate::config::names;
use crate::config::{CaseSource, RunConfig};
use crate::repro::{Ground, JudgedCall, Story, judged_calls, script};
use crate::run::call::Workers;
use crate::run::case::{JudgedCase, PlannedCase};
use crate::run::error::RunError;
use crate::run::group::Group;
use crate::run::state::RunState;
use crate::store::StoredFinding;

/// A longer script is not in the report.
const MAX_SHOWN_BYTES: usize = 64 << 10;

/// A case that shows a finding.
pub(super) struct Seen<'s> {
    pub(super) case: &'s Case,
    pub(super) law: &'s CheckedLaw,
    pub(super) group: &'s Group<'s>,
    pub(super) judged: &'s JudgedCase<'s>,
}

/// How to see it again.
#[derive(Default)]
pub(super) struct Trace {
    pub(super) token: Option<String>,
    /// The command.
    pub(super) replay: String,
    /// The command that needs no stored case.
    pub(super) replay_anywhere: Option<String>,
    /// Path of the script.
    pub(super) script: Option<String>,
    /// The script, unless it is long.
    pub(super) script_text: Option<String>,
    /// Where the inputs lay in memory, if they were views and nothing else tells it.
    pub(super) views: Option<Note>,
}

/// Stores the case, writes the script, and says how to see the finding again.
pub(super) fn trace(state: &RunState<'_, '_>, workers: &Workers<'_, '_>, seen: &Seen<'_>) -> Trace {
    let Seen { group, judged, .. } = seen;
    let finding = StoredFinding::new(group.verdict, group.cause.clone(), judged.asked, judged.once);
    let of_case = (judged.record.id.as_str(), seen.case, seen.law);
    let mut trace = keep(state.conventions, workers, of_case, Some(finding));
    let contract = state.config.contracts.get(&seen.case.dtype).copied();
    let contract = contract.filter(|_| state.config.target.adapter.is_called());
    let calls = contract.and_then(|contract| calls_of(state, workers, seen, contract));
    trace.views = views(seen, calls.as_deref().unwrap_or_default());
    let script = contract
        .zip(calls)
        .and_then(|(contract, calls)| write_script(state, workers, seen, contract, &calls));
    if let Some((path, text)) = script {
        trace.script = Some(path);
        trace.script_text = Some(text).filter(|text| text.len() <= MAX_SHOWN_BYTES);
    }
    trace
}

/// The calls of a target that runs in a process of its own or may be given views, with what they
/// must return.
fn calls_of(
    state: &RunState<'_, '_>,
    workers: &Workers<'_, '_>,
    seen: &Seen<'_>,
    contract: &Contract,
) -> Option<Vec<JudgedCall>> {
    let called = workers.called();
    if called.is_none()
        && !state.config.target.adapter.in_process().is_some_and(OwnTarget::takes_views)
    {
        return None;
    }
    let views =
        |call: &Call| called.map_or_else(|| gets_views(call), |called| called.gets_views(call));
    let judge = Judge { meaning: state.meaning, contract };
    let mut calls = judged_calls(seen.law, seen.case, judge, &seen.judged.calls, &views)?;
    // What was declined after the calls that decided is not asked again.
    calls.truncate(seen.judged.asked.max(1));
    Some(calls)
}

/// What is to be said of the call that decided if it was put as views. What is wrong with its
/// answer is asked again on contiguous inputs; whether inputs are changed, and what becomes of a
/// call that has to be refused, is not.
fn views(seen: &Seen<'_>, calls: &[JudgedCall]) -> Option<Note> {
    let evidence = seen.judged.record.evidence.as_ref()?;
    let label = &evidence.place.of;
    if evidence.place.what == Aspect::Inputs {
        let mut records = seen.judged.calls.iter();
        let changed =
            records.find(|record| record.label == *label && !record.output.inputs_unchanged)?;
        let note = Note::Views { maybe_contiguous: false };
        return (changed.output.handling.strides == Strides::Transposed).then_some(note);
    }
    let is_refusal = seen.law.law.misfit.is_some();
    let gave_nothing = is_refusal
        && (matches!(seen.group.verdict, Verdict::Crash | Verdict::Timeout)
            || evidence.broke_protocol);
    let decided = calls.iter().find(|call| call.label == *label)?;
    (gave_nothing && decided.strided).then_some(Note::Views { maybe_contiguous: true })
}

/// Stores a case with what it is judged by, and says how to see it again.
pub(super) fn keep(
    conventions: &[&Convention],
    workers: &Workers<'_, '_>,
    (id, case, law): (&str, &Case, &CheckedLaw),
    finding: Option<StoredFinding>,
) -> Trace {
    let (config, token) = (workers.config, token(case));
    if let CaseSource::Frozen { folder, .. } = config.cases
        && !config.target.adapter.is_called()
    {
        // What made the output is known to whoever ran it.
        let folder = folder.display().to_string();
        let folder = shell_words::quote(&folder);
        let replay = format!("qkvet replay {id} --cases {folder} --target TARGET");
        return Trace { token, replay, ..Trace::default() };
    }
    if let Some(own) = config.target.adapter.in_process() {
        // No command reaches what lives in another process.
        let contract =
            config.contracts.get(&case.dtype).map_or("", |contract| contract.contract.as_str());
        let again =
            |token: &String| own.again(&Again { token, conventions: names(conventions), contract });
        let replay =
            token.as_ref().map_or_else(|| format!("case {id} of the same suite and seed"), again);
        return Trace { token, replay, ..Trace::default() };
    }
    let replay_anywhere = token.as_ref().map(|token| command(config, conventions, case, token));
    let kept = workers.store.is_none_or(|store| store.keep(id, case, law, conventions, finding));
    let by_id = format!("qkvet replay {id}");
    // A command that cannot work is not printed if there is one that can.
    let replay = if kept { by_id } else { replay_anywhere.clone().unwrap_or(by_id) };
    Trace { token, replay, replay_anywhere, ..Trace::default() }
}

/// Keeps the cases that stand for what contracts left undecided, and says how to see them again.
pub(in crate::run) fn keep_undecided(
    conventions: &[&Convention],
    workers: &Workers<'_, '_>,
    cases: &[PlannedCase<'_>],
    summary: &mut Summary,
) -> Result<(), RunError> {
    let chosen: Vec<usize> = [Verdict::Suspect, Verdict::Inconclusive]
        .iter()
        .flat_map(|verdict| summary.standing_for(*verdict).into_values())
        .collect();
    for at in chosen {
        let (case, law) = (cases[at].case(workers.config)?, cases[at].checked_law(workers.config)?);
        let record = &mut summary.records[at];
        record.replay = Some(keep(conventions, workers, (&record.id, &case, law), None).replay);
    }
    Ok(())
}

/// `qkvet replay 'TOKEN' --target NAME`, with every flag that the verdict depends on.
fn command(
    config: &RunConfig<'_>,
    conventions: &[&Convention],
    case: &Case,
    token: &str,
) -> String {
    let mut flags = vec![("--target", config.target.name.clone())];
    flags.extend(names(conventions).into_iter().map(|declared| ("--convention", declared)));
    let default = config.catalog.default_contract(case.dtype).ok();
    let contract = config.contracts.get(&case.dtype).filter(|one| default != Some(**one));
    flags.extend(contract.map(|one| ("--contract", one.contract.clone())));
    flags.extend(config.catalog.law_files.get(&case.law).map(|file| ("--law", file.clone())));
    let StoredCall { arrays, layout, device, prototype, constants } =
        config.target.adapter.stored_call();
    let arrays = arrays.map(|arrays| match arrays {
        Arrays::Numpy => "numpy",
        Arrays::Torch => "torch",
        Arrays::Jax => "jax",
    });
    flags.extend(arrays.map(|arrays| ("--arrays", arrays.to_owned())));
    let layout = layout.filter(|layout| *layout != Layout::default());
    flags.extend(layout.map(|layout| ("--layout", layout.name().to_owned())));
    flags.extend(device.map(|device| ("--device", device)));
    flags.extend(prototype.map(|prototype| ("--call", prototype)));
    flags.extend(constants.into_iter().map(|constant| ("--constant", constant)));
    let flags: String = flags
        .iter()
        .map(|(flag, value)| format!(" {flag} {}", shell_words::quote(value)))
        .collect();
    format!("qkvet replay '{token}'{flags}")
}

fn write_script(
    state: &RunState<'_, '_>,
    workers: &Workers<'_, '_>,
    seen: &Seen<'_>,
    contract: &Contract,
    calls: &[JudgedCall],
) -> Option<(String, String)> {
    let Seen { case, law, group, judged } = *seen;
    let (store, called) = (workers.store?, workers.called()?);
    let (current, root) = (std::env::current_dir().ok()?, store.root()?);
    let caller = called.caller(Ground { current: &current, root: &root })?;
    let story = Story {
        case: &judged.record.id,
        summary: qkvet_diagnose::describe_case(law, case),
        law,
        verdict: group.verdict,
        title: state.config.words.title(&group.cause).to_string(),
        is_fleeting: judged.once || group.verdict == Verdict::Nondet,
        target: &state.config.target.name,
        conventions: names(state.conventions),
        contract,
        evidence: judged.record.evidence.as_ref()?,
        calls,
        limit_s: called.limit_s(),
    };
    let text = script(&story, caller.as_ref());
    Some((store.keep_script(&judged.record.id, &text)?, text))
}
