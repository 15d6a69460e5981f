//! How a script calls a Python function: imported as the worker imports it, with the arguments that
//! the worker gives.

use std::path::PathBuf;

use qkvet_spec::Call;
use serde::{Deserialize, Serialize};

use super::config::{Arrays, Layout, PythonInfo, PythonRef, PythonSource};
use crate::repro::literal::{self, Style, Whole, string};
use crate::repro::{Caller, Ground};

const CALL: &str = include_str!("script/call.py");
const LOAD_FILE: &str = include_str!("script/load_file.py");
const LOAD_MODULE: &str = include_str!("script/load_module.py");
const NUMPY: &str = include_str!("../../repro/numpy.py");
const TORCH: &str = include_str!("script/torch.py");
const LAYER: &str = concat!(
    "\n\n",
    include_str!("../../worker/form.py"),
    "\n\n",
    include_str!("../../worker/projections.py"),
    include_str!("script/layer.py")
);
const JAX: &str = include_str!("script/jax.py");

/// A Python function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalledPython {
    /// `pkg.mod:fn` or `path/file.py:fn`.
    pub(in crate::adapters) target: String,
    /// Folder that modules are looked up in first.
    pub(in crate::adapters) folder: PathBuf,
    pub(in crate::adapters) device: Option<String>,
    pub(in crate::adapters) layout: Layout,
    /// What it said of itself.
    pub(in crate::adapters) info: PythonInfo,
    pub(in crate::adapters) limit_s: f64,
}

/// A Python function and how it is called.
pub(crate) struct PythonCaller<'a> {
    pub(in crate::adapters) called: &'a CalledPython,
    pub(in crate::adapters) target: PythonRef,
    /// Where the script lies.
    pub(in crate::adapters) ground: Ground<'a>,
}

impl PythonCaller<'_> {
    fn argument(&self, option: &str) -> Option<&String> {
        self.called.info.arguments.get(option)
    }
}

impl Caller for PythonCaller<'_> {
    fn needs(&self) -> String {
        let library = match self.called.info.arrays {
            Arrays::Numpy => "numpy (and ml_dtypes for bfloat16)",
            Arrays::Torch => "torch",
            Arrays::Jax => "jax",
        };
        match &self.target.source {
            PythonSource::File(_) => format!("{library} and the file (or another, as argument)"),
            PythonSource::Module(_) => format!("{library} and the function"),
        }
    }

    fn is_inside(&self) -> bool {
        true
    }

    fn constants(&self) -> String {
        let place = match &self.target.source {
            PythonSource::File(file) => {
                format!("FILE = sys.argv[1] if len(sys.argv) > 1 else {}\n", self.ground.path(file))
            }
            PythonSource::Module(name) => {
                format!(
                    "FOLDER = {}\nMODULE = {}\n",
                    self.ground.path(&self.called.folder),
                    string(name)
                )
            }
        };
        let device =
            self.called.device.as_ref().map_or_else(|| "None".to_owned(), |device| string(device));
        let swapped = if self.called.layout == Layout::Bnhd { "True" } else { "False" };
        format!(
            "{place}FUNCTION = {}\nDEVICE = {device}\nSWAPPED = {swapped}  # whether heads come after positions\n",
            string(&self.target.function)
        )
    }

    fn options(&self, call: &Call, style: Style) -> Vec<(String, String)> {
        let on = |asked: bool| asked.then(|| "True".to_owned());
        let beside =
            [("return_weights", on(call.return_weights)), ("return_lse", on(call.return_lse))];
        let d_k = call.query.shape.last().copied().unwrap_or(1).max(1);
        // What the function cannot do without is given although the call leaves it out.
        let absent = |option: &str| match option {
            "scale" => format!("1 / math.sqrt({d_k})"),
            "causal" | "return_weights" | "return_lse" => "False".to_owned(),
            "window" => "(None, None)".to_owned(),
            _ => "None".to_owned(),
        };
        let mut options: Vec<(String, String)> = Vec::new();
        for (option, literal) in
            literal::options(call, style, Whole::Int32).into_iter().chain(beside)
        {
            let needed = self.called.info.always.iter().any(|always| always == option);
            let literal = literal.or_else(|| needed.then(|| absent(option)));
            // An option without an argument was declined; the call as it stands shows what is left
            // of it.
            let (Some(argument), Some(literal)) = (self.argument(option), literal) else {
                continue;
            };
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
        let library = match self.called.info.arrays {
            Arrays::Numpy => NUMPY.to_owned(),
            Arrays::Torch => TORCH.to_owned(),
            Arrays::Jax => format!("{NUMPY}\n\n{JAX}"),
        };
        let load = match self.target.source {
            PythonSource::File(_) => LOAD_FILE,
            PythonSource::Module(_) => LOAD_MODULE,
        };
        let layer = if self.called.info.layer { LAYER } else { "" };
        [library.as_str(), load, layer, CALL].concat()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use qkvet_spec::{BoolTensor, CallOptions, Dtype, Tensor};

    use super::*;

    use crate::adapters::python::{PythonConfig, PythonInfo};
    use crate::process::Limits;

    fn call() -> Call {
        let tensor =
            || Tensor { dtype: Dtype::Float32, shape: vec![1, 1, 1, 4], data: vec![0.0; 4] };
        Call {
            query: tensor(),
            key: tensor(),
            value: tensor(),
            return_weights: false,
            return_lse: false,
            options: CallOptions::default(),
        }
    }

    fn info(arguments: &[(&str, &str)], always: &[&str]) -> PythonInfo {
        let arguments = arguments
            .iter()
            .map(|(option, argument)| ((*option).to_owned(), (*argument).to_owned()));
        PythonInfo {
            layer: false,
            arrays: Arrays::Torch,
            versions: BTreeMap::new(),
            arguments: arguments.collect(),
            always: always.iter().map(|option| (*option).to_owned()).collect(),
            notes: Vec::new(),
        }
    }

    fn config(target: &str) -> PythonConfig {
        PythonConfig::new("python3", target.parse().expect("a target"))
    }

    #[test]
    fn options_go_by_the_names_of_the_function() {
        let root = Path::new("/here");
        let check = |info: &PythonInfo, call: &Call, expected: &[(&str, &str)]| {
            let called = config("a.py:f").called(info.clone(), &Limits::default());
            let caller = called.caller(Ground { current: root, root }).expect("a caller");
            let options = caller.options(call, Style::Decimals);
            let options: Vec<(&str, &str)> =
                options.iter().map(|(x, y)| (x.as_str(), y.as_str())).collect();
            assert_eq!(options, expected);
        };
        let mask = Some(BoolTensor { shape: vec![1, 1], data: vec![true] });
        let masked = Call {
            options: CallOptions { scale: Some(0.5), causal: true, mask, ..CallOptions::default() },
            ..call()
        };
        let named =
            info(&[("scale", "sm_scale"), ("causal", "is_causal"), ("mask", "attn_mask")], &[]);
        check(&named, &call(), &[]);
        let literal = "(\"bool\", (1, 1), [1])";
        check(
            &named,
            &masked,
            &[("sm_scale", "0.5"), ("is_causal", "True"), ("attn_mask", literal)],
        );
        // What the function cannot do without, and an argument for two options.
        let needed = info(
            &[("scale", "scale"), ("causal", "causal"), ("mask", "m"), ("bias", "m")],
            &["scale", "causal", "mask"],
        );
        check(
            &needed,
            &call(),
            &[("scale", "1 / math.sqrt(4)"), ("causal", "False"), ("m", "None")],
        );
        let bias = Some(Tensor { dtype: Dtype::Float32, shape: vec![1, 1], data: vec![-0.5] });
        let biased = Call { options: CallOptions { bias, ..CallOptions::default() }, ..call() };
        let literal = "(\"float32\", (1, 1), [-0.5])";
        check(
            &needed,
            &biased,
            &[("scale", "1 / math.sqrt(4)"), ("causal", "False"), ("m", literal)],
        );
    }

    #[test]
    #[cfg(unix)]
    fn files_are_found_from_the_script() {
        let info = info(&[], &[]);
        let check = |config: &PythonConfig, current: &str, expected: &str| {
            let called = config.called(info.clone(), &Limits::default());
            let ground = Ground { current: Path::new(current), root: Path::new("/here") };
            let caller = called.caller(ground).expect("a caller");
            let constants = caller.constants();
            assert!(constants.contains(expected), "{constants}");
        };
        check(
            &config("sub/a.py:C.f"),
            "/here",
            "(__file__)), \"../../sub/a.py\")\nFUNCTION = \"C.f\"",
        );
        check(&config("a.py:f"), "/here/in", "\"../../in/a.py\"");
        check(&config("/else/a.py:f"), "/here", "else \"/else/a.py\"\n");
        check(
            &PythonConfig { folder: Some("/here".into()), ..config("pkg.mod:f") },
            "/here",
            "\"../..\")\nMODULE = \"pkg.mod\"",
        );
        check(
            &PythonConfig { layout: Layout::Bnhd, device: Some("cuda:1".into()), ..config("a:f") },
            "/here",
            "DEVICE = \"cuda:1\"\nSWAPPED = True",
        );
    }
}
