//! `qkvet.yaml`, its profiles, the environment, and the files that `qkvet init` writes.

#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use std::path::Path;
use std::process::Command;

use qkvet_spec::parse_yaml;
use qkvet_tests::{Finished, binary, example, has_python, qkvet, root, run};
use serde_json::Value;
use tempfile::TempDir;

fn folder() -> TempDir {
    TempDir::new().expect("a folder")
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// `qkvet` with variables.
fn with(folder: &Path, variables: &[(&str, &str)], args: &[&str]) -> Finished {
    let output =
        qkvet(folder).args(args).envs(variables.iter().copied()).output().expect("a command");
    Finished {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

const PROFILES: &str = "targets:
  mine: {target: builtin:flash}
profiles:
  default: {suite: smoke, laws: [single-key], seed: 1}
  base: {suite: smoke, dtypes: [float32, float16], seed: 2}
  ci: {extends: base, laws: [value], seed: 3, jobs: 2, reports: [junit=out/junit.xml]}
";

/// Suite, seed, laws and formats of a run.
fn what(finished: &Finished) -> (String, u64, Vec<String>, Vec<String>) {
    let report = finished.json();
    let records = report["records"].as_array().expect("records");
    let all = |key: &str| {
        let mut all: Vec<String> =
            records.iter().map(|record| record[key].as_str().expect(key).to_owned()).collect();
        all.sort();
        all.dedup();
        all
    };
    let run = &report["run"];
    (
        run["suite"].as_str().expect("a suite").to_owned(),
        run["seed"].as_u64().expect("a seed"),
        all("law"),
        all("dtype"),
    )
}

#[test]
fn a_flag_wins_over_its_variable_that_over_the_profile() {
    let folder = folder();
    write(folder.path(), "qkvet.yaml", PROFILES);
    std::fs::create_dir(folder.path().join("out")).expect("a folder");
    let check = |variables: &[(&str, &str)], args: &[&str]| {
        let finished = with(
            folder.path(),
            variables,
            &[&["check", "mine", "--format", "json"], args].concat(),
        );
        finished.expect(0, &[]);
        let (suite, seed, laws, dtypes) = what(&finished);
        (suite, seed, laws.join(" "), dtypes.len(), finished.stderr)
    };
    let (suite, seed, laws, dtypes, told) = check(&[], &[]);
    assert_eq!((suite.as_str(), seed, laws.as_str(), dtypes), ("smoke", 1, "single-key", 4));
    assert!(told.contains("settings: suite=smoke (profile default)"), "{told}");
    let (suite, seed, laws, dtypes, _) = check(&[], &["--profile", "ci"]);
    assert_eq!((suite.as_str(), seed, laws.as_str(), dtypes), ("smoke", 3, "value", 2));
    assert!(read(folder.path(), "out/junit.xml").contains("<testsuites"), "a path of the file");
    // Each step of the order.
    let ci = ("QKVET_PROFILE", "ci");
    assert_eq!(check(&[ci], &[]).1, 3);
    assert_eq!(check(&[ci, ("QKVET_SEED", "4")], &[]).1, 4);
    assert_eq!(check(&[ci, ("QKVET_SEED", "4")], &["--seed", "5"]).1, 5);
    assert_eq!(check(&[ci, ("QKVET_PROFILE", "")], &[]).1, 0, "an empty name is no profile");
    assert_eq!(check(&[ci], &["--profile", "base"]).1, 2);
    let (.., dtypes, told) =
        check(&[("QKVET_DTYPE", "float64"), ("QKVET_LAW", "value,single-key")], &[]);
    assert_eq!(dtypes, 1);
    assert!(told.contains("laws=value,single-key (QKVET_LAW)"), "{told}");
    assert!(check(&[("QKVET_QUIET", "1")], &[]).4.is_empty());
    assert!(!check(&[("QKVET_QUIET", "1")], &["--quiet=no"]).4.is_empty());
    // A flag that excludes another excludes no variable and no profile.
    let cases = root().join("snapshots/smoke").display().to_string();
    let finished =
        with(folder.path(), &[("QKVET_SUITE", "core")], &["check", "mine", "--cases", &cases]);
    finished.expect(0, &[]);
}

#[test]
fn a_strict_profile_fails_what_is_undecided() {
    let folder = folder();
    write(folder.path(), "qkvet.yaml", "profiles: {hard: {strict: true, suite: smoke}}\n");
    let check = |args: &[&str]| {
        run(folder.path(), &[&["check", "builtin:flash", "--profile", "hard"], args].concat())
    };
    let loose = check(&["--strict=false"]);
    loose.expect(0, &[]);
    let undecided = loose.stdout.contains("SUSPECT") || loose.stdout.contains("INCONCLUSIVE");
    assert_eq!(check(&[]).code, Some(i32::from(undecided)));
}

#[test]
fn the_file_is_found_from_below_and_its_paths_are_its_own() {
    let folder = folder();
    let suite = read(root(), "specs/suites/smoke.yaml").replace("suite: smoke", "suite: mine");
    write(folder.path(), "suites/mine.yaml", &suite);
    write(
        folder.path(),
        "qkvet.yaml",
        "profiles: {default: {suite: suites/mine.yaml, laws: [value], dtypes: [float32]}}",
    );
    for below in ["", "a/b/c"] {
        let at = folder.path().join(below);
        std::fs::create_dir_all(&at).expect("a folder");
        run(&at, &["check", "builtin:flash"]).expect(0, &["suite mine"]);
    }
    // A nearer one wins, and --config or its variable over both.
    write(folder.path(), "a/qkvet.yaml", "profiles: {default: {suite: smoke, seed: 9}}\n");
    let at = folder.path().join("a/b");
    run(&at, &["check", "builtin:flash", "--law", "value"]).expect(0, &["suite smoke", "seed 9"]);
    run(&at, &["check", "builtin:flash", "--config", "../../qkvet.yaml"])
        .expect(0, &["suite mine"]);
    with(&at, &[("QKVET_CONFIG", "../../qkvet.yaml")], &["check", "builtin:flash"])
        .expect(0, &["suite mine"]);
}

#[test]
fn what_does_not_fit_is_said_with_its_place() {
    let folder = folder();
    let check = |text: &str, args: &[&str], parts: &[&str]| {
        write(folder.path(), "qkvet.yaml", text);
        run(folder.path(), &[&["check", "builtin:flash"], args].concat()).expect(2, parts);
    };
    check("profiles:\n  ci:\n    suit: core\n", &[], &["qkvet.yaml:3:5", "did you mean `suite`?"]);
    check("targts: {}\n", &[], &["qkvet.yaml:1:1", "did you mean `targets`?"]);
    check(
        "profiles:\n  ci: {extends: bas}\n  base: {}\n",
        &[],
        &["qkvet.yaml:2:17", "did you mean `base`?"],
    );
    check("profiles: {a: {extends: b}, b: {extends: a}}\n", &[], &["a circle: a → b → a"]);
    check("profiles: {ci: {}, ci: {}}\n", &[], &["qkvet.yaml:1:"]);
    check(PROFILES, &["--profile", "cii"], &["profile `cii`", "did you mean `ci`?"]);
    check("targets: {}\n", &["--profile", "ci"], &["profile `ci`", "no `profiles:`"]);
    check(
        "profiles: {ci: {format: jsn}}\n",
        &["--profile", "ci"],
        &["format of profile ci", "jsn"],
    );
    check(
        "profiles: {ci: {reports: [html, pdf]}}\n",
        &["--profile", "ci"],
        &["reports of profile ci", "pdf"],
    );
    check(
        "profiles: {ci: {timeout: -3}}\n",
        &["--profile", "ci"],
        &["--timeout: expected a positive"],
    );
    check("profiles: {ci: {suite: cor}}\n", &["--profile", "ci"], &["did you mean `core`?"]);
    std::fs::remove_file(folder.path().join("qkvet.yaml")).expect("a file");
    run(folder.path(), &["check", "builtin:flash", "--profile", "ci"])
        .expect(2, &["`qkvet init` writes one"]);
    let variable = |name: &str, value: &str, parts: &[&str]| {
        with(folder.path(), &[(name, value)], &["check", "builtin:flash", "--suite", "smoke"])
            .expect(2, parts);
    };
    variable("QKVET_SEED", "many", &["seed of QKVET_SEED", "many"]);
    variable("QKVET_FORMAT", "xml", &["format of QKVET_FORMAT", "xml"]);
    variable("QKVET_STRICT", "perhaps", &["strict of QKVET_STRICT", "perhaps"]);
    let typed = with(
        folder.path(),
        &[("QKVET_SIUTE", "core")],
        &["check", "builtin:flash", "--suite", "smoke"],
    );
    typed.expect(0, &["warning: QKVET_SIUTE", "did you mean `QKVET_SUITE`?"]);
}

#[test]
fn every_setting_is_told_and_documented() {
    let folder = folder();
    write(folder.path(), "qkvet.yaml", PROFILES);
    let told = run(folder.path(), &["explain", "config"]);
    told.expect(
        0,
        &["profile       ci, extends base", "seed = 3", "dtypes = float32, float16 (of base)"],
    );
    let schema: Value =
        serde_json::from_str(&run(folder.path(), &["schema", "config"]).stdout).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    let page = read(root(), "docs/configuration.md");
    let keys = |pointer: &str| -> Vec<String> {
        let properties = schema.pointer(pointer).and_then(Value::as_object).expect(pointer);
        properties.keys().cloned().collect()
    };
    let profile = keys("/$defs/Profile/properties");
    assert_eq!(profile.len(), 15);
    for key in profile.iter().filter(|key| *key != "extends") {
        let flag = match key.as_str() {
            "laws" | "dtypes" | "reports" => key.trim_end_matches('s').to_owned(),
            other => other.replace('_', "-"),
        };
        let variable = format!("QKVET_{}", flag.to_uppercase().replace('-', "_"));
        for word in [key.clone(), format!("--{flag}"), variable] {
            assert!(told.stdout.contains(&word), "explain config lacks {word}");
            assert!(page.contains(&format!("`{word}`")), "docs/configuration.md lacks {word}");
        }
    }
    for key in keys("/$defs/TargetEntry/properties").iter().chain(&keys("/properties")) {
        assert!(page.contains(&format!("`{key}`")), "docs/configuration.md lacks {key}");
    }
    // What the schema takes and what the program takes is the same here.
    for name in ["qkvet.yaml", "examples/qkvet.yaml"] {
        let text = if name == "qkvet.yaml" { PROFILES.to_owned() } else { read(root(), name) };
        let value: Value = parse_yaml(name, &text).expect("YAML");
        let errors: Vec<String> =
            validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
    assert!(!validator.is_valid(&serde_json::json!({ "profiles": { "ci": { "suit": "core" } } })));
    let examples: Vec<&str> = page
        .split("```yaml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().expect("a block"))
        .collect();
    assert!(!examples.is_empty());
    for example in
        examples.into_iter().filter(|text| text.contains("profiles:") || text.contains("targets:"))
    {
        let value: Value = parse_yaml("docs/configuration.md", example).expect("YAML");
        assert!(validator.is_valid(&value), "{example}");
    }
}

#[test]
fn init_writes_a_file_that_works_and_writes_over_none() {
    let folder = folder();
    run(folder.path(), &["init"]).expect(0, &["wrote qkvet.yaml", "qkvet check mine"]);
    run(folder.path(), &["check", "mine", "--suite", "smoke"]).expect(0, &["no finding"]);
    let first = read(folder.path(), "qkvet.yaml");
    run(folder.path(), &["init", "--target", "a/b.py:f"]).expect(2, &["qkvet.yaml", "--force"]);
    assert_eq!(read(folder.path(), "qkvet.yaml"), first);
    run(folder.path(), &["init", "--target", "a/b.py:f", "--force"]).expect(0, &[]);
    assert!(read(folder.path(), "qkvet.yaml").contains("target: a/b.py:f\n"));
    run(folder.path(), &["init", "--target", "builtin:flush", "--force"])
        .expect(2, &["--target: ", "builtin:flush"]);
    run(folder.path(), &["init", "--target", "nothing", "--force"])
        .expect(2, &["--target: ", "nothing"]);
    // Every line that is commented out is one that would be read.
    let commented: Vec<&str> =
        first.lines().filter(|line| line.trim_start().starts_with("# ")).collect();
    let offered: Vec<&&str> = commented
        .iter()
        .filter(|line| {
            line.trim_start()[2..]
                .split_once(": ")
                .is_some_and(|(key, _)| key.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
        })
        .collect();
    assert!(offered.len() >= 6, "{commented:?}");
    for line in offered {
        let text = first.replace(line, &line.replacen("# ", "", 1));
        write(folder.path(), "qkvet.yaml", &text);
        let told = run(folder.path(), &["explain", "config"]);
        told.expect(0, &["profile       ci"]);
    }
}

#[test]
fn an_option_that_is_none_is_a_slip_of_the_file() {
    if !has_python() {
        return;
    }
    let folder = folder();
    write(folder.path(), "mine.py", "def attention(query, key, value, **options): return value\n");
    write(
        folder.path(),
        "qkvet.yaml",
        "targets:\n  mine: {target: mine.py:attention, supports: [causl]}\n",
    );
    let slip = ["supports: unknown option `causl`", "did you mean `causal`?"];
    run(folder.path(), &["check", "mine"]).expect(2, &slip);
    // A function that is not there is a target that cannot be started.
    write(folder.path(), "qkvet.yaml", "targets:\n  mine: {target: mine.py:attentoin}\n");
    run(folder.path(), &["check", "mine"]).expect(3, &["attentoin"]);
}

#[test]
fn names_that_a_shell_would_read_otherwise_are_refused() {
    let folder = folder();
    for name in ["a; touch x", "${{ github.token }}", "--help", "a\nb", "$(id)", "a b"] {
        write(
            folder.path(),
            "qkvet.yaml",
            &format!("targets:\n  {}: {{target: builtin:flash}}\n", Value::from(name)),
        );
        run(folder.path(), &["init", "ci", "--github"]).expect(2, &["expected a name of letters"]);
        assert!(!folder.path().join(".github").exists());
    }
    write(
        folder.path(),
        "qkvet.yaml",
        "targets:\n  other.one: {target: builtin:flash}\n  two: {target: builtin:flash}\n",
    );
    run(folder.path(), &["init", "ci", "--gitlab", "--out", "ci/attention.yml"])
        .expect(0, &["cargo xtask wheel"]);
    run(folder.path(), &["init", "ci", "--github"])
        .expect(0, &["until a release of qkvet is on the package index"]);
    let text = read(folder.path(), "ci/attention.yml");
    // What `pip install qkvet` needs, and what to name until there is that, stands where it is.
    for text in [&text, &read(folder.path(), ".github/workflows/qkvet.yml")] {
        assert!(
            text.contains("`qkvet` there needs a release") && text.contains("`cargo xtask wheel`"),
            "{text}"
        );
    }
    assert!(text.contains("- qkvet check other.one --report"), "{text}");
    run(folder.path(), &["init", "ci", "--gitlab", "--target", "two", "--force"])
        .expect(0, &["check two"]);
    run(folder.path(), &["init", "ci", "--gitlab", "--target", "tow", "--force"])
        .expect(2, &["--target: target `tow`"]);
    run(folder.path(), &["init", "ci"]).expect(2, &["--github"]);
    run(folder.path(), &["init", "ci", "--github", "--gitlab"]).expect(2, &["cannot be used with"]);
}

/// Names of commands that `--help` shows.
fn shown() -> Vec<String> {
    let help = run(folder().path(), &["--help"]).stdout;
    let lines = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| line.starts_with("  "));
    let names: Vec<String> = lines
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect();
    assert!(names.len() > 12, "{help}");
    names
}

#[test]
fn shells_complete_commands_and_flags() {
    let folder = folder();
    let script = run(folder.path(), &["completions", "bash"]);
    script.expect(0, &[]);
    write(folder.path(), "qkvet.bash", &script.stdout);
    let complete = |words: &str| {
        let lines = format!(
            "source ./qkvet.bash; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); _qkvet qkvet \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let output = Command::new("bash")
            .args(["-c", &lines])
            .current_dir(folder.path())
            .output()
            .expect("bash");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let syntax = Command::new("bash")
        .args(["-n", "qkvet.bash"])
        .current_dir(folder.path())
        .output()
        .expect("bash");
    assert!(
        syntax.status.success() && syntax.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&syntax.stderr)
    );
    assert_eq!(complete("qkvet chec"), ["check"]);
    assert!(complete("qkvet check --pro").contains(&"--profile".to_owned()));
    assert!(complete("qkvet list con").contains(&"contracts".to_owned()));
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let script = run(folder.path(), &["completions", shell]);
        script.expect(0, &["qkvet", "check", "profile"]);
    }
    run(folder.path(), &["completions", "bsh"]).expect(2, &["bash"]);
}

#[test]
fn manual_pages_say_what_help_says() {
    let folder = folder();
    let pages = |out: &str| {
        let mut command = Command::new(example("man"));
        command.arg(out).current_dir(folder.path()).output().expect("the program of the pages")
    };
    assert!(pages("man/man1").status.success());
    let first = read(folder.path(), "man/man1/qkvet.1");
    assert!(first.contains(".TH qkvet 1") && !first.contains("native"), "{first}");
    for name in shown() {
        assert!(first.contains(&format!("qkvet\\-{name}(1)")), "the page lacks {name}\n{first}");
    }
    for name in shown() {
        let page = read(folder.path(), &format!("man/man1/qkvet-{name}.1"));
        let help = run(folder.path(), &[name.as_str(), "--help"]).stdout;
        let title = help.lines().next().expect("a title");
        assert!(page.replace('\\', "").contains(title.trim()), "{name}: {title}\n{page}");
    }
    assert!(read(folder.path(), "man/man1/qkvet-init-ci.1").contains("GitHub Actions"));
    assert!(read(folder.path(), "man/man1/qkvet-onnx-run.1").contains("backend"));
    assert!(!folder.path().join("man/man1/qkvet-help.1").exists());
    // `man` itself reads them, where it is there.
    if let Ok(output) =
        Command::new("man").args(["-l", "man/man1/qkvet.1"]).current_dir(folder.path()).output()
        && output.status.success()
    {
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("check"),
            "{}",
            binary().display()
        );
    }
    write(folder.path(), "blocked", "");
    let blocked = pages("blocked");
    assert!(blocked.status.code() == Some(1) && !blocked.stderr.is_empty(), "{blocked:?}");
}
