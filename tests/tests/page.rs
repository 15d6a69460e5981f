//! The HTML report: what is in it, and what a browser makes of it where there is one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use qkvet_report::English;
use qkvet_spec::{Breakage, Cause, Dialect, Sentences, Summary, SummaryDocument, Words};
use qkvet_tests::markup::{Element, elements};
use qkvet_tests::{Folder, browser, finish, has_python, pictures, root, shell, temp};
use tempfile::TempDir;

fn page(target: &str, flags: &str) -> (TempDir, Summary, String) {
    let folder = temp();
    let page = made(folder.path(), target, flags);
    let summary = serde_json::from_str(&folder.read(".qkvet/last/report.json")).expect("a report");
    (folder, summary, page)
}

fn made(folder: &Path, target: &str, flags: &str) -> String {
    let files = "--report html=page.html";
    let finished = folder.run(format!("check {target} -q --suite smoke {files} {flags}"));
    assert!(matches!(finished.code, Some(0 | 1)), "{}{}", finished.stdout, finished.stderr);
    folder.read("page.html")
}

/// From `start` to the next `end`.
fn part<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let from = text.find(start).unwrap_or_else(|| panic!("no {start}"));
    let to = text[from..].find(end).unwrap_or_else(|| panic!("no {end} behind {start}"));
    &text[from..from + to]
}

fn parsed(page: &str) -> Vec<Element> {
    elements(page, true).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_page_needs_nothing_else_and_has_every_finding() {
    let (_folder, summary, page) = page("builtin:fault/window-off-by-one", "");
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    let all = parsed(&page);
    for element in &all {
        for (name, value) in &element.attributes {
            let is_inside = !value.contains("://") && !value.starts_with("//");
            assert!(is_inside, "{name}={value:?} of {:?}", element.path);
            assert!(!name.starts_with("on"), "{name} of {:?}", element.path);
        }
        assert!(
            !["link", "img", "iframe", "object"].contains(&element.name()),
            "{:?}",
            element.path
        );
        assert!(element.name() != "script" || element.attribute("src").is_none());
    }
    let style = all.iter().find(|element| element.name() == "style").expect("a style");
    assert!(!style.text.contains("url(") && !style.text.contains("@import"));
    let ids: Vec<&str> = all.iter().filter_map(|element| element.attribute("id")).collect();
    let unique: std::collections::BTreeSet<&&str> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len(), "an id twice");
    for link in all.iter().filter_map(|element| element.attribute("href")) {
        assert!(link.strip_prefix('#').is_some_and(|id| ids.contains(&id)), "{link}");
    }
    let texts: Vec<&str> = all.iter().map(|element| element.text.as_str()).collect();
    let has = |text: &str| texts.iter().any(|one| one.contains(text));
    assert!(!summary.findings.is_empty());
    for (at, finding) in summary.findings.iter().enumerate() {
        assert!(ids.contains(&format!("finding-{}", at + 1).as_str()));
        let said = Sentences::of(finding, &English, Dialect::CommandLine);
        let parts = [
            &said.title.to_string(),
            &finding.evidence.format_expected().to_string(),
            &finding.evidence.format_got().to_string(),
            &finding.replay,
            &finding.law_title,
        ];
        assert!(parts.iter().all(|part| has(part)), "{}", said.title);
        assert!(said.cause.iter().chain(&said.hint).all(|text| has(&text.to_string())));
        let example = finding.example.as_ref().expect("an example");
        assert!(
            has(&format!("{:?}", example.got.0[0])) && has(&format!("{:?}", example.exact.0[0]))
        );
        assert!(finding.picture.is_some());
        // Its boundary in the space of shapes: crosses where it shows, circles where all held, a
        // square for its witness.
        let article = part(
            &page,
            &format!("<article class=\"finding bad\" id=\"finding-{}\"", at + 1),
            "</article>",
        );
        let plot = part(article, "<svg role=\"img\" class=\"plot\"", "</svg>");
        let (mut shows, mut held) = (BTreeSet::new(), BTreeSet::new());
        let pair = |call: &str| {
            let of = |name: &str| {
                let word =
                    |word: &str| word.strip_prefix(name)?.strip_prefix('=')?.parse::<usize>().ok();
                call.split(' ').find_map(word)
            };
            of("n_q").zip(of("n_k"))
        };
        for record in summary.records.iter().filter(|one| one.verdict.is_checked()) {
            let Some(place) = pair(&record.call) else { continue };
            if record.finding == Some(at) {
                shows.insert(place);
            } else if !record.verdict.is_finding() {
                held.insert(place);
            }
        }
        // The witness shows it, whatever cases of the suite do where it lies.
        shows.extend(pair(&finding.witness.call));
        assert!(!shows.is_empty() && held.difference(&shows).count() > 0, "{shows:?} {held:?}");
        // One of each is the legend's.
        assert_eq!(plot.matches("<path class=\"cross\"").count(), shows.len() + 1);
        assert_eq!(plot.matches("<circle ").count(), held.difference(&shows).count() + 1);
        assert_eq!(plot.matches("<path class=\"ring\"").count(), 2);
        let (n_q, n_k) = shows.first().expect("one");
        assert!(plot.contains(&format!("<title>n_q={n_q}, n_k={n_k}: ")), "{plot}");
    }
    // Without JavaScript findings are shown; what only works with it is hidden.
    assert!(
        all.iter()
            .filter(|element| element.name() == "article")
            .all(|one| one.attribute("hidden").is_none())
    );
    assert!(
        all.iter()
            .filter(|one| one.name() == "button")
            .all(|one| one.attribute("hidden").is_some())
    );
    for svg in all.iter().filter(|element| element.name() == "svg") {
        let inner = |name: &str| {
            all.iter().any(|one| {
                one.name() == name
                    && one.path.ends_with(&["svg".to_owned(), name.to_owned()])
                    && !one.text.is_empty()
            })
        };
        assert!(svg.attribute("role") == Some("img") && inner("title") && inner("desc"));
    }
}

#[test]
fn a_worked_example_adds_up() {
    let (_folder, summary, page) = page("builtin:fault/window-off-by-one", "--dtype float32");
    let example = summary.findings[0].example.clone().expect("an example");
    let sum: f64 = example.expected.weights.0.iter().sum();
    assert!((sum - 1.0).abs() < 1e-6 || sum == 0.0, "{example:?}");
    let supposed = example.supposed.clone().expect("the cause changes what is computed");
    assert_ne!(supposed.weights.0, example.expected.weights.0);
    // The values that are shown, weighed, are the exact result, where all keys are shown.
    assert_eq!((example.keys.len(), example.values.len()), (example.n_k, example.n_k));
    for (at, exact) in example.exact.0.iter().enumerate() {
        let weighed = example
            .expected
            .weights
            .0
            .iter()
            .zip(&example.values)
            .map(|(weight, row)| weight * row.0[at]);
        assert!((weighed.sum::<f64>() - exact).abs() < 1e-6, "{example:?}");
    }
    for cell in [
        "<th scope=\"col\">exp(logit − max)</th>",
        "<th scope=\"col\">v[j, 0]</th>",
        "<td>sum, of v weighted</td>",
    ] {
        assert!(page.contains(cell), "{cell}");
    }
    let is_out =
        |at: usize| (example.got.0[at] - example.exact.0[at]).abs() > example.allowed.0[at];
    assert!((0..example.columns.len()).any(is_out), "an element is outside of its bound");
    // The target is the simulator of that cause: it gives what the cause gives.
    assert_eq!(example.simulated.as_ref().expect("numbers").0, example.got.0);
    let picture = summary.findings[0].picture.clone().expect("a picture");
    assert_ne!(picture.seen, picture.supposed_seen);
    assert!(picture.ratios.iter().flat_map(|row| &row.0).any(|ratio| *ratio > 1.0));
}

#[test]
fn a_right_target_has_a_page_too() {
    let (_folder, summary, page) = page("builtin:flash", "");
    assert!(summary.findings.is_empty());
    let all = parsed(&page);
    assert!(page.contains("class=\"outcome good\"") && !page.contains("class=\"finding"));
    assert!(all.iter().any(|element| element.name() == "svg"));
}

#[test]
fn the_script_of_an_issue_shows_the_finding() {
    if !has_python() {
        return;
    }
    let folder = temp();
    let wrong = "import numpy as np
def attention(query, key, value):
    scores = query @ np.swapaxes(key, -1, -2) / query.shape[-1]
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return ((weights / weights.sum(-1, keepdims=True)) @ value).astype(query.dtype)
";
    folder.write("mine.py", wrong);
    let page = made(folder.path(), "mine.py:attention", "--dtype float32");
    let issue = parsed(&page)
        .into_iter()
        .find(|one| one.attribute("id") == Some("finding-1-issue"))
        .expect("an issue");
    let (_, script) = issue.text.split_once("```python\n").expect("a script");
    let (script, _) = script.split_once("\n```").expect("an end");
    folder.write("issue/cases/shown.py", script);
    let python = qkvet_tests::python().expect("an interpreter");
    let command = format!("'{python}' issue/cases/shown.py");
    shell(folder.path(), &command).ends(1);
    let right = wrong.replace("query.shape[-1]\n", "query.shape[-1] ** 0.5\n");
    folder.write("mine.py", right);
    shell(folder.path(), &command).ends(0);
}

#[test]
fn a_reader_filters_in_light_and_in_dark_and_sees_the_finding_again() {
    let (true, Some(browser)) = (has_python(), browser()) else { return };
    let python = qkvet_tests::python().expect("an interpreter");
    let (folder, mut summary, _) = page("builtin:fault/window-off-by-one", "");
    // One more to tell it from.
    let mut other = summary.findings[0].clone();
    other.cause = Cause::Broken { how: Breakage::Said("something else altogether".into()) };
    summary.findings.push(other);
    folder.write(
        "two.json",
        serde_json::to_string(&SummaryDocument::new(&summary, &English)).expect("a document"),
    );
    folder.run("report --from two.json --report html=page.html").ends(0);
    let finding = &summary.findings[0];
    let told = serde_json::json!({
        "browser": browser,
        "page": folder.path().join("page.html"),
        "findings": summary.findings.len(),
        "words": "SLIDING qk232",
        "cause": English.cause(&finding.cause, &finding.notes),
        "replay": finding.replay,
        "pictures": pictures(),
    });
    let script = root().join("tests/python/report_page.py");
    let read = finish(Command::new(python).arg(script).arg(told.to_string()));
    assert!(read.ends(0).stdout.starts_with("interactive after "), "{}", read.stdout);
    // What the page says to run shows the finding.
    folder.run(&finding.replay).expect(1, &["FAIL", &finding.law]);
}

/// The colors that a rule of the style sheet names, as red, green and blue.
fn colors(rule: &str) -> BTreeMap<&str, [f64; 3]> {
    let color = |value: &str| {
        let value = value.trim().strip_prefix('#')?;
        let of = |at: usize| {
            u8::from_str_radix(value.get(at..at + 2)?, 16).ok().map(|x| f64::from(x) / 255.0)
        };
        Some([of(0)?, of(2)?, of(4)?])
    };
    rule.split([';', '{', '\n'])
        .filter_map(|one| one.split_once(':'))
        .filter_map(|(name, value)| Some((name.trim(), color(value)?)))
        .collect()
}

/// How far two colors are apart for a reader, after the Web Content Accessibility Guidelines.
fn contrast(x: [f64; 3], y: [f64; 3]) -> f64 {
    let linear =
        |x: f64| if x <= 0.03928 { x / 12.92 } else { libm::pow((x + 0.055) / 1.055, 2.4) };
    let luminance =
        |[r, g, b]: [f64; 3]| 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    let (x, y) = (luminance(x), luminance(y));
    (x.max(y) + 0.05) / (x.min(y) + 0.05)
}

#[test]
fn text_can_be_read_in_light_and_in_dark() {
    let css = include_str!("../../crates/report/templates/report.css");
    let light = colors(part(css, ":root {", "}"));
    let dark = colors(part(css, ":root[data-theme=\"dark\"] {", "}"));
    // Chosen by the button or by the system, dark is the same.
    assert_eq!(dark, colors(part(css, ":root:not([data-theme=\"light\"]) {", "}")));
    assert!(light.len() > 12 && light.keys().eq(dark.keys()), "{light:?}");
    assert!((contrast([0.0; 3], [1.0; 3]) - 21.0).abs() < 1e-9);
    for colors in [&light, &dark] {
        let pair = |x: &str, y: &str| contrast(colors[x], colors[y]);
        for text in ["--ink", "--muted", "--accent", "--bad", "--good", "--open"] {
            assert!(pair(text, "--paper") >= 4.5, "{text}: {}", pair(text, "--paper"));
            assert!(
                pair(text, "--raised") >= 4.5,
                "{text} on --raised: {}",
                pair(text, "--raised")
            );
        }
        assert!(pair("--bad", "--bad-paper") >= 4.5 && pair("--open", "--open-paper") >= 4.5);
        // Marks of plots are no text.
        assert!(["--s0", "--s1", "--s2", "--s3"].iter().all(|mark| pair(mark, "--paper") >= 3.0));
    }
}
