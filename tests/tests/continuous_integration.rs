//! What `qkvet init ci` writes, from the first commit of a repository: each job is a fresh clone in
//! which the commands of the file itself are run.

#![cfg(unix)]
#![allow(clippy::disallowed_methods, reason = "tests compare the bytes of files")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use qkvet_spec::parse_yaml;
use qkvet_tests::{
    Finished, Folder, finish, has_python, numpy_attention, python, shell, temp, text,
};
use serde_json::Value;
use tempfile::TempDir;

/// A function of NumPy: what it divides the weights by, and what it makes of scores where there is
/// a softcap.
fn attention(sum: &str, capped: &str) -> String {
    numpy_attention(", softcap=None", &format!("    if softcap is not None: s = {capped}\n"), sum)
}

/// The line of its `def attention`.
const LINE: usize = 4;
const SUM: &str = "np.where(sums > 0, sums, 1)";
const CAPPED: &str = "softcap * np.tanh(s / softcap)";

/// A service: its flag, its file, and the command that the file offers for a snapshot in place of
/// the check.
struct Service {
    flag: &'static str,
    path: &'static str,
    check: &'static str,
}

const GITHUB: Service = Service {
    flag: "--github",
    path: ".github/workflows/qkvet.yml",
    check: "run: qkvet check mine",
};
const GITLAB: Service =
    Service { flag: "--gitlab", path: ".gitlab-ci.yml", check: "- qkvet check mine" };

impl Service {
    /// The commands of a job: each `run:` of each step but the installation, or each line of
    /// `script:`.
    fn commands(&self, file: &Value) -> Vec<String> {
        let owned = |value: &Value| text(value).to_owned();
        if self.flag == "--gitlab" {
            assert!(
                file["qkvet"]["before_script"].to_string().contains("pip install qkvet"),
                "{file}"
            );
            return file["qkvet"]["script"]
                .as_array()
                .expect("a script")
                .iter()
                .map(owned)
                .collect();
        }
        let steps = file["jobs"]["check"]["steps"].as_array().expect("steps");
        let install = steps.iter().find(|step| step["name"] == "Install").expect("an installation");
        assert!(
            install["run"].as_str().is_some_and(|run| run.contains("pip install qkvet")),
            "{install}"
        );
        // A folder whose name begins with a dot is kept only if that is said.
        let kept = steps
            .iter()
            .find(|step| step["with"]["path"] == ".qkvet/last/")
            .expect("a step that keeps reports");
        assert_eq!(kept["with"]["include-hidden-files"], true);
        steps
            .iter()
            .filter(|step| step["name"] != "Install")
            .filter_map(|step| step.get("run"))
            .map(owned)
            .collect()
    }

    /// The file with its command for a snapshot in place of the check, as its comment says.
    fn guarded(&self, text: &str) -> String {
        let offered =
            text.lines().find_map(|line| line.trim().strip_prefix("#   qkvet snapshot check"));
        let offered = format!("qkvet snapshot check{}", offered.expect("the line for a snapshot"));
        let is_check = |line: &&str| line.trim().starts_with(self.check);
        let check = text.lines().find(is_check).expect("the check").trim();
        let lead = self.check.split("qkvet").next().expect("what stands before it");
        text.replacen(check, &format!("{lead}{offered}"), 1)
    }
}

/// A repository at home, and the folder that jobs clone it into.
struct Story<'a> {
    service: &'a Service,
    folder: TempDir,
    jobs: usize,
}

impl Story<'_> {
    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn write(&self, name: &str, text: &str) {
        self.home().write(name, text);
    }

    fn read(&self, name: &str) -> String {
        self.home().read(name)
    }

    fn git(&self, args: &[&str]) -> Finished {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"])
            .args(args);
        git.current_dir(self.home())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null");
        let finished = finish(&mut git);
        finished.ends(0);
        finished
    }

    /// Commits all that is there; what qkvet keeps for itself is no part of it.
    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "work"]);
        assert!(!self.git(&["ls-files"]).stdout.contains(".qkvet/"), "the store is committed");
    }

    /// A command on a developer's machine.
    fn at_home(&self, words: &str) -> Finished {
        self.home().at_home(words)
    }

    /// The job in a fresh clone: what it came to, and its clone. It writes its reports and nothing
    /// else.
    fn job(&mut self) -> (Finished, PathBuf) {
        self.jobs += 1;
        let clone = self.folder.path().join(format!("job-{}", self.jobs));
        self.git(&["clone", "--quiet", ".", &clone.display().to_string()]);
        let text = clone.read(self.service.path);
        let file: Value = parse_yaml(self.service.path, &text).expect("YAML");
        let python = python().expect("an interpreter");
        let mut lines = format!(
            "set -e\nexport CI=true GITHUB_STEP_SUMMARY=../summary.md QKVET_PYTHON='{python}'\n"
        );
        self.service.commands(&file).iter().for_each(|line| lines.push_str(&format!("{line}\n")));
        let before = contents(&clone);
        let finished = shell(&clone, &lines);
        assert_eq!(contents(&clone), before, "CI wrote");
        assert!(!clone.join(".qkvet/running-0.json").exists(), "the run is over");
        (finished, clone)
    }

    /// The job, which has to come to this.
    fn expect(&mut self, code: i32, parts: &[&str]) -> PathBuf {
        let (finished, clone) = self.job();
        finished.expect(code, parts);
        clone
    }

    /// The job, which has to fail and to name the cause at the line of the function, as the service
    /// shows it.
    fn expect_annotated(&mut self, code: &str) -> PathBuf {
        let (finished, clone) = self.job();
        finished.expect(1, &[code]);
        if self.service.flag == "--github" {
            let place = format!("::error file=attention.py,line={LINE},");
            let annotations: Vec<&str> =
                finished.stderr.lines().filter(|line| line.starts_with("::error ")).collect();
            assert!(!annotations.is_empty() && annotations.len() <= 10, "{}", finished.stderr);
            assert!(annotations.iter().all(|line| line.starts_with(&place)), "{annotations:?}");
            assert!(annotations.iter().any(|line| line.contains(code)), "{annotations:?}");
            let summary = self.folder.read("summary.md");
            assert!(summary.contains(code), "{summary}");
        } else {
            let report = clone.read(".qkvet/last/gitlab.json");
            let report: Value = serde_json::from_str(&report).expect("JSON");
            let entries = report.as_array().expect("entries");
            let named = entries
                .iter()
                .find(|entry| entry["check_name"].as_str().is_some_and(|name| name == code));
            let named = named.unwrap_or_else(|| panic!("{report}"));
            assert_eq!(named["location"]["path"], "attention.py");
            assert_eq!(named["location"]["lines"]["begin"], LINE);
        }
        for kept in ["report.json", "report.html", "junit.xml"] {
            assert!(clone.join(".qkvet/last").join(kept).is_file(), "{kept}");
        }
        clone
    }
}

/// Every file of a folder but qkvet's own store, with its content.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(&at).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                if path != folder.join(".qkvet") {
                    open.push(path);
                }
            } else {
                all.insert(
                    path.strip_prefix(folder).expect("below").to_owned(),
                    std::fs::read(&path).expect("a file"),
                );
            }
        }
    }
    all
}

/// A target with an open finding is put under a snapshot, breaks, is mended, and becomes better.
fn story(service: &Service) {
    if !has_python() {
        return;
    }
    let mut story = Story { service, folder: temp(), jobs: 0 };
    story.write("attention.py", &attention(SUM, "s"));
    story.git(&["init", "--quiet"]);
    let init = format!("init ci {}", service.flag);
    story.at_home(&init).expect(2, &["qkvet.yaml", "qkvet init --target"]);
    story.at_home("init --target attention.py:attention").expect(0, &["qkvet.yaml"]);
    let config = story.read("qkvet.yaml");
    let config = config.replace("suite: core", "suite: smoke");
    story
        .write("qkvet.yaml", &config.replace("# dtypes: [float32, bfloat16]", "dtypes: [float32]"));
    story.at_home(&init).expect(0, &[service.path, "qkvet check mine --profile ci"]);
    story.at_home(&init).expect(2, &[service.path, "--force"]);
    story.at_home(&format!("{init} --force")).expect(0, &[service.path]);
    story.commit();

    // The check as it is written fails for what is open, and holds a target that is right.
    let open = story.expect_annotated("QK211");
    if service.flag == "--gitlab" {
        let file: Value = parse_yaml(service.path, &story.read(service.path)).expect("YAML");
        for report in file["qkvet"]["artifacts"]["reports"].as_object().expect("reports").values() {
            assert!(open.join(report.as_str().expect("a path")).is_file(), "{report}");
        }
    }
    story.write("attention.py", &attention(SUM, CAPPED));
    story.commit();
    story.expect(0, &[]);

    // With the snapshot that the file offers, what is open is recorded.
    story.write("attention.py", &attention(SUM, "s"));
    story.write(service.path, &service.guarded(&story.read(service.path)));
    story.commit();
    story.expect(2, &["hint: `qkvet snapshot record mine`"]);
    let text = story.read(service.path);
    let record = text
        .split('`')
        .find(|part| part.starts_with("qkvet snapshot record"))
        .expect("the command");
    story.at_home(record).expect(0, &["snapshots/mine.qkvet.yaml", " 0 replaced"]);
    story.commit();
    let recorded = story.read("snapshots/mine.qkvet.yaml");
    story.expect(0, &["RECORDED"]);

    // It breaks: the job fails, and names what is new alone.
    story.write("attention.py", &attention("1", "s"));
    story.commit();
    let broken = story.expect_annotated("QK301");
    assert!(broken.join("snapshots/mine.qkvet.yaml").is_file());
    story.write("attention.py", &attention(SUM, "s"));
    story.commit();
    story.expect(0, &["RECORDED"]);

    // It becomes better than recorded: told, and taken over at home from what the job kept.
    story.write("attention.py", &attention(SUM, CAPPED));
    story.commit();
    let better = story.expect(0, &["QK211 → PASS", "improvement"]);
    assert_eq!(story.read("snapshots/mine.qkvet.yaml"), recorded);
    let artifact = better.join(".qkvet/last").display().to_string();
    story
        .at_home(&format!("snapshot accept mine --from {artifact} --all"))
        .expect(0, &[" 0 added, "]);
    let accepted = story.read("snapshots/mine.qkvet.yaml");
    assert!(recorded.contains("QK211") && !accepted.contains("QK211"), "{accepted}");
    story.commit();
    story.expect(0, &[]);
    // What was taken over is guarded too.
    story.write("attention.py", &attention(SUM, "s"));
    story.commit();
    story.expect_annotated("QK211");
}

#[test]
fn a_job_of_github_guards_a_target() {
    story(&GITHUB);
}

#[test]
fn a_job_of_gitlab_guards_a_target() {
    story(&GITLAB);
}
