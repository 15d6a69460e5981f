//! Reports in every format: made from a run, made again from its JSON, and read as the tools read
//! them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use qkvet_report::{English, ReportFormat, write_as};
use qkvet_spec::{
    Breakage, Catalog, Cause, FindingState, Got, Quoted, Stopped, StreamLine, Summary, Warning,
    Words as _,
};
use qkvet_tests::markup::{Element, elements};
use qkvet_tests::{Finished, Folder, finish, needed, python, qkvet, root, shell, temp};
use serde_json::Value;

const TARGET: &str = "builtin:fault/window-off-by-one";

/// A small run with a finding.
fn checked(folder: &Path, flags: &str) -> Finished {
    let finished = folder.run(format!("check {TARGET} -q --suite smoke --dtype float32 {flags}"));
    finished.ends(1);
    finished
}

fn summary(folder: &Path) -> Summary {
    serde_json::from_str(&folder.read(".qkvet/last/report.json")).expect("a report")
}

fn written(format: ReportFormat, summary: &Summary) -> String {
    write_as(format, summary, &Catalog::embedded().expect("a catalog")).expect("a report")
}

#[test]
fn every_format_is_made_again_from_the_last_run() {
    let folder = temp();
    let formats: Vec<&str> = ReportFormat::ALL.iter().map(|format| format.name()).collect();
    let list = formats.join(",");
    let direct = checked(folder.path(), &format!("--report {list},json=own.json"));
    let files = ReportFormat::ALL.iter().filter(|format| **format != ReportFormat::Github);
    for format in files {
        let name = format.name();
        let kept = folder.read(&format!(".qkvet/last/{}", format.file_name()));
        let again = folder.run(format!("report --format {name}"));
        assert_eq!(kept, again.ends(0).stdout, "{name}");
        let own = folder.run(format!("report --from own.json --format {name}"));
        assert_eq!(kept, own.stdout, "{name} from a file");
    }
    assert!(direct.stderr.lines().any(|line| line.starts_with("::error ")), "{}", direct.stderr);
    // A quiet check prints findings alone; the report has everything.
    let (whole, brief) = (folder.run("report").stdout, direct.stdout);
    let has_coverage = |text: &str| ["  verdicts  ", "  unchecked "].map(|row| text.contains(row));
    assert_eq!(has_coverage(&whole), [true, true], "{whole}");
    assert_eq!(has_coverage(&brief), [false, false], "{brief}");
    let lines: Vec<&str> = whole.lines().collect();
    // What is undecided is told in one line, and in full in the report.
    let is_told = |line: &str| lines.contains(&line) || line.starts_with("  undecided ");
    assert!(brief.lines().all(is_told), "{brief}");
    let fine = folder.run("check builtin:standard --law value --dtype float64 -q").stdout;
    for text in [&whole, &brief, &fine] {
        assert!(!text.contains("\n\n\n"), "{text}");
    }
    assert_eq!(fine.lines().count(), 1, "{fine}");
    // No terminal, no cut.
    assert!(lines.iter().all(|line| !line.ends_with('…')), "{whole}");
}

/// A finding becomes a test, which fails until the target is mended.
#[test]
fn findings_are_tests_of_pytest_and_cargo() {
    let folder = temp();
    let entry = |target: &str| format!("targets: {{mine: {{target: '{target}'}}}}\n");
    folder.write("qkvet.yaml", entry(TARGET));
    let wishes = "pytest=test_it.py,cargo-test=it.rs";
    let check = format!("check mine --format json --suite smoke --dtype float32 --report {wishes}");
    let report = folder.run(&check).report(1);
    let name = report.names()[0].to_lowercase();
    let run_python = format!("python3 -c 'import test_it; test_it.test_{name}()'");
    let tests = [run_python, "rustc --edition 2024 --test it.rs && ./it".to_owned()];
    for test in &tests {
        let failed = shell(folder.path(), test);
        let told = failed.stdout.clone() + &failed.stderr;
        assert!(failed.code != Some(0) && told.contains("FAIL "), "{test}: {told}");
    }
    // Such a file is written over, another one is not.
    folder.run(&check).ends(1);
    folder.write("qkvet.yaml", entry("builtin:standard"));
    for test in &tests {
        shell(folder.path(), test).ends(0);
    }
    folder.write("test_it.py", "x = 1\n");
    folder.run(&check).expect(2, &["test_it.py"]);
}

#[test]
#[cfg(target_os = "linux")]
fn the_page_is_opened() {
    let folder = temp();
    checked(folder.path(), "");
    folder.write("bin/xdg-open", "#!/bin/sh\necho \"$1\" > opened\n");
    let open = "chmod +x bin/xdg-open && PATH=$PWD/bin:$PATH qkvet report --open";
    shell(folder.path(), &format!("{open} && {open} --report html=own.html")).ends(0);
    assert!(folder.has(".qkvet/last/report.html"));
    // The opener is not waited for.
    let is_opened = || folder.has("opened") && folder.read("opened").trim() == "own.html";
    for _ in 0..100 {
        if !is_opened() {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }
    assert!(is_opened());
    shell(folder.path(), "PATH=$(dirname $(which qkvet)) qkvet report --open")
        .expect(2, &["report.html", "a program that opens it"]);
}

#[test]
fn a_report_that_is_not_there_is_said_to_be_so() {
    let folder = temp();
    folder.run("report").expect(2, &[".qkvet/last", "\nhint:"]);
    let whole = include_str!("../../crates/report/tests/report.json");
    let last = whole.find("\"target\"").expect("a target") + 12;
    for (text, told) in [
        ("{\"run\": 1}".to_owned(), "line 1"),
        (String::new(), "bad.json"),
        (whole[..last].to_owned(), "line"),
        (whole.replacen("\"seed\": 0", "\"seed\": \"x\"", 1), "\"x\""),
        (whole.replacen("\"verdict\": \"FAIL\"", "\"verdict\": \"FAUL\"", 1), "`FAUL`"),
        ("\u{0}".to_owned(), "line 1"),
        ("{}".to_owned(), "`run`"),
        (format!("{whole}x"), "line"),
    ] {
        assert_ne!(text, whole);
        folder.write("bad.json", text);
        folder.run("report --from bad.json").expect(2, &["bad.json", told, "hint: `qkvet check`"]);
    }
    folder.write("bad.json", "{\"format\": \"qkvet-report/1\", \"run\": {}}");
    let told = ["qkvet-report/2", "`qkvet-report/1`", "hint: run `qkvet check` again"];
    folder.run("report --from bad.json").expect(2, &told);
    folder.write("bad.json", b"{\xff");
    folder.run("report --from bad.json").expect(2, &["bad.json"]);
    folder.run("report --format htm").expect(2, &["html"]);
    folder.run("check builtin:standard --report junnit").expect(2, &["`junit`"]);
    let check = "check builtin:standard -q --suite smoke --law value --report";
    folder.run(format!("{check} html=bad.json/where.html")).expect(2, &["bad.json/where.html"]);
    // A folder that is not there yet is made.
    folder.run(format!("{check} html=no/where.html")).ends(0);
    assert!(folder.has("no/where.html"));
}

/// What other commands print as JSON has the schema of its name.
#[test]
fn documents_of_other_commands_fit_their_schemas() {
    let folder = temp();
    let document = |command: &str, schema: &str, code: i32| {
        let printed = folder.at_home(format!("{command} --format json"));
        let document = printed.ends(code).json();
        let schema = folder.run(format!("schema {schema}")).json();
        let validator = jsonschema::validator_for(&schema).expect("a valid schema");
        let errors: Vec<String> =
            validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty() && document.is_object(), "{errors:?}\n{document}");
        document
    };
    let report = document("check builtin:fault/gqa-modulo --suite smoke -q", "report", 1);
    let case = report["findings"][0]["witness"]["case"].as_str().expect("a witness");
    let replay = document(&format!("replay {case}"), "replay", 1);
    assert_eq!((&replay["verdict"], &replay["was"]), (&"FAIL".into(), &"FAIL".into()));
    folder.at_home("known add --reason old").ends(0);
    let list = document("known list", "known-list", 0);
    assert_eq!(list["entries"][0]["state"], "holds");
    if let Some(python) = python() {
        let program = root().join("crates/run/tests/fixtures/program.py");
        let target = format!("'exec:{python} {} wrong'", program.display());
        let told = document(&format!("doctor {target}"), "doctor", 1);
        assert_eq!(told["diagnosis"], "wrong");
    }
    for (name, kind) in [("QK221", "fault"), ("tiles", "family"), ("core", "suite")] {
        let explained = folder.run(format!("explain {name} --format json")).json();
        assert!(explained[kind].is_object(), "{explained}");
    }
    folder.run("explain SUSPECT --format json").expect(2, &["SUSPECT"]);
}

#[test]
fn the_stream_fits_its_schema_and_says_what_the_document_says() {
    let folder = temp();
    let live = checked(folder.path(), "--format ndjson");
    let schema = folder.run("schema stream").json();
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    let lines: Vec<Value> =
        live.stdout.lines().map(|line| serde_json::from_str(line).expect("a document")).collect();
    for line in &lines {
        let errors: Vec<String> =
            validator.iter_errors(line).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}\n{line}");
    }
    assert!(!validator.is_valid(&serde_json::json!({ "case": { "id": 1 } })));
    let parsed: Vec<StreamLine> =
        live.stdout.lines().map(|line| serde_json::from_str(line).expect("a line")).collect();
    let summary = summary(folder.path());
    assert!(matches!(&parsed[0], StreamLine::Started(run) if **run == summary.run));
    let n_cases = parsed.iter().filter(|line| matches!(line, StreamLine::Case(_))).count();
    assert_eq!(n_cases, summary.records.len());
    let Some(StreamLine::Finished(outcome)) = parsed.last() else { panic!("{:?}", parsed.last()) };
    assert_eq!((&outcome.counts, outcome.findings), (&summary.counts, summary.findings.len()));
    assert!(parsed.iter().any(|line| matches!(line, StreamLine::Progress { .. })));
    // What was told early and not withdrawn is what the report says.
    let mut told = BTreeMap::new();
    for line in &parsed {
        let StreamLine::Proposal(one) = line else { continue };
        match one.state {
            FindingState::Withdrawn => told.remove(&one.case).map(|_| ()),
            _ => told.insert(&one.case, &one.cause).map(|_| ()),
        };
    }
    let is_final = |cause: &Cause| summary.findings.iter().any(|one| one.cause.is_like(cause));
    assert!(!told.is_empty() && told.values().all(|cause| is_final(cause)), "{told:?}");
    assert_eq!(live.stdout, checked(folder.path(), "--format ndjson -j 2").stdout);
}

/// Attributes of the elements that the usual schema of JUnit knows, and what may be in them.
const JUNIT: [(&str, &[&str], &[&str]); 7] = [
    ("testsuites", &["name", "tests", "failures", "errors"], &["testsuite"]),
    ("testsuite", &["name", "tests", "failures", "errors", "skipped"], &["properties", "testcase"]),
    ("properties", &[], &["property"]),
    ("property", &["name", "value"], &[]),
    ("testcase", &["name", "classname"], &["failure", "skipped"]),
    ("failure", &["type", "message"], &[]),
    ("skipped", &["message"], &[]),
];

fn assert_junit(text: &str) -> Vec<Element> {
    let all = elements(text, false).unwrap_or_else(|error| panic!("{error}\n{text}"));
    for element in &all {
        let known = JUNIT.iter().find(|(name, ..)| *name == element.name());
        let (_, attributes, inner) = known.unwrap_or_else(|| panic!("{:?}", element.path));
        let names: Vec<&str> = element.attributes.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(&names, attributes, "{:?}", element.path);
        for other in all.iter().filter(|other| other.path.len() == element.path.len() + 1) {
            let is_in = other.path[..element.path.len()] == element.path[..];
            assert!(!is_in || inner.contains(&other.name()), "{:?}", other.path);
        }
    }
    let number = |element: &Element, name: &str| -> usize {
        element
            .attribute(name)
            .and_then(|text| text.parse().ok())
            .unwrap_or_else(|| panic!("{name} of {element:?}"))
    };
    let suites: Vec<&Element> =
        all.iter().filter(|element| element.name() == "testsuite").collect();
    let count = |name: &str| all.iter().filter(|element| element.name() == name).count();
    assert_eq!(suites.iter().map(|suite| number(suite, "tests")).sum::<usize>(), count("testcase"));
    assert_eq!(number(&all[0], "tests"), count("testcase"));
    assert_eq!(number(&all[0], "failures"), count("failure"));
    assert_eq!(
        suites.iter().map(|suite| number(suite, "skipped")).sum::<usize>(),
        count("skipped")
    );
    all
}

/// The text of the last failure.
fn junit_text(text: &str) -> String {
    let all = assert_junit(text);
    all.iter()
        .rfind(|element| element.name() == "failure")
        .map_or_else(String::new, |element| element.text.clone())
}

#[test]
fn junit_has_what_its_schema_knows_and_nothing_else() {
    let folder = temp();
    let finished = checked(folder.path(), "--format junit");
    let all = assert_junit(&finished.stdout);
    let summary = summary(folder.path());
    for finding in &summary.findings {
        let failures = all.iter().filter(|element| element.name() == "failure");
        let title = English.title(&finding.cause).to_string();
        let told: Vec<&Element> =
            failures.filter(|element| element.attribute("message") == Some(&title)).collect();
        assert_eq!(told.len(), 1, "{title}");
        assert!(
            told[0].text.contains(&finding.replay) && told[0].text.contains("expected"),
            "{}",
            told[0].text
        );
    }
    assert!(elements("<a><b></a></b>", false).is_err() && elements("<a x=1/>", false).is_err());
}

#[test]
fn annotations_are_ten_at_most() {
    let folder = temp();
    checked(folder.path(), "");
    let mut summary = summary(folder.path());
    summary.warnings = vec![Warning::Recorded { text: "odd\nline".into() }; 30];
    let finding = summary.findings[0].clone();
    summary.findings = (0..40)
        .map(|n| Cause::Broken { how: Breakage::Said(format!("finding {n}").into()) })
        .map(|cause| qkvet_spec::Finding { cause, ..finding.clone() })
        .collect();
    let text = written(ReportFormat::Github, &summary);
    let of = |kind: &str| text.lines().filter(|line| line.starts_with(kind)).count();
    assert_eq!((of("::error "), of("::warning "), text.lines().count()), (10, 10, 20));
    assert!(text.contains(" 31 more "), "{text}");
    let mut command = qkvet(folder.path());
    command.args(["report", "--report", "github"]).env("GITHUB_STEP_SUMMARY", "summary.md");
    assert!(finish(&mut command).stderr.starts_with("::error "));
    assert!(folder.read("summary.md").contains("1 finding"));
}

#[test]
fn gitlab_and_sarif_have_what_they_must() {
    let folder = temp();
    checked(folder.path(), "");
    let summary = summary(folder.path());
    let quality: Value =
        serde_json::from_str(&written(ReportFormat::Gitlab, &summary)).expect("a document");
    let entries = quality.as_array().expect("an array");
    assert_eq!(entries.len(), summary.findings.len());
    for entry in entries {
        for name in ["description", "check_name", "fingerprint", "severity"] {
            assert!(entry[name].as_str().is_some_and(|text| !text.is_empty()), "{name} of {entry}");
        }
        assert!(
            ["info", "minor", "major", "critical", "blocker"]
                .contains(&entry["severity"].as_str().expect("a word"))
        );
        let place = &entry["location"];
        let path = place["path"].as_str().expect("a path");
        assert!(
            !path.starts_with("./")
                && place["lines"]["begin"].as_u64().is_some_and(|line| line > 0),
            "{place}"
        );
    }
    let log: Value =
        serde_json::from_str(&written(ReportFormat::Sarif, &summary)).expect("a document");
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    assert!(rules.len() > summary.coverage.laws.len());
    let results = run["results"].as_array().expect("results");
    assert_eq!(results.len(), summary.findings.len());
    for result in results {
        let at =
            usize::try_from(result["ruleIndex"].as_u64().expect("an index")).expect("an index");
        assert_eq!(rules[at]["id"], result["ruleId"]);
        assert!(result["message"]["text"].as_str().is_some_and(|text| !text.contains('\u{1b}')));
        assert!(result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"].is_string());
        assert!(result["partialFingerprints"]["qkvetFinding/v2"].is_string());
    }
    assert_eq!(results[0]["ruleId"], summary.findings[0].cause.faults()[0].code.as_str());
}

/// What others may write into names and messages.
const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{1b}[2J\u{202e}\u{9b}31m\u{85}\u{ad}\u{61c}\u{200b}\u{2060}\u{2066}\u{feff}\u{e0041}]]>&\"'`|\n::error::x%0A\u{0}\u{fffe}\n\u{2003}::add-mask::y ##[error]z";

/// Marks of direction, controls and characters without a width: what nobody sees.
const UNSEEN: [char; 12] = [
    '\u{1b}',
    '\u{202e}',
    '\u{9b}',
    '\u{85}',
    '\u{ad}',
    '\u{61c}',
    '\u{200b}',
    '\u{2060}',
    '\u{2066}',
    '\u{feff}',
    '\u{e0041}',
    '\u{0}',
];

fn hostile(summary: &Summary) -> Summary {
    let mut summary = summary.clone();
    summary.run.target = HOSTILE.to_owned();
    summary.run.environment = vec![HOSTILE.into()];
    summary.run.conventions = vec![HOSTILE.to_owned()];
    summary.warnings = vec![Warning::Recorded { text: HOSTILE.into() }];
    summary.stopped = Some(Stopped::Gone(HOSTILE.into()));
    summary.run.source = Some(qkvet_spec::SourcePlace { path: HOSTILE.to_owned(), line: 3 });
    for record in &mut summary.records {
        record.dtype = HOSTILE.to_owned();
        record.law = HOSTILE.to_owned();
    }
    for finding in &mut summary.findings {
        finding.cause = Cause::Broken { how: Breakage::Said(HOSTILE.into()) };
        finding.law = HOSTILE.to_owned();
        finding.evidence.got = Got::Said(Quoted::new(HOSTILE));
        finding.evidence.stderr = Some(Quoted::new(HOSTILE));
        finding.replay = HOSTILE.to_owned();
        finding.evidence.place.of = HOSTILE.to_owned();
        finding.script_text = Some(HOSTILE.to_owned());
        if let Some(example) = &mut finding.example {
            example.call = HOSTILE.to_owned();
            example.result = HOSTILE.to_owned();
        }
        if let Some(picture) = &mut finding.picture {
            picture.result = HOSTILE.to_owned();
            picture.label = HOSTILE.to_owned();
        }
    }
    summary
}

#[test]
fn hostile_names_are_text_everywhere() {
    let folder = temp();
    checked(folder.path(), "");
    let summary = hostile(&summary(folder.path()));
    for format in ReportFormat::ALL {
        let text = written(format, &summary);
        for odd in UNSEEN {
            assert!(!text.contains(odd), "{} has {odd:?}", format.name());
        }
        // On standard output of a job no line of it is a command, but for those that are meant to
        // be.
        let is_command =
            |line: &str| line.trim_start().starts_with("::") && format != ReportFormat::Github;
        assert!(!text.lines().any(is_command), "{} has a command", format.name());
        assert!(!text.contains("##["), "{} has a command", format.name());
    }
    let verdict = written(ReportFormat::Verdict, &summary);
    assert!(verdict.len() < 2048 && verdict.lines().count() == 1, "{verdict}");
    let verdict: Value = serde_json::from_str(&verdict).expect("JSON");
    assert_eq!(
        (&verdict["fails"], &verdict["findings"]),
        (&true.into(), &summary.findings.len().into())
    );
    // Documents say what was said, to the character; a stream too.
    let again: Summary =
        serde_json::from_str(&written(ReportFormat::Json, &summary)).expect("a report");
    assert!(again == summary);
    let stream = written(ReportFormat::Ndjson, &summary);
    let first: StreamLine =
        serde_json::from_str(stream.lines().next().expect("a line")).expect("a line");
    assert!(matches!(first, StreamLine::Started(run) if *run == summary.run));
    // A name makes no line of its own.
    let shown = written(ReportFormat::Human, &summary);
    assert!(
        shown.lines().next().is_some_and(|line| line.contains("\\n::error::x%0A\\u{0}")),
        "{shown}"
    );
    let read = junit_text(&written(ReportFormat::Junit, &summary));
    // The mark is one of XML: what is read is what was written.
    let is_told = read.lines().any(|line| line.trim_start().starts_with("::error::x"));
    assert!(is_told && read.contains("##[error]z"), "{read}");
    assert_junit(&written(ReportFormat::Junit, &summary));
    let page = written(ReportFormat::Html, &summary);
    let all = elements(&page, true).unwrap_or_else(|error| panic!("{error}"));
    assert!(!all.iter().any(|element| element.name() == "img"));
    assert_eq!(all.iter().filter(|element| element.name() == "script").count(), 1);
    let commands = written(ReportFormat::Github, &summary);
    assert!(
        commands
            .lines()
            .all(|line| line.starts_with("::error file=") || line.starts_with("::warning file="))
    );
    let markdown = written(ReportFormat::Markdown, &summary);
    // Neither in a block nor in a line of code; both are fenced by more backticks than the text
    // has.
    let blocks = markdown.split("```").step_by(2);
    let outside: String = blocks.flat_map(|text| text.split("``").step_by(2)).collect();
    assert!(!outside.contains("<img"), "{outside}");
    for format in [ReportFormat::Gitlab, ReportFormat::Sarif] {
        serde_json::from_str::<Value>(&written(format, &summary)).expect("a document");
    }
}

/// A schema of others, which `cargo xtask test` puts beside the interpreter.
fn schema_of_others(name: &str) -> Option<PathBuf> {
    let python = python()?;
    let path = Path::new(&python).ancestors().nth(2)?.join("share/schemas").join(name);
    let missing = format!("no {}: run `cargo xtask test`", path.display());
    needed(path.is_file().then_some(path), &missing)
}

/// Runs without a finding, with one, with one that is known, with hostile names, that was stopped,
/// that broke, and beside a snapshot.
fn summaries(folder: &Path) -> Vec<(&'static str, Summary)> {
    let after = |words: &str, code: i32| {
        let small = "--suite smoke --law value --dtype float32 -q";
        folder.at_home(format!("{words} {small}")).ends(code);
        summary(folder)
    };
    let mut all = vec![
        ("right", after("check builtin:flash", 0)),
        ("wrong", after(&format!("check {TARGET}"), 1)),
    ];
    all.push(("hostile", hostile(&all[1].1)));
    all.push((
        "stopped",
        Summary { stopped: Some(Stopped::Interrupted), interrupted: true, ..all[0].1.clone() },
    ));
    folder.write(
        "k.yaml",
        "known: [{finding: FAIL, reason: \"so\\e[2J\", link: 'https://example.org/7'}]\n",
    );
    all.push(("known", after(&format!("check {TARGET} --known k.yaml"), 0)));
    after("snapshot record builtin:flash --snapshot s.yaml", 0);
    all.push(("snapshot", after(&format!("snapshot check {TARGET} --snapshot s.yaml"), 1)));
    let broken = "import numpy as np\ndef attention(query, key, value, scale=None, causal=False, mask=None, bias=None, alibi_slopes=None):\n    raise RuntimeError('no \\x1b[2J\\u202ekernel\\n::error::x')\n";
    folder.write("mine.py", broken);
    all.push(("broken", after("check mine.py:attention", 1)));
    all
}

/// What validators of others say against each file, a line an error; nothing where all fit.
fn refused(folder: &Path, schema: &Path, script: &str, files: &[(&str, String)]) -> String {
    let mut command = std::process::Command::new(python().expect("an interpreter"));
    command.args(["-c", script]).arg(schema).current_dir(folder);
    for (name, text) in files {
        folder.write(name, text);
        command.arg(name);
    }
    let finished = finish(&mut command);
    finished.ends(0);
    finished.stdout
}

const BY_JSONSCHEMA: &str = "import json, sys, jsonschema
schema = json.load(open(sys.argv[1], encoding='utf-8'))
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER)
for path in sys.argv[2:]:
    for error in validator.iter_errors(json.load(open(path, encoding='utf-8'))):
        print(path, error.json_path, error.message)
";

#[test]
fn sarif_fits_the_schema_of_oasis() {
    let Some(schema) = schema_of_others("sarif-schema-2.1.0.json") else { return };
    let folder = temp();
    let mut files = Vec::new();
    for (name, summary) in summaries(folder.path()) {
        let text = written(ReportFormat::Sarif, &summary);
        let log: Value = serde_json::from_str(&text).expect("a document");
        let mut results = log["runs"][0]["results"].as_array().expect("results").clone();
        // What is worse than a snapshot without a finding has a result of its own.
        results.retain(|one| !one["ruleId"].to_string().contains("snapshot/"));
        assert_eq!(
            (results.len(), results.is_empty()),
            (summary.findings.len(), ["right", "stopped"].contains(&name)),
            "{name}"
        );
        files.push((name, text));
    }
    assert_eq!(refused(folder.path(), &schema, BY_JSONSCHEMA, &files), "");
    let wrong = files[1].1.replace("\"unicodeCodePoints\"", "\"bytes\"");
    let told = refused(folder.path(), &schema, BY_JSONSCHEMA, &[("bad", wrong)]);
    assert!(told.starts_with("bad $.runs[0].columnKind"), "the schema refuses something: {told}");
}

const BY_LXML: &str = "import sys
from lxml import etree
schema = etree.XMLSchema(etree.parse(sys.argv[1]))
for path in sys.argv[2:]:
    if not schema.validate(etree.parse(path)):
        print(path, schema.error_log)
";

#[test]
fn junit_fits_the_schema_of_jenkins() {
    let Some(schema) = schema_of_others("junit-10.xsd") else { return };
    let folder = temp();
    let mut files = Vec::new();
    for (name, summary) in summaries(folder.path()) {
        let text = written(ReportFormat::Junit, &summary);
        let fails = assert_junit(&text).iter().any(|one| one.name() == "failure");
        assert_eq!(fails, !["right", "known"].contains(&name), "{name}");
        files.push((name, text));
    }
    assert_eq!(refused(folder.path(), &schema, BY_LXML, &files), "");
    let wrong = files[1].1.replace("<failure ", "<failing ").replace("</failure>", "</failing>");
    let told = refused(folder.path(), &schema, BY_LXML, &[("bad", wrong)]);
    assert!(told.starts_with("bad "), "the schema refuses something: {told}");
}

#[test]
fn no_report_of_an_earlier_run_lies_beside_that_of_the_last() {
    let folder = temp();
    let last = |name: &str| folder.has(&format!(".qkvet/last/{name}"));
    let check = "check builtin:flash --suite smoke --law value --dtype float32 -q --report";
    folder.run(format!("{check} sarif,junit")).ends(0);
    assert!(last("report.sarif") && last("junit.xml") && last("report.json"));
    folder.run(format!("{check} html")).ends(0);
    assert!(
        last("report.html") && last("report.json") && !last("report.sarif") && !last("junit.xml")
    );
    // What is made of the last run is of the last run.
    folder.run("report --report sarif").ends(0);
    assert!(last("report.html") && last("report.sarif"));
}

#[test]
fn margins_are_told_when_they_are_asked_for() {
    let folder = temp();
    let check = "check builtin:flash --suite smoke --law value --dtype float32,float64";
    // The rows of the law, and how many words they have.
    let rows = |finished: &Finished| -> Vec<usize> {
        let rows = finished.ends(0).stdout.lines().filter(|line| line.starts_with("  value "));
        rows.map(|row| row.split_whitespace().count()).collect()
    };
    assert_eq!(rows(&folder.run(check)), [0; 0]);
    let told = folder.run(format!("{check} --margins -v"));
    assert_eq!(rows(&told), [3]);
    assert_eq!(folder.run("report --margins").stdout, told.stdout);
}
