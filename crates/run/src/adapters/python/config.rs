//! What to start and how: the reference to a function, the options of a Python target, and what it
//! told about itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use qkvet_spec::{Alike, Call, CallOption, Fit, Quoted, ResultName, Unexpected};
use serde::{Deserialize, Serialize};

/// How often a worker that died or was ended is replaced: importing a library takes seconds.
const MAX_RESTARTS: u32 = 10;

/// Where the function under test is defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PythonSource {
    /// A module by its dotted name, looked up in [`PythonConfig::folder`] first.
    Module(String),
    /// A file.
    File(PathBuf),
}

/// `pkg.mod:fn` or `path/file.py:fn`.
///
/// # Example
/// ```
/// use qkvet_run::adapters::python::{PythonRef, PythonSource};
/// let target: PythonRef = "examples/attn.py:Layers.attention".parse()?;
/// assert_eq!(target.source, PythonSource::File("examples/attn.py".into()));
/// assert_eq!(target.function, "Layers.attention");
/// # Ok::<(), qkvet_spec::Unexpected>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonRef {
    /// Module or file.
    pub source: PythonSource,
    /// Function, dotted where it is an attribute of something.
    pub function: String,
}

impl FromStr for PythonRef {
    type Err = Unexpected;

    fn from_str(text: &str) -> Result<Self, Unexpected> {
        let expected = "`package.module:function` or `path/file.py:function`";
        let wrong = || Unexpected::at("python target", expected).quoted(text);
        let dotted = |name: &str| {
            name.split('.').all(|part| {
                !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_')
            })
        };
        let (source, function) = text.rsplit_once(':').ok_or_else(wrong)?;
        if !dotted(function) {
            return Err(wrong());
        }
        let source = if Path::new(source).extension().is_some_and(|e| e == "py")
            || source.contains(['/', '\\'])
        {
            PythonSource::File(source.into())
        } else if dotted(source) {
            PythonSource::Module(source.to_owned())
        } else {
            return Err(wrong());
        };
        Ok(Self { source, function: function.to_owned() })
    }
}

impl std::fmt::Display for PythonRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.source {
            PythonSource::Module(name) => write!(f, "{name}:{}", self.function),
            PythonSource::File(path) => write!(f, "{}:{}", path.display(), self.function),
        }
    }
}

/// Library of the arrays that the function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Arrays {
    /// `NumPy` arrays.
    Numpy,
    /// `PyTorch` tensors.
    Torch,
    /// JAX arrays.
    Jax,
}

/// Order of the axes of query, key, value and output; mask, bias and weights keep theirs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Batch, heads, positions, width.
    #[default]
    Bhnd,
    /// Batch, positions, heads, width.
    Bnhd,
    /// Batch, positions, width: one head. Of a Python function, masks, biases, weights and
    /// log-sum-exps go without the axis of heads too.
    Bnd,
    /// Positions, width: one item and one head. Masks and their like as in [`Layout::Bnd`].
    Nd,
}

impl Layout {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Bhnd, Self::Bnhd, Self::Bnd, Self::Nd];

    /// As flags and files write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bhnd => "bhnd",
            Self::Bnhd => "bnhd",
            Self::Bnd => "bnd",
            Self::Nd => "nd",
        }
    }

    /// The axes, one after the other.
    pub fn axes(self) -> &'static str {
        match self {
            Self::Bhnd => "batch, heads, positions, width",
            Self::Bnhd => "batch, positions, heads, width",
            Self::Bnd => "batch, positions, width",
            Self::Nd => "positions, width",
        }
    }

    /// Whether arrays have an axis for heads.
    pub fn has_heads(self) -> bool {
        matches!(self, Self::Bhnd | Self::Bnhd)
    }

    /// The shape of an array of that many items and heads, as near as the layout comes to it.
    pub(super) fn fit(self) -> Fit {
        let heads = (!self.has_heads()).then_some(1);
        Fit { b: (self == Self::Nd).then_some(1), h_q: heads, h_k: heads, ..Fit::default() }
    }
}

/// How to start and call a Python target.
#[derive(Clone, Debug)]
pub struct PythonConfig {
    /// The interpreter; [`find_python`] chooses one.
    pub python: PathBuf,
    /// The function.
    pub target: PythonRef,
    /// Folder that modules are looked up in first; the current folder if absent. A file is looked
    /// up beside itself.
    pub folder: Option<PathBuf>,
    /// Library of the arrays; if absent, the one that importing the module loads.
    pub arrays: Option<Arrays>,
    /// Device of torch and jax arrays, such as `cuda:1`.
    pub device: Option<String>,
    /// Order of axes; if absent, the first of [`Layout::Bhnd`], [`Layout::Bnd`] and
    /// [`Layout::Nd`] in which the function takes a call.
    pub layout: Option<Layout>,
    /// Options that the function offers, for a function with `**kwargs` or without a signature.
    pub supports: Option<Vec<String>>,
    /// The argument for the mask takes the bias too, one of the two at a time.
    pub mask_takes_bias: bool,
    /// How often a process that died or was ended is replaced in one case.
    pub max_restarts: u32,
}

impl PythonConfig {
    /// Defaults: arrays by import, layout by a call, 10 restarts.
    pub fn new(python: impl Into<PathBuf>, target: PythonRef) -> Self {
        Self {
            python: python.into(),
            target,
            folder: None,
            arrays: None,
            device: None,
            layout: None,
            supports: None,
            mask_takes_bias: false,
            max_restarts: MAX_RESTARTS,
        }
    }
}

impl PythonRef {
    /// The same with its file as an absolute path, links resolved where the file exists.
    pub(in super::super) fn absolute(self, base: &Path) -> Self {
        let source = match self.source {
            PythonSource::File(path) => {
                let joined = base.join(path);
                PythonSource::File(joined.canonicalize().unwrap_or(joined))
            }
            module @ PythonSource::Module(_) => module,
        };
        Self { source, ..self }
    }
}

/// What a target told when it was loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PythonInfo {
    /// Library of the arrays.
    pub arrays: Arrays,
    /// Versions of Python and of the array libraries that are loaded.
    pub versions: BTreeMap<String, String>,
    /// Option → the argument that takes it. An option that is not here is unsupported.
    pub arguments: BTreeMap<String, String>,
    /// Options whose argument the function needs in every call.
    #[serde(default)]
    pub always: Vec<String>,
    /// Whether it is a multi-head layer, which takes weights besides.
    #[serde(default)]
    pub layer: bool,
    /// Order of axes, if it was declared or is found.
    #[serde(default)]
    pub layout: Option<Layout>,
    /// Remarks for the user.
    #[serde(default)]
    pub notes: Vec<Quoted>,
}

impl PythonInfo {
    /// Versions, argument mapping, axes if there are fewer than four, and remarks: one line each.
    pub fn describe(&self) -> Vec<Quoted> {
        let versions = self
            .versions
            .iter()
            .map(|(name, version)| format!("{name} {version}"))
            .collect::<Vec<_>>();
        let arguments = self.arguments.iter().map(|(option, argument)| {
            if option == argument { option.clone() } else { format!("{option} as {argument}") }
        });
        let arguments = arguments.collect::<Vec<_>>().join(", ");
        let kind = if self.layer { "a layer; " } else { "" };
        let takes =
            format!("{kind}takes {}", if arguments.is_empty() { "no options" } else { &arguments });
        let layout = self.layout.filter(|layout| !layout.has_heads());
        let axes = layout
            .map(|layout| format!("arrays of axes {} (layout {})", layout.axes(), layout.name()));
        [versions.join(", "), takes]
            .into_iter()
            .chain(axes)
            .map(Quoted::new)
            .chain(self.notes.clone())
            .collect()
    }

    /// What it takes: the options that have an argument. A layer besides takes as many heads of
    /// keys as of queries, and one width, for many layers have no other.
    pub fn fit(&self) -> Option<Fit> {
        let takes = |option: &CallOption| {
            arguments_of(*option).iter().all(|name| self.arguments.contains_key(*name))
        };
        let options = Some(CallOption::ALL.into_iter().filter(takes).collect());
        let alike = if self.layer { vec![Alike::Heads, Alike::Widths] } else { Vec::new() };
        let has = |name: &str| self.arguments.contains_key(name);
        let results = [
            (ResultName::Output, true),
            (ResultName::Weights, has("return_weights")),
            (ResultName::Lse, has("return_lse")),
        ];
        let results = results.into_iter().filter_map(|(one, is_so)| is_so.then_some(one));
        // A scale, causal masking and a window have a value that is off.
        let has_off = [CallOption::Scale, CallOption::Causal, CallOption::Window];
        let is_required = |option: &CallOption| {
            let is_listed = |name: &&str| self.always.iter().any(|one| one == name);
            !has_off.contains(option) && arguments_of(*option).iter().all(is_listed)
        };
        let always = CallOption::ALL.into_iter().filter(is_required).collect();
        let results = Some(results.collect());
        let of_layout = self.layout.unwrap_or_default().fit();
        Fit { alike, options, always, results, ..of_layout }.if_any()
    }

    /// Whether each option of the call, and each result that it asks for, has an argument of its
    /// own.
    pub fn takes(&self, call: &Call) -> bool {
        let is_on = |option: &CallOption| call.options.has(*option);
        let options = CallOption::ALL.into_iter().filter(is_on).flat_map(arguments_of);
        let results = [("return_weights", call.return_weights), ("return_lse", call.return_lse)];
        let results = results.into_iter().filter_map(|(name, on)| on.then_some(name));
        let mut taken = BTreeSet::new();
        let mut arguments = options.chain(results).map(|name| self.arguments.get(name));
        arguments.all(|argument| argument.is_some_and(|name| taken.insert(name)))
    }

    /// Whether query, key and value may be handed over as views: arrays of JAX have no strides, and
    /// layers get arrays of their own.
    pub fn takes_views(&self) -> bool {
        self.arrays != Arrays::Jax && !self.layer && self.layout.unwrap_or_default().has_heads()
    }
}

/// The arguments that pass an option.
fn arguments_of(option: CallOption) -> Vec<&'static str> {
    match option {
        CallOption::Packed => vec!["query_offsets", "key_offsets"],
        other => vec![other.name()],
    }
}

/// The interpreter to use: the one asked for, else that of the virtual environment, else `python3`
/// on the path.
pub fn find_python(explicit: Option<&Path>, virtual_env: Option<&Path>) -> PathBuf {
    let (below, on_path) =
        if cfg!(windows) { ("Scripts\\python.exe", "python") } else { ("bin/python", "python3") };
    match (explicit, virtual_env) {
        (Some(python), _) => python.to_owned(),
        (None, Some(folder)) => folder.join(below),
        (None, None) => on_path.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references() {
        for good in ["attn:fn", "pkg.mod:Class.fn", "a/b-c.py:fn", "file.py:fn", "./dir/x:fn"] {
            assert_eq!(good.parse::<PythonRef>().expect(good).to_string(), good);
        }
        for bad in [
            "attn",
            "attn.py",
            "attn:",
            ":fn",
            "pkg..mod:fn",
            "pkg-mod:fn",
            "x.py:f n",
            "x.py:f()",
            "",
        ] {
            assert!(bad.parse::<PythonRef>().is_err(), "{bad}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn pythons() {
        assert_eq!(find_python(Some(Path::new("/p")), Some(Path::new("/v"))), PathBuf::from("/p"));
        assert_eq!(find_python(None, Some(Path::new("/v"))), PathBuf::from("/v/bin/python"));
        assert_eq!(find_python(None, None), PathBuf::from("python3"));
    }
}
