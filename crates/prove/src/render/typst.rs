//! Typst, for math mode.

use super::piece::{Fence, Level, Piece, Printer, Symbols};
use super::sign::Sign;

pub(super) struct Typst;

/// A string of Typst: nothing in it is markup.
pub fn typst_string(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if c.is_control() => " ".to_owned(),
            c => c.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

impl Printer for Typst {
    fn sign(&self, sign: &Sign) -> &'static str {
        sign.typst
    }

    fn symbols(&self) -> Option<&dyn Symbols> {
        Some(self)
    }

    fn letter(&self, name: &str) -> Piece {
        Piece::atom(name)
    }

    fn word(&self, name: &str) -> Piece {
        Piece::atom(typst_string(name))
    }

    fn operator(&self, name: &str) -> Piece {
        Piece::atom(format!("op({})", typst_string(name)))
    }

    fn fence(&self, fence: Fence, inner: &Piece) -> Piece {
        let (open, close) = match fence {
            Fence::Round => ("(", ")"),
            Fence::Square => ("[", "]"),
            Fence::Norm => ("norm(", ")"),
            Fence::Floor => ("floor(", ")"),
        };
        Piece::atom(format!("{open}{}{close}", inner.text))
    }

    fn subscript(&self, base: &Piece, index: &Piece) -> Piece {
        Piece::new(format!("{}_({})", base.text, index.text), Level::Subscripted)
    }

    fn superscript(&self, base: &Piece, exponent: &Piece) -> Piece {
        Piece::new(format!("{}^({})", base.text, exponent.text), Level::Superscripted)
    }

    fn transpose(&self, base: &Piece) -> Piece {
        Piece::new(format!("{}^top", base.text), Level::Superscripted)
    }

    fn fraction(&self, top: Piece, bottom: Piece) -> Piece {
        Piece::new(format!("frac({}, {})", top.text, bottom.text), Level::Factor)
    }

    fn inline(&self, math: &Piece) -> String {
        format!("${}$", math.text)
    }

    fn display(&self, math: &Piece) -> String {
        format!("$ {} $", math.text)
    }

    fn paragraph(&self, sentence: &str) -> String {
        // A line break alone does not end a paragraph.
        format!("{sentence} \\")
    }
}

impl Symbols for Typst {
    fn root(&self, inner: Piece) -> Piece {
        Piece::new(format!("sqrt({})", inner.text), Level::Factor)
    }

    fn blocks(&self, rows: &[Vec<Piece>]) -> Piece {
        let row =
            |row: &Vec<Piece>| row.iter().map(|x| x.text.as_str()).collect::<Vec<_>>().join(", ");
        let rows = rows.iter().map(row).collect::<Vec<_>>().join("; ");
        Piece::atom(format!("mat(delim: \"[\", {rows})"))
    }

    fn cases(&self, yes: &Piece, condition: &Piece, no: &Piece) -> Piece {
        let (yes, condition, no) = (&yes.text, &condition.text, &no.text);
        Piece::new(
            format!("cases({yes} & \"where \" {condition}, {no} & \"elsewhere\")"),
            Level::Open,
        )
    }
}
