//! Verdicts by name.

use qkvet_spec::*;

#[test]
fn no_ratio_is_told_as_nothing() {
    let told = [0.0, 1e-7, 0.003, 0.07, 0.5, 26.21, 1e5].map(format_ratio);
    assert_eq!(told, ["0.00", "1.0e-7", "0.003", "0.07", "0.50", "26.21", "1.0e5"]);
}
