//! Targets that attack what is around them: their process, the memory that tensors travel by, the
//! room for files. Each comes to a clear verdict, and nothing is left behind.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "tests look at the processes of the system")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use qkvet_tests::{
    Finished, Folder, Report, Words, compiled, finish, has_python, in_one_process, root, temp,
};
use tempfile::TempDir;

/// Stands in the environment of all that a test starts.
const MARK: &str = "QKVET_TEST_MARK";

const SMOKE: &str = "--suite smoke --dtype float32 --format json -q";

/// A folder whose name is the mark of what is started in it.
struct Marked(TempDir);

impl Marked {
    fn new() -> Self {
        let folder = temp();
        folder.write("hostile.py", root().read("tests/fixtures/hostile/hostile.py"));
        Self(folder)
    }

    fn command(&self, words: impl Words) -> Command {
        let mut command = in_one_process(self.0.path());
        command.args(words.words()).env(MARK, self.0.path());
        command
    }

    /// Checks a function of the fixture; nothing of it is left.
    fn check(&self, function: &str, flags: &str) -> Finished {
        let words = format!("check hostile.py:{function} {SMOKE} {flags}");
        let finished = finish(&mut self.command(words));
        self.assert_gone();
        finished
    }

    /// Processes that were started here and still run. A zombie has no environment.
    fn running(&self) -> Vec<String> {
        let mark = format!("{MARK}={}", self.0.path().display());
        let has_mark = |process: &PathBuf| {
            let environment = fs::read(process.join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|one| one == mark.as_bytes())
        };
        let all = fs::read_dir("/proc").expect("a list").filter_map(Result::ok);
        let marked = all.map(|entry| entry.path()).filter(has_mark);
        marked.map(|path| path.display().to_string()).collect()
    }

    /// Processes, and folders for tensors, that its workers noted.
    fn seen(&self) -> Vec<(u32, PathBuf)> {
        let text = fs::read_to_string(self.0.path().join("seen.txt")).unwrap_or_default();
        let line = |line: &str| {
            let (process, folder) = line.split_once(' ')?;
            Some((process.parse().ok()?, PathBuf::from(folder)))
        };
        // The last line may not be written yet.
        text.split_inclusive('\n').filter_map(|one| line(one.strip_suffix('\n')?)).collect()
    }

    /// Neither a process nor a folder is left. What was killed takes a moment to end.
    fn assert_gone(&self) {
        let start = Instant::now();
        while !self.running().is_empty() {
            assert!(start.elapsed() < Duration::from_secs(60), "left: {:?}", self.running());
            std::thread::sleep(Duration::from_millis(5));
        }
        let folders: BTreeSet<PathBuf> =
            self.seen().into_iter().map(|(_, folder)| folder).collect();
        let left: Vec<_> = folders.iter().filter(|folder| folder.exists()).collect();
        assert!(left.is_empty(), "left: {left:?}");
    }
}

/// Files of a folder and those below it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    let entries = fs::read_dir(folder).expect("a folder").filter_map(Result::ok);
    entries.flat_map(|entry| below(entry.path())).collect()
}

/// The verdicts of all cases, in their order.
fn verdicts(report: &Report) -> Vec<(String, String)> {
    let word = |value: &serde_json::Value| qkvet_tests::text(value).to_owned();
    report.records().map(|one| (word(&one["id"]), word(&one["verdict"]))).collect()
}

/// After ten a run would end.
#[test]
fn a_worker_that_is_killed_at_any_moment_costs_the_case_that_it_had() {
    if !has_python() {
        return;
    }
    let right = Marked::new().check("steady", "").finds(&[]);
    for round in ["0", "1"] {
        let marked = Marked::new();
        let mut command = marked.command(format!("check hostile.py:killed {SMOKE}"));
        let report = finish(command.env("QKVET_TEST_ROUND", round)).finds(&["CRASH"]);
        marked.assert_gone();
        assert!(report.first().how().contains("SIGKILL"), "{}", report.first().how());
        let pairs = verdicts(&right).into_iter().zip(verdicts(&report));
        let lost: Vec<_> = pairs.filter(|(right, now)| right != now).collect();
        assert!(lost.len() == 5 && lost.iter().all(|(_, now)| now.1 == "CRASH"), "{lost:?}");
    }
}

/// What is attacked, the findings, and what is said of the first one.
const ATTACKS: [(&str, &[&str], &str); 8] = [
    ("closes_memory", &["ERROR"], "closed or replaced a file descriptor"),
    ("closes_everything", &["CRASH"], "closed or replaced a file descriptor"),
    ("puts_other_files", &["ERROR"], "closed or replaced a file descriptor"),
    ("cuts_memory", &[], ""),
    ("maps_memory", &[], ""),
    ("writes_inputs", &["QK601"], ""),
    ("forks", &[], ""),
    ("returns_twice", &[], ""),
];

#[test]
fn a_function_that_attacks_its_worker_comes_to_a_clear_end() {
    if !has_python() {
        return;
    }
    for (function, names, said) in ATTACKS {
        let marked = Marked::new();
        let report = marked.check(function, "").finds(names);
        assert!(report["findings"].to_string().contains(said), "{function}: {report:#?}");
        assert!(!marked.seen().is_empty(), "{function}");
    }
}

const PROTOTYPE: &str = "void hostile(const float* q, const float* k, const float* v, float* out, int b, \
                         int h_q, int h_k, int n_q, int n_k, int d_k, int d_v, float scale, bool causal)";

/// How the library is built, the finding, and what is said of it.
const NATIVE: [(&str, &[&str], &str); 7] = [
    ("CLOSES", &["ERROR"], "closed or replaced a file descriptor"),
    ("CLOSES_ALL", &["CRASH"], ""),
    ("CUTS", &[], ""),
    ("UNMAPS", &["CRASH"], "SIGSEGV"),
    ("REMAPS", &["ERROR", "ERROR"], "wrote beyond the buffer `out`"),
    ("LOCKS", &["CRASH"], "SIGSEGV"),
    ("STAYS", &[], ""),
];

#[test]
fn a_library_that_attacks_its_worker_comes_to_a_clear_end() {
    for (way, names, said) in NATIVE {
        let marked = Marked::new();
        let compiler = format!(
            "cc -std=c99 -Wall -Wextra -Wpedantic -Werror -O2 -shared -fPIC \
             -D{way}"
        );
        let library = compiled(&compiler, "tests/fixtures/native/hostile.c", "libhostile.so");
        let words = format!("check lib:{} --call '{PROTOTYPE}' {SMOKE}", library.display());
        let report = finish(&mut marked.command(words)).finds(names);
        assert!(report["findings"].to_string().contains(said), "{way}: {report:#?}");
        marked.assert_gone();
    }
}

/// No file takes a byte: neither the memory and the folder for tensors, nor the cases that are kept.
#[test]
fn where_there_is_no_room_for_files_tensors_travel_in_messages() {
    if !has_python() {
        return;
    }
    let right = Marked::new().check("steady", "").finds(&[]);
    let marked = Marked::new();
    // A write beyond the limit is an error where the signal is ignored.
    let limited = "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    let check = marked.command(format!("check hostile.py:attention {SMOKE}"));
    command.args(["-c", limited]).arg(check.get_program()).args(check.get_args());
    command.current_dir(marked.0.path());
    command.envs(check.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let report = finish(&mut command).finds(&[]);
    marked.assert_gone();
    assert_eq!(verdicts(&report), verdicts(&right));
    let written = |path: &PathBuf| fs::metadata(path).is_ok_and(|file| file.len() > 0);
    let mut files = files(marked.0.path());
    files.retain(written);
    assert_eq!(files, [marked.0.path().join("hostile.py")]);
}

/// Who kills qkvet itself leaves nothing of it either.
#[test]
fn a_run_that_is_killed_takes_its_worker_along() {
    if !has_python() {
        return;
    }
    let marked = Marked::new();
    let mut command = marked.command(format!("check hostile.py:steady {SMOKE}"));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("qkvet");
    qkvet_tests::wait_until("a call", &mut child, || marked.seen().len() > 80);
    child.kill().expect("a signal");
    child.wait().expect("an end");
    marked.assert_gone();
}
