//! Names in a text are located.

use qkvet_spec::*;

#[test]
fn what_is_in_a_row_is_a_span() {
    assert_eq!(spans(&[0, 1, 2, 3, 5]), "0–3, 5");
    assert_eq!(spans(&[1, 2]), "1–2");
    assert_eq!(spans(&[]), "none");
}
