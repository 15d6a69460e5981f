//! Numbers of cases in files.

use qkvet_spec::*;

#[test]
fn what_cannot_be_a_number_of_cases_is_refused() {
    let read = |cases: &str| {
        let text = format!("{{\"counts\": {{\"PASS\": {cases}}}, \"findings\": 0}}");
        serde_json::from_str::<Outcome>(&text).expect_err("no whole outcome").to_string()
    };
    // It goes on to what is missing.
    assert!(read("1099511627776").contains("coverage"), "{}", read("1099511627776"));
    let error = read("18446744073709551615");
    assert!(
        error.starts_with(
            "cases of `PASS`: expected at most 1099511627776, got 18446744073709551615"
        ),
        "{error}"
    );
}
