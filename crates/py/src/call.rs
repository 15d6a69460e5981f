//! A call and what came back, between storage bits and tensors; judging one answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use qkvet_engine::interpret::interpret;
use qkvet_engine::lowering::ResultName;
use qkvet_gen::frozen::{call_from_npz, call_to_npz};
use qkvet_gen::{call_id, check_call};
use qkvet_report::English;
use qkvet_run::answer::Criteria;
use qkvet_run::declared::Declared;
use qkvet_run::run::self_test;
use qkvet_spec::{
    Call, CallOptions, Dialect, Dtype, Judgment, Output, Response, Sentence, Target, Window, Words,
};

use crate::bits::{Bits, mask, tensor};
use crate::interrupt::interruptible;
use crate::names::{catalog, invalid};
use crate::own::OwnFunction;

/// A verdict as JSON, its text for people among the fields.
pub(crate) fn told(judgment: &Judgment) -> PyResult<String> {
    let mut fields = serde_json::to_value(judgment).map_err(invalid)?;
    fields["text"] = qkvet_report::judgment(judgment, Dialect::Python).into();
    if let Some(cause) = &judgment.explanation {
        let said = |sentence: Sentence| sentence.to_string();
        fields["explanation"] = serde_json::json!({
            "title": said(English.title(cause)),
            "cause": English.cause(cause, &[]).map(said),
            "declare": cause.convention(),
            "hint": English.hint(cause, &[], Dialect::Python).map(said),
            "facts": cause,
        });
    }
    Ok(fields.to_string())
}

/// One call of attention.
#[pyclass(frozen, name = "Call", module = "qkvet._native")]
pub(crate) struct NativeCall {
    call: Arc<Call>,
}

#[pymethods]
impl NativeCall {
    /// Of tensors by name and the options that are numbers.
    #[new]
    #[pyo3(signature = (tensors, *, scale=None, causal=false, softcap=None, window=None, key_lengths=None, query_lengths=None))]
    #[expect(clippy::needless_pass_by_value, reason = "as Python passes them")]
    fn new(
        tensors: BTreeMap<String, Bits>,
        scale: Option<f64>,
        causal: bool,
        softcap: Option<f64>,
        window: Option<(Option<usize>, Option<usize>)>,
        key_lengths: Option<Vec<usize>>,
        query_lengths: Option<Vec<usize>>,
    ) -> PyResult<Self> {
        let optional = |name: &str| tensors.get(name).map(|bits| tensor(name, bits)).transpose();
        let needed = |name: &str| {
            optional(name)?.ok_or_else(|| {
                PyValueError::new_err(format!("{name}: expected an array, got none"))
            })
        };
        // Farther than all keys is as far as any.
        let most = tensors.values().flat_map(|bits| bits.1.iter().copied()).max().unwrap_or(0);
        let side = |side: Option<usize>| side.map(|side| side.min(most));
        let window = window.map(|(left, right)| Window { left: side(left), right: side(right) });
        let options = CallOptions {
            scale,
            causal,
            mask: tensors.get("mask").map(mask).transpose()?,
            bias: optional("bias")?,
            softcap,
            window: window.filter(|window| *window != Window::default()),
            sinks: optional("sinks")?,
            alibi_slopes: optional("alibi_slopes")?,
            key_lengths,
            query_lengths,
            packed: None,
        };
        let (query, key, value) = (needed("query")?, needed("key")?, needed("value")?);
        let call = Call { query, key, value, options, return_weights: false, return_lse: false };
        check_call(&call).map_err(invalid)?;
        Ok(Self { call: Arc::new(call) })
    }

    /// Its id: the hash of its content.
    #[getter]
    fn id(&self) -> String {
        call_id(&self.call)
    }

    /// The call as a file that `--inputs` reads; an error if it would not.
    fn npz<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = call_to_npz(&self.call).map_err(invalid)?;
        call_from_npz(&bytes).map_err(invalid)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The verdict on an output, as JSON; of a pass, its margin only if it is `measured`.
    #[expect(clippy::needless_pass_by_value, reason = "as Python passes them")]
    fn judge(
        &self,
        py: Python<'_>,
        output: Bits,
        conventions: Vec<String>,
        contract: Option<String>,
        measured: bool,
    ) -> PyResult<String> {
        let output = Output::of(tensor("out", &output)?);
        let declared = Declared::new(&conventions, contract.as_slice(), &[self.call.dtype()])
            .map_err(invalid)?;
        let call = Arc::clone(&self.call);
        interruptible(py, move || {
            self_test().map_err(invalid)?;
            let criteria = declared.criteria(call.dtype()).map_err(invalid)?;
            let judge = if measured { Criteria::judgment } else { Criteria::assertion };
            told(&judge(&criteria, &call, &output))
        })
    }

    /// Asks a function so often, as a run does, and judges nothing: for measuring.
    fn ask(&self, py: Python<'_>, answered: Py<PyAny>, times: usize) -> PyResult<()> {
        let mut function = OwnFunction::new(answered);
        py.detach(|| {
            (0..times).try_for_each(|_| match function.call(&self.call) {
                Response::Output(_) => Ok(()),
                other => {
                    Err(PyValueError::new_err(format!("answer: expected an output, got {other:?}")))
                }
            })
        })
    }

    /// Midpoint and radius of the exact output as float64 bits, and their shape.
    #[expect(clippy::needless_pass_by_value, reason = "as Python passes them")]
    fn reference<'py>(
        &self,
        py: Python<'py>,
        conventions: Vec<String>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>, [usize; 4])> {
        let declared = Declared::new(&conventions, &[], &[]).map_err(invalid)?;
        let call = Arc::clone(&self.call);
        let (mid, rad, shape) = interruptible(py, move || {
            self_test().map_err(invalid)?;
            // The enclosure is that of the exact function: any contract will do.
            let contract = catalog()?.default_contract(Dtype::Float64).map_err(invalid)?;
            let expected = interpret(&declared.meaning(), &call, contract, ResultName::Output);
            let bits = |of: fn(&qkvet_engine::ball::Ball) -> f64| {
                expected.exact.iter().flat_map(|ball| of(ball).to_le_bytes()).collect::<Vec<u8>>()
            };
            Ok::<_, PyErr>((bits(|ball| ball.mid), bits(|ball| ball.rad), expected.shape))
        })?;
        Ok((PyBytes::new(py, &mid), PyBytes::new(py, &rad), shape))
    }
}
