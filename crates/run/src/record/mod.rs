//! Shards: a run of some of the cases that keeps what the target answered, and a run of all cases
//! on the answers of all shards.
//!
//! A shard decides nothing for the others: `qkvet merge` judges every case again, on recorded
//! answers, by the code that judges a live target. So the joined report is the report of one run.

mod file;
mod files;
mod join;
mod journal;
mod kept;
mod nearby;
mod recording;
mod response;
mod shard;

pub use file::{Header, write_shard};
pub use files::ChangedFile;
pub(crate) use files::hashed;
pub use join::{Joined, read_shards};
pub use journal::{Dropped, Journal};
pub(crate) use kept::{KeptTarget, contiguous_id, id_of, transposed_id};
pub use nearby::{is_of_tests, nearby};
pub use recording::Recording;
pub use response::Answered;
pub use shard::{NoShard, Shard, Sharding};
