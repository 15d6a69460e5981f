//! Law evaluation: runs a law's expressions on a case, calls the target where the law says `attention(...)`, and decides.
//!
//! No law is known here by name. Every call is checked against its own enclosure first; the relation then says which property
//! broke.

mod call;
mod evaluate;
mod function;
mod matrices;
mod relation;

pub use call::CallRecord;
pub use evaluate::{Judge, Outcome, evaluate, explains};
