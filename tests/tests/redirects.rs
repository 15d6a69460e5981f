//! Names that were in use lead to what they are called now, with a notice.

#![allow(clippy::disallowed_methods, reason = "tests write the files they check")]

use qkvet_tests::run;
use serde_json::json;
use tempfile::TempDir;

const OLD: &str = "raised-score";
const NEW: &str = "raised-score-odds";

/// Its findings are known under the old name of their law.
const KNOWN: &str = "known: [{law: raised-score, finding: QK*, reason: seen}]";

#[test]
fn an_old_name_is_followed_by_every_reader() {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let notice = format!("`{OLD}` is called `{NEW}` since version 0.1.0");
    let explained = run(folder, &["explain", OLD]);
    explained.expect(0, &[]);
    assert!(explained.stderr.contains(&notice), "{}", explained.stderr);
    assert_eq!(explained.stdout, run(folder, &["explain", NEW]).stdout);

    let fault = "builtin:fault/bias-before-scale";
    let check = |law: &str, more: &[&str]| {
        let args = ["check", fault, "--suite", "smoke", "--law", law, "--dtype", "float32"];
        run(folder, &[&args[..], &["--format", "json"], more].concat())
    };
    let report = check(OLD, &[]).expect(1, &[]).json();
    assert_eq!(report["findings"][0]["law"], NEW, "{report:#}");

    std::fs::write(folder.join("qkvet.known.yaml"), KNOWN).expect("a file");
    let known = check(NEW, &["--report", "sarif=x.sarif"]).expect(0, &[]).json();
    assert_eq!(known["findings"][0]["known"], known["findings"][0]["cases"], "{known:#}");
    assert!(known["warnings"].to_string().contains(&notice), "{}", known["warnings"]);

    let sarif = std::fs::read_to_string(folder.join("x.sarif")).expect("a report");
    let sarif: serde_json::Value = serde_json::from_str(&sarif).expect("JSON");
    let rules = sarif["runs"][0]["tool"]["driver"]["rules"].as_array().expect("rules");
    let of_law = rules.iter().find(|rule| rule["id"] == format!("law/{NEW}")).expect("the rule");
    assert_eq!(of_law["deprecatedIds"], json!([format!("law/{OLD}")]));
}
