//! From arguments and declarations to what the runner takes.

#![allow(clippy::disallowed_methods, reason = "configuration is read here and nowhere else")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use qkvet_run::adapters::python::{Arrays, Layout, find_python};
use qkvet_run::adapters::{CallSettings, Finder, NamedTarget, StoredCall, config_of};
use qkvet_run::config::{Config, add_own_specs};
use qkvet_run::process::Limits;
use qkvet_spec::{Catalog, Dtype, Suite, Unexpected, name_hint, parse_yaml};

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

/// Finds the target that a user names.
///
/// `dtypes` are the formats that a flag chooses.
pub(super) fn target(
    name: &str,
    args: &TargetArgs,
    dtypes: &[Dtype],
    catalog: &Catalog,
) -> Result<NamedTarget, Failure> {
    target_as(name, args, None, dtypes, catalog)
}

/// The same, called as it was `stored` where no flag says otherwise.
pub(super) fn target_as(
    name: &str,
    args: &TargetArgs,
    stored: Option<&StoredCall>,
    dtypes: &[Dtype],
    catalog: &Catalog,
) -> Result<NamedTarget, Failure> {
    let virtual_env = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let flags = CallSettings {
        arrays: args.arrays.map(|arrays| match arrays {
            ArraysArg::Numpy => Arrays::Numpy,
            ArraysArg::Torch => Arrays::Torch,
            ArraysArg::Jax => Arrays::Jax,
        }),
        layout: args.layout.map(|layout| match layout {
            LayoutArg::Bhnd => Layout::Bhnd,
            LayoutArg::Bnhd => Layout::Bnhd,
        }),
        device: args.device.clone(),
        call: args.call.clone(),
        constants: args.constant.clone(),
        ..CallSettings::default()
    };
    let finder = Finder {
        python: &find_python(args.process.python.as_deref(), virtual_env.as_deref()),
        folder: &current_folder()?,
        config: args.process.config.as_deref(),
        catalog,
        flags,
        stored: stored.cloned().map(CallSettings::from).unwrap_or_default(),
        dtypes,
    };
    let mut target = finder.find(name)?;
    match target.adapter.limits_mut() {
        Some(limits) => limit(limits, &args.process)?,
        None => limit(&mut Limits::new(0), &args.process)?,
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

/// The suite by id, or from a file.
pub(super) fn suite(catalog: &Catalog, name: &str) -> Result<Suite, Failure> {
    let suite = match yaml_file(name)? {
        Some(source) => parse_yaml::<Suite>(name, &source)?,
        None => Catalog::find("suite", &catalog.suites, name)?.clone(),
    };
    qkvet_gen::check_suite(&suite).map_err(|error| Unexpected::within(name, error))?;
    Ok(suite)
}
