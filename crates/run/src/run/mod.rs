//! A run: cases are planned, called and judged; what is wrong is settled, grouped, shrunk and
//! described. Each step makes something new of what is known (`RunState`). A run tells its progress
//! as events, and what it found as one [`Summary`].

mod again;
mod call;
mod case;
mod compiled;
mod describe;
mod divide;
mod error;
mod few;
mod fresh;
mod group;
mod identify;
mod judge;
mod order;
mod plan;
mod precision;
mod preflight;
mod propose;
mod settle;
mod shrink;
mod state;
mod stop;
mod summary;
mod wider;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use qkvet_spec::{
    Chosen, Contract, Dtype, Event, Fit, Notice, Quoted, RunInfo, Summary, Unexpected, Warning,
};

use crate::config::{CaseSource, RunConfig, meaning_of, names};
use crate::store::Store;
use call::Workers;
pub use call::threads_of;
use case::JudgedCase;
pub(crate) use case::right_on;
use describe::{describe, keep_undecided};
pub use error::RunError;
pub(crate) use group::{cause_of, undeclared as undeclared_cause};
use plan::Plan;
use precision::{Precision, precisions};
use propose::Proposals;
pub(crate) use settle::puts_true;
use settle::settle;
use shrink::{shown, shown_convention, shown_precision};
use state::RunState;
use stop::Deadline;
use wider::{Wider, wider};

/// Tests what every verdict rests on: rounding, subnormal numbers, the exponential, matrix
/// products.
///
/// # Errors
/// What does not hold: no verdict may be given then.
pub fn self_test() -> Result<(), RunError> {
    Ok(qkvet_engine::selftest::self_test()?)
}

/// Runs everything and tells about it.
///
/// # Errors
/// A target that cannot be started, a specification that is wrong, a folder that cannot be written.
/// Whatever the target does once started is a verdict, not an error.
pub fn run(config: &RunConfig<'_>, events: &mut dyn FnMut(Event)) -> Result<Summary, RunError> {
    let deadline = config.time.and_then(Deadline::after);
    self_test()?;
    let is_compiled = Arc::new(AtomicBool::new(false));
    let mut first = call::open(config, &is_compiled)?;
    let fit = preflight::required(config, preflight::fit(config, &mut first))
        .filter(|fit| config.cases.is_changed_by(fit));
    let mut plan = Plan::of(config, fit.as_ref())?;
    let targets = call::open_others(config, first, plan.cases.len())?;
    let store = config.store.as_deref().map(|folder| Store::open(folder, config));
    let mut workers = Workers { config, store: store.as_ref(), targets };
    let of = plan.cases.len();
    config.until.into_iter().for_each(|first| plan.cut(first));
    let mut run = info(config, plan.cases.len(), &workers, fit.as_ref());
    events(Event::Started(Box::new(run.clone())));
    if let Some(fit) = fit {
        let name = config.cases.name();
        events(Event::Notice(Notice::Fitted { suite: name.to_owned(), fit: Box::new(fit) }));
    }
    let lost = || store.as_ref().and_then(Store::lost);
    let lost_at_first = lost();
    lost_at_first.iter().for_each(|error| events(cases_lost(error)));

    let declared = meaning_of(&config.conventions);
    let (total, mut proposals) = (plan.cases.len(), Proposals::default());
    let mut follow = |cases: &[JudgedCase<'_>]| {
        if let Some(last) = cases.last() {
            events(Event::Case { done: cases.len(), total, verdict: last.verdict() });
        }
        if is_compiled.swap(false, Ordering::Relaxed) {
            events(Event::Notice(Notice::Compiled));
        }
        let (meaning, conventions) = (&declared, &config.conventions[..]);
        let so_far = RunState { config, cases, meaning, conventions, stopped: None };
        if config.proposes {
            proposals.after(&so_far, events);
        }
    };
    let (mut cases, mut stopped) =
        judge::judge(&mut workers, &mut plan, &declared, deadline.as_ref(), &mut follow)?;
    if plan.cases.len() < of {
        run.cases = plan.cases.len();
        run.chosen.push(Chosen::First { of });
    }
    judge::discount_refusals(config, &mut cases);

    let (mut meaning, mut conventions) = (declared, config.conventions.clone());
    let mut findings = Vec::new();
    let as_declared = RunState {
        config,
        cases: &cases,
        meaning: &meaning,
        conventions: &conventions,
        stopped: stopped.as_ref(),
    };
    let (mut instead, mut judged_again) = (Vec::new(), Vec::new());
    if let Some(Wider { contracts, group, judged }) = wider(&as_declared) {
        if let Some(shown) = shown(&as_declared, &mut workers, group)? {
            findings.extend(describe(&as_declared, &workers, shown)?);
        }
        instead.extend(contracts);
        judged_again.extend(judged);
    }
    for Precision { dtype, contract, group, judged } in precisions(&as_declared, &mut workers)? {
        if let Some(shown) = shown_precision(&as_declared, &mut workers, group, &contract)? {
            findings.extend(describe(&as_declared, &workers, shown)?);
        }
        instead.push((dtype, contract));
        judged_again.extend(judged);
    }
    for (at, case) in judged_again {
        cases[at] = JudgedCase { turn: cases[at].turn, ..case };
    }
    // Everything else is judged, and put again, by what holds.
    let mut contracts = config.contracts.clone();
    contracts.extend(instead.iter().map(|(dtype, contract)| (*dtype, contract)));
    run.contracts = named(&contracts);
    let config = &RunConfig { contracts, ..config.clone() };
    let mut workers = Workers { config, ..workers };
    let before = RunState {
        config,
        cases: &cases,
        meaning: &meaning,
        conventions: &conventions,
        stopped: stopped.as_ref(),
    };
    let (settled, stopped_again) = settle(&before, &mut workers, &mut plan, events)?;
    if let Some(settled) = settled {
        for convention in &settled.conventions {
            if let Some(shown) = shown_convention(&before, &mut workers, convention, &settled)? {
                findings.extend(describe(&before, &workers, shown)?);
            }
        }
        // Whatever is put from now on is put as a replay under these conventions puts it.
        workers = settled.workers.unwrap_or(workers);
        (cases, meaning) = (settled.cases, settled.meaning);
        conventions.extend(settled.conventions);
    }
    stopped = stopped.or(stopped_again);
    let is_idle = judge::require(config, workers.targets[0].fit.as_ref(), &mut cases);

    let state = RunState {
        config,
        cases: &cases,
        meaning: &meaning,
        conventions: &conventions,
        stopped: stopped.as_ref(),
    };
    let mut groups = group::groups(&state);
    // First: a step in a narrower format takes a few calls, and a search for formulas that finds
    // nothing takes long.
    precision::name_steps(&state, &mut workers, &mut groups)?;
    let groups = identify::identified(&state, &mut workers, groups);
    for group in groups {
        if let Some(shown) = shown(&state, &mut workers, group)? {
            findings.extend(describe(&state, &workers, shown)?);
        }
    }
    proposals.end(state.cases, &findings, events);

    let mut summary = summary::summary(config, run, cases, findings, stopped);
    if is_idle {
        let required = config.required.to_string();
        summary.warnings.push(Warning::NothingRequired { required });
    }
    keep_undecided(&conventions, &workers, &plan.cases, &mut summary)?;
    if lost_at_first.is_none() {
        lost().iter().for_each(|error| events(cases_lost(error)));
    }
    events(Event::Finished(Box::new(summary.clone())));
    Ok(summary)
}

/// Without a place to write to the verdicts are the same; only what should be left behind is lost.
fn cases_lost(error: &Unexpected) -> Event {
    Event::Warning(Warning::CasesLost { error: Box::new(error.clone()) })
}

/// Names of contracts by format.
fn named(contracts: &BTreeMap<Dtype, &Contract>) -> BTreeMap<String, String> {
    contracts.iter().map(|(dtype, one)| (dtype.to_string(), one.contract.clone())).collect()
}

fn info(
    config: &RunConfig<'_>,
    cases: usize,
    workers: &Workers<'_, '_>,
    fit: Option<&Fit>,
) -> RunInfo {
    let (target, open) = (config.target, &workers.targets[0]);
    let told = target.adapter.stored_call().device;
    RunInfo {
        tool: format!("qkvet {}", env!("CARGO_PKG_VERSION")),
        target: target.name.clone(),
        environment: open.environment.clone(),
        suite: config.cases.name().to_owned(),
        suite_version: config.cases.version(),
        seed: config.cases.seed(),
        conventions: names(&config.conventions),
        contracts: named(&config.contracts),
        cases,
        source: target.adapter.source(&target.name),
        device: told.map(Quoted::new).or_else(|| open.device.clone()),
        is_layer: open.is_layer,
        chosen: config.cases.chosen(config),
        takes: config.cases.takes(config, fit),
        fit: match config.cases {
            CaseSource::Suite { suite, .. } => fit.or(suite.fit.as_ref()).cloned(),
            CaseSource::Frozen { .. } | CaseSource::Own { .. } => None,
        },
        configuration: config.configuration.clone(),
    }
}
