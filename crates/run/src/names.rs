//! The names of a target beside the one it is called by: `qkvet.yaml` may know it by another.

use std::path::Path;

use qkvet_spec::{KnownDeviation, Unexpected, nearest};

use crate::config::{CONFIG_FILE, Config};
use crate::onnx::MODEL;
use crate::process::ExecConfig;
use crate::python::PythonRef;
use crate::target::{EXEC, LIBRARY, absolute, config_of, place_of};

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
    let base = folder.join(path.parent().unwrap_or(Path::new("")));
    let wanted = place(name, folder);
    let found = targets.into_iter().find(|(_, entry)| place(&entry.target, &base) == wanted);
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

/// What is started, the same text for the same target.
fn place(name: &str, base: &Path) -> String {
    let file = |file: &str| {
        let joined = base.join(file);
        joined.canonicalize().unwrap_or(joined)
    };
    for prefix in [LIBRARY, MODEL] {
        if let Some(rest) = name.strip_prefix(prefix) {
            return format!("{prefix}{}", file(rest).display());
        }
    }
    if let Some(command) = name.strip_prefix(EXEC) {
        let config = ExecConfig::new(command, base);
        return config
            .map_or_else(|_| name.to_owned(), |config| format!("{EXEC}{:?}", place_of(&config)));
    }
    match name.strip_prefix("python:").unwrap_or(name).parse::<PythonRef>() {
        Ok(reference) if !name.starts_with("builtin:") => {
            format!("{:?}", absolute(&reference, base))
        }
        _ => name.to_owned(),
    }
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
