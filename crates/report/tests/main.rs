//! Reports: every format, comparisons, widths.
//!
//! One program, for each one is linked with all that it tests.

mod compare;
mod golden;
mod many;
mod widths;
