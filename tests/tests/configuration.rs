//! `qkvet.yaml`, its profiles, the environment, and the files that `qkvet init` writes.

use std::path::Path;
use std::process::Command;

use qkvet_spec::parse_yaml;
use qkvet_tests::{
    Finished, Folder, Words, example, finish, has_python, numpy_attention, qkvet, root, temp, text,
};
use serde_json::Value;

/// `qkvet` with variables.
fn with(folder: &Path, variables: &[(&str, &str)], words: impl Words) -> Finished {
    finish(qkvet(folder).args(words.words()).envs(variables.iter().copied()))
}

const PROFILES: &str = "targets:
  mine: {target: builtin:flash}
profiles:
  default: {suite: smoke, laws: [single-key], seed: 1}
  base: {suite: smoke, dtypes: [float32, float16], seed: 2}
  ci: {extends: base, laws: [value], seed: 3, jobs: 2, reports: [junit=out/junit.xml]}
";

#[test]
fn a_flag_wins_over_its_variable_that_over_the_profile() {
    let folder = temp();
    folder.write("qkvet.yaml", PROFILES);
    // Suite, seed, laws and number of formats of a run, and what is told of it.
    let check = |variables: &[(&str, &str)], flags: &str| {
        let words = format!("check mine --format json {flags}");
        let finished = with(folder.path(), variables, words);
        let report = finished.report(0);
        let all = |key: &str| {
            let mut all: Vec<&str> = report.records().map(|record| text(&record[key])).collect();
            all.sort_unstable();
            all.dedup();
            all.join(" ")
        };
        let run = &report["run"];
        let (laws, dtypes) = (all("law"), all("dtype").split(' ').count());
        (text(&run["suite"]).to_owned(), run["seed"].as_u64(), laws, dtypes, finished.stderr)
    };
    let (suite, seed, laws, dtypes, told) = check(&[], "");
    assert_eq!((suite.as_str(), seed, laws.as_str(), dtypes), ("smoke", Some(1), "single-key", 4));
    assert!(told.contains("suite=smoke (profile default)"), "{told}");
    let (suite, seed, laws, dtypes, _) = check(&[], "--profile ci");
    assert_eq!((suite.as_str(), seed, laws.as_str(), dtypes), ("smoke", Some(3), "value", 2));
    assert!(folder.read("out/junit.xml").contains("<testsuites"), "a path of the file");
    // Each step of the order.
    let ci = ("QKVET_PROFILE", "ci");
    let seed = ("QKVET_SEED", "4");
    for (variables, flags, expected) in [
        (&[ci][..], "", 3),
        (&[ci, seed], "", 4),
        (&[ci, seed], "--seed 5", 5),
        // An empty name is no profile.
        (&[ci, ("QKVET_PROFILE", "")], "--law single-key", 0),
        (&[ci], "--profile base", 2),
    ] {
        assert_eq!(check(variables, flags).1, Some(expected), "{variables:?} {flags}");
    }
    let (.., dtypes, told) =
        check(&[("QKVET_DTYPE", "float64"), ("QKVET_LAW", "value,single-key")], "");
    assert_eq!(dtypes, 1);
    assert!(told.contains("laws=value,single-key (QKVET_LAW)"), "{told}");
    assert!(check(&[("QKVET_QUIET", "1")], "").4.is_empty());
    assert!(!check(&[("QKVET_QUIET", "1")], "--quiet=no").4.is_empty());
    // A flag that excludes another excludes no variable and no profile.
    let cases = root().join("snapshots/smoke").display().to_string();
    with(folder.path(), &[("QKVET_SUITE", "core")], format!("check mine --cases {cases}")).ends(0);
}

#[test]
fn a_strict_profile_fails_what_is_undecided() {
    let folder = temp();
    folder.write("qkvet.yaml", "profiles: {hard: {strict: true, suite: smoke}}\n");
    let check = |flags: &str| {
        folder.run(format!("check builtin:flash --profile hard --format json {flags}"))
    };
    let loose = check("--strict=false").report(0);
    let undecided = loose.count("SUSPECT") + loose.count("INCONCLUSIVE");
    check("").ends(i32::from(undecided > 0));
}

#[test]
fn the_file_is_found_from_below_and_its_paths_are_its_own() {
    let folder = temp();
    let suite = root().read("specs/suites/smoke.yaml").replace("suite: smoke", "suite: mine");
    folder.write("suites/mine.yaml", suite);
    folder.write(
        "qkvet.yaml",
        "profiles: {default: {suite: suites/mine.yaml, laws: [value], dtypes: [float32]}}",
    );
    let check = |below: &str, variables: &[(&str, &str)], flags: &str| {
        let at = folder.path().join(below);
        std::fs::create_dir_all(&at).expect("a folder");
        let words = format!("check builtin:flash --format json {flags}");
        let report = with(&at, variables, words).report(0);
        (text(&report["run"]["suite"]).to_owned(), report["run"]["seed"].as_u64())
    };
    let mine = ("mine".to_owned(), Some(0));
    for below in ["", "a/b/c"] {
        assert_eq!(check(below, &[], ""), mine);
    }
    // A nearer one wins, and --config or its variable over both.
    folder.write("a/qkvet.yaml", "profiles: {default: {suite: smoke, seed: 9}}\n");
    assert_eq!(check("a/b", &[], "--law value"), ("smoke".to_owned(), Some(9)));
    assert_eq!(check("a/b", &[], "--config ../../qkvet.yaml"), mine);
    assert_eq!(check("a/b", &[("QKVET_CONFIG", "../../qkvet.yaml")], ""), mine);
}

#[test]
fn what_does_not_fit_is_said_with_its_place() {
    let folder = temp();
    let ci = "--profile ci";
    for (text, flags, parts) in [
        ("profiles:\n  ci:\n    suit: core\n", "", &["qkvet.yaml:3:5", "`suite`?"][..]),
        ("targts: {}\n", "", &["qkvet.yaml:1:1", "`targets`?"]),
        ("profiles:\n  ci: {extends: bas}\n  base: {}\n", "", &["qkvet.yaml:2:17", "`base`?"]),
        ("profiles: {a: {extends: b}, b: {extends: a}}\n", "", &["a → b → a"]),
        ("profiles: {ci: {}, ci: {}}\n", "", &["qkvet.yaml:1:"]),
        (PROFILES, "--profile cii", &["`cii`", "`ci`?"]),
        ("targets: {}\n", ci, &["`ci`", "`profiles:`"]),
        ("profiles: {ci: {format: jsn}}\n", ci, &["format of profile ci", "jsn"]),
        ("profiles: {ci: {reports: [html, pdf]}}\n", ci, &["reports of profile ci", "pdf"]),
        ("profiles: {ci: {timeout: -3}}\n", ci, &["--timeout"]),
        ("profiles: {ci: {suite: cor}}\n", ci, &["`core`?"]),
    ] {
        folder.write("qkvet.yaml", text);
        folder.run(format!("check builtin:flash {flags}")).expect(2, parts);
    }
    std::fs::remove_file(folder.path().join("qkvet.yaml")).expect("a file");
    folder.run("check builtin:flash --profile ci").expect(2, &["`qkvet init`"]);
    let smoke = "check builtin:flash --suite smoke";
    for (name, value) in [("SEED", "many"), ("FORMAT", "xml"), ("STRICT", "perhaps")] {
        let name = format!("QKVET_{name}");
        with(folder.path(), &[(&name, value)], smoke).expect(2, &[&name, value]);
    }
    with(folder.path(), &[("QKVET_SIUTE", "core")], smoke)
        .expect(0, &["warning: ", "QKVET_SIUTE", "`QKVET_SUITE`?"]);
}

#[test]
fn every_setting_is_told_and_documented() {
    let folder = temp();
    folder.write("qkvet.yaml", PROFILES);
    let told = folder.run("explain config");
    told.expect(0, &["ci, extends base", "seed = 3", "dtypes = float32, float16 (of base)"]);
    let schema = folder.run("schema config").json();
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    let page = root().read("docs/configuration.md");
    let keys = |pointer: &str| -> Vec<String> {
        let properties = schema.pointer(pointer).and_then(Value::as_object).expect(pointer);
        properties.keys().cloned().collect()
    };
    let profile = keys("/$defs/Profile/properties");
    assert_eq!(profile.len(), 16);
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
        let text = if name == "qkvet.yaml" { PROFILES.to_owned() } else { root().read(name) };
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
    let folder = temp();
    folder.run("init").expect(0, &["qkvet.yaml", "qkvet check mine"]);
    folder.run("check mine --suite smoke").ends(0);
    let first = folder.read("qkvet.yaml");
    folder.run("init --target a/b.py:f").expect(2, &["qkvet.yaml", "--force"]);
    assert_eq!(folder.read("qkvet.yaml"), first);
    folder.run("init --target a/b.py:f --force").ends(0);
    assert!(folder.read("qkvet.yaml").contains("target: a/b.py:f\n"));
    for wrong in ["builtin:flush", "nothing"] {
        folder.run(format!("init --target {wrong} --force")).expect(2, &["--target: ", wrong]);
    }
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
        folder.write("qkvet.yaml", text);
        folder.run("explain config").expect(0, &["profile       ci"]);
    }
}

#[test]
fn an_option_that_is_none_is_a_slip_of_the_file() {
    if !has_python() {
        return;
    }
    let folder = temp();
    folder.write("mine.py", "def attention(query, key, value, **options): return value\n");
    let entry = |entry: &str| {
        folder.write("qkvet.yaml", format!("targets:\n  mine: {{target: {entry}}}\n"));
        folder.run("check mine")
    };
    entry("mine.py:attention, supports: [causl]").expect(2, &["supports", "`causl`", "`causal`?"]);
    // A function that is not there is a target that cannot be started.
    entry("mine.py:attentoin").expect(3, &["attentoin"]);
}

#[test]
fn names_that_a_shell_would_read_otherwise_are_refused() {
    let folder = temp();
    for name in ["a; touch x", "${{ github.token }}", "--help", "a\nb", "$(id)", "a b"] {
        let entry = format!("targets:\n  {}: {{target: builtin:flash}}\n", Value::from(name));
        folder.write("qkvet.yaml", entry);
        folder.run("init ci --github").expect(2, &["letters"]);
        assert!(!folder.has(".github"));
    }
    folder.write(
        "qkvet.yaml",
        "targets:\n  other.one: {target: builtin:flash}\n  two: {target: builtin:flash}\n",
    );
    folder
        .run("init ci --gitlab --out ci/attention.yml")
        .expect(0, &["ci/attention.yml", "cargo xtask wheel"]);
    folder.run("init ci --github").expect(0, &[".github/workflows/qkvet.yml"]);
    let text = folder.read("ci/attention.yml");
    // What `pip install qkvet` needs, and what to name until there is that, stands where it is.
    for text in [&text, &folder.read(".github/workflows/qkvet.yml")] {
        assert!(text.contains("`qkvet`") && text.contains("`cargo xtask wheel`"), "{text}");
    }
    assert!(text.contains("- qkvet check other.one --report"), "{text}");
    let other = "init ci --gitlab --force --target";
    folder.run(format!("{other} two")).expect(0, &["check two"]);
    folder.run(format!("{other} tow")).expect(2, &["--target", "`tow`"]);
    folder.run("init ci").expect(2, &["--github"]);
    folder.run("init ci --github --gitlab").expect(2, &["--github", "--gitlab"]);
}

/// Names of commands that `--help` shows.
fn shown() -> Vec<String> {
    let help = temp().run("--help").stdout;
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
    let folder = temp();
    let script = folder.run("completions bash");
    folder.write("qkvet.bash", &script.ends(0).stdout);
    let bash = |words: &[&str]| {
        finish(Command::new("bash").args(words).current_dir(folder.path())).ends(0).clone()
    };
    let complete = |words: &str| {
        let lines = format!(
            "source ./qkvet.bash; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); _qkvet qkvet \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        bash(&["-c", &lines]).stdout.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(bash(&["-n", "qkvet.bash"]).stderr, "");
    assert_eq!(complete("qkvet chec"), ["check"]);
    assert!(complete("qkvet check --pro").contains(&"--profile".to_owned()));
    assert!(complete("qkvet list con").contains(&"contracts".to_owned()));
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        folder.run(format!("completions {shell}")).expect(0, &["qkvet", "check", "profile"]);
    }
    folder.run("completions bsh").expect(2, &["bash"]);
}

#[test]
fn manual_pages_say_what_help_says() {
    let folder = temp();
    let pages =
        |out: &str| finish(Command::new(example("man")).arg(out).current_dir(folder.path()));
    pages("man/man1").ends(0);
    let first = folder.read("man/man1/qkvet.1");
    assert!(first.contains(".TH qkvet 1") && !first.contains("native"), "{first}");
    for name in shown() {
        assert!(first.contains(&format!("qkvet\\-{name}(1)")), "the page lacks {name}\n{first}");
    }
    for name in shown() {
        let page = folder.read(&format!("man/man1/qkvet-{name}.1"));
        let help = folder.run(format!("{name} --help")).stdout;
        let title = help.lines().next().expect("a title");
        assert!(page.replace('\\', "").contains(title.trim()), "{name}: {title}\n{page}");
    }
    assert!(folder.read("man/man1/qkvet-init-ci.1").contains("GitHub Actions"));
    assert!(folder.read("man/man1/qkvet-onnx-run.1").contains("backend"));
    assert!(!folder.has("man/man1/qkvet-help.1"));
    // `man` itself reads them, where it is there.
    let man =
        Command::new("man").args(["-l", "man/man1/qkvet.1"]).current_dir(folder.path()).output();
    if let Some(output) = man.ok().filter(|output| output.status.success()) {
        assert!(String::from_utf8_lossy(&output.stdout).contains("check"));
    }
    folder.write("blocked", "");
    assert!(!pages("blocked").ends(1).stderr.is_empty());
}

/// What a run was configured by stands at its head; a target that writes it is found out.
#[test]
fn a_configuration_that_changes_during_a_run_is_an_error() {
    if !has_python() {
        return;
    }
    let folder = temp();
    let config = "specs: specs\ntargets: {mine: {target: 'mine.py:attention'}}\n";
    folder.write("qkvet.yaml", config);
    let law = "law: own\ntitle: Own\nexpect: attention(Q, K, V) == attention(Q, K, V)\noptions: []\nproof: rewrite\ncatches: []\n";
    folder.write("specs/laws/own.yaml", law);
    let writes = |line: &str| {
        numpy_attention("", "", "np.where(sums == 0, 1, sums)") + &format!("\n{line}\n")
    };
    let check = "check mine --suite smoke --law value --dtype float64";
    folder.write("mine.py", writes(""));
    let report = folder.run(format!("{check} --format json"));
    report.ends(0);
    let hash = report.json()["run"]["configuration"]["qkvet.yaml"].to_string();
    let head = hash.trim_matches('"').get(..19).expect("a hash").to_owned();
    assert!(report.stderr.contains(&format!("configuration: qkvet.yaml {head}")), "{report:?}");
    for (line, name) in [
        (
            "import os; open('qkvet.known.yaml', 'w').write('known: [] # %d' % os.getpid())",
            "qkvet.known.yaml",
        ),
        ("open('qkvet.yaml', 'a').write('# more\\n')", "qkvet.yaml"),
        ("open('specs/laws/own.yaml', 'a').write('# more\\n')", "specs/laws/own.yaml"),
    ] {
        folder.write("mine.py", writes(line));
        let changed = folder.run(check);
        changed.expect(2, &[&format!("{name}: expected what it was when the run began"), "hint:"]);
        // The report is there all the same.
        assert!(changed.stdout.contains("no finding"), "{changed:?}");
        let told = folder.run(format!("{check} -q --format verdict"));
        assert_eq!(told.ends(2).json()["fails"], true);
        let stored = folder.run("report --format verdict");
        assert_eq!(stored.ends(0).stdout, told.stdout);
    }
}
