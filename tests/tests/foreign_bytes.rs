//! Every parser that takes bytes of others, on files that are right and were then changed: it gives
//! a value or an error, and neither panics nor hangs. The changes are drawn from a fixed seed;
//! `QKVET_TEST_FUZZ_SECONDS=600` goes on with further ones for that long, each parser, and says how
//! many there were. `fuzz/` gives the same parsers to a fuzzer that looks at coverage.

#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;

use qkvet_gen::frozen::{
    call_of, case_from_json, case_from_npz, case_from_safetensors, case_to_json, case_to_npz,
    case_to_safetensors, freeze, frozen_plans, output_from_json, output_from_npz,
    output_from_safetensors, output_to_json, output_to_npz, output_to_safetensors, read_group,
    read_manifest,
};
use qkvet_gen::{build, case_id, check_case, check_suite, from_json, from_token, plans, to_json};
use qkvet_report::{
    ReportFormat, add_known, read_known, read_snapshot, remove_known, render, write_as,
};
use qkvet_run::AnswerReader;
use qkvet_run::adapters::library::LibraryConfig;
use qkvet_run::adapters::onnx::{Constants, Model};
use qkvet_run::config::Config;
use qkvet_run::record::read_shards;
use qkvet_run::store::read_case;
use qkvet_spec::shape::check_law;
use qkvet_spec::{
    Case, Catalog, CheckedLaw, Contract, Convention, Dtype, Fault, Law, Modifier, Suite, Summary,
    parse_yaml,
};
use qkvet_tests::changed::{MAX_BYTES, check, files, files_in, text};
use qkvet_tests::{Folder, qkvet, temp};
use serde_json::json;
use serde_json::value::RawValue;

#[test]
fn laws() {
    check("law", &files("specs/laws", ".yaml"), |bytes| {
        text(bytes).is_some_and(|source| CheckedLaw::from_yaml("x.yaml", source).is_ok())
    });
}

#[test]
fn faults_and_conventions() {
    check("fault", &files("specs/faults", ".yaml"), |bytes| {
        text(bytes).is_some_and(|source| parse_yaml::<Fault>("x.yaml", source).is_ok())
    });
    let catalog = Catalog::embedded().expect("specifications");
    check("convention", &files("specs/conventions", ".yaml"), |bytes| {
        let Some(source) = text(bytes) else { return false };
        // The catalog knows those of the corpus already.
        black_box(catalog.clone().add_own_convention("x.yaml", source).is_ok());
        parse_yaml::<Convention>("x.yaml", source).is_ok()
    });
}

#[test]
fn contracts_and_suites() {
    let (modifiers, contracts): (Vec<_>, Vec<_>) =
        files("specs/contracts", ".yaml").into_iter().partition(|bytes| {
            text(bytes).is_some_and(|source| parse_yaml::<Contract>("x", source).is_err())
        });
    check("contract", &contracts, |bytes| {
        text(bytes).is_some_and(|source| parse_yaml::<Contract>("x.yaml", source).is_ok())
    });
    if !modifiers.is_empty() {
        check("modifier", &modifiers, |bytes| {
            text(bytes).is_some_and(|source| parse_yaml::<Modifier>("x.yaml", source).is_ok())
        });
    }
    check("suite", &files("specs/suites", ".yaml"), |bytes| {
        let suite = text(bytes).and_then(|source| parse_yaml::<Suite>("x.yaml", source).ok());
        suite.is_some_and(|suite| check_suite(&suite).is_ok())
    });
}

#[test]
fn configurations() {
    let template = include_bytes!("../../crates/cli/src/commands/init/qkvet.yaml").to_vec();
    let uncommented: Vec<u8> =
        text(&template).expect("text").replace("    # ", "    ").into_bytes();
    let mut corpus =
        [files("examples", "qkvet.yaml"), files("tests/libraries", "qkvet.yaml")].concat();
    corpus.push(template);
    corpus.push(b"profiles:\n  a: {suite: core, laws: [x], dtypes: [float32], seed: 1, timeout: 1.5, strict: true}\n  b: {extends: a, reports: [html=x, junit], python: ./p, quiet: false}\n  c: {extends: b, jobs: 2}\n".to_vec());
    check("configuration", &corpus, |bytes| {
        let config = text(bytes).and_then(|source| Config::parse("qkvet.yaml", source).ok());
        let Some(config) = config else { return false };
        for name in config.profiles.keys() {
            config.settings(name, Path::new("qkvet.yaml")).expect("a profile of the file");
        }
        true
    });
    // Comments that become keys are no matter of the corpus; they are read all the same.
    black_box(Config::parse("qkvet.yaml", text(&uncommented).expect("text")).is_ok());
    check("prototype", &[
        b"void attention(const float* query, const float* key, const float* value, float* output, int b, int h, int n_q, int n_k, int d_k, int d_v)".to_vec(),
        b"int f(const uint16_t *q, const uint16_t *k, const uint16_t *v, uint16_t *out, int64_t batch, int64_t heads, int64_t seqlen_q, int64_t seqlen_k, int64_t head_dim, float scale, bool causal)".to_vec(),
    ], |bytes| {
        let mut config = LibraryConfig::new("./x.so", Path::new("/"), "/bin/true".into());
        // Whether a prototype is right is tested elsewhere.
        text(bytes).is_some_and(|source| { black_box(config.declare(source, &[Dtype::Float16]).is_ok()); !source.contains('@') })
    });
}

#[test]
fn snapshots_and_known_deviations() {
    let folder = temp();
    for (target, name) in [("builtin:standard", "a"), ("builtin:fault/gqa-modulo", "b")] {
        let file = format!("{name}.yaml");
        let words = [
            "snapshot", "record", target, "--suite", "smoke", "--law", "value", "--dtype",
            "float32",
        ];
        let mut command = qkvet(folder.path());
        let output = command
            .args(words)
            .args(["-q", "--exact", "--snapshot", &file])
            .env_remove("CI")
            .output();
        assert!(output.is_ok_and(|output| output.status.success()), "{target}");
    }
    check("snapshot", &files_in(folder.path(), ".yaml"), |bytes| {
        text(bytes).is_some_and(|source| read_snapshot("x.yaml", source).is_ok())
    });
    let known = [
        "known:\n  - target: \"attention.py:attention\"\n    law: causal-*\n    dtype: float16\n    finding: QK301\n    reason: so\n    link: https://example.org/issues/7\n    expires: 2027-01-31\n",
        "known: []\n",
        "known:\n- {case: c-0?, option: causal, suite: core, finding: \"*\", reason: \"a: \\\"b\\\"\"}\n",
    ];
    check("known deviations", &known.map(|one| one.as_bytes().to_vec()), |bytes| {
        let Some(source) = text(bytes) else { return false };
        let Ok(file) = read_known("x.yaml", source) else { return false };
        // What is written again says the same, and a text can be edited.
        let entry = file.known.first().cloned();
        let edited = entry
            .iter()
            .map(|entry| add_known(source, &file, std::slice::from_ref(entry)))
            .collect::<String>();
        assert!(
            edited.is_empty()
                || read_known("x.yaml", &edited)
                    .is_ok_and(|again| again.known.len() == file.known.len() + 1)
        );
        let rest = remove_known(source, &file, &|at| at == 0);
        read_known("x.yaml", &rest)
            .is_ok_and(|again| again.known.len() == file.known.len().saturating_sub(1))
    });
}

/// Small cases of the suite `smoke`, of every law and option that its first plans have.
fn cases() -> (Catalog, Vec<Case>) {
    let catalog = Catalog::embedded().expect("specifications");
    let suite = catalog.suites["smoke"].clone();
    let mut cases = Vec::new();
    {
        let laws = catalog.suite_laws(&suite).expect("laws");
        let all = plans(&suite, &laws, &suite.dtypes, 0);
        for plan in all.iter().step_by(all.len() / 300) {
            let law = laws.iter().find(|law| law.law.law == plan.law).expect("a law");
            let case = build(law, plan).expect("a case");
            if to_json(&case).len() < 8_000 && cases.len() < 60 {
                cases.push(case);
            }
        }
    }
    assert!(cases.len() >= 20, "{}", cases.len());
    (catalog, cases)
}

#[test]
fn cases_and_tokens() {
    let (catalog, cases) = cases();
    let fits = |case: &Case| {
        black_box(case_id(case));
        let law = catalog.laws.get(&case.law);
        law.is_some_and(|law| check_case(law, case).is_ok())
    };
    let corpus: Vec<Vec<u8>> = cases.iter().map(|case| to_json(case).into_bytes()).collect();
    check("case", &corpus, |bytes| {
        text(bytes).and_then(|source| from_json(source).ok()).is_some_and(|case| fits(&case))
    });
    let tokens = [
        "qk1:value;float32;causal;scale=0.5;mask=1x1x1x2:01;Q=1x1x1x1:0;K=1x1x2x1:0,1;V=1x1x2x1:0,1",
        "qk1:value;float64;Q=1x4x1x1:0,0,0,1;K=1x2x1x1:1,1;V=1x2x1x1:0,1",
        "qk1:log-sum-exp;float32;Q=1x4x1x1:1.625,-0.5,2,-0.625;K=1x2x1x1:0.125,1;V=1x2x1x1:0.375,1.625",
        "qk1:row-stochasticity;float32;dims=1,1,1,1,1,1,1;Q=1x1x1x1:0;K=1x1x1x1:0;V=1x1x1x1:0",
    ]
    .map(|token| token.as_bytes().to_vec());
    check("token", &tokens, |bytes| {
        text(bytes).and_then(|source| from_token(source).ok()).is_some_and(|case| fits(&case))
    });
}

#[test]
fn frozen_cases_and_outputs() {
    let catalog = Catalog::embedded().expect("specifications");
    let suite = catalog.suites["smoke"].clone();
    let law = &catalog.laws["value"];
    let plans = frozen_plans(&catalog, &suite, &suite.dtypes, 0).expect("plans");
    let step = (plans.text.len() / 12).max(1);
    let frozen: Vec<_> = plans
        .text
        .iter()
        .step_by(step)
        .map(|plan| freeze(&catalog, &build(law, plan).expect("a case")).expect("a case"))
        .collect();
    let all = |write: &dyn Fn(&qkvet_gen::frozen::FrozenCase) -> Vec<u8>| -> Vec<Vec<u8>> {
        frozen.iter().map(write).filter(|bytes| bytes.len() < MAX_BYTES / 2).collect()
    };
    check("frozen case", &all(&|case| case_to_json(case).expect("text").into_bytes()), |bytes| {
        text(bytes).is_some_and(|source| case_from_json(source).is_ok())
    });
    check("frozen case as npz", &all(&|case| case_to_npz(case).expect("bytes")), |bytes| {
        case_from_npz(bytes).is_ok()
    });
    check(
        "frozen case as safetensors",
        &all(&|case| case_to_safetensors(case).expect("bytes")),
        |bytes| case_from_safetensors(bytes).is_ok(),
    );
    let query = |case: &qkvet_gen::frozen::FrozenCase| call_of(&case.case).expect("a call").query;
    check(
        "output",
        &all(&|case| output_to_json(&case.id, &query(case)).expect("text").into_bytes()),
        |bytes| text(bytes).is_some_and(|source| output_from_json(source).is_ok()),
    );
    check(
        "output as npz",
        &all(&|case| output_to_npz(&case.id, &query(case)).expect("bytes")),
        |bytes| output_from_npz(bytes).is_ok(),
    );
    check(
        "output as safetensors",
        &all(&|case| output_to_safetensors(&case.id, &query(case)).expect("bytes")),
        |bytes| output_from_safetensors(bytes).is_ok(),
    );
    let small = |bytes: &Vec<u8>| bytes.len() < MAX_BYTES;
    let groups: Vec<Vec<u8>> =
        files("snapshots/smoke", ".snap").into_iter().filter(small).collect();
    let (manifests, groups): (Vec<_>, Vec<_>) = groups
        .into_iter()
        .partition(|bytes| text(bytes).is_some_and(|source| read_manifest(source).is_ok()));
    for (name, corpus) in [("manifest", manifests), ("group", groups)] {
        if corpus.is_empty() {
            continue;
        }
        check(name, &corpus, |bytes| {
            let Some(source) = text(bytes) else { return false };
            if name == "manifest" {
                read_manifest(source).is_ok()
            } else {
                read_group(source).is_ok()
            }
        });
    }
    // Models of one node, as they are exported.
    let folder = temp();
    let export =
        ["export", "smoke", "--dtype", "float32", "--format", "onnx-node-tests", "--out", "models"];
    folder.run(&export).ends(0);
    let models = files_in(&folder.path().join("models"), ".onnx");
    check("model", &models[..models.len().min(40)], |bytes| {
        Model::read(bytes, &Constants::default()).is_ok()
    });
}

#[test]
fn answers_of_programs() {
    let catalog = Catalog::embedded().expect("specifications");
    let suite = catalog.suites["smoke"].clone();
    let plans = frozen_plans(&catalog, &suite, &[Dtype::Float32], 0).expect("plans");
    let call =
        call_of(&build(&catalog.laws["value"], &plans.text[0]).expect("a case")).expect("a call");
    let reader = AnswerReader::new().expect("a folder");
    check(
        "hello",
        &[
            br#"{"ok":true,"wire":1,"name":"libattn","version":"1.4","hint":"none"}"#.to_vec(),
            br#"{"ok":false,"wire":1,"message":"no device"}"#.to_vec(),
        ],
        |bytes| reader.hello(bytes).is_ok(),
    );
    let d = call.dims();
    let elements = d.b * d.h_q * d.n_q * d.d_v;
    let data = base64(&vec![0; elements * 4]);
    let answer =
        |status: &str, rest: &str| format!(r#"{{"seq":7,"status":"{status}"{rest}}}"#).into_bytes();
    let shape = [d.b, d.h_q, d.n_q, d.d_v].map(|n| n.to_string()).join(",");
    let tensor = format!(
        r#","tensors":{{"output":{{"dtype":"float32","shape":[{shape}],"data":"{data}"}}}}"#
    );
    let corpus = [
        answer("ok", &tensor),
        answer("unsupported", r#","reason":"head_dim 256 > 128""#),
        answer("refused", r#","reason":"n_k must be > 0""#),
        answer("error", r#","reason":"CUDA error 700","fatal":true"#),
    ];
    check("answer", &corpus, |bytes| reader.reply(bytes, 7, &call).is_ok());
}

/// Zeros in base64; the length is a multiple of 4 bytes.
fn base64(zeros: &[u8]) -> String {
    let whole = zeros.len() / 3;
    let rest = match zeros.len() % 3 {
        1 => "AA==",
        2 => "AAA=",
        _ => "",
    };
    "AAAA".repeat(whole) + rest
}

/// What a run leaves behind: cases with what they showed, its report, and what a shard recorded.
#[test]
fn files_of_runs() {
    let folder = temp();
    let at = folder.path();
    for fault in ["gqa-modulo", "causal-upper-left", "weights-not-normalized", "query-overwritten"]
    {
        let target = format!("builtin:fault/{fault}");
        let _ = at.run(format!("check {target} --suite smoke -q"));
        let report = format!(".qkvet/last/{fault}.json");
        let _ = std::fs::copy(at.join(".qkvet/last/report.json"), at.join(report));
    }
    let _ =
        at.run("check builtin:flash --suite smoke -q --law single-key --dtype float32 --shard 1/1");
    let all = |folder: &str, most: usize| -> Vec<Vec<u8>> {
        let mut paths: Vec<_> = std::fs::read_dir(at.join(folder))
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|x| x == "json" || x == "jsonl"))
            .collect();
        paths.sort();
        paths
            .iter()
            .map(|path| std::fs::read(path).expect("a file"))
            .filter(|bytes| bytes.len() < most)
            .collect()
    };
    let path = at.join("changed");
    let mut stored = all(".qkvet/cases", MAX_BYTES);
    stored.extend(drawn(&stored[0]));
    check("stored case", &stored, |bytes| {
        std::fs::write(&path, bytes).expect("a file");
        let name = path.to_str().expect("text");
        let Ok(stored) = read_case(at, name) else { return false };
        let Ok(law) = check_law(Law::clone(&stored.law)) else { return false };
        stored.case(&law, name).is_ok_and(|case| check_case(&law, &case).is_ok())
    });
    let shard = at.join("changed.jsonl");
    check("shard", &all(".qkvet/shards", MAX_BYTES), |bytes| {
        std::fs::write(&shard, bytes).expect("a file");
        let joined = read_shards(std::slice::from_ref(&shard));
        joined.is_ok_and(|joined| joined.header.checked_laws("0.1.0").is_ok())
    });
    // Reports without their records, which are most of them: the rest is what formats are made of.
    let reports: Vec<Vec<u8>> = all(".qkvet/last", usize::MAX)
        .iter()
        .map(|bytes| {
            let mut report: serde_json::Value = serde_json::from_slice(bytes).expect("a report");
            report["records"].as_array_mut().expect("records").truncate(6);
            serde_json::to_vec(&report).expect("a report")
        })
        .filter(|bytes| bytes.len() < MAX_BYTES)
        .collect();
    let catalog = Catalog::embedded().expect("specifications");
    check("report", &reports, |bytes| {
        let Ok(summary) = serde_json::from_slice::<Summary>(bytes) else { return false };
        black_box(render(&summary));
        for format in ReportFormat::ALL {
            black_box(write_as(format, &summary, &catalog).is_ok());
        }
        true
    });
}

/// Stored cases that say what they are drawn from, in place of their numbers.
fn drawn(stored: &[u8]) -> Vec<Vec<u8>> {
    let catalog = Catalog::embedded().expect("specifications");
    // One of them has extents and tensors of its own.
    let laws = ["value", "self-attention-permutation-equivariance"].map(|id| &catalog.laws[id]);
    let plans = plans(&catalog.suites["smoke"], &laws, &[Dtype::Float32], 0);
    let stored = plans.iter().step_by(4).map(|plan| {
        let law = &catalog.laws[&plan.law];
        let case = build(law, plan).expect("a case");
        // Texts, for the variables of a law have an order.
        let raw = |text: String| RawValue::from_string(text).expect("JSON");
        let mut fields: BTreeMap<String, Box<RawValue>> =
            serde_json::from_slice(stored).expect("a case");
        fields.remove("case");
        fields.insert("law".into(), raw(serde_json::to_string(&law.law).expect("a law")));
        let drawn = json!({"id": case_id(&case), "plan": plan});
        fields.insert("drawn".into(), raw(drawn.to_string()));
        serde_json::to_vec(&fields).expect("a case")
    });
    stored.collect()
}
