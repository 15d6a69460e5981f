//! A table for spreadsheets: a row for each entry of each part of each variant.

use ::csv::WriterBuilder;

use super::decimal::Entry;
use super::item::{Item, ItemKind, Offer};
use super::{Exam, Exported, secret};
use crate::error::ExamError;
use crate::print::{letter, markdown_blocks, markdown_line};
use crate::spreadsheet::guarded;

const COLUMNS: [&str; 11] = [
    "variant",
    "part",
    "title",
    "points",
    "type",
    "entry",
    "answer",
    "tolerance",
    "mistakes",
    "prompt",
    "options",
];

/// What stands in the columns `entry` to `mistakes`.
struct Line {
    entry: String,
    answer: String,
    tolerance: String,
    mistakes: String,
}

pub(super) fn write(exam: &Exam) -> Result<Vec<Exported>, ExamError> {
    let mut table = WriterBuilder::new().from_writer(Vec::new());
    table.write_record(COLUMNS)?;
    for variant in &exam.variants {
        for item in &variant.items {
            for Line { entry, answer, tolerance, mistakes } in lines(item) {
                let (number, points) = (variant.number.to_string(), item.points.to_string());
                let (prompt, options) =
                    (markdown_blocks(&item.stem()), options(&item.asked).join("\n"));
                let row = [
                    number.as_str(),
                    &item.id,
                    &item.title,
                    &points,
                    kind(&item.asked),
                    &entry,
                    &answer,
                    &tolerance,
                    &mistakes,
                    prompt.trim_end(),
                    &options,
                ];
                table.write_record(row.map(|cell| guarded(cell).into_owned()))?;
            }
        }
    }
    let bytes = table.into_inner().map_err(|error| ::csv::Error::from(error.into_error()))?;
    Ok(vec![secret(format!("{}.csv", exam.id), bytes)])
}

fn lines(item: &Item) -> Vec<Line> {
    let text = |entry: &Entry| match entry {
        Entry::Decimal { text, .. } | Entry::Fraction(text) => text.clone(),
    };
    let plain = |answer: String, mistakes: Vec<String>| {
        vec![Line {
            entry: String::new(),
            answer,
            tolerance: String::new(),
            mistakes: mistakes.join("; "),
        }]
    };
    match &item.asked {
        ItemKind::Numbers(rows) => {
            let line = |cell: &super::item::Cell| Line {
                entry: cell.label.clone(),
                answer: text(&cell.right),
                tolerance: match &cell.right {
                    Entry::Decimal { tolerance, .. } => tolerance.clone(),
                    Entry::Fraction(_) => String::new(),
                },
                mistakes: cell
                    .wrong
                    .iter()
                    .map(|slip| format!("{}: {}", text(&slip.gives), slip.says()))
                    .collect::<Vec<_>>()
                    .join("; "),
            };
            rows.iter().flatten().map(line).collect()
        }
        ItemKind::Shape(word) => {
            let mistakes = word.wrong.iter().map(|slip| format!("{}: {}", slip.gives, slip.says()));
            plain(word.right.clone(), mistakes.collect())
        }
        ItemKind::One(offers) => {
            let right = offers.iter().position(|offer| offer.right).map_or('?', letter);
            plain(right.to_string(), Vec::new())
        }
        ItemKind::TrueFalse(offers) => {
            let words: Vec<&str> =
                offers.iter().map(|offer| if offer.right { "true" } else { "false" }).collect();
            plain(words.join(" "), Vec::new())
        }
        ItemKind::Order(all) => {
            let mut placed: Vec<_> =
                all.iter().filter_map(|own| Some((own.place?, own.letter))).collect();
            placed.sort_unstable();
            plain(placed.iter().map(|(_, letter)| letter).collect(), Vec::new())
        }
        ItemKind::Open(_) => plain(String::new(), Vec::new()),
    }
}

/// What a part asks for, in a word.
fn kind(asked: &ItemKind) -> &'static str {
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
fn options(asked: &ItemKind) -> Vec<String> {
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
