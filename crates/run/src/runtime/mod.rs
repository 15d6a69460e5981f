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
/// and no comments.
fn worker(parts: &[&str]) -> [String; 3] {
    let source = joined(&[&[START, LOAD, ARRAYS, THREADS, WORKER], parts].concat());
    let is_code = |line: &&str| !line.trim_start().starts_with('#');
    let narrow = |line: &str| {
        let text = line.trim_start_matches(' ');
        let spaces = line.len() - text.len();
        format!("{}{text}\n", " ".repeat(spaces / 4 + spaces % 4))
    };
    ["-u".to_owned(), "-c".to_owned(), source.lines().filter(is_code).map(narrow).collect()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_fit_a_command_line() {
        for [.., source] in [function_worker(), onnx_worker()] {
            let n = source.len();
            assert!(n < 32_000, "Windows takes 32,767 characters, got {n}");
        }
    }
}
