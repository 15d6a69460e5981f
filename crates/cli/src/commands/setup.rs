//! From arguments and declarations to what the runner takes.

#![allow(clippy::disallowed_methods, reason = "configuration is read here and nowhere else")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use qkvet_run::adapters::python::find_python;
use qkvet_run::adapters::{CallSettings, Finder, NamedTarget, StoredCall};
use qkvet_run::config::{Declared, Home};
use qkvet_run::process::Limits;
use qkvet_spec::{Catalog, Dtype, Suite, Unexpected, name_hint, parse_yaml};

use crate::args::{DeclaredArgs, ProcessArgs, TargetArgs};
use crate::exit::Failure;

/// The folder that cases are kept in.
pub(super) const STORE: &str = ".qkvet";

/// Where a target is looked up.
pub(super) fn home(target: &str, config: Option<&Path>) -> Result<Home, Unexpected> {
    Ok(Home::of(target, &current_folder()?, config))
}

/// What is built in, and what the `qkvet.yaml` of the current folder names under `specs:`.
pub(super) fn catalog() -> Result<Catalog, Failure> {
    Ok(home("", None)?.catalog()?)
}

/// What a target claims, by flags and its entry.
pub(super) fn declared<'a>(
    target: &NamedTarget,
    args: &DeclaredArgs,
    dtypes: &[Dtype],
    catalog: &'a Catalog,
) -> Result<Declared<'a>, Unexpected> {
    Declared::of(&target.entry, &args.convention, &args.contract, dtypes, catalog)
}

pub(crate) fn current_folder() -> Result<PathBuf, Unexpected> {
    std::env::current_dir().map_err(|error| Unexpected::within("current folder", error))
}

/// The interpreter of the flag, else that of the virtual environment, else the one on the path.
pub(super) fn python(args: &ProcessArgs) -> PathBuf {
    let virtual_env = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    find_python(args.python.as_deref(), virtual_env.as_deref())
}

/// Finds the target that a user names, called as it was `stored` where no flag says otherwise.
///
/// `dtypes` are the formats that a flag chooses.
pub(super) fn target(
    home: &Home,
    name: &str,
    args: &TargetArgs,
    stored: Option<&StoredCall>,
    dtypes: &[Dtype],
    catalog: &Catalog,
) -> Result<NamedTarget, Failure> {
    let flags = CallSettings {
        arrays: args.arrays,
        layout: args.layout,
        device: args.device.clone(),
        call: args.call.clone(),
        constants: args.constant.clone(),
        ..CallSettings::default()
    };
    let stored = stored.cloned().map(CallSettings::from).unwrap_or_default();
    let python = &python(&args.process);
    let finder = Finder { home, python, catalog, flags, stored, dtypes };
    Ok(NamedTarget { limits: limits(&args.process)?, ..finder.find(name)? })
}

/// The name of the only target that `qkvet.yaml` declares, for a command that names none.
pub(super) fn only_target(home: &Home) -> Result<String, Failure> {
    let usage = |got: &str| {
        Unexpected::at("--target", "one, for a token names none")
            .got(format!("nothing, and {got}"))
            .hint("--target path/file.py:function, or a name in qkvet.yaml")
    };
    let path = home.file.as_ref().ok_or_else(|| usage("there is no qkvet.yaml here"))?;
    let names: Vec<&str> = home.config()?.targets.keys().map(String::as_str).collect();
    match names.as_slice() {
        [name] => Ok((*name).to_owned()),
        [] => Err(usage(&format!("{} names no target", path.display())).into()),
        _ => Err(usage(&format!("{} names {}", path.display(), names.join(", "))).into()),
    }
}

/// The times of the flags.
pub(super) fn limits(args: &ProcessArgs) -> Result<Limits, Unexpected> {
    let timeout = seconds("--timeout", args.timeout)?;
    let start_timeout = seconds("--start-timeout", args.start_timeout)?;
    Ok(Limits { timeout, start_timeout, memory: args.memory, ..Limits::default() })
}

fn seconds(flag: &str, value: f64) -> Result<Duration, Unexpected> {
    match Duration::try_from_secs_f64(value) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err(Unexpected::at(flag, "a positive number of seconds").got(value)),
    }
}

/// The format of this name, or of a usual short one: `bf16`, `fp16`, `f32`, `float`, `double`.
pub(super) fn dtype(name: &str) -> Option<Dtype> {
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "f64" | "fp64" | "double" => Some(Dtype::Float64),
        "f32" | "fp32" | "float" | "single" => Some(Dtype::Float32),
        "bf16" => Some(Dtype::Bfloat16),
        "f16" | "fp16" | "half" => Some(Dtype::Float16),
        name => Dtype::from_name(name),
    }
}

/// Formats by name.
pub(super) fn dtypes(names: &[String]) -> Result<Vec<Dtype>, Unexpected> {
    let known = Dtype::CHECKED.map(Dtype::name);
    names
        .iter()
        .map(|name| {
            dtype(name).filter(|dtype| Dtype::CHECKED.contains(dtype)).ok_or_else(|| {
                Unexpected::at(format!("--dtype {name}"), "a known format")
                    .hint(name_hint(name, &known))
            })
        })
        .collect()
}

/// Reads a file that the user names in place of an id; `None` when it is not a file name.
pub(super) fn yaml_file(name: &str) -> Result<Option<String>, Unexpected> {
    if !Path::new(name)
        .extension()
        .is_some_and(|extension| extension == "yaml" || extension == "yml")
    {
        return Ok(None);
    }
    let about = std::fs::metadata(name)
        .map_err(|error| Unexpected::at_path("file", name, "a readable file").error(error))?;
    // A pipe that nobody writes to would be waited for.
    if !about.is_file() {
        return Err(Unexpected::at_path("file", name, "a readable file").got("something else"));
    }
    let size = about.len();
    if size > 1 << 20 {
        let got = format!("{size} bytes");
        return Err(Unexpected::at_path("file", name, "at most 1 MiB").got(got));
    }
    std::fs::read_to_string(name)
        .map(Some)
        .map_err(|error| Unexpected::at_path("file", name, "a readable text").error(error))
}

/// The suite by id, or from a file.
pub(super) fn suite(catalog: &Catalog, name: &str) -> Result<Suite, Failure> {
    let suite = match yaml_file(name)? {
        Some(source) => parse_yaml::<Suite>(name, &source)?,
        None => Catalog::find("suite", &catalog.suites, name)?.clone(),
    };
    qkvet_gen::check_suite(&suite).map_err(|error| Unexpected::within(name, error))?;
    Ok(suite)
}
