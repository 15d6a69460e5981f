//! Threads of a worker: one, but for one case in ten and for the law repeatability. A race shows.

#![cfg(target_os = "linux")]

use std::fmt::Display;
use std::path::Path;

use qkvet_tests::{Finished, Folder, Words, compiled, finish, has_python, qkvet, temp, text};

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

fn check(folder: &Path, words: impl Display, variables: &[(&str, &str)]) -> Finished {
    called(folder, format!("{words} --format json"), variables)
}

fn called(folder: &Path, words: impl Words, variables: &[(&str, &str)]) -> Finished {
    let mut command = qkvet(folder);
    for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"] {
        command.env_remove(name);
    }
    finish(command.args(words.words()).envs(variables.iter().copied()))
}

const ONE: &[(&str, &str)] = &[("OMP_NUM_THREADS", "1")];

/// A check of the library of `race.c`, whose threads share one buffer or have one each.
fn library(macros: &str) -> String {
    let compiler = format!("cc -std=c99 -Wall -Wextra -Werror -O2 -fopenmp -shared -fPIC {macros}");
    let library = compiled(&compiler, "tests/fixtures/native/race.c", "libattention.so");
    format!("check lib:{} --call '{PROTOTYPE}' --dtype float32", library.display())
}

#[test]
fn a_race_of_openmp_is_found_and_told_from_what_is_wrong_on_one_thread() {
    let folder = temp();
    let library = library("-DSHARED");
    let found = check(folder.path(), &library, &[]).report(1).first();
    assert_eq!(found.name(), "threads");
    let wrong = found.note("threads").and_then(|note| note["wrong"].as_u64());
    assert!(wrong > Some(0), "{found:#?}");
    // One thread hides it, which the user may choose.
    check(folder.path(), library + " --suite smoke", ONE).finds(&[]);
}

#[test]
fn threads_that_share_nothing_are_right() {
    let folder = temp();
    let library = library("");
    check(folder.path(), library + " --suite smoke", &[]).finds(&[]);
}

#[test]
fn what_hangs_on_several_threads_alone_is_told_so() {
    let folder = temp();
    let hangs = library("-DHANGS") + " --suite smoke --timeout 1";
    let counted = |flags: &str| {
        let found = check(folder.path(), format!("{hangs} {flags}"), &[]).report(1).first();
        assert_eq!(found["verdict"], "TIMEOUT");
        found.note("threads").unwrap_or_else(|| panic!("{found:#?}")).clone()
    };
    assert_eq!(counted("")["counted"], "cases");
    // One case is enough to tell.
    let again = counted("-x");
    assert_eq!((&again["counted"], &again["times"]), (&"again".into(), &3.into()));
}

#[test]
fn libraries_of_the_worker_are_told_their_number_of_threads() {
    if !has_python() {
        return;
    }
    let folder = temp();
    folder.write("counts.py", COUNTS);
    let smoke = "--suite smoke --dtype float32";
    let counts = format!("check counts.py:attention {smoke}");
    let found = check(folder.path(), &counts, &[]).finds(&["threads"]).first();
    let note = found.note("threads").expect("counts");
    let count = |name: &str| note[name].as_u64().unwrap_or(0);
    assert!(note["counted"] == "cases" && count("wrong") > 0 && count("one") > 0, "{note}");
    // The witness is shown again.
    called(folder.path(), text(&found["replay"]), &[]).expect(1, &["FAIL"]);
    // A user who sets the number has it in every call: this is no matter of threads.
    let one_law = |target: &str, variables| {
        let words = format!("check {target}.py:attention {smoke} --law single-key");
        check(folder.path(), words, variables)
    };
    let no_matter = |found: Finished| {
        let found = found.report(1).first();
        assert_eq!(found["verdict"], "FAIL");
        assert!(found.name() != "threads" && found.note("threads").is_none(), "{found:#?}");
    };
    no_matter(one_law("counts", &[("OMP_NUM_THREADS", "2")]));
    // So does a target that sets it by itself.
    folder.write("own.py", COUNTS.replacen('\n', "\ntorch.set_num_threads(2)\n", 1));
    no_matter(one_law("own", &[]));
    one_law("counts", ONE).finds(&[]);
}
