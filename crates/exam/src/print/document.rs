//! What a sheet or a key is made of.

use qkvet_spec::syntax::{BinaryOp, Expr};

use super::rows::called;
use crate::answer::{Numbers, decimals};
use crate::expr::binary;
use crate::question::Plot;

/// A printed form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Markdown with LaTeX between dollars.
    Markdown,
    /// HTML with MathML, one file, without scripts.
    Html,
    /// LaTeX source.
    Latex,
    /// Typst source, for PDF.
    Typst,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 4] = [Self::Markdown, Self::Html, Self::Latex, Self::Typst];

    /// The end of file names.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Html => "html",
            Self::Latex => "tex",
            Self::Typst => "typ",
        }
    }
}

/// A sheet or a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// What stands at the top.
    pub title: String,
    /// What stands below it.
    pub subtitle: String,
    /// What stands at the foot of each page, before its number.
    pub footer: String,
    /// Everything else.
    pub blocks: Vec<Block>,
}

/// A part of a document that begins on a new line.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A question: its number and title, and what it is worth.
    Question {
        /// Number and title.
        title: String,
        /// Points.
        points: u32,
    },
    /// A part of a question: its letter, points and words.
    Part {
        /// `a`, `b`.
        letter: char,
        /// Points.
        points: u32,
        /// The first paragraph.
        text: Vec<Inline>,
    },
    /// A heading inside a solution.
    Label(String),
    /// Words.
    Paragraph(Vec<Inline>),
    /// Formulas on a line of their own.
    Display(Vec<Inline>),
    /// A list.
    List(Marker, Vec<Vec<Inline>>),
    /// Room for an answer: so many lines.
    Room(usize),
    /// A line to write a short answer on, with what stands before it.
    Line(Vec<Inline>),
    /// A matrix, drawn where the format can, else written out.
    Figure(Figure),
}

/// Whether each block belongs on one page with the next: the words of a part and the room for its
/// answer do, and what a question begins with and its first part.
pub(super) fn kept(blocks: &[Block]) -> Vec<bool> {
    let mut has_room = false;
    let mut kept: Vec<bool> = blocks
        .iter()
        .rev()
        .map(|block| match block {
            Block::Room(_) | Block::Line(_) => {
                has_room = true;
                false
            }
            Block::Question { .. } => std::mem::take(&mut has_room),
            _ => has_room,
        })
        .collect();
    kept.reverse();
    kept
}

/// A matrix to be drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// How.
    pub plot: Plot,
    /// The formula.
    pub of: Expr,
    /// Its values.
    pub numbers: Numbers,
}

impl Figure {
    /// `formula = numbers`, for what cannot draw.
    pub(crate) fn written(&self) -> Vec<Inline> {
        vec![Inline::math(binary(BinaryOp::Eq, self.of.clone(), decimals(&self.numbers)))]
    }
}

/// What stands before the entries of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A dot.
    Dot,
    /// `(A)`, `(B)`.
    Letter,
    /// A box to tick and `(A)`.
    Box,
    /// `true / false` to tick.
    TrueFalse,
    /// `1.`, `2.`.
    Number,
}

/// A part of a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Inline {
    /// Words.
    Text(String),
    /// Words that stand out.
    Strong(String),
    /// Code.
    Code(String),
    /// A formula.
    Math(Box<Expr>),
}

impl Inline {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A formula, with rows and columns called so.
    pub fn math(mut expr: Expr) -> Self {
        called(&mut expr);
        Self::Math(Box::new(expr))
    }
}

/// `A`, `B`, … for the entries of a list.
pub(crate) fn letter(at: usize) -> char {
    u8::try_from(at).ok().filter(|at| *at < 26).map_or('?', |at| char::from(b'A' + at))
}
