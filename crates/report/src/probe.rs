//! A probe for people, as YAML for `qkvet.yaml`, and as JSON.

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};
use qkvet_spec::{Certainty, Measured, Probe, ProbedField};

use crate::text::{cut, no_command, visible, visible_line};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
/// Longest evidence in a line.
const WIDTH: usize = 150;
/// Where evidence begins in lines of its own.
const INDENT: usize = 8;
/// Width of the column of values.
const COLUMN: usize = 24;

/// The probe for people: a line a field, all evidence where the answer is not simply the standard,
/// and the YAML at the end.
pub fn probe_text(probe: &Probe) -> String {
    let Probe { tool, target, dtype, contract, calls, .. } = probe;
    let mut out = String::new();
    let target = visible_line(target);
    let _ = writeln!(
        out,
        "{tool} · probe of {BOLD}{target}{BOLD:#} · {dtype} under contract {contract} · {calls} calls"
    );
    for line in &probe.environment {
        let _ = writeln!(out, "            {}", visible_line(&line.display().to_string()));
    }
    if !probe.declared.is_empty() {
        let _ = writeln!(out, "  declared  {}", probe.declared.join(", "));
    }
    out.push('\n');
    probe.fields.iter().for_each(|field| out.push_str(&lines(field)));
    let _ = writeln!(out, "\n{}\n", last_line(probe));
    let _ = write!(out, "{DIM}{}{DIM:#}", probe_yaml(probe));
    no_command(&out).into_owned()
}

/// The lines of one field.
fn lines(field: &ProbedField) -> String {
    let ProbedField { certainty, evidence, measured, .. } = field;
    let is_open = matches!(certainty, Certainty::Mixed | Certainty::None | Certainty::Broken);
    let differs = *certainty == Certainty::Decided && !field.is_standard();
    let word = certainty.word();
    let word = match (is_open, differs) {
        (true, _) => format!("{RED}{word}{RED:#}"),
        (_, true) => format!("{YELLOW}{word}{YELLOW:#}"),
        _ => word.to_owned(),
    };
    let pad = " ".repeat(10usize.saturating_sub(certainty.word().len()));
    let value = match (field.values.as_slice(), differs) {
        ([], _) => "–".to_owned(),
        ([one], true) => format!("{one} (standard: {})", field.standard),
        (several, _) => several.join(" | "),
    };
    let mark = if is_open || differs { "*" } else { " " };
    let first = evidence.first().map_or(String::new(), |line| cut(&plain(line.display()), WIDTH));
    let mut out = format!("{mark} {:16}{value:COLUMN$} {word}{pad} {first}", field.field)
        .trim_end()
        .to_owned()
        + "\n";
    let is_told = is_open || differs || *certainty == Certainty::Undecided;
    let rest = if is_told { &evidence[1.min(evidence.len())..] } else { &[] };
    let more = rest
        .iter()
        .map(|line| cut(&plain(line.display()), WIDTH))
        .chain(measured.iter().map(interval));
    for line in more {
        let _ = writeln!(out, "{}{line}", " ".repeat(INDENT));
    }
    out
}

/// What it comes to.
fn last_line(probe: &Probe) -> String {
    let count =
        |certainty| probe.fields.iter().filter(|field| field.certainty == certainty).count();
    let differs = probe
        .fields
        .iter()
        .filter(|field| field.certainty == Certainty::Decided && !field.is_standard())
        .count();
    let open = [
        Certainty::Mixed,
        Certainty::None,
        Certainty::Broken,
        Certainty::Undecided,
        Certainty::Declined,
    ];
    let open = open
        .into_iter()
        .filter(|one| count(*one) > 0)
        .map(|one| format!(", {} {}", count(one), one.word()));
    let decided = count(Certainty::Decided);
    format!("{decided} decided, {differs} of them not standard{}", open.collect::<String>())
}

/// `scale at d_k=8: between 0.353553 and 0.353554`, the ends rounded outward.
fn interval(measured: &Measured) -> String {
    let Measured { what, low, high } = measured;
    format!("{what}: between {} and {}", rounded(*low, -1.0), rounded(*high, 1.0))
}

/// Seven digits, moved towards `way` until the number is not inside.
fn rounded(x: f64, way: f64) -> f64 {
    let digits = |x: f64| format!("{x:.6e}").parse::<f64>().unwrap_or(x);
    let step = (x.abs() * 1e-6).max(f64::MIN_POSITIVE);
    let mut candidate = digits(x);
    while (candidate - x) * way < 0.0 {
        candidate = digits(candidate + way * step);
    }
    candidate
}

/// In one line, without characters that a terminal or a YAML comment would take for something else.
fn plain(text: impl fmt::Display) -> String {
    let text = text.to_string();
    let text: String =
        text.chars().map(|c| if matches!(c, '\n' | '\t') { ' ' } else { c }).collect();
    visible(&text).into_owned()
}

/// The probe as YAML: `conventions:` for `qkvet.yaml`, and `meaning:`, a patch of the standard,
/// with evidence in comments.
pub fn probe_yaml(probe: &Probe) -> String {
    let Probe { tool, target, dtype, contract, calls, .. } = probe;
    let mut out = format!(
        "# {tool}, probe of {} in {dtype} under contract {contract}, {calls} calls\n",
        plain(target)
    );
    let text = |value: &str| serde_json::Value::from(value).to_string();
    let because = |field: Option<&ProbedField>| {
        let evidence = field.map(|field| {
            let telling = field.evidence.get(field.telling);
            format!(
                "  # {}: {}, {}",
                field.field,
                field.certainty.word(),
                telling.map_or_else(String::new, |line| plain(line.display()))
            )
        });
        evidence.unwrap_or_default()
    };
    if probe.conventions.is_empty() {
        out.push_str("conventions: {}\n");
    } else {
        out.push_str("# for the entry of the target in qkvet.yaml\nconventions:\n");
        for one in &probe.conventions {
            let field = probe.fields.iter().find(|field| field.field == one.shown_by);
            let _ = writeln!(out, "  {}: {}{}", one.field, text(&one.value), because(field));
        }
    }
    let entries = probe.meaning.entries();
    if entries.is_empty() {
        out.push_str("meaning: {}\n");
    } else {
        out.push_str("# not standard and no known convention: a fault, or a convention of your own (specs/conventions)\nmeaning:\n");
        for (name, value) in &entries {
            let shows =
                |field: &&ProbedField| field.meaning.entries().iter().any(|(own, _)| own == name);
            let _ = writeln!(out, "  {name}: {value}{}", because(probe.fields.iter().find(shows)));
        }
    }
    let is_beside = |field: &&ProbedField| {
        let differs = field.certainty == Certainty::Decided
            && !field.is_standard()
            && field.meaning.is_empty();
        differs
            || !matches!(
                field.certainty,
                Certainty::Decided | Certainty::Declined | Certainty::Estimate
            )
    };
    for field in probe.fields.iter().filter(is_beside) {
        let values = if field.values.is_empty() {
            String::new()
        } else {
            format!(" {}", field.values.join(" | "))
        };
        let evidence = field
            .evidence
            .first()
            .map_or(String::new(), |line| format!(": {}", plain(line.display())));
        let _ = writeln!(out, "# {}: {}{values}{evidence}", field.field, field.certainty.word());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use qkvet_spec::{Causal, MeaningPatch, ProbedConvention, parse_yaml};

    fn field(
        name: &str,
        certainty: Certainty,
        values: &[&str],
        meaning: MeaningPatch,
    ) -> ProbedField {
        ProbedField {
            field: name.to_owned(),
            about: String::new(),
            certainty,
            values: values.iter().map(|value| (*value).to_owned()).collect(),
            standard: "lower-right".to_owned(),
            evidence: vec!["at [b=0]: needs 1,\n# got \u{1b}[31m2".into(), "second".into()],
            telling: 0,
            measured: vec![Measured {
                what: "scale".to_owned(),
                low: 0.353_553_390_593,
                high: -0.000_123_456_789,
            }],
            meaning,
        }
    }

    fn probe() -> Probe {
        let offset = MeaningPatch { causal_offset: Some(-1), ..MeaningPatch::default() };
        let upper_left =
            MeaningPatch { causal: Some(Causal::UpperLeft), ..MeaningPatch::default() };
        let shown_by = "causal".to_owned();
        Probe {
            tool: "qkvet".to_owned(),
            target: "x.py:f".to_owned(),
            environment: Vec::new(),
            dtype: "float32".to_owned(),
            contract: "f32".to_owned(),
            declared: Vec::new(),
            calls: 3,
            fields: vec![
                field("causal", Certainty::Decided, &["upper-left"], upper_left),
                field("mask", Certainty::Mixed, &["a", "b"], MeaningPatch::default()),
                field("layout", Certainty::Decided, &["lower-right"], MeaningPatch::default()),
            ],
            conventions: vec![ProbedConvention {
                field: "causal".to_owned(),
                value: "upper-left".to_owned(),
                shown_by,
            }],
            meaning: offset,
        }
    }

    #[test]
    fn the_yaml_can_be_read() {
        #[derive(serde::Deserialize)]
        struct Pasted {
            conventions: std::collections::BTreeMap<String, String>,
            meaning: MeaningPatch,
        }
        let yaml = probe_yaml(&probe());
        let read: Pasted =
            parse_yaml("probe.yaml", &yaml).unwrap_or_else(|error| panic!("{error}\n{yaml}"));
        assert_eq!(read.conventions["causal"], "upper-left");
        assert_eq!(read.meaning, probe().meaning);
        assert!(yaml.contains("# mask: mixed a | b: at [b=0]"), "{yaml}");
    }

    #[test]
    fn what_is_not_standard_is_marked_with_all_evidence() {
        let text = anstream::adapter::strip_str(&probe_text(&probe())).to_string();
        let line = |name: &str| {
            text.lines()
                .find(|line| line.get(2..).is_some_and(|rest| rest.starts_with(name)))
                .unwrap_or_default()
        };
        assert!(
            line("causal").starts_with('*')
                && line("mask").starts_with('*')
                && line("layout").starts_with(' ')
        );
        assert_eq!(text.matches("second").count(), 2, "{text}");
        assert!(text.contains("2 decided, 1 of them not standard, 1 mixed"), "{text}");
    }

    #[test]
    fn ends_are_rounded_outward() {
        for x in [0.353_553_390_593, -0.000_123_456_789, 1.0, 0.0, 7.999_999_9] {
            assert!(rounded(x, -1.0) <= x && rounded(x, 1.0) >= x);
            assert!((rounded(x, 1.0) - x).abs() <= x.abs() * 3e-6);
        }
    }
}
