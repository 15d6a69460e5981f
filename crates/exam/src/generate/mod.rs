//! Generation: numbers drawn from a seed until a question is a good one.

mod draw;
mod instantiate;
mod keyed;
mod load;
mod mistake;
mod prose;
mod report;
mod stream;
mod workspace;

pub use crate::error::{Contradiction, DrawError, MistakeOf, NoVariant, Reject, Which};
pub(crate) use draw::draw;
pub use draw::{fits, written};
pub use instantiate::{Instance, instantiate, pose_drawn};
pub use keyed::{Answer, KeyedPart};
pub use load::load;
pub use mistake::Mistaken;
pub(crate) use mistake::{PLACES, nothing};
pub(crate) use prose::plain;
pub use report::{Draws, Report};
pub use stream::Stream;
