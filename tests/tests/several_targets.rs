//! `qkvet check` on several targets, and again when a file changes.

use std::cell::Cell;

use qkvet_tests::{Folder, has_python, interrupted, numpy_attention, qkvet, root, temp};
use serde_json::Value;

const WRONG: &str = "builtin:fault/window-off-by-one";
const SMALL: &str = "--suite smoke --dtype float32 --law value";

fn config(wrong: &str) -> String {
    format!("targets:\n  right: {{target: 'builtin:standard'}}\n  wrong: {{target: '{wrong}'}}\n")
}

#[test]
fn each_of_several_targets_has_its_report() {
    let folder = temp();
    folder.write("qkvet.yaml", config(WRONG));
    let wishes = "'junit,json=out/{target}.json,pytest=out/test_{target}.py'";
    let named = format!("check right wrong {SMALL} -q --report {wishes}");
    let both = folder.run(&named);
    both.ends(1);
    let [right, wrong] = ["right", "wrong"].map(|target| {
        let own = folder.read(&format!("out/{target}.json"));
        assert_eq!(own, folder.read(&format!(".qkvet/last/{target}/report.json")));
        assert!(folder.has(&format!(".qkvet/last/{target}/junit.xml")));
        let report: Value = serde_json::from_str(&own).expect("a report");
        assert_eq!(report["run"]["target"], target);
        report["findings"].as_array().map_or(0, Vec::len)
    });
    assert_eq!((right, wrong), (0, 1));
    let tests = ["right", "wrong"].map(|target| folder.read(&format!("out/test_{target}.py")));
    assert_eq!(tests.map(|text| text.matches("\ndef test_").count()), [0, 1]);
    let all = folder.run(format!("check --all {SMALL} -q"));
    assert_eq!(all.ends(1).stdout, both.stdout);
    let alone = folder.run(format!("check wrong {SMALL} -q"));
    assert!(both.stdout.contains(&alone.ends(1).stdout), "{}", both.stdout);

    let lines = folder.run(format!("check --all {SMALL} --format verdict"));
    let lines: Vec<Value> = lines
        .ends(1)
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object a line"))
        .collect();
    assert_eq!(lines.iter().map(|one| &one["target"]).collect::<Vec<_>>(), ["right", "wrong"]);

    // What failed is asked again of each, and of one alone.
    for words in ["--all", "wrong"] {
        let again = folder.run(format!("check {words} {SMALL} -q --lf --format verdict"));
        let last = again.ends(1).stdout.lines().last().unwrap_or_default().to_owned();
        let last: Value = serde_json::from_str(&last).expect("an object");
        let whole = lines.last().expect("two");
        assert!(last["checked"].as_u64() < whole["checked"].as_u64(), "{words}: {last}");
    }
}

#[test]
fn one_that_cannot_be_begun_costs_no_other() {
    let folder = temp();
    let finished = folder.run(format!("check builtin:fault/none {WRONG} {SMALL} -q"));
    finished.expect(2, &[&format!("exit 1  {WRONG}"), "exit 2  builtin:fault/none"]);
    folder.run("check --all").expect(2, &["--all", "no qkvet.yaml", "hint:"]);
    folder.run("check").ends(2);
    let folder = temp();
    folder.write("qkvet.yaml", config(WRONG));
    for flags in ["--format json", "--report junit=one.xml", "--save-fault f.yaml", "--shard 1/2"] {
        let refused = folder.run(format!("check right wrong {SMALL} {flags}"));
        let flag = flags.split(' ').next().unwrap_or_default();
        refused.expect(2, &[flag]);
        assert!(refused.stdout.is_empty() && !folder.has(".qkvet"), "{flags}");
    }
}

#[test]
#[cfg(unix)]
fn a_changed_file_is_checked_again() {
    let folder = temp();
    folder.write("qkvet.yaml", config(WRONG));
    let is_mended = Cell::new(false);
    let findings = || {
        let path = ".qkvet/last/report.json";
        let text = folder.has(path).then(|| folder.read(path))?;
        let report: Value = serde_json::from_str(&text).ok()?;
        report["findings"].as_array().map(Vec::len)
    };
    let words = format!("check wrong {SMALL} -q --watch");
    let mut command = qkvet(folder.path());
    command.args(words.split(' '));
    let finished = interrupted("a second run", &mut command, || match findings() {
        Some(0) => true,
        Some(_) if !is_mended.replace(true) => {
            folder.write("qkvet.yaml", config("builtin:standard"));
            false
        }
        _ => false,
    });
    finished.expect(130, &["FAIL ", "qkvet.yaml", "Ctrl-C ends"]);
    let none = folder.run(format!("check {WRONG} {SMALL} -q --watch --config nothing.yaml"));
    none.ends(2);
    let elsewhere = temp();
    elsewhere.run(format!("check {WRONG} {SMALL} -q --watch")).expect(1, &["--watch ends"]);
}

#[test]
fn two_targets_are_compared_on_the_same_cases() {
    let folder = temp();
    let compared = |words: &str, code: i32| {
        let finished = folder.run(format!("compare {words} {SMALL} --format json"));
        finished.ends(code);
        finished.json()
    };
    let count = |of: &Value, name: &str| of["cases"][name].as_u64().expect("a count");
    let right = "builtin:standard";
    let other = compared(&format!("{right} {WRONG}"), 1);
    assert!(count(&other, "only_b") > 0 && count(&other, "both_hold") > 0, "{other}");
    assert_eq!((count(&other, "only_a"), count(&other, "both_wrong")), (0, 0));
    assert_eq!(other["findings"][0]["name"], "QK232");
    assert!(other["findings"][0]["a"].is_null() && other["findings"][0]["b"].is_object());
    let turned = compared(&format!("{WRONG} {right}"), 1);
    assert_eq!(count(&turned, "only_a"), count(&other, "only_b"));
    let same = compared(&format!("{WRONG} {WRONG}"), 0);
    assert_eq!(count(&same, "both_wrong"), count(&other, "only_b"));
    compared(&format!("{right} builtin:flash"), 0);

    // As the page shows it.
    let line = "compare builtin:standard builtin:fault/window-off-by-one --suite smoke --law value \
                --dtype float32";
    let text = folder.run(line);
    text.expect(1, &["only B is wrong", "only B  FAIL  QK232 "]);
    let page = root().read("docs/reports.md");
    assert!(page.contains(&format!("$ qkvet {line}\n{}", text.stdout)), "{}", text.stdout);
    for wrong in [format!("compare {right}"), format!("compare {right} {WRONG} --format html")] {
        folder.run(&wrong).ends(2);
    }
    // One of them asks for few shapes: the other one is asked no others.
    folder.write("qkvet.yaml", "targets: {few: {target: 'builtin:standard', shapes: 4}}\n");
    for words in ["few builtin:flash", "builtin:flash few"] {
        let few = compared(words, 0);
        assert!(count(&few, "both_hold") > 0 && count(&few, "not_run") == 0, "{words}: {few}");
        assert!(few["warnings"].to_string().contains("at most 4 combinations"), "{few}");
    }
    // What ends before its time is not said to decline.
    let ended = compared(&format!("{right} {WRONG} -x"), 1);
    assert!(count(&ended, "not_run") > 0 && count(&ended, "declined_by_b") == 0, "{ended}");
    let text = folder.run(format!("compare {right} {WRONG} {SMALL} -x"));
    text.expect(1, &["B stopped: the first finding"]);
    if !has_python() {
        return;
    }
    // One takes fewer options than the other, whichever comes first.
    let less = numpy_attention("", "", "np.where(sums == 0, 1, sums)");
    folder.write("less.py", less);
    let python = compared(&format!("less.py:attention {right}"), 0);
    let turned = compared(&format!("{right} less.py:attention"), 0);
    assert!(count(&python, "both_hold") > 3, "{python}");
    for (name, of_b) in [("declined_by_a", "declined_by_b"), ("both_hold", "both_hold")] {
        assert_eq!(count(&python, name), count(&turned, of_b), "{python} {turned}");
    }
    // Whoever follows a convention that nobody declared is wrong.
    let later =
        "    if causal: s = np.where(np.arange(n_k) > np.arange(n_q)[:, None], -np.inf, s)\n";
    let upper_left = numpy_attention(", causal=False", later, "np.where(sums == 0, 1, sums)");
    folder.write("upper_left.py", upper_left);
    let causal = compared(&format!("{right} upper_left.py:attention"), 1);
    assert!(count(&causal, "only_b") > 0, "{causal}");
    assert_eq!(causal["findings"][0]["b"]["cases"], count(&causal, "only_b"));
    let check = format!("check upper_left.py:attention {SMALL} --format verdict");
    let [whole, again] = ["", " --lf"].map(|flag| folder.run(format!("{check}{flag}")));
    assert!(again.ends(1).json()["checked"].as_u64() < whole.ends(1).json()["checked"].as_u64());
}
