//! A Python function of this process as a target.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use qkvet_run::adapters::python::{PythonInfo, gets_views, layout_of};
use qkvet_run::adapters::{Again, NamedTarget, OpenTarget, OwnTarget};
use qkvet_spec::{Call, Handling, Output, Response, Strides, Target};

use crate::bits::{Bits, tensor};
use crate::names::invalid;

/// The function behind `answered` of the caller's source, with that caller bound: tensors, numbers
/// and what is wanted in, an answer out.
pub(crate) struct OwnFunction {
    answered: Py<PyAny>,
    /// Held while it is called: nobody promised that it may be called twice at a time.
    turn: Arc<Mutex<()>>,
    /// Whether the caller's source puts calls as views.
    takes_views: bool,
    /// The case that calls belong to.
    case: Option<String>,
    /// Once set, nothing more is asked.
    stop: Option<Arc<AtomicBool>>,
}

impl OwnFunction {
    pub(crate) fn new(answered: Py<PyAny>) -> Self {
        Self { answered, turn: Arc::default(), takes_views: false, case: None, stop: None }
    }
}

impl OwnFunction {
    fn asked(&self, call: &Call, lies: Option<&str>) -> Response {
        if self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Response::NotAsked("interrupted".into());
        }
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let beside = (self.case.as_deref(), lies, None);
        Python::attach(|py| {
            answer(py, &self.answered, call, beside)
                .unwrap_or_else(|error| Response::Error(error.to_string().into()))
        })
    }
}

impl Target for OwnFunction {
    fn call(&mut self, call: &Call) -> Response {
        self.asked(call, None)
    }

    fn call_contiguous(&mut self, call: &Call) -> Response {
        self.asked(call, Some("contiguous"))
    }

    fn call_transposed(&mut self, call: &Call) -> Option<Response> {
        Some(self.asked(call, Some("transposed")))
    }

    fn puts_views(&self, call: &Call) -> bool {
        self.takes_views && gets_views(call)
    }

    fn begin(&mut self, case: &str) {
        self.case = Some(case.to_owned());
    }
}

/// The order of axes in which the function takes a call, where `info` declares none.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as Python passes them")]
pub(crate) fn layout(py: Python<'_>, answered: Py<PyAny>, info: String) -> PyResult<&'static str> {
    let info: PythonInfo = serde_json::from_str(&info).map_err(invalid)?;
    let found = layout_of(&info, |layout, call| {
        answer(py, &answered, call, (None, None, Some(layout.name())))
            .unwrap_or_else(|error| Response::Error(error.to_string().into()))
    });
    Ok(found.name())
}

/// The target of this name.
pub(crate) fn named(py: Python<'_>, name: &str, answered: &Py<PyAny>, info: &str) -> NamedTarget {
    stoppable(py, name, answered, info, None)
}

/// The same; once `stop` is set, nothing more is asked of it.
pub(crate) fn stoppable(
    py: Python<'_>,
    name: &str,
    answered: &Py<PyAny>,
    info: &str,
    stop: Option<&Arc<AtomicBool>>,
) -> NamedTarget {
    let stop = stop.cloned();
    let info = serde_json::from_str::<PythonInfo>(info).ok();
    let environment = info.as_ref().map(PythonInfo::describe).unwrap_or_default();
    let takes_views = info.as_ref().is_some_and(PythonInfo::takes_views);
    let fit = info.as_ref().and_then(PythonInfo::fit);
    let is_layer = info.is_some_and(|info| info.layer);
    let (answered, turn) = (answered.clone_ref(py), Arc::<Mutex<()>>::default());
    let open = move || {
        let answered = Python::attach(|py| answered.clone_ref(py));
        let function = OwnFunction {
            answered,
            turn: Arc::clone(&turn),
            takes_views,
            case: None,
            stop: stop.clone(),
        };
        OpenTarget { is_layer, ..OpenTarget::live(function, environment.clone()) }
    };
    let own = OwnTarget::new(open, again).with_views(takes_views).with_fit(fit);
    NamedTarget::new(name, own)
}

/// `qkvet.replay(function, 'qk1:…', contract='f32')`. Neither tokens nor names hold what Python
/// would read otherwise.
fn again(Again { token, conventions, contract }: &Again<'_>) -> String {
    let conventions: Vec<String> = conventions.iter().map(|one| format!("'{one}'")).collect();
    let declared = if conventions.is_empty() {
        String::new()
    } else {
        format!(", convention=[{}]", conventions.join(", "))
    };
    format!("qkvet.replay(function, '{token}'{declared}, contract='{contract}')")
}

/// What the caller's source tells of a call beside its numbers.
fn handling(told: &Bound<'_, PyAny>) -> PyResult<Handling> {
    let strides = match told.get_item("strides")?.extract::<String>()?.as_str() {
        "transposed" => Strides::Transposed,
        "declined" => Strides::Declined,
        _ => Strides::Contiguous,
    };
    Ok(Handling { strides, reuses_result: told.get_item("reuses_result")?.is_truthy()? })
}

fn answer(
    py: Python<'_>,
    answered: &Py<PyAny>,
    call: &Call,
    beside: (Option<&str>, Option<&str>, Option<&str>),
) -> PyResult<Response> {
    let tensors = PyDict::new(py);
    for (name, dtype, shape, bits) in qkvet_run::tensors(call) {
        let tensor = (dtype.name(), shape.into_owned(), PyBytes::new(py, &bits));
        tensors.set_item(name, tensor)?;
    }
    let params = serde_json::to_string(&qkvet_run::params(call)).map_err(invalid)?;
    let (case, lies, layout) = beside;
    let answer = answered.bind(py).call1((tensors, params, case, lies, layout))?;
    let answer = answer.cast_into::<PyDict>()?;
    let item = |name: &str| answer.get_item(name).map(|item| item.filter(|item| !item.is_none()));
    let reason = || item("reason")?.map_or_else(|| Ok(String::new()), |reason| reason.extract());
    let status: String =
        item("status")?.map_or_else(|| Ok(String::new()), |status| status.extract())?;
    Ok(match status.as_str() {
        "ok" => {
            let tensors: std::collections::BTreeMap<String, Bits> = item("tensors")?.map_or_else(
                || Ok(std::collections::BTreeMap::default()),
                |found| found.extract(),
            )?;
            let read = |name: &str| tensors.get(name).map(|bits| tensor(name, bits)).transpose();
            let Some(output) = read("output")? else {
                return Ok(Response::Malformed("no output".into()));
            };
            let (weights, lse) = (read("weights")?, read("lse")?);
            let inputs_unchanged =
                item("inputs_unchanged")?.is_none_or(|same| same.is_truthy().unwrap_or(true));
            let handling =
                item("python")?.map(|told| handling(&told)).transpose()?.unwrap_or_default();
            Response::Output(Box::new(Output { output, weights, lse, inputs_unchanged, handling }))
        }
        "unsupported" => Response::Unsupported(reason()?.into()),
        "refused" => Response::Refused(reason()?.into()),
        "malformed" => Response::Malformed(reason()?.into()),
        _ => Response::Error(reason()?.into()),
    })
}
