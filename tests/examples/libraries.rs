//! Prints the tables of `docs/libraries.md`: `libraries wheels` or `libraries candle`, for `cargo xtask libraries`.
#![allow(clippy::print_stdout, reason = "the tables are its output")]

use qkvet_tests::libraries::{CANDLE_FORMS, WHEELS, probes, tables};

fn main() {
    let is_candle = std::env::args().nth(1).as_deref() == Some("candle");
    let libraries = if is_candle { &CANDLE_FORMS[..] } else { &WHEELS[..] };
    print!("{}", tables(libraries, &probes(libraries)));
}
