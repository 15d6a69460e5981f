//! Formulas in print: one expression tree in Unicode, LaTeX, Typst, MathML and English words.
//!
//! The notation of an operator or a function is written once (`notation`, `function`, `sign`); a
//! style supplies a dozen primitives (`piece::Printer`). Parentheses stand where precedence needs
//! them. Nothing is computed or simplified here, except that the parentheses of `a + (b + c)` and
//! `A (B C)` go and the sign of a factor in front stands before the product.

mod function;
mod latex;
mod law;
mod mathml;
mod name;
mod notation;
mod piece;
mod sign;
mod speech;
mod typst;
mod unicode;

use qkvet_spec::CheckedLaw;
use qkvet_spec::syntax::Expr;

use notation::{Division, Notation};
use piece::Printer;
pub use typst::typst_string;

/// A printed form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Style {
    /// Plain text with Unicode signs, for terminals.
    Unicode,
    /// LaTeX with amsmath and amssymb.
    Latex,
    /// Typst.
    Typst,
    /// Presentation MathML, a self-contained `<math>`.
    MathMl,
    /// English words, for screen readers.
    Words,
}

impl Style {
    /// Every style.
    pub const ALL: [Self; 5] = [Self::Unicode, Self::Latex, Self::Typst, Self::MathMl, Self::Words];

    fn printer(self) -> &'static dyn Printer {
        match self {
            Self::Unicode => &unicode::Unicode,
            Self::Latex => &latex::Latex,
            Self::Typst => &typst::Typst,
            Self::MathMl => &mathml::MathMl,
            Self::Words => &speech::Words,
        }
    }
}

/// The expression as a formula: what stands between the dollars in LaTeX and Typst, a whole
/// `<math>` in MathML.
///
/// A function without a notation of its own is printed as `name(arguments)`.
pub fn render(expr: &Expr, style: Style) -> String {
    let printer = style.printer();
    printer.formula(&Notation { printer, division: Division::Real }.print(expr))
}

/// The law as sentences, one a line: what its variables range over, its abbreviations, its
/// condition, its statement.
///
/// In LaTeX, Typst and HTML the lines are text with formulas in it, and the statement is displayed.
pub fn render_law(law: &CheckedLaw, style: Style) -> String {
    law::print(law, style.printer())
}
