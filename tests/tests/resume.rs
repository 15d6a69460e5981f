//! `qkvet check --resume`: what was cut off goes on.

use std::process::Stdio;

use qkvet_tests::{Finished, Folder, Words, finish, has_python, qkvet, temp, wait_until};

/// A function that is wrong where causal, and counts its calls in a file.
const COUNTING: &str = "import os
import numpy as np

COUNT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.environ.get('CALLS', 'uncounted'))

def attention(query, key, value, *, scale=None, causal=False):
    with open(COUNT, 'a') as calls:
        calls.write('.')
    scores = query @ np.swapaxes(key, -1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        n_q, n_k = scores.shape[-2:]
        hidden = np.arange(n_k) > np.arange(n_q)[:, None] + n_k - n_q + 1
        scores = np.where(hidden, -np.inf, scores)
    largest = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(largest), largest, 0))
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ value
";
const CHECK: &str = "check mine.py:attention --suite smoke --dtype float32 --format json";
const JOURNAL: &str = ".qkvet/resume/mine.py-attention-92fbd73f.jsonl";

/// Runs it to the end: what came, and how many calls there were. The worker of a run that was killed
/// may still be in a call.
fn counted(folder: &impl Folder, flags: &str) -> (Finished, usize) {
    folder.write("calls", "");
    let words = format!("{CHECK} {flags}");
    let mut command = qkvet(folder.as_ref());
    let finished = finish(command.args(words.words()).env("CALLS", "calls"));
    (finished, folder.read("calls").len())
}

/// Begins a run and kills it once so many answers are kept.
fn killed(folder: &impl Folder, answers: usize) {
    let mut command = qkvet(folder.as_ref());
    command.args(CHECK.split(' ').chain(["--resume"])).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    wait_until("a journal", &mut child, || {
        folder.has(JOURNAL) && folder.read(JOURNAL).lines().count() > answers
    });
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

#[test]
fn a_killed_run_goes_on_to_the_same_report() {
    if !has_python() {
        return;
    }
    let folder = temp();
    folder.write("mine.py", COUNTING);
    let (whole, calls) = counted(&folder, "");
    whole.ends(1);
    for answers in [1, 60, 150] {
        killed(&folder, answers);
        // A machine that lost its power has half a line.
        let torn = folder.read(JOURNAL) + "{\"case\":\"c-0";
        // What is declined for its options is no call of the function.
        let kept = torn.lines().filter(|line| line.contains("\"response\":{\"output\"")).count();
        folder.write(JOURNAL, torn);
        let (rest, more) = counted(&folder, "--resume");
        assert_eq!(rest.ends(1).stdout, whole.stdout);
        // How many calls look for the extents that it takes differs by a few.
        assert!(more + kept <= calls + calls / 50, "{kept} and {more} of {calls}");
        assert!(rest.stderr.contains("of the run that was cut off"), "{}", rest.stderr);
        assert!(!folder.has(JOURNAL));
    }
}

/// What a target loads is a part of it.
#[test]
fn what_loads_another_file_now_is_asked_anew() {
    if !has_python() {
        return;
    }
    let folder = temp();
    folder.write("inner/first.py", "AHEAD = 0\n");
    let loads = "from inner.first import AHEAD\n".to_owned() + COUNTING;
    folder.write("mine.py", loads.replace("n_k - n_q + 1", "n_k - n_q + AHEAD"));
    killed(&folder, 40);
    folder.write("inner/first.py", "AHEAD = 1\n");
    let (broken, _) = counted(&folder, "--resume");
    broken.expect(1, &["inner/first.py is another file now"]);
}

#[test]
fn what_another_version_answered_is_not_used() {
    if !has_python() {
        return;
    }
    let folder = temp();
    folder.write("mine.py", COUNTING);
    killed(&folder, 40);
    folder.write("mine.py", COUNTING.replace("n_k - n_q + 1", "n_k - n_q"));
    let (mended, calls) = counted(&folder, "--resume");
    mended.ends(0);
    assert_eq!(counted(&folder, "").1, calls);
    // What a run with an end of its own left out is asked by the next one alone.
    let (part, begun) = counted(&folder, "--resume --until 50");
    part.expect(0, &["goes on from here"]);
    let (rest, more) = counted(&folder, "--resume");
    rest.ends(0);
    assert!(begun > 30 && more + begun <= calls + 20, "{begun} {more} {calls}");
    #[cfg(unix)]
    {
        folder.write("elsewhere", "mine");
        std::os::unix::fs::symlink("../../elsewhere", folder.path().join(JOURNAL)).expect("a link");
        counted(&folder, "--resume").0.expect(0, &["is a link"]);
        assert_eq!(folder.read("elsewhere"), "mine");
    }
}
