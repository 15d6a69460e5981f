//! The frozen cases under `snapshots/`: made again, they are the same bytes, whatever the machine
//! does; and they catch what the live suite catches.

#![allow(clippy::disallowed_methods, reason = "tests read the files they check")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use qkvet_engine::Products;
use qkvet_engine::interpret::{interpret, interpret_with};
use qkvet_engine::law::{Judge, evaluate};
use qkvet_engine::lowering::ResultName;
use qkvet_engine::simulate::Simulator;
use qkvet_gen::frozen::{
    FrozenCase, FrozenGroup, LargerEntry, Manifest, call_of, case_to_safetensors, content_hash,
    freeze_with, frozen_groups, frozen_plans, read_group, read_manifest, strip_snapshot_header,
    write_group, write_manifest,
};
use qkvet_gen::{CasePlan, build, plans};
use qkvet_spec::{Catalog, Execution, Meaning, Suite, Verdict};
use qkvet_tests::{has_python, python, root, temp};

fn catalog() -> Catalog {
    Catalog::embedded().expect("the embedded catalog")
}

fn folder(suite: &str) -> PathBuf {
    root().join("snapshots").join(suite)
}

/// Freezes plans on so many threads; the order is that of the plans.
fn frozen(
    catalog: &Catalog,
    plans: &[CasePlan],
    threads: usize,
    products: Products,
) -> Vec<FrozenCase> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(plan) = plans.get(at) else { break done };
            let case = build(&catalog.laws["value"], plan).expect("a case");
            done.push((
                at,
                freeze_with(catalog, &case, products).unwrap_or_else(|error| panic!("{error}")),
            ));
        }
    };
    let mut cases: Vec<(usize, FrozenCase)> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        handles.into_iter().flat_map(|handle| handle.join().expect("a worker")).collect()
    });
    cases.sort_by_key(|(at, _)| *at);
    cases.into_iter().map(|(_, case)| case).collect()
}

fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn groups(catalog: &Catalog, suite: &Suite, threads: usize) -> Vec<FrozenGroup> {
    groups_with(catalog, suite, threads, Products::FixedOrder)
}

fn groups_with(
    catalog: &Catalog,
    suite: &Suite,
    threads: usize,
    products: Products,
) -> Vec<FrozenGroup> {
    let plans = frozen_plans(catalog, suite, &suite.dtypes, 0).expect("plans").text;
    frozen_groups(suite, frozen(catalog, &plans, threads, products))
}

fn larger(catalog: &Catalog, plans: &[CasePlan]) -> Vec<LargerEntry> {
    let entry =
        |case: &FrozenCase| LargerEntry::new(case, &case_to_safetensors(case).expect("a file"));
    frozen(catalog, plans, workers(), Products::FixedOrder).iter().map(entry).collect()
}

/// Compares texts with the files of a suite's folder, which holds no others.
fn compare(suite: &str, texts: &BTreeMap<String, String>) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder(suite));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for (name, text) in texts {
            insta::assert_snapshot!(name.as_str(), text);
        }
    });
    let names = std::fs::read_dir(folder(suite)).expect("the folder of the suite");
    let names: BTreeSet<String> = names
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    // What insta leaves beside a snapshot that differs is not of the folder.
    let names: BTreeSet<String> =
        names.into_iter().filter(|name| !name.ends_with(".new")).collect();
    let expected: BTreeSet<String> = texts.keys().map(|name| format!("{name}.snap")).collect();
    assert_eq!(names, expected, "{suite}: files that nothing makes, or that are missing");
}

/// Every text of a suite, made now. Larger cases come from the manifest in the repository unless
/// they are given.
fn texts(
    suite: &Suite,
    groups: &[FrozenGroup],
    larger: Vec<LargerEntry>,
) -> BTreeMap<String, String> {
    let manifest = Manifest::new(suite, groups, larger).expect("a manifest");
    let group = |group: &FrozenGroup| (group.group.clone(), write_group(group).expect("a text"));
    let mut texts: BTreeMap<String, String> = groups.iter().map(group).collect();
    texts.insert("manifest".to_owned(), write_manifest(&manifest));
    texts
}

#[test]
fn the_answers_are_the_same_for_ever() {
    let catalog = catalog();
    for suite in ["smoke", "core"].map(|suite| &catalog.suites[suite]) {
        let groups = groups(&catalog, suite, workers());
        let plans = frozen_plans(&catalog, suite, &suite.dtypes, 0).expect("plans").larger;
        compare(&suite.suite, &texts(suite, &groups, larger(&catalog, &plans)));
    }
}

#[test]
fn threads_and_products_change_nothing() {
    let catalog = catalog();
    let suite = &catalog.suites["core"];
    let one = texts(suite, &groups(&catalog, suite, 1), Vec::new());
    assert_eq!(one, texts(suite, &groups(&catalog, suite, 2), Vec::new()));
    // What is frozen is made without faer, in plain loops; with faer and whatever SIMD it finds
    // here, the answers are the same. Its sizes of values are larger by less than 2⁻¹⁶: a bound is
    // no smaller, but for a unit of its third digit, and larger where it is a difference of them.
    let by_faer = groups_with(&catalog, suite, workers(), Products::Faer);
    for (group, other) in groups(&catalog, suite, 1).iter().zip(&by_faer) {
        for (case, other) in group.cases.iter().zip(&other.cases) {
            assert_eq!((&case.id, &case.answer), (&other.id, &other.answer));
            for (contract, bounds) in &case.bounds {
                let others = &other.bounds[contract];
                assert!(
                    bounds.iter().zip(others).all(|(x, y)| *y >= x * 0.99),
                    "{} {contract}: {bounds:?} {others:?}",
                    case.id
                );
            }
        }
    }
    // Whatever bits faer returns on this machine, its enclosures agree with every number that is
    // written.
    for case in groups(&catalog, suite, workers()).iter().flat_map(|group| &group.cases) {
        let call = call_of(&case.case).expect("a call");
        for (contract, bounds) in &case.bounds {
            let contract = &catalog.contracts[contract];
            let expected = interpret(&Meaning::standard(), &call, contract, ResultName::Output);
            assert_eq!(expected.shape, case.answer.shape);
            // With faer the bound has larger sizes of values, as above.
            let fixed = Products::FixedOrder;
            let sharp =
                interpret_with(&Meaning::standard(), &call, contract, ResultName::Output, fixed);
            for (at, decimal) in case.answer.values.iter().enumerate() {
                let (ball, hard) = (expected.exact[at], sharp.hard[at]);
                let distance = (ball.mid - decimal.to_f64()).abs();
                // The decimal is off by its last digit, and binary64 by half a unit: `error` says
                // by how much in all.
                assert!(
                    distance <= ball.rad + decimal.error(),
                    "{}: {decimal} and {ball:?}",
                    case.id
                );
                // Three digits hide the last places of the bound.
                assert!(
                    hard * (1.0 - 1.0 / 1024.0) <= bounds[at],
                    "{}: {hard} and {}",
                    case.id,
                    bounds[at]
                );
            }
        }
    }
}

/// The example that reads the text with NumPy alone, on a target; its exit code and last line.
fn frozen_reader(suite: &str, target: &str, more: &[&str]) -> Option<(Option<i32>, String)> {
    if !has_python() {
        return None;
    }
    let output = Command::new(python()?)
        .args(["examples/frozen_reader.py", &format!("snapshots/{suite}"), target])
        .args(more)
        .current_dir(root())
        .output()
        .expect("Python starts");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = stdout
        .lines()
        .last()
        .map_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned(), str::to_owned);
    Some((output.status.code(), last))
}

#[test]
fn numpy_alone_reads_the_answers() {
    for suite in ["smoke", "core"] {
        let Some((code, last)) = frozen_reader(suite, "examples/numpy_attention.py:attention", &[])
        else {
            return;
        };
        assert_eq!(code, Some(0), "{suite}: {last}");
        assert!(last.contains(" checked, 0 wrong, 0 skipped"), "{suite}: {last}");
    }
    let faulty = |name: &str| format!("tests/fixtures/faulty/{name}.py:attention");
    let names = [
        "causal_upper_left",
        "heads_by_remainder",
        "last_key_dropped",
        "mask_inverted",
        "scale_inverse_d",
        "softmax_over_queries",
    ];
    for name in names {
        let (code, last) = frozen_reader("core", &faulty(name), &[]).expect("Python");
        assert_eq!(code, Some(1), "{name}: {last}");
        assert!(last.contains(" wrong, 0 skipped"), "{name}: {last}");
    }
    // What is declared is right: the cases that ask something else are skipped, and enough others
    // are left.
    let declared = [
        ("causal_upper_left", "causal=upper-left"),
        ("heads_by_remainder", "head-map=tiled"),
        ("mask_inverted", "mask=true-hides"),
    ];
    for (name, convention) in declared {
        let (code, last) =
            frozen_reader("core", &faulty(name), &["--convention", convention]).expect("Python");
        assert_eq!(code, Some(0), "{name}: {last}");
        assert!(last.contains(" checked, 0 wrong, ") && !last.starts_with("0 "), "{name}: {last}");
    }
    let (code, last) = frozen_reader("core", "examples/nothing.py:attention", &[]).expect("Python");
    assert_eq!(code, Some(2), "{last}");
    let (code, last) =
        frozen_reader("nothing", "examples/numpy_attention.py:attention", &[]).expect("Python");
    assert_eq!(code, Some(2), "{last}");
    let folder = temp();
    let nothing = folder.path().join("nothing.py");
    std::fs::write(&nothing, "def attention(*all):\n    raise NotImplementedError\n")
        .expect("a file");
    let (code, last) =
        frozen_reader("smoke", &format!("{}:attention", nothing.display()), &[]).expect("Python");
    assert_eq!(code, Some(4), "{last}");
}

#[test]
fn core_catches_every_fault_that_the_live_suite_catches_by_value() {
    let catalog = catalog();
    let (suite, law) = (&catalog.suites["core"], &catalog.laws["value"]);
    let groups = groups(&catalog, suite, workers());
    let cases: Vec<&FrozenCase> = groups.iter().flat_map(|group| &group.cases).collect();
    let idle = cases.iter().filter(|case| case.hunts.is_empty()).count();
    assert!(20 * idle <= cases.len(), "{idle} of {} cases catch nothing", cases.len());
    let mut missed = Vec::new();
    // Frozen cases have scale, causal, mask and bias only. Larger ones are in files of a release.
    let plain = Suite { extended: None, ..suite.clone() };
    let work = |d: qkvet_spec::Dims| d.n_k * d.d_k.max(d.d_v);
    let most = cases.iter().map(|case| work(case.case.dims)).max().expect("a case");
    for dtype in &suite.dtypes {
        let contract = catalog.default_contract(*dtype).expect("a contract");
        let live: Vec<_> = plans(&plain, &[law], &[*dtype], 0)
            .iter()
            .filter(|plan| work(plan.dims) <= most)
            .map(|plan| build(law, plan).expect("a case"))
            .collect();
        let hunted =
            suite.frozen.as_ref().map(|frozen| frozen.faults.as_slice()).unwrap_or_default();
        for (id, fault) in catalog.faults.iter().filter(|(id, _)| hunted.contains(id)) {
            let mut target = Simulator::new(Meaning::standard(), Execution::standard())
                .with_fault(fault.clone());
            let meaning = &Meaning::standard();
            let caught = fault.behavior.is_none()
                && live.iter().any(|case| {
                    let outcome = evaluate(law, case, Judge { meaning, contract }, &mut target)
                        .expect("a verdict");
                    outcome.verdict == Verdict::Fail
                });
            let hunted =
                cases.iter().any(|case| case.case.dtype == *dtype && case.hunts.contains(id));
            if caught && !hunted {
                missed.push(format!("{id} in {dtype}"));
            }
        }
    }
    assert!(missed.is_empty(), "caught live, not by a frozen case: {}", missed.join(", "));
}

/// The text with one other digit in the first number that is not 0 after `"rows"` of the first such
/// part.
fn changed_digit(text: &str, part: &str) -> String {
    let part = text.find(part).expect("the part");
    let rows = part + text[part..].find("\"rows\"").expect("rows");
    let at = rows + text[rows..].find(|c: char| ('1'..='9').contains(&c)).expect("a digit");
    let other = if text[at..].starts_with('9') { "8" } else { "9" };
    format!("{}{other}{}", &text[..at], &text[at + 1..])
}

/// What was released never changes: a version stands for one manifest, and with it for every
/// answer. New cases get a new version and a new line here; no snapshot tool writes this list.
const RELEASED: [(&str, &str, &str); 8] = [
    ("smoke", "1.0.0", "e433f71dfee590f4b97646e5de73468cc110bceaf02b61925c06545ed60330f4"),
    ("core", "1.0.0", "fb85ec8069e90155a23c351e9bc3d77bc16d7f12612c3b0f420dc07d765190b0"),
    // The same answers, with wider bounds.
    ("smoke", "1.1.0", "af82738da186deaeed442192e6de3134d455b362fb41204254501cdfe4c04c9f"),
    ("core", "1.1.0", "0838072bf418fc080f92b3daf029016d44a8a66bfad500705758594e1037b52c"),
    // The same small cases; larger ones are drawn from more shapes.
    ("smoke", "1.2.0", "0fa2c8af99045fc653f5b7da6ea7ef739cac55785eac52be13143bd32d2f3439"),
    ("core", "1.2.0", "0977181a8b2848fb4862f40b289b2b2c3a460f6c4cb06648a11b42a95453da20"),
    // The same answers, with bounds where there were none, and a little narrower ones.
    ("smoke", "1.3.0", "0e87456e42a7207e55bfb6b44b799b144f878512bb7a47a7336b137734a6aea1"),
    ("core", "1.3.0", "947bc91b284f135f928df5df944b83d3d98777b4339919f53427ab215d171ad7"),
];

#[test]
fn a_version_stands_for_one_set_of_answers() {
    for suite in ["smoke", "core"] {
        let text = std::fs::read_to_string(folder(suite).join("manifest.snap")).expect("a text");
        let manifest = read_manifest(&text).unwrap_or_else(|error| panic!("{error}"));
        let hash = content_hash(strip_snapshot_header(&text).expect("a header").as_bytes());
        let released = RELEASED
            .iter()
            .find(|(name, version, _)| *name == suite && *version == manifest.version);
        let expected = released.map(|(_, _, hash)| (*hash).to_owned());
        assert_eq!(
            expected,
            Some(hash),
            "{suite} {}: raise the version of new cases",
            manifest.version
        );
    }
}

#[test]
fn the_files_are_small_and_say_what_the_manifest_says() {
    for (suite, most) in [("smoke", 400_000), ("core", 5_000_000)] {
        let read = |file: &str| std::fs::read_to_string(folder(suite).join(file)).expect("a text");
        let manifest =
            read_manifest(&read("manifest.snap")).unwrap_or_else(|error| panic!("{error}"));
        let mut size = 0;
        for entry in &manifest.groups {
            let text = read(&entry.file);
            size += text.len();
            let group =
                manifest.read_group(&entry.file, &text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(
                write_group(&group).expect("a text"),
                strip_snapshot_header(&text).expect("a header")
            );
            // One changed digit of an answer is noticed by the hash, one of an input by the id too.
            let answer = changed_digit(&text, "\"answer\"");
            let refused =
                manifest.read_group(&entry.file, &answer).expect_err("another answer").to_string();
            assert!(refused.contains("sha256"), "{refused}");
            let query = changed_digit(&text, "\"query\"");
            let refused = read_group(&query).expect_err("another input").to_string();
            assert!(refused.contains("`id`") || refused.contains("finite numbers of"), "{refused}");
        }
        assert!(size <= most, "{suite}: {size} bytes of text, at most {most}");
        assert!(!manifest.larger.is_empty());
    }
}
