//! How a script calls a Python function: imported as the worker imports it, with the arguments that the worker gives.

use std::path::{Path, PathBuf};

use qkvet_spec::Call;
use serde::{Deserialize, Serialize};

use super::Caller;
use super::literal::{Style, float, mask, string, tensor};
use crate::python::{Arrays, Layout, PythonConfig, PythonInfo, PythonRef, PythonSource};

const CALL: &str = include_str!("call.py");
const LOAD_FILE: &str = include_str!("load_file.py");
const LOAD_MODULE: &str = include_str!("load_module.py");
const NUMPY: &str = include_str!("numpy.py");
const TORCH: &str = include_str!("torch.py");
const JAX: &str = include_str!("jax.py");

/// What a script must know of a Python target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalledPython {
    /// `pkg.mod:fn` or `path/file.py:fn`.
    target: String,
    /// Folder that modules are looked up in first.
    folder: PathBuf,
    device: Option<String>,
    layout: Layout,
    /// Seconds after which a call has not answered.
    pub(crate) limit_s: f64,
    /// What it said of itself.
    info: PythonInfo,
}

impl CalledPython {
    pub(crate) fn new(config: &PythonConfig, info: PythonInfo) -> Self {
        Self {
            target: config.target.to_string(),
            folder: config.folder.clone().unwrap_or_default(),
            device: config.device.clone(),
            layout: config.layout,
            limit_s: config.limits.timeout.as_secs_f64(),
            info,
        }
    }
}

/// A Python function and how it is called.
pub(crate) struct PythonCaller<'a> {
    called: &'a CalledPython,
    target: PythonRef,
    info: &'a PythonInfo,
    /// The current folder.
    current: &'a Path,
    /// The folder that the script lies two folders below.
    root: &'a Path,
}

impl<'a> PythonCaller<'a> {
    /// `None` if the reference is none.
    pub(crate) fn new(called: &'a CalledPython, current: &'a Path, root: &'a Path) -> Option<Self> {
        Some(Self { called, target: called.target.parse().ok()?, info: &called.info, current, root })
    }

    /// An expression for a path: relative to the script where it lies below its root.
    fn path(&self, path: &Path) -> String {
        let absolute = self.current.join(path);
        match absolute.strip_prefix(self.root) {
            Ok(inside) => {
                let parts: Vec<String> = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
                let inside = [vec!["..".to_owned(); 2], parts].concat().join("/");
                format!("os.path.join(os.path.dirname(os.path.abspath(__file__)), {})", string(&inside))
            }
            Err(_) => string(&absolute.to_string_lossy()),
        }
    }

    fn argument(&self, option: &str) -> Option<&String> {
        self.info.arguments.get(option)
    }
}

impl Caller for PythonCaller<'_> {
    fn needs(&self) -> String {
        let library = match self.info.arrays {
            Arrays::Numpy => "numpy (and ml_dtypes for bfloat16)",
            Arrays::Torch => "torch",
            Arrays::Jax => "jax",
        };
        match &self.target.source {
            PythonSource::File(_) => format!("{library} and the file (or another, as argument)"),
            PythonSource::Module(_) => format!("{library} and the function"),
        }
    }

    fn constants(&self) -> String {
        let place = match &self.target.source {
            PythonSource::File(file) => {
                format!("FILE = sys.argv[1] if len(sys.argv) > 1 else {}\n", self.path(file))
            }
            PythonSource::Module(name) => {
                format!("FOLDER = {}\nMODULE = {}\n", self.path(&self.called.folder), string(name))
            }
        };
        let device = self.called.device.as_ref().map_or_else(|| "None".to_owned(), |device| string(device));
        let swapped = if self.called.layout == Layout::Bnhd { "True" } else { "False" };
        format!(
            "{place}FUNCTION = {}\nDEVICE = {device}\nSWAPPED = {swapped}  # whether heads come after positions\n",
            string(&self.target.function)
        )
    }

    fn options(&self, call: &Call, style: Style) -> Vec<(String, String)> {
        let given = [
            ("scale", call.scale.map(float)),
            ("causal", call.causal.then(|| "True".to_owned())),
            ("mask", call.mask.as_ref().map(|x| mask(x, style))),
            ("bias", call.bias.as_ref().map(|x| tensor(x, style))),
            ("return_weights", call.return_weights.then(|| "True".to_owned())),
        ];
        let d_k = call.query.shape.last().copied().unwrap_or(1).max(1);
        // What the function cannot do without is given although the call leaves it out.
        let absent = |option: &str| match option {
            "scale" => format!("1 / math.sqrt({d_k})"),
            "causal" | "return_weights" => "False".to_owned(),
            _ => "None".to_owned(),
        };
        let mut options: Vec<(String, String)> = Vec::new();
        for (option, literal) in given {
            let needed = self.info.always.iter().any(|always| always == option);
            let literal = literal.or_else(|| needed.then(|| absent(option)));
            // An option without an argument was declined; the call as it stands shows what is left of it.
            let (Some(argument), Some(literal)) = (self.argument(option), literal) else { continue };
            // Mask and bias may share an argument, one of the two at a time.
            match options.iter_mut().find(|(name, _)| name == argument) {
                Some(known) if known.1 == "None" => known.1 = literal,
                Some(_) => {}
                None => options.push((argument.clone(), literal)),
            }
        }
        options
    }

    fn ask(&self) -> String {
        let library = match self.info.arrays {
            Arrays::Numpy => NUMPY.to_owned(),
            Arrays::Torch => TORCH.to_owned(),
            Arrays::Jax => format!("{NUMPY}\n\n{JAX}"),
        };
        let load = match self.target.source {
            PythonSource::File(_) => LOAD_FILE,
            PythonSource::Module(_) => LOAD_MODULE,
        };
        [library.as_str(), load, CALL].concat()
    }
}
