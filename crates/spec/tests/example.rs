//! Numbers of worked examples.

use qkvet_spec::*;

#[test]
fn numbers_read_back() {
    let numbers =
        Numbers(vec![0.1, -1e-300, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -0.0]);
    let text = serde_json::to_string(&numbers).expect("a text");
    assert_eq!(text, r#""0.1 -1e-300 1e300 inf -inf NaN -0.0""#);
    let Numbers(back) = serde_json::from_str(&text).expect("numbers");
    let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&back), bits(&numbers.0));
    assert_eq!(serde_json::from_str::<Numbers>("\"\"").expect("none").0, Vec::<f64>::new());
    let error = serde_json::from_str::<Numbers>("\"1 two\"").expect_err("no number");
    assert!(error.to_string().contains("got `two`"), "{error}");
}
