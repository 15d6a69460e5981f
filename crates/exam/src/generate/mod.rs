//! Generation: numbers drawn from a seed until a question is a good one.

mod bench;
mod draw;
mod error;
mod load;
mod mistake;
mod pose;
mod stream;
mod words;

pub(crate) use draw::draw;
pub use draw::{fits, written};
pub use error::{Contradiction, DrawError, MistakeOf, NoVariant, Reject, Which};
pub use load::load;
pub use mistake::Mistaken;
pub(crate) use mistake::{PLACES, nothing};
pub use pose::{Answer, Posed, PosedPart, pose, pose_drawn};
pub use stream::Stream;
pub(crate) use words::plain;
