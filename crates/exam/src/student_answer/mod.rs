//! What people wrote: numbers and matrices read as exact numbers, with the precision that they were
//! stated with.
//!
//! An answer is a [`Node`] whatever file it came from; its leaves are the text as it was typed, so
//! that `0.70` keeps its second digit.

mod digits;
mod error;
mod expression;
mod layout;
mod node;
mod number;

pub use digits::{ungrouped, unlabelled, with_unit};
pub use error::{Raised, ReadError};
pub(crate) use expression::is_fraction_sign;
pub use expression::{Token, read_expression};
pub use layout::{Layout, MAX_CELLS, layout, lists};
pub use node::Node;
pub(crate) use node::YamlNode;
pub use number::{Form, ParsedNumber};
pub(crate) use number::{approximate, ends_within, half_unit, is_within, rounded};

/// Longest text of one number that is read.
pub const MAX_TEXT: usize = 512;
