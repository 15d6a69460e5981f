//! What people wrote, read for certain or not at all.
//!
//! An answer is text, whatever file it came from. One lexer and one parser make a tree of it, an
//! expression of the law language whose lists are tuples; `reading` takes names, chains and words
//! off first. What is not read for certain is an error, and left to a person.

mod error;
mod formula;
mod lexer;
mod names;
mod node;
mod number;
mod parser;
mod picks;
mod reading;
mod table;
mod understood;
mod value;
mod vocabulary;

pub use error::{Raised, ReadError};
pub use formula::{fitted, read_formula};
pub use lexer::Token;
pub(crate) use names::known;
pub use node::is_missing;
pub(crate) use node::{YamlNode, entries as json_entries, of_json};
pub use number::{Form, ParsedNumber, read_expression};
pub(crate) use number::{approximate, ends_within, half_unit, is_within, rounded};
pub(crate) use picks::{Picks, option, picks};
pub use reading::{Entry, Label, Notation, RequestedShape, entries, read_numbers, read_table};
pub use understood::{Understood, understood};
pub use value::{MAX_CELLS, MAX_TEXT};
pub(crate) use value::{decimal, ten_to};
