//! Targets by the names users give them, with what flags, a stored case and `qkvet.yaml` say.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use qkvet_spec::{Catalog, Dtype, KnownDeviation, SpecError, Unexpected, nearest};

use super::adapter::Adapter;
use super::kind::{Kind, Made, Named};
use super::python::{PythonRef, PythonSource};
use super::settings::CallSettings;
use crate::config::{CONFIG_FILE, Config, TargetEntry};

/// A target as named, and what `qkvet.yaml` declares for it.
#[derive(Debug)]
pub struct NamedTarget {
    /// As the user wrote it.
    pub name: String,
    /// What to start.
    pub adapter: Box<dyn Adapter>,
    /// Its declarations; the default when no file mentions it.
    pub entry: TargetEntry,
    /// The file that declares them.
    pub config: Option<PathBuf>,
}

impl NamedTarget {
    /// A target of which no `qkvet.yaml` says anything.
    pub fn new(name: impl Into<String>, adapter: impl Adapter + 'static) -> Self {
        Self {
            name: name.into(),
            adapter: Box::new(adapter),
            entry: TargetEntry::default(),
            config: None,
        }
    }
}

/// What the names of targets stand for.
///
/// What is said of how one is called comes, in this order, from flags, from a stored case, and from
/// `qkvet.yaml`.
#[derive(Clone, Debug)]
pub struct Finder<'a> {
    /// The interpreter of functions, models and backends.
    pub python: &'a Path,
    /// The current folder.
    pub folder: &'a Path,
    /// The `qkvet.yaml` that a flag names.
    pub config: Option<&'a Path>,
    /// Faults by their ids.
    pub catalog: &'a Catalog,
    /// What flags say.
    pub flags: CallSettings,
    /// How a stored case was called.
    pub stored: CallSettings,
    /// The formats that flags choose: one of sixteen bits says what `uint16_t` stands for in a
    /// prototype.
    pub dtypes: &'a [Dtype],
}

impl Finder<'_> {
    /// Finds a target by name. An entry of `qkvet.yaml` that says the same target, however either is
    /// written, declares for it.
    ///
    /// # Errors
    /// An unknown name, with the nearest known one; a `qkvet.yaml` that does not fit; a flag or a
    /// field that is for targets of another kind.
    pub fn find(&self, name: &str) -> Result<NamedTarget, SpecError> {
        let path = config_of(name, self.folder, self.config);
        if let Some((kind, rest)) = Kind::of(name) {
            let found = match path {
                None => None,
                Some(path) => {
                    let targets = Config::read(&path)?.targets;
                    same_target(targets, name, &path, self.folder).map(|(_, entry)| (entry, path))
                }
            };
            let (entry, config) =
                found.map_or_else(Default::default, |(entry, path)| (entry, Some(path)));
            let at = (name, self.folder, false);
            let adapter = self.set_up(kind, rest, at, &entry)?;
            return Ok(NamedTarget { name: name.to_owned(), adapter, entry, config });
        }
        let Some(path) = path else {
            let expected = format!(
                "builtin:NAME, path/file.py:function, package.module:function, exec:PROGRAM, lib:FILE, onnx:FILE or a name in {CONFIG_FILE}, and there is none here",
            );
            let hint = "try `qkvet check builtin:flash`";
            return Err(Unexpected::at(format!("target `{name}`"), expected).hint(hint).into());
        };
        let targets = Config::read(&path)?.targets;
        let entry = Catalog::find("target", &targets, name).map_err(|error| {
            let known = targets.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            Unexpected { hints: vec![format!("{} names: {known}", path.display())], ..error }
        })?;
        let place = format!("{name}` at `{}", path.display());
        // What no prefix tells is a function, or none of ours.
        let (kind, rest) = Kind::of(&entry.target).unwrap_or((&Kind::PYTHON, &entry.target));
        let adapter =
            self.set_up(kind, rest, (&place, &beside(&path, self.folder), true), entry)?;
        let entry = entry.clone();
        Ok(NamedTarget { name: name.to_owned(), adapter, entry, config: Some(path) })
    }

    fn set_up(
        &self,
        kind: &Kind,
        rest: &str,
        (place, base, is_entry): (&str, &Path, bool),
        entry: &TargetEntry,
    ) -> Made {
        kind.refuses(&self.flags, |other| {
            Unexpected::at(other.flag(), "a target that takes it")
                .got(format!("the target `{place}`"))
        })?;
        let declared = entry.settings();
        kind.refuses(&declared, |other| {
            Unexpected::at(format!("target `{place}`"), format!("no `{}`", other.name()))
        })?;
        let dtypes =
            if self.dtypes.is_empty() { entry.dtypes.as_deref() } else { Some(self.dtypes) };
        let dtypes = dtypes.unwrap_or_default();
        let settings = self.flags.clone().over(self.stored.clone()).over(declared);
        (kind.make)(
            &Named {
                rest,
                place,
                base,
                flags: &self.flags,
                is_entry,
                dtypes,
                python: self.python,
                catalog: self.catalog,
            },
            settings,
        )
    }
}

/// The `qkvet.yaml` that speaks for a target of this name: the one given, else the nearest to its
/// file, else to `folder`.
pub fn config_of(name: &str, folder: &Path, explicit: Option<&Path>) -> Option<PathBuf> {
    match name.strip_prefix("python:").unwrap_or(name).parse::<PythonRef>() {
        Ok(reference) => config_path(explicit, &reference, folder),
        Err(_) => explicit.map(Path::to_owned).or_else(|| Config::find(folder)),
    }
}

/// The folder of a configuration file. Its path may be relative, and a program runs there.
fn beside(config: &Path, folder: &Path) -> PathBuf {
    folder.join(config.parent().unwrap_or(Path::new("")))
}

/// The first entry of a configuration file that says the same target, however either is written.
fn same_target(
    targets: IndexMap<String, TargetEntry>,
    name: &str,
    config: &Path,
    folder: &Path,
) -> Option<(String, TargetEntry)> {
    let (base, wanted) = (beside(config, folder), Kind::identity_of(name, folder));
    targets.into_iter().find(|(_, entry)| Kind::identity_of(&entry.target, &base) == wanted)
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

/// Other names of the target that is called `name`. Of an entry of its `qkvet.yaml`: what the entry
/// says in `target`. Of anything else: the first entry that says the same target, however either is
/// written, and what that says. A file that cannot be read has no names: who starts the target says
/// so.
pub fn other_names(name: &str, folder: &Path, config: Option<&Path>) -> Vec<String> {
    let Some(path) = config_of(name, folder, config) else { return Vec::new() };
    let Ok(Config { targets, .. }) = Config::read(&path) else { return Vec::new() };
    if let Some(entry) = targets.get(name) {
        return vec![entry.target.clone()];
    }
    let found = same_target(targets, name, &path, folder);
    let names = found.into_iter().flat_map(|(key, entry)| [key, entry.target]);
    names.filter(|other| other != name).collect()
}

/// What is wrong with an entry of known deviations whose target is nearly a name of the
/// `qkvet.yaml` beside their file, and neither that nor the target of the run or one of its
/// `others`: it would cover nothing, and nobody would hear of it.
pub fn mistyped_target(
    entries: &[KnownDeviation],
    known: &Path,
    target: &str,
    others: &[String],
) -> Option<Unexpected> {
    let config = known.parent()?.join(CONFIG_FILE);
    // A file that cannot be read is told by who starts the target.
    let targets = Config::read(&config).ok()?.targets;
    entries.iter().find_map(|entry| {
        let name = entry.target.as_deref()?;
        let is_own = name == target || others.iter().any(|other| other == name);
        if name.contains([':', '*', '?']) || targets.contains_key(name) || is_own {
            return None;
        }
        let near = nearest(name, targets.keys().map(String::as_str))?;
        let place = format!("{}: target", entry.describe());
        let wrong = Unexpected::at(place, format!("a name of {CONFIG_FILE}")).quoted(name);
        Some(wrong.hint(format!("did you mean `{near}`?")))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

    use super::*;

    #[test]
    fn a_target_has_the_names_of_its_entry() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let below = folder.join("below");
        std::fs::create_dir(&below).expect("a folder");
        for name in ["attn.py", "libx.so", "m.onnx", "run"] {
            std::fs::write(folder.join(name), "").expect("a file");
        }
        let targets = "targets:
  mine: {target: attn.py:f}
  same: {target: 'python:attn.py:f', layout: bnhd}
  module: {target: pkg.mod:f}
  built: {target: builtin:flash}
  program: {target: 'exec:./run --fast'}
  library: {target: lib:libx.so}
  model: {target: onnx:m.onnx}
";
        std::fs::write(folder.join("qkvet.yaml"), targets).expect("a file");
        for (here, name, others) in [
            (folder, "mine", &["attn.py:f"][..]),
            (folder, "same", &["python:attn.py:f"]),
            (folder, "attn.py:f", &["mine"]),
            (folder, "python:./attn.py:f", &["mine", "attn.py:f"]),
            (&below, "../attn.py:f", &["mine", "attn.py:f"]),
            (&below, "mine", &["attn.py:f"]),
            (folder, "attn.py:g", &[]),
            (folder, "pkg.mod:f", &["module"]),
            (folder, "builtin:flash", &["built"]),
            (folder, "builtin:standard", &[]),
            (folder, "built", &["builtin:flash"]),
            (folder, "exec:./run  --fast", &["program", "exec:./run --fast"]),
            (folder, "exec:./run", &[]),
            (folder, "lib:./libx.so", &["library", "lib:libx.so"]),
            (folder, "onnx:./m.onnx", &["model", "onnx:m.onnx"]),
            (folder, "no-such", &[]),
        ] {
            assert_eq!(other_names(name, here, None), others, "{name}");
        }
        std::fs::write(folder.join("qkvet.yaml"), "targets: 1\n").expect("a file");
        assert!(other_names("mine", folder, None).is_empty());
        let empty = tempfile::tempdir().expect("a folder");
        assert!(other_names("mine", empty.path(), None).is_empty());
    }
}
