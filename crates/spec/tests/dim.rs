//! Symbolic extents have one form each.

use qkvet_spec::shape::Dim;

#[test]
fn equal_polynomials_have_one_form() {
    let n = Dim::symbol("n_k");
    let m = Dim::symbol("n_q");
    assert_eq!(n.clone().plus(&m).minus(&m), n);
    assert_eq!(n.times(&m), m.times(&n));
    assert_eq!(n.clone().minus(&n), Dim::constant(0));
    assert_eq!(n.clone().minus(&Dim::constant(1)).to_string(), "n_k - 1");
    assert_ne!(n, m);
}

#[test]
fn multiples_are_divided_and_nothing_else() {
    let (n, h) = (Dim::symbol("n_k"), Dim::symbol("h_q"));
    let two = Dim::constant(2);
    let width = h.times(&n).times(&two).plus(&h);
    assert_eq!(width.over(&h).unwrap().to_string(), "2*n_k + 1");
    assert_eq!(h.times(&n).over(&n), Some(h.clone()));
    assert_eq!(Dim::constant(6).over(&two), Some(Dim::constant(3)));
    for (dim, divisor) in [
        (&width, &two),
        (&n, &h),
        (&Dim::constant(5), &two),
        (&n, &Dim::constant(0)),
        (&n, &n.clone().plus(&h)),
        (&n, &h.times(&n)),
    ] {
        assert_eq!(dim.over(divisor), None, "{dim} over {divisor}");
    }
}
