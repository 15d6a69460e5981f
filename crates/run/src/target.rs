//! Targets by the names users give them: built in, a Python function, any program, a shared
//! library, a model or backend of ONNX, or an entry of `qkvet.yaml`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use qkvet_engine::simulate::Simulator;
use qkvet_spec::{
    BroadcastForm, Catalog, Execution, Fault, Fit, Meaning, Quoted, SpecError, Target, Unexpected,
};

use crate::config::{Config, TargetEntry};
use crate::flash::Flash;
use crate::frozen::OutputFolder;
use crate::native::LibraryConfig;
use crate::onnx::{BackendConfig, BackendTarget, OnnxConfig, OnnxTarget, onnx_kind, onnx_target};
use crate::process::{ExecConfig, Limits, ProcessTarget, StartError, limits_threads};
use crate::python::{Layout, PythonConfig, PythonRef, PythonSource, PythonTarget};
use crate::record::Recorded;
use crate::repro::{Called, CalledExec, CalledLibrary, CalledOnnx, CalledPython};
use crate::runner::StoredCall;

/// What stands before the command of a program.
pub(crate) const EXEC: &str = "exec:";

/// What stands before the file of a shared library.
pub(crate) const LIBRARY: &str = "lib:";

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
    /// Outputs that were computed elsewhere.
    Outputs(OutputFolder),
    /// A program that speaks qkvet-wire/1.
    Exec(Box<ExecConfig>),
    /// A function of a shared library.
    Library(Box<LibraryConfig>),
    /// A model of ONNX.
    Onnx(Box<OnnxConfig>),
    /// A backend of ONNX.
    OnnxBackend(Box<BackendConfig>),
    /// What the shards of a run recorded.
    Recorded(Arc<Recorded>),
    /// A function of the process that the runner itself is in.
    Own(OwnTarget),
}

/// Makes targets out of what lives in this process, for callers who bring their own.
#[derive(Clone)]
pub struct OwnTarget {
    open: Arc<dyn Fn() -> OpenTarget + Send + Sync>,
    again: fn(&Again<'_>) -> String,
    takes_views: bool,
    fit: Option<Fit>,
}

/// What a case needs to be seen again.
#[derive(Clone, Debug)]
pub struct Again<'a> {
    /// The whole case.
    pub token: &'a str,
    /// Conventions that it is judged under, `field=value`.
    pub conventions: Vec<String>,
    /// Contract that it is judged by.
    pub contract: &'a str,
}

impl OwnTarget {
    /// `open` makes one target for each worker, `again` writes the line that calls it once more.
    pub fn new(
        open: impl Fn() -> OpenTarget + Send + Sync + 'static,
        again: fn(&Again<'_>) -> String,
    ) -> Self {
        Self { open: Arc::new(open), again, takes_views: false, fit: None }
    }

    /// The same target, which is handed views of query, key and value as a Python function is, if
    /// `takes_views`.
    #[must_use]
    pub fn with_views(self, takes_views: bool) -> Self {
        Self { takes_views, ..self }
    }

    /// The same target, of which it is known what it takes.
    #[must_use]
    pub fn with_fit(self, fit: Option<Fit>) -> Self {
        Self { fit, ..self }
    }

    pub(crate) fn takes_views(&self) -> bool {
        self.takes_views
    }

    pub(crate) fn fit(&self) -> Option<Fit> {
        self.fit.clone()
    }

    pub(crate) fn again(&self, again: &Again<'_>) -> String {
        (self.again)(again)
    }
}

impl std::fmt::Debug for OwnTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OwnTarget")
    }
}

/// A started target and what it said of itself.
pub struct OpenTarget {
    /// The target.
    pub target: Box<dyn Target + Send>,
    /// Libraries, versions, argument mapping: one line each.
    pub environment: Vec<Quoted>,
    /// The device that its program says it runs on.
    pub device: Option<String>,
    /// Whether it is a multi-head layer, which takes weights besides.
    pub is_layer: bool,
    /// Set when a call had no answer: whatever came of it decides nothing. Live targets have none.
    pub unanswered: Option<Arc<AtomicBool>>,
    /// How a script calls the target, if it runs in a process of its own.
    pub called: Option<Called>,
    /// What it takes, if that is told when it starts: layers have one width and as many heads of
    /// keys as of queries.
    pub fit: Option<Fit>,
}

impl OpenTarget {
    /// A target that answers every call itself.
    pub fn live(target: impl Target + Send + 'static, environment: Vec<String>) -> Self {
        Self {
            target: Box::new(target),
            environment: environment.into_iter().map(Quoted::new).collect(),
            device: None,
            is_layer: false,
            unanswered: None,
            called: None,
            fit: None,
        }
    }

    /// Whether a call since the last time had no answer.
    pub(crate) fn take_unanswered(&self) -> bool {
        self.unanswered.as_ref().is_some_and(|unanswered| unanswered.swap(false, Ordering::Relaxed))
    }
}

/// A target that answers in the words of the wire.
fn of_program(target: ProcessTarget, called: Option<Called>) -> OpenTarget {
    let (environment, device) = (target.describe(), target.device());
    OpenTarget { called, device, ..OpenTarget::live(target, environment) }
}

impl TargetKind {
    /// Starts it. `declared` is what it claims to compute.
    ///
    /// # Errors
    /// A Python target that cannot be loaded.
    pub fn open(&self, declared: &Meaning) -> Result<OpenTarget, StartError> {
        let simulator = || Simulator::new(Meaning::standard(), Execution::standard());
        Ok(match self {
            Self::Standard => OpenTarget::live(simulator(), Vec::new()),
            Self::Flash => OpenTarget::live(Flash, Vec::new()),
            Self::Fault(fault) => {
                OpenTarget::live(simulator().with_fault(Fault::clone(fault)), Vec::new())
            }
            Self::Outputs(outputs) => {
                let (outputs, missing) = outputs.for_worker();
                OpenTarget { unanswered: Some(missing), ..OpenTarget::live(outputs, Vec::new()) }
            }
            Self::Recorded(recorded) => recorded.open(declared),
            Self::Own(own) => OpenTarget { fit: own.fit(), ..(own.open)() },
            Self::Python(config) => {
                let target = PythonTarget::start(config)?;
                let info = target.info().clone();
                let environment = info.describe();
                let (fit, is_layer) = (info.fit(), info.layer);
                let called = Some(Called::Python(CalledPython::new(config, info)));
                OpenTarget { called, fit, is_layer, ..OpenTarget::live(target, environment) }
            }
            Self::Exec(config) => {
                let target = config.start()?;
                let called = Some(Called::Exec(CalledExec::new(config)));
                of_program(target, called)
            }
            Self::Library(config) => {
                let target = config.start()?;
                let called = Some(Called::Library(CalledLibrary::new(config)));
                of_program(target, called)
            }
            Self::Onnx(config) => {
                let target = OnnxTarget::start(config, declared.mask)?;
                let environment = target.describe();
                let called = Called::Onnx(CalledOnnx::new(config, declared.mask));
                OpenTarget { called: Some(called), ..OpenTarget::live(target, environment) }
            }
            Self::OnnxBackend(config) => {
                let target = BackendTarget::start(config)?;
                let environment = target.describe();
                OpenTarget::live(target, environment)
            }
        })
    }

    /// Flags of a Python target or a library that change what it is given.
    pub(crate) fn stored_call(&self) -> StoredCall {
        match self {
            Self::Python(python) => {
                let (arrays, layout, device) =
                    (python.arrays, python.layout, python.device.clone());
                StoredCall { arrays, layout, device, ..StoredCall::default() }
            }
            Self::Library(library) => {
                let (layout, prototype) = (library.layout, library.prototype.clone());
                StoredCall { layout, prototype, ..StoredCall::default() }
            }
            Self::Onnx(onnx) => {
                let (layout, device) = (onnx.layout, onnx.device.clone());
                StoredCall {
                    layout,
                    device,
                    constants: onnx.declared.clone(),
                    ..StoredCall::default()
                }
            }
            Self::OnnxBackend(backend) => {
                StoredCall { device: backend.device.clone(), ..StoredCall::default() }
            }
            Self::Recorded(recorded) => recorded.call(),
            _ => StoredCall::default(),
        }
    }

    /// The function of this process that answers, or that answered what was recorded.
    pub(crate) fn own(&self) -> Option<&OwnTarget> {
        match self {
            Self::Own(own) => Some(own),
            Self::Recorded(recorded) => recorded.own(),
            _ => None,
        }
    }

    /// Whether it runs foreign code, which may crash, hang or change.
    pub fn is_foreign(&self) -> bool {
        self.limits().is_some()
    }

    /// Whether its calls differ in their number of threads.
    pub(crate) fn has_threads(&self) -> bool {
        self.is_foreign() && !matches!(self, Self::Recorded(_)) && limits_threads()
    }

    /// After how many calls without an answer a run is stopped; each costs the user its time.
    pub(crate) fn most_timeouts(&self) -> usize {
        match self {
            Self::Recorded(recorded) => recorded.most_timeouts(),
            _ => self.limits().map_or(1, Limits::most_timeouts),
        }
    }

    /// After how many broken processes a run is stopped; each costs a new one.
    pub(crate) fn most_ends(&self) -> usize {
        match self {
            Self::Recorded(recorded) => recorded.most_ends(),
            _ => self.limits().map_or(1, |limits| limits.max_restarts as usize),
        }
    }

    /// What is known of it before it is asked, if it does not take all extents, or not all options.
    pub fn fit(&self) -> Option<Fit> {
        match self {
            Self::Library(config) => config.fit(),
            Self::Onnx(config) => OnnxTarget::fit(config),
            _ => None,
        }
    }

    /// The forms of masks and biases that it is known to take; `None` if it may take all.
    pub fn forms(&self) -> Option<Vec<BroadcastForm>> {
        match self {
            Self::Onnx(config) => OnnxTarget::forms(config),
            _ => None,
        }
    }

    /// Whether calls without a mask are put with one that is true everywhere.
    pub(crate) fn fills_masks(&self) -> bool {
        match self {
            Self::Onnx(config) => OnnxTarget::read(&config.path(), &config.constants)
                .is_some_and(|model| model.fills_masks()),
            Self::Recorded(recorded) => recorded.fills_masks(),
            _ => false,
        }
    }

    /// What happened so far that did not change a verdict and should be known.
    pub(crate) fn warnings(&self) -> Vec<String> {
        match self {
            Self::Recorded(recorded) => recorded.warnings(),
            _ => self.limits().map_or_else(Vec::new, |limits| limits.watch.warnings()),
        }
    }

    /// For how long to wait and how often to start again, if it runs in a process of its own.
    pub fn limits(&self) -> Option<&Limits> {
        match self {
            Self::Standard
            | Self::Flash
            | Self::Fault(_)
            | Self::Outputs(_)
            | Self::Recorded(_)
            | Self::Own(_) => None,
            Self::Python(config) => Some(&config.limits),
            Self::Exec(config) => Some(&config.limits),
            Self::Library(config) => Some(&config.limits),
            Self::Onnx(config) => Some(&config.limits),
            Self::OnnxBackend(config) => Some(&config.limits),
        }
    }

    /// The same, to be changed.
    pub fn limits_mut(&mut self) -> Option<&mut Limits> {
        match self {
            Self::Standard
            | Self::Flash
            | Self::Fault(_)
            | Self::Outputs(_)
            | Self::Recorded(_)
            | Self::Own(_) => None,
            Self::Python(config) => Some(&mut config.limits),
            Self::Exec(config) => Some(&mut config.limits),
            Self::Library(config) => Some(&mut config.limits),
            Self::Onnx(config) => Some(&mut config.limits),
            Self::OnnxBackend(config) => Some(&mut config.limits),
        }
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
/// An unknown built-in, fault or entry, with the nearest known name; a `qkvet.yaml` that does not
/// fit.
pub fn resolve(
    name: &str,
    python: &Path,
    folder: &Path,
    config: Option<&Path>,
    catalog: &Catalog,
) -> Result<NamedTarget, SpecError> {
    if let Some(kind) = builtin(name, catalog) {
        return Ok(NamedTarget {
            name: name.to_owned(),
            kind: kind?,
            entry: TargetEntry::default(),
            config: None,
        });
    }
    if let Some(command) = name.strip_prefix(EXEC) {
        return exec_target(name, command, folder, config);
    }
    if let Some(library) = name.strip_prefix(LIBRARY) {
        return library_target(name, library, folder, config);
    }
    if let Some(found) = onnx_target(name, python, folder, config) {
        return found;
    }
    let text = name.strip_prefix("python:").unwrap_or(name);
    if let Ok(reference) = text.parse::<PythonRef>() {
        let path = config_path(config, &reference, folder);
        let entry = match &path {
            Some(path) => entry_for(path, &reference, folder)?,
            None => None,
        };
        let config = entry.is_some().then_some(path).flatten();
        return Ok(python_target(
            name,
            python,
            reference,
            folder,
            entry.unwrap_or_default(),
            config,
        ));
    }
    let Some(path) = config.map(Path::to_owned).or_else(|| Config::find(folder)) else {
        let expected = format!(
            "builtin:NAME, path/file.py:function, package.module:function, exec:PROGRAM, lib:FILE, onnx:FILE or a name in {}, and there is none here",
            crate::config::CONFIG_FILE
        );
        let hint = "try `qkvet check builtin:flash`";
        return Err(Unexpected::at(format!("target `{name}`"), expected).hint(hint).into());
    };
    let targets = Config::read(&path)?.targets;
    let entry = Catalog::find("target", &targets, name).map_err(|error| {
        let known = targets.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        Unexpected { hints: vec![format!("{} names: {known}", path.display())], ..error }
    })?;
    let place = format!("target `{name}` at {}", path.display());
    if let Some(kind) = builtin(&entry.target, catalog) {
        return Ok(NamedTarget {
            name: name.to_owned(),
            kind: kind?,
            entry: entry.clone(),
            config: Some(path),
        });
    }
    // The path may be relative, and a program runs there.
    let base = folder.join(path.parent().unwrap_or(Path::new("")));
    if let Some(command) = entry.target.strip_prefix(EXEC) {
        let kind = exec_kind(&place, command, &base, entry)?;
        return Ok(NamedTarget {
            name: name.to_owned(),
            kind,
            entry: entry.clone(),
            config: Some(path),
        });
    }
    if let Some(library) = entry.target.strip_prefix(LIBRARY) {
        let kind = library_kind(&place, library, &base, entry)?;
        return Ok(NamedTarget {
            name: name.to_owned(),
            kind,
            entry: entry.clone(),
            config: Some(path),
        });
    }
    if let Some(kind) = onnx_kind(&place, python, &base, entry) {
        return Ok(NamedTarget {
            name: name.to_owned(),
            kind: kind?,
            entry: entry.clone(),
            config: Some(path),
        });
    }
    let reference = entry.target.strip_prefix("python:").unwrap_or(&entry.target);
    let reference: PythonRef =
        reference.parse().map_err(|error| Unexpected::within(place, error))?;
    let reference = absolute(&reference, &base);
    Ok(python_target(name, python, reference, &base, entry.clone(), Some(path)))
}

/// A target that is built in, if the name says so.
fn builtin(name: &str, catalog: &Catalog) -> Option<Result<TargetKind, Unexpected>> {
    let fault = |id: &str| {
        Catalog::find("fault", &catalog.faults, id)
            .map(|fault| TargetKind::Fault(Box::new(fault.clone())))
    };
    Some(match name.strip_prefix("builtin:")? {
        "standard" => Ok(TargetKind::Standard),
        "flash" => Ok(TargetKind::Flash),
        other => other.strip_prefix("fault/").map(fault).unwrap_or_else(|| {
            let expected = "builtin:standard, builtin:flash or builtin:fault/ID";
            Err(Unexpected::at(format!("target `{name}`"), expected)
                .hint("`qkvet list faults` shows the ids"))
        }),
    })
}

/// A program by its command; an entry of `qkvet.yaml` with the same command declares for it.
fn exec_target(
    name: &str,
    command: &str,
    folder: &Path,
    config: Option<&Path>,
) -> Result<NamedTarget, SpecError> {
    let kind = exec_kind(name, command, folder, &TargetEntry::default())?;
    let Some(path) = config.map(Path::to_owned).or_else(|| Config::find(folder)) else {
        return Ok(NamedTarget {
            name: name.to_owned(),
            kind,
            entry: TargetEntry::default(),
            config: None,
        });
    };
    let base = path.parent().unwrap_or(folder);
    let wanted = ExecConfig::new(command, folder).ok().map(|config| place_of(&config));
    let same = |entry: &TargetEntry| {
        let command = entry.target.strip_prefix(EXEC)?;
        ExecConfig::new(command, base).ok().map(|config| place_of(&config))
    };
    let entry = Config::read(&path)?
        .targets
        .into_values()
        .find(|entry| same(entry).is_some_and(|e| Some(e) == wanted));
    let config = entry.is_some().then_some(path);
    Ok(NamedTarget { name: name.to_owned(), kind, entry: entry.unwrap_or_default(), config })
}

/// A library by its file; an entry of `qkvet.yaml` with the same file declares for it.
fn library_target(
    name: &str,
    library: &str,
    folder: &Path,
    config: Option<&Path>,
) -> Result<NamedTarget, SpecError> {
    let config = config.map(Path::to_owned).or_else(|| Config::find(folder));
    let place = |library: &str, base: &Path| {
        let file = base.join(library);
        file.canonicalize().unwrap_or(file)
    };
    let mut found = None;
    if let Some(path) = config {
        let base = path.parent().unwrap_or(folder).to_owned();
        let same = |entry: &TargetEntry| {
            entry
                .target
                .strip_prefix(LIBRARY)
                .is_some_and(|other| place(other, &base) == place(library, folder))
        };
        found = Config::read(&path)?.targets.into_values().find(same).map(|entry| (entry, path));
    }
    let (entry, config) =
        found.map_or_else(|| (TargetEntry::default(), None), |(entry, path)| (entry, Some(path)));
    let kind = library_kind(name, library, folder, &entry)?;
    Ok(NamedTarget { name: name.to_owned(), kind, entry, config })
}

fn library_kind(
    place: &str,
    library: &str,
    folder: &Path,
    entry: &TargetEntry,
) -> Result<TargetKind, Unexpected> {
    let python = [
        ("arrays", entry.arrays.is_some()),
        ("device", entry.device.is_some()),
        ("supports", entry.supports.is_some()),
        ("mask_takes_bias", entry.mask_takes_bias),
    ];
    if let Some((field, _)) = python.iter().find(|(_, declared)| *declared) {
        let expected = format!("no `{field}`, which is for Python functions");
        return Err(Unexpected::at(place, expected));
    }
    if library.is_empty() {
        let expected = "the file of a library, as in lib:./libattn.so";
        return Err(Unexpected::at(format!("target `{place}`"), expected));
    }
    let binary = std::env::current_exe()
        .map_err(|error| Unexpected::at(place, "the path of the qkvet binary").error(error))?;
    let mut config = LibraryConfig::new(library, folder, binary);
    config.layout = entry.layout;
    Ok(TargetKind::Library(Box::new(config)))
}

fn exec_kind(
    place: &str,
    command: &str,
    folder: &Path,
    entry: &TargetEntry,
) -> Result<TargetKind, Unexpected> {
    let python = [
        ("arrays", entry.arrays.is_some()),
        ("layout", entry.layout != Layout::default()),
        ("device", entry.device.is_some()),
        ("supports", entry.supports.is_some()),
        ("mask_takes_bias", entry.mask_takes_bias),
        ("call", entry.call.is_some()),
        ("constants", !entry.constants.is_empty()),
    ];
    if let Some((field, _)) = python.iter().find(|(_, declared)| *declared) {
        let expected = format!("no `{field}`, which is for other targets");
        let hint = "a program says what it supports in its answer to hello";
        return Err(Unexpected::at(place, expected).hint(hint));
    }
    Ok(TargetKind::Exec(Box::new(ExecConfig::new(command, folder)?)))
}

/// Program and arguments, however the path is written.
pub(crate) fn place_of(config: &ExecConfig) -> (PathBuf, Vec<String>) {
    let program = config.program.canonicalize().unwrap_or_else(|_| config.program.clone());
    (program, config.arguments.clone())
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

/// The `qkvet.yaml` that speaks for a target of this name: the one given, else the nearest to its
/// file, else to `folder`.
pub fn config_of(name: &str, folder: &Path, explicit: Option<&Path>) -> Option<PathBuf> {
    match name.strip_prefix("python:").unwrap_or(name).parse::<PythonRef>() {
        Ok(reference) => config_path(explicit, &reference, folder),
        Err(_) => explicit.map(Path::to_owned).or_else(|| Config::find(folder)),
    }
}

/// Name of the file of known deviations.
pub const KNOWN_FILE: &str = "qkvet.known.yaml";

/// The file of known deviations that speaks for a target of this name: beside its `qkvet.yaml`,
/// else in `folder` or above.
pub fn known_of(name: &str, folder: &Path, config: Option<&Path>) -> Option<PathBuf> {
    let beside =
        config_of(name, folder, config).and_then(|path| Some(path.parent()?.join(KNOWN_FILE)));
    let beside = beside.filter(|path| path.is_file());
    beside.or_else(|| {
        folder.ancestors().map(|folder| folder.join(KNOWN_FILE)).find(|path| path.is_file())
    })
}

/// The root of the repository that a file or folder, given in full, lies in.
pub fn repository_of(path: &Path) -> Option<&Path> {
    // A file in a work tree that shares its repository, a folder elsewhere.
    path.ancestors().find(|folder| folder.join(".git").exists())
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
fn entry_for(
    path: &Path,
    reference: &PythonRef,
    folder: &Path,
) -> Result<Option<TargetEntry>, SpecError> {
    let base = path.parent().unwrap_or(folder);
    let wanted = absolute(reference, folder);
    let same = |entry: &TargetEntry| {
        let text = entry.target.strip_prefix("python:").unwrap_or(&entry.target);
        text.parse::<PythonRef>().is_ok_and(|other| absolute(&other, base) == wanted)
    };
    Ok(Config::read(path)?.targets.into_values().find(same))
}

/// The reference with its file as an absolute path, links resolved where the file exists.
pub(crate) fn absolute(reference: &PythonRef, base: &Path) -> PythonRef {
    let source = match &reference.source {
        PythonSource::File(path) => {
            let joined = base.join(path);
            PythonSource::File(joined.canonicalize().unwrap_or(joined))
        }
        PythonSource::Module(name) => PythonSource::Module(name.clone()),
    };
    PythonRef { source, function: reference.function.clone() }
}
