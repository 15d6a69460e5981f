//! The recipes of `docs/scale-out.md`, run as they stand there.

#![cfg(unix)]

use qkvet_tests::{Finished, Folder, has_python, python, root, shell, temp};
use tempfile::TempDir;

/// The first block in this language after a heading.
fn block<'a>(page: &'a str, heading: &str, language: &str) -> &'a str {
    let after =
        page.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no {heading}")).1;
    let after = after
        .split_once(&format!("\n```{language}\n"))
        .unwrap_or_else(|| panic!("no {language}"))
        .1;
    after.split_once("\n```").expect("an end").0
}

/// Takes the example for the reader's own, with a fault in it.
fn folder() -> TempDir {
    let folder = temp();
    let right = root().read("examples/numpy_attention.py");
    let rest = "\n_right = attention\n\ndef attention(query, key, value, causal=False):\n    return _right(query, key, value, causal=causal) * (2 if causal else 1)\n";
    folder.write("attention.py", right + rest);
    folder
}

/// What the recipes leave open. Built-in targets are joined in all formats, in `shards`.
const FORMAT: &str = "QKVET_DTYPE=float32";

fn lines(folder: &TempDir, set: &str, lines: &str) -> Finished {
    let python = python().expect("an interpreter");
    shell(folder.path(), &format!("export {FORMAT} QKVET_PYTHON='{python}' {set}\n{lines}"))
}

/// The whole, which the recipes join to: where they ask the target at the end.
fn whole(folder: &TempDir) -> Finished {
    let whole = lines(folder, "", "qkvet check attention.py:attention --suite smoke -q");
    whole.expect(1, &["FAIL"]);
    whole
}

fn is_whole(joined: &Finished, whole: &Finished) {
    assert_eq!((joined.code, &joined.stdout), (whole.code, &whole.stdout), "{}", joined.stderr);
}

#[test]
fn a_matrix_of_jobs_gives_one_report() {
    if !has_python() {
        return;
    }
    let page = root().read("docs/scale-out.md");
    let recipe = block(&page, "A matrix of CI jobs", "yaml");
    let numbers =
        recipe.split_once("shard: [").expect("a matrix").1.split_once(']').expect("a list").0;
    let commands: Vec<&str> = recipe
        .lines()
        .filter_map(|line| line.split_once("run: qkvet "))
        .map(|(_, rest)| rest)
        .collect();
    let [check, merge] = commands[..] else { panic!("{commands:?}") };
    let folder = folder();
    for number in numbers.split(", ") {
        let shard =
            lines(&folder, "", &format!("qkvet {}", check.replace("${{ matrix.shard }}", number)));
        assert!(matches!(shard.code, Some(0 | 1 | 4)), "{}", shard.stderr);
        assert!(folder.path().join(format!("shard-{number}.jsonl")).is_file(), "{number}");
    }
    is_whole(&lines(&folder, "", &format!("qkvet {merge} -q")), &whole(&folder));
}

#[test]
fn an_array_of_jobs_gives_one_report() {
    if !has_python() {
        return;
    }
    let page = root().read("docs/scale-out.md");
    let script = block(&page, "A Slurm array", "bash");
    let count: u32 = script
        .split_once("--array=1-")
        .and_then(|(_, rest)| rest.lines().next()?.parse().ok())
        .expect("a count");
    let folder = folder();
    for task in 1..=count {
        let set = format!("SLURM_ARRAY_TASK_ID={task} SLURM_ARRAY_TASK_COUNT={count}");
        let shard = lines(&folder, &set, script);
        assert!(matches!(shard.code, Some(0 | 1 | 4)), "{}", shard.stderr);
    }
    let submitted = block(&page, "A Slurm array", "console");
    let merge =
        submitted.split_once("--wrap='").expect("a job").1.split_once('\'').expect("an end").0;
    is_whole(&lines(&folder, "", &format!("{merge} -q")), &whole(&folder));
}

#[test]
fn processes_of_one_machine_give_one_report() {
    if !has_python() {
        return;
    }
    let page = root().read("docs/scale-out.md");
    let folder = folder();
    let joined = lines(
        &folder,
        "",
        &format!("{} -q", block(&page, "Several processes of one machine", "bash")),
    );
    is_whole(&joined, &whole(&folder));
}
