//! Prints the tables of `docs/libraries.md` (`libraries wheels` or `libraries candle`), and that of
//! `docs/implementations.md` (`libraries implementations`), for `cargo xtask libraries`.
#![allow(clippy::print_stdout, reason = "the tables are its output")]

use qkvet_tests::implementations::{IMPLEMENTATIONS, table};
use qkvet_tests::libraries::{CANDLE_FORMS, WHEELS, probes, tables};

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("implementations") => print!("{}", table(&IMPLEMENTATIONS)),
        Some("candle") => print!("{}", tables(&CANDLE_FORMS, &probes(&CANDLE_FORMS))),
        _ => print!("{}", tables(&WHEELS, &probes(&WHEELS))),
    }
}
