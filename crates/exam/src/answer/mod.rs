//! Answers: parameters as exact numbers, the worked steps, and the same values enclosed by the engine.

mod bounds;
mod enclosed;
mod exact;
mod form;
mod numbers;
mod parameter;

pub(crate) use bounds::{Bounded, bounded};
pub(crate) use enclosed::{Balls, enclosed_all, standard};
pub use enclosed::{Judgment, agrees, enclosed, rounded};
pub(crate) use exact::worked_value;
pub use exact::{Worked, work, work_from};
pub use form::{decimals, formula, read};
pub use numbers::{Numbers, of_value};
pub(crate) use numbers::{Printed, unsigned_zero};
pub use parameter::{Drawn, Parameter};
