//! Laws that are wrong are refused with their place.

use qkvet_spec::CheckedLaw;

#[test]
fn a_law_of_refusal_says_what_does_not_fit_and_nothing_else() {
    let law = |fields: &str| {
        let text = format!("law: x\ntitle: t\nproof: definition\ncatches: []\n{fields}");
        CheckedLaw::from_yaml("x.yaml", &text)
            .map(|law| law.asks())
            .map_err(|error| error.to_string())
    };
    assert_eq!(law("observe: refused\nmisfit: key-width\n"), Ok(true));
    let both = "expected no variables and options beside `misfit`, got";
    for (fields, part) in [
        ("observe: refused\n", "expected `misfit` beside `observe: refused`, got none"),
        (
            "observe: inputs-unchanged\nmisfit: key-width\n",
            "expected `observe: refused` beside `misfit`, got none",
        ),
        (
            "expect: Q == Q\nmisfit: key-width\n",
            "expected `observe: refused` beside `misfit`, got none",
        ),
        ("observe: refused\nmisfit: key-width\noptions: [causal]\n", &format!("{both} `causal`")),
        ("observe: refused\nmisfit: key-width\ngiven: {j: index(n_k)}\n", &format!("{both} `j`")),
        ("observe: refused\nmisfit: key-widths\n", "key-width"),
    ] {
        let told = law(fields).expect_err(fields);
        assert!(told.contains(part), "{told}\nlacks {part}");
    }
}
