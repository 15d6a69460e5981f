//! Runs that are spread over a Ray cluster: the report of one machine, whoever dies on the way.

#![cfg(unix)]

use qkvet_tests::package::Environment;
use qkvet_tests::{Folder, finish, has_module, python, root, temp};

/// One test for all: a machine is not asked to hold two clusters.
#[test]
fn a_cluster_gives_the_report_of_one_machine() {
    if !has_module("ray") {
        return;
    }
    let base = python().expect("an interpreter");
    let environment = Environment::build();
    without_ray_it_says_how_to_get_it(&environment);
    without_the_package_it_says_how_to_get_it(&environment, &base);
    both_doors_survive_a_killed_worker(&environment);
}

fn without_ray_it_says_how_to_get_it(environment: &Environment) {
    let folder = temp();
    let no_ray = "raise ModuleNotFoundError(\"No module named 'ray'\", name='ray')\n";
    folder.write("ray.py", no_ray);
    let lines = "import qkvet\nqkvet.ray.check(lambda query, key, value: value)";
    let function = finish(environment.command(&["-c", lines]).env("PYTHONPATH", folder.path()));
    function.expect(1, &["ModuleNotFoundError: engine ray", "pip install ray"]);
    let asked = "-m qkvet check builtin:flash --engine ray";
    let command = finish(environment.command(asked).env("PYTHONPATH", folder.path()));
    command.expect(2, &["error: engine ray", "pip install ray"]);
    assert!(command.stdout.is_empty(), "{}", command.stdout);
}

fn without_the_package_it_says_how_to_get_it(environment: &Environment, base: &str) {
    let check = |words: &str| environment.run(format!("-m qkvet check builtin:flash {words}"));
    for (words, parts) in [
        (format!("--engine ray --python {base}"), ["error: engine ray", "pip install qkvet ray"]),
        ("--engine ray --python no-such-python".to_owned(), ["no-such-python", "--python"]),
        ("--workers 2".to_owned(), ["--workers", "--engine"]),
        ("--engine ray --shard 1/2".to_owned(), ["--engine", "--shard"]),
        ("--engine ray --resources GPU".to_owned(), ["resources at GPU", "NAME=N"]),
    ] {
        check(&words).expect(2, &parts);
    }
}

/// What `tests/python/ray_doors.py` asserts, in a folder of its own with names short enough for the
/// sockets of Ray.
fn both_doors_survive_a_killed_worker(environment: &Environment) {
    let short = tempfile::Builder::new().prefix("qkr").tempdir_in("/tmp").expect("a folder");
    let work = temp();
    let files = root().join("tests/python");
    for name in ["ray_target.py", "ray_doors.py"] {
        std::fs::copy(files.join(name), work.path().join(name)).expect("a copy");
    }
    let mut command = environment.command("ray_doors.py");
    command.current_dir(&work).env("PYTHONPATH", work.path()).env("RAY_TMPDIR", short.path());
    for (name, value) in [
        ("RAY_ADDRESS", "local"),
        ("RAY_AUTH_MODE", "disabled"),
        ("RAY_USAGE_STATS_ENABLED", "0"),
        ("RAY_DISABLE_MEMORY_MONITOR", "1"),
        ("RAY_memory_monitor_refresh_ms", "0"),
        ("RAY_object_store_allow_slow_storage", "1"),
    ] {
        command.env(name, value);
    }
    let finished = finish(&mut command);
    finished.expect(
        0,
        &[
            "function: the report of one process,",
            "ray_target.py:tiled the report of one machine,",
            "ray_target.py:crashing the report of one machine, ['CRASH'] 1",
            "TypeError function at",
            "TimeoutError resources: ",
            "RuntimeError workers: expected to start",
            "commands: 3 error: resources: ",
        ],
    );
}
