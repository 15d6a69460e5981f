//! Targets by the names users give them: built in, a Python function, or an entry of `qkvet.yaml`.

use std::path::{Path, PathBuf};

use qkvet_engine::simulate::Simulator;
use qkvet_spec::{Catalog, Execution, Fault, Meaning, SpecError, Target};

use crate::config::{Config, TargetEntry};
use crate::flash::Flash;
use crate::python::{PythonConfig, PythonInfo, PythonRef, PythonSource, PythonTarget, StartError};

/// A target before it is started.
#[derive(Clone, Debug)]
pub enum TargetKind {
    /// The simulator of the standard meaning.
    Standard,
    /// The independent tiled online-softmax implementation.
    Flash,
    /// The simulator with one fault.
    Fault(Box<Fault>),
    /// A Python function in a process of its own.
    Python(Box<PythonConfig>),
}

/// A started target and what it said of itself.
pub struct OpenTarget {
    /// The target.
    pub target: Box<dyn Target + Send>,
    /// Libraries, versions, argument mapping: one line each.
    pub environment: Vec<String>,
    /// What a Python target said when it was loaded.
    pub python: Option<PythonInfo>,
}

impl OpenTarget {
    fn builtin(target: impl Target + Send + 'static) -> Self {
        Self { target: Box::new(target), environment: Vec::new(), python: None }
    }
}

impl TargetKind {
    /// Starts it.
    ///
    /// # Errors
    /// A Python target that cannot be loaded.
    pub fn open(&self) -> Result<OpenTarget, StartError> {
        let simulator = || Simulator::new(Meaning::standard(), Execution::standard());
        Ok(match self {
            Self::Standard => OpenTarget::builtin(simulator()),
            Self::Flash => OpenTarget::builtin(Flash),
            Self::Fault(fault) => OpenTarget::builtin(simulator().with_fault(Fault::clone(fault))),
            Self::Python(config) => {
                let target = PythonTarget::start(PythonConfig::clone(config))?;
                let info = target.info().clone();
                let versions = info
                    .versions
                    .iter()
                    .map(|(name, version)| format!("{name} {version}"))
                    .collect::<Vec<_>>()
                    .join(", ");
                let arguments = info.arguments.iter().map(|(option, argument)| {
                    if option == argument { option.clone() } else { format!("{option} as {argument}") }
                });
                let arguments = arguments.collect::<Vec<_>>().join(", ");
                let mut environment =
                    vec![versions, format!("takes {}", if arguments.is_empty() { "no options" } else { &arguments })];
                environment.extend(info.notes.iter().cloned());
                OpenTarget { target: Box::new(target), environment, python: Some(info) }
            }
        })
    }

    /// Whether it runs foreign code, which may crash, hang or change.
    pub fn is_foreign(&self) -> bool {
        matches!(self, Self::Python(_))
    }
}

/// A target as named, and what `qkvet.yaml` declares for it.
#[derive(Clone, Debug)]
pub struct NamedTarget {
    /// As the user wrote it.
    pub name: String,
    /// What to start.
    pub kind: TargetKind,
    /// Its declarations; the default when no file mentions it.
    pub entry: TargetEntry,
    /// The file that declares them.
    pub config: Option<PathBuf>,
}

/// Finds a target by name.
///
/// # Errors
/// An unknown built-in, fault or entry, with the nearest known name; a `qkvet.yaml` that does not fit.
pub fn resolve(
    name: &str,
    python: &Path,
    folder: &Path,
    config: Option<&Path>,
    catalog: &Catalog,
) -> Result<NamedTarget, SpecError> {
    let builtin = |kind| Ok(NamedTarget { name: name.to_owned(), kind, entry: TargetEntry::default(), config: None });
    if let Some(builtin_name) = name.strip_prefix("builtin:") {
        return match builtin_name {
            "standard" => builtin(TargetKind::Standard),
            "flash" => builtin(TargetKind::Flash),
            other => match other.strip_prefix("fault/") {
                Some(id) => builtin(TargetKind::Fault(Box::new(Catalog::find("fault", &catalog.faults, id)?.clone()))),
                None => Err(SpecError::plain(format!(
                    "target `{name}`: expected builtin:standard, builtin:flash or builtin:fault/ID\nhint: `qkvet list faults` shows the ids"
                ))),
            },
        };
    }
    let text = name.strip_prefix("python:").unwrap_or(name);
    if let Ok(reference) = text.parse::<PythonRef>() {
        let path = config_path(config, &reference, folder);
        let entry = match &path {
            Some(path) => entry_for(path, &reference, folder)?,
            None => None,
        };
        let config = entry.is_some().then_some(path).flatten();
        return Ok(python_target(name, python, reference, folder, entry.unwrap_or_default(), config));
    }
    let Some(path) = config.map(Path::to_owned).or_else(|| Config::find(folder)) else {
        return Err(SpecError::plain(format!(
            "target `{name}`: expected builtin:NAME, path/file.py:function, package.module:function or a name in {}, and there is none here\nhint: try `qkvet check builtin:flash`",
            crate::config::CONFIG_FILE
        )));
    };
    let targets = Config::read(&path)?.targets;
    let entry = Catalog::find("target", &targets, name).map_err(|error| {
        let known = targets.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        SpecError::plain(format!(
            "{}\nhint: {} names: {known}",
            error.summary.lines().next().unwrap_or_default(),
            path.display()
        ))
    })?;
    let base = path.parent().unwrap_or(folder).to_owned();
    let reference = entry.target.strip_prefix("python:").unwrap_or(&entry.target);
    let reference: PythonRef = reference
        .parse()
        .map_err(|error| SpecError::plain(format!("target `{name}` at {}: {error}", path.display())))?;
    let reference = absolute(&reference, &base);
    Ok(python_target(name, python, reference, &base, entry.clone(), Some(path)))
}

fn python_target(
    name: &str,
    python: &Path,
    target: PythonRef,
    folder: &Path,
    entry: TargetEntry,
    config: Option<PathBuf>,
) -> NamedTarget {
    let mut python = PythonConfig::new(python, target);
    python.folder = Some(folder.to_owned());
    python.arrays = entry.arrays;
    python.layout = entry.layout;
    python.device.clone_from(&entry.device);
    python.supports.clone_from(&entry.supports);
    python.mask_takes_bias = entry.mask_takes_bias;
    NamedTarget { name: name.to_owned(), kind: TargetKind::Python(Box::new(python)), entry, config }
}

fn config_path(explicit: Option<&Path>, reference: &PythonRef, folder: &Path) -> Option<PathBuf> {
    let beside = match &reference.source {
        PythonSource::File(path) => folder.join(path).parent().map(Path::to_owned),
        PythonSource::Module(_) => None,
    };
    explicit
        .map(Path::to_owned)
        .or_else(|| beside.and_then(|beside| Config::find(&beside)))
        .or_else(|| Config::find(folder))
}

/// The entry of the file whose target is this one, however either is written.
fn entry_for(path: &Path, reference: &PythonRef, folder: &Path) -> Result<Option<TargetEntry>, SpecError> {
    let base = path.parent().unwrap_or(folder);
    let wanted = absolute(reference, folder);
    let same = |entry: &TargetEntry| {
        let text = entry.target.strip_prefix("python:").unwrap_or(&entry.target);
        text.parse::<PythonRef>().is_ok_and(|other| absolute(&other, base) == wanted)
    };
    Ok(Config::read(path)?.targets.into_values().find(same))
}

/// The reference with its file as an absolute path, links resolved where the file exists.
fn absolute(reference: &PythonRef, base: &Path) -> PythonRef {
    let source = match &reference.source {
        PythonSource::File(path) => {
            let joined = base.join(path);
            PythonSource::File(joined.canonicalize().unwrap_or(joined))
        }
        PythonSource::Module(name) => PythonSource::Module(name.clone()),
    };
    PythonRef { source, function: reference.function.clone() }
}
