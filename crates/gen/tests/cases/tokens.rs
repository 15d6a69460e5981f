//! Tokens: every bit comes back from one line; what is not a token is refused at its character.

use indexmap::IndexMap;
use proptest::prelude::*;
use qkvet_gen::{
    CasePlan, ScaleChoice, case_id, check_case, from_token, is_token, plan_strategy, shrink, to_json, token,
};
use qkvet_spec::{Binding, Case, CaseOptions, Dims, Dtype, Matrices};

use crate::{built, catalog, suite_plans};

const GOOD: &str = "qk1:value;float32;causal;scale=0.5;mask=1x1x1x2:01;bias=1x2:0,-1;Q=1x1x1x1:0;K=1x1x2x1:0,1;V=1x1x2x1:0,1;a=3;n=dim:4;t=real:0.1;S=set:0,2;P=2x2:0,1,1,0;H=_x2x1x1:3,4;B=2x_x1x1:5,-0";

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

/// The plan made small in every direction at once, as shrinking would, and still of its own options.
fn tiny(law: &qkvet_spec::CheckedLaw, plan: &CasePlan) -> CasePlan {
    let keeps = |small: &CasePlan| {
        (small.causal, small.mask.is_some(), small.bias.is_some(), small.scale)
            == (plan.causal, plan.mask.is_some(), plan.bias.is_some(), plan.scale)
    };
    shrink(law, plan, 40, &mut |small, _| keeps(small))
}

#[test]
fn the_shrunken_cases_of_a_suite_have_tokens() {
    let catalog = catalog();
    let (mut written, mut all) = (0, 0);
    for (law, plan) in suite_plans(&catalog, "smoke", 0) {
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
    for law in catalog.laws.values() {
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
        let case = Case { law: "value".to_owned(), dtype, dims, options: CaseOptions::default(), bindings };
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
    check("qk2:value;float32", "version at character 1 of the token: expected `qk1`, got `qk2`");
    check(
        "qk1:Value;float32",
        "law at character 5 of the token: expected lower-case words joined by hyphens, got `Value;float32`",
    );
    check("qk1:value", "format at character 10 of the token: expected `;` and a number format, got nothing");
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
    check("qk1:value;float32;dims=1,1,1,1,1,1,0", "extent `d_v` at the token: expected 1 to 65536, got 0");
    check(
        "qk1:value;float32;dims=1,3,2,1,1,1,1",
        "heads at the token: expected h_q to be a multiple of h_k, got h_q = 3, h_k = 2",
    );
    check(
        &swap("scale=0.5", "scale=1e39"),
        "element at character 32 of the token: expected finite numbers of float32, got inf",
    );
    check(&swap("scale=0.5", "scale=inf"), "number at character 32 of the token: expected a decimal number, got `inf`");
    check(&swap("scale=0.5", "scale=+1"), "number at character 32 of the token: expected a decimal number, got `+1`");
    check(&swap("causal", "causal=1"), "option at character 19 of the token: expected `causal` alone, got `causal=1`");
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
    check(&swap("K=1x1x2x1:0,1", "K=1x1x2x1:0"), "elements at character 88 of the token: expected 2, got 1");
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
    check(&format!("qk1:{}", "x".repeat(1 << 16)), "token at its end: expected 65536 bytes at most, got 65540");
}

#[test]
fn cases_that_do_not_fit_a_line_have_no_token() {
    let catalog = catalog();
    let law = &catalog.laws["value"];
    let dims = Dims { b: 1, h_q: 1, h_k: 1, n_q: 1, n_k: 200, d_k: 1, d_v: 1 };
    let plan = CasePlan { scale: ScaleChoice::Half, ..crate::plain(law, dims, qkvet_spec::Values::Normal) };
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
    for other in ["c-0123456789abcdef", "qk", "qk:", "qk1", "qkvet:x", "case.json", "", "c:\\qk1:x"] {
        assert!(!is_token(other), "{other}");
    }
}
