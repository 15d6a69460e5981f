//! What a student gets: the questions, and room to answer. Nothing of the answers goes in here.

use super::document::{Block, Document, Inline, Marker};
use super::words::{blocks, line, of_numbers, part_letter};
use crate::answer::Numbers;
use crate::generate::{Answer, Instance, KeyedPart};
use crate::plural::{counted, of_points};
use crate::question::{AnswerSpec, ProblemSet, Tolerance};

/// The sheet of a variant.
pub fn sheet_document(set: &ProblemSet, posed: &[Instance<'_>], variant: usize) -> Document {
    let points: u32 = posed.iter().map(points).sum();
    let mut document = Document {
        title: set.title.clone(),
        subtitle: format!(
            "Variant {variant} · {} · Name: ____________________________",
            of_points(points)
        ),
        footer: format!("{} · variant {variant}", set.title),
        blocks: Vec::new(),
    };
    if let (Some(intro), Some(first)) = (&set.intro, posed.first()) {
        document.blocks.extend(blocks(first, intro));
    }
    if posed.iter().any(|posed| posed.parts.iter().any(|part| is_number(posed, part))) {
        document
            .blocks
            .push(Block::Paragraph(vec![Inline::text("Write numbers alone, without units.")]));
    }
    let asks_decimals = |part: &&KeyedPart, posed: &Instance<'_>| {
        posed.written(part).0.places().is_some() && is_number(posed, part)
    };
    if posed.iter().any(|posed| posed.parts.iter().any(|part| asks_decimals(&part, posed))) {
        let text = rule(set.tolerance.as_ref());
        document.blocks.push(Block::Paragraph(vec![Inline::text(text)]));
    }
    for (at, question) in posed.iter().enumerate() {
        document.blocks.extend(head(question, at));
        for (at, part) in question.parts.iter().enumerate() {
            document.blocks.extend(asked(question, part, at));
            let own = question.written(part).0.tolerance.as_ref();
            if own.is_some() && own != set.tolerance.as_ref() {
                let text = format!("Here {}.", own.map_or_else(String::new, Tolerance::rule));
                document.blocks.push(Block::Paragraph(vec![Inline::text(text)]));
            }
            document.blocks.push(room(question, part));
        }
    }
    document
}

/// How near to the right number an answer in decimals has to be, for the student.
fn rule(tolerance: Option<&Tolerance>) -> String {
    let rounded = "A number earns full points if it is right after rounding to the decimals asked";
    let printed = "Numbers that this sheet prints rounded count as exact.";
    match tolerance {
        Some(tolerance) => format!("{rounded}. Otherwise {}. {printed}", tolerance.rule()),
        None => format!("{rounded}. {printed}"),
    }
}

/// Whether a number or a matrix is to be written.
fn is_number(posed: &Instance<'_>, part: &KeyedPart) -> bool {
    matches!(&posed.written(part).0.answer, AnswerSpec::Value(value) if !value.choices)
}

/// What a question is worth.
pub(super) fn points(posed: &Instance<'_>) -> u32 {
    posed.parts.iter().map(|part| posed.written(part).0.points).sum()
}

/// Number, title and what stands before the parts.
pub(super) fn head(posed: &Instance<'_>, at: usize) -> Vec<Block> {
    let question = &posed.question.question;
    let mut all = vec![Block::Question {
        title: format!("{}. {}", at + 1, question.title),
        points: points(posed),
    }];
    if let Some(prompt) = &question.prompt {
        all.extend(blocks(posed, prompt));
    }
    all
}

/// The words of a part, without its options.
pub(crate) fn ask(posed: &Instance<'_>, part: &KeyedPart) -> Vec<Block> {
    blocks(posed, &posed.written(part).0.prompt)
}

/// A part as it is asked, with its options.
pub(super) fn asked(posed: &Instance<'_>, part: &KeyedPart, at: usize) -> Vec<Block> {
    let (written, _) = posed.written(part);
    let mut all = ask(posed, part);
    let text = match all.first_mut() {
        Some(Block::Paragraph(text)) => std::mem::take(text),
        _ => Vec::new(),
    };
    let head = Block::Part { letter: part_letter(at), points: written.points, text };
    if matches!(all.first(), Some(Block::Paragraph(_))) {
        all[0] = head;
    } else {
        all.insert(0, head);
    }
    if let Some(mut how) = how(&written.answer) {
        // Other systems take decimals alone.
        if matches!(&written.answer, AnswerSpec::Value(value) if value.places.is_some() && !value.choices)
        {
            how += " An exact result earns full marks too.";
        }
        all.push(Block::Paragraph(vec![Inline::text(how)]));
    }
    all.extend(options(posed, part));
    all
}

/// How the answer is to be given.
pub(crate) fn how(answer: &AnswerSpec) -> Option<String> {
    Some(match answer {
        AnswerSpec::Value(value) => match value.places {
            Some(_) if value.choices => "Tick one.".to_owned(),
            Some(places) => {
                format!("Round the final result, and only that, to {}.", counted(places, "decimal"))
            }
            None if value.choices => "Tick one.".to_owned(),
            None => "Give the exact value.".to_owned(),
        },
        AnswerSpec::Choice(_) => "Tick one.".to_owned(),
        AnswerSpec::Statements(_) => "Tick true or false for each.".to_owned(),
        AnswerSpec::Ordering(ordering) if ordering.strangers.is_empty() => {
            "Write the letters in the right order.".to_owned()
        }
        AnswerSpec::Ordering(_) => {
            "Write the letters of the lines that belong here in the right order; not all of them do.".to_owned()
        }
        AnswerSpec::Largest(_) => "Give one number for each row, counted from 1.".to_owned(),
        _ => return None,
    })
}

fn options(posed: &Instance<'_>, part: &KeyedPart) -> Option<Block> {
    let (written, _) = posed.written(part);
    Some(match (&written.answer, &part.answer) {
        (AnswerSpec::Value(_), Answer::Numbers { choices, .. }) if !choices.is_empty() => {
            Block::List(Marker::Box, choices.iter().map(number).collect())
        }
        (AnswerSpec::Choice(choice), Answer::Choice(order)) => {
            let option = |at: &usize| match at.checked_sub(1).and_then(|at| choice.wrong.get(at)) {
                Some(wrong) => line(posed, &wrong.says),
                None => line(posed, &choice.right),
            };
            Block::List(Marker::Box, order.iter().map(option).collect())
        }
        (AnswerSpec::Statements(statements), Answer::Statements(picked)) => {
            let statement = |(right, at): &(bool, usize)| {
                let bank = if *right { &statements.right } else { &statements.wrong };
                bank.get(*at).map(|statement| line(posed, &statement.says)).unwrap_or_default()
            };
            Block::List(Marker::TrueFalse, picked.iter().map(statement).collect())
        }
        (AnswerSpec::Ordering(ordering), Answer::Ordering(order)) => {
            let entry = |at: &usize| match ordering.lines.get(*at) {
                Some(text) => line(posed, text),
                None => ordering
                    .strangers
                    .get(at - ordering.lines.len())
                    .map(|stranger| line(posed, &stranger.says))
                    .unwrap_or_default(),
            };
            Block::List(Marker::Letter, order.iter().map(entry).collect())
        }
        _ => return None,
    })
}

/// Numbers as an option: as they are printed.
pub(crate) fn number(numbers: &Numbers) -> Vec<Inline> {
    let shown = of_numbers(numbers);
    shown.decimals.or(shown.exact).map(Inline::math).into_iter().collect()
}

/// How many numbers are asked for.
fn entries(part: &KeyedPart) -> usize {
    match &part.answer {
        Answer::Numbers { key, .. } => key.rows.iter().map(Vec::len).sum(),
        _ => 1,
    }
}

fn room(posed: &Instance<'_>, part: &KeyedPart) -> Block {
    match &posed.written(part).0.answer {
        AnswerSpec::Value(value) if value.choices => Block::Room(3),
        AnswerSpec::Value(_) => Block::Room((4 + entries(part)).clamp(6, 24)),
        AnswerSpec::Choice(_) | AnswerSpec::Statements(_) => Block::Room(1),
        AnswerSpec::Shape(_)
        | AnswerSpec::Ordering(_)
        | AnswerSpec::Largest(_)
        | AnswerSpec::Expression(_) => Block::Line(vec![Inline::text("Answer: ")]),
        AnswerSpec::Proof(_) => Block::Room(9),
        AnswerSpec::Design(design) => Block::Room((6 + 3 * design.example.len()).min(24)),
        AnswerSpec::Text(text) => Block::Room(text.lines.unwrap_or(4).clamp(1, 40)),
    }
}
