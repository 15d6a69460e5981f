//! How a script calls a Python function: imported as the worker imports it, with the arguments that the worker gives.

use std::path::Path;

use qkvet_spec::Call;

use super::Caller;
use super::literal::{Style, float, mask, string, tensor};
use crate::python::{Arrays, Layout, PythonConfig, PythonInfo, PythonSource};

const CALL: &str = include_str!("call.py");
const LOAD_FILE: &str = include_str!("load_file.py");
const LOAD_MODULE: &str = include_str!("load_module.py");
const NUMPY: &str = include_str!("numpy.py");
const TORCH: &str = include_str!("torch.py");
const JAX: &str = include_str!("jax.py");

/// A Python function and how it is called.
pub(crate) struct PythonCaller<'a> {
    /// What was started.
    pub(crate) config: &'a PythonConfig,
    /// What it said of itself.
    pub(crate) info: &'a PythonInfo,
    /// The current folder.
    pub(crate) current: &'a Path,
    /// The folder that the script lies two folders below.
    pub(crate) root: &'a Path,
}

impl PythonCaller<'_> {
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
        match &self.config.target.source {
            PythonSource::File(_) => format!("{library} and the file (or another, as argument)"),
            PythonSource::Module(_) => format!("{library} and the function"),
        }
    }

    fn constants(&self) -> String {
        let place = match &self.config.target.source {
            PythonSource::File(file) => {
                format!("FILE = sys.argv[1] if len(sys.argv) > 1 else {}\n", self.path(file))
            }
            PythonSource::Module(name) => {
                let folder = self.config.folder.clone().unwrap_or_default();
                format!("FOLDER = {}\nMODULE = {}\n", self.path(&folder), string(name))
            }
        };
        let device = self.config.device.as_ref().map_or_else(|| "None".to_owned(), |device| string(device));
        let swapped = if self.config.layout == Layout::Bnhd { "True" } else { "False" };
        format!(
            "{place}FUNCTION = {}\nDEVICE = {device}\nSWAPPED = {swapped}  # whether heads come after positions\n",
            string(&self.config.target.function)
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
        let load = match self.config.target.source {
            PythonSource::File(_) => LOAD_FILE,
            PythonSource::Module(_) => LOAD_MODULE,
        };
        [library.as_str(), load, CALL].concat()
    }
}
