//! Calls that are required.

use qkvet_spec::*;

fn of(text: &str) -> Result<Required, Unexpected> {
    Required::of(&text.split(',').map(str::to_owned).collect::<Vec<_>>(), "--require")
}

#[test]
fn a_call_lies_inside_if_all_of_it_does() {
    let required = of("dtype=bfloat16, causal ,n_k=1..8,d_k=64").expect("parts");
    assert_eq!(required.to_string(), "dtype=bfloat16,causal,n_k=1..8,d_k=64");
    let dims = Dims { b: 1, h_q: 2, h_k: 1, n_q: 30, n_k: 8, d_k: 64, d_v: 5 };
    let (causal, mask) = (CallOption::Causal, CallOption::Mask);
    let takes = |option: CallOption| option == CallOption::Scale;
    let holds = |dtype: Dtype, options: &[CallOption], dims: Dims| {
        required.contains(dtype, options.iter().copied().collect(), dims, takes)
    };
    assert!(holds(Dtype::Bfloat16, &[causal, CallOption::Scale], dims));
    assert!(holds(Dtype::Bfloat16, &[], dims));
    assert!(!holds(Dtype::Float32, &[causal], dims));
    assert!(!holds(Dtype::Bfloat16, &[causal, mask], dims));
    assert!(!holds(Dtype::Bfloat16, &[], Dims { n_k: 9, ..dims }));
    assert!(!holds(Dtype::Bfloat16, &[], Dims { d_k: 63, ..dims }));
}

#[test]
fn what_is_no_part_is_an_error() {
    for text in ["causl", "dtype=float33", "n=3", "n_k=4..3", "n_k=", "n_k=a", "n_k=1..", ""] {
        let error = of(text).expect_err(text).to_string();
        assert!(error.starts_with("--require: expected an option, dtype="), "{error}");
    }
    assert!(of("causl").expect_err("no option").to_string().contains("`causal`?"));
}
