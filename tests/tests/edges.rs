//! The house stands as `ARCHITECTURE.md` draws it: edges between packages, sizes and names of
//! files, text that must not be there, places that must. Every checker is also shown something that
//! it has to reject.
#![expect(clippy::disallowed_methods, reason = "reads the sources, which is the point")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{DependencyKind, MetadataCommand};

/// Direct edges inside the workspace: a package and all that it may depend on, each from a row
/// above. A package without a row is not part of the house. Packages that do not exist yet have
/// theirs so that they start with the right edges.
const EDGES: &[(&str, &[&str])] = &[
    ("qkvet-spec", &[]),
    ("qkvet-engine", &["qkvet-spec"]),
    ("qkvet-prove", &["qkvet-spec"]),
    ("qkvet-gen", &["qkvet-spec", "qkvet-engine"]),
    ("qkvet-diagnose", &["qkvet-spec", "qkvet-engine", "qkvet-gen"]),
    ("qkvet-run", &["qkvet-spec", "qkvet-engine", "qkvet-gen", "qkvet-diagnose"]),
    ("qkvet-report", &["qkvet-spec"]),
    ("qkvet-exam", &["qkvet-spec", "qkvet-engine", "qkvet-gen", "qkvet-prove"]),
    ("qkvet-cli", &CRATES_BELOW_THE_CLI),
    (
        "qkvet-py",
        &["qkvet-spec", "qkvet-engine", "qkvet-gen", "qkvet-run", "qkvet-report", "qkvet-prove"],
    ),
    ("qkvet", &["qkvet-spec", "qkvet-engine", "qkvet-gen", "qkvet-run", "qkvet-report"]),
    ("qkvet-tests", &CRATES_BELOW_THE_CLI),
    ("xtask", &[]),
];

const CRATES_BELOW_THE_CLI: [&str; 8] = [
    "qkvet-spec",
    "qkvet-engine",
    "qkvet-prove",
    "qkvet-gen",
    "qkvet-diagnose",
    "qkvet-run",
    "qkvet-report",
    "qkvet-exam",
];

/// External packages that belong to few: the package and who may depend on it.
const RESERVED: &[(&str, &[&str])] = &[
    ("faer", &["qkvet-engine"]),
    ("anstream", &["qkvet-cli", "qkvet-report"]),
    ("indicatif", &["qkvet-cli", "qkvet-report"]),
    ("libtest-mimic", &["qkvet"]),
    ("serde-saphyr", &["qkvet-spec"]),
    ("typst", &["qkvet-exam"]),
    ("typst-pdf", &["qkvet-exam"]),
];

const MAX_LINES: usize = 1000;

/// File and folder names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 8] =
    ["utils", "util", "helpers", "helper", "common", "misc", "shared", "stuff"];

/// Folders of machines; a path into one of them holds on one machine only.
const MACHINE_FOLDERS: [&str; 3] = ["work", "root", "home"];

#[test]
fn packages_depend_only_on_what_they_may() {
    let (packages, edges) = workspace();
    assert!(
        packages.iter().any(|name| name == "qkvet-cli"),
        "metadata of another workspace: {packages:?}"
    );
    let edges: Vec<(&str, &str)> =
        edges.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
    let mut found = stray_packages(&packages);
    found.extend(stray_edges(&edges));
    assert!(found.is_empty(), "see ARCHITECTURE.md, code map:\n{}", found.join("\n"));
}

#[test]
fn a_stray_edge_is_found() {
    let good = [("qkvet-engine", "qkvet-spec"), ("qkvet-engine", "faer"), ("qkvet-gen", "rand")];
    assert_eq!(stray_edges(&good), Vec::<String>::new());
    for bad in [
        ("qkvet-spec", "qkvet-engine"),
        ("qkvet-report", "qkvet-run"),
        ("qkvet-diagnose", "qkvet-run"),
        ("qkvet-run", "qkvet-cli"),
        ("qkvet-cli", "qkvet-tests"),
        ("qkvet-gen", "faer"),
        ("qkvet-run", "indicatif"),
        ("qkvet-cli", "serde-saphyr"),
        ("xtask", "qkvet-spec"),
    ] {
        let mixed = [good[0], bad, good[1]];
        assert_eq!(stray_edges(&mixed), [format!("{} must not depend on {}", bad.0, bad.1)]);
    }
    assert_eq!(
        stray_packages(&["qkvet-spec".to_owned(), "xtask".to_owned()]),
        Vec::<String>::new()
    );
    assert_eq!(
        stray_packages(&["attention-helpers".to_owned()]),
        ["attention-helpers is not part of the house"]
    );
}

#[test]
fn allowed_edges_have_no_circle() {
    for (row, (from, allowed)) in EDGES.iter().enumerate() {
        for to in *allowed {
            assert!(
                EDGES[..row].iter().any(|(above, _)| above == to),
                "{from} stands on {to}, which has no row above it"
            );
        }
    }
}

#[test]
fn files_are_small_and_named_after_what_they_hold() {
    let files = tracked_files();
    let sources: Vec<&PathBuf> = files
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    assert!(sources.len() > 10, "only {} Rust files found", sources.len());
    let mut found = Vec::new();
    for path in sources {
        let text =
            std::fs::read_to_string(root().join(path)).expect("a Rust file is readable text");
        found.extend(over_long(path, &text));
        found.extend(empty_name(path));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_long_file_and_an_empty_name_are_found() {
    let path = Path::new("crates/spec/src/parse.rs");
    assert_eq!(over_long(path, &"\n".repeat(MAX_LINES)), None);
    assert!(over_long(path, &"\n".repeat(MAX_LINES + 1)).is_some());
    assert_eq!(empty_name(path), None);
    assert!(empty_name(Path::new("crates/spec/src/utils.rs")).is_some());
    assert!(empty_name(Path::new("crates/spec/src/common/mod.rs")).is_some());
    assert!(empty_name(Path::new("crates/spec/tests/common.rs")).is_some());
    assert_eq!(empty_name(Path::new("crates/spec/tests/common/mod.rs")), None);
}

/// One test program a crate names its files one by one: one that is left out would never run.
#[test]
fn every_file_of_tests_is_run() {
    let files = tracked_files();
    let is_of_tests = |path: &&PathBuf| {
        let mut folders = path.ancestors().skip(1).take(2);
        path.ends_with("main.rs") && folders.any(|folder| folder.ends_with("tests"))
    };
    let programs: Vec<&Path> =
        files.iter().filter(is_of_tests).filter_map(|path| path.parent()).collect();
    assert!(programs.len() >= 7, "{programs:?}");
    let mut found = Vec::new();
    for folder in programs {
        let read = |path: PathBuf| std::fs::read_to_string(root().join(path)).ok();
        let main = read(folder.join("main.rs")).expect("a text");
        let manifest = folder.ancestors().find_map(|folder| read(folder.join("Cargo.toml")));
        let manifest = manifest.expect("a manifest");
        let beside = files.iter().filter(|path| path.parent() == Some(folder));
        found.extend(beside.filter_map(|path| left_out(path, &main, &manifest)));
    }
    let folders: BTreeSet<&Path> = files.iter().filter_map(|path| tests_of(path)).collect();
    assert!(folders.len() >= 8, "{folders:?}");
    for folder in folders {
        let manifest = root().join(folder).with_file_name("Cargo.toml");
        let manifest = std::fs::read_to_string(manifest).expect("a manifest");
        found.extend(surplus(folder, &files, &manifest));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The folder of a test program that Cargo finds by itself.
fn tests_of(path: &Path) -> Option<&Path> {
    let folder = path.parent()?;
    let folder = if path.ends_with("main.rs") && !folder.ends_with("tests") {
        folder.parent()?
    } else {
        folder
    };
    (folder.ends_with("tests") && path.extension()? == "rs").then_some(folder)
}

/// A complaint about a package whose files of tests are programs of their own.
fn surplus(folder: &Path, files: &[PathBuf], manifest: &str) -> Option<String> {
    let programs = files.iter().filter(|path| tests_of(path) == Some(folder)).count();
    let is_listed = manifest.lines().any(|line| line == "autotests = false");
    (programs > 1 && !is_listed).then(|| format!("{}: {programs} programs", folder.display()))
}

#[test]
fn a_second_program_of_tests_is_found() {
    let files = ["crates/a/tests/one.rs", "crates/a/tests/more/main.rs"].map(PathBuf::from);
    let folder = Path::new("crates/a/tests");
    assert!(surplus(folder, &files, "[package]\n").is_some());
    assert_eq!(surplus(folder, &files, "[package]\nautotests = false\n"), None);
    assert_eq!(surplus(folder, &files[..1], "[package]\n"), None);
}

#[test]
fn a_file_of_tests_that_is_left_out_is_found() {
    let (main, manifest) = ("mod other;\n", "[[test]]\nname = \"alone\"\n");
    let found = |path: &str| left_out(Path::new(path), main, manifest).is_some();
    assert!(found("crates/spec/tests/new.rs"));
    for path in
        ["tests/tests/other.rs", "tests/tests/main.rs", "tests/tests/alone.rs", "a/data.json"]
    {
        assert!(!found(path), "{path}");
    }
}

/// A complaint about a file beside `tests/main.rs` that is neither a module of it nor a program of
/// its own.
fn left_out(path: &Path, main: &str, manifest: &str) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_suffix(".rs")?;
    let is_module = main.lines().any(|line| line.trim() == format!("mod {name};"));
    let is_program = manifest.lines().any(|line| line.trim() == format!("name = \"{name}\""));
    (name != "main" && !is_module && !is_program)
        .then(|| format!("{}: no `mod {name};` in main.rs beside it", path.display()))
}

/// Where alone these may be called: sentences are made by words, and texts of targets are opened to
/// be escaped.
const CALLED_IN: [(&str, &[&str]); 2] = [
    (
        "Sentence::new(",
        &["crates/report/src/words.rs", "crates/spec/src/words.rs", "tests/tests/words.rs"],
    ),
    (
        ".open_to_escape(",
        &["crates/report/src/words.rs", "crates/report/src/quote.rs", "crates/spec/src/words.rs"],
    ),
];

#[test]
fn sentences_are_made_and_texts_of_targets_opened_by_words_alone() {
    let mut found = Vec::new();
    for path in tracked_files() {
        let Ok(text) = std::fs::read_to_string(root().join(&path)) else { continue };
        found.extend(called_elsewhere(&path, &text));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    let text = "let title = Sentence::new(\"x\");\nsaid.open_to_escape(str::len)";
    assert_eq!(called_elsewhere(Path::new("crates/run/src/answer.rs"), text).len(), 2);
    assert_eq!(called_elsewhere(Path::new("crates/report/src/words.rs"), text), [""; 0]);
}

fn called_elsewhere(path: &Path, text: &str) -> Vec<String> {
    // This file says what may not be called.
    if path.extension().is_none_or(|extension| extension != "rs") || path.ends_with("edges.rs") {
        return Vec::new();
    }
    let is_elsewhere = |(call, places): &&(&str, &[&str])| {
        text.contains(call) && !places.iter().any(|place| path == Path::new(place))
    };
    let complaint = |(call, _): &(&str, &[&str])| format!("{}: {call}", path.display());
    CALLED_IN.iter().filter(is_elsewhere).map(complaint).collect()
}

/// Folders in which an error has a type of its own.
const TYPED: [&str; 10] = [
    "crates/cli/src/",
    "crates/diagnose/src/",
    "crates/engine/src/",
    "crates/exam/src/",
    "crates/gen/src/",
    "crates/prove/src/",
    "crates/qkvet/src/",
    "crates/report/src/",
    "crates/run/src/",
    "crates/spec/src/",
];

#[test]
fn no_error_is_a_string() {
    let mut found = Vec::new();
    for path in tracked_files() {
        let shown = path.display().to_string();
        let is_typed = TYPED.iter().any(|folder| shown.starts_with(folder));
        if shown.ends_with(".rs") && is_typed {
            let text = std::fs::read_to_string(root().join(&path)).expect("a text");
            found.extend(string_errors(&text).into_iter().map(|error| format!("{shown}: {error}")));
        }
    }
    assert!(found.is_empty(), "give the error fields for its facts:\n{}", found.join("\n"));
}

#[test]
fn an_error_that_is_a_string_is_found() {
    for text in [
        "fn f() -> Result<(), String> {",
        "fn f() -> Result<Vec<(A, B)>, String> {",
        "fn f() -> Option<Result<\n    fn(A) -> B,\n    String,\n>> {",
        "type Err = String;",
        "    type Error = String;",
    ] {
        assert_eq!(string_errors(text).len(), 1, "{text}");
    }
    for text in ["Result<String, Error>", "Result<Map<String, String>, E>", "type Item = String;"] {
        assert_eq!(string_errors(text), [""; 0], "{text}");
    }
}

fn string_errors(text: &str) -> Vec<String> {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("->", "=");
    let mut found: Vec<String> = ["type Err = String;", "type Error = String;"]
        .into_iter()
        .filter(|alias| one_line.contains(alias))
        .map(str::to_owned)
        .collect();
    for arguments in one_line.split("Result<").skip(1) {
        let (mut depth, mut parts) = (1, vec![String::new()]);
        for sign in arguments.chars() {
            depth += i32::from("<(".contains(sign)) - i32::from(">)".contains(sign));
            match sign {
                _ if depth == 0 => break,
                ',' if depth == 1 => parts.push(String::new()),
                _ => parts.last_mut().expect("one part").push(sign),
            }
        }
        parts.retain(|part| !part.trim().is_empty());
        if parts.len() == 2 && parts[1].trim() == "String" {
            found.push(format!("Result<{}>", parts.join(",")));
        }
    }
    found
}

#[test]
fn no_file_names_a_path_of_one_machine() {
    let mut found = Vec::new();
    for path in tracked_files() {
        // Whatever is not text has no paths that a person would follow.
        let Ok(text) = std::fs::read_to_string(root().join(&path)) else { continue };
        found.extend(machine_paths(&path, &text));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_machine_path_is_found() {
    let path = Path::new("README.md");
    for folder in MACHINE_FOLDERS {
        for text in [
            format!("see /{folder}/me/x"),
            format!("/{folder}/me"),
            format!("a\nrun '/{folder}/me'\n"),
        ] {
            assert_eq!(machine_paths(path, &text).len(), 1, "{text}");
        }
        for text in [
            format!("https://example.org/{folder}/me"),
            format!("./{folder}/me"),
            format!("at /{folder} lies"),
        ] {
            assert_eq!(machine_paths(path, &text), Vec::<String>::new(), "{text}");
        }
    }
}

fn stray_packages(packages: &[String]) -> Vec<String> {
    packages
        .iter()
        .filter(|package| EDGES.iter().all(|(name, _)| name != package))
        .map(|package| format!("{package} is not part of the house"))
        .collect()
}

fn stray_edges(edges: &[(&str, &str)]) -> Vec<String> {
    edges
        .iter()
        .filter(|(from, to)| !may(from, to))
        .map(|(from, to)| format!("{from} must not depend on {to}"))
        .collect()
}

fn may(from: &str, to: &str) -> bool {
    let inside = EDGES.iter().any(|(name, _)| *name == to);
    if inside {
        EDGES.iter().any(|(name, allowed)| *name == from && allowed.contains(&to))
    } else {
        RESERVED.iter().all(|(name, allowed)| *name != to || allowed.contains(&from))
    }
}

fn over_long(path: &Path, text: &str) -> Option<String> {
    let lines = text.lines().count();
    (lines > MAX_LINES).then(|| format!("{}: {lines} lines, at most {MAX_LINES}", path.display()))
}

/// A complaint about a path below `crates/` one of whose parts says nothing. The folder that
/// Cargo's own manual proposes for what the test programs of a package share keeps its name.
fn empty_name(path: &Path) -> Option<String> {
    if path.ends_with("tests/common/mod.rs") {
        return None;
    }
    let part = path.strip_prefix("crates").ok()?.iter().find(|part| {
        let stem = Path::new(part).file_stem().and_then(|stem| stem.to_str());
        stem.is_some_and(|stem| EMPTY_NAMES.contains(&stem))
    })?;
    Some(format!("{}: `{}` says nothing about what it holds", path.display(), part.display()))
}

fn machine_paths(path: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for folder in MACHINE_FOLDERS {
            let pattern = format!("/{folder}/");
            for (at, _) in line.match_indices(&pattern) {
                // Part of a longer path or of an address: not the root of a machine.
                let before = line[..at].chars().next_back();
                if before
                    .is_none_or(|before| !before.is_alphanumeric() && !"_-./}".contains(before))
                {
                    found.push(format!("{}:{}: {}", path.display(), index + 1, line.trim()));
                }
            }
        }
    }
    found
}

/// The names of the packages of the workspace, and their direct dependencies that end up in a build
/// of their own code. What only their tests need is free.
fn workspace() -> (Vec<String>, Vec<(String, String)>) {
    let metadata = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .expect("cargo describes the workspace");
    let mut packages = Vec::new();
    let mut edges = Vec::new();
    for package in metadata.workspace_packages() {
        packages.push(package.name.to_string());
        for dependency in &package.dependencies {
            if dependency.kind != DependencyKind::Development {
                edges.push((package.name.to_string(), dependency.name.clone()));
            }
        }
    }
    (packages, edges)
}

/// Paths from the root of all files that are, or could be, committed.
pub(crate) fn tracked_files() -> Vec<PathBuf> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the files of the checkout");
    assert!(output.status.success(), "git: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).expect("file names are text");
    // A file that is deleted but not yet committed is still listed.
    names
        .split_terminator('\0')
        .map(PathBuf::from)
        .filter(|path| root().join(path).is_file())
        .collect()
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie one folder below the root")
}
