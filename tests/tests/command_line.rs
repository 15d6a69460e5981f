//! The command line: what is said and how it ends, for good input and bad.

#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use qkvet_tests::{is_thorough, root, run};
use serde_json::Value;
use tempfile::TempDir;

fn folder() -> TempDir {
    TempDir::new().expect("a folder")
}

fn write(folder: &TempDir, name: &str, text: &str) {
    std::fs::write(folder.path().join(name), text).expect("a file");
}

#[test]
fn the_main_job_holds_on_flash() {
    let folder = folder();
    let finished = run(folder.path(), &["check", "builtin:flash", "--report", "json=report.json"]);
    finished
        .expect(0, &["no finding in", "unchecked strided inputs (no result from any), gradients"]);
    let readme = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    // The nearest digits of an error may differ with the processor.
    let is_everywhere = |line: &&str| !line.trim().is_empty() && !line.contains("worst error");
    for line in finished.stdout.lines().filter(is_everywhere) {
        assert!(
            readme.contains(line.trim()),
            "README.md shows another output: it has no line `{}`",
            line.trim()
        );
    }
    let report = std::fs::read_to_string(folder.path().join("report.json")).expect("a report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert!(report["run"]["cases"].as_u64().expect("a number") >= 1500);
}

#[test]
fn upper_left_is_shown_by_a_tiny_witness() {
    let folder = folder();
    let check =
        ["check", "builtin:fault/causal-upper-left", "--suite", "smoke", "--format", "json"];
    let finished = run(folder.path(), &check);
    finished.expect(1, &[]);
    let report = finished.json();
    let findings = report["findings"].as_array().expect("findings");
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0]["kind"], "convention");
    let call = findings[0]["witness"]["call"].as_str().expect("a call");
    for name in ["n_q", "n_k"] {
        let size: usize = call
            .split_whitespace()
            .find_map(|part| part.strip_prefix(&format!("{name}=")))
            .expect(name)
            .parse()
            .expect(name);
        assert!(size <= 3, "{call}");
    }
    let reading = &findings[0]["reading"];
    let keys = |which: &str| reading[which].as_array().map_or(0, Vec::len);
    assert!(keys("weighed") > 0 && reading["weighed"] != reading["expected"], "{reading}");
    let id = findings[0]["witness"]["case"].as_str().expect("an id").to_owned();
    run(folder.path(), &["replay", &id]).expect(1, &["FAIL", "causal"]);
    run(folder.path(), &["replay", &id, "--target", "builtin:flash"]).expect(0, &["PASS"]);
    run(folder.path(), &["replay", &id, "--convention", "causal=upper-left"]).expect(0, &["PASS"]);
}

#[test]
fn a_finding_has_twelve_lines_at_most() {
    let folder = folder();
    for fault in [
        "scale-inverse-d",
        "padding-counted",
        "not-repeatable",
        "output-width-of-key",
        "query-overwritten",
    ] {
        let finished = run(
            folder.path(),
            &["check", &format!("builtin:fault/{fault}"), "-q", "--suite", "smoke"],
        );
        finished.expect(1, &["replay"]);
        let start = finished
            .stdout
            .lines()
            .skip_while(|line| !line.starts_with("FAIL") && !line.starts_with("NONDET"));
        let lines = start.take_while(|line| !line.trim().is_empty()).count();
        assert!((5..=12).contains(&lines), "{lines}\n{}", finished.stdout);
    }
}

#[test]
fn a_declared_convention_is_the_standard_of_its_target() {
    let folder = folder();
    let args = [
        "check",
        "builtin:fault/causal-upper-left",
        "--suite",
        "smoke",
        "--convention",
        "causal=upper-left",
    ];
    run(folder.path(), &args).expect(0, &["declared"]);
}

#[test]
fn seeds_change_cases_and_not_verdicts() {
    let folder = folder();
    let report = |seed: &str| {
        run(
            folder.path(),
            &["check", "builtin:flash", "--suite", "smoke", "--seed", seed, "--format", "json"],
        )
    };
    let (zero, one) = (report("0"), report("1"));
    zero.expect(0, &[]);
    one.expect(0, &[]);
    let ids = |report: Value| -> Vec<String> {
        let records = report["records"].as_array().expect("records").clone();
        records.iter().map(|record| record["id"].as_str().expect("an id").to_owned()).collect()
    };
    let (zero, one) = (ids(zero.json()), ids(one.json()));
    assert_eq!(zero.len(), one.len());
    assert!(zero.iter().all(|id| !one.contains(id)));
}

#[test]
fn reports_are_the_same_bytes_whatever_the_number_of_workers() {
    let folder = folder();
    for target in
        ["builtin:flash", "builtin:fault/gqa-modulo", "builtin:fault/weights-not-normalized"]
    {
        let report = |jobs: &str| {
            run(
                folder.path(),
                &["check", target, "--suite", "smoke", "--format", "json", "-j", jobs],
            )
            .stdout
        };
        let one = report("1");
        assert_eq!(one, report("1"), "{target} twice");
        assert_eq!(one, report("2"), "{target} with two workers");
    }
}

#[test]
fn the_report_fits_its_schema() {
    let folder = folder();
    let schema: Value =
        serde_json::from_str(&run(folder.path(), &["schema", "report"]).stdout).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    for target in ["builtin:flash", "builtin:fault/weights-not-normalized"] {
        let report =
            run(folder.path(), &["check", target, "--suite", "smoke", "--format", "json"]).json();
        let errors: Vec<String> =
            validator.iter_errors(&report).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
    assert!(!validator.is_valid(&serde_json::json!({ "run": 1 })));
}

#[test]
fn bad_specifications_are_shown_in_place() {
    let folder = folder();
    write(&folder, "broken.yaml", "suite: [unclosed\n");
    run(folder.path(), &["check", "builtin:flash", "--suite", "broken.yaml"])
        .expect(2, &["error", "broken.yaml:"]);
    write(&folder, "unknown.yaml", "suite: x\ntitle: t\nlaw: [\"*\"]\n");
    run(folder.path(), &["check", "builtin:flash", "--suite", "unknown.yaml"])
        .expect(2, &["unknown.yaml:3:1", "did you mean `laws`?"]);
    let law = "law: ill\ntitle: t\nproof: exact\ncatches: []\nexpect: attention(Q, K, V) == V\n";
    write(&folder, "ill.yaml", law);
    run(folder.path(), &["check", "builtin:flash", "--law", "ill.yaml"])
        .expect(2, &["ill.yaml:5:9", "expected n_q on both sides, got n_q and n_k"]);
    write(&folder, "empty.yaml", "");
    run(folder.path(), &["check", "builtin:flash", "--suite", "empty.yaml"])
        .expect(2, &["empty file"]);
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let refs = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{refs}]\n"));
    }
    write(&folder, "bomb.yaml", &bomb);
    run(folder.path(), &["check", "builtin:flash", "--suite", "bomb.yaml"]).expect(2, &["error"]);
    run(folder.path(), &["check", "builtin:flash", "--suite", "absent.yaml"])
        .expect(2, &["absent.yaml", "expected a readable file"]);
}

#[test]
fn unknown_names_get_the_nearest_known_one() {
    let folder = folder();
    let check = |args: &[&str], part: &str| run(folder.path(), args).expect(2, &[part]).code;
    check(&["check", "builtin:fault/gqa-modul"], "did you mean `gqa-modulo`?");
    check(
        &["check", "builtin:flush"],
        "expected builtin:standard, builtin:flash or builtin:fault/ID",
    );
    check(&["check", "builtin:flash", "--suite", "cor"], "did you mean `core`?");
    check(&["check", "builtin:flash", "--law", "valeu"], "did you mean `value`?");
    check(&["check", "builtin:flash", "--dtype", "float3"], "did you mean `float32`?");
    check(
        &["check", "builtin:flash", "--dtype", "float8_e5m2"],
        "known: float64, float32, bfloat16, float16",
    );
    check(
        &["check", "builtin:flash", "--convention", "causal=uper-left"],
        "did you mean `upper-left`?",
    );
    check(&["check", "builtin:flash", "--convention", "causal"], "expected field=value");
    check(&["check", "builtin:flash", "--contract", "bf16-flas"], "did you mean `bf16-flash`?");
    check(
        &["check", "builtin:flash", "--contract", "bf16-flash+split-vk"],
        "did you mean `split-kv`?",
    );
    check(
        &["check", "builtin:flash", "--contract", "f32+f16-accumulation"],
        "expected a contract of float16",
    );
    check(&["check", "builtin:flash", "--contract", "tile-64"], "such as bf16-flash+tile-64");
    check(&["check", "builtin:flash", "--contract", "+split-kv"], "such as bf16-flash+split-kv");
    check(&["check", "builtin:flash", "--timeout", "-1"], "timeout");
    check(
        &["explain", "QK999"],
        "expected a law, fault, family of faults, convention, contract, suite, option, verdict, finding, word of a law or code",
    );
    for (wrong, right) in [
        ("suspct", "SUSPECT"),
        ("softcp", "softcap"),
        ("cor", "core"),
        ("tile-x", "tile-N"),
        ("windw_size", "window_size"),
        ("softmax_row", "softmax_rows"),
        ("permutatoin", "permutation"),
    ] {
        check(&["explain", wrong], &format!("did you mean `{right}`?"));
    }
    check(&["explain", "bf16-flash+tiel-64"], "modifier `tiel-64`: expected a known modifier");
    check(&["schema", "lw"], "did you mean `law`?");
    check(&["replay", "c-0000"], "expected a stored case");
}

#[test]
fn a_suite_of_the_user_works() {
    let folder = folder();
    let suite = "suite: mine\ntitle: t\nlaws: [value, convex-hull]\ndtypes: [float32]\nshapes:\n  - {b: 1, h_q: 2, h_k: 1, n_q: 3, n_k: 4, d_k: 2, d_v: 5}\nvalues: [normal]\nmasks: [random]\nbroadcast: [i j]\nstrength: 2\n";
    write(&folder, "mine.yaml", suite);
    let finished = run(folder.path(), &["check", "builtin:flash", "--suite", "mine.yaml"]);
    finished.expect(0, &["suite mine", "laws      2 of 2 checked"]);
    let law = "law: doubled\ntitle: Doubling the values doubles the output\nproof: rewrite\ncatches: []\nexpect: attention(Q, K, 2 * V) == 2 * attention(Q, K, V)\noptions: [scale]\n";
    write(&folder, "doubled.yaml", law);
    run(folder.path(), &["check", "builtin:flash", "--law", "doubled.yaml"])
        .expect(0, &["laws      1 of 1 checked"]);
    run(folder.path(), &["check", "builtin:fault/negative-values-lost", "--law", "doubled.yaml"])
        .expect(1, &["QK421"]);
}

/// The verdict names the contract in the order of its parts, whatever the order they were given in.
#[test]
fn a_composed_contract_is_judged_by_and_named() {
    let folder = folder();
    let one = [
        "check",
        "builtin:flash",
        "--suite",
        "smoke",
        "--dtype",
        "float32",
        "--contract",
        "f32+tile-32+depth-64",
    ];
    run(folder.path(), &one).expect(0, &["under f32+depth-64+tile-32"]);
    let report = run(folder.path(), &[&one[..], &["--format", "json"]].concat()).json();
    assert_eq!(report["run"]["contracts"]["float32"], "f32+depth-64+tile-32");
}

/// A contract that was declared and judges nothing is never passed over.
#[test]
fn a_contract_of_another_format_is_told() {
    let folder = folder();
    let check = |args: &[&str], code: i32, parts: &[&str]| {
        let all = [&["check"], args, &["--suite", "smoke", "--law", "value"]].concat();
        run(folder.path(), &all).expect(code, parts);
    };
    let flash = "builtin:flash";
    let said = [
        "contract `bf16-flash`: expected one of a format that is checked here (float32), got one of bfloat16",
    ];
    check(
        &[flash, "--dtype", "float32", "--contract", "bf16-flash"],
        2,
        &[said[0], "of float32 there are f32, tf32"],
    );
    let both = ["--contract", "bf16-flash", "--contract", "f32+tile-64"];
    let told = "warning: contract bf16-flash judges nothing here: it is of bfloat16, and this run checks float32";
    check(&[&[flash, "--dtype", "float32"], &both[..]].concat(), 0, &[told, "under f32+tile-64"]);
    check(
        &[&[flash, "--dtype", "float32,bfloat16"], &both[..]].concat(),
        0,
        &["under f32+tile-64", "under bf16-flash"],
    );
    let two = [flash, "--contract", "f32", "--contract", "tf32"];
    check(&two, 2, &["contract for float32: expected one, got `f32` and `tf32`"]);
    // The file speaks of the target, not of this run; but not against itself.
    let entry = |more: &str| {
        format!("targets:\n  mine:\n    target: builtin:flash\n    contracts: [bf16-flash]\n{more}")
    };
    write(&folder, "qkvet.yaml", &entry(""));
    check(&["mine", "--dtype", "float32"], 0, &[told, "under f32"]);
    check(
        &["mine", "--dtype", "bfloat16", "--contract", "bf16-unfused"],
        0,
        &["under bf16-unfused"],
    );
    write(&folder, "qkvet.yaml", &entry("    dtypes: [float32]\n"));
    let said = "contract `bf16-flash`: expected one of the `dtypes` beside it (float32), got one of bfloat16";
    check(&["mine"], 2, &[said]);
}

/// In eight bits nothing is called, whatever else is declared; the way to say what is meant is
/// named.
#[test]
fn a_contract_of_eight_bits_is_refused_with_what_to_write_instead() {
    let folder = folder();
    let args = ["check", "builtin:standard", "--suite", "smoke", "--dtype", "float32"];
    let declare = |contracts: &[&str]| {
        let flags: Vec<&str> =
            contracts.iter().flat_map(|contract| ["--contract", *contract]).collect();
        run(folder.path(), &[&args[..], &flags].concat())
    };
    let said = "contract `e4m3-flash`: expected one of a format that cases are called in (float64, float32, bfloat16, float16)";
    for contracts in [&["e4m3-flash"][..], &["f32", "e4m3-flash"]] {
        declare(contracts).expect(2, &[said, "keeps bf16-flash+e4m3-operands or the like"]);
    }
    declare(&["f32+e4m3-operands"]).expect(0, &["under f32+e4m3-operands", "no finding in"]);
    run(folder.path(), &["explain", "e5m2-flash"])
        .expect(0, &["none yet", "--contract bf16-flash+e5m2-operands"]);
}

#[test]
fn lists_and_explanations_name_everything() {
    let folder = folder();
    for what in ["laws", "faults", "conventions", "contracts", "suites"] {
        let finished = run(folder.path(), &["list", what]);
        finished.expect(0, &[]);
        assert!(finished.stdout.lines().count() >= 2, "{what}");
    }
    run(folder.path(), &["list", "faults"])
        .expect(0, &["(masks)\n", "\n  QK641 query-projection-transposed  "]);
    run(folder.path(), &["explain", "layer"])
        .expect(0, &["faults: layer", "look ", "fix ", "QK642 "]);
    // An option and a family.
    run(folder.path(), &["explain", "scale"]).expect(0, &["1/√d_k", "faults: scale"]);
    let contracts = run(folder.path(), &["list", "contracts"]).stdout;
    let place =
        |text: &str| contracts.find(text).unwrap_or_else(|| panic!("lacks {text}\n{contracts}"));
    let groups = [
        "Contracts, written as",
        "bf16-flash  ",
        "does not call yet",
        "e4m3-flash",
        "Modifiers, written behind",
        "+depth-N",
    ];
    assert!(groups.windows(2).all(|pair| place(pair[0]) < place(pair[1])), "{contracts}");
    run(folder.path(), &["explain", "+split-kv"])
        .expect(0, &["modifier +split-kv", "allows    merges"]);
    run(folder.path(), &["explain", "f32+depth-16"])
        .expect(0, &["contract f32+depth-16", "at most 16 for scores"]);
    run(folder.path(), &["explain", "QK221"]).expect(0, &["gqa-modulo", "grouped-heads"]);
    run(folder.path(), &["explain", "row-stochasticity"]).expect(0, &["attended"]);
    let explain = |name: &str, parts: &[&str]| {
        run(folder.path(), &["explain", name]).expect(0, parts);
    };
    explain("tile-64", &["modifier +tile-64", "at least 64 keys", "write     bf16-flash+tile-64"]);
    explain("tile-N", &["modifier +tile-N"]);
    explain("causal=upper-left", &["declare  --convention causal=upper-left"]);
    explain("long", &["suite long", "n_k 2040–16385", "future-cannot-matter", "cases    552"]);
    explain("CONVENTION", &["declare it", "exit code 1"]);
    explain("FIXED", &["exit code 0"]);
    explain("UNSEEN", &["exit code 4"]);
    for name in ["memory-layout", "the result depends on how the inputs lie in memory"] {
        explain(name, &["finding memory-layout", "read through the strides"]);
    }
    explain("wrong-results-that-no-known-fault-explains", &["finding unexplained", "qkvet probe"]);
    explain("wrong shape of the output", &["finding wrong-form", "(b, h_q, n_q, d_v)"]);
    explain("error", &["verdict ERROR", "exit code 1, 3 for a broken protocol"]);
    let report = run(
        folder.path(),
        &["check", "builtin:flash", "--suite", "smoke", "-q", "--format", "json"],
    )
    .json();
    for option in report["coverage"]["options"].as_object().expect("options").keys() {
        explain(option, &[&format!("option {option}"), "absent", "range over it"]);
    }
    explain("softcap", &["c · tanh(score / c)", "argument softcap or logits_soft_cap"]);
    explain("cu_seqlens_q", &["option packed", "argument key_offsets or cu_seqlens_k"]);
    explain("need_weights", &["result return_weights"]);
    explain(
        "row",
        &["function row(A, i)", "i      an index", "is     a matrix (1, m)", "expect: ", "use it"],
    );
    explain("index", &["domain index(n, not=i)", "is     an index"]);
    explain("where", &["function where(c, A, B)", "field where:"]);
    explain("mask", &["option mask", "domain mask(n_q, n_k)"]);
    explain("@", &["operator A @ C", "is     a matrix (n, p)"]);
    explain("definition", &["proof proof: definition"]);
    let page = run(folder.path(), &["explain", "language"]).stdout;
    let checked_in =
        std::fs::read_to_string(root().join("docs/language.md")).expect("docs/language.md");
    assert!(
        page == checked_in,
        "docs/language.md differs from `qkvet explain language`: run `cargo xtask regen`"
    );
    run(folder.path(), &["--help"]).expect(0, &["qkvet check builtin:flash", "Exit codes"]);
}

#[test]
fn schemas_are_checked_in() {
    let names = run(root(), &["schema", "--list"]).stdout;
    assert!(names.lines().count() >= 6);
    for name in names.lines() {
        let path = root().join(format!("docs/schema/{name}.json"));
        let stored = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask regen`", path.display()));
        assert_eq!(
            stored.trim(),
            run(root(), &["schema", name]).stdout.trim(),
            "docs/schema/{name}.json is stale: run `cargo xtask regen`"
        );
    }
}

/// Smoke is small: a tenth of the faults at most is not triggered in float32, and a tenth looks
/// like another one there or like two. The standard tests take every ninth fault.
#[test]
fn a_fault_is_one_finding_that_names_it() {
    let folder = folder();
    let faults = run(folder.path(), &["list", "faults"]).stdout;
    let (mut untouched, mut wrong, mut tokens) = (Vec::new(), Vec::new(), Vec::new());
    let step = if is_thorough() { 1 } else { 9 };
    // Lines of families have no code.
    let faults: Vec<&str> =
        faults.lines().filter(|line| line.starts_with("  ")).step_by(step).collect();
    for line in &faults {
        let mut words = line.split_whitespace();
        let (code, id) = (words.next().expect("a code"), words.next().expect("an id"));
        let target = format!("builtin:fault/{id}");
        let args =
            ["check", &target, "--suite", "smoke", "--dtype", "float32", "--format", "json", "-q"];
        let report = run(folder.path(), &args).json();
        let findings = report["findings"].as_array().expect("findings");
        let named = findings.iter().all(|finding| {
            let title = finding["sentences"]["title"].as_str().expect("a title");
            title.contains(code)
                || finding["kind"] == "convention"
                || finding["verdict"] == "NONDET"
        });
        let witnesses =
            findings.iter().map(|finding| finding["witness"]["call"].as_str().expect("a call"));
        // What has to be refused is told by what does not fit, not by extents.
        tokens.extend(
            witnesses.filter_map(|call| Some(extent(call, "n_q=")?.max(extent(call, "n_k=")?))),
        );
        if findings.is_empty() {
            untouched.push(id.to_owned());
        } else if findings.len() != 1 || !named {
            wrong.push(format!(
                "{id}: {:?}",
                findings.iter().map(|finding| &finding["sentences"]["title"]).collect::<Vec<_>>()
            ));
        }
    }
    assert!(untouched.len() * 10 <= faults.len(), "not triggered: {untouched:?}");
    assert!(wrong.len() * 10 <= faults.len(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    tokens.sort_unstable();
    assert!(tokens[tokens.len() / 2] <= 3, "tokens of the witnesses: {tokens:?}");
}

/// The extent of this name in a call.
fn extent(call: &str, name: &str) -> Option<usize> {
    call.split(' ')
        .find_map(|word| word.strip_prefix(name))
        .map(|word| word.parse().expect("a number"))
}

#[test]
fn stopping_at_the_first_finding_is_the_same_with_any_number_of_workers() {
    let folder = folder();
    let report = |jobs: &str| {
        run(
            folder.path(),
            &[
                "check",
                "builtin:fault/weights-not-normalized",
                "-x",
                "-j",
                jobs,
                "--format",
                "json",
            ],
        )
        .stdout
    };
    let one = report("1");
    for _ in 0..3 {
        assert_eq!(one, report("2"));
    }
}

#[test]
fn every_printed_replay_line_works() {
    let folder = folder();
    write(
        &folder,
        "mine.yaml",
        "law: doubled\ntitle: Doubling the values doubles the output\nproof: rewrite\ncatches: []\nexpect: attention(Q, K, 2 * V) == 2 * attention(Q, K, V)\noptions: [scale]\n",
    );
    let report = run(
        folder.path(),
        &[
            "check",
            "builtin:fault/negative-values-lost",
            "--law",
            "mine.yaml",
            "--law",
            "value",
            "--format",
            "json",
        ],
    )
    .json();
    let findings = report["findings"].as_array().expect("findings");
    assert!(!findings.is_empty());
    for finding in findings {
        let replay = finding["replay"].as_str().expect("a line");
        let args: Vec<&str> = replay.split_whitespace().skip(1).collect();
        run(folder.path(), &args).expect(1, &["FAIL"]);
    }
}

/// A false law would find fault with a right target; one that is not proved may.
#[test]
fn laws_of_the_user_are_looked_at_before_the_target() {
    let folder = folder();
    let check = |expect: &str, proof: &str, more: &[&str]| {
        let law = format!(
            "law: own\ntitle: t\nproof: {proof}\ncatches: []\nexpect: {expect}\noptions: []\n"
        );
        write(&folder, "own.yaml", &law);
        let args = [
            "check",
            "builtin:flash",
            "--law",
            "own.yaml",
            "--suite",
            "smoke",
            "--dtype",
            "float64",
        ];
        run(folder.path(), &[&args, more].concat())
    };
    let tripled = "attention(Q, K, 2 * V) == 3 * attention(Q, K, V)";
    check(tripled, "rewrite", &[]).expect(
        2,
        &["law own: expected one that holds", "left  = 2", "qkvet prove --file own.yaml"],
    );
    check(tripled, "rewrite", &["--convention", "causal=upper-left"])
        .expect(1, &["law own is false of the standard meaning"]);
    let true_but_unproved =
        "norm_max(attention(Q, K, V) - attention(Q, K, V, scale=1)) <= spread(V)";
    check(true_but_unproved, "derivation", &[])
        .expect(0, &["law own: it held on small instances and is not proved"]);
    let proved = check("attention(Q, K, 2 * V) == 2 * attention(Q, K, V)", "rewrite", &[]);
    assert!(!proved.stderr.contains("law own"), "{}", proved.stderr);
}

#[test]
fn hostile_laws_are_errors() {
    let folder = folder();
    let law = |expect: &str| {
        format!("law: hostile\ntitle: t\nproof: exact\ncatches: []\nexpect: {expect}\n")
    };
    let check = |expect: &str, part: &str| {
        write(&folder, "hostile.yaml", &law(expect));
        run(
            folder.path(),
            &["check", "builtin:flash", "--law", "hostile.yaml", "--suite", "smoke", "-q"],
        )
        .expect(2, &[part]);
    };
    check(&format!("V{} == V", "+V".repeat(100_000)), "words and signs");
    check(&format!("V{} == V", ".T".repeat(100_000)), "words and signs");
    let large = |ones: &str| format!("norm_max({ones}) == norm_max(attention(Q, K, V))");
    check(&large("ones(900000000, 900000000)"), "elements");
    check(&large("ones(900000, 100000)"), "elements");
    check(&large("ones(999999999*999999999*999999999)"), "2^63");
    check("V == V", "expected one that asks a target something");
    run(folder.path(), &["check", "builtin:flash", "--law", "dot-product-scale"]).expect(
        2,
        &[
            "law dot-product-scale: expected one that asks a target something",
            "qkvet prove dot-product-scale",
        ],
    );
    write(
        &folder,
        "caught.yaml",
        "law: x\ntitle: t\nproof: exact\ncatches: [no-such-fault]\nexpect: V == V\n",
    );
    run(folder.path(), &["check", "builtin:flash", "--law", "caught.yaml"])
        .expect(2, &["no-such-fault"]);
    write(
        &folder,
        "taken.yaml",
        "law: value\ntitle: t\nproof: exact\ncatches: []\nexpect: V == V\n",
    );
    run(folder.path(), &["check", "builtin:flash", "--law", "taken.yaml"])
        .expect(2, &["which is taken"]);
}
