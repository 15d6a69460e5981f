//! Plain text with Unicode signs, for terminals.

use super::piece::{Fence, Level, Piece, Printer, Symbols};
use super::sign::{Sign, greek};

pub(super) struct Unicode;

impl Printer for Unicode {
    fn sign(&self, sign: &Sign) -> &'static str {
        sign.unicode
    }

    fn symbols(&self) -> Option<&dyn Symbols> {
        Some(self)
    }

    fn letter(&self, name: &str) -> Piece {
        Piece::atom(greek(name).unwrap_or(name))
    }

    fn word(&self, name: &str) -> Piece {
        Piece::atom(name)
    }

    fn fence(&self, fence: Fence, inner: &Piece) -> Piece {
        let (open, close) = match fence {
            Fence::Round => ("(", ")"),
            Fence::Square => ("[", "]"),
            Fence::Norm => ("‖", "‖"),
            Fence::Floor => ("⌊", "⌋"),
        };
        Piece::atom(format!("{open}{}{close}", inner.text))
    }

    fn subscript(&self, base: &Piece, index: &Piece) -> Piece {
        let digits: Option<String> =
            index.text.chars().map(|c| char::from_u32(u32::from('₀') + c.to_digit(10)?)).collect();
        let index = match digits {
            Some(digits) => digits,
            None if index.text.chars().all(char::is_alphabetic) => format!("_{}", index.text),
            None => format!("_{{{}}}", index.text),
        };
        Piece::new(format!("{}{index}", base.text), Level::Subscripted)
    }

    fn superscript(&self, base: &Piece, exponent: &Piece) -> Piece {
        let exponent = self.at_least(exponent.clone(), Level::Atom);
        Piece::new(format!("{}^{}", base.text, exponent.text), Level::Superscripted)
    }

    fn transpose(&self, base: &Piece) -> Piece {
        Piece::new(format!("{}ᵀ", base.text), Level::Superscripted)
    }

    fn fraction(&self, top: Piece, bottom: Piece) -> Piece {
        let (top, bottom) =
            (self.at_least(top, Level::Product), self.at_least(bottom, Level::Factor));
        Piece::new(format!("{}/{}", top.text, bottom.text), Level::Quotient)
    }

    fn display(&self, math: &Piece) -> String {
        format!("    {}", math.text)
    }
}

impl Symbols for Unicode {
    fn root(&self, inner: Piece) -> Piece {
        Piece::new(format!("√{}", self.at_least(inner, Level::Subscripted).text), Level::Factor)
    }

    fn blocks(&self, rows: &[Vec<Piece>]) -> Piece {
        let row =
            |row: &Vec<Piece>| row.iter().map(|x| x.text.as_str()).collect::<Vec<_>>().join(", ");
        Piece::atom(format!("[{}]", rows.iter().map(row).collect::<Vec<_>>().join("; ")))
    }

    fn cases(&self, yes: &Piece, condition: &Piece, no: &Piece) -> Piece {
        Piece::atom(format!("{{{} where {}, {} elsewhere}}", yes.text, condition.text, no.text))
    }
}
