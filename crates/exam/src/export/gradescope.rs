//! An outline of the assignment with rubrics, by questions and parts, as Gradescope's own outlines
//! have them.
//!
//! Gradescope publishes no format to import outlines from; this is for a script that fills its
//! form.

use serde_json::{Value, json};

use super::item::{Item, ItemKind, Offer};
use super::{Exam, Exported, Variant, secret};
use crate::error::ExamError;
use crate::print::{Block, letter, markdown_blocks, markdown_line};

pub(super) fn write(exam: &Exam) -> Result<Vec<Exported>, ExamError> {
    let file = |variant: &Variant| {
        let text = serde_json::to_string_pretty(&outline(exam, variant));
        let text = text? + "\n";
        Ok(secret(format!("{}-outline.json", variant.name), text))
    };
    exam.variants.iter().map(file).collect()
}

fn outline(exam: &Exam, variant: &Variant) -> Value {
    let last = variant.items.last().map_or(0, |item| item.question);
    let question = |number: usize| {
        let items: Vec<&Item> =
            variant.items.iter().filter(|item| item.question == number).collect();
        json!({
            "number": number.to_string(),
            "title": items.first().map(|item| item.title.as_str()).unwrap_or_default(),
            "prompt": items.first().map(|item| markdown_blocks(&item.head)).unwrap_or_default(),
            "points": items.iter().map(|item| item.points).sum::<u32>(),
            "parts": items.iter().map(|item| part(item)).collect::<Vec<_>>(),
        })
    };
    json!({
        "format": "qkvet-exam-outline-1",
        "title": exam.title,
        "variant": variant.number,
        "points": variant.items.iter().map(|item| item.points).sum::<u32>(),
        "questions": (1..=last).map(question).collect::<Vec<_>>(),
    })
}

fn part(item: &Item) -> Value {
    json!({
        "number": item.id,
        "points": item.points,
        "type": kind(&item.asked),
        "prompt": markdown_blocks(&item.ask),
        "options": options(&item.asked),
        "solution": markdown_blocks(&item.solution),
        "rubric": rubric(item),
    })
}

pub(super) fn kind(asked: &ItemKind) -> &'static str {
    match asked {
        ItemKind::Numbers(rows) if rows.iter().map(Vec::len).sum::<usize>() == 1 => "number",
        ItemKind::Numbers(_) => "matrix",
        ItemKind::Shape(_) => "shape",
        ItemKind::One(_) => "choice",
        ItemKind::TrueFalse(_) => "statements",
        ItemKind::Order(_) => "ordering",
        ItemKind::Open(_) => "open",
    }
}

/// Options, statements and lines as on the sheet: `(A) …`; nothing where something is to be
/// written.
pub(super) fn options(asked: &ItemKind) -> Vec<String> {
    let lettered =
        |(at, offer): (usize, &Offer)| format!("({}) {}", letter(at), markdown_line(&offer.says));
    match asked {
        ItemKind::One(offers) => offers.iter().enumerate().map(lettered).collect(),
        ItemKind::TrueFalse(offers) => {
            offers.iter().map(|offer| markdown_line(&offer.says)).collect()
        }
        ItemKind::Order(lines) => lines
            .iter()
            .map(|line| format!("({}) {}", line.letter, markdown_line(&line.says)))
            .collect(),
        _ => Vec::new(),
    }
}

/// Entries that a person ticks. Those of our own rubrics say themselves what they are worth.
fn rubric(item: &Item) -> Vec<Value> {
    let mistakes = |words: Vec<String>| -> Vec<Value> {
        let mut all = vec![json!({"description": "Right", "points": item.points})];
        all.extend(words.into_iter().map(|says| json!({"description": says, "points": null})));
        all
    };
    match &item.asked {
        ItemKind::Numbers(rows) => {
            let mut all: Vec<String> = Vec::new();
            let wrong = rows.iter().flatten().flat_map(|cell| &cell.wrong);
            for says in wrong.flat_map(|slip| &slip.says) {
                if !all.contains(says) {
                    all.push(says.clone());
                }
            }
            mistakes(all)
        }
        ItemKind::Shape(word) => mistakes(word.wrong.iter().map(|slip| slip.says()).collect()),
        ItemKind::One(offers) => {
            let wrong = offers.iter().filter(|offer| !offer.right && !offer.because.is_empty());
            mistakes(wrong.map(|offer| markdown_line(&offer.because)).collect())
        }
        ItemKind::TrueFalse(_) | ItemKind::Order(_) => mistakes(Vec::new()),
        ItemKind::Open(_) => {
            let entry = |line: &Vec<crate::print::Inline>| json!({"description": markdown_blocks(&[Block::Paragraph(line.clone())]).trim(), "points": null});
            item.rubric.iter().map(entry).collect()
        }
    }
}
