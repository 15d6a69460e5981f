//! Moodle's XML: one file with a category for each variant.
//!
//! A number is `numerical`, a matrix `cloze` with a gap for each entry, a shape `shortanswer`,
//! options `multichoice`, statements and lines `matching`, everything else `essay` with rubric and
//! solution for who marks it. A fraction whose decimals do not end is `shortanswer` with every way
//! to write it that is accepted, because `numerical` reads no fractions.

use super::decimal::Entry;
use super::item::{Cell, Item, ItemKind, ItemMistake, Offer, Placed, Word};
use super::xml::{Element, element};
use super::{Credit, Exam, Exported, Variant, secret};
use crate::error::ExamError;
use crate::print::{Block, Inline, Marker, Maths, escape, fragment, line_fragment, with_names};

/// Percents that Moodle knows, of those that are whole.
const FRACTIONS: [u8; 14] = [100, 90, 80, 75, 70, 60, 50, 40, 30, 25, 20, 10, 5, 0];

/// The largest percent that Moodle knows and that is not above a share.
fn fraction(share: f64) -> u8 {
    FRACTIONS.into_iter().find(|percent| f64::from(*percent) / 100.0 <= share).unwrap_or(0)
}

pub(super) fn write(exam: &Exam, credit: Credit) -> Result<Vec<Exported>, ExamError> {
    let mut quiz = element("quiz");
    for variant in &exam.variants {
        let path =
            format!("$course$/top/{}/Variant {}", exam.title.replace('/', "//"), variant.number);
        quiz = quiz
            .child(
                element("question")
                    .with("type", "category")
                    .child(element("category").child(text(&path))),
            )
            .children(variant.items.iter().map(|item| question(exam, variant, item, credit)));
    }
    Ok(vec![secret(format!("{}-moodle.xml", exam.id), quiz.document()?)])
}

fn text(words: &str) -> Element {
    element("text").text(words)
}

fn html(name: &'static str, markup: &str) -> Element {
    element(name).with("format", "html").child(element("text").cdata(markup))
}

fn shown(blocks: &[Block]) -> String {
    fragment(blocks, Maths::Parentheses)
}

fn line(line: &[Inline]) -> String {
    line_fragment(line, Maths::Parentheses)
}

fn question(exam: &Exam, variant: &Variant, item: &Item, credit: Credit) -> Element {
    let stem = shown(&item.entered_stem());
    let (kind, stem, answers) = match &item.asked {
        ItemKind::Numbers(rows) => match rows.as_slice() {
            [row] if row.len() == 1 => single(&row[0], stem),
            rows => ("cloze", stem + &gaps(rows), Vec::new()),
        },
        ItemKind::Shape(word) => ("shortanswer", stem, words(word)),
        ItemKind::One(offers) => ("multichoice", stem, options(offers, credit)),
        ItemKind::TrueFalse(offers) => ("matching", stem, statements(offers)),
        ItemKind::Order(lines) => ("matching", stem, places(lines)),
        ItemKind::Open(lines) => ("essay", stem, open(item, *lines)),
    };
    // A cloze question is worth one mark an entry in the bank, whatever stands here.
    let points = if kind == "cloze" { format!(" ({} points)", item.points) } else { String::new() };
    element("question")
        .with("type", kind)
        .child(element("name").child(text(&format!("{}{points}", item.name()))))
        .child(html("questiontext", &stem))
        .child(html(
            "generalfeedback",
            &if kind == "essay" { String::new() } else { shown(&item.solution) },
        ))
        .child(element("defaultgrade").text(item.points.to_string()))
        .child(element("penalty").text("0.3333333"))
        .child(element("hidden").text("0"))
        .child(element("idnumber").text(format!("{}-{}", variant.name, item.id)))
        .children(answers)
        .child(element("tags").child(element("tag").child(text(&exam.id))))
}

fn single(cell: &Cell, stem: String) -> (&'static str, String, Vec<Element>) {
    let numerical = matches!(cell.right, Entry::Decimal { .. });
    let all = |entry: &Entry, fraction: u8, feedback: &str| -> Vec<Element> {
        let one = |way: &String| {
            let answer = element("answer")
                .with("fraction", fraction.to_string())
                .with("format", "moodle_auto_format");
            let answer = answer.child(text(way));
            let answer = match entry {
                Entry::Decimal { tolerance, .. } if numerical => {
                    answer.child(element("tolerance").text(tolerance))
                }
                _ => answer,
            };
            answer.child(html("feedback", &line(&with_names(feedback))))
        };
        entry.ways().iter().map(one).collect()
    };
    let mut answers = all(&cell.right, 100, "");
    answers.extend(
        wrong(cell, numerical)
            .flat_map(|slip| all(&slip.gives, fraction(slip.share), &slip.says())),
    );
    (if numerical { "numerical" } else { "shortanswer" }, stem, answers)
}

/// What mistakes give, as far as it can be entered: a number takes no fraction, a text takes both.
fn wrong(cell: &Cell, numerical: bool) -> impl Iterator<Item = &ItemMistake<Entry>> {
    cell.wrong.iter().filter(move |slip| !numerical || matches!(slip.gives, Entry::Decimal { .. }))
}

/// Words inside a gap, where these signs mean something.
fn in_gap(words: &str) -> String {
    let words = escape(words);
    words
        .chars()
        .flat_map(|c| ['\\', c].into_iter().skip(usize::from(!"}#~\\".contains(c))))
        .collect()
}

/// A table of gaps, one for each entry. Moodle marks each by itself and adds up.
fn gaps(rows: &[Vec<Cell>]) -> String {
    let gap = |cell: &Cell| {
        let numerical = matches!(cell.right, Entry::Decimal { .. });
        let ways = |entry: &Entry| match entry {
            Entry::Decimal { text, tolerance } if numerical => vec![format!("{text}:{tolerance}")],
            entry => entry.ways().iter().map(|way| in_gap(way)).collect(),
        };
        let mut alternatives: Vec<String> =
            ways(&cell.right).iter().map(|way| format!("={way}")).collect();
        for slip in wrong(cell, numerical) {
            let (percent, says) = (fraction(slip.share), in_gap(&slip.says()));
            alternatives
                .extend(ways(&slip.gives).iter().map(|way| format!("%{percent}%{way}#{says}")));
        }
        let kind = if numerical { "NUMERICAL" } else { "SHORTANSWER" };
        format!("<td>{{1:{kind}:{}}}</td>", alternatives.join("~"))
    };
    let row = |row: &Vec<Cell>| {
        let label = match row.as_slice() {
            [one] if !one.label.is_empty() => format!("<th>{}</th>", escape(&one.label)),
            _ => String::new(),
        };
        format!("<tr>{label}{}</tr>", row.iter().map(gap).collect::<String>())
    };
    format!("<table><tbody>{}</tbody></table>", rows.iter().map(row).collect::<String>())
}

fn words(word: &Word) -> Vec<Element> {
    let one = |way: &String, fraction: u8, feedback: &str| {
        element("answer")
            .with("fraction", fraction.to_string())
            .with("format", "moodle_auto_format")
            .child(text(way))
            .child(html("feedback", &line(&with_names(feedback))))
    };
    let mut all = vec![element("usecase").text("0")];
    all.extend(Word::ways(&word.right).iter().map(|way| one(way, 100, "")));
    for slip in &word.wrong {
        let (share, says) = (fraction(slip.share), slip.says());
        all.extend(Word::ways(&slip.gives).iter().map(|way| one(way, share, &says)));
    }
    all
}

fn options(offers: &[Offer], credit: Credit) -> Vec<Element> {
    let one = |offer: &Offer| {
        let fraction = match offer {
            Offer { right: true, .. } => 100,
            Offer { mistake: true, .. } => credit.ticked(),
            _ => 0,
        };
        html("answer", &format!("<p>{}</p>", line(&offer.says)))
            .with("fraction", fraction.to_string())
            .child(html("feedback", &line(&offer.because)))
    };
    // The order of the sheet is random already.
    let mut all = vec![
        element("single").text("true"),
        element("shuffleanswers").text("false"),
        element("answernumbering").text("ABCD"),
    ];
    all.extend(offers.iter().map(one));
    all
}

fn matched(markup: &str, answer: &str) -> Element {
    html("subquestion", markup).child(element("answer").child(text(answer)))
}

fn statements(offers: &[Offer]) -> Vec<Element> {
    let mut all = vec![element("shuffleanswers").text("false")];
    all.extend(
        offers
            .iter()
            .map(|offer| matched(&line(&offer.says), if offer.right { "true" } else { "false" })),
    );
    all
}

fn places(lines: &[Placed]) -> Vec<Element> {
    let mut all = vec![element("shuffleanswers").text("false")];
    all.extend(lines.iter().map(|own| matched(&line(&own.says), &own.side())));
    all
}

fn open(item: &Item, lines: usize) -> Vec<Element> {
    let rubric = Block::List(Marker::Dot, item.rubric.clone());
    let grader = if item.rubric.is_empty() { String::new() } else { shown(&[rubric]) }
        + &shown(&item.solution);
    // Heights that the form offers.
    let height = [2, 3, 5, 10, 15, 20, 25, 30, 35, 40]
        .into_iter()
        .find(|height| *height >= lines)
        .unwrap_or(40);
    vec![
        element("responseformat").text("editor"),
        element("responserequired").text("1"),
        element("responsefieldlines").text(height.to_string()),
        element("attachments").text("0"),
        element("attachmentsrequired").text("0"),
        html("graderinfo", &grader),
    ]
}

#[cfg(test)]
mod tests {
    use super::fraction;

    #[test]
    fn shares_are_those_that_moodle_knows_and_never_more() {
        let known = [
            (0.5, 50),
            (0.55, 50),
            (1.0 / 3.0, 30),
            (0.7, 70),
            (0.04, 0),
            (0.0, 0),
            (1.0, 100),
            (0.999, 90),
        ];
        for (share, percent) in known {
            assert_eq!(fraction(share), percent, "{share}");
        }
    }
}
