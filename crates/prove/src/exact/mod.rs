//! Exact values: numbers whose equality is decided, laws evaluated on concrete matrices, and
//! counterexamples.
//!
//! An [`Instance`] gives every variable of a law a value in [`Exact`] numbers; [`evaluate`] and
//! [`decide`] then compute as the standard meaning of attention says. Nothing here is an
//! approximation: a number without an exact form is enclosed ([`Real::Near`]), and what an enclosure
//! does not decide is undecided.

mod algebraic;
mod attention;
mod draw;
mod evaluate;
mod exp_sum;
mod function;
mod instance;
mod interval;
mod margin;
mod matrices;
mod near;
mod number;
mod real;
mod reduce;
mod relation;
mod search;
mod shrink;
mod source;
mod symbolic;
mod worksheet;

pub(crate) use draw::says_something;
pub use evaluate::evaluate;
pub use instance::{ExactOptions, Instance, NoValue, Value};
pub use matrices::ExactMatrices;
pub use near::Near;
pub use number::{Exact, NotExact};
pub use real::Real;
pub use relation::{Decision, Failure, decide};
pub use search::{Counterexample, Search, search};
pub use symbolic::holds_up_to;
pub use worksheet::Worksheet;
