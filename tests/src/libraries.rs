//! Public libraries on the CPU: what each documents, what `qkvet probe` says, and the tables of
//! `docs/libraries.md` made of both.

use serde_json::Value;

use crate::{Finished, Folder, Words, root};

/// One way into a library.
pub struct Library {
    /// Its column, and its entry in `tests/libraries/qkvet.yaml`.
    pub name: &'static str,
    /// What is called.
    pub calls: &'static str,
    /// The package that is asked for its version.
    pub package: &'static str,
    /// The adapter from the root, or the argument of the program in `tests/libraries/candle`.
    pub adapter: &'static str,
    /// Formats that it computes in.
    pub formats: &'static str,
    /// What is expected of a probe.
    pub expected: &'static [Expected],
}

/// What a library says that it does. The value is that of the table.
pub struct Expected {
    /// The field of the probe.
    pub field: &'static str,
    /// Its value.
    pub value: &'static str,
    /// How it is known: `says` by the documentation, `code` where that is silent.
    pub known: &'static str,
    /// Where it stands.
    pub source: &'static str,
}

const fn says(field: &'static str, value: &'static str, source: &'static str) -> Expected {
    Expected { field, value, known: "says", source }
}

const fn code(field: &'static str, value: &'static str, source: &'static str) -> Expected {
    Expected { field, value, known: "code", source }
}

const TORCH: &str = "https://docs.pytorch.org/docs/2.15/generated/torch.nn.functional.scaled_dot_product_attention.html";
const TORCH_BIAS: &str =
    "https://docs.pytorch.org/docs/2.15/generated/torch.nn.attention.bias.causal_lower_right.html";
const TORCH_CODE: &str =
    "https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/transformers/attention.cpp";
const JAX: &str = "https://docs.jax.dev/en/latest/_autosummary/jax.nn.dot_product_attention.html";
const JAX_CODE: &str = "https://github.com/jax-ml/jax/blob/main/jax/_src/nn/functions.py";
const ONNX: &str = "https://onnx.ai/onnx/operators/onnx__Attention.html";
const ONNX_CODE: &str = "https://github.com/onnx/onnx/blob/main/onnx/reference/ops/op_attention.py";
const CANDLE: &str = "https://docs.rs/crate/candle-nn/0.11.1/source/src/attention/cpu_flash/mod.rs";
const CANDLE_CAUSAL: &str =
    "https://docs.rs/crate/candle-nn/0.11.1/source/src/attention/cpu_flash/causal.rs";
const CANDLE_STANDARD: &str =
    "https://docs.rs/crate/candle-nn/0.11.1/source/src/attention/cpu_flash/standard.rs";
const CANDLE_VARLEN: &str =
    "https://docs.rs/crate/candle-nn/0.11.1/source/src/attention/cpu_flash/varlen.rs";

const GROUPED: &str = "h / (h_q / h_k)";

/// What the three ways into PyTorch share.
macro_rules! torch {
    ($($other:expr),*) => {
        &[
            says("layout", "bhnd", TORCH),
            says("default_scale", "1/sqrt(d_k)", TORCH),
            says("mask", "true-attends", TORCH),
            says("bias", "after the scale", TORCH),
            says("head_map", GROUPED, TORCH),
            says("output_width", "d_v", TORCH),
            code("empty_row", "zero", TORCH_CODE),
            $($other),*
        ]
    };
}

/// What the three forms of the operator of ONNX share.
macro_rules! onnx {
    ($($other:expr),*) => {
        &[
            says("default_scale", "1/sqrt(d_k)", ONNX),
            says("mask", "true-attends", ONNX),
            says("bias", "after the scale", ONNX),
            says("empty_row", "zero", ONNX),
            says("softcap_order", "before the bias", ONNX),
            code("head_map", GROUPED, ONNX_CODE),
            $($other),*
        ]
    };
}

/// The libraries that are wheels.
pub const WHEELS: [Library; 7] = [
    Library {
        name: "pytorch",
        calls: "`torch.nn.functional.scaled_dot_product_attention`",
        package: "torch",
        adapter: "examples/torch_sdpa.py:attention",
        formats: "float32,bfloat16,float16",
        expected: torch![says("causal", "upper-left", TORCH)],
    },
    Library {
        name: "pytorch-math",
        calls: "the same within `sdpa_kernel(SDPBackend.MATH)`",
        package: "torch",
        adapter: "tests/libraries/torch_variants.py:math",
        formats: "float32",
        expected: torch![says("causal", "upper-left", TORCH)],
    },
    Library {
        name: "pytorch-lower-right",
        calls: "the same with `attn_mask=torch.nn.attention.bias.causal_lower_right(n_q, n_k)` for causal",
        package: "torch",
        adapter: "tests/libraries/torch_variants.py:lower_right",
        formats: "float32",
        expected: torch![says("causal", "lower-right", TORCH_BIAS)],
    },
    Library {
        name: "jax",
        calls: "`jax.nn.dot_product_attention`",
        package: "jax",
        adapter: "tests/libraries/jax_sdpa.py:attention",
        formats: "float32,bfloat16",
        expected: &[
            says("layout", "bnhd", JAX),
            // Value has the shape of key, so that its width is d_k too.
            says("default_scale", "1/sqrt(d_k) or 1/sqrt(d_v)", JAX),
            says("mask", "true-attends", JAX),
            says("bias", "after the scale", JAX),
            code("causal", "upper-left", JAX_CODE),
            code("window", "inclusive, upper-left", JAX_CODE),
            code("head_map", GROUPED, JAX_CODE),
            code("empty_row", "mixed: zero, mean", JAX_CODE),
            code("lse_base", "natural", JAX_CODE),
        ],
    },
    Library {
        name: "onnxruntime",
        calls: "operator `Attention`, version 24, CPUExecutionProvider",
        package: "onnxruntime",
        adapter: "tests/wild/ort_attention.py:attention24",
        formats: "float32,float16",
        expected: onnx![says("layout", "bhnd", ONNX), says("causal", "upper-left", ONNX)],
    },
    Library {
        name: "onnxruntime-cache",
        calls: "the same with the first n_k − n_q keys in `past_key`",
        package: "onnxruntime",
        adapter: "tests/wild/ort_attention.py:cached24",
        formats: "float32,float16",
        expected: onnx![says("causal", "lower-right", ONNX)],
    },
    Library {
        name: "onnxruntime-lengths",
        calls: "the same with `nonpad_kv_seqlen`",
        package: "onnxruntime",
        adapter: "tests/wild/ort_attention.py:padded24",
        formats: "float32,float16",
        expected: onnx![
            says("layout", "bhnd", ONNX),
            says("causal", "lower-right", ONNX),
            says("key_lengths", "used", ONNX),
            says("length_anchor", "lengths", ONNX)
        ],
    },
];

/// The ways into candle, for which there is a program to build.
pub const CANDLE_FORMS: [Library; 4] = [
    Library {
        name: "candle",
        calls: "`candle_nn::attention::flash_attn`, `AttnMask::causal_with_offset(n_k − n_q)`",
        package: "candle-nn",
        adapter: "flash",
        formats: "float32,float16",
        expected: &[
            code("causal", "lower-right", CANDLE_VARLEN),
            code("head_map", GROUPED, CANDLE_CAUSAL),
            says("explicit_scale", "used", CANDLE),
        ],
    },
    Library {
        name: "candle-item",
        calls: "the same for one item after the other",
        package: "candle-nn",
        adapter: "item",
        formats: "float32,float16",
        expected: &[
            code("causal", "lower-right", CANDLE_CAUSAL),
            code("head_map", GROUPED, CANDLE_STANDARD),
            code("empty_row", "zero", CANDLE_STANDARD),
            code("bias", "after the scale", CANDLE_STANDARD),
            says("explicit_scale", "used", CANDLE),
            code("softcap", "the scaled scores", CANDLE_STANDARD),
        ],
    },
    Library {
        name: "candle-causal",
        calls: "the same as `candle-item`, `AttnMask::causal()`",
        package: "candle-nn",
        adapter: "upper",
        formats: "float32",
        expected: &[code("causal", "upper-left", CANDLE_CAUSAL)],
    },
    Library {
        name: "candle-varlen",
        calls: "`candle_nn::attention::flash_attn_varlen_cpu`",
        package: "candle-nn",
        adapter: "varlen",
        formats: "float32,float16",
        expected: &[
            code("causal", "lower-right", CANDLE_VARLEN),
            code("window", "inclusive, lower-right", CANDLE_VARLEN),
            code("head_map", GROUPED, CANDLE_VARLEN),
            code("empty_row", "zero", CANDLE_VARLEN),
            code("alibi", "lower-right", CANDLE_VARLEN),
            says("packed", "used", CANDLE_VARLEN),
            code("length_anchor", "lengths", CANDLE_VARLEN),
        ],
    },
];

/// Fields that depend on the machine, or that are estimates.
const LEFT_OUT: [&str; 2] = ["value_sums", "score_sums"];

/// The program of `tests/libraries/candle`, if it was built.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the test runner says where the program is")]
pub fn candle() -> Option<String> {
    std::env::var("QKVET_TEST_CANDLE").ok()
}

impl Library {
    fn is_candle(&self) -> bool {
        self.package == "candle-nn"
    }

    /// The target as it is named on the command line when nothing is declared.
    fn target(&self) -> String {
        match candle().filter(|_| self.is_candle()) {
            Some(program) => format!("exec:'{program}' {}", self.adapter),
            None => self.adapter.to_owned(),
        }
    }

    /// What `qkvet probe` says of it when nothing is declared.
    ///
    /// # Panics
    /// When the probe does not end in a report.
    #[must_use]
    pub fn probe(&self) -> Value {
        let config = "tests/libraries/undeclared.yaml";
        let target = self.target();
        let finished = root().run(&["probe", &target, "--config", config, "--format", "json"]);
        assert!(
            finished.code == Some(0) || finished.code == Some(1),
            "{}: {}",
            self.name,
            finished.stderr
        );
        finished.json()
    }

    /// `qkvet check` on it with what it declares; no laws are all laws.
    #[must_use]
    pub fn check(&self, suite: &str, laws: &[&str]) -> Finished {
        let target = if self.is_candle() { self.target() } else { self.name.to_owned() };
        let laws: String = laws.iter().map(|law| format!(" --law {law}")).collect();
        let flags = format!("--suite {suite} --dtype {} -q --format json{laws}", self.formats);
        let words = [vec!["check".to_owned(), target], flags.words()].concat();
        root().join("tests/libraries").run(&words)
    }

    /// The version that is built or pinned.
    #[expect(clippy::disallowed_methods, reason = "the lock file of the program says it")]
    fn version(&self) -> String {
        if !self.is_candle() {
            return pinned(self.package);
        }
        let lock = std::fs::read_to_string(root().join("tests/libraries/candle/Cargo.lock"))
            .unwrap_or_default();
        behind(&lock, &format!("name = \"{}\"\nversion = \"", self.package))
    }
}

/// The version of a wheel that the tests pin.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "versions stand in a file of the tests")]
pub fn pinned(package: &str) -> String {
    let pins = std::fs::read_to_string(root().join("tests/requirements.txt")).unwrap_or_default();
    behind(&pins, &format!("\n{package}=="))
}

/// What stands behind `begin`, up to the end of the line or a quotation mark.
fn behind(text: &str, begin: &str) -> String {
    let version = text.split_once(begin).map_or("", |(_, rest)| rest);
    version.split(['"', '\n']).next().unwrap_or_default().to_owned()
}

/// What a probe says of each, asked side by side: most of the time goes into loading.
///
/// # Panics
/// When a probe does not end in a report.
#[must_use]
pub fn probes(libraries: &[Library]) -> Vec<Value> {
    std::thread::scope(|scope| {
        let started: Vec<_> =
            libraries.iter().map(|library| scope.spawn(|| library.probe())).collect();
        started
            .into_iter()
            .map(|probe| probe.join().unwrap_or_else(|_| panic!("a probe without a report")))
            .collect()
    })
}

/// The text of a field in the table.
#[must_use]
pub fn cell(probe: &Value, field: &str) -> String {
    let fields = probe["fields"].as_array().into_iter().flatten();
    let Some(found) = fields.into_iter().find(|one| one["field"] == field) else {
        return "–".to_owned();
    };
    let values: Vec<&str> =
        found["values"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    match found["certainty"].as_str() {
        Some("decided") => values.join(", "),
        Some("undecided") => values.join(" or "),
        Some("mixed") => format!("mixed: {}", values.join(", ")),
        Some("none") => "none that is known".to_owned(),
        Some("broken") => "broken".to_owned(),
        _ => "–".to_owned(),
    }
}

/// Fields in which a probe is not what was expected, in words.
#[must_use]
pub fn surprises(library: &Library, probe: &Value) -> Vec<String> {
    let differs = |one: &&Expected| cell(probe, one.field) != one.value;
    let say = |one: &Expected| {
        let Expected { field, value, source, .. } = one;
        format!("{} {field}: expected {value} ({source}), got {}", library.name, cell(probe, field))
    };
    library.expected.iter().filter(differs).map(say).collect()
}

/// All tables, as Markdown.
///
/// # Panics
/// When a probe has no fields.
#[must_use]
pub fn tables(libraries: &[Library], probes: &[Value]) -> String {
    let mut lines =
        vec!["| column | what is called | version |".to_owned(), "|---|---|---|".to_owned()];
    for one in libraries {
        lines.push(format!("| {} | {} | {} {} |", one.name, one.calls, one.package, one.version()));
    }
    let names: Vec<&str> = libraries.iter().map(|library| library.name).collect();
    lines.push(String::new());
    lines.push(format!("| field | standard | {} |", names.join(" | ")));
    lines.push(format!("|---|---{}|", "|---".repeat(names.len())));
    let fields = probes[0]["fields"].as_array().into_iter().flatten();
    let order: Vec<(&str, &str)> = fields
        .filter_map(|field| Some((field["field"].as_str()?, field["standard"].as_str()?)))
        .collect();
    let mut declined = Vec::new();
    for (field, standard) in order.iter().filter(|(field, _)| !LEFT_OUT.contains(field)) {
        let cells: Vec<String> = probes.iter().map(|probe| cell(probe, field)).collect();
        if cells.iter().all(|cell| cell == "–") {
            declined.push(*field);
            continue;
        }
        let marked = |cell: &String| match cell.as_str() {
            "–" => "–".to_owned(),
            cell if cell == *standard => cell.to_owned(),
            cell => format!("**{cell}**"),
        };
        lines.push(format!(
            "| {field} | {standard} | {} |",
            cells.iter().map(marked).collect::<Vec<_>>().join(" | ")
        ));
    }
    if !declined.is_empty() {
        lines.push(format!("\nOffered by none of them: {}.", declined.join(", ")));
    }
    lines.push(String::new());
    for (library, probe) in libraries.iter().zip(probes) {
        lines.extend(conventions(library, probe));
        lines.extend(mixtures(library, probe));
    }
    lines.push(
        "\n| column | field | expected | known by | found |\n|---|---|---|---|---|".to_owned(),
    );
    for (library, probe) in libraries.iter().zip(probes) {
        for Expected { field, value, known, source } in library.expected {
            let found = cell(probe, field);
            let found = if found == *value { "the same" } else { &found };
            lines.push(format!(
                "| {} | {field} | {value} | [{known}]({source}) | {found} |",
                library.name
            ));
        }
    }
    lines.join("\n") + "\n"
}

/// The line to paste, as the probe has it.
fn conventions(library: &Library, probe: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let lines = probe["conventions"].as_array().into_iter().flatten();
    let lines: Vec<String> =
        lines.map(|one| format!("{}: {}", text(&one["field"]), text(&one["value"]))).collect();
    (!lines.is_empty())
        .then(|| format!("- {}: `conventions: {{{}}}`", library.name, lines.join(", ")))
}

/// Which calls say what, where they do not say the same.
fn mixtures(library: &Library, probe: &Value) -> Vec<String> {
    let mixed = probe["fields"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|field| field["certainty"] == "mixed");
    let line = |field: &Value| {
        let evidence = field["evidence"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let evidence: Vec<String> = evidence.map(|line| format!("  - `{line}`")).collect();
        format!(
            "- {}, {}:\n{}",
            library.name,
            field["field"].as_str().unwrap_or_default(),
            evidence.join("\n")
        )
    };
    mixed.map(line).collect()
}
