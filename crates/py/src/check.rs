//! Runs of a suite on a function of this process, and probes of it.

use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use qkvet_run::declared::{Declared, Selection, embedded};
use qkvet_run::probing;
use qkvet_run::runner::{CaseSource, RunConfig, run};
use qkvet_spec::{Catalog, Event};

use crate::own;

/// A signal is looked for this often.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

/// What a user can cause, as Python's own word for it.
pub(crate) fn invalid(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub(crate) fn catalog() -> PyResult<&'static Catalog> {
    embedded().map_err(invalid)
}

/// A run: the summary as JSON, and the report for people.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, clippy::too_many_arguments, reason = "as Python passes them")]
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
) -> PyResult<(String, String)> {
    let dtypes = own::dtypes(&dtypes).map_err(invalid)?;
    let Selection { suite, laws, dtypes } = Selection::new(&suite, &laws, &dtypes).map_err(invalid)?;
    let declared = Declared::new(&conventions, &contracts, &dtypes).map_err(invalid)?;
    let (target, stop) = (own::named(py, &name, &answered, &info), AtomicBool::new(false));
    let config = RunConfig {
        catalog: catalog()?,
        target: &target,
        cases: CaseSource::Suite { suite, seed },
        laws,
        conventions: declared.conventions.clone(),
        contracts: declared.contracts.iter().map(|(dtype, contract)| (*dtype, contract)).collect(),
        dtypes,
        jobs: 1,
        fail_fast,
        store: None,
        sharding: None,
        stop: &stop,
    };
    // The function is called from another thread, and this one looks for Ctrl-C.
    let (summary, raised) = py.detach(|| {
        let mut raised = None;
        let mut looked = now();
        let summary = run(&config, &mut |event| {
            if matches!(event, Event::Case { .. }) && looked.elapsed() > SIGNALS_EVERY {
                looked = now();
                if let Err(error) = Python::attach(|py| py.check_signals()) {
                    stop.store(true, Ordering::Relaxed);
                    raised = Some(error);
                }
            }
        });
        (summary, raised)
    });
    if let Some(error) = raised {
        return Err(error);
    }
    let summary = summary.map_err(invalid)?;
    let json = serde_json::to_string(&summary).map_err(invalid)?;
    Ok((json, qkvet_report::plain(&qkvet_report::render(&summary))))
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
    let dtypes = own::dtypes(std::slice::from_ref(&dtype)).map_err(invalid)?;
    let declared = Declared::new(&conventions, &contracts, &dtypes).map_err(invalid)?;
    let target = own::named(py, &name, &answered, &info);
    let probe = py.detach(|| {
        qkvet_run::runner::self_test().map_err(invalid)?;
        let contract = declared.contract(dtypes[0]).map_err(invalid)?;
        probing::probe(&target, contract, dtypes[0], &declared.conventions, catalog()?).map_err(invalid)
    })?;
    let json = qkvet_report::probe_json(&probe).map_err(invalid)?;
    Ok((json, qkvet_report::plain(&qkvet_report::probe_text(&probe)), qkvet_report::probe_yaml(&probe)))
}
