//! Results for gradebooks: CSV, JSON, and the document that Gradescope's autograder reads.

use serde_json::{Value, json};

use super::Trouble;
use super::result::{FORMAT, Graded, GradedPart, Verdict};
use crate::error::ExamError;
use crate::spreadsheet::guarded;

/// The columns of the table.
const HEADER: &str = "student,exam,variant,part,verdict,points,of,says,mistake,hint,place\n";

/// How results begin, and nothing else does: as a table, as a JSON document, and for Gradescope.
pub const RESULT_HEADS: [&str; 3] =
    [HEADER, "{\n  \"format\": \"qkvet-exam-grades-", "{\n  \"extra_data\": {\n    \"by_hand\": "];

/// A line for each part of each submission, one for its total, and one for each trouble.
pub fn csv(all: &[Graded]) -> String {
    let mut text = HEADER.to_owned();
    for one in all {
        let variant = one.variant.map(|variant| variant.to_string()).unwrap_or_default();
        let mut line = |part: &str, verdict: &str, points: String, of: String, rest: [&str; 4]| {
            let cells = [&one.student, &one.exam, &variant, part, verdict, &points, &of];
            let cells: Vec<String> = cells.into_iter().chain(rest).map(cell).collect();
            text.push_str(&cells.join(","));
            text.push('\n');
        };
        for trouble in &one.trouble {
            let hint = trouble.problem.hint().unwrap_or_default();
            let (says, place) = (trouble.problem.to_string(), trouble.place.to_string());
            line("", "trouble", String::new(), String::new(), [&says, "", &hint, &place]);
        }
        for part in &one.parts {
            let says = &part.feedback;
            let place = part.place.as_ref().map(ToString::to_string);
            let [mistake, hint, place] =
                [says.mistake(), says.hint(), place].map(Option::unwrap_or_default);
            let (points, of) = (part.points.to_string(), part.of.to_string());
            let rest = [&says.to_string(), &mistake, &hint, &place];
            line(&part.part, part.verdict.word(), points, of, rest.map(String::as_str));
        }
        let says = left(one);
        // What was not graded has no points, not none of none.
        let total = |x: String| if one.parts.is_empty() { String::new() } else { x };
        line(
            "total",
            "",
            total(one.points.to_string()),
            total(one.of.to_string()),
            [&says, "", "", &one.file],
        );
    }
    text
}

/// The points and the parts that are left to a person, in words.
fn left(one: &Graded) -> String {
    match one.by_hand {
        0 => String::new(),
        points => {
            format!("{} left to a person: {}", counted_points(points), one.left().join(", "))
        }
    }
}

fn counted_points(points: u32) -> String {
    let (s, are) = if points == 1 { ("", "is") } else { ("s", "are") };
    format!("{points} point{s} {are}")
}

/// A cell, quoted where it has to be.
fn cell(text: &str) -> String {
    let text: String =
        guarded(text).chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect();
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

/// Everything, as one JSON document.
///
/// # Errors
/// Numbers that JSON does not have.
pub fn json(all: &[Graded]) -> Result<String, ExamError> {
    written(&json!({ "format": FORMAT, "results": all }))
}

/// The document of one submission that Gradescope's autograder reads.
///
/// # Errors
/// Numbers that JSON does not have.
pub fn gradescope(one: &Graded) -> Result<String, ExamError> {
    let mut lines: Vec<String> = Vec::new();
    for trouble in &one.trouble {
        let Trouble { place, problem } = trouble;
        let hint = problem.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
        lines.push(format!("{place}: {problem}{hint}"));
    }
    if one.by_hand > 0 {
        lines.push(format!("{}.", left(one)));
    }
    written(&json!({
        "score": one.points,
        "output": lines.join("\n"),
        "output_format": "text",
        "visibility": "visible",
        "tests": one.parts.iter().map(test).collect::<Vec<Value>>(),
        "extra_data": { "exam": one.exam, "variant": one.variant, "student": one.student, "by_hand": one.by_hand, "left": one.left() },
    }))
}

fn test(part: &GradedPart) -> Value {
    let mut says = vec![format!("{}.", part.verdict.word())];
    says.extend(Some(part.feedback.to_string()).filter(|text| !text.is_empty()));
    says.extend(part.feedback.hint().map(|hint| format!("Hint: {hint}")));
    says.extend(part.rubric.iter().map(|line| format!("- {line}")));
    let mut test = json!({
        "name": part.part,
        "number": part.part,
        "score": part.points,
        "max_score": part.of,
        "output": says.join("\n"),
        "output_format": "text",
        "visibility": "visible",
    });
    // What a person marks is neither passed nor failed.
    if !part.is_left() {
        test["status"] = json!(if matches!(part.verdict, Verdict::Right | Verdict::Follows) {
            "passed"
        } else {
            "failed"
        });
    }
    test
}

fn written(document: &Value) -> Result<String, ExamError> {
    Ok(serde_json::to_string_pretty(document)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn cells_are_no_formulas() {
        for (text, written) in [
            ("=1+1", "'=1+1"),
            ("-2.5", "-2.5"),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("-x", "'-x"),
            ("a\u{7}b", "a b"),
        ] {
            assert_eq!(cell(text), written);
        }
    }
}
