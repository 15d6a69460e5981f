//! The command line: what is said and how it ends, for good input and bad.

use qkvet_tests::{Finished, Folder, is_thorough, root, temp, text};
use serde_json::{Value, json};

#[test]
fn the_main_job_holds_on_flash() {
    let folder = temp();
    let finished = folder.run("check builtin:flash --report json=report.json");
    let readme = root().read("README.md");
    // The nearest digits of an error may differ with the processor.
    let is_everywhere = |line: &&str| !line.trim().is_empty() && !line.contains("worst error");
    for line in finished.ends(0).stdout.lines().filter(is_everywhere) {
        assert!(readme.contains(line.trim()), "README.md shows another output: no line `{line}`");
    }
    let report: Value = serde_json::from_str(&folder.read("report.json")).expect("JSON");
    assert!(report["run"]["cases"].as_u64() >= Some(1500));
    let unchecked = report["coverage"]["unchecked"].to_string();
    assert!(unchecked.contains("strided") && unchecked.contains("gradients"), "{unchecked}");
}

#[test]
fn upper_left_is_shown_by_a_tiny_witness() {
    let folder = temp();
    let target = "builtin:fault/causal-upper-left";
    let check = format!("check {target} --suite smoke --format json");
    let finding = folder.run(&check).finds(&["causal=upper-left"]).first();
    assert_eq!(finding["kind"], "convention");
    let call = finding.call();
    assert!(extent(call, "n_q=") <= Some(3) && extent(call, "n_k=") <= Some(3), "{call}");
    assert!(extent(call, "n_q=").is_some() && extent(call, "n_k=").is_some(), "{call}");
    let reading = &finding["reading"];
    let keys = reading["weighed"].as_array().map_or(0, Vec::len);
    assert!(keys > 0 && reading["weighed"] != reading["expected"], "{reading}");
    let id = finding.case();
    folder.run(format!("replay {id}")).expect(1, &["FAIL"]);
    folder.run(format!("replay {id} --target builtin:flash")).expect(0, &["PASS"]);
    folder.run(format!("replay {id} --convention causal=upper-left")).expect(0, &["PASS"]);
    // Declared, it is the standard of its target.
    let declared = folder.run(format!("{check} --convention causal=upper-left")).finds(&[]);
    assert_eq!(declared["run"]["conventions"], serde_json::json!(["causal=upper-left"]));
}

#[test]
fn a_finding_has_eighteen_lines_at_most() {
    let folder = temp();
    for fault in [
        "scale-inverse-d",
        "padding-counted",
        "not-repeatable",
        "output-width-of-key",
        "query-overwritten",
    ] {
        let finished = folder
            .run(format!("check builtin:fault/{fault} -q --suite smoke --dtype float32,bfloat16"));
        finished.expect(1, &["qkvet replay"]);
        let start = finished
            .stdout
            .lines()
            .skip_while(|line| !line.starts_with("FAIL") && !line.starts_with("NONDET"));
        let lines = start.take_while(|line| !line.trim().is_empty()).count();
        assert!((5..=18).contains(&lines), "{lines}\n{}", finished.stdout);
    }
}

#[test]
fn seeds_change_cases_and_not_verdicts() {
    let folder = temp();
    let ids = |seed: u8| -> Vec<String> {
        let check = format!("check builtin:flash --suite smoke --seed {seed} --format json");
        let report = folder.run(check).report(0);
        report.records().map(|record| text(&record["id"]).to_owned()).collect()
    };
    let (zero, one) = (ids(0), ids(1));
    assert_eq!(zero.len(), one.len());
    assert!(zero.iter().all(|id| !one.contains(id)));
}

#[test]
fn reports_are_the_same_bytes_whatever_the_number_of_workers() {
    let folder = temp();
    for (target, flags, jobs) in [
        ("builtin:flash", "", &[1, 2][..]),
        ("builtin:fault/gqa-modulo", "", &[2]),
        ("builtin:fault/weights-not-normalized", "", &[2]),
        // Stopped at the first finding.
        ("builtin:fault/weights-not-normalized", "-x", &[2, 2]),
    ] {
        let flags = format!("--suite smoke --dtype float32,bfloat16 --format json {flags}");
        let report = |jobs| folder.run(format!("check {target} {flags} -j {jobs}")).stdout;
        let one = report(1);
        for &jobs in jobs {
            assert_eq!(one, report(jobs), "{target} with {jobs} workers");
        }
    }
}

/// What a run did in its time is done again by the number of its cases, and is no more than that.
#[test]
fn a_part_of_a_run_is_run_again_by_its_number() {
    let folder = temp();
    let run = |target: &str, flags: &str| {
        let words = format!("check builtin:{target} --suite smoke --dtype float32");
        folder.run(format!("{words} --format json {flags}"))
    };
    run("flash", "--time 1ms").expect(2, &["a time above 0"]);
    // One case is run.
    let timed = run("fault/weights-not-normalized", "-j 1 --time 0.000001s");
    let report = timed.report(1);
    assert_eq!(report["run"]["chosen"][0], "dtypes");
    let [cases, of] = [&report["run"]["cases"], &report["run"]["chosen"][1]["first"]["of"]]
        .map(|number| number.as_u64().expect("a number"));
    assert!(0 < cases && cases < of && report.records().count() as u64 == cases, "{cases} of {of}");
    for jobs in [1, 2] {
        let again = run("fault/weights-not-normalized", &format!("-j {jobs} --until {cases}"));
        assert_eq!(again.stdout, timed.stdout);
    }
    run("fault/weights-not-normalized", "--until 20").report(1);
    let whole = run("flash", &format!("--until {of}")).report(0);
    assert_eq!(whole["run"]["chosen"], json!(["dtypes"]));
    run("flash", "--until 5 --shard 1/2").ends(2);
}

#[test]
fn the_report_fits_its_schema() {
    let folder = temp();
    let schema = folder.run("schema report").json();
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    for target in ["builtin:flash", "builtin:fault/weights-not-normalized"] {
        let report = folder.run(format!("check {target} --suite smoke --format json")).json();
        let errors: Vec<String> =
            validator.iter_errors(&report).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
    assert!(!validator.is_valid(&serde_json::json!({ "run": 1 })));
}

#[test]
fn bad_specifications_are_shown_in_place() {
    let folder = temp();
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let refs = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{refs}]\n"));
    }
    for (name, text, parts) in [
        ("suite", "suite: [unclosed\n", &["suite.yaml:"][..]),
        ("suite", "suite: x\ntitle: t\nlaw: [\"*\"]\n", &["suite.yaml:3:1", "`laws`?"]),
        (
            "law",
            "law: ill\ntitle: t\nproof: exact\ncatches: []\nexpect: attention(Q, K, V) == V\n",
            &["law.yaml:5:9", "n_q and n_k"],
        ),
        ("suite", "", &["suite.yaml"]),
        ("suite", &bomb, &["suite.yaml"]),
    ] {
        folder.write(&format!("{name}.yaml"), text);
        folder.run(format!("check builtin:flash --{name} {name}.yaml")).expect(2, parts);
    }
    folder.run("check builtin:flash --suite absent.yaml").expect(2, &["absent.yaml"]);
}

#[test]
fn unknown_names_get_the_nearest_known_one() {
    let folder = temp();
    let check = |words: &str, part: &str| {
        folder.run(words).expect(2, &[part]);
    };
    check("check builtin:fault/gqa-modul", "`gqa-modulo`?");
    check("check builtin:flush", "builtin:flash, builtin:fault/ID or builtin:fault/FILE.yaml");
    for (flags, part) in [
        ("--suite cor", "`core`?"),
        ("--law valeu", "`value`?"),
        ("--dtype float3", "`float32`?"),
        ("--dtype float8_e5m2", "float64, float32, bfloat16, float16"),
        ("--convention causal=uper-left", "`upper-left`?"),
        ("--convention causal", "field=value"),
        ("--contract bf16-flas", "`bf16-flash`?"),
        ("--contract bf16-flash+split-vk", "`split-kv`?"),
        ("--contract f32+f16-accumulation", "float16"),
        ("--contract tile-64", "bf16+tile-64"),
        ("--contract +split-kv", "bf16+split-kv"),
        ("--timeout -1", "timeout"),
    ] {
        check(&format!("check builtin:flash {flags}"), part);
    }
    check("explain QK999", "QK999");
    for (wrong, right) in [
        ("suspct", "SUSPECT"),
        ("softcp", "softcap"),
        ("cor", "core"),
        ("tile-x", "tile-N"),
        ("windw_size", "window_size"),
        ("softmax_row", "softmax_rows"),
        ("permutatoin", "permutation"),
    ] {
        check(&format!("explain {wrong}"), &format!("`{right}`?"));
    }
    check("explain bf16-flash+tiel-64", "`tiel-64`");
    check("schema lw", "`law`?");
    check("replay c-0000", "c-0000");
}

const DOUBLED: &str = "law: doubled\ntitle: Doubling the values doubles the output\nproof: rewrite\ncatches: []\nexpect: attention(Q, K, 2 * V) == 2 * attention(Q, K, V)\noptions: [scale]\n";

#[test]
fn a_suite_of_the_user_works() {
    let folder = temp();
    let suite = "suite: mine\ntitle: t\nlaws: [value, convex-hull]\ndtypes: [float32]\nshapes:\n  - {b: 1, h_q: 2, h_k: 1, n_q: 3, n_k: 4, d_k: 2, d_v: 5}\nvalues: [normal]\nmasks: [random]\nbroadcast: [i j]\nstrength: 2\n";
    folder.write("mine.yaml", suite);
    let check = |words: &str| folder.run(format!("check {words} --format json"));
    let report = check("builtin:flash --suite mine.yaml").finds(&[]);
    assert_eq!((&report["run"]["suite"], report.laws()), (&"mine".into(), (2, 2)));
    folder.write("doubled.yaml", DOUBLED);
    assert_eq!(check("builtin:flash --law doubled.yaml").finds(&[]).laws(), (1, 1));
    check("builtin:fault/negative-values-lost --law doubled.yaml").finds(&["QK421"]);
}

/// The verdict names the contract in the order of its parts, whatever the order they were given in.
#[test]
fn a_composed_contract_is_judged_by_and_named() {
    let folder = temp();
    let check = "check builtin:flash --suite smoke --dtype float32 --contract f32+tile-32+depth-64";
    let report = folder.run(format!("{check} --format json")).finds(&[]);
    assert_eq!(report["run"]["contracts"]["float32"], "f32+depth-64+tile-32");
    folder.run("report").expect(0, &["f32+depth-64+tile-32"]);
}

/// A contract that was declared and judges nothing is never passed over.
#[test]
fn a_contract_of_another_format_is_told() {
    let folder = temp();
    let check =
        |words: &str| folder.run(format!("check {words} --suite smoke --law value --format json"));
    let judged = |finished: &Finished, contracts: &[(&str, &str)]| {
        let report = finished.finds(&[]);
        for (dtype, contract) in contracts {
            assert_eq!(report["run"]["contracts"][dtype], *contract);
        }
    };
    let float32 = "builtin:flash --dtype float32";
    check(&format!("{float32} --contract bf16-flash"))
        .expect(2, &["`bf16-flash`", "(float32)", "bfloat16", "f32, tf32"]);
    let both = "--contract bf16-flash --contract f32+tile-64";
    let told = ["warning: ", "bf16-flash", "bfloat16", "float32"];
    let finished = check(&format!("{float32} {both}"));
    finished.expect(0, &told);
    judged(&finished, &[("float32", "f32+tile-64")]);
    let finished = check(&format!("builtin:flash --dtype float32,bfloat16 {both}"));
    judged(&finished, &[("float32", "f32+tile-64"), ("bfloat16", "bf16-flash")]);
    check("builtin:flash --contract f32 --contract tf32")
        .expect(2, &["float32", "`f32`", "`tf32`"]);
    // The file speaks of the target, not of this run; but not against itself.
    let entry = |more: &str| {
        let entry = "targets:\n  mine:\n    target: builtin:flash\n    contracts: [bf16-flash]\n";
        folder.write("qkvet.yaml", format!("{entry}{more}"));
    };
    entry("");
    let finished = check("mine --dtype float32");
    finished.expect(0, &told);
    judged(&finished, &[("float32", "f32")]);
    let other = check("mine --dtype bfloat16 --contract bf16-unfused");
    judged(&other, &[("bfloat16", "bf16-unfused")]);
    entry("    dtypes: [float32]\n");
    check("mine").expect(2, &["`bf16-flash`", "`dtypes`", "(float32)", "bfloat16"]);
}

/// In eight bits nothing is called, whatever else is declared; the way to say what is meant is
/// named.
#[test]
fn a_contract_of_eight_bits_is_refused_with_what_to_write_instead() {
    let folder = temp();
    let declare = |contracts: &str| {
        let check = "check builtin:standard --suite smoke --dtype float32 --format json";
        folder.run(format!("{check} {contracts}"))
    };
    let formats = "(float64, float32, bfloat16, float16)";
    for contracts in ["--contract e4m3-flash", "--contract f32 --contract e4m3-flash"] {
        declare(contracts).expect(2, &["`e4m3-flash`", formats, "bf16+e4m3-operands"]);
    }
    let report = declare("--contract f32+e4m3-operands").finds(&[]);
    assert_eq!(report["run"]["contracts"]["float32"], "f32+e4m3-operands");
    folder.run("explain e5m2-flash").expect(0, &["--contract bf16+e5m2-operands"]);
}

#[test]
fn lists_and_explanations_name_everything() {
    let folder = temp();
    for what in ["laws", "faults", "conventions", "contracts", "suites"] {
        let listed = folder.run(format!("list {what}"));
        assert!(listed.ends(0).stdout.lines().count() >= 2, "{what}");
    }
    folder.run("list faults").expect(0, &["(masks)\n", "\n  QK641 query-projection-transposed  "]);
    let contracts = folder.run("list contracts").stdout;
    let place =
        |text: &str| contracts.find(text).unwrap_or_else(|| panic!("lacks {text}\n{contracts}"));
    let groups = ["bf16-flash  ", "e4m3-flash", "+depth-N"];
    assert!(groups.windows(2).all(|pair| place(pair[0]) < place(pair[1])), "{contracts}");
    for (name, parts) in [
        ("layer", &["faults: layer", "QK642 "][..]),
        // An option and a family.
        ("scale", &["1/√d_k", "faults: scale"]),
        ("+split-kv", &["modifier +split-kv"]),
        ("f32+depth-16", &["contract f32+depth-16", " 16 "]),
        ("QK221", &["gqa-modulo", "grouped-heads"]),
        ("row-stochasticity", &["law row-stochasticity"]),
        ("tile-64", &["modifier +tile-64", " 64 ", "bf16+tile-64"]),
        ("tile-N", &["modifier +tile-N"]),
        ("causal=upper-left", &["--convention causal=upper-left"]),
        ("long", &["suite long", "n_k 2040–16385", "future-cannot-matter", "552"]),
        ("CONVENTION", &["exit code 1"]),
        ("FIXED", &["exit code 0"]),
        ("UNSEEN", &["exit code 4"]),
        ("memory-layout", &["finding memory-layout"]),
        ("'the result depends on how the inputs lie in memory'", &["finding memory-layout"]),
        ("wrong-results-that-no-known-fault-explains", &["finding unexplained", "qkvet probe"]),
        ("'wrong shape of the output'", &["finding wrong-form", "(b, h_q, n_q, d_v)"]),
        ("error", &["verdict ERROR", "exit code 1, 3"]),
        ("softcap", &["c · tanh(score / c)", "logits_soft_cap"]),
        ("cu_seqlens_q", &["option packed", "key_offsets", "cu_seqlens_k"]),
        ("need_weights", &["result return_weights"]),
        ("row", &["function row(A, i)", "(1, m)", "expect: "]),
        ("index", &["domain index(n, not=i)"]),
        ("where", &["function where(c, A, B)", "field where:"]),
        ("mask", &["option mask", "domain mask(n_q, n_k)"]),
        ("@", &["operator A @ C", "(n, p)"]),
        ("definition", &["proof: definition"]),
        ("law", &["term law", "field law:"]),
        ("contract", &["term contract"]),
        ("witness", &["term call"]),
        ("fp16", &["data type float16", "f16-flash"]),
        ("--strict", &["flag --strict", "check"]),
        ("'snapshot check'", &["command qkvet snapshot check"]),
    ] {
        folder.run(format!("explain {name}")).expect(0, parts);
    }
    // Whatever is listed is explained; commands have spaces, and what is many is only counted.
    folder.run("list").expect(0, &["qkvet list suites"]);
    let listed = folder.run("explain").stdout;
    let (before, rest) = listed.split_once("\ncommands ").expect("commands");
    let (_, flags) = rest.split_once("\nflags ").expect("flags");
    let (_, terms) = before.split_once("\nterms ").expect("terms");
    let flags = flags.split("\nsettings ").next().unwrap_or_default();
    let words = format!("{terms} {flags}").replace("data types", "");
    let kinds = ["verdicts", "findings", "options"];
    let words: Vec<&str> = words
        .split([',', ' ', '\n'])
        .filter(|word| !word.is_empty() && !kinds.contains(word))
        .collect();
    assert!(words.len() > 100 && words.contains(&"undecided") && words.contains(&"--dtype"));
    let step = if is_thorough() { 1 } else { 7 };
    for word in words.iter().step_by(step) {
        // Some are flags of `explain` as well.
        folder.run(format!("explain -- {word}")).expect(0, &[]);
    }
    let report = folder.run("check builtin:flash --suite smoke -q --format json").json();
    for option in report["coverage"]["options"].as_object().expect("options").keys() {
        folder.run(format!("explain {option}")).expect(0, &[&format!("option {option}")]);
    }
    assert!(
        folder.run("explain language").stdout == root().read("docs/language.md"),
        "docs/language.md differs from `qkvet explain language`: run `cargo xtask regen`"
    );
    folder.run("--help").expect(0, &["qkvet check builtin:flash"]);
}

#[test]
fn schemas_are_checked_in() {
    let names = root().run("schema --list").stdout;
    assert!(names.lines().count() >= 6);
    for name in names.lines() {
        let path = format!("docs/schema/{name}.json");
        let made = root().run(format!("schema {name}")).stdout;
        assert_eq!(root().read(&path).trim(), made.trim(), "{path}: run `cargo xtask regen`");
    }
}

/// Smoke is small: a tenth of the faults at most is not triggered in float32, and a tenth looks
/// like another one there or like two. The standard tests take every ninth fault.
#[test]
fn a_fault_is_one_finding_that_names_it() {
    let folder = temp();
    let faults = folder.run("list faults").stdout;
    let (mut untouched, mut wrong, mut tokens) = (Vec::new(), Vec::new(), Vec::new());
    let step = if is_thorough() { 1 } else { 9 };
    // Lines of families have no code.
    let faults: Vec<&str> =
        faults.lines().filter(|line| line.starts_with("  ")).step_by(step).collect();
    for line in &faults {
        let mut words = line.split_whitespace();
        let (code, id) = (words.next().expect("a code"), words.next().expect("an id"));
        let flags = "--suite smoke --dtype float32 --format json -q";
        let report = folder.run(format!("check builtin:fault/{id} {flags}"));
        let report = qkvet_tests::Report(report.json());
        let is_named = report.findings().all(|finding| {
            let codes = finding["code"].as_str().unwrap_or_default();
            codes.split('+').any(|one| one == code)
                || finding["kind"] == "convention"
                || finding["verdict"] == "NONDET"
        });
        // What has to be refused is told by what does not fit, not by extents.
        tokens.extend(report.findings().filter_map(|finding| {
            Some(extent(finding.call(), "n_q=")?.max(extent(finding.call(), "n_k=")?))
        }));
        match report.names().as_slice() {
            [] => untouched.push(id),
            [_] if is_named => {}
            names => wrong.push(format!("{id}: {names:?}")),
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
fn every_printed_replay_line_works() {
    let folder = temp();
    folder.write("mine.yaml", DOUBLED);
    let laws = "--law mine.yaml --law value --format json";
    let report = folder.run(format!("check builtin:fault/negative-values-lost {laws}")).report(1);
    assert!(report.findings().count() > 0);
    for finding in report.findings() {
        folder.run(text(&finding["replay"])).expect(1, &["FAIL"]);
    }
}

/// A false law would find fault with a right target; one that is not proved may.
#[test]
fn laws_of_the_user_are_looked_at_before_the_target() {
    let folder = temp();
    let check = |expect: &str, proof: &str, more: &str| {
        let law = format!(
            "law: own\ntitle: t\nproof: {proof}\ncatches: []\nexpect: {expect}\noptions: []\n"
        );
        folder.write("own.yaml", law);
        let flags = "--law own.yaml --suite smoke --dtype float64";
        folder.run(format!("check builtin:flash {flags} {more}"))
    };
    let tripled = "attention(Q, K, 2 * V) == 3 * attention(Q, K, V)";
    check(tripled, "rewrite", "")
        .expect(2, &["law own", "left  = 2", "qkvet prove --file own.yaml"]);
    check(tripled, "rewrite", "--convention causal=upper-left").expect(1, &["law own"]);
    let true_but_unproved =
        "norm_max(attention(Q, K, V) - attention(Q, K, V, scale=1)) <= spread(V)";
    check(true_but_unproved, "derivation", "").expect(0, &["law own"]);
    let proved = check("attention(Q, K, 2 * V) == 2 * attention(Q, K, V)", "rewrite", "");
    assert!(!proved.ends(0).stderr.contains("law own"), "{}", proved.stderr);
}

#[test]
fn hostile_laws_are_errors() {
    let folder = temp();
    let check = |name: &str, catches: &str, expect: &str, part: &str| {
        let law = format!(
            "law: {name}\ntitle: t\nproof: exact\ncatches: [{catches}]\nexpect: {expect}\n"
        );
        folder.write("hostile.yaml", law);
        folder.run("check builtin:flash --law hostile.yaml --suite smoke -q").expect(2, &[part]);
    };
    let large = |ones: &str| format!("norm_max({ones}) == norm_max(attention(Q, K, V))");
    for (expect, part) in [
        (format!("V{} == V", "+V".repeat(100_000)), "hostile.yaml"),
        (format!("V{} == V", ".T".repeat(100_000)), "hostile.yaml"),
        (large("ones(900000000, 900000000)"), "elements"),
        (large("ones(900000, 100000)"), "elements"),
        (large("ones(999999999*999999999*999999999)"), "2^63"),
        ("V == V".to_owned(), "law hostile"),
    ] {
        check("hostile", "", &expect, part);
    }
    check("x", "no-such-fault", "V == V", "no-such-fault");
    check("value", "", "V == V", "`value`");
    folder
        .run("check builtin:flash --law dot-product-scale")
        .expect(2, &["dot-product-scale", "qkvet prove dot-product-scale"]);
}

/// `--lf` asks what did not hold in the last run of the target here, and says so; all where nothing
/// failed.
#[test]
fn what_failed_last_is_asked_alone() {
    let folder = temp();
    let check = "check builtin:fault/sinks-ignored --suite smoke --dtype float32 --format json -q";
    let all = folder.run(check).report(1);
    let failed = all.count("FAIL");
    assert!(failed > 0 && failed < all.count("PASS"));
    let again = folder.run(format!("{check} --lf"));
    let report = again.report(1);
    assert_eq!((report.count("FAIL"), report.count("PASS")), (failed, 0));
    let chosen = report["run"]["chosen"].as_array().expect("what was chosen");
    assert!(chosen.contains(&"failed".into()), "{chosen:?}");
    let other = "check builtin:standard --suite smoke --dtype float32 -q --lf";
    folder.run(other).expect(0, &["notice: no run of builtin:standard is kept here"]);
    folder.run(other).expect(0, &["notice: no case of builtin:standard failed"]);
}
