//! What an instructor gets: the questions again, their answers, the worked steps, and what mistakes
//! give.

use qkvet_prove::outcome::{Line, Shown as Stands};
use qkvet_spec::syntax::{BinaryOp, Expr};

use super::document::{Block, Document, Inline, Marker, letter};
use super::rows::numbered;
use super::sheet::{asked, head, number, points};
use super::words::{PRINTED_PLACES, blocks, chain, equation, line, of_numbers, shown, with_names};
use crate::answer::{Numbers, bounded};
use crate::expr::{self, binary};
use crate::generate::{Answer, Instance, KeyedPart, Mistaken};
use crate::plural::of_points;
use crate::proofs::{Proofs, Proven};
use crate::question::{AnswerSpec, Choice, Ordering, ProblemSet, Statement, Statements};

/// The key of a variant.
pub fn key_document(
    set: &ProblemSet,
    posed: &[Instance<'_>],
    variant: usize,
    proofs: &Proofs,
) -> Document {
    let total: u32 = posed.iter().map(points).sum();
    let mut document = Document {
        title: format!("{}: key", set.title),
        subtitle: format!("Variant {variant} · {} · not for students", of_points(total)),
        footer: format!("{}: key · variant {variant}", set.title),
        blocks: Vec::new(),
    };
    for (at, question) in posed.iter().enumerate() {
        document.blocks.extend(head(question, at));
        let meta = &question.question.question;
        let mut about = format!("Goal: {}. Difficulty {} of 5", meta.goal, meta.difficulty);
        about += &match (question.load(), question.question.load) {
            (0, _) => String::new(),
            (load, Some(band)) if question.parts.len() == question.question.parts.len() => {
                format!(", load {load} of {} to {}", band.low, band.high)
            }
            (load, _) => format!(", load {load}"),
        };
        about += ".";
        if !meta.sources.is_empty() {
            about += &format!(" After {}.", meta.sources.join("; "));
        }
        document.blocks.push(Block::Paragraph(vec![Inline::text(about)]));
        for (at, part) in question.parts.iter().enumerate() {
            document.blocks.extend(asked(question, part, at));
            document.blocks.extend(solution(question, part, proofs));
        }
    }
    document
}

/// Answer, steps, proof, rubric, and what mistakes give.
pub(crate) fn solution(posed: &Instance<'_>, part: &KeyedPart, proofs: &Proofs) -> Vec<Block> {
    let (written, checked) = posed.written(part);
    let mut all = vec![Block::Label("Answer".to_owned())];
    match (&written.answer, &part.answer) {
        (AnswerSpec::Value(value), Answer::Numbers { key, choices }) => {
            let of = checked.of.as_ref().filter(|_| value.of.text.len() < 60);
            all.push(value_line(of.map(|of| numbered(of.clone(), &posed.drawn)), key));
            if let Some(at) = choices.iter().position(|choice| choice.looks_like(key)) {
                all.push(Block::Paragraph(vec![Inline::Strong(format!("({})", letter(at)))]));
            }
        }
        (_, Answer::Numbers { key, .. }) => {
            all.push(Block::Paragraph(vec![Inline::Strong(extents(key))]));
            all.extend(checked.of.clone().map(|of| Block::Display(vec![Inline::math(of)])));
        }
        (_, Answer::Largest(columns)) => {
            let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
            all.push(Block::Paragraph(vec![Inline::Strong(columns.join(", "))]));
        }
        (AnswerSpec::Choice(choice), Answer::Choice(order)) => {
            all.extend(choice_key(posed, choice, order))
        }
        (AnswerSpec::Statements(statements), Answer::Statements(picked)) => {
            all.push(statements_key(posed, statements, picked));
        }
        (AnswerSpec::Ordering(ordering), Answer::Ordering(order)) => {
            all.extend(ordering_key(posed, ordering, order))
        }
        (AnswerSpec::Expression(expression), _) => {
            all.extend(checked.beside.clone().map(|is| Block::Display(vec![Inline::math(is)])));
            if let Some(law) = &expression.law {
                all.extend(derivation(law, proofs));
            }
        }
        (AnswerSpec::Proof(proof), _) => {
            all.extend(derivation(&proof.law, proofs));
            all.extend(rubric(posed, &proof.rubric));
        }
        (AnswerSpec::Design(design), _) => {
            all.push(Block::Paragraph(vec![Inline::text("One right answer of many:")]));
            all.extend(design.example.iter().filter_map(|name| step(posed, name)));
            if let (Some(distance), Some(most)) = (&checked.of, &checked.beside) {
                all.push(Block::Paragraph(vec![Inline::text("It is right because, here,")]));
                for bound in bounded(distance) {
                    let property = binary(BinaryOp::Le, bound.shown, most.clone());
                    all.push(Block::Display(vec![Inline::math(property)]));
                    let (left, right) = (shown(posed, &bound.of, 8), shown(posed, most, 8));
                    if let (Some(left), Some(right)) =
                        (left.decimals.or(left.exact), right.decimals.or(right.exact))
                    {
                        all.push(Block::Display(vec![Inline::math(binary(
                            BinaryOp::Le,
                            left,
                            right,
                        ))]));
                    }
                }
            }
            all.extend(rubric(posed, &design.rubric));
        }
        (AnswerSpec::Text(text), _) => {
            all.extend(blocks(posed, &text.sample));
            all.extend(rubric(posed, &text.rubric));
        }
        _ => {}
    }
    let steps: Vec<Block> = written.steps.iter().filter_map(|name| step(posed, name)).collect();
    if !steps.is_empty() || written.because.is_some() {
        all.push(Block::Label("Steps".to_owned()));
        all.extend(steps);
        all.extend(
            written.because.as_ref().map(|because| blocks(posed, because)).unwrap_or_default(),
        );
    }
    all.extend(mistakes(&part.mistakes, matches!(written.answer, AnswerSpec::Shape(_))));
    all
}

/// `(2, 3)`.
fn extents(numbers: &Numbers) -> String {
    format!("({})", numbers.rows.first().map(|row| row.join(", ")).unwrap_or_default())
}

/// `O = exact ≈ decimals`.
fn value_line(of: Option<Expr>, key: &Numbers) -> Block {
    let shown = of_numbers(key);
    let mut all = Vec::new();
    match (of, shown.exact) {
        (Some(of), Some(exact)) => all.push(Inline::math(equation(of, exact))),
        (Some(of), None) => all.push(Inline::math(of)),
        (None, Some(exact)) => all.push(Inline::math(exact)),
        (None, None) => {}
    }
    if let Some(decimals) = shown.decimals {
        if !all.is_empty() {
            all.push(Inline::text(" ≈ "));
        }
        all.push(Inline::math(decimals));
    }
    Block::Display(all)
}

/// A step of the solution: name, formula, numbers.
fn step(posed: &Instance<'_>, name: &str) -> Option<Block> {
    let (_, expr) = posed.question.law.lets.iter().find(|(own, _)| own == name)?;
    let own = expr::name(name);
    let shown = shown(posed, &own, PRINTED_PLACES);
    let expr = numbered(expr.clone(), &posed.drawn);
    let mut all = match shown.exact {
        Some(exact) => vec![Inline::math(chain(own, expr, exact))],
        None => vec![Inline::math(equation(own, expr))],
    };
    if let Some(decimals) = shown.decimals {
        all.extend([Inline::text(" ≈ "), Inline::math(decimals)]);
    }
    Some(Block::Display(all))
}

fn choice_key(posed: &Instance<'_>, choice: &Choice, order: &[usize]) -> Vec<Block> {
    let mut all = Vec::new();
    let mut why = Vec::new();
    for (at, option) in order.iter().enumerate() {
        match option.checked_sub(1).and_then(|at| choice.wrong.get(at)) {
            None => all.push(Block::Paragraph(vec![Inline::Strong(format!("({})", letter(at)))])),
            Some(wrong) => {
                let mut entry = vec![Inline::Strong(format!("({}) ", letter(at)))];
                entry.extend(line(posed, &wrong.because));
                why.push(entry);
            }
        }
    }
    all.push(Block::List(Marker::Dot, why));
    all
}

fn statements_key(
    posed: &Instance<'_>,
    statements: &Statements,
    picked: &[(bool, usize)],
) -> Block {
    let entry = |(right, at): &(bool, usize)| {
        let bank: &[Statement] = if *right { &statements.right } else { &statements.wrong };
        let mut entry = vec![Inline::Strong(if *right { "true. " } else { "false. " }.to_owned())];
        entry.extend(
            bank.get(*at).map(|statement| line(posed, &statement.because)).unwrap_or_default(),
        );
        entry
    };
    Block::List(Marker::Number, picked.iter().map(entry).collect())
}

fn ordering_key(posed: &Instance<'_>, ordering: &Ordering, order: &[usize]) -> Vec<Block> {
    let at = |line: usize| order.iter().position(|at| *at == line).map_or('?', letter);
    let letters: Vec<String> = (0..ordering.lines.len()).map(|line| at(line).to_string()).collect();
    let mut all = vec![Block::Paragraph(vec![Inline::Strong(letters.join(", "))])];
    let stranger = |(number, stranger): (usize, &Statement)| {
        let mut entry = vec![Inline::Strong(format!("({}) ", at(ordering.lines.len() + number)))];
        entry.extend(line(posed, &stranger.because));
        entry
    };
    if !ordering.strangers.is_empty() {
        all.push(Block::List(
            Marker::Dot,
            ordering.strangers.iter().enumerate().map(stranger).collect(),
        ));
    }
    all
}

/// What is marked, where a person marks.
pub(crate) fn rubric_lines(answer: &AnswerSpec) -> &[qkvet_spec::Formula] {
    match answer {
        AnswerSpec::Proof(proof) => &proof.rubric,
        AnswerSpec::Design(design) => &design.rubric,
        AnswerSpec::Text(text) => &text.rubric,
        _ => &[],
    }
}

fn rubric(posed: &Instance<'_>, rubric: &[qkvet_spec::Formula]) -> Vec<Block> {
    if rubric.is_empty() {
        return Vec::new();
    }
    let entries = rubric.iter().map(|entry| line(posed, entry)).collect();
    vec![Block::Label("Marked".to_owned()), Block::List(Marker::Dot, entries)]
}

/// What is proved, in the letters of its law, and the derivation that the prover found and checked.
fn derivation(law: &str, proofs: &Proofs) -> Vec<Block> {
    let Some(Proven { title, statement, lines }) = proofs.get(law) else { return Vec::new() };
    let mut all = Vec::new();
    if let Some(statement) = statement {
        let says = Inline::text(format!("{title}. In the letters of the law "));
        all.push(Block::Paragraph(vec![says, Inline::Code(law.to_owned()), Inline::text(":")]));
        all.push(Block::Display(vec![Inline::math(statement.clone())]));
        if !lines.is_empty() {
            all.push(Block::Paragraph(vec![Inline::text("Its proof:")]));
        }
    }
    for Line { shown, relation, reason } in lines {
        let (Stands::Expression(expr) | Stands::Equation(expr)) = shown;
        let mut entry = Vec::new();
        if !reason.is_empty() && matches!(shown, Stands::Expression(_)) {
            entry.push(Inline::text(format!("{} ", relation.sign())));
        }
        entry.push(Inline::math(expr.clone()));
        if !reason.is_empty() {
            entry.push(Inline::text(format!("  ({reason})")));
        }
        all.push(Block::Display(entry));
    }
    all
}

fn mistakes(mistakes: &[Mistaken], are_shapes: bool) -> Vec<Block> {
    if mistakes.is_empty() {
        return Vec::new();
    }
    let entry = |mistake: &Mistaken| {
        let mut entry = if are_shapes {
            vec![Inline::text(extents(&mistake.numbers))]
        } else {
            number(&mistake.numbers)
        };
        entry.push(Inline::text(": "));
        entry.extend(with_names(&mistake.says));
        entry
    };
    vec![
        Block::Label("Mistakes and what they give".to_owned()),
        Block::List(Marker::Dot, mistakes.iter().map(entry).collect()),
    ]
}
