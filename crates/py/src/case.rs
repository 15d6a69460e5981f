//! Cases one by one, for test runners that want a test each.

use pyo3::prelude::*;
use qkvet_engine::law::{Judge, evaluate};
use qkvet_gen::{build, case_id, check_case, from_token, plans, to_json, token};
use qkvet_run::answer::describe;
use qkvet_run::declared::{Declared, Selection};
use qkvet_run::run::self_test;
use qkvet_spec::{Case, CheckedLaw};

use crate::call::told;
use crate::interrupt::interruptible;
use crate::names::{self, catalog, invalid};
use crate::own::OwnFunction;

/// One input for one law.
#[pyclass(frozen, name = "Case", module = "qkvet._native")]
pub(crate) struct NativeCase {
    law: &'static CheckedLaw,
    case: Case,
}

#[pymethods]
impl NativeCase {
    /// Hash of the content.
    #[getter]
    fn id(&self) -> String {
        case_id(&self.case)
    }

    /// Law id.
    #[getter]
    fn law(&self) -> &str {
        &self.case.law
    }

    /// Format.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.case.dtype.name()
    }

    /// Format, extents and options in one line.
    #[getter]
    fn call(&self) -> String {
        describe(&self.case)
    }

    /// The options that are on.
    #[getter]
    fn options(&self) -> Vec<&'static str> {
        self.case.options.on().iter().map(|option| option.name()).collect()
    }

    /// The whole case in one line, if it is small.
    #[getter]
    fn token(&self) -> Option<String> {
        token(&self.case)
    }

    /// The whole case as JSON.
    fn json(&self) -> String {
        to_json(&self.case)
    }

    /// The verdict on a function, as JSON.
    #[expect(clippy::needless_pass_by_value, reason = "as Python passes them")]
    fn judge(
        &self,
        py: Python<'_>,
        answered: Py<PyAny>,
        conventions: Vec<String>,
        contracts: Vec<String>,
    ) -> PyResult<String> {
        let dtype = self.case.dtype;
        let declared = Declared::new(&conventions, &contracts, &[dtype]).map_err(invalid)?;
        py.detach(|| {
            self_test().map_err(invalid)?;
            let criteria = declared.criteria(dtype).map_err(invalid)?;
            let (meaning, contract) = (criteria.meaning(), criteria.contract);
            let judge = Judge { meaning: &meaning, contract };
            let mut target = OwnFunction::new(answered);
            let outcome = evaluate(self.law, &self.case, judge, &mut target).map_err(invalid)?;
            told(&criteria.judgment_of_case(outcome))
        })
    }
}

/// The cases of a suite, in order.
#[pyfunction]
pub(crate) fn cases(
    py: Python<'_>,
    suite: String,
    seed: u64,
    laws: Vec<String>,
    dtypes: Vec<String>,
) -> PyResult<Vec<NativeCase>> {
    interruptible(py, move || {
        let dtypes = names::dtypes(&dtypes)?;
        let Selection { suite, laws, dtypes } =
            Selection::new(&suite, &laws, &dtypes).map_err(invalid)?;
        let made = plans(suite, &laws, &dtypes, seed).into_iter().map(|plan| {
            let law = catalog()?.asking_law(&plan.law).map_err(invalid)?;
            Ok(NativeCase { law, case: build(law, &plan).map_err(invalid)? })
        });
        made.collect()
    })
}

/// The case that a token holds.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as Python passes them")]
pub(crate) fn case_of_token(text: String) -> PyResult<NativeCase> {
    let case = from_token(&text).map_err(invalid)?;
    let law = catalog()?.asking_law(&case.law).map_err(invalid)?;
    check_case(law, &case).map_err(invalid)?;
    Ok(NativeCase { law, case })
}
