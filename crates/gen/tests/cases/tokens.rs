//! Tokens: every bit comes back from one line; what is not a token is refused at its character.

use indexmap::IndexMap;
use proptest::prelude::*;
use qkvet_gen::{
    CasePlan, ScaleChoice, case_id, check_case, from_token, is_token, shrink, to_json, token,
};
use qkvet_spec::{Binding, CallOption, CallOptions, Case, Dims, Dtype, Matrices, Packed, Window};

use crate::plan_strategy::plan_strategy;
use crate::{built, catalog, suite_plans};

const GOOD: &str = "qk1:value;float32;causal;scale=0.5;mask=1x1x1x2:01;bias=1x2:0,-1;Q=1x1x1x1:0;K=1x1x2x1:0,1;V=1x1x2x1:0,1;a=3;n=dim:4;t=real:0.1;S=set:0,2;P=2x2:0,1,1,0;H=_x2x1x1:3,4;B=2x_x1x1:5,-0";

const EXTENDED: &str = "qk2:value;float32;dims=2,1,1,2,3,1,1;softcap=0.5;window=2,_;sinks=-2048;alibi_slopes=0.1;key_lengths=3,0;query_lengths=1,2;j=1";

/// The token of a case, read back to the same bits. `None` where the case is too large for one.
fn round_trip(case: &Case) -> Option<String> {
    let text = token(case)?;
    assert!(text.len() <= 400 && is_token(&text), "{text}");
    assert!(text.bytes().all(|c| c.is_ascii_alphanumeric() || b"_:;=,.-".contains(&c)), "{text}");
    let back = from_token(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(back, *case, "{text}");
    // The document tells -0 from 0 and keeps the order of the variables.
    assert_eq!(to_json(&back), to_json(case));
    assert_eq!(case_id(&back), case_id(case));
    assert_eq!(token(&back), Some(text.clone()));
    Some(text)
}

#[test]
fn a_token_holds_every_kind_of_value() {
    let case = from_token(GOOD).unwrap();
    assert_eq!(round_trip(&case).as_deref(), Some(GOOD));
    assert_eq!(case.dims, Dims { b: 1, h_q: 1, h_k: 1, n_q: 1, n_k: 2, d_k: 1, d_v: 1 });
    assert_eq!(case.bindings["t"], Binding::Real(f64::from(0.1f32)));
    assert_eq!(case.bindings["S"], Binding::Indices(vec![0, 2]));
    let heads = Matrices { batch: None, heads: Some(2), rows: 1, cols: 1, data: vec![3.0, 4.0] };
    assert_eq!(case.bindings["H"], Binding::Matrices(heads));
    assert_eq!(case.options.mask.unwrap().data, [false, true]);
}

#[test]
fn a_token_of_version_2_holds_every_option() {
    let case = from_token(EXTENDED).unwrap();
    assert_eq!(round_trip(&case).as_deref(), Some(EXTENDED));
    let options = case.options;
    assert_eq!(
        (options.softcap, options.window),
        (Some(0.5), Some(Window { left: Some(2), right: None }))
    );
    assert_eq!(options.alibi_slopes.unwrap().data, [f64::from(0.1f32)]);
    assert_eq!(
        (options.key_lengths.unwrap(), options.query_lengths.unwrap()),
        (vec![3, 0], vec![1, 2])
    );
    let text = "qk2:value;float32;dims=2,1,1,2,3,1,1;packed=0,0,2:0,3,3;j=1";
    let case = from_token(text).unwrap();
    assert_eq!(round_trip(&case).as_deref(), Some(text));
    assert_eq!(
        case.options.packed,
        Some(Packed { query_offsets: vec![0, 0, 2], key_offsets: vec![0, 3, 3] })
    );
    // What version 1 says stays: there these are names of variables.
    let case = from_token("qk1:value;float32;dims=2,1,1,2,3,1,1;softcap=3;window=1").unwrap();
    assert_eq!(case.bindings["window"], Binding::Index(1));
    assert!(
        case.options == CallOptions::default() && round_trip(&case).unwrap().starts_with("qk1:")
    );
    // Version 2 without need of it is read, and written as version 1.
    let plain = from_token("qk2:value;float32;dims=2,1,1,2,3,1,1;j=1").unwrap();
    assert_eq!(round_trip(&plain).as_deref(), Some("qk1:value;float32;dims=2,1,1,2,3,1,1;j=1"));
    let named = Case { options: options_with_softcap(), ..case };
    assert_eq!(token(&named), None, "a variable has the name of an option");
}

fn options_with_softcap() -> CallOptions {
    CallOptions { softcap: Some(1.0), ..CallOptions::default() }
}

#[test]
fn options_that_no_call_can_have_are_refused() {
    let check = |from: &str, to: &str, expected: &str| {
        assert!(EXTENDED.contains(from), "{from}");
        assert_eq!(
            from_token(&EXTENDED.replacen(from, to, 1)).expect_err(to).to_string(),
            expected,
            "{to}"
        );
    };
    check("softcap=0.5", "softcap=0", "number at softcap: expected more than 0, got 0.0");
    check("softcap=0.5", "softcap=-1", "number at softcap: expected more than 0, got -1.0");
    check(
        "window=2,_",
        "window=_,_",
        "window at window: expected `left`, `right` or both, got neither",
    );
    check(
        "window=2,_",
        "window=2",
        "window at character 57 of the token: expected two numbers of keys, `_` for all, got `2`",
    );
    check(
        "window=2,_",
        "window=2,999999999",
        "window at window: expected 0 to 536870912 keys, got 999999999",
    );
    check(
        "sinks=-2048",
        "sinks=1,2",
        "shape at sinks: expected [1], one number a query head, got [2]",
    );
    check(
        "slopes=0.1",
        "slopes=",
        "shape at alibi_slopes: expected [1], one number a query head, got [0]",
    );
    check(
        "key_lengths=3,0",
        "key_lengths=3",
        "lengths at key_lengths: expected 2, one a batch item, got 1",
    );
    check("key_lengths=3,0", "key_lengths=3,4", "length at key_lengths: expected 0 to 3, got 4");
    check(
        "query_lengths=1,2",
        "query_lengths=3,1",
        "length at query_lengths: expected 0 to 2, got 3",
    );
    check(
        ";j=1",
        ";packed=0,2:0,3",
        "option at packed: expected no lengths beside it, got lengths",
    );
    let packed = |value: &str, expected: &str| {
        let text = format!("qk2:value;float32;dims=2,1,1,2,3,1,1;packed={value}");
        assert_eq!(from_token(&text).expect_err(value).to_string(), expected, "{value}");
    };
    let place = "offsets at packed.query_offsets: expected ascending ones from 0 to 2, got";
    packed("0,1:0,3", &format!("{place} [0, 1]"));
    packed("1,2:0,3", &format!("{place} [1, 2]"));
    packed("0,2,1,2:0,1,2,3", &format!("{place} [0, 2, 1, 2]"));
    packed("0:0,3", &format!("{place} [0]"));
    packed(":0,3", &format!("{place} []"));
    packed(
        "0,2:0,4",
        "offsets at packed.key_offsets: expected ascending ones from 0 to 3, got [0, 4]",
    );
    packed(
        "0,2:0,1,3",
        "offsets at packed.key_offsets: expected 2, as many as of the queries, got 3",
    );
    packed(
        "0,2",
        "value at character 45 of the token: expected offsets, `:` and offsets, got `0,2`",
    );
}

/// The plan made small in every direction at once, as shrinking would, and still of its own
/// options.
fn tiny(law: &qkvet_spec::CheckedLaw, plan: &CasePlan) -> CasePlan {
    let keeps = |small: &CasePlan| {
        CallOption::ALL.iter().all(|option| small.has(*option) == plan.has(*option))
            && small.scale == plan.scale
    };
    shrink(law, plan, 40, &mut |small, _| keeps(small))
}

#[test]
fn the_shrunken_cases_of_a_suite_have_tokens() {
    let catalog = catalog();
    let (mut written, mut all) = (0, 0);
    for (law, plan) in suite_plans(catalog, "smoke", 0) {
        let case = built(law, &tiny(law, &plan));
        all += 1;
        if let Some(text) = round_trip(&case) {
            written += 1;
            check_case(law, &from_token(&text).unwrap()).unwrap();
        }
    }
    assert!(written * 10 >= all * 9, "{written} of {all}");
}

#[test]
fn drawn_cases_come_back_bit_by_bit() {
    let catalog = catalog();
    let mut written = 0;
    for law in catalog.asking_laws() {
        crate::domain::for_each_plan(plan_strategy(law), 60, |plan| {
            written += usize::from(round_trip(&built(law, &plan)).is_some());
            let dims = Dims { b: 1, h_q: 2, h_k: 1, n_q: 2, n_k: 2, d_k: 1, d_v: 1 };
            let small = CasePlan { dims, ..plan };
            if let Ok(case) = qkvet_gen::build(law, &small) {
                written += usize::from(round_trip(&case).is_some());
            }
        });
    }
    assert!(written > 300, "{written}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Any finite number of any format, subnormals and both zeros among them.
    #[test]
    fn every_number_comes_back(bits in any::<u64>(), narrow in any::<u16>(), dtype in 0..4usize) {
        let dtype = Dtype::ALL[dtype];
        let bytes = if dtype.size() == 2 { narrow.to_le_bytes().to_vec() } else { bits.to_le_bytes()[..dtype.size()].to_vec() };
        let x = qkvet_engine::format::decode(&bytes, dtype)[0];
        prop_assume!(x.is_finite());
        let matrices = |data: Vec<f64>| {
            Binding::Matrices(Matrices { batch: Some(1), heads: Some(1), rows: 1, cols: data.len(), data })
        };
        let mut bindings = IndexMap::new();
        bindings.insert("Q".to_owned(), matrices(vec![x, 0.0]));
        bindings.insert("t".to_owned(), Binding::Real(x));
        let dims = Dims { b: 1, h_q: 1, h_k: 1, n_q: 1, n_k: 3, d_k: 2, d_v: 1 };
        let case = Case { law: "value".to_owned(), dtype, dims, options: CallOptions::default(), bindings };
        let start = format!("qk1:value;{dtype};dims=1,1,1,1,3,2,1;Q=1x1x1x2:");
        prop_assert!(round_trip(&case).unwrap().starts_with(&start));
    }

    #[test]
    fn no_text_is_more_than_an_error(text in "\\PC{0,60}") {
        let _ = from_token(&text);
        let _ = from_token(&format!("qk1:{text}"));
        let _ = from_token(&format!("qk1:value;float16;{text}"));
    }

    /// What is close to a token is either the case that it says or an error.
    #[test]
    fn damaged_tokens_are_read_or_refused(at in 0..GOOD.len(), with in "[-0-9x:;=,._a-zA-Zé]{0,3}", cut in 0..4usize) {
        let end = (at + cut).min(GOOD.len());
        let text = format!("{}{with}{}", &GOOD[..at], &GOOD[end..]);
        if let Ok(case) = from_token(&text) {
            round_trip(&case);
        }
        let end = (at + cut).min(EXTENDED.len());
        if let Ok(case) = from_token(&format!("{}{with}{}", &EXTENDED[..at.min(end)], &EXTENDED[end..])) {
            round_trip(&case);
        }
    }
}

#[test]
fn what_is_not_a_token_is_refused_at_its_character() {
    let check = |text: &str, expected: &str| {
        let error = from_token(text).expect_err(text).to_string();
        assert_eq!(error, expected, "{text}");
    };
    let swap = |from: &str, to: &str| {
        assert!(GOOD.contains(from), "{from}");
        GOOD.replacen(from, to, 1)
    };
    check("", "token at character 1 of the token: expected `qk1:` and a law, got nothing");
    check("value", "token at character 1 of the token: expected `qk1:` and a law, got `value`");
    check(
        "qk3:value;float32",
        "version at character 1 of the token: expected `qk1` or `qk2`, got `qk3`",
    );
    check(
        "qk1:Value;float32",
        "law at character 5 of the token: expected lower-case words joined by hyphens, got `Value;float32`",
    );
    check(
        "qk1:value",
        "format at character 10 of the token: expected `;` and a number format, got nothing",
    );
    check(
        "qk1:value;float8",
        "format at character 11 of the token: expected one of float64, float32, bfloat16, float16, float8_e4m3fn, float8_e5m2, got `float8`",
    );
    check(
        "qk1:value;float32;j=1",
        "extents at the token: expected `dims=b,h_q,h_k,n_q,n_k,d_k,d_v` where Q, K, V do not show them, got none",
    );
    check(
        "qk1:value;float32;dims=1,1",
        "extents at character 24 of the token: expected seven: b,h_q,h_k,n_q,n_k,d_k,d_v, got `1,1`",
    );
    check(
        "qk1:value;float32;dims=1,1,1,1,1,1,0",
        "extent `d_v` at the token: expected 1 to 65536, got 0",
    );
    check(
        "qk1:value;float32;dims=1,3,2,1,1,1,1",
        "heads at the token: expected h_q to be a multiple of h_k, got h_q = 3, h_k = 2",
    );
    check(
        &swap("scale=0.5", "scale=1e39"),
        "element at character 32 of the token: expected finite numbers of float32, got inf",
    );
    check(
        &swap("scale=0.5", "scale=inf"),
        "number at character 32 of the token: expected a decimal number, got `inf`",
    );
    check(
        &swap("scale=0.5", "scale=+1"),
        "number at character 32 of the token: expected a decimal number, got `+1`",
    );
    check(
        &swap("causal", "causal=1"),
        "option at character 19 of the token: expected `causal` alone, got `causal=1`",
    );
    check(
        &swap("causal;scale=0.5", "scale=0.5;causal"),
        "option at character 29 of the token: expected each once, in the order dims, causal, scale, mask, bias, before the variables, got `causal`",
    );
    check(
        &format!("{GOOD};scale=1"),
        &format!(
            "option at character {} of the token: expected each once, in the order dims, causal, scale, mask, bias, before the variables, got `scale`",
            GOOD.len() + 2
        ),
    );
    check(&swap("2:01", "2:02"), "mask at character 49 of the token: expected 0 and 1, got `02`");
    check(&swap("2:01", "2:011"), "elements at character 49 of the token: expected 2, got 3");
    check(
        &swap("1x1x1x2:01", "1x1x1x3:011"),
        "shape at mask: expected 2 or 4 axes that broadcast to [1, 1, 1, 2], got [1, 1, 1, 3]",
    );
    check(
        &swap("K=1x1x2x1:0,1", "K=1x1x2x1:0"),
        "elements at character 88 of the token: expected 2, got 1",
    );
    check(
        &swap("K=1x1x2x1", "K=999999999x999999999x999999999x1"),
        "elements at character 112 of the token: expected fewer, got 2",
    );
    check(
        &swap("K=1x1x2x1", "K=1x2x1"),
        "value at character 80 of the token: expected an index, `dim:`, `real:`, `set:` or extents such as 2x2 or 1x1x2x2, got `1x2x1`",
    );
    check(&swap("K=", "Q="), "variable at character 78 of the token: expected each once, got `Q`");
    check(
        &swap("a=3", "a=-3"),
        "number at character 108 of the token: expected a whole number of at most 9 digits, got `-3`",
    );
    check(
        &swap("a=3", "a"),
        "number at character 107 of the token: expected a whole number of at most 9 digits, got nothing",
    );
    check(
        &swap("a=3", "ä=3"),
        "variable at character 106 of the token: expected a short word, `=` and a value, got `ä`",
    );
    check(
        &format!("qk1:{}", "x".repeat(1 << 16)),
        "token at its end: expected 65536 bytes at most, got 65540",
    );
}

#[test]
fn cases_that_do_not_fit_a_line_have_no_token() {
    let catalog = catalog();
    let law = &catalog.laws["value"];
    let dims = Dims { b: 1, h_q: 1, h_k: 1, n_q: 1, n_k: 200, d_k: 1, d_v: 1 };
    let plan = CasePlan {
        scale: ScaleChoice::Half,
        ..crate::plain(law, dims, qkvet_spec::Values::Normal)
    };
    assert_eq!(token(&built(law, &plan)), None);
    let case = from_token(GOOD).unwrap();
    let mut other = case.clone();
    other.law = "a law'; rm".to_owned();
    assert_eq!(token(&other), None);
    let mut other = case.clone();
    other.bindings.insert("scale".to_owned(), Binding::Index(0));
    assert_eq!(token(&other), None);
    let mut other = case.clone();
    other.options.scale = Some(0.1);
    assert_eq!(token(&other), None, "0.1 is not a number of float32");
    let mut other = case;
    other.options.scale = Some(f64::NAN);
    assert_eq!(token(&other), None);
}

#[test]
fn ids_and_files_are_not_tokens() {
    assert!(is_token("qk1:") && is_token("qk12:value;float32"));
    for other in ["c-0123456789abcdef", "qk", "qk:", "qk1", "qkvet:x", "case.json", "", "c:\\qk1:x"]
    {
        assert!(!is_token(other), "{other}");
    }
}
