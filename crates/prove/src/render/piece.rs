//! What a style must be able to print, and what it prints: a [`Piece`] knows how tightly it holds
//! together, so that parentheses stand where they are needed and nowhere else.

use super::sign::Sign;

/// How tightly a printed piece holds together, loosest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// `x or y`.
    Or,
    /// `x and y`.
    And,
    /// `not x`.
    Not,
    /// `x = y`.
    Relation,
    /// Holds commas or words that nothing closes; any arithmetic around it needs parentheses.
    Open,
    /// `x + y`.
    Sum,
    /// `−x`.
    Signed,
    /// `x/y` on one line.
    Quotient,
    /// `x y`.
    Product,
    /// A factor that cannot carry an index or an exponent: `√x`, a fraction bar.
    Factor,
    /// `xᵀ`.
    Superscripted,
    /// `x_i`.
    Subscripted,
    /// `f(x)`.
    Call,
    /// A letter, a number, anything inside parentheses.
    Atom,
}

/// Printed text and how tightly it holds together.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) level: Level,
}

impl Piece {
    pub(super) fn new(text: impl Into<String>, level: Level) -> Self {
        Self { text: text.into(), level }
    }

    pub(super) fn atom(text: impl Into<String>) -> Self {
        Self::new(text, Level::Atom)
    }
}

/// A pair of delimiters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fence {
    /// `(x)`.
    Round,
    /// `[x]`.
    Square,
    /// `‖x‖`.
    Norm,
    /// `⌊x⌋`.
    Floor,
}

/// The primitives of a style. Delimited arguments (indices, what a fence holds) come as they are; a
/// style asks [`Printer::at_least`] where its own form needs parentheses.
pub(super) trait Printer {
    /// The form of a sign with the space it needs.
    fn sign(&self, sign: &Sign) -> &'static str;

    /// A decimal number, `digits` as in Rust.
    fn number(&self, digits: &str) -> Piece {
        Piece::atom(digits)
    }

    /// A Latin letter, or a Greek one by its English name.
    fn letter(&self, name: &str) -> Piece;

    /// A name of several letters.
    fn word(&self, name: &str) -> Piece;

    /// The name of a function.
    fn operator(&self, name: &str) -> Piece {
        self.word(name)
    }

    /// Words inside a formula.
    fn text(&self, text: &str) -> Piece {
        self.word(text)
    }

    /// Pieces side by side.
    fn row(&self, texts: &[&str]) -> String {
        texts.concat()
    }

    /// The piece between delimiters.
    fn fence(&self, fence: Fence, inner: &Piece) -> Piece;

    /// `base_index`; the base is a call or an atom.
    fn subscript(&self, base: &Piece, index: &Piece) -> Piece;

    /// `base^exponent`; the base may carry an index.
    fn superscript(&self, base: &Piece, exponent: &Piece) -> Piece;

    /// `baseᵀ`; the base may carry an index.
    fn transpose(&self, base: &Piece) -> Piece;

    /// `top / bottom`.
    fn fraction(&self, top: Piece, bottom: Piece) -> Piece;

    /// How the style sets functions in symbols; `None` if it says them in their words.
    fn symbols(&self) -> Option<&dyn Symbols> {
        None
    }

    /// A formula that stands alone.
    fn formula(&self, math: &Piece) -> String {
        math.text.clone()
    }

    /// A formula inside a sentence.
    fn inline(&self, math: &Piece) -> String {
        self.formula(math)
    }

    /// A formula on a line of its own.
    fn display(&self, math: &Piece) -> String {
        self.formula(math)
    }

    /// One sentence as a paragraph.
    fn paragraph(&self, sentence: &str) -> String {
        sentence.to_owned()
    }

    /// The piece, in parentheses if it is looser than `level`.
    fn at_least(&self, piece: Piece, level: Level) -> Piece {
        if piece.level < level { self.fence(Fence::Round, &piece) } else { piece }
    }

    /// `first sign x sign y ...`.
    fn infix(&self, first: &Piece, rest: &[(&Sign, Piece)], level: Level) -> Piece {
        let mut texts = vec![first.text.as_str()];
        for (sign, piece) in rest {
            texts.extend([self.sign(sign), piece.text.as_str()]);
        }
        if rest.is_empty() { first.clone() } else { Piece::new(self.row(&texts), level) }
    }

    /// `sign x`.
    fn prefix(&self, sign: &Sign, operand: &Piece, level: Level) -> Piece {
        Piece::new(self.row(&[self.sign(sign), &operand.text]), level)
    }

    /// A sign that stands for a thing.
    fn symbol(&self, sign: &Sign) -> Piece {
        Piece::atom(self.sign(sign))
    }
}

/// What functions need besides, in a style of symbols.
pub(super) trait Symbols: Printer {
    /// `√x`.
    fn root(&self, inner: Piece) -> Piece;

    /// A block matrix, by rows.
    fn blocks(&self, rows: &[Vec<Piece>]) -> Piece;

    /// `yes` where `condition`, `no` elsewhere.
    fn cases(&self, yes: &Piece, condition: &Piece, no: &Piece) -> Piece;
}
