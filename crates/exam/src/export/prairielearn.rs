//! `PrairieLearn`: a folder for each part of each variant, with its answers in `question.html` and
//! without `server.py`.

use serde_json::json;
use sha2::{Digest, Sha256};

use super::decimal::Entry;
use super::item::{Cell, Item, ItemKind, Offer, Placed, Word};
use super::{Credit, Exam, Exported, Variant, secret};
use crate::error::ExamError;
use crate::print::{Block, Inline, Marker, Maths, escape, fragment, line_fragment};

pub(super) fn write(exam: &Exam, credit: Credit) -> Result<Vec<Exported>, ExamError> {
    let mut files = Vec::new();
    for variant in &exam.variants {
        for item in &variant.items {
            let folder = format!("questions/{}/{}", variant.name, item.id);
            let info = serde_json::to_string_pretty(&info(exam, variant, item));
            let info = info? + "\n";
            files.push(secret(format!("{folder}/info.json"), info));
            files.push(secret(format!("{folder}/question.html"), question(item, credit)));
        }
    }
    Ok(files)
}

/// What the schema requires, and what is not its default.
fn info(exam: &Exam, variant: &Variant, item: &Item) -> serde_json::Value {
    let mut info = json!({
        "uuid": uuid(exam, variant, item),
        "title": format!("{} (variant {})", item.name(), variant.number),
        "topic": exam.title,
        "type": "v3",
        "singleVariant": true,
    });
    if matches!(item.asked, ItemKind::Open(_)) {
        info["gradingMethod"] = json!("Manual");
    }
    info
}

/// The same for the same part of the same exam, and no other's.
fn uuid(exam: &Exam, variant: &Variant, item: &Item) -> String {
    let mut hash = Sha256::new();
    for part in
        ["qkvet-exam", exam.seed.to_string().as_str(), variant.name.as_str(), item.id.as_str()]
    {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    let mut bytes: Vec<u8> = hash.finalize()[..16].to_vec();
    // Version 8: by a rule of one's own; variant 1.
    bytes[6] = (bytes[6] & 0x0f) | 0x80;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

fn question(item: &Item, credit: Credit) -> String {
    let input = match &item.asked {
        ItemKind::Numbers(rows) => {
            rows.iter().enumerate().map(|(i, row)| numbers(i, row)).collect()
        }
        ItemKind::Shape(word) => shape(word),
        ItemKind::One(offers) => options(offers, credit),
        ItemKind::TrueFalse(offers) => statements(offers),
        ItemKind::Order(lines) => places(lines),
        ItemKind::Open(_) => open(item),
    };
    let (stem, solution) = (shown(&item.entered_stem()), shown(&item.solution));
    let page = format!(
        "<pl-question-panel>\n{stem}\n</pl-question-panel>\n{input}<pl-answer-panel>\n{solution}\n</pl-answer-panel>\n"
    );
    // Two braces open a tag of Mustache; to LaTeX a space between them is nothing.
    page.replace("{{", "{ {").replace("{{", "{ {")
}

fn shown(blocks: &[Block]) -> String {
    fragment(blocks, Maths::Dollars)
}

fn line(line: &[Inline]) -> String {
    line_fragment(line, Maths::Dollars)
}

fn numbers(i: usize, row: &[Cell]) -> String {
    let input = |(j, cell): (usize, &Cell)| {
        let name = format!("r{}c{}", i + 1, j + 1);
        let label = if cell.label.is_empty() {
            String::new()
        } else {
            format!(" label=\"{}: \"", escape(&cell.label))
        };
        match &cell.right {
            Entry::Decimal { text, tolerance } => format!(
                "<p><pl-number-input answers-name=\"{name}\"{label} correct-answer=\"{text}\" comparison=\"relabs\" \
                 rtol=\"0\" atol=\"{tolerance}\" show-help-text=\"false\" show-placeholder=\"false\"></pl-number-input></p>\n"
            ),
            Entry::Fraction(text) => format!(
                "<p><pl-string-input answers-name=\"{name}\"{label} correct-answer=\"{text}\" remove-spaces=\"true\">\
                 </pl-string-input></p>\n"
            ),
        }
    };
    row.iter().enumerate().map(input).collect()
}

fn shape(word: &Word) -> String {
    let right = escape(&word.right);
    format!(
        "<p><pl-string-input answers-name=\"shape\" correct-answer=\"{right}\" remove-spaces=\"true\" \
         placeholder=\"(2, 3)\"></pl-string-input></p>\n"
    )
}

fn options(offers: &[Offer], credit: Credit) -> String {
    let option = |offer: &Offer| {
        let says = line(&offer.says);
        if offer.right {
            return format!("  <pl-answer correct=\"true\">{says}</pl-answer>\n");
        }
        let feedback = escape(&line(&offer.because));
        let score = match (offer.mistake, credit.ticked()) {
            (true, percent @ 1..) => format!(" score=\"{}.{:02}\"", percent / 100, percent % 100),
            _ => String::new(),
        };
        format!(
            "  <pl-answer correct=\"false\"{score} feedback=\"{feedback}\">{says}</pl-answer>\n"
        )
    };
    let all: String = offers.iter().map(option).collect();
    format!(
        "<pl-multiple-choice answers-name=\"option\" order=\"fixed\">\n{all}</pl-multiple-choice>\n"
    )
}

fn statements(offers: &[Offer]) -> String {
    let statement = |offer: &Offer| {
        let side = if offer.right { "true" } else { "false" };
        format!("  <pl-statement match=\"{side}\">{}</pl-statement>\n", line(&offer.says))
    };
    let all: String = offers.iter().map(statement).collect();
    format!(
        "<pl-matching answers-name=\"statements\" fixed-order=\"true\" fixed-options-order=\"true\" partial-credit=\"true\" \
         counter-type=\"full-text\">\n{all}  <pl-option name=\"true\">true</pl-option>\n  <pl-option name=\"false\">false</pl-option>\n\
         </pl-matching>\n"
    )
}

fn places(lines: &[Placed]) -> String {
    let one = |own: &Placed| {
        let says = line(&own.says);
        match own.place {
            Some(place) => {
                let after: Vec<String> = own.after.iter().map(usize::to_string).collect();
                let depends = after.join(",");
                format!(
                    "  <pl-answer correct=\"true\" tag=\"{place}\" depends=\"{depends}\">{says}</pl-answer>\n"
                )
            }
            None => {
                let feedback = escape(&line(&own.because));
                format!(
                    "  <pl-answer correct=\"false\" distractor-feedback=\"{feedback}\">{says}</pl-answer>\n"
                )
            }
        }
    };
    let all: String = lines.iter().map(one).collect();
    format!(
        "<pl-order-blocks answers-name=\"lines\" grading-method=\"dag\" partial-credit=\"lcs\" feedback=\"first-wrong\" \
         source-blocks-order=\"ordered\">\n{all}</pl-order-blocks>\n"
    )
}

fn open(item: &Item) -> String {
    let rubric = Block::List(Marker::Dot, item.rubric.clone());
    let marked = if item.rubric.is_empty() { String::new() } else { shown(&[rubric]) };
    format!(
        "<pl-rich-text-editor file-name=\"answer.html\"></pl-rich-text-editor>\n\
         <pl-manual-grading-only>\n{marked}\n</pl-manual-grading-only>\n"
    )
}
