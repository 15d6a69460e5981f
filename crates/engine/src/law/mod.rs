//! Law evaluation: runs a law's expressions on a case, calls the target where the law says
//! `attention(...)`, and decides.
//!
//! No law is known here by name. Every call is checked against its own enclosure first; the
//! relation then says which property broke.

mod attempt;
mod call;
mod enclose;
mod evaluate;
mod expression;
mod function;
mod matrices;
mod product;
mod read_keys;
mod refusal;
mod relation;
mod same;
mod session;
mod some_rows;
mod undefined;
mod value;
mod wider_output;

pub use attempt::{Attempt, Came, Inquiry, Question};
pub use call::{CallRecord, CallResult, explains_by_head, has_form};
pub use enclose::{Enclosed, enclose, enclose_all};
pub use evaluate::{Answers, Judge, confirms, evaluate, evaluate_by, explains, fits};
pub use read_keys::read_keys;
pub use refusal::refused_call;
pub use session::{OnViews, Outcome, judge_call};
pub use undefined::{EvaluationError, Undefined};
