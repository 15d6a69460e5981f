//! What a contract decides: SUSPECT and INCONCLUSIVE on real arithmetic, and what a contract that
//! says more makes of them.

#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use qkvet_tests::{Finished, has_python, is_thorough, root, run};
use tempfile::TempDir;

/// The value law on long contexts.
fn check(target: &str, dtype: &str, more: &[&str]) -> Finished {
    let folder = TempDir::new().expect("a folder");
    let args = ["check", target, "--suite", "long", "--law", "value", "--dtype", dtype];
    run(folder.path(), &[&args, more].concat())
}

fn fixture(name: &str) -> String {
    root().join("tests/fixtures/arithmetic").join(name).display().to_string()
}

/// Normal values on 2040 keys.
const NORMAL: &str = "\
suite: normal
title: Normal values on a long context
laws: [value]
dtypes: [float32]
shapes: [{b: 1, h_q: 2, h_k: 1, n_q: 4, n_k: 2040, d_k: 64, d_v: 32}]
values: [normal]
masks: []
broadcast: [i j]
strength: 2
limit: 1
alone: 3
";

/// Replays the one record of this verdict that has a command; the report for people has the same.
fn shown_again(folder: &std::path::Path, report: &serde_json::Value, verdict: &str) {
    let records = report["records"].as_array().expect("records");
    let shown: Vec<_> = records.iter().filter(|record| record["replay"].is_string()).collect();
    assert_eq!(shown.len(), 1, "{shown:?}");
    let (replay, contract) =
        (shown[0]["replay"].as_str().expect("a line"), &report["run"]["contracts"]);
    let contract =
        contract[shown[0]["dtype"].as_str().expect("a format")].as_str().expect("a contract");
    let args: Vec<&str> = replay.split_whitespace().skip(1).collect();
    run(folder, &args).expect(0, &[&format!("{verdict}  "), &format!("contract  {contract}")]);
}

#[test]
fn what_is_undecided_is_shown_again() {
    let folder = TempDir::new().expect("a folder");
    let args = ["check", "builtin:flash", "--suite", "smoke", "--dtype", "bfloat16"];
    let report = run(folder.path(), &[&args[..], &["--format", "json"]].concat()).json();
    shown_again(folder.path(), &report, "INCONCLUSIVE");
    run(folder.path(), &args).expect(0, &["bf16-unfused, for example: qkvet replay c-"]);
}

#[test]
fn weights_in_float16_are_suspect_and_a_tighter_contract_proves_them_wrong() {
    if !has_python() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    std::fs::write(folder.path().join("normal.yaml"), NORMAL).expect("a file");
    let target = fixture("float16_weights.py:attention");
    let check = |contract: &str, more: &[&str]| {
        let args = ["check", &target, "--suite", "normal.yaml", "--contract", contract];
        run(folder.path(), &[&args, more].concat())
    };
    check("f32", &[]).expect(0, &["under f32, worst error", "no finding in"]);
    let loose = "f32+depth-64+tile-20000+unmerged";
    let said = [
        "SUSPECT",
        "  suspect  ",
        "f32+depth-64+tile-20000+unmerged: ",
        "of its bound",
        "A contract that promises more",
    ];
    check(loose, &[]).expect(0, &said);
    check(loose, &["--strict"]).expect(1, &["SUSPECT"]);
    let report = check(loose, &["--format", "json"]).json();
    shown_again(folder.path(), &report, "SUSPECT");
    let tight = "f32+depth-16+tile-20000+unmerged";
    // One failing case is enough: naming its cause takes long on long contexts.
    check(tight, &["-x"])
        .expect(1, &["FAIL", "times the bound of contract f32+depth-16+tile-20000+unmerged"]);
}

#[test]
fn sums_in_float16_are_undecided_but_for_exact_cases() {
    if !has_python() {
        return;
    }
    let target = fixture("float16_sums.py:attention");
    // Undeclared sums in float16 are proved wrong under the contract of float32 sums.
    check(&target, "float16", &["--contract", "f16-flash", "-x"])
        .expect(1, &["FAIL", "times the bound of contract f16-flash"]);
    let declared = ["--contract", "f16-flash+f16-accumulation"];
    let said = [
        "PASS",
        "INCONCLUSIVE",
        "allows any number there (f16-flash+f16-accumulation ",
        "no finding in",
    ];
    check(&target, "float16", &declared).expect(0, &said);
    // The exact case among them decides all the same: its bound is next to nothing.
    let folder = TempDir::new().expect("a folder");
    let right = std::fs::read_to_string(root().join("tests/fixtures/arithmetic/float16_sums.py"))
        .expect("a fixture");
    let faulty = right.replace("in range(key.shape[-2])", "in range(key.shape[-2] - 1)");
    assert_ne!(faulty, right);
    let file = folder.path().join("target.py");
    std::fs::write(&file, faulty).expect("a file");
    let said = ["FAIL", "times the bound of contract f16-flash+f16-accumulation"];
    let declared = [&declared[..], &["-x"]].concat();
    check(&format!("{}:attention", file.display()), "float16", &declared).expect(1, &said);
}

/// A declaration of eight-bit operands excuses the roundings and nothing else.
#[test]
fn operands_in_eight_bits_hold_when_declared_and_faults_are_proved_all_the_same() {
    if !has_python() {
        return;
    }
    let target = fixture("e4m3_operands.py:attention");
    let check = |target: &str, contract: &str| {
        let folder = TempDir::new().expect("a folder");
        let args =
            ["check", target, "--law", "value", "--dtype", "float32", "--contract", contract];
        run(folder.path(), &args)
    };
    check(&target, "f32").expect(1, &["FAIL", "times the bound of contract f32)"]);
    let said = ["PASS", "INCONCLUSIVE", "under f32+e4m3-operands, worst error", "no finding in"];
    check(&target, "f32+e4m3-operands").expect(0, &said);
    for fault in ["causal-ignored", "key-lengths-ignored", "last-tile-dropped"] {
        check(&format!("builtin:fault/{fault}"), "f32+e4m3-operands")
            .expect(1, &["FAIL  QK", "contract f32+e4m3-operands"]);
    }
}

#[test]
fn a_contract_that_promises_more_decides_what_the_loosest_one_leaves_open() {
    let open = ["INCONCLUSIVE", "allows any number there (bf16-unfused ", "--contract NAME"];
    check("builtin:flash", "bfloat16", &[]).expect(0, &open);
    let decided = check("builtin:flash", "bfloat16", &["--contract", "bf16-flash"]);
    decided.expect(0, &["under bf16-flash, worst error", "no finding in"]);
    assert!(!decided.stdout.contains("INCONCLUSIVE"), "{}", decided.stdout);
}

#[test]
fn long_contexts_hold_on_what_is_right() {
    let folder = TempDir::new().expect("a folder");
    let all = "float64,float32,bfloat16,float16";
    let (of_flash, of_standard) = if is_thorough() { (all, all) } else { ("bfloat16", "float32") };
    let flash = ["check", "builtin:flash", "--suite", "long", "--dtype", of_flash];
    run(folder.path(), &flash).expect(0, &["no finding in", "n_k 2040–16385", "4 of 4 checked"]);
    check("builtin:standard", of_standard, &[]).expect(0, &["no finding in"]);
}
