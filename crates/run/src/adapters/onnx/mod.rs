//! ONNX: models as targets (`onnx:FILE`), backends as targets (`onnx-backend:NAME`), and frozen
//! cases as node tests.
//!
//! `proto` has the few messages that are read and written. A model's file is read here and run in
//! Python by ONNX Runtime; a backend is asked by models of one node that are made here, the same
//! that are exported.

mod adapter;
mod allowance;
mod ask;
mod config;
mod constants;
mod export;
mod feed;
mod input;
mod mask;
mod model;
mod node;
pub mod proto;
mod role;
mod script;
mod split;
mod target;

pub(super) use adapter::{BACKEND, MODEL};
pub use allowance::{Allowance, Seen};
pub use config::{BackendConfig, OnnxConfig};
pub use constants::Constants;
pub use export::{NodeTestWriter, test_name, test_of};
pub use feed::{Element, Feed};
pub use input::Input;
pub use model::Model;
pub use node::{NodeTest, Opset, node_test};
pub use role::{Operator, Role};
pub(crate) use script::{CalledOnnx, OnnxCaller};
pub use split::split;
pub use target::{BackendTarget, OnnxTarget};
