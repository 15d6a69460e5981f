//! The Python runtime: the parts of one source that loads a function or a model, maps the
//! arguments, makes the arrays, calls, and collects the results. The worker, the scripts of
//! findings and the Python package run the same parts. `LOAD` comes first, for it has the imports.

pub(crate) const ARRAYS: &str = include_str!("arrays.py");
pub(crate) const CALL: &str = include_str!("call.py");
pub(crate) const FORM: &str = include_str!("form.py");
pub(crate) const GRAPH: &str = include_str!("graph.py");
const LAYER: &str = include_str!("layer.py");
pub(crate) const LOAD: &str = include_str!("load.py");
pub(crate) const NUMBERS: &str = include_str!("numbers.py");
const ONNX: &str = include_str!("onnx.py");
const PROJECTIONS: &str = include_str!("projections.py");
pub(crate) const SIGNATURE: &str = include_str!("signature.py");
const START: &str = include_str!("start.py");
const THREADS: &str = include_str!("threads.py");
const WORKER: &str = include_str!("worker.py");

/// What calls a multi-head layer as attention; it stands on [`NUMBERS`].
pub(crate) const LAYERS: [&str; 2] = [PROJECTIONS, LAYER];

/// Parts as one source.
pub(crate) fn joined(parts: &[&str]) -> String {
    parts.join("\n\n")
}

/// How a Python function is read and called: `Caller` and what it stands on.
pub fn caller() -> String {
    joined(&[LOAD, FORM, SIGNATURE, ARRAYS, CALL, NUMBERS, PROJECTIONS, LAYER])
}

/// What the worker of functions is sent for a layer: not all of them need it, and a command line is
/// only so long.
pub(crate) fn layers() -> String {
    joined(&[NUMBERS, PROJECTIONS, LAYER])
}

/// The arguments of Python for the worker of functions.
pub(crate) fn function_worker() -> [String; 3] {
    worker(&[FORM, SIGNATURE, CALL, "main(Target)\n"])
}

/// The arguments of Python for the worker of models and backends.
pub(crate) fn onnx_worker() -> [String; 3] {
    worker(&[GRAPH, ONNX, "main(Onnx)\n"])
}

/// Python source as an argument, which some systems want short: one space of indentation for four,
/// no comments or empty lines, and a number for each docstring, which may be all of a body.
fn worker(parts: &[&str]) -> [String; 3] {
    let source = joined(&[&[START, LOAD, ARRAYS, THREADS, WORKER], parts].concat());
    let (mut code, mut is_inside) = (String::new(), false);
    for line in source.lines() {
        let text = line.trim_start_matches(' ');
        let begins = !is_inside && text.starts_with(QUOTES);
        let is_last = text[if begins { QUOTES.len() } else { 0 }..].ends_with(QUOTES);
        // No string of these files has such a comment in it.
        let (said, _) = text.split_once("  # ").unwrap_or((text, ""));
        if !is_inside && !said.is_empty() && !said.starts_with('#') {
            let spaces = line.len() - text.len();
            code.push_str(&" ".repeat(spaces / 4 + spaces % 4));
            code.push_str(if begins { "0" } else { said });
            code.push('\n');
        }
        is_inside = (is_inside || begins) && !is_last;
    }
    ["-u".to_owned(), "-c".to_owned(), code]
}

/// What docstrings stand between.
const QUOTES: &str = "\"\"\"";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_fit_a_command_line() {
        for [.., source] in [function_worker(), onnx_worker()] {
            let n = source.len();
            assert!(n < 31_000, "Windows takes 32,767 characters, got {n}");
        }
    }
}
