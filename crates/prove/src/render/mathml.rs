//! Presentation MathML (MathML Core); every piece is one element.

use super::piece::{Fence, Level, Piece, Printer, Symbols};
use super::sign::{Sign, greek};

pub(super) struct MathMl;

fn escape(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '&' => "&amp;".to_owned(),
            '<' => "&lt;".to_owned(),
            '>' => "&gt;".to_owned(),
            '"' => "&quot;".to_owned(),
            // Not allowed in XML at all.
            c if c.is_control() => " ".to_owned(),
            c => c.to_string(),
        })
        .collect()
}

fn element(name: &str, children: &[&str], level: Level) -> Piece {
    Piece::new(format!("<{name}>{}</{name}>", children.concat()), level)
}

impl MathMl {
    fn table(cells: &[Vec<String>]) -> String {
        let row = |row: &Vec<String>| {
            let cells: String = row.iter().map(|cell| format!("<mtd>{cell}</mtd>")).collect();
            format!("<mtr>{cells}</mtr>")
        };
        format!("<mtable>{}</mtable>", cells.iter().map(row).collect::<String>())
    }
}

impl Printer for MathMl {
    fn sign(&self, sign: &Sign) -> &'static str {
        sign.mathml
    }

    fn symbols(&self) -> Option<&dyn Symbols> {
        Some(self)
    }

    fn number(&self, digits: &str) -> Piece {
        element("mn", &[digits], Level::Atom)
    }

    fn letter(&self, name: &str) -> Piece {
        element("mi", &[greek(name).unwrap_or(name)], Level::Atom)
    }

    fn word(&self, name: &str) -> Piece {
        element("mi", &[&escape(name)], Level::Atom)
    }

    fn text(&self, text: &str) -> Piece {
        // Space at an end is not shown unless it is of this kind.
        element("mtext", &[&escape(text).replace(' ', "&#xA0;")], Level::Atom)
    }

    fn row(&self, texts: &[&str]) -> String {
        format!("<mrow>{}</mrow>", texts.concat())
    }

    fn fence(&self, fence: Fence, inner: &Piece) -> Piece {
        // Parentheses that may grow are wide even where they do not.
        let tall = ["<mfrac>", "<msqrt>", "<mtable>"].iter().any(|tall| inner.text.contains(tall));
        let (open, close) = match fence {
            Fence::Round if tall => ("<mo>(</mo>", "<mo>)</mo>"),
            Fence::Round => ("<mo stretchy=\"false\">(</mo>", "<mo stretchy=\"false\">)</mo>"),
            Fence::Square if tall => ("<mo>[</mo>", "<mo>]</mo>"),
            Fence::Square => ("<mo stretchy=\"false\">[</mo>", "<mo stretchy=\"false\">]</mo>"),
            Fence::Norm => (
                "<mo form=\"prefix\" fence=\"true\" stretchy=\"true\">‖</mo>",
                "<mo form=\"postfix\" fence=\"true\" stretchy=\"true\">‖</mo>",
            ),
            Fence::Floor => ("<mo>⌊</mo>", "<mo>⌋</mo>"),
        };
        element("mrow", &[open, &inner.text, close], Level::Atom)
    }

    fn subscript(&self, base: &Piece, index: &Piece) -> Piece {
        element("msub", &[&base.text, &index.text], Level::Subscripted)
    }

    fn superscript(&self, base: &Piece, exponent: &Piece) -> Piece {
        element("msup", &[&base.text, &exponent.text], Level::Superscripted)
    }

    fn transpose(&self, base: &Piece) -> Piece {
        element("msup", &[&base.text, "<mo>⊤</mo>"], Level::Superscripted)
    }

    fn fraction(&self, top: Piece, bottom: Piece) -> Piece {
        element("mfrac", &[&top.text, &bottom.text], Level::Factor)
    }

    fn formula(&self, math: &Piece) -> String {
        format!("<math xmlns=\"http://www.w3.org/1998/Math/MathML\">{}</math>", math.text)
    }

    fn display(&self, math: &Piece) -> String {
        format!(
            "<math xmlns=\"http://www.w3.org/1998/Math/MathML\" display=\"block\">{}</math>",
            math.text
        )
    }

    fn paragraph(&self, sentence: &str) -> String {
        format!("<p>{sentence}</p>")
    }
}

impl Symbols for MathMl {
    fn root(&self, inner: Piece) -> Piece {
        element("msqrt", &[&inner.text], Level::Factor)
    }

    fn blocks(&self, rows: &[Vec<Piece>]) -> Piece {
        let cells: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(|x| x.text.clone()).collect()).collect();
        self.fence(Fence::Square, &Piece::atom(Self::table(&cells)))
    }

    fn cases(&self, yes: &Piece, condition: &Piece, no: &Piece) -> Piece {
        let condition = format!("<mrow><mtext>where&#xA0;</mtext>{}</mrow>", condition.text);
        let cells = [
            vec![yes.text.clone(), condition],
            vec![no.text.clone(), "<mtext>elsewhere</mtext>".to_owned()],
        ];
        element(
            "mrow",
            &["<mo form=\"prefix\" stretchy=\"true\">{</mo>", &Self::table(&cells)],
            Level::Open,
        )
    }
}
