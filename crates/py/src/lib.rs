//! `qkvet._native`: thin bindings. Storage bits, numbers and ids in; reports as JSON and text out.
//! What Python users see is the layer above it, in `python/qkvet/`.

mod bits;
mod call;
mod case;
mod check;
mod interrupt;
mod known;
mod names;
mod own;
mod prove;

use pyo3::prelude::*;
use pyo3::types::PyModule;
use qkvet_spec::CallOption;

/// The bindings.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    // How a function is read and called: what the worker of `qkvet check` runs.
    module.add("CALLER", qkvet_run::runtime::caller())?;
    module.add(
        "OPTIONS",
        CallOption::ALL.into_iter().map(|option| option.name()).collect::<Vec<_>>(),
    )?;
    module.add_class::<call::NativeCall>()?;
    module.add_class::<case::NativeCase>()?;
    module.add_function(wrap_pyfunction!(case::cases, module)?)?;
    module.add_function(wrap_pyfunction!(case::case_of_token, module)?)?;
    module.add_function(wrap_pyfunction!(check::check, module)?)?;
    module.add_function(wrap_pyfunction!(check::declared, module)?)?;
    module.add_function(wrap_pyfunction!(check::merge, module)?)?;
    module.add_function(wrap_pyfunction!(own::layout, module)?)?;
    module.add_function(wrap_pyfunction!(check::probe, module)?)?;
    module.add_function(wrap_pyfunction!(known::find_known, module)?)?;
    module.add_function(wrap_pyfunction!(known::outcome, module)?)?;
    module.add_function(wrap_pyfunction!(known::read_known_file, module)?)?;
    module.add_function(wrap_pyfunction!(prove::prove, module)?)?;
    Ok(())
}
