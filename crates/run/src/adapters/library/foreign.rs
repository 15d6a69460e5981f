//! The only place that runs foreign code in a process of ours: a worker's, which may die of it.
#![expect(
    unsafe_code,
    reason = "a library is loaded and its function called; each place says what it relies on"
)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;

use libffi::middle::{Arg, Cif, CodePtr, Type, arg};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use qkvet_spec::Dtype;

use super::prototype::{Kind, Number};
use super::structs::{CallV1, CapabilitiesV1};

/// One argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Pointer(*mut u8),
    Byte(u8),
    I32(i32),
    U32(u32),
    I64(i64),
    U64(u64),
    F32(f32),
    F64(f64),
}

impl Value {
    fn as_arg(&self) -> Arg<'_> {
        match self {
            Self::Pointer(x) => arg(x),
            Self::Byte(x) => arg(x),
            Self::I32(x) => arg(x),
            Self::U32(x) => arg(x),
            Self::I64(x) => arg(x),
            Self::U64(x) => arg(x),
            Self::F32(x) => arg(x),
            Self::F64(x) => arg(x),
        }
    }
}

/// Lets the signals of bad memory end this process, as they end others. Rust's own handler, which
/// looks for stacks that are full, lets the first one pass that a library raises itself.
pub(super) fn die_of_signals() {
    for signal in [libc::SIGSEGV, libc::SIGBUS] {
        // SAFETY: the default is no function of ours, and this is no signal's handler.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// A loaded library.
pub(super) struct Loaded(Library);

impl Loaded {
    /// Loads the file.
    ///
    /// # Errors
    /// What the system says is the cause of the error.
    pub(super) fn open(path: &Path) -> Result<Self, libloading::Error> {
        // SAFETY: its constructors run, and may do anything. The user asked for it, and this
        // process has nothing to lose: what it answers is checked by another one.
        unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map(Self)
    }

    /// The address of a symbol.
    pub(super) fn symbol(&self, name: &str) -> Option<CodePtr> {
        // SAFETY: the address is only called as what the user says that it is. The library is never
        // unloaded before: `Loaded` lives as long as the worker.
        let found = unsafe { self.0.get::<*mut c_void>(name) }.ok()?;
        let address = found.as_raw_ptr();
        (!address.is_null()).then_some(CodePtr(address))
    }
}

/// A function that can be called with values.
pub(super) struct Function {
    code: CodePtr,
    cif: Cif,
    returns: Option<Number>,
}

impl Function {
    pub(super) fn new(
        code: CodePtr,
        parameters: impl Iterator<Item = Kind>,
        returns: Option<Number>,
    ) -> Self {
        let result = returns.map_or_else(Type::void, |number| type_of(Kind::Plain(number)));
        Self { code, cif: Cif::new(parameters.map(type_of).collect::<Vec<_>>(), result), returns }
    }

    /// Calls it; gives the number that it returns, 0 if it returns none.
    pub(super) fn call(&self, values: &[Value]) -> i64 {
        let args: Vec<Arg<'_>> = values.iter().map(Value::as_arg).collect();
        // SAFETY: the values have the types of the prototype, and the pointers lead to memory of
        // ours with the extents that are passed. That the function is of this prototype is what the
        // user says; if it is not, this process may die, and the one that asked sees it.
        unsafe {
            match self.returns {
                None => {
                    self.cif.call::<()>(self.code, &args);
                    0
                }
                Some(Number::I32) => i64::from(self.cif.call::<i32>(self.code, &args)),
                Some(Number::U32) => i64::from(self.cif.call::<u32>(self.code, &args)),
                Some(_) => self.cif.call::<i64>(self.code, &args),
            }
        }
    }
}

/// `int qkvet_attention_v1(const struct qkvet_call_v1 *)`.
pub(super) struct StructFunction(unsafe extern "C" fn(*const CallV1) -> c_int);

impl StructFunction {
    pub(super) fn new(code: CodePtr) -> Self {
        // SAFETY: the name is ours, and the header says what it takes. An address is not null, as
        // `symbol` makes sure.
        Self(unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const CallV1) -> c_int>(code.0)
        })
    }

    pub(super) fn call(&self, call: &CallV1) -> c_int {
        // SAFETY: the struct is that of the header, and its pointers lead to memory of ours with
        // the shapes in it.
        unsafe { (self.0)(call) }
    }
}

/// What `qkvet_info_v1` gives: name, version, device, dtypes, options, outputs. `None` if it gives
/// nothing of the size of ours.
pub(super) fn capabilities(code: CodePtr) -> Option<[Option<String>; 6]> {
    type Info = unsafe extern "C" fn() -> *const CapabilitiesV1;
    // SAFETY: as for `StructFunction`. What it points to is read once it says that it is large
    // enough, and its texts end in NUL.
    unsafe {
        let info = std::mem::transmute::<*mut c_void, Info>(code.0);
        let given = info().as_ref()?;
        let is_whole = usize::try_from(given.struct_size)
            .is_ok_and(|size| size >= size_of::<CapabilitiesV1>());
        let text = |at: *const c_char| {
            (!at.is_null()).then(|| CStr::from_ptr(at).to_string_lossy().into_owned())
        };
        is_whole.then(|| given.texts.map(text))
    }
}

fn type_of(kind: Kind) -> Type {
    match kind {
        Kind::Pointer(_) => Type::pointer(),
        Kind::Plain(Number::Real(Dtype::Float32)) => Type::f32(),
        Kind::Plain(Number::Real(_)) => Type::f64(),
        Kind::Plain(Number::Byte) => Type::u8(),
        Kind::Plain(Number::Bits16) => Type::u16(),
        Kind::Plain(Number::I32) => Type::i32(),
        Kind::Plain(Number::U32) => Type::u32(),
        Kind::Plain(Number::I64) => Type::i64(),
        Kind::Plain(Number::U64) => Type::u64(),
    }
}
