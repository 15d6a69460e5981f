//! Targets by the names users give them, with what flags, a stored case and `qkvet.yaml` say.

use std::path::{Path, PathBuf};

use qkvet_spec::{Catalog, Dtype, KnownDeviation, Meaning, SpecError, Unexpected, nearest};

use super::adapter::Adapter;
use super::kind::{Kind, Made, Named};
use super::open::OpenTarget;
use super::settings::CallSettings;
use crate::config::{CONFIG_FILE, Config, Home, TargetEntry};
use crate::process::{Limits, StartError};

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
    /// How long it is waited for, and who may end the wait.
    pub limits: Limits,
}

impl NamedTarget {
    /// A target of which no `qkvet.yaml` says anything.
    pub fn new(name: impl Into<String>, adapter: impl Adapter + 'static) -> Self {
        Self {
            name: name.into(),
            adapter: Box::new(adapter),
            entry: TargetEntry::default(),
            config: None,
            limits: Limits::default(),
        }
    }

    /// Starts it. `meaning` is what it claims to compute.
    ///
    /// # Errors
    /// A target that cannot be loaded.
    pub fn open(&self, meaning: &Meaning) -> Result<OpenTarget, StartError> {
        self.adapter.open(meaning, &self.limits)
    }
}

/// What the names of targets stand for.
///
/// What is said of how one is called comes, in this order, from flags, from a stored case, and from
/// the configuration.
#[derive(Clone, Debug)]
pub struct Finder<'a> {
    /// Where they are looked up.
    pub home: &'a Home,
    /// The interpreter of functions, models and backends.
    pub python: &'a Path,
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
    /// Finds a target by name. An entry of `qkvet.yaml` that says the same target, however either
    /// is written, declares for it.
    ///
    /// # Errors
    /// An unknown name, with the nearest known one; a `qkvet.yaml` that does not fit; a flag or a
    /// field that is for targets of another kind.
    pub fn find(&self, name: &str) -> Result<NamedTarget, SpecError> {
        let Home { folder, file, .. } = self.home;
        let targets = &self.home.config()?.targets;
        if let Some((kind, rest)) = Kind::of(name) {
            let found = same_target(self.home, name).map(|(_, entry)| entry.clone());
            let config = file.clone().filter(|_| found.is_some());
            let entry = found.unwrap_or_default();
            let adapter = self.set_up(kind, rest, (name, folder, false), &entry)?;
            let (name, limits) = (name.to_owned(), Limits::default());
            return Ok(NamedTarget { name, adapter, entry, config, limits });
        }
        let Some(path) = file else {
            let expected = format!(
                "builtin:NAME, path/file.py:function, package.module:function, exec:PROGRAM, lib:FILE, onnx:FILE or a name in {CONFIG_FILE}, and there is none here",
            );
            let hint = "try `qkvet check builtin:flash`";
            return Err(Unexpected::at(format!("target `{name}`"), expected).hint(hint).into());
        };
        let entry = Catalog::find("target", targets, name).map_err(|error| {
            let known = targets.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            Unexpected { hints: vec![format!("{} names: {known}", path.display())], ..error }
        })?;
        let place = format!("{name}` at `{}", path.display());
        // What no prefix tells is a function, or none of ours.
        let (kind, rest) = Kind::of(&entry.target).unwrap_or((&Kind::PYTHON, &entry.target));
        let adapter = self.set_up(kind, rest, (&place, &self.home.base(), true), entry)?;
        let (name, entry, limits) = (name.to_owned(), entry.clone(), Limits::default());
        Ok(NamedTarget { name, adapter, entry, config: file.clone(), limits })
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

/// The first entry that says the same target, however either is written.
fn same_target<'a>(home: &'a Home, name: &str) -> Option<(&'a String, &'a TargetEntry)> {
    let (base, wanted) = (home.base(), Kind::identity_of(name, &home.folder));
    let mut targets = home.config().ok()?.targets.iter();
    targets.find(|(_, entry)| Kind::identity_of(&entry.target, &base) == wanted)
}

/// Other names of the target that is called `name`. Of an entry of its `qkvet.yaml`: what the entry
/// says in `target`. Of anything else: the first entry that says the same target, however either is
/// written, and what that says. A file that cannot be read has no names: who starts the target says
/// so.
pub fn other_names(name: &str, home: &Home) -> Vec<String> {
    if let Some(entry) = home.config().ok().and_then(|config| config.targets.get(name)) {
        return vec![entry.target.clone()];
    }
    let names = same_target(home, name).into_iter().flat_map(|(key, entry)| [key, &entry.target]);
    names.filter(|other| *other != name).cloned().collect()
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
            assert_eq!(other_names(name, &Home::of(name, here, None)), others, "{name}");
        }
        std::fs::write(folder.join("qkvet.yaml"), "targets: 1\n").expect("a file");
        assert!(other_names("mine", &Home::of("mine", folder, None)).is_empty());
        let empty = tempfile::tempdir().expect("a folder");
        assert!(other_names("mine", &Home::of("mine", empty.path(), None)).is_empty());
    }
}
