//! English words, for screen readers: nothing is left to a sign or to how it is set.

use super::piece::{Fence, Level, Piece, Printer};
use super::sign::Sign;

pub(super) struct Words;

impl Printer for Words {
    fn sign(&self, sign: &Sign) -> &'static str {
        sign.words
    }

    fn letter(&self, name: &str) -> Piece {
        Piece::atom(name)
    }

    fn word(&self, name: &str) -> Piece {
        Piece::atom(name.replace('_', " "))
    }

    fn fence(&self, fence: Fence, inner: &Piece) -> Piece {
        let (open, close) = match fence {
            Fence::Round => ("open parenthesis ", " close parenthesis"),
            Fence::Square => ("open bracket ", " close bracket"),
            Fence::Norm => ("open norm ", " close norm"),
            Fence::Floor => ("open floor ", " close floor"),
        };
        Piece::atom(format!("{open}{}{close}", inner.text))
    }

    fn subscript(&self, base: &Piece, index: &Piece) -> Piece {
        Piece::new(format!("{} sub {}", base.text, index.text), Level::Subscripted)
    }

    fn superscript(&self, base: &Piece, exponent: &Piece) -> Piece {
        let exponent = self.at_least(exponent.clone(), Level::Factor);
        Piece::new(format!("{} to the power {}", base.text, exponent.text), Level::Factor)
    }

    fn transpose(&self, base: &Piece) -> Piece {
        Piece::new(format!("{} transposed", base.text), Level::Superscripted)
    }

    fn fraction(&self, top: Piece, bottom: Piece) -> Piece {
        let (top, bottom) =
            (self.at_least(top, Level::Product), self.at_least(bottom, Level::Factor));
        Piece::new(format!("{} over {}", top.text, bottom.text), Level::Quotient)
    }
}
