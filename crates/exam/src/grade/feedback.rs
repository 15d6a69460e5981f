//! What is to be said of an answer, as data.

use qkvet_prove::exact::NoValue;

use crate::student_answer::ReadError;

/// What is to be said of an answer beside its verdict.
#[derive(Clone, Debug, PartialEq)]
pub enum Feedback {
    /// Nothing more.
    Nothing,
    /// There is no answer.
    Missing,
    /// There is none, and the one to an earlier part has this property too.
    TakenOver {
        /// The earlier part.
        from: String,
    },
    /// An answer that cannot be read.
    Unread(Unread),
    /// A person marks it.
    ByHand,
    /// A person marks it, for it was not decided.
    Undecided(Undecided),
    /// A number is exact, though decimals were asked.
    Exact,
    /// A formula is equal on all numbers tried, which is no proof.
    EqualWhereTried,
    /// An option or a statement that is not right.
    Wrong {
        /// Why, in the words of the question.
        because: String,
    },
    /// What a mistake gives.
    Mistake {
        /// The mistake in the words of the question.
        says: String,
        /// Whether it has fewer decimals than asked.
        coarse: bool,
    },
    /// What follows from answers to earlier parts, which are not right or are rounded.
    Follows {
        /// The parts.
        from: Vec<String>,
    },
    /// Right, with fewer decimals than asked.
    Coarse {
        /// The decimals that are right.
        stated: usize,
        /// The decimals asked; nothing: the exact value.
        asked: Option<usize>,
        /// A mistake that it may also be, in the words of the question.
        perhaps: Option<String>,
    },
    /// Off in its last digit.
    NotNearest,
    /// Off, but within the tolerance.
    Tolerated {
        /// A mistake that it may be as well.
        perhaps: Option<String>,
    },
    /// What follows from the rounded numbers that the sheet prints.
    Printed,
    /// More or fewer extents than asked.
    Extents {
        /// How many are asked.
        expected: usize,
        /// How many were given.
        got: usize,
    },
    /// Rows for columns.
    Turned,
    /// Rows and columns of another number.
    Matrix {
        /// Those asked.
        expected: Extents,
        /// Those given.
        got: Extents,
    },
    /// One number, which is not right.
    Number {
        /// What is wrong with it.
        nature: Nature,
    },
    /// A matrix of which not all entries are right.
    Entries {
        /// What is wrong with the others.
        nature: Nature,
        /// How many are right or nearly so.
        right: usize,
        /// Whether some are only nearly so.
        coarse: bool,
        /// The others, by row and column from 0.
        wrong: Vec<(usize, usize)>,
    },
    /// Statements of which not all are right.
    Statements {
        /// How many there are.
        n: usize,
        /// The wrong ones.
        wrong: Vec<WrongStatement>,
    },
    /// Columns of which not all are right.
    Columns {
        /// How many there are.
        n: usize,
        /// The rows, from 1, of the wrong ones.
        wrong: Vec<usize>,
    },
    /// Lines in another order.
    Order {
        /// Why lines do not belong there, in the words of the question.
        strangers: Vec<String>,
        /// How many are missing.
        missing: usize,
        /// How many there are.
        lines: usize,
        /// The first, from 1, that comes too late.
        late: Option<usize>,
    },
    /// A design that has its property, or not.
    Property {
        /// The inequalities that fail.
        fails: Vec<Failure>,
        /// Vectors that were turned.
        turned: Vec<TurnedVector>,
    },
    /// A formula in terms of what is asked.
    AskedAgain {
        /// What is asked.
        name: String,
        /// What it may be written in.
        given: Vec<String>,
    },
    /// A formula of another value.
    OtherValue,
    /// A formula without a value.
    NoValue(NoValue),
    /// A formula that cannot be what is asked.
    NotAsked(NoValue),
    /// A formula that is equal by chance.
    EqualByChance,
}

/// Why an answer was not decided.
#[derive(Clone, Debug, PartialEq)]
pub enum Undecided {
    /// There are no other numbers to try a formula on.
    NoNumbers,
    /// Something has no value.
    NoValue(NoValue),
}

/// Rows, and columns if all rows have the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: Option<usize>,
}

impl Extents {
    /// Those of a matrix.
    pub(crate) fn of<T>(rows: &[Vec<T>]) -> Self {
        let first = rows.first().map_or(0, Vec::len);
        let cols = rows.iter().all(|row| row.len() == first).then_some(first);
        Self { rows: rows.len(), cols }
    }
}

/// What is wrong with numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// All have the other sign.
    Signs,
    /// Those that are wrong have the other sign.
    Sign,
    /// Too few decimals to tell an exact value.
    TooFew,
    /// Fewer than half of the decimals asked.
    FewerThanHalf,
    /// They are others.
    Other,
}

/// A statement that was called true and is false, or the other way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongStatement {
    /// Its number, from 1.
    pub number: usize,
    /// Whether it is true.
    pub is_true: bool,
    /// Why, in the words of the question.
    pub because: String,
}

/// An inequality that fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The inequality as a formula.
    pub inequality: String,
    /// Both sides in decimals, where these differ.
    pub sides: Option<(String, String)>,
}

/// A row that was taken as a column, or the other way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnedVector {
    /// Its name.
    pub name: String,
    /// `row` or `column`: what it was taken as.
    pub taken_as: &'static str,
}

/// Why an answer is left to a person.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unread {
    /// A key that does not belong to the question.
    #[error("expected a key of the question's own kind")]
    Key,
    /// Numbers that are not read for certain.
    #[error(transparent)]
    Numbers(ReadError),
    /// A comma that is a decimal sign or stands between numbers or groups.
    #[error("expected a decimal point, got `{}`, whose comma may be one", text.escape_debug())]
    Comma {
        /// As it was typed.
        text: String,
    },
    /// No option.
    #[error("expected one option from A to {last}")]
    Option {
        /// The last.
        last: char,
    },
    /// More or fewer things than asked.
    #[error("expected {expected} {}, got {got}", list.things())]
    Length {
        /// A list of what.
        list: List,
        /// How many are asked.
        expected: usize,
        /// How many were given.
        got: usize,
    },
    /// A word of a list that is none of those asked.
    #[error("{}, got `{got}`", list.wants(*at))]
    Word {
        /// A list of what.
        list: List,
        /// Its place, from 1.
        at: usize,
        /// The word.
        got: String,
    },
    /// A line that stands in a list twice.
    #[error("expected each line once, got `{got}` twice")]
    Twice {
        /// Its letter.
        got: String,
    },
    /// No formula.
    #[error("formula: {0}")]
    Formula(ReadError),
    /// A formula without an exact value.
    #[error("formula: {0}")]
    NoValue(NoValue),
    /// No design.
    #[error("{reason}")]
    Design {
        /// Why.
        reason: NoDesign,
        /// What is asked for: names, and extents of matrices.
        asked: Vec<(String, Option<(usize, usize)>)>,
    },
    /// Something in a design.
    #[error("`{name}`: {reason}")]
    Named {
        /// Its name.
        name: String,
        /// Why.
        reason: Box<Unread>,
    },
}

/// A list that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// True or false for each statement.
    Statements,
    /// A column for each row.
    Columns,
    /// Lines in order.
    Lines,
}

impl List {
    fn things(self) -> &'static str {
        match self {
            Self::Statements => "words",
            Self::Columns => "columns",
            Self::Lines => "lines",
        }
    }

    fn wants(self, at: usize) -> String {
        match self {
            Self::Statements => format!("statement {at}: expected true or false"),
            Self::Columns => format!("row {at}: expected a column"),
            Self::Lines => "expected letters of lines".to_owned(),
        }
    }
}

/// Why an answer is no design.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoDesign {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It names nothing.
    #[error("expected {}, each by name", names.join(", "))]
    NoNames {
        /// What is asked for.
        names: Vec<String>,
    },
    /// It names something else.
    #[error("expected {}, got `{got}`", names.join(", "))]
    Unknown {
        /// What is asked for.
        names: Vec<String>,
        /// What is named.
        got: String,
    },
    /// Something is missing or stands there twice.
    #[error("expected `{name}` once")]
    Once {
        /// Its name.
        name: String,
    },
    /// Something has other extents.
    #[error("`{name}`: expected {rows} × {cols} numbers, got {got}")]
    Extents {
        /// Its name.
        name: String,
        /// Rows asked.
        rows: usize,
        /// Columns asked.
        cols: usize,
        /// What was given.
        got: Extents,
    },
}
