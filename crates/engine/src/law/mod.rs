//! Law evaluation: runs a law's expressions on a case, calls the target where the law says `attention(...)`, and decides.
//!
//! No law is known here by name. Every call is checked against its own enclosure first; the relation then says which property
//! broke.

mod call;
mod evaluate;
mod expression;
mod function;
mod matrices;
mod reading;
mod relation;
mod session;
mod value;

pub use call::{CallRecord, CallResult};
pub use evaluate::{Judge, confirms, evaluate, explains};
pub use reading::{Reading, read_keys};
pub use session::{Outcome, judge_call};
