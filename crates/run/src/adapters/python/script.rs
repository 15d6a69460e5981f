//! How a script calls a Python function: imported as the worker imports it, with the arguments that
//! the worker gives.

use std::path::PathBuf;

use qkvet_spec::Call;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::config::{Arrays, Layout, PythonInfo, PythonRef, PythonSource};
use crate::repro::literal::{dict, list, optional, string};
use crate::repro::{Caller, Ground};
use crate::runtime::{ARRAYS, CALL, FORM, LAYERS, LOAD};

const ASK: &str = include_str!("script.py");

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

    fn takes(&self, call: &Call) -> bool {
        self.called.info.takes(call)
    }

    /// What the runtime is told, as the worker is.
    fn constants(&self) -> String {
        let CalledPython { folder, device, layout, info, .. } = self.called;
        let (file, mut hello) = match &self.target.source {
            PythonSource::File(file) => {
                let file = self.ground.path(file);
                let file = format!("FILE = sys.argv[1] if len(sys.argv) > 1 else {file}\n");
                (file, vec![("target", "{\"file\": FILE}".to_owned())])
            }
            PythonSource::Module(name) => {
                let target = dict([("module", name)]);
                (String::new(), vec![("target", target), ("folder", self.ground.path(folder))])
            }
        };
        hello.extend([
            ("function", string(&self.target.function)),
            ("arrays", json!(info.arrays).to_string()),
            ("device", optional(device.as_deref())),
            ("layout", json!(layout).to_string()),
            ("arguments", dict(&info.arguments)),
            ("always", list(&info.always)),
        ]);
        let hello: String =
            hello.iter().map(|(name, literal)| format!("    \"{name}\": {literal},\n")).collect();
        format!("{file}HELLO = {{\n{hello}}}\n")
    }

    fn ask(&self) -> Vec<&'static str> {
        let layers = if self.called.info.layer { &LAYERS[..] } else { &[] };
        [&[LOAD, FORM, ARRAYS, CALL], layers, &[ASK]].concat()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use qkvet_spec::{BoolTensor, CallOptions, Dtype, Tensor};

    use super::*;
    use crate::repro::literal::Style;

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
            layout: None,
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
        let caller_of = |info: &PythonInfo, check: &dyn Fn(&dyn Caller)| {
            let called = config("a.py:f").called(info.clone(), &Limits::default());
            check(&*called.caller(Ground { current: root, root }).expect("a caller"));
        };
        let mask = Some(BoolTensor { shape: vec![1, 1], data: vec![true] });
        let masked = Call {
            options: CallOptions { scale: Some(0.5), causal: true, mask, ..CallOptions::default() },
            ..call()
        };
        let bias = Some(Tensor { dtype: Dtype::Float32, shape: vec![1, 1], data: vec![-0.5] });
        let biased = Call { options: CallOptions { bias, ..CallOptions::default() }, ..call() };
        let with_lse = Call { return_lse: true, ..call() };
        let named =
            info(&[("scale", "sm_scale"), ("causal", "is_causal"), ("mask", "attn_mask")], &[]);
        caller_of(&named, &|caller| {
            let options = caller.options(&masked, Style::Decimals);
            let options: Vec<(&str, &str)> =
                options.iter().map(|(x, y)| (x.as_str(), y.as_str())).collect();
            let literal = "(\"bool\", (1, 1), [1])";
            assert_eq!(options, [("scale", "0.5"), ("causal", "True"), ("mask", literal)]);
            assert!(caller.options(&call(), Style::Decimals).is_empty());
            let expected = "\"arguments\": {\"causal\": \"is_causal\", \"mask\": \"attn_mask\", \"scale\": \"sm_scale\"},\n    \"always\": [],\n";
            assert!(caller.constants().contains(expected), "{}", caller.constants());
            // What was declined is left out.
            let takes = [&call(), &masked, &biased, &with_lse].map(|call| caller.takes(call));
            assert_eq!(takes, [true, true, false, false]);
        });
        // What the function cannot do without, and an argument for two options.
        let needed = info(
            &[("scale", "scale"), ("causal", "causal"), ("mask", "m"), ("bias", "m")],
            &["scale", "causal", "mask"],
        );
        caller_of(&needed, &|caller| {
            let constants = caller.constants();
            assert!(constants.contains("[\"scale\", \"causal\", \"mask\"]"), "{constants}");
            let both = CallOptions { bias: biased.options.bias.clone(), ..masked.options.clone() };
            let both = Call { options: both, ..call() };
            let takes = [&masked, &biased, &both].map(|call| caller.takes(call));
            assert_eq!(takes, [true, true, false]);
        });
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
            "(__file__)), \"../../sub/a.py\")\nHELLO = {\n    \"target\": {\"file\": FILE},\n    \"function\": \"C.f\"",
        );
        check(&config("a.py:f"), "/here/in", "\"../../in/a.py\"");
        check(&config("/else/a.py:f"), "/here", "else \"/else/a.py\"\n");
        check(
            &PythonConfig { folder: Some("/here".into()), ..config("pkg.mod:f") },
            "/here",
            "{\"module\": \"pkg.mod\"},\n    \"folder\": os.path.join(os.path.dirname(os.path.abspath(__file__)), \"../..\"),",
        );
        check(
            &PythonConfig {
                layout: Some(Layout::Bnhd),
                device: Some("cuda:1".into()),
                ..config("a:f")
            },
            "/here",
            "\"device\": \"cuda:1\",\n    \"layout\": \"bnhd\",",
        );
    }
}
