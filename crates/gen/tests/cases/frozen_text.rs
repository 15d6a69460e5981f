//! Frozen cases: what freezing promises, and the text that is kept, which a reader must not trust.

use qkvet_gen::frozen::{
    FrozenCase, LargerEntry, Manifest, call_of, case_from_json, case_of, case_to_json,
    case_to_safetensors, freeze, frozen_groups, frozen_plans, read_group, read_manifest,
    strip_snapshot_header, write_group, write_manifest,
};
use qkvet_gen::{case_id, check_suite};
use qkvet_spec::{Binding, BroadcastForm, Case, Dims, Dtype, MaskPattern, Suite, Values};

use crate::{built, catalog, plain};

/// A call with every option on.
fn call_with_options(dtype: Dtype) -> Case {
    let catalog = catalog();
    let law = &catalog.laws["value"];
    let mut plan =
        plain(law, Dims { b: 1, h_q: 2, h_k: 1, n_q: 2, n_k: 3, d_k: 2, d_v: 1 }, Values::Normal);
    plan.dtype = dtype;
    plan.mask = Some((MaskPattern::LeadingBlock, BroadcastForm::Shared));
    plan.bias = Some(BroadcastForm::PerKey);
    plan.scale = qkvet_gen::ScaleChoice::Small;
    plan.causal = true;
    built(law, &plan)
}

pub(crate) fn small(dtype: Dtype) -> FrozenCase {
    freeze(catalog(), &call_with_options(dtype)).unwrap()
}

/// The frozen cases of smoke, as text.
pub(crate) fn smoke() -> Vec<FrozenCase> {
    let catalog = catalog();
    let suite = &catalog.suites["smoke"];
    let plans = frozen_plans(catalog, suite, &suite.dtypes, 0).unwrap().text;
    plans
        .iter()
        .map(|plan| freeze(catalog, &built(&catalog.laws["value"], plan)).unwrap())
        .collect()
}

#[test]
fn a_call_and_its_case_are_the_same() {
    for case in smoke() {
        let call = call_of(&case.case).unwrap();
        assert_eq!(case_of(&call), case.case);
        assert_eq!(case_id(&case_of(&call)), case.id);
    }
}

#[test]
fn what_is_no_single_call_is_refused() {
    let message = |change: &dyn Fn(&mut Case)| {
        let mut case = call_with_options(Dtype::Float32);
        change(&mut case);
        call_of(&case).unwrap_err().to_string()
    };
    assert_eq!(
        message(&|case| case.law = "single-key".to_owned()),
        "law at case: expected `value`, a single call, got `single-key`"
    );
    let missing = message(&|case| drop(case.bindings.swap_remove("K")));
    assert_eq!(missing, "value at variable `K`: expected matrices (1, 1, 3, 2), got none");
    let other = message(&|case| drop(case.bindings.insert("Q".to_owned(), Binding::Index(0))));
    assert_eq!(other, "value at variable `Q`: expected matrices (1, 2, 2, 2), got another");
    let more = message(&|case| drop(case.bindings.insert("P".to_owned(), Binding::Index(0))));
    assert_eq!(more, "variable at case: expected Q, K and V, got `P` too");
    assert!(message(&|case| case.dims.n_k = 4).starts_with("value at variable `K`"));
    assert!(message(&|case| case.dtype = Dtype::Float16).starts_with("element at variable `Q`"));
    assert!(message(&|case| case.options.scale = Some(0.1)).starts_with("element at scale"));
}

#[test]
fn conventions_and_hunted_faults_are_those_that_matter() {
    let case = small(Dtype::Float32);
    // Two queries, three keys: upper-left differs; the mask is a mixed one; one key/value head has
    // no map to differ in.
    let fields: Vec<&str> = case.conventions.keys().map(String::as_str).collect();
    assert!(
        fields.contains(&"causal") && fields.contains(&"mask") && !fields.contains(&"head-map"),
        "{fields:?}"
    );
    assert_eq!(case.conventions["causal"], "lower-right");
    for fault in ["causal-upper-left", "mask-inverted", "scale-ignored", "softmax-over-queries"] {
        assert!(case.hunts.iter().any(|id| id == fault), "{fault}");
    }
    for fault in [
        "query-overwritten",
        "not-repeatable",
        "scale-inverse-d",
        "last-tile-dropped",
        "gqa-modulo",
    ] {
        assert!(case.hunts.iter().all(|id| id != fault), "{fault}");
    }
    let mut plain_call = call_with_options(Dtype::Float32);
    plain_call.options = qkvet_spec::CallOptions::default();
    let case = freeze(catalog(), &plain_call).unwrap();
    assert!(case.conventions.is_empty(), "{:?}", case.conventions);
}

#[test]
fn bounds_are_those_of_every_frozen_contract_of_the_format() {
    let catalog = catalog();
    for dtype in catalog.suites["core"].dtypes.clone() {
        let case = small(dtype);
        let contracts = catalog
            .contracts
            .values()
            .filter(|contract| contract.frozen && contract.dtype == dtype);
        assert!(case.bounds.keys().eq(contracts.map(|contract| &contract.contract)));
        let default = &case.bounds[&catalog.default_contract(dtype).unwrap().contract];
        for bounds in case.bounds.values() {
            assert_eq!(bounds.len(), case.answer.values.len());
            // A reader who takes the largest bound takes the default's.
            assert!(bounds.iter().zip(default).all(|(bound, default)| bound <= default), "{dtype}");
        }
    }
}

#[test]
fn text_comes_back() {
    let catalog = catalog();
    let groups = frozen_groups(&catalog.suites["smoke"], smoke());
    assert!(groups.len() > 10);
    for group in &groups {
        let text = write_group(group).unwrap();
        let back = read_group(&text).unwrap();
        assert_eq!(write_group(&back).unwrap(), text);
        assert_eq!(read_group(&format!("---\nsource: x\n---\n{text}")).unwrap(), back);
        for case in &group.cases {
            let text = case_to_json(case).unwrap();
            let back = case_from_json(&text).unwrap();
            assert_eq!(
                (&back.case, &back.bounds, &back.hunts),
                (&case.case, &case.bounds, &case.hunts)
            );
            // The error never gets smaller.
            for (read, frozen) in back.answer.values.iter().zip(&case.answer.values) {
                assert_eq!(read.to_string(), frozen.to_string());
                assert!(read.error() >= frozen.error());
            }
            assert_eq!(case_to_json(&back).unwrap(), text);
        }
    }
}

#[test]
fn the_text_is_readable() {
    insta::assert_snapshot!("frozen", case_to_json(&small(Dtype::Float16)).unwrap());
}

#[test]
fn hostile_text_is_refused() {
    let catalog = catalog();
    let groups = frozen_groups(&catalog.suites["smoke"], [small(Dtype::Float32)]);
    let (good, id) = (write_group(&groups[0]).unwrap(), &groups[0].cases[0].id);
    assert!(read_group(&good).is_ok());
    let check = |change: &dyn Fn(&str) -> String, expected: &str| {
        let text = change(&good);
        assert_ne!(text, good);
        let error = read_group(&text).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}\nlacks {expected}");
    };
    let swap = |from: &'static str, to: &'static str| move |text: &str| text.replacen(from, to, 1);
    check(
        &|_| String::new(),
        "document at line 1 column 0: expected a group of frozen cases, got a file that is cut off in a value",
    );
    check(
        &|_| "---\nno end".to_owned(),
        "header at snapshot: expected a second line `---`, got none",
    );
    check(&|_| "[".repeat(100_000), "document at line 1");
    check(&|text| text[..text.len() / 2].to_owned(), "cut off in");
    check(&swap("\"format\": 1", "\"format\": 2"), "document at `format`: expected 1, got 2");
    check(&swap("\"smoke\"", "\"../smoke\""), "word at `suite`");
    check(
        &swap("\"1.3.0\"", "\"1.3\""),
        "version at `version`: expected MAJOR.MINOR.PATCH, got `1.3`",
    );
    check(&swap("float32-scale", "float32"), "group at `group` of case c-");
    check(&swap("\"dtype\": \"float32\"", "\"dtype\": \"float64\""), "the content's");
    check(
        &swap("\"dtype\": \"float32\"", "\"dtype\": \"float16\""),
        "element at variable `Q` of case",
    );
    check(&swap("\"hunts\"", "\"hunt\""), "unknown field `hunt`");
    check(&swap("\"scale\"", "\"scale\": null, \"scale\""), "duplicate field `scale`");
    check(&swap("\"scale\": 0.09375,", ""), "missing field `scale`");
    check(&swap("\"scale\": 0.09375", "\"scale\": 0.1"), "element at scale of case");
    check(&swap("\"scale\": 0.09375", "\"scale\": 0.5"), "id at `id` of case");
    check(&swap("\"law\": \"value\"", "\"law\": \"values\""), "law at `law` of case");
    check(&swap("\"n_k\": 3", "\"n_k\": 4"), "shape at key of case");
    check(&swap("\"n_k\": 3", "\"n_k\": 0"), "extent `n_k` at `dims` of case");
    check(&swap("\"digits\": 12", "\"digits\": 0"), "number at `digits` of case");
    check(&swap("\"digits\": 12", "\"digits\": 4000000000"), "number at `digits` of case");
    check(
        &swap("\"causal\": \"lower-right\"", "\"causal\": \"Lower right\""),
        "word at `conventions` of case",
    );
    check(
        &swap("\"causal\": \"lower-right\"", "\"mask\": \"x\", \"mask\": \"x\""),
        "entry `mask`: expected once, got twice",
    );
    check(&swap("\"f32\":", "\"f/32\":"), "word at `bounds` of case");
    check(
        &|text| text.replacen(id, "c-0", 1),
        "id at `id`: expected `c-` and 16 hexadecimal digits",
    );
    check(&|text| text.replacen(id, "c-0123456789abcdef", 1), "the content's");
    let answer = good.find("\"answer\"").unwrap();
    let first_number =
        good[answer..].find("\n          [").unwrap() + answer + "\n          [".len();
    let with = |number: &'static str| {
        let end = first_number + good[first_number..].find(']').unwrap();
        move |text: &str| format!("{}{number}{}", &text[..first_number], &text[end..])
    };
    check(&with("\"1\""), "element at row 0 of answer");
    check(&with("null"), "element at row 0 of answer");
    check(&with("1e999"), "element at ");
    check(&with("1,1"), "elements at row 0 of answer of case");
    check(&with("NaN"), "no JSON");
    let bounds = good.find("\"bounds\"").unwrap();
    let bound = |number: &'static str| {
        let start =
            bounds + good[bounds..].find("\n            [").unwrap() + "\n            [".len();
        let end = start + good[start..].find(']').unwrap();
        move |text: &str| format!("{}{number}{}", &text[..start], &text[end..])
    };
    check(&bound("-1e-9"), "bound at bounds of f32 of case");
    check(&bound("\"inf\""), "expected a number");
    assert!(read_group(&bound("null")(&good)).unwrap().cases[0].bounds["f32"][0].is_infinite());
    let mut twice = groups[0].clone();
    twice.cases.push(twice.cases[0].clone());
    let error = read_group(&write_group(&twice).unwrap()).unwrap_err().to_string();
    assert!(error.starts_with("case at `cases`: expected each once"), "{error}");
}

#[test]
fn manifests_are_checked() {
    let catalog = catalog();
    let suite = &catalog.suites["smoke"];
    let groups = frozen_groups(suite, [small(Dtype::Float32), small(Dtype::Float64)]);
    let file = case_to_safetensors(&groups[0].cases[0]).unwrap();
    let mut larger = LargerEntry::new(&groups[0].cases[0], &file);
    larger.check(&file).unwrap();
    assert!(larger.check(&file[1..]).unwrap_err().to_string().starts_with("sha256 at file c-"));
    larger.id = "c-0123456789abcdef".to_owned();
    larger.file = "c-0123456789abcdef.safetensors".to_owned();
    let manifest = Manifest::new(suite, &groups, vec![larger]).unwrap();
    let good = write_manifest(&manifest);
    assert_eq!(read_manifest(&good).unwrap(), manifest);
    assert_eq!(read_manifest(&format!("---\nsource: x\n---\n{good}")).unwrap(), manifest);
    assert_eq!(strip_snapshot_header(&good).unwrap(), good);
    let text = write_group(&groups[0]).unwrap();
    let name = format!("{}.snap", groups[0].group);
    assert_eq!(write_group(&manifest.read_group(&name, &text).unwrap()).unwrap(), text);
    assert!(
        manifest
            .read_group(&name, &format!("{text} "))
            .unwrap_err()
            .to_string()
            .starts_with("sha256 at file")
    );
    assert!(
        manifest
            .read_group("other.snap", &text)
            .unwrap_err()
            .to_string()
            .starts_with("group at manifest")
    );
    let mut other = manifest.clone();
    other.groups[0].cases.reverse();
    other.groups[0].cases.push("c-0000000000000000".to_owned());
    assert!(
        other.read_group(&name, &text).unwrap_err().to_string().contains("cases of the manifest")
    );
    let check = |from: &str, to: &str, expected: &str| {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good);
        let error = read_manifest(&text).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}\nlacks {expected}");
    };
    check("{", "", "document at line");
    check("\"format\": 1", "\"format\": 7", "document at `format`");
    check("\"seed\": 0", "\"seed\": -1", "expected a whole number from 0");
    check("1.3.0", "1.3.00", "version at `version`");
    check(".snap\"", ".snap/..\"", "file at group");
    check("c-0123456789abcdef.safetensors", "../x.safetensors", "file at c-0123456789abcdef");
    check(&manifest.groups[0].sha256, "0", "sha256 at group");
    check(&groups[0].cases[0].id, "c-xyz", "id at group");
    check("c-0123456789abcdef\"", &format!("{}\"", groups[0].cases[0].id), "expected");
    check("\"larger\"", "\"large\"", "unknown field `large`");
}

#[test]
fn formats_can_be_left_out_and_suites_without_frozen_cases_have_none() {
    let catalog = catalog();
    let suite = &catalog.suites["core"];
    let all = frozen_plans(catalog, suite, &suite.dtypes, 0).unwrap();
    let few = frozen_plans(catalog, suite, &[Dtype::Float32], 0).unwrap();
    let frozen = suite.frozen.as_ref().unwrap();
    let of = |plans: &[qkvet_gen::CasePlan]| -> Vec<_> {
        plans.iter().filter(|plan| plan.dtype == Dtype::Float32).cloned().collect()
    };
    assert_eq!((of(&all.text), of(&all.larger)), (few.text.clone(), few.larger));
    assert!(few.text.len() <= frozen.limit.unwrap() + 6 * suite.alone);
    assert!(frozen.shapes.iter().all(|dims| few.text.iter().any(|plan| plan.dims == *dims)));
    assert_eq!(all.larger.len(), frozen.larger * suite.dtypes.len());
    let none = Suite { frozen: None, ..suite.clone() };
    assert_eq!(
        frozen_plans(catalog, &none, &suite.dtypes, 0).unwrap(),
        qkvet_gen::frozen::FrozenPlans::default()
    );
}

#[test]
fn ill_formed_sections_are_refused() {
    let core = catalog().suites["core"].clone();
    let message = |change: &dyn Fn(&mut qkvet_spec::Frozen)| {
        let mut suite = core.clone();
        change(suite.frozen.as_mut().unwrap());
        check_suite(&suite).unwrap_err().to_string()
    };
    let version = message(&|frozen| frozen.version = "1.0".to_owned());
    assert_eq!(
        version,
        "version at `frozen.version` of suite core: expected MAJOR.MINOR.PATCH, got `1.0`"
    );
    for version in ["", "1.0.0.0", "1.0.x", "01.0.0", "1..0", "+1.0.0"] {
        assert!(
            message(&|frozen| frozen.version = version.to_owned()).starts_with("version at"),
            "{version}"
        );
    }
    assert!(message(&|frozen| frozen.shapes.clear()).starts_with("list at `frozen.shapes`"));
    assert!(message(&|frozen| frozen.shapes[1].h_k = 5).starts_with("heads at `frozen.shapes[1]`"));
    assert!(message(&|frozen| frozen.limit = Some(0)).starts_with("number at `frozen.limit`"));
    assert!(message(&|frozen| frozen.larger = usize::MAX).starts_with("number at `frozen.larger`"));
}
