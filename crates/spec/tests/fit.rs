//! What a target takes, joined.

use qkvet_spec::*;

#[test]
fn extents_are_as_near_as_they_can_be() {
    let dims = Dims { b: 2, h_q: 6, h_k: 3, n_q: 5, n_k: 7, d_k: 24, d_v: 16 };
    let told = |fit: &Fit| {
        let Dims { b, h_q, h_k, n_q, n_k, d_k, d_v } = fit.apply(&dims);
        [b, h_q, h_k, n_q, n_k, d_k, d_v]
    };
    assert_eq!(told(&Fit::default()), [2, 6, 3, 5, 7, 24, 16]);
    assert_eq!(Fit::default().if_any(), None);
    let all = Fit { options: Some(CallOption::ALL.to_vec()), ..Fit::default() };
    assert_eq!(all.if_any(), None);
    let fit = Fit {
        b: Some(1),
        h_q: Some(4),
        d_k: Some(8),
        alike: vec![Alike::Widths],
        ..Fit::default()
    };
    assert_eq!(told(&fit), [1, 4, 2, 5, 7, 8, 8]);
    let fit = Fit { h_k: Some(4), n_k: Some(9), alike: vec![Alike::Lengths], ..Fit::default() };
    assert_eq!(told(&fit), [2, 8, 4, 9, 9, 24, 16]);
    let fit = Fit { alike: vec![Alike::Heads], options: Some(vec![CallOption::Causal]), ..fit };
    assert_eq!(told(&fit)[1..3], [4, 4]);
    assert_eq!(fit.to_string(), "h_k=4 n_k=9, h_k=h_q, options causal");
    let always = Fit { causal: true, ..fit };
    assert_eq!(always.to_string(), "h_k=4 n_k=9, h_k=h_q, options causal, always causal");
    let fit = Fit { scale: Some(0.25), softcap: Some(5.0), causal: true, ..Fit::default() };
    assert_eq!(fit.to_string(), "always scale=0.25, always softcap=5, always causal");
}
