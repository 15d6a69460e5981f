//! The language of qkvet and the words that all its crates speak.
//!
//! Types, parser, shape checker, diagnostics, verdicts and events. No arithmetic and no I/O happen
//! here.

mod adequacy;
mod breakage;
mod call;
mod case;
mod catalog;
mod condition;
mod contract;
mod deviation;
mod deviation_file;
mod doctor;
mod document;
mod dtype;
mod event;
mod evidence;
mod example;
mod finding;
mod fit;
mod format;
mod formula;
mod handling;
mod index;
mod json;
mod judgment;
mod known;
mod law;
mod meaning;
mod misfit;
mod misread;
mod modifier;
mod nearest;
mod onnx;
mod patch;
mod probe;
mod redirect;
mod redirects;
mod replay;
mod required;
mod schema;
pub mod shape;
mod snapshot;
mod source;
mod spans;
mod stop_reason;
mod stream;
mod suite;
pub mod syntax;
mod tally;
mod unexpected;
mod verdict;
mod warning;
pub mod wire;
mod words;

pub use adequacy::{AdequacyReport, CoverCase, FaultInFormat, FaultMarks, Mark, Survival};
pub use breakage::{Breakage, Later, Pipe, Trouble};
pub use call::{
    BoolTensor, Call, CallOptions, Dims, Output, Packed, Response, Target, Tensor, Threads, Window,
    format_shape,
};
pub use case::{Binding, Case, Matrices};
pub use catalog::Catalog;
pub use condition::{Condition, Extent, Indices, Reading, SeenIn, WrongAxis, WrongElements};
pub use contract::{Contract, Depth};
pub use deviation::{
    ClaimOutcome, CountOf, DenominatorForm, Deviation, DeviationFormula, Grid, InputForm, LazySlip,
    LogitForm, LseForm, MaskJoin, PartWeight, Reason, ScaleForm, SoftcapForm, Standing, Step,
    StubForm, TileFactor, TileForm, TileMax, TilePlace, Twist, WeightForm,
};
pub use deviation_file::{DeviationFile, SavedDeviation};
pub use doctor::{Diagnosis, DoctorEvent, DoctorReport};
pub use document::{FindingDocument, Findings, REPORT_FORMAT, Sentences, SummaryDocument};
pub use dtype::Dtype;
pub use event::{
    CaseRecord, Chosen, Coverage, Declined, Event, RunInfo, SourcePlace, Summary, Takes,
};
pub use evidence::{Approx, Aspect, Element, Evidence, Expectation, Got, Origin, Place, Relates};
pub use example::{Number, Numbers, Picture, StageStep, Steps, WorkedExample};
pub use finding::{
    Cause, FaultRef, Finding, FindingKind, FindingState, Form, Narrowed, Note, Proposal,
    ResultName, RightLayout, Rival, ThreadCounts,
};
pub use fit::{Alike, Fit};
pub use format::Format;
pub use formula::Formula;
pub use handling::{Handling, Strides};
pub use index::{IndexEnv, IndexExpr, IndexName, UNLIMITED};
pub use json::{JsonError, parse_json};
pub use judgment::Judgment;
pub use known::{KnownDeviation, KnownFile, KnownOutcome, KnownState, KnownStatus};
pub use law::{CallOption, Law, Observation, OptionSet, Proof, VALUE_LAW};
pub use meaning::{
    Alibi, Anchor, Arithmetic, Bias, Causal, DefaultScale, EmptyLse, EmptyRow, Execution,
    ExecutionPatch, ExplicitScale, HiddenKeys, LengthAnchor, LseBase, Mask, Meaning, MeaningPatch,
    Merge, Normalization, Obedience, Packing, Rescale, RowMax, Sinks, SoftmaxOver, Stage, Store,
    Tanh, ValueReading, WindowBounds, WindowSide,
};
pub use misfit::{Misfit, MisfitShapes};
pub use misread::{Inside, Misread};
pub use modifier::{ContractPatch, Modifier, Numbered};
pub use nearest::{name_hint, nearest};
pub use onnx::{OnnxCase, OnnxOutcome, OnnxReport};
pub use patch::{Behavior, Convention, Fault, FaultFamily};
pub use probe::{Certainty, Measured, Probe, ProbedConvention, ProbedField};
pub use redirect::Redirect;
pub use redirects::Redirects;
pub use replay::{Replay, Replayed};
pub use required::Required;
#[cfg(feature = "schema")]
pub use schema::generate_schemas;
pub use schema::{SCHEMAS, schema};
/// A value of a YAML file with its place.
pub use serde_yaml::Spanned;
pub use shape::{CheckedLaw, Domain, Variables, Word, WordKind};
pub use snapshot::{
    Band, CaseChange, Change, NoEntry, PartCount, SNAPSHOT_FORMAT, Snapshot, SnapshotEntry,
    SnapshotOutcome, SnapshotPart,
};
pub use source::{SpecError, located, parse_large_yaml, parse_yaml, parse_yaml_of_answers};
pub use spans::{span, spans};
pub use stop_reason::{Stopped, StoppedShard};
pub use stream::{Outcome, StreamLine};
pub use suite::{
    BroadcastForm, Extended, Frozen, MaskPattern, Suite, Together, Values, suite_id, suite_name,
};
pub use unexpected::Unexpected;
pub use verdict::{Verdict, Witness, format_ratio};
pub use warning::{Notice, UnknownOffer, Warning};
pub use words::{Dialect, Quoted, Sentence, WRITTEN, Words};
