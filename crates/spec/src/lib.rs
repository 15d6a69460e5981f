//! The language of qkvet and the words that all its crates speak.
//!
//! Types, parser, shape checker, diagnostics, verdicts and events. No arithmetic and no I/O happen here.

mod call;
mod case;
mod catalog;
mod contract;
mod doctor;
mod dtype;
mod event;
mod formula;
mod index;
mod law;
mod meaning;
mod nearest;
mod patch;
mod schema;
pub mod shape;
mod source;
mod suite;
pub mod syntax;
mod verdict;
pub mod wire;

pub use call::{BoolTensor, Call, Dims, Output, Response, Target, Tensor, Trouble};
pub use case::{Binding, Case, CaseOptions, Matrices};
pub use catalog::Catalog;
pub use contract::Contract;
pub use doctor::{Diagnosis, DoctorEvent};
pub use dtype::Dtype;
pub use event::{CaseRecord, Coverage, Event, Finding, FindingKind, RunInfo, Summary};
pub use formula::Formula;
pub use index::{IndexEnv, IndexExpr};
pub use law::{CallOption, Law, Observation, Proof};
pub use meaning::{
    Arithmetic, Causal, DefaultScale, EmptyRow, Execution, ExecutionPatch, ExplicitScale, Mask, Meaning, MeaningPatch,
    Normalization, Stage, Store, ValueReading,
};
pub use nearest::nearest;
pub use patch::{Behavior, Convention, Fault};
pub use schema::{SCHEMAS, schema};
pub use shape::{CheckedLaw, Domain, Given};
pub use source::{SpecError, parse_yaml};
pub use suite::{BroadcastForm, MaskPattern, Suite, Values};
pub use verdict::{Evidence, Verdict, Witness};
