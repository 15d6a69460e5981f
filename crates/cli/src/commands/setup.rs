//! From arguments and declarations to what the runner takes.

#![allow(clippy::disallowed_methods, reason = "configuration is read here and nowhere else")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use qkvet_run::config::{Config, add_own_specs};
use qkvet_run::process::Limits;
use qkvet_run::python::{Arrays, Layout, find_python};
use qkvet_run::runner::StoredCall;
use qkvet_run::target::{NamedTarget, TargetKind, config_of, resolve};
use qkvet_spec::{Catalog, Dtype, Unexpected, name_hint};

use crate::args::{ArraysArg, LayoutArg, ProcessArgs, TargetArgs};
use crate::exit::Failure;

/// The folder that cases are kept in.
pub(super) const STORE: &str = ".qkvet";

/// What is built in, and what the `qkvet.yaml` of the target, or else of the current folder, names
/// under `specs:`.
pub(super) fn catalog(target: Option<&str>, config: Option<&Path>) -> Result<Catalog, Failure> {
    let mut catalog = Catalog::embedded()?;
    let folder = current_folder()?;
    if let Some(path) = config_of(target.unwrap_or_default(), &folder, config) {
        add_own_specs(&path, &mut catalog)?;
    }
    Ok(catalog)
}

pub(super) fn current_folder() -> Result<PathBuf, Unexpected> {
    std::env::current_dir().map_err(|error| Unexpected::within("current folder", error))
}

/// Finds the target and lays the flags over its declarations.
///
/// `dtypes` are the formats that a flag chooses: one of sixteen bits says what `uint16_t` stands
/// for in a prototype.
pub(super) fn target(
    name: &str,
    args: &TargetArgs,
    dtypes: &[Dtype],
    catalog: &Catalog,
) -> Result<NamedTarget, Failure> {
    let virtual_env = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let python = find_python(args.process.python.as_deref(), virtual_env.as_deref());
    let folder = current_folder()?;
    let mut target = resolve(name, &python, &folder, args.process.config.as_deref(), catalog)?;
    match target.kind.limits_mut() {
        Some(limits) => limit(limits, &args.process)?,
        None => limit(&mut Limits::new(0), &args.process)?,
    }
    let layout = args.layout.map(|layout| match layout {
        LayoutArg::Bhnd => Layout::Bhnd,
        LayoutArg::Bnhd => Layout::Bnhd,
    });
    if let TargetKind::Library(config) = &mut target.kind {
        config.layout = layout.unwrap_or(config.layout);
        if let Some(prototype) = args.call.as_ref().or(target.entry.call.as_ref()) {
            let declared = if dtypes.is_empty() {
                target.entry.dtypes.as_deref().unwrap_or_default()
            } else {
                dtypes
            };
            config.declare(prototype, declared)?;
        }
    } else if args.call.is_some() {
        return Err(Unexpected::at("--call", "with a shared library")
            .got(format!("the target `{name}`"))
            .hint("lib:./libattn.so")
            .into());
    }
    match &mut target.kind {
        TargetKind::Onnx(config) => {
            config.layout = layout.unwrap_or(config.layout);
            config.device = args.device.clone().or(config.device.take());
            if !args.constant.is_empty() {
                config
                    .declare(&args.constant)
                    .map_err(|error| Unexpected::within("--constant", error))?;
            }
        }
        _ if !args.constant.is_empty() => {
            return Err(Unexpected::at("--constant", "with a model")
                .got(format!("the target `{name}`"))
                .hint("onnx:model.onnx")
                .into());
        }
        TargetKind::OnnxBackend(config) => {
            config.device = args.device.clone().or(config.device.take())
        }
        _ => {}
    }
    if let TargetKind::Python(config) = &mut target.kind {
        if let Some(arrays) = args.arrays {
            config.arrays = Some(match arrays {
                ArraysArg::Numpy => Arrays::Numpy,
                ArraysArg::Torch => Arrays::Torch,
                ArraysArg::Jax => Arrays::Jax,
            });
        }
        config.layout = layout.unwrap_or(config.layout);
        if let Some(device) = &args.device {
            config.device = Some(device.clone());
        }
    }
    Ok(target)
}

/// The name of the only target that `qkvet.yaml` declares, for a command that names none.
pub(super) fn only_target(config: Option<&Path>) -> Result<String, Failure> {
    let usage = |got: &str| {
        Unexpected::at("--target", "one, for a token names none")
            .got(format!("nothing, and {got}"))
            .hint("--target path/file.py:function, or a name in qkvet.yaml")
    };
    let folder = current_folder()?;
    let path = config.map(Path::to_owned).or_else(|| Config::find(&folder));
    let path = path.ok_or_else(|| usage("there is no qkvet.yaml here"))?;
    let names: Vec<String> = Config::read(&path)?.targets.into_keys().collect();
    match names.as_slice() {
        [name] => Ok(name.clone()),
        [] => Err(usage(&format!("{} names no target", path.display())).into()),
        _ => Err(usage(&format!("{} names {}", path.display(), names.join(", "))).into()),
    }
}

/// Lays what the stored case was called with under the flags.
pub(super) fn as_stored(target: &mut NamedTarget, stored: &StoredCall, args: &TargetArgs) {
    if let TargetKind::Python(config) = &mut target.kind {
        if args.arrays.is_none() {
            config.arrays = stored.arrays;
        }
        if args.layout.is_none() {
            config.layout = stored.layout;
        }
        if args.device.is_none() {
            config.device.clone_from(&stored.device);
        }
    }
    if let TargetKind::Library(config) = &mut target.kind {
        if args.layout.is_none() {
            config.layout = stored.layout;
        }
        if args.call.is_none() {
            config.prototype.clone_from(&stored.prototype);
        }
    }
    if let TargetKind::Onnx(config) = &mut target.kind {
        if args.layout.is_none() {
            config.layout = stored.layout;
        }
        if args.device.is_none() {
            config.device.clone_from(&stored.device);
        }
        if args.constant.is_empty() {
            // They were read once already.
            let _ = config.declare(&stored.constants);
        }
    }
    if let TargetKind::OnnxBackend(config) = &mut target.kind
        && args.device.is_none()
    {
        config.device.clone_from(&stored.device);
    }
}

/// Lays the times of the flags over the limits.
pub(super) fn limit(limits: &mut Limits, args: &ProcessArgs) -> Result<(), Failure> {
    limits.timeout = seconds("--timeout", args.timeout)?;
    limits.start_timeout = seconds("--start-timeout", args.start_timeout)?;
    Ok(())
}

fn seconds(flag: &str, value: f64) -> Result<Duration, Unexpected> {
    match Duration::try_from_secs_f64(value) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err(Unexpected::at(flag, "a positive number of seconds").got(value)),
    }
}

/// Formats by name.
pub(super) fn dtypes(names: &[String]) -> Result<Vec<Dtype>, Unexpected> {
    let known = Dtype::CHECKED.map(Dtype::name);
    names
        .iter()
        .map(|name| {
            Dtype::CHECKED.into_iter().find(|dtype| dtype.name() == name).ok_or_else(|| {
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
