//! Runs of a suite on a function of this process, and probes of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use pyo3::prelude::*;
use qkvet_report::English;
use qkvet_run::adapters::{NamedTarget, Recorded};
use qkvet_run::config::{CaseSource, RunConfig};
use qkvet_run::declared::{Declared, Selection};
use qkvet_run::probing;
use qkvet_run::record::{Recording, Sharding, read_shards, write_shard};
use qkvet_run::run::run;
use qkvet_spec::{Event, Summary, SummaryDocument};

use crate::interrupt::{SIGNALS_EVERY, interruptible};
use crate::names::{catalog, dtypes as dtypes_of, invalid};
use crate::own;

/// Whether names of conventions and contracts are known, and the contracts of these formats.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as Python passes them")]
pub(crate) fn declared(
    dtypes: Vec<String>,
    conventions: Vec<String>,
    contracts: Vec<String>,
) -> PyResult<()> {
    let dtypes = dtypes_of(&dtypes)?;
    Declared::new(&conventions, &contracts, &dtypes).map(drop).map_err(invalid)
}

/// A run, or one shard of it, which is written to a file: the summary as JSON, and the report for
/// people.
#[pyfunction]
#[pyo3(signature = (answered, name, info, suite, seed, laws, dtypes, conventions, contracts, fail_fast, shard = None))]
#[expect(
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    reason = "as Python passes them"
)]
pub(crate) fn check(
    py: Python<'_>,
    answered: Py<PyAny>,
    name: String,
    info: String,
    suite: String,
    seed: u64,
    laws: Vec<String>,
    dtypes: Vec<String>,
    conventions: Vec<String>,
    contracts: Vec<String>,
    fail_fast: bool,
    shard: Option<(String, PathBuf)>,
) -> PyResult<(String, String)> {
    let dtypes = dtypes_of(&dtypes)?;
    let Selection { suite, laws, dtypes } =
        Selection::new(&suite, &laws, &dtypes).map_err(invalid)?;
    let declared = Declared::new(&conventions, &contracts, &dtypes).map_err(invalid)?;
    let (target, stop) =
        (own::named(py, &name, &answered, &info), Arc::new(AtomicBool::new(false)));
    let sharding = |of: &String| {
        Ok::<_, PyErr>(Sharding {
            shard: of.parse().map_err(|error| invalid(format!("shard at {of}: {error}")))?,
            recording: Recording::until(Arc::clone(&stop)),
        })
    };
    let cases = CaseSource::Suite { suite, seed };
    let config = RunConfig {
        laws,
        conventions: declared.conventions.clone(),
        contracts: declared.by_dtype(),
        dtypes,
        fail_fast: fail_fast.into(),
        sharding: shard.as_ref().map(|(of, _)| sharding(of)).transpose()?,
        ..RunConfig::of(&English, catalog()?, &target, cases, &stop)
    };
    let summary = watched(py, &config)?;
    if let (Some(sharding), Some((_, path))) = (&config.sharding, &shard) {
        write_shard(path, &config, sharding, &summary).map_err(invalid)?;
    }
    reported(&summary)
}

/// The run that shards are of: their answers judged, and the function asked what none of them
/// asked.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as Python passes them")]
pub(crate) fn merge(
    py: Python<'_>,
    answered: Py<PyAny>,
    name: String,
    info: String,
    shards: Vec<PathBuf>,
) -> PyResult<(String, String)> {
    let joined = read_shards(&shards).map_err(invalid)?;
    let header = joined.header.clone();
    let laws = header.checked_laws(env!("CARGO_PKG_VERSION")).map_err(invalid)?;
    let conventions = Declared::new(&header.conventions, &[], &[]).map_err(invalid)?.conventions;
    let live = own::named(py, &name, &answered, &info).adapter;
    let recorded = Arc::new(Recorded::new(joined, Some(live)));
    let target = NamedTarget::new(header.target, Arc::clone(&recorded));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let stop = AtomicBool::new(false);
    let cases = CaseSource::Suite { suite: &header.suite, seed: header.seed };
    let config = RunConfig {
        laws: laws.iter().collect(),
        conventions,
        contracts: header.contracts.iter().map(|(dtype, contract)| (*dtype, contract)).collect(),
        dtypes: header.dtypes,
        jobs: if recorded.has_broken() { 1 } else { cores },
        fail_fast: header.fail_fast.into(),
        ..RunConfig::of(&English, catalog()?, &target, cases, &stop)
    };
    let summary = watched(py, &config)?;
    recorded.trouble().map_or_else(|| reported(&summary), |trouble| Err(invalid(trouble)))
}

fn reported(summary: &Summary) -> PyResult<(String, String)> {
    let document = SummaryDocument::new(summary, &English);
    let json = serde_json::to_string(&document).map_err(invalid)?;
    Ok((json, qkvet_report::plain(&qkvet_report::render(summary))))
}

/// The run, which a signal ends: the function is called from other threads, and this one looks for
/// Ctrl-C.
fn watched(py: Python<'_>, config: &RunConfig<'_>) -> PyResult<Summary> {
    let (summary, raised) = py.detach(|| {
        let mut raised = None;
        let mut looked = now();
        let summary = run(config, &mut |event| {
            if matches!(event, Event::Case { .. }) && looked.elapsed() > SIGNALS_EVERY {
                looked = now();
                if let Err(error) = Python::attach(|py| py.check_signals()) {
                    config.stop.store(true, Ordering::Relaxed);
                    raised = Some(error);
                }
            }
        });
        (summary, raised)
    });
    raised.map_or_else(|| summary.map_err(invalid), Err)
}

#[expect(clippy::disallowed_methods, reason = "when to look for a signal is no result")]
fn now() -> Instant {
    Instant::now()
}

/// What a function computes: JSON, the text for people, and the YAML for `qkvet.yaml`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as Python passes them")]
pub(crate) fn probe(
    py: Python<'_>,
    answered: Py<PyAny>,
    name: String,
    info: String,
    dtype: String,
    conventions: Vec<String>,
    contracts: Vec<String>,
) -> PyResult<(String, String, String)> {
    let dtypes = dtypes_of(std::slice::from_ref(&dtype))?;
    let declared = Declared::new(&conventions, &contracts, &dtypes).map_err(invalid)?;
    let (stop, told) = (Arc::new(AtomicBool::new(false)), dtypes[0]);
    let target = own::stoppable(py, &name, &answered, &info, Some(&stop));
    let probe = interruptible(py, move || {
        qkvet_run::run::self_test().map_err(invalid)?;
        let contract = declared.contract(told).map_err(invalid)?;
        probing::probe(&target, contract, told, &declared.conventions, catalog()?).map_err(invalid)
    });
    // The function is not called again by who goes on behind.
    stop.store(true, Ordering::Relaxed);
    let probe = probe?;
    let json = qkvet_report::json_document(&probe).map_err(invalid)?;
    Ok((
        json,
        qkvet_report::plain(&qkvet_report::probe_text(&probe)),
        qkvet_report::probe_yaml(&probe),
    ))
}
