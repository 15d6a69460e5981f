//! Threads of a worker: one, but for one case in ten and for the law repeatability. A race shows.

#![allow(clippy::disallowed_methods, reason = "tests build libraries and write targets")]
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;

use qkvet_tests::{Finished, finish, has_python, qkvet, root};
use tempfile::TempDir;

/// How the finding begins.
const TITLE: &str = "wrong only when the library uses several threads";

const PROTOTYPE: &str = "int attention(const float* q, const float* k, const float* v, float* out, \
                         int b, int h_q, int h_k, int n_q, int n_k, int d_k, int d_v, float scale, \
                         bool causal)";

/// Right on one thread, wrong on more, as torch counts them.
const COUNTS: &str = "\
import torch

def attention(query, key, value, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    key, value = (x.repeat_interleave(query.shape[1] // x.shape[1], 1) for x in (key, value))
    output = torch.softmax(scale * (query @ key.transpose(-1, -2)), -1) @ value
    return output + 10 * (torch.get_num_threads() > 1)
";

fn check(folder: &Path, args: &[&str], variables: &[(&str, &str)]) -> Finished {
    let mut command = qkvet(folder);
    for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"] {
        command.env_remove(name);
    }
    command.args(args).envs(variables.iter().copied());
    finish(&mut command)
}

/// The library of `race.c`, whose threads share one buffer or have one each.
fn library(folder: &Path, flags: &[&str]) -> String {
    let path = folder.join("libattention.so");
    let mut command = Command::new("cc");
    command
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "-fopenmp", "-shared", "-fPIC"]);
    command.args(flags).arg("-o").arg(&path).arg(root().join("tests/fixtures/native/race.c"));
    finish(command.arg("-lm")).expect(0, &[]);
    format!("lib:{}", path.display())
}

#[test]
fn a_race_of_openmp_is_found_and_told_from_what_is_wrong_on_one_thread() {
    let folder = TempDir::new().expect("a folder");
    let target = library(folder.path(), &["-DSHARED"]);
    let args = ["check", &target, "--call", PROTOTYPE, "--dtype", "float32"];
    let found = check(folder.path(), &args, &[("QKVET_JOBS", "1")]);
    found.expect(1, &[TITLE, "on several threads", "`qkvet explain threads`"]);
    // One thread hides it, which the user may choose.
    let smoke = [&args[..], &["--suite", "smoke"]].concat();
    check(folder.path(), &smoke, &[("OMP_NUM_THREADS", "1")]).expect(0, &["no finding in"]);
}

#[test]
fn threads_that_share_nothing_are_right() {
    let folder = TempDir::new().expect("a folder");
    let target = library(folder.path(), &[]);
    let args = ["check", &target, "--call", PROTOTYPE, "--dtype", "float32", "--suite", "smoke"];
    check(folder.path(), &args, &[]).expect(0, &["no finding in"]);
}

#[test]
fn what_hangs_on_several_threads_alone_is_told_so() {
    let folder = TempDir::new().expect("a folder");
    let target = library(folder.path(), &["-DHANGS"]);
    let args = ["check", &target, "--call", PROTOTYPE, "--dtype", "float32", "--suite", "smoke"];
    let more = ["--timeout", "1", "-q"];
    check(folder.path(), &[&args[..], &more].concat(), &[])
        .expect(1, &["TIMEOUT", TITLE, "on one thread none of"]);
    // One case is enough to tell.
    check(folder.path(), &[&args[..], &more, &["-x"]].concat(), &[])
        .expect(1, &["TIMEOUT", "never of 3 on one"]);
}

#[test]
fn libraries_of_the_worker_are_told_their_number_of_threads() {
    if !has_python() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    std::fs::write(folder.path().join("counts.py"), COUNTS).expect("a file");
    let args = ["check", "counts.py:attention", "--suite", "smoke", "--dtype", "float32"];
    let found = check(folder.path(), &args, &[]);
    found.expect(1, &[TITLE, "on several threads", "on one thread none of"]);
    // The witness is shown again, by its id and by its token.
    let again = |line: &&str| line.trim().starts_with("replay ");
    let line = found.stdout.lines().find(again).expect("a line");
    let words: Vec<&str> =
        line.split_whitespace().skip(2).take_while(|word| *word != "or").collect();
    check(folder.path(), &words, &[]).expect(1, &["FAIL"]);
    // A user who sets the number has it in every call: this is no matter of threads.
    let args = [&args[..], &["--law", "single-key"]].concat();
    let all = check(folder.path(), &args, &[("OMP_NUM_THREADS", "2")]);
    all.expect(1, &["FAIL"]);
    assert!(!all.stdout.contains(TITLE), "{}", all.stdout);
    // So does a target that sets it by itself.
    let own = COUNTS.replacen('\n', "\ntorch.set_num_threads(2)\n", 1);
    std::fs::write(folder.path().join("own.py"), own).expect("a file");
    let own = check(folder.path(), &[&["check", "own.py:attention"], &args[2..]].concat(), &[]);
    own.expect(1, &["FAIL"]);
    assert!(!own.stdout.contains(TITLE), "{}", own.stdout);
    check(folder.path(), &args, &[("OMP_NUM_THREADS", "1")]).expect(0, &["no finding in"]);
}
