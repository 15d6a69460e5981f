//! Functions of shared libraries (`lib:FILE`): a worker process loads the library and speaks the
//! wire for it.
//!
//! [`LibraryConfig`] says what to call, [`NativeWorker`] is the other side: the same binary,
//! started again. A function's prototype says what it takes (`prototype`, `role`), `interface`
//! makes its arguments, or `abi` the struct of a function of ours; `arena` is the memory, `foreign`
//! makes the call, `written` has the arguments for a script. What becomes of a worker that dies is
//! the business of `process`.

mod abi;
mod arena;
mod config;
mod copy;
mod foreign;
mod interface;
mod prototype;
mod request;
mod role;
mod script;
mod script_arguments;
mod structs;
mod worker;

pub(super) use config::KIND;
pub use config::{LibraryConfig, WORKER_COMMAND};
pub(crate) use script::{CalledLibrary, LibraryCaller};
pub use worker::NativeWorker;
