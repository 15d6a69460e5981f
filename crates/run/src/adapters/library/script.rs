//! How a script calls a function of a shared library: by `ctypes`, with the standard library alone.

use std::path::PathBuf;

use qkvet_engine::format::decode;
use qkvet_spec::{Call, Dtype};
use serde::{Deserialize, Serialize};

use super::script_arguments::{Written, WrittenCall};
use crate::adapters::python::Layout;
use crate::repro::literal::{Style, bytes, dict, float, floats, options, python, shape, string};
use crate::repro::{Caller, Ground};

const LIBRARY: &str = include_str!("script/library.py");
const PROTOTYPE: &str = include_str!("script/prototype.py");
const STRUCT: &str = include_str!("script/struct_abi.py");

/// A function of a shared library.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalledLibrary {
    /// Its file.
    pub(in crate::adapters) library: PathBuf,
    /// The prototype of the function; none: it takes the struct of ours.
    pub(in crate::adapters) prototype: Option<String>,
    pub(in crate::adapters) layout: Layout,
    pub(in crate::adapters) limit_s: f64,
}

impl CalledLibrary {
    /// How its function is called; `None` for a prototype that is none.
    pub(in crate::adapters) fn call(&self) -> Option<Option<WrittenCall>> {
        let written = |prototype: &String| WrittenCall::new(prototype, self.layout);
        self.prototype.as_ref().map_or(Some(None), |prototype| written(prototype).map(Some))
    }
}

/// A library and how its function is called.
pub(crate) struct LibraryCaller<'a> {
    pub(in crate::adapters) called: &'a CalledLibrary,
    /// By its prototype; none: by the struct of ours.
    pub(in crate::adapters) call: Option<WrittenCall>,
    /// Where the script lies.
    pub(in crate::adapters) ground: Ground<'a>,
}

impl Caller for LibraryCaller<'_> {
    fn needs(&self) -> String {
        "the library (or another, as argument)".to_owned()
    }

    fn is_inside(&self) -> bool {
        true
    }

    fn takes(&self, call: &Call) -> bool {
        self.call.as_ref().is_none_or(|written| written.arguments(call).is_some())
    }

    fn constants(&self) -> String {
        let file = self.ground.path(&self.called.library);
        let file = format!("FILE = sys.argv[1] if len(sys.argv) > 1 else {file}\n");
        let Some(written) = &self.call else { return file };
        let returns =
            written.returns().map_or_else(|| "None".to_owned(), |kind| format!("ctypes.{kind}"));
        let parameters: String = written
            .parameters()
            .map(|(name, kind)| format!("    ({}, ctypes.{kind}),\n", string(name)))
            .collect();
        format!(
            "{file}SYMBOL = {}\nRETURNS = {returns}\nPARAMETERS = [\n{parameters}]\nRESULTS = {}\nSWAPPED = {}  # whether heads come after positions\n",
            string(written.symbol()),
            dict(written.results()),
            python(self.called.layout == Layout::Bnhd),
        )
    }

    fn options(&self, call: &Call, style: Style) -> Vec<(String, String)> {
        let Some(written) = &self.call else {
            return options(call, style);
        };
        let arguments = written.arguments(call).unwrap_or_default();
        let named = written.parameters().zip(arguments);
        named.map(|((name, _), argument)| (name.to_owned(), literal(&argument, style))).collect()
    }

    fn ask(&self) -> Vec<&'static str> {
        vec![LIBRARY, if self.call.is_some() { PROTOTYPE } else { STRUCT }]
    }
}

/// What is passed for a parameter: a tensor of the call by its name, a tensor, a format and shape
/// for a result, a number.
fn literal(argument: &Written, style: Style) -> String {
    match argument {
        Written::Same(name) => string(name),
        Written::Input { dtype, bytes: raw } => input(dtype, raw, style),
        Written::Result { dtype, shape: extents } => {
            format!("({}, {})", string(dtype), shape(extents))
        }
        Written::Whole(n) => n.to_string(),
        Written::Real(x) => float(*x),
        Written::Null => "None".to_owned(),
    }
}

/// A row of numbers.
fn input(dtype: &str, raw: &[u8], style: Style) -> String {
    let (size, numbers) = match (dtype, Dtype::ALL.into_iter().find(|known| known.name() == dtype))
    {
        (_, Some(known)) => (known.size(), floats(decode(raw, known).into_iter(), Style::Decimals)),
        ("int32", _) => (4, wholes(raw, 4)),
        ("int64", _) => (8, wholes(raw, 8)),
        _ => (1, wholes(raw, 1)),
    };
    let extents = [raw.len() / size];
    match style {
        Style::Packed => bytes(dtype, &extents, raw),
        Style::Decimals => format!("({}, {}, {numbers})", string(dtype), shape(&extents)),
    }
}

/// Truth values, lengths or offsets of so many bytes: none is negative.
fn wholes(raw: &[u8], size: usize) -> String {
    let whole = |bytes: &[u8]| {
        bytes.iter().rev().fold(0_u64, |n, byte| n << 8 | u64::from(*byte)).to_string()
    };
    format!("[{}]", raw.chunks_exact(size).map(whole).collect::<Vec<_>>().join(", "))
}
