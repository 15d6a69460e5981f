//! The Rust facade as people meet it: the package of `docs/rust.md` in a folder of its own, and the
//! packages in `examples/rust`.

use std::path::{Path, PathBuf};
use std::process::Command;

use qkvet_tests::{Finished, Folder, example as program, finish, is_thorough, root};

/// A block of the page.
enum Block<'a> {
    /// A file, which names itself in its first line.
    File(&'a str, &'a str),
    /// What is printed, line by line.
    Printed(Vec<&'a str>),
}

/// It is built with other features of its dependencies than the workspace, so that all of them are
/// built again: minutes. The tests of `crates/qkvet` hold the facade to the same in the standard
/// tests.
#[test]
fn a_fresh_package_goes_from_nothing_to_a_verdict() {
    if !is_thorough() {
        return;
    }
    let page = root().read("docs/rust.md");
    let blocks = blocks(&page);
    let package = Package::new(&blocks);
    let printed: Vec<&Vec<&str>> = blocks.iter().filter_map(Block::printed).collect();
    let [right, wrong, one] = printed[..] else {
        panic!("expected three blocks of text, got {}", printed.len())
    };

    let suite = ["--test", "attention"];
    let found = package.test(&suite);
    expect(&found, 0, right);
    let list = package.test(&["--test", "attention", "--", "--list"]);
    expect(&list, 0, &["uniform-attention::float32: test", "mask-is-bias::float32: test"]);
    let ignored = package.test(&["--test", "attention", "--", "--list", "--ignored"]);
    expect(&ignored, 0, &["mask-is-bias::float32: test"]);
    assert!(!ignored.stdout.contains("uniform-attention"), "{}", ignored.stdout);
    expect(&package.test(&["--test", "one"]), 101, one);
    if package.cargo(&["nextest", "--version"], &[]).code == Some(0) {
        let run = ["nextest", "run", "--test", "attention", "uniform-attention"];
        expect(&package.cargo(&run, &[]), 0, &["1 test run: 1 passed"]);
    }

    package.replace("src/lib.rs", "h / (h_q / h_k)", "h % h_k");
    let found = package.test(&suite);
    expect(&found, 101, wrong);
    let replay =
        found.stdout.lines().find_map(|line| line.trim().strip_prefix("replay    QKVET_CASE='"));
    let token = replay
        .and_then(|line| line.split('\'').next())
        .expect("a line that shows the case again")
        .to_owned();
    let again = package.cargo(&["test", "--test", "attention"], &[("QKVET_CASE", &token)]);
    expect(&again, 101, &["running 1 test", "head-map=tiled"]);
    package.replace("src/lib.rs", "h % h_k", "h / (h_q / h_k)");
    let again = package.cargo(&["test", "--test", "attention"], &[("QKVET_CASE", &token)]);
    expect(&again, 0, &["running 1 test", "test result: ok. 1 passed"]);

    package.replace(
        "tests/attention.rs",
        "attention_tests!(Mine)",
        "attention_tests!(Mine; suite = \"cor\")",
    );
    expect(&package.test(&suite), 2, &["`core`?"]);
    let refuses = "Err(Declined::unsupported(call.dims().b))\n    }\n}\n\nqkvet::attention_tests!(Mine; suite = \"smoke\");\n";
    package.cut("tests/attention.rs", "let Dims", refuses);
    expect(&package.test(&suite), 4, &["UNSUPPORTED"]);
}

/// A suite as a test program: its list, its filter, a failing test and its case again.
#[test]
fn a_suite_is_a_test_program() {
    let run = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = Command::new(program("attention_suite"));
        finish(command.args(args).env_remove("QKVET_CASE").envs(variables.iter().copied()))
    };
    let list = ["uniform-attention::float32: test", "mask-is-bias::float64: test"];
    expect(&run(&["--list"], &[]), 0, &list);
    let ignored = run(&["--list", "--ignored"], &[]);
    expect(&ignored, 0, &list[1..]);
    assert!(!ignored.stdout.contains("uniform-attention"), "{}", ignored.stdout);
    expect(&run(&["equal-keys"], &[]), 0, &["test equal-keys::float32 ... ok", "2 passed"]);
    let wrong = ("WRONG_HEADS", "1");
    let found = run(&["equal-keys::float32"], &[wrong]);
    let told =
        ["test equal-keys::float32 ... FAILED", "CONVENTION  ", ".convention(\"head-map=tiled\")"];
    expect(&found, 101, &told);
    let token = found.stdout.split("QKVET_CASE='").nth(1).and_then(|rest| rest.split('\'').next());
    let again = ("QKVET_CASE", token.expect("a line that shows the case again"));
    expect(&run(&[], &[again, wrong]), 101, &["running 1 test"]);
    expect(&run(&[], &[again]), 0, &["running 1 test", "1 passed"]);
}

/// They take minutes to build.
#[test]
fn the_ndarray_candle_and_burn_examples_hold() {
    if is_thorough() {
        for (name, dtype) in [("ndarray", "float64"), ("candle", "float32"), ("burn", "float32")] {
            let law = format!("test uniform-attention::{dtype} ... ok");
            expect(&example(name), 0, &[&law, "test result: ok."]);
        }
    }
}

/// The suite of a package in `examples/rust`, with the versions that its lock file has; what the
/// crates of the workspace have come to need since is added to it.
fn example(name: &str) -> Finished {
    let manifest = root().join("examples/rust").join(name).join("Cargo.toml").display().to_string();
    cargo(root(), &["test", "--manifest-path", &manifest], &[])
}

/// Exit code and lines, in which any number of spaces is one: names of tests stand in a column. A
/// test that fails has panicked, so that this word is allowed.
fn expect(found: &Finished, code: i32, lines: &[&str]) {
    let all = format!("{}\n{}", found.stdout, found.stderr);
    assert_eq!(found.code, Some(code), "exit code\n{all}");
    let spaced = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let printed: Vec<String> = all.lines().map(spaced).collect();
    for line in lines {
        let line = spaced(line);
        assert!(printed.iter().any(|printed| printed.contains(&line)), "lacks {line:?}\n{all}");
    }
}

impl<'a> Block<'a> {
    fn printed(&self) -> Option<&Vec<&'a str>> {
        match self {
            Self::Printed(lines) => Some(lines),
            Self::File(..) => None,
        }
    }
}

/// The blocks of a page, in order.
fn blocks(page: &str) -> Vec<Block<'_>> {
    let fenced = page.split("\n```").collect::<Vec<_>>();
    fenced
        .chunks(2)
        .filter_map(|pair| pair.get(1))
        .filter_map(|block| {
            let (language, text) = block.split_once('\n')?;
            if language == "text" {
                return Some(Block::Printed(text.lines().collect()));
            }
            let name = text.lines().next()?.trim_start_matches(['/', '#', ' ']);
            Some(Block::File(name, text))
        })
        .collect()
}

/// A package in a folder of its own. It is always the same one: what cargo keeps of it is written
/// over.
struct Package {
    folder: PathBuf,
}

impl Package {
    fn new(blocks: &[Block<'_>]) -> Self {
        let package = Self { folder: Path::new(env!("CARGO_TARGET_TMPDIR")).join("mine") };
        let _ = std::fs::remove_dir_all(&package.folder);
        let facade = root().join("crates/qkvet").canonicalize().expect("the facade");
        for block in blocks {
            let Block::File(name, text) = block else { continue };
            let text = text.replace("../qkvet/crates/qkvet", &facade.display().to_string());
            // Below the workspace, and no member of it.
            let alone = if *name == "Cargo.toml" { "\n\n[workspace]" } else { "" };
            package.folder.write(name, format!("{text}{alone}\n"));
        }
        // The versions that are tested, and no look at what is newer.
        std::fs::copy(root().join("Cargo.lock"), package.folder.join("Cargo.lock"))
            .expect("a copy");
        package
    }

    fn test(&self, arguments: &[&str]) -> Finished {
        self.cargo(&[&["test"], arguments].concat(), &[])
    }

    fn cargo(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Finished {
        cargo(&self.folder, arguments, environment)
    }

    fn replace(&self, file: &str, from: &str, to: &str) {
        let text = self.folder.read(file);
        assert_eq!(text.matches(from).count(), 1, "{from} in {file}");
        self.folder.write(file, text.replace(from, to));
    }

    /// Puts `end` in place of all that is from `from` on.
    fn cut(&self, file: &str, from: &str, end: &str) {
        let text = self.folder.read(file);
        let (before, _) = text.split_once(from).unwrap_or_else(|| panic!("{from} in {file}"));
        self.folder.write(file, format!("{before}{end}"));
    }
}

/// Cargo in a folder, with the target folder of the workspace: the profiles are such that most of
/// what is built there serves.
fn cargo(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Finished {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target folder");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(arguments)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_TERM_COLOR", "never");
    // What runs this test speaks of another package, and of one test of many.
    let foreign = [
        "NEXTEST",
        "CARGO_MANIFEST_DIR",
        "CARGO_PKG_NAME",
        "RUSTFLAGS",
        "RUSTC_WRAPPER",
        "QKVET_CASE",
    ];
    for name in foreign {
        command.env_remove(name);
    }
    finish(command.envs(environment.iter().copied()))
}
