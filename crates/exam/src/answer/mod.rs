//! Answers: parameters as exact numbers, the worked steps, and the same values enclosed by the
//! engine.

mod bounds;
mod enclosure;
mod error;
mod exact;
mod extent;
mod form;
mod numbers;
mod parameter;

pub(crate) use bounds::{Bounded, bounded};
pub(crate) use enclosure::{Balls, ball_of, enclosed_all, standard};
pub use enclosure::{agrees, enclosed, rounded};
pub use error::AnswerError;
pub(crate) use exact::worked_value;
pub use exact::{Worked, work, work_from};
pub(crate) use extent::extent;
pub use form::{decimals, formula, read};
pub use numbers::{Numbers, of_value};
pub(crate) use numbers::{Printed, unsigned_zero};
pub use parameter::{Drawn, Parameter};
