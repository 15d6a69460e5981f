//! One part of a question as every format needs it: what is asked, what is right, what mistakes
//! give.

use super::Credit as Wish;
use super::decimal::{Entry, entry};
use crate::answer::Numbers;
use crate::generate::{Answer, Instance, KeyedPart, Mistaken};
use crate::print::{
    Block, Inline, ask, blocks, how, letter, line, number, part_letter, rubric_lines, solution,
    with_names,
};
use crate::proofs::Proofs;
use crate::question::{AnswerSpec, Choice, Credit, Ordering, Statement, Statements, Tolerance};
use crate::student_answer::read_expression;

/// A part of a question of one variant.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// `1a`: the number of the question and the letter of the part, as on the sheet.
    pub(super) id: String,
    /// Number of the question, from 1.
    pub(super) question: usize,
    /// Title of the question.
    pub(super) title: String,
    /// What a full answer is worth.
    pub(super) points: u32,
    /// What stands before the parts of the question.
    pub(super) head: Vec<Block>,
    /// What is asked.
    pub(super) ask: Vec<Block>,
    /// The answer.
    pub(super) asked: ItemKind,
    /// What each mistake gives as a whole, by rows, and the share of the points that it leaves.
    pub(super) mistakes: Vec<(Vec<Vec<Entry>>, f64)>,
    /// The share of the points for the right entries of a matrix, times their share of all.
    pub(super) entries: f64,
    /// Answer, steps, proof and mistakes in words.
    pub(super) solution: Vec<Block>,
    /// What is marked, where a person marks.
    pub(super) rubric: Vec<Vec<Inline>>,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub(super) enum ItemKind {
    /// Numbers, by rows.
    Numbers(Vec<Vec<Cell>>),
    /// Extents such as `(2, 3)`.
    Shape(Word),
    /// One of several options, in the order of the sheet.
    One(Vec<Offer>),
    /// Statements that are true or false.
    TrueFalse(Vec<Offer>),
    /// Lines in the order of the sheet.
    Order(Vec<Placed>),
    /// Words, formulas or a proof, which a person marks; so many lines.
    Open(usize),
}

/// One number of an answer.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// `row 1, column 2`, or nothing where there is only one.
    pub(super) label: String,
    /// What is right.
    pub(super) right: Entry,
    /// What mistakes give.
    pub(super) wrong: Vec<ItemMistake<Entry>>,
}

/// What a mistake gives for one number or text.
#[derive(Clone, Debug)]
pub(super) struct ItemMistake<T> {
    /// What is entered.
    pub(super) gives: T,
    /// The mistake in words, or several that give the same.
    pub(super) says: Vec<String>,
    /// The share of what the number is worth with which the whole answer earns what the mistake
    /// does; 0 where right entries alone earn more.
    pub(super) share: f64,
}

impl<T> ItemMistake<T> {
    /// All its mistakes in words.
    pub(super) fn says(&self) -> String {
        self.says.join("; or: ")
    }
}

/// A short text.
#[derive(Clone, Debug)]
pub(super) struct Word {
    /// Without spaces: `(2,3)`.
    pub(super) right: String,
    /// What mistakes give.
    pub(super) wrong: Vec<ItemMistake<String>>,
}

/// An option or a statement.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    /// What it says.
    pub(super) says: Vec<Inline>,
    /// Whether it is right.
    pub(super) right: bool,
    /// Why.
    pub(super) because: Vec<Inline>,
    /// Whether it is what a mistake in a computation gives.
    pub(super) mistake: bool,
    /// The share of the points that `qkvet exam grade` gives for it.
    pub(super) share: f64,
}

/// A line that has a place, or has none.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    /// Its letter.
    pub(super) letter: char,
    /// What it says.
    pub(super) says: Vec<Inline>,
    /// Its place, from 1.
    pub(super) place: Option<usize>,
    /// The first and the last place that it may have, from 1, where lines may be exchanged; 0
    /// without a place.
    pub(super) range: (usize, usize),
    /// The places of the lines directly before it.
    pub(super) after: Vec<usize>,
    /// Why it has none.
    pub(super) because: Vec<Inline>,
}

/// Every part of a variant, in order; with another share for all mistakes where that is wished.
pub(super) fn items(posed: &[Instance<'_>], proofs: &Proofs, wish: Wish) -> Vec<Item> {
    let of_question = |(at, posed): (usize, &Instance<'_>)| {
        let of_part =
            |(part_at, part): (usize, &KeyedPart)| item(posed, part, (at, part_at), proofs, wish);
        posed.parts.iter().enumerate().map(of_part).collect::<Vec<_>>()
    };
    posed.iter().enumerate().flat_map(of_question).collect()
}

fn item(
    posed: &Instance<'_>,
    part: &KeyedPart,
    (at, part_at): (usize, usize),
    proofs: &Proofs,
    wish: Wish,
) -> Item {
    let (written, _) = posed.written(part);
    let question = &posed.question.question;
    let shares = shares(posed, part, wish);
    let asked = asked(posed, part, &shares);
    let mut ask = ask(posed, part);
    // How options and lines are answered is a matter of the format.
    if let (ItemKind::Numbers(_), Some(how)) = (&asked, how(&written.answer)) {
        ask.push(Block::Paragraph(vec![Inline::text(how)]));
    }
    let full = written.tolerance().0.iter().find(|band| band.share >= 1.0);
    if let (ItemKind::Numbers(_), Some(band)) = (&asked, full) {
        ask.push(Block::Paragraph(vec![Inline::text(format!("Here {band}."))]));
    }
    if let ItemKind::Shape(_) = asked {
        ask.push(Block::Paragraph(vec![Inline::text(
            "Write it as numbers in parentheses, such as (2, 3).",
        )]));
    }
    Item {
        id: format!("{}{}", at + 1, part_letter(part_at)),
        question: at + 1,
        title: question.title.clone(),
        points: written.points,
        head: question.prompt.as_ref().map(|prompt| blocks(posed, prompt)).unwrap_or_default(),
        ask,
        asked,
        mistakes: part
            .mistakes
            .iter()
            .zip(shares)
            .map(|(one, share)| (whole(&one.numbers), share))
            .collect(),
        // Of columns each row has its full share.
        entries: if matches!(written.answer, AnswerSpec::Largest(_)) {
            1.0
        } else {
            written.credit.entries
        },
        solution: solution(posed, part, proofs),
        rubric: rubric_lines(&written.answer).iter().map(|entry| line(posed, entry)).collect(),
    }
}

/// The share of the points that each mistake of a part leaves.
fn shares(posed: &Instance<'_>, part: &KeyedPart, wish: Wish) -> Vec<f64> {
    let (written, checked) = posed.written(part);
    let Credit { mistake, .. } = written.credit;
    let share = |own: Option<f64>| {
        wish.entered.map_or(own.unwrap_or(mistake), |percent| f64::from(percent) / 100.0)
    };
    checked.mistakes.iter().map(|own| share(own.credit)).collect()
}

/// All numbers of a matrix, by rows.
fn whole(numbers: &Numbers) -> Vec<Vec<Entry>> {
    numbers
        .rows
        .iter()
        .map(|row| row.iter().map(|text| entry(text, numbers.places)).collect())
        .collect()
}

fn asked(posed: &Instance<'_>, part: &KeyedPart, shares: &[f64]) -> ItemKind {
    let (written, _) = posed.written(part);
    match (&written.answer, &part.answer) {
        (AnswerSpec::Shape(_), Answer::Numbers { key, .. }) => {
            ItemKind::Shape(shape(key, &part.mistakes, shares))
        }
        (_, Answer::Numbers { key, choices }) if !choices.is_empty() => {
            ItemKind::One(offered(key, choices, &part.mistakes, shares))
        }
        (_, Answer::Numbers { key, .. }) => {
            ItemKind::Numbers(cells((key, written.tolerance()), &part.mistakes, shares))
        }
        (_, Answer::Largest(columns)) => {
            let cell = |(at, column): (usize, &usize)| {
                let right = entry(&column.to_string(), None);
                vec![Cell { label: format!("row {}", at + 1), right, wrong: Vec::new() }]
            };
            ItemKind::Numbers(columns.iter().enumerate().map(cell).collect())
        }
        (AnswerSpec::Choice(choice), Answer::Choice(order)) => {
            ItemKind::One(chosen(posed, choice, order))
        }
        (AnswerSpec::Statements(statements), Answer::Statements(picked)) => {
            ItemKind::TrueFalse(stated(posed, statements, picked))
        }
        (AnswerSpec::Ordering(ordering), Answer::Ordering(order)) => {
            ItemKind::Order(placed(posed, ordering, order))
        }
        (AnswerSpec::Text(text), _) => ItemKind::Open(text.lines.unwrap_or(4).clamp(1, 40)),
        _ => ItemKind::Open(9),
    }
}

fn cells(
    (key, tolerance): (&Numbers, &Tolerance),
    mistakes: &[Mistaken],
    shares: &[f64],
) -> Vec<Vec<Cell>> {
    let mut right = whole(key);
    for (entry, exact) in right.iter_mut().flatten().zip(key.exact.iter().flatten()) {
        let allowed =
            read_expression(exact).ok().and_then(|exact| tolerance.full(&exact, key.places));
        if let Some(allowed) = allowed {
            entry.widen(&allowed);
        }
    }
    let right = right;
    let n_cells: usize = right.iter().map(Vec::len).sum();
    let shape = |rows: &[Vec<Entry>]| rows.iter().map(Vec::len).collect::<Vec<_>>();
    let comparable = |(one, share): (&Mistaken, &f64)| {
        let gives = whole(&one.numbers);
        (shape(&gives) == shape(&right))
            .then(|| (one.says.clone(), share_of_entry(&right, &gives, *share), gives))
    };
    let comparable: Vec<_> = mistakes.iter().zip(shares).filter_map(comparable).collect();
    let cell = |i: usize, j: usize, right: &Entry| {
        let mut wrong: Vec<ItemMistake<Entry>> = Vec::new();
        for (says, share, gives) in &comparable {
            let gives = &gives[i][j];
            if right.accepts(gives) {
                continue;
            }
            match wrong.iter_mut().find(|other| other.gives.accepts(gives)) {
                Some(other) => {
                    other.says.push(says.clone());
                    other.share = other.share.min(*share);
                }
                None => wrong.push(ItemMistake {
                    gives: gives.clone(),
                    says: vec![says.clone()],
                    share: *share,
                }),
            }
        }
        let label =
            if n_cells == 1 { String::new() } else { format!("row {}, column {}", i + 1, j + 1) };
        Cell { label, right: right.clone(), wrong }
    };
    let row = |(i, row): (usize, &Vec<Entry>)| {
        row.iter().enumerate().map(|(j, right)| cell(i, j, right)).collect()
    };
    right.iter().enumerate().map(row).collect()
}

/// What a wrong entry of a mistake may earn where each is marked by itself: of `n` entries `r` are
/// right, so that `(r + (n − r)·x) / n` is the share of the mistake for
/// `x = (share·n − r) / (n − r)`, and too much for `x = 0` if `r > share·n`.
fn share_of_entry(right: &[Vec<Entry>], gives: &[Vec<Entry>], share: f64) -> f64 {
    let fits = || {
        right
            .iter()
            .flatten()
            .zip(gives.iter().flatten())
            .map(|(right, gives)| right.accepts(gives))
    };
    let (all, right) = (fits().count(), fits().filter(|is_right| *is_right).count());
    if right == all {
        0.0
    } else {
        ((share * all as f64 - right as f64) / (all - right) as f64).max(0.0)
    }
}

fn shape(key: &Numbers, mistakes: &[Mistaken], shares: &[f64]) -> Word {
    let text = |numbers: &Numbers| {
        let extents: Vec<&str> = numbers.rows.iter().flatten().map(String::as_str).collect();
        format!("({})", extents.join(","))
    };
    let slip = |(mistake, share): (&Mistaken, &f64)| ItemMistake {
        gives: text(&mistake.numbers),
        says: vec![mistake.says.clone()],
        share: *share,
    };
    Word { right: text(key), wrong: mistakes.iter().zip(shares).map(slip).collect() }
}

fn offered(
    key: &Numbers,
    choices: &[Numbers],
    mistakes: &[Mistaken],
    shares: &[f64],
) -> Vec<Offer> {
    let offer = |choice: &Numbers| {
        let own =
            mistakes.iter().zip(shares).find(|(mistake, _)| mistake.numbers.looks_like(choice));
        let says = own.map(|(mistake, _)| &mistake.says);
        let right = choice.looks_like(key);
        let because = says.filter(|_| !right).map(|says| with_names(says)).unwrap_or_default();
        Offer {
            says: number(choice),
            right,
            because,
            mistake: !right,
            share: own.map_or(0.0, |(_, share)| *share),
        }
    };
    choices.iter().map(offer).collect()
}

fn chosen(posed: &Instance<'_>, choice: &Choice, order: &[usize]) -> Vec<Offer> {
    let offer = |at: &usize| match at.checked_sub(1).and_then(|at| choice.wrong.get(at)) {
        None => Offer {
            says: line(posed, &choice.right),
            right: true,
            because: Vec::new(),
            mistake: false,
            share: 0.0,
        },
        Some(Statement { says, because }) => Offer {
            says: line(posed, says),
            right: false,
            because: line(posed, because),
            mistake: false,
            share: 0.0,
        },
    };
    order.iter().map(offer).collect()
}

fn stated(posed: &Instance<'_>, statements: &Statements, picked: &[(bool, usize)]) -> Vec<Offer> {
    let offer = |(right, at): &(bool, usize)| {
        let bank = if *right { &statements.right } else { &statements.wrong };
        let Statement { says, because } = bank.get(*at)?;
        Some(Offer {
            says: line(posed, says),
            right: *right,
            because: line(posed, because),
            mistake: false,
            share: 0.0,
        })
    };
    picked.iter().filter_map(offer).collect()
}

fn placed(posed: &Instance<'_>, ordering: &Ordering, order: &[usize]) -> Vec<Placed> {
    let ranges = ordering.ranges();
    let place = |(at, own): (usize, &usize)| {
        let letter = letter(at);
        if let Some(text) = ordering.lines.get(*own) {
            let after = ordering.directly_before(*own).into_iter().map(|line| line + 1).collect();
            let (place, range) = (Some(own + 1), ranges[*own]);
            return Some(Placed {
                letter,
                says: line(posed, text),
                place,
                range,
                after,
                because: Vec::new(),
            });
        }
        let Statement { says, because } = ordering.strangers.get(own - ordering.lines.len())?;
        let (says, because) = (line(posed, says), line(posed, because));
        Some(Placed { letter, says, place: None, range: (0, 0), after: Vec::new(), because })
    };
    order.iter().enumerate().filter_map(place).collect()
}

impl Placed {
    /// Where it belongs, in words: `line 2`, or `line 2 or 3` where lines may be exchanged.
    pub(super) fn side(&self) -> String {
        match (self.place, self.range) {
            (None, _) => "has no place".to_owned(),
            (_, (first, last)) if first == last => format!("line {first}"),
            (_, (first, last)) if first + 1 == last => format!("line {first} or {last}"),
            (_, (first, last)) => format!("line {first} to {last}"),
        }
    }
}

/// The places that lines may have, in order, and for each line the number of its own.
pub(super) fn sides(lines: &[Placed]) -> (Vec<String>, Vec<usize>) {
    let key = |own: &Placed| (own.place.is_none(), own.range);
    let mut sorted: Vec<&Placed> = lines.iter().collect();
    sorted.sort_by_key(|own| key(own));
    sorted.dedup_by_key(|own| key(own));
    let of = |own: &Placed| sorted.iter().position(|other| key(other) == key(own)).unwrap_or(0);
    let own = lines.iter().map(of).collect();
    (sorted.into_iter().map(Placed::side).collect(), own)
}

impl Word {
    /// The ways to write it that are one.
    pub(super) fn ways(text: &str) -> [String; 4] {
        let bare = text.trim_matches(['(', ')']).to_owned();
        let spaced = bare.replace(',', ", ");
        [text.to_owned(), format!("({spaced})"), bare, spaced]
    }
}

impl Item {
    /// Everything that is shown.
    pub(super) fn stem(&self) -> Vec<Block> {
        [self.head.clone(), self.ask.clone()].concat()
    }

    /// The same, and how exact numbers that are not whole are to be entered where a program
    /// compares numbers or texts.
    pub(super) fn entered_stem(&self) -> Vec<Block> {
        let mut stem = self.stem();
        if let ItemKind::Numbers(rows) = &self.asked
            && rows.iter().flatten().any(|cell| cell.right.is_exact_part())
        {
            let how = "Write a fraction whose decimals end as a decimal, such as 2.5, and any other in lowest terms, such as 2/3.";
            stem.push(Block::Paragraph(vec![Inline::text(how)]));
        }
        stem
    }

    /// `1a Title`.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.id, self.title)
    }
}
