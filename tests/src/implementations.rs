//! Real implementations, each through one of the doors of `qkvet check`, and the table of
//! `docs/implementations.md` made of what is found.

use serde_json::Value;

use crate::libraries::pinned;
use crate::{root, run};

/// One implementation and how it is reached.
pub struct Implementation {
    /// What is called.
    pub calls: &'static str,
    /// The package that is asked for its version.
    pub package: &'static str,
    /// How it is reached.
    pub door: &'static str,
    /// What `qkvet` is told, from the root.
    pub command: &'static str,
}

/// Those that stand on the wheels which the tests pin.
pub const IMPLEMENTATIONS: [Implementation; 10] = [
    Implementation {
        calls: "`torch.nn.functional.scaled_dot_product_attention`, the kernel that PyTorch chooses on the CPU (flash)",
        package: "torch",
        door: "Python function",
        command: "check examples/torch_sdpa.py:attention --suite smoke --convention causal=upper-left",
    },
    Implementation {
        calls: "the same within `sdpa_kernel(SDPBackend.MATH)`",
        package: "torch",
        door: "Python function",
        command: "check tests/libraries/torch_variants.py:math --suite smoke --convention causal=upper-left",
    },
    Implementation {
        calls: "`torch.nn.MultiheadAttention`",
        package: "torch",
        door: "layer",
        command: "check examples/torch_multihead.py:layer --suite even --dtype float32 --convention empty-row=nan",
    },
    Implementation {
        calls: "`jax.nn.dot_product_attention`",
        package: "jax",
        door: "Python function",
        command: "check examples/jax_attention.py:attention --suite smoke --shapes 8 --dtype float32 \
            --convention causal=upper-left --convention empty-row=mean",
    },
    Implementation {
        calls: "`flax.nnx.MultiHeadAttention`",
        package: "flax",
        door: "layer",
        command: "check examples/flax_multihead.py:layer --suite even --shapes 8 --dtype float32 \
            --convention causal=upper-left --convention empty-row=mean",
    },
    Implementation {
        calls: "`keras.layers.MultiHeadAttention` on JAX",
        package: "keras",
        door: "layer",
        command: "check examples/keras_multihead.py:layer --suite even --shapes 8 --dtype float32 \
            --convention causal=upper-left --convention empty-row=mean",
    },
    Implementation {
        calls: "operator `Attention` 24 of ONNX Runtime, CPUExecutionProvider",
        package: "onnxruntime",
        door: "ONNX backend",
        command: "check onnx-backend:onnxruntime@24 --suite smoke --dtype float32",
    },
    Implementation {
        calls: "operator `com.microsoft.MultiHeadAttention` of ONNX Runtime",
        package: "onnxruntime",
        door: "Python function",
        command: "check tests/wild/ort_contrib.py:multi_head --suite smoke --dtype float32 \
            --convention causal=upper-left",
    },
    Implementation {
        calls: "operator `com.microsoft.GroupQueryAttention` of ONNX Runtime",
        package: "onnxruntime",
        door: "Python function",
        command: "check tests/wild/ort_contrib.py:group_query --suite core --dtype float32",
    },
    Implementation {
        calls: "operator `Attention` 24 of ONNX's reference evaluator",
        package: "onnx",
        door: "ONNX backend",
        command: "check onnx-backend:onnx.reference@24 --suite smoke --dtype float32",
    },
];

impl Implementation {
    /// The row of the table: what is called, its version, the door, the command and what came of
    /// it.
    ///
    /// # Panics
    /// When the check does not end in a report.
    #[must_use]
    pub fn row(&self) -> String {
        let Self { calls, package, door, command } = self;
        let finished = run(root(), format!("{command} -q --format json"));
        assert!(matches!(finished.code, Some(0 | 1)), "{command}: {}", finished.stderr);
        let command = command.split_whitespace().collect::<Vec<_>>().join(" ");
        format!(
            "| {calls} | {package} {} | {door} | `qkvet {command}` | {} |",
            pinned(package),
            result(&finished.json())
        )
    }
}

/// `no finding in 140 cases`, or what was found.
fn result(report: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let found: Vec<String> = report["findings"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| text(&one["sentences"]["title"]))
        .collect();
    let unchecked = ["UNSUPPORTED", "REFUSED", "SKIPPED"];
    let records = report["records"].as_array().into_iter().flatten();
    let checked = records
        .filter(|record| !unchecked.contains(&record["verdict"].as_str().unwrap_or_default()))
        .count();
    match found.as_slice() {
        [] => format!("no finding in {checked} cases"),
        found => format!("**{}** ({checked} cases)", found.join("; ")),
    }
}

/// The whole table, as Markdown.
///
/// # Panics
/// When a check does not end in a report.
#[must_use]
pub fn table(implementations: &[Implementation]) -> String {
    let head =
        "| implementation | version | door | command | result |\n|---|---|---|---|---|".to_owned();
    let rows = implementations.iter().map(Implementation::row);
    std::iter::once(head).chain(rows).map(|line| line + "\n").collect()
}
