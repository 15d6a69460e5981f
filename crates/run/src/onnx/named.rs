//! `onnx:FILE` and `onnx-backend:NAME` among the names of targets.

#![allow(clippy::disallowed_methods, reason = "I/O crate, no arithmetic")]

use std::path::{Path, PathBuf};

use qkvet_spec::{SpecError, Unexpected};

use super::config::{BackendConfig, OnnxConfig};
use crate::config::{Config, TargetEntry};
use crate::python::Layout;
use crate::target::{NamedTarget, TargetKind};

/// What stands before the file of a model.
pub(crate) const MODEL: &str = "onnx:";

/// What stands before the name of a backend of ONNX.
pub(crate) const BACKEND: &str = "onnx-backend:";

/// A model or a backend of ONNX by its name; an entry of `qkvet.yaml` with the same name or file
/// declares for it.
pub(crate) fn onnx_target(
    name: &str,
    python: &Path,
    folder: &Path,
    config: Option<&Path>,
) -> Option<Result<NamedTarget, SpecError>> {
    if !name.starts_with(MODEL) && !name.starts_with(BACKEND) {
        return None;
    }
    let place = |target: &str, base: &Path| match target.strip_prefix(MODEL) {
        Some(file) => Some(base.join(file).canonicalize().unwrap_or(base.join(file))),
        None => target.starts_with(BACKEND).then(|| PathBuf::from(target)),
    };
    let plain = TargetEntry { target: name.to_owned(), ..TargetEntry::default() };
    let mut found = (plain, None);
    if let Some(path) = config.map(Path::to_owned).or_else(|| Config::find(folder)) {
        let base = path.parent().unwrap_or(folder).to_owned();
        let targets = match Config::read(&path) {
            Ok(config) => config.targets,
            Err(error) => return Some(Err(error)),
        };
        let same = |entry: &TargetEntry| {
            place(&entry.target, &base).is_some_and(|x| Some(x) == place(name, folder))
        };
        if let Some(entry) = targets.into_values().find(same) {
            found = (TargetEntry { target: name.to_owned(), ..entry }, Some(path));
        }
    }
    let (entry, config) = found;
    let kind = onnx_kind(&format!("target `{name}`"), python, folder, &entry)?;
    let named = |kind| NamedTarget { name: name.to_owned(), kind, entry, config };
    Some(kind.map(named).map_err(SpecError::from))
}

/// What an entry of ONNX starts; `None` for an entry of another kind.
pub(crate) fn onnx_kind(
    place: &str,
    python: &Path,
    folder: &Path,
    entry: &TargetEntry,
) -> Option<Result<TargetKind, Unexpected>> {
    let text = entry.target.as_str();
    let (model, backend) = (text.strip_prefix(MODEL), text.strip_prefix(BACKEND));
    if model.is_none() && backend.is_none() {
        return None;
    }
    let others = [
        ("arrays", entry.arrays.is_some()),
        ("supports", entry.supports.is_some()),
        ("mask_takes_bias", entry.mask_takes_bias),
        ("call", entry.call.is_some()),
        ("layout", backend.is_some() && entry.layout != Layout::default()),
        ("constants", backend.is_some() && !entry.constants.is_empty()),
    ];
    if let Some((field, _)) = others.iter().find(|(_, declared)| *declared) {
        let expected = format!("no `{field}`, which is for other targets");
        return Some(Err(Unexpected::at(place, expected)));
    }
    Some(match (model, backend) {
        (Some(""), _) => Err(Unexpected::at(place, "the file of a model, as in onnx:model.onnx")),
        (Some(file), _) => {
            let mut config = OnnxConfig::new(file, folder, python);
            config.layout = entry.layout;
            config.device.clone_from(&entry.device);
            config
                .declare(&entry.constants)
                .map_err(|error| Unexpected::within(place, error))
                .map(|()| TargetKind::Onnx(Box::new(config)))
        }
        (None, backend) => BackendConfig::parse(backend.unwrap_or_default(), folder, python)
            .map_err(|error| Unexpected::within(place, error))
            .map(|config| {
                TargetKind::OnnxBackend(Box::new(BackendConfig {
                    device: entry.device.clone(),
                    ..config
                }))
            }),
    })
}
