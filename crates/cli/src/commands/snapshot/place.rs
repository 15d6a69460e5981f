//! Where the snapshot of a target lies.

use std::path::{Path, PathBuf};

use qkvet_run::config::Home;

/// The folder beside `qkvet.yaml`.
const FOLDER: &str = "snapshots";

/// The file that is given, else `snapshots/TARGET.qkvet.yaml` beside the target's `qkvet.yaml`, or
/// else here.
pub(super) fn snapshot_path(given: Option<&Path>, target: &str, home: &Home) -> PathBuf {
    let base = home.base();
    let beside = || base.join(FOLDER).join(format!("{}.qkvet.yaml", file_name(target, &base)));
    given.map_or_else(beside, Path::to_owned)
}

/// The target's name as that of a file: what is no letter, digit, `.`, `_` or `-` becomes a hyphen.
fn file_name(target: &str, base: &Path) -> String {
    let target = target.strip_prefix("python:").unwrap_or(target);
    let base = base.display().to_string();
    let target =
        target.strip_prefix(&base).map_or(target, |rest| rest.trim_start_matches(['/', '\\']));
    let target = target.trim_start_matches("./");
    let mut name = String::new();
    for c in target.chars() {
        let c = if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
        if c != '-' || !name.ends_with('-') {
            name.push(c);
        }
    }
    let name: String = name.trim_matches(['-', '.']).chars().take(100).collect();
    if name.is_empty() { "target".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_targets_are_names_of_files() {
        for (target, name) in [
            ("builtin:flash", "builtin-flash"),
            ("./attention.py:fn", "attention.py-fn"),
            ("python:pkg.mod:fn", "pkg.mod-fn"),
            ("/base/src/a.py:f", "src-a.py-f"),
            ("exec:./program --fast 1", "exec-.-program---fast-1"),
            ("../../etc/passwd", "etc-passwd"),
            ("é", "target"),
        ] {
            let got = file_name(target, Path::new("/base"));
            assert!(!got.contains(['/', '\\', ':']) && !got.starts_with('.'), "{got}");
            if target.starts_with("exec") {
                continue;
            }
            assert_eq!(got, name);
        }
    }
}
