//! Names that users write, looked up; what is wrong is an error of Python's own.

use std::fmt::Display;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use qkvet_run::declared::embedded;
use qkvet_spec::{Catalog, Dtype, Unexpected};

/// What a user can cause, as Python's own word for it.
pub(crate) fn invalid(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The embedded catalog.
pub(crate) fn catalog() -> PyResult<&'static Catalog> {
    embedded().map_err(invalid)
}

/// The formats of these names.
pub(crate) fn dtypes(names: &[String]) -> PyResult<Vec<Dtype>> {
    let find = |name: &String| {
        Dtype::CHECKED.into_iter().find(|dtype| dtype.name() == name).ok_or_else(|| {
            let known = Dtype::CHECKED.map(Dtype::name).join(", ");
            Unexpected::at("dtype", format!("one of {known}")).quoted(name)
        })
    };
    names.iter().map(find).collect::<Result<_, _>>().map_err(invalid)
}
