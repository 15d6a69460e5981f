//! The nearest name is found.

use qkvet_spec::*;

#[test]
fn a_name_that_is_meant_has_something_in_common() {
    for (name, known, expected) in [
        ("expct", ["expect", "title"], Some("expect")),
        ("T", ["b", "n_q"], None),
        ("q", ["Q", "K"], Some("Q")),
        ("n", ["n_q", "K"], None),
        ("S2", ["S", "K"], Some("S")),
    ] {
        assert_eq!(nearest(name, known), expected, "{name}");
    }
}
