//! Stored cases: every bit comes back; what is not a stored case is refused with its place.

use qkvet_gen::{
    AlibiChoice, SequenceChoice, SinkChoice, SoftcapChoice, case_id, check_case, from_json, to_json,
};
use qkvet_spec::{Binding, BroadcastForm, Case, Dims, MaskPattern, Packed, Values, Window};

use crate::{built, catalog, plain};

fn small() -> Case {
    let catalog = catalog();
    let law = &catalog.laws["key-value-permutation-invariance"];
    let mut plan =
        plain(law, Dims { b: 1, h_q: 2, h_k: 1, n_q: 2, n_k: 3, d_k: 2, d_v: 1 }, Values::Normal);
    plan.mask = Some((MaskPattern::Random, BroadcastForm::Shared));
    plan.bias = Some(BroadcastForm::PerKey);
    plan.scale = qkvet_gen::ScaleChoice::Small;
    built(law, &plan)
}

#[test]
fn the_document_is_readable() {
    insta::assert_snapshot!("document", to_json(&small()));
}

#[test]
fn every_bit_comes_back() {
    let mut case = small();
    let Binding::Matrices(query) = &mut case.bindings["Q"] else { panic!() };
    query.data[..4].copy_from_slice(&[
        -0.0,
        f64::from(f32::MIN_POSITIVE),
        f64::from(f32::MAX),
        f64::from(0.1f32),
    ]);
    let stored = from_json(&to_json(&case)).unwrap();
    let Binding::Matrices(back) = &stored.bindings["Q"] else { panic!() };
    let Binding::Matrices(query) = &case.bindings["Q"] else { panic!() };
    let bits = |data: &[f64]| data.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&back.data), bits(&query.data));
    assert_eq!(case_id(&stored), case_id(&case));
}

#[test]
fn the_id_depends_on_everything() {
    let case = small();
    let mut ids = vec![case_id(&case)];
    let mut other = |change: &dyn Fn(&mut Case)| {
        let mut case = case.clone();
        change(&mut case);
        ids.push(case_id(&case));
    };
    other(&|case| case.law.push('x'));
    other(&|case| case.dtype = qkvet_spec::Dtype::Float64);
    other(&|case| case.dims.b = 2);
    other(&|case| case.options.scale = None);
    other(&|case| case.options.causal = true);
    other(&|case| case.options.mask = None);
    other(&|case| case.options.mask.as_mut().unwrap().data[0] ^= true);
    other(&|case| case.options.bias.as_mut().unwrap().data[0] += 1.0);
    other(&|case| case.options.softcap = Some(1.0));
    other(&|case| case.options.window = Some(Window::default()));
    other(&|case| case.options.sinks = case.options.bias.clone());
    other(&|case| case.options.alibi_slopes = case.options.bias.clone());
    other(&|case| case.options.key_lengths = Some(vec![1]));
    other(&|case| case.options.query_lengths = Some(vec![1]));
    other(&|case| case.options.packed = Some(Packed::default()));
    other(&|case| {
        case.bindings.swap_remove("V");
    });
    for negated in [false, true] {
        other(&|case| {
            let Binding::Matrices(query) = &mut case.bindings["Q"] else { panic!() };
            query.data[0] = if negated { -0.0 } else { 0.0 };
        });
    }
    let all = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), all);
    let mut reordered = case.clone();
    reordered.bindings.reverse();
    assert_eq!(case_id(&reordered), case_id(&case));
}

#[test]
fn hostile_documents_are_refused() {
    let good = to_json(&small());
    assert!(from_json(&good).is_ok());
    let check = |change: &dyn Fn(&str) -> String, expected: &str| {
        let text = change(&good);
        assert_ne!(text, good);
        let error = from_json(&text).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}\nlacks {expected}");
    };
    let swap = |from: &'static str, to: &'static str| move |text: &str| text.replacen(from, to, 1);
    check(
        &|_| String::new(),
        "document at line 1 column 0: expected a stored case, got a file that is cut off in a value",
    );
    check(&|_| "{".repeat(100_000), "document at line 1");
    check(&|_| format!("{{\"version\": 1, \"x\": {}", "[".repeat(100_000)), "cut off in a list");
    check(&|text| text[..text.len() / 2].to_owned(), "cut off in");
    check(&swap("\"version\": 1", "\"version\": 2"), "document at `version`: expected 1, got 2");
    check(&swap("\"law\"", "\"lav\""), "unknown field `lav`");
    check(&swap("\"law\":", "\"law\": \"x\", \"law\":"), "duplicate field `law`");
    check(
        &swap("key-value-permutation-invariance", "../../etc/passwd"),
        "law at `law`: expected lower-case words",
    );
    check(&swap("float32", "float8"), "unknown word `float8`");
    check(&swap("\"h_q\": 2", "\"h_q\": 0"), "extent `h_q` at `dims`: expected 1 to 65536, got 0");
    check(&swap("\"h_q\": 2", "\"h_q\": -2"), "expected a whole number from 0");
    check(&swap("\"b\": 1", "\"b\": 99999999999999999999"), "expected a whole number from 0");
    check(&swap("\"n_k\": 3", "\"n_k\": 4000000000"), "extent `n_k` at `dims`");
    check(
        &swap("\"n_k\": 3", "\"n_k\": 4"),
        "shape at mask: expected 2 or 4 axes that broadcast to [1, 2, 2, 4]",
    );
    check(&swap("\"h_k\": 1", "\"h_k\": 3"), "heads at `dims`");
    check(
        &swap("\"shape\": [2,3]", "\"shape\": [3,3]"),
        "rows at mask: expected the rows of [3, 3], got 2",
    );
    check(&swap("\"shape\": [2,3]", "\"shape\": [4611686018427387904,8,3]"), "rows at mask");
    check(&swap("\"shape\": [2,3]", "\"shape\": []"), "rows at mask");
    check(&swap("\"rows\": 2", "\"rows\": 18446744073709551615"), "rows at variable `Q`");
    check(
        &swap("\"cols\": 2", "\"cols\": 3"),
        "elements at row 0 of variable `Q`: expected 3, got 2",
    );
    check(
        &swap("\"Q\":", "\"K\": {\"index\": 0}, \"Q\":"),
        "variable `K`: expected once, got twice",
    );
    check(&swap("\"Q\":", "\"Q;x\":"), "variable `Q;x`: expected a short word");
    check(&swap("\"matrices\"", "\"matrix\""), "unknown word `matrix`");
    check(&swap("0.09375", "0.1"), "element at scale: expected finite numbers of float32, got 0.1");
    check(&swap("0.09375", "1e999"), "number out of range");
    check(&swap("0.09375", "NaN"), "no JSON");
    check(&swap("0.09375", "0.5"), "id at `id`: expected");
    check(&swap("c-", "d-"), "the content's, got `d-");
    check(&|text| text.replacen('1', "2", 50), "version");
    check(&|text| format!("{text} {{}}"), "more text behind its end");
}

#[test]
fn a_case_of_another_law_is_refused() {
    let catalog = catalog();
    let case = small();
    let law = &catalog.laws["key-value-permutation-invariance"];
    check_case(law, &case).unwrap();
    let message = |case: &Case| check_case(law, case).unwrap_err().to_string();
    let mut other = case.clone();
    other.bindings.swap_remove("P");
    assert_eq!(message(&other), "value at variable `P`: expected one, got none");
    other.bindings.insert("P".to_owned(), Binding::Index(1));
    assert_eq!(
        message(&other),
        "value at variable `P`: expected a permutation matrix (3, 3), got the index 1"
    );
    let mut other = case.clone();
    other.bindings.insert("W".to_owned(), Binding::Index(1));
    assert_eq!(
        message(&other),
        "variable at case: expected those of law key-value-permutation-invariance, got `W` too"
    );
    let mut other = case.clone();
    other.options.causal = true;
    assert_eq!(
        message(&other),
        "option at case: expected one that law key-value-permutation-invariance ranges over, got `causal`"
    );
    let mut other = case;
    other.law = "value".to_owned();
    assert_eq!(
        message(&other),
        "law at case: expected `key-value-permutation-invariance`, got `value`"
    );
}

/// Documents of a case with every extended option: lengths in the first, packed sequences in the
/// second.
fn extended() -> [String; 2] {
    [SequenceChoice::BothLengths, SequenceChoice::Packed].map(|sequences| {
        let catalog = catalog();
        let law = &catalog.laws["value"];
        let mut plan =
            plain(law, Dims { b: 2, h_q: 2, h_k: 1, n_q: 2, n_k: 3, d_k: 1, d_v: 1 }, Values::Grid);
        plan.softcap = Some(SoftcapChoice::Half);
        plan.window = Some(Window { left: None, right: Some(1) });
        plan.sinks = Some(SinkChoice::Far);
        plan.alibi = Some(AlibiChoice::Geometric);
        plan.sequences = Some(sequences);
        to_json(&built(law, &plan))
    })
}

#[test]
fn extended_options_are_readable() {
    let [lengths, packed] = extended();
    insta::assert_snapshot!("extended", format!("{lengths}{packed}"));
    for text in [lengths, packed] {
        assert_eq!(to_json(&from_json(&text).unwrap()), text);
    }
}

#[test]
fn extended_options_that_no_call_can_have_are_refused() {
    let check = |document: usize, from: &str, to: &str, expected: &str| {
        let good = &extended()[document];
        assert!(good.contains(from), "{good}\nlacks {from}");
        let error = from_json(&good.replacen(from, to, 1)).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}\nlacks {expected}");
    };
    check(
        0,
        "\"softcap\": 0.5",
        "\"softcap\": -0.5",
        "number at softcap: expected more than 0, got -0.5",
    );
    check(
        0,
        "\"softcap\": 0.5",
        "\"softcap\": 0.1",
        "element at softcap: expected finite numbers of float32",
    );
    check(0, "\"right\": 1", "\"side\": 1", "unknown field `side`");
    check(0, "\"right\": 1", "\"right\": -1", "expected a whole number from 0");
    check(
        0,
        "\"right\": 1",
        "\"right\": 9000000000000000000",
        "window at window: expected 0 to 536870912 keys",
    );
    check(
        0,
        "[0.5,0.25]",
        "[0.5]",
        "shape at alibi_slopes: expected [2], one number a query head, got [1]",
    );
    check(0, "[0.5,0.25]", "[0.5,[0.25]]", "document at line");
    check(0, "[0.5,0.25]", "[0.5,1e999]", "number out of range");
    check(0, "[0.5,0.25]", "[0.5,0.125]", "id at `id`");
    check(
        0,
        "\"key_lengths\": [",
        "\"key_lengths\": [4,",
        "lengths at key_lengths: expected 2, one a batch item, got 3",
    );
    check(
        0,
        "\"query_lengths\":",
        "\"packed\": {\"query_offsets\": [], \"key_offsets\": []}, \"query_lengths\":",
        "option at packed",
    );
    check(
        1,
        "\"key_offsets\": [0",
        "\"key_offsets\": [1",
        "offsets at packed.key_offsets: expected ascending ones from 0 to 3",
    );
    check(
        1,
        "\"key_offsets\": [",
        "\"key_offsets\": [0,",
        "offsets at packed.key_offsets: expected",
    );
    check(
        1,
        "\"query_offsets\": [0",
        "\"query_offsets\": [0,18446744073709551615",
        "ascending ones from 0 to 2",
    );
}

/// Frozen documents have no place for them.
#[test]
fn extended_options_cannot_be_frozen() {
    let catalog = catalog();
    let case = from_json(&extended()[1]).unwrap();
    let error =
        qkvet_gen::frozen::freeze(catalog, &case).expect_err("an extended case").to_string();
    assert_eq!(
        error,
        "option at case: expected scale, causal, mask and bias, which frozen cases hold, got `softcap`"
    );
}
