//! Frozen cases as NumPy archives: NumPy reads what qkvet writes, and qkvet what NumPy writes, in
//! the ways people save.

#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use std::path::Path;
use std::process::Command;

use qkvet_gen::build;
use qkvet_gen::frozen::{FrozenCase, case_to_npz, freeze, frozen_plans, output_from_npz};
use qkvet_spec::{Catalog, Dtype};
use qkvet_tests::{Folder, has_python, python, temp};

/// Reads a case, answers it, and saves the answer in five ways. What must not be taken is saved
/// too.
const SCRIPT: &str = r#"
import json, sys
import ml_dtypes, numpy as np
case = np.load("case.npz")
facts = json.loads(str(case["case"]))
dtype = np.dtype(facts["dtype"])
read = lambda name: case[name] if case[name].dtype == dtype or name == "mask" else case[name].view(dtype)
q, k, v = (read(name).astype(float) for name in ("query", "key", "value"))
group = q.shape[1] // k.shape[1]
k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
scores = (q.shape[3] ** -0.5 if facts["scale"] is None else facts["scale"]) * q @ k.swapaxes(2, 3)
if "bias" in case:
    scores = scores + read("bias").astype(float)
seen = np.tril(np.ones(scores.shape[2:], bool), scores.shape[3] - scores.shape[2]) if facts["causal"] else True
if "mask" in case:
    seen = seen & case["mask"]
scores = np.where(seen, scores, -np.inf)
top = scores.max(3, keepdims=True)
terms = np.exp(scores - np.where(top == -np.inf, 0, top))
total = terms.sum(3, keepdims=True)
output = (terms / np.where(total == 0, 1, total)) @ v
for contract in [name for name in case.files if name.startswith("bounds/")]:
    if dtype != np.float64:
        assert (np.abs(output - case["answer"]) <= case[contract]).all(), contract
output = output.astype(dtype)
name = facts["dtype"]
np.savez("plain.npz", output=output, dtype=name, id=facts["id"])
np.savez("columns.npz", output=np.asfortranarray(output), dtype=name)
if dtype.itemsize == 2:
    np.savez("bits.npz", output=output.view(np.uint16), dtype=name)
if name != "bfloat16":
    np.savez("unnamed.npz", output=output)
np.savez_compressed("compressed.npz", output=output, dtype=name)
np.savez("big.npz", output=output.astype(">f4"))
np.savez("whole.npz", output=np.zeros((2, 2), np.int64))
np.savez("objects.npz", output=np.array([None]))
"#;

fn answered(case: &FrozenCase, folder: &Path) {
    folder.write("case.npz", case_to_npz(case).expect("a file"));
    let python = python().expect("Python");
    let output = Command::new(python)
        .args(["-c", SCRIPT])
        .current_dir(folder)
        .output()
        .expect("Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn numpy_and_qkvet_read_each_other() {
    if !has_python() {
        return;
    }
    let catalog = Catalog::embedded().expect("the embedded catalog");
    let suite = &catalog.suites["smoke"];
    for dtype in [Dtype::Float64, Dtype::Float32, Dtype::Bfloat16, Dtype::Float16] {
        let plans = frozen_plans(&catalog, suite, &[dtype], 0).expect("plans").text;
        let plan = plans
            .iter()
            .find(|plan| plan.mask.is_some() && plan.bias.is_some())
            .expect("mask and bias");
        let case = build(&catalog.laws["value"], plan).expect("a case");
        let case = freeze(&catalog, &case).expect("an answer");
        let folder = temp();
        answered(&case, folder.path());
        let read =
            |name: &str| output_from_npz(&std::fs::read(folder.path().join(name)).expect("a file"));
        let plain = read("plain.npz").unwrap_or_else(|error| panic!("{dtype}: {error}"));
        assert_eq!(plain.id.as_ref(), Some(&case.id));
        assert_eq!((plain.output.dtype, &plain.output.shape[..]), (dtype, &case.answer.shape[..]));
        let bounds = &case.bounds[&catalog.default_contract(dtype).expect("a contract").contract];
        let pairs = plain.output.data.iter().zip(&case.answer.values).zip(bounds);
        assert!(
            pairs.into_iter().all(|((x, answer), bound)| (x - answer.to_f64()).abs() <= *bound),
            "{dtype}"
        );
        for name in ["columns.npz", "bits.npz", "unnamed.npz"] {
            if folder.path().join(name).exists() {
                let other = read(name).unwrap_or_else(|error| panic!("{dtype} {name}: {error}"));
                assert_eq!((other.id, &other.output), (None, &plain.output), "{dtype} {name}");
            }
        }
        for (name, expected) in [
            ("compressed.npz", "not savez_compressed"),
            ("big.npz", "little-endian"),
            ("whole.npz", "got whole numbers of 8 bytes"),
            ("objects.npz", "got `|O`"),
        ] {
            let error = read(name).expect_err(name).to_string();
            assert!(error.contains(expected), "{dtype} {name}: {error}");
        }
    }
}
