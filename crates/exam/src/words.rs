//! English of what exams find: the only place where the facts become sentences.

use std::fmt;

use crate::grade::{
    Extents, Failure, Feedback, FileError, List, Nature, Problem, TurnedVector, Undecided, Unread,
    WrongStatement,
};
use crate::plural::counted;
use crate::print::sample;
use crate::solution::{Base, Cause, Remark};
use crate::student_answer::{ParsedNumber, ReadError, Understood};

/// Row and column from 1.
fn place(at: (usize, usize)) -> String {
    format!("({}, {})", at.0 + 1, at.1 + 1)
}

/// Texts with something between them.
fn joined(all: &[impl fmt::Display], between: &str) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Follows => f.write_str("follows from the steps before it"),
            Self::FollowsUndecided => {
                f.write_str("follows from what is written before it, of which not all was decided")
            }
            Self::RightAlone => {
                f.write_str("right, though it does not follow from what is written before it")
            }
            Self::Undecided(reason) => reason.fmt(f),
            Self::Rounded(source) => {
                f.write_str("numbers were rounded before going on")?;
                source.iter().try_for_each(|(what, places)| {
                    write!(f, ": {what} to {}", counted(*places, "decimal"))
                })
            }
            Self::FromRounded { at, written, right } => write!(
                f,
                "entry {}: {written} comes from rounded numbers, {right} from unrounded ones",
                place(*at)
            ),
            Self::Mistake { says, base } => {
                f.write_str(says)?;
                f.write_str(match base {
                    Base::Steps => "",
                    Base::Rounded => " (from rounded numbers)",
                    Base::Right => {
                        " (and it follows from the right numbers, not from those written before it)"
                    }
                })
            }
            Self::Extents { expected, got } => write!(
                f,
                "expected {} × {} numbers, got {} × {}",
                expected.0, expected.1, got.0, got.1
            ),
            Self::Transposed => f.write_str("rows and columns are exchanged"),
            Self::Entries([x, y]) => {
                write!(f, "entries {} and {} are exchanged", place(*x), place(*y))
            }
            Self::Lines { what, pair: (x, y), of } => {
                write!(f, "{what} {} and {}", x + 1, y + 1)?;
                of.iter().try_for_each(|of| write!(f, " of {of}"))?;
                f.write_str(" are exchanged")
            }
            Self::Entry { at, causes, perhaps, expected, got } => {
                match causes.as_slice() {
                    [] => f.write_str("another value")?,
                    _ if *perhaps => write!(f, "perhaps {}", joined(causes, " or "))?,
                    _ => f.write_str(&joined(causes, " or "))?,
                }
                write!(f, " in entry {}: expected {expected}, got {got}", place(*at))
            }
            Self::More(n) => write!(f, "and {n} entries more"),
            Self::Rank { rank, width } => write!(
                f,
                "the rank of these scores is {rank}, but the rank of Q Kᵀ is at most d_k = {width}: no queries and keys have them"
            ),
            Self::Negative(row) => write!(f, "row {} has a negative weight", row + 1),
            Self::Sum { row, sum } => write!(f, "row {} sums to {sum}, not to 1", row + 1),
            Self::Outside(at) => {
                write!(f, "entry {} is outside the values that it is a mean of", place(*at))
            }
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotNearest => f.write_str("not rounded to the nearest"),
            Self::Sign => f.write_str("sign error"),
            Self::TermSign(k) => write!(f, "sign error in term {}", k + 1),
            Self::MissingTerm(k) => write!(f, "missing term {}", k + 1),
            Self::TwiceTerm(k) => write!(f, "twice the term {}", k + 1),
        }
    }
}

/// How a matrix is written.
const NUMBERS: &str =
    "write a matrix by rows, [[1, 2], [3, 4]], and numbers as 0.25, 1/4 or exp(1/2)";
/// How a submission begins.
const TEMPLATE: &str = "start from the template that `qkvet exam build` wrote beside the sheet";
/// How a table of submissions begins.
const TABLE: &str = "the first line names the columns: student, variant, 1a, 1b and so on";

impl fmt::Display for Feedback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => Ok(()),
            Self::Missing => f.write_str("no answer"),
            Self::TakenOver { from } => {
                write!(f, "no answer of its own; the one to {from} has this property too")
            }
            Self::Unread(unread) => {
                write!(f, "left to a person, for it is not read for certain: {unread}")
            }
            Self::ByHand => f.write_str("marked by a person"),
            Self::Undecided(reason) => {
                f.write_str("not decided, marked by a person: ")?;
                match reason {
                    Undecided::NoNumbers => f.write_str("no other numbers to try it on"),
                    Undecided::NoValue(reason) => reason.fmt(f),
                }
            }
            Self::Exact => f.write_str("equal to the exact value"),
            Self::EqualWhereTried => f.write_str("equal on all numbers tried"),
            Self::Wrong { because } => f.write_str(because),
            Self::Mistake { says, coarse } => {
                f.write_str(says)?;
                f.write_str(if *coarse { "; fewer decimals than asked" } else { "" })
            }
            Self::Follows { from } => write!(
                f,
                "not the right value; it follows from the answer to {} as it is written there",
                joined(from, " and ")
            ),
            Self::Coarse { stated, asked, perhaps } => {
                let stated = counted(*stated, "decimal");
                match asked {
                    Some(places) => write!(f, "right, but to {stated} where {places} are asked")?,
                    None => write!(f, "right to {stated}, but the exact value is asked")?,
                }
                perhaps.iter().try_for_each(|mistake| {
                    write!(f, "; with so few it may also be a mistake: {mistake}")
                })
            }
            Self::Tolerated { perhaps } => {
                f.write_str("within the tolerance of the right number")?;
                perhaps
                    .iter()
                    .try_for_each(|mistake| write!(f, "; it may also be a mistake: {mistake}"))
            }
            Self::Printed => f.write_str("right from the rounded numbers that the sheet prints"),
            Self::NotNearest => f.write_str("the last digit is wrong: not rounded to the nearest"),
            Self::Extents { expected, got } => {
                write!(f, "expected {expected} extents, got {got}")
            }
            Self::Turned => f.write_str("right, but rows and columns are exchanged"),
            Self::Matrix { expected, got } => {
                write!(f, "expected a matrix of {expected}, got {got}")
            }
            Self::Number { nature } => nature.fmt(f),
            Self::Entries { nature, right, coarse, wrong } => {
                let n = right + wrong.len();
                let coarse = if *coarse { ", though not to all digits asked" } else { "" };
                let shown: Vec<String> = wrong.iter().map(|at| place(*at)).collect();
                write!(f, "{right} of {n} entries are right{coarse}; {nature} in ")?;
                match shown.get(6..).filter(|more| !more.is_empty()) {
                    Some(more) => {
                        write!(f, "{} and {} more", joined(&shown[..6], ", "), more.len())
                    }
                    None => f.write_str(&joined(&shown, ", ")),
                }
            }
            Self::Statements { n, wrong } => {
                let one = |WrongStatement { number, is_true, because }: &WrongStatement| {
                    format!("statement {number} is {is_true}: {because}")
                };
                let says: Vec<String> = wrong.iter().map(one).collect();
                write!(f, "{} of {n} right: {}", n - wrong.len(), joined(&says, " "))
            }
            Self::Columns { n, wrong } => write!(
                f,
                "{} of {n} right: another column in row {}",
                n - wrong.len(),
                joined(wrong, ", ")
            ),
            Self::Order { strangers, missing, lines, late } => {
                let mut says: Vec<String> = strangers
                    .iter()
                    .map(|because| format!("a line does not belong there: {because}"))
                    .collect();
                if *missing > 0 {
                    says.push(format!("{missing} of {lines} lines are missing"));
                }
                says.extend(
                    late.map(|at| {
                        format!("line {at} comes too late or the one before it too early")
                    }),
                );
                f.write_str(&joined(&says, "; "))
            }
            Self::Property { fails, turned } => {
                if fails.is_empty() {
                    f.write_str("it has the property")?;
                }
                f.write_str(&joined(fails, "; "))?;
                turned.iter().try_for_each(|TurnedVector { name, taken_as }| {
                    write!(f, "; `{name}` is taken as a {taken_as}")
                })
            }
            Self::AskedAgain { name, given } => write!(
                f,
                "`{name}` is what is asked or made from it: write it in terms of what is given, {}",
                joined(given, ", ")
            ),
            Self::OtherValue => f.write_str("another value than asked"),
            Self::NoValue(reason) => write!(f, "it has no value: {reason}"),
            Self::NotAsked(reason) => write!(f, "not what is asked: {reason}"),
            Self::EqualByChance => f.write_str("equal on these numbers, but not on others"),
        }
    }
}

impl Feedback {
    /// The mistake that has a name.
    pub fn mistake(&self) -> Option<String> {
        match self {
            Self::Mistake { says, .. } => Some(says.clone()),
            Self::Turned => Some(self.to_string()),
            _ => None,
        }
    }

    /// What to do about an answer that cannot be read.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unread(unread) => Some(unread.hint()),
            _ => None,
        }
    }
}

impl fmt::Display for Understood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |x: &ParsedNumber| x.value.to_string();
        match self {
            Self::Missing => f.write_str("no answer"),
            Self::Number(x) => write!(f, "the number {}", number(x)),
            Self::Matrix(rows) => {
                let row = |row: &Vec<ParsedNumber>| {
                    format!("[{}]", row.iter().map(number).collect::<Vec<_>>().join(", "))
                };
                let all: Vec<String> = rows.iter().map(row).collect();
                write!(f, "{} numbers: [{}]", Extents::of(rows), joined(&all, ", "))
            }
            Self::Picks(picks) => write!(f, "picked: {}", joined(picks, ", ")),
            Self::Named(all) => {
                let one = |(name, value): &(String, Self)| format!("{name} is {value}");
                f.write_str(&joined(&all.iter().map(one).collect::<Vec<_>>(), "; "))
            }
            Self::Words => f.write_str("words or a formula; no number is read"),
        }
    }
}

impl fmt::Display for Nature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Signs => "every sign is the other way",
            Self::Sign => "wrong sign",
            Self::TooFew => "too few decimals to tell",
            Self::FewerThanHalf => "fewer than half of the decimals asked",
            Self::Other => "another value",
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` does not hold", self.inequality)?;
        self.sides
            .iter()
            .try_for_each(|(left, right)| write!(f, ": the left side is {left}, the right {right}"))
    }
}

impl fmt::Display for Extents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cols {
            Some(cols) => write!(f, "{} × {cols}", self.rows),
            None => write!(f, "{} rows of different length", self.rows),
        }
    }
}

impl Unread {
    fn hint(&self) -> String {
        match self {
            Self::Key => "build the exam again",
            Self::Numbers(ReadError::Word { .. } | ReadError::Several { .. } | ReadError::Chain) => {
                "give the answer alone"
            }
            Self::Numbers(_) => NUMBERS,
            Self::Comma { .. } => {
                "write decimals with a point, or `decimal: comma` at the top of the file"
            }
            Self::Option { .. } => "give its letter, as on the sheet",
            Self::Length { list, .. } | Self::Word { list, .. } => match list {
                List::Statements => {
                    "give true or false for each statement, in their order: [true, false, true]"
                }
                List::Columns => "give one column for each row, counted from 1: [3, 1, 2]",
                List::Lines => LINES,
            },
            Self::Twice { .. } => LINES,
            Self::Formula(_) | Self::NoValue(_) => {
                "write it as on the sheet: A B or A @ B for a product, A.T for the transpose, exp(x), sqrt(x), x * x for a square"
            }
            Self::Design { asked, .. } => {
                let names: Vec<&String> = asked.iter().map(|(name, _)| name).collect();
                let shown = asked
                    .iter()
                    .map(|(name, extents)| format!("{name} = {}", sample(*extents)))
                    .collect::<Vec<_>>();
                return format!(
                    "give {} by name, laid out as {}",
                    joined(&names, ", "),
                    shown.join(" and ")
                );
            }
            Self::Named { reason, .. } => return reason.hint(),
        }
        .to_owned()
    }
}

/// How lines are put in order.
const LINES: &str = "give the letters of the lines in order: [B, A, C]";

impl Problem {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(
            match self {
                Self::File(FileError::NotText) => "save it as UTF-8",
                Self::File(_) => return None,
                Self::Kind { .. } => "submissions end in .yaml, .yml, .json, .csv or .ipynb",
                Self::Yaml(_)
                | Self::Json(_)
                | Self::Value(_)
                | Self::NoObject { .. }
                | Self::NoAnswers { .. }
                | Self::NotText { .. }
                | Self::Decimal { .. }
                | Self::Entry { .. } => TEMPLATE,
                Self::NoHead
                | Self::TooManyColumns { .. }
                | Self::TooManyRows
                | Self::NoStudents { .. }
                | Self::Cells { .. }
                | Self::OpenQuote { .. }
                | Self::NoRows => TABLE,
                Self::Notebook(_) => "export the notebook with `qkvet exam export` and keep its cells",
                Self::NoCells => "answers stand in cells whose metadata has `qkvet: {part: ID}`",
                Self::Another { .. } | Self::Second { .. } => "keep one of them",
                Self::Exam { .. } => "grade it with the key of its own exam",
                Self::Variant { .. } => {
                    "the variant stands at the top of the sheet; `--key` takes the folder of all keys"
                }
                Self::NoVariant => "write `variant: N` as on the sheet",
                Self::Part { near: Some(near), .. } => {
                    return Some(format!("did you mean `{near}`?"));
                }
                Self::Part { known, .. } => return Some(format!("parts are {}", known.join(", "))),
            }
            .to_owned(),
        )
    }
}
