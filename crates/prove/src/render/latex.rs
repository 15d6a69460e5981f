//! LaTeX with amsmath and amssymb, for math mode.

use super::piece::{Fence, Level, Piece, Printer, Symbols};
use super::sign::{Sign, greek};

pub(super) struct Latex;

fn escape(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => format!("\\{c}"),
            '\\' => r"\textbackslash{}".to_owned(),
            '~' => r"\textasciitilde{}".to_owned(),
            '^' => r"\textasciicircum{}".to_owned(),
            c if c.is_control() => " ".to_owned(),
            c => c.to_string(),
        })
        .collect()
}

/// `\command{name}`, or `\text{name}` for what is no name.
fn upright(command: &str, name: &str) -> Piece {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    Piece::atom(format!("\\{}{{{}}}", if plain { command } else { "text" }, escape(name)))
}

impl Printer for Latex {
    fn sign(&self, sign: &Sign) -> &'static str {
        sign.latex
    }

    fn symbols(&self) -> Option<&dyn Symbols> {
        Some(self)
    }

    fn letter(&self, name: &str) -> Piece {
        Piece::atom(match (name, greek(name)) {
            // The plain commands draw another form of these two letters.
            ("epsilon" | "phi", _) => format!("\\var{name}"),
            (_, Some(_)) => format!("\\{name}"),
            (_, None) => name.to_owned(),
        })
    }

    fn word(&self, name: &str) -> Piece {
        upright("mathrm", name)
    }

    fn operator(&self, name: &str) -> Piece {
        upright("operatorname", name)
    }

    fn text(&self, text: &str) -> Piece {
        Piece::atom(format!("\\text{{{}}}", escape(text)))
    }

    fn fence(&self, fence: Fence, inner: &Piece) -> Piece {
        let (open, close) = match fence {
            Fence::Round => ("(", ")"),
            Fence::Square => ("[", "]"),
            Fence::Norm => (r"\lVert ", r" \rVert"),
            Fence::Floor => (r"\lfloor ", r" \rfloor"),
        };
        // Delimiters grow around what is tall, and around it alone: `\left` adds space before them.
        let tall = [r"\frac", r"\begin", r"\sqrt"].iter().any(|tall| inner.text.contains(tall));
        let (left, right) = if tall { (r"\left", r"\right") } else { ("", "") };
        Piece::atom(format!("{left}{open}{}{right}{}", inner.text, close.trim_start()))
    }

    fn subscript(&self, base: &Piece, index: &Piece) -> Piece {
        Piece::new(format!("{}_{{{}}}", base.text, index.text), Level::Subscripted)
    }

    fn superscript(&self, base: &Piece, exponent: &Piece) -> Piece {
        Piece::new(format!("{}^{{{}}}", base.text, exponent.text), Level::Superscripted)
    }

    fn transpose(&self, base: &Piece) -> Piece {
        Piece::new(format!("{}^{{\\top}}", base.text), Level::Superscripted)
    }

    fn fraction(&self, top: Piece, bottom: Piece) -> Piece {
        Piece::new(format!("\\frac{{{}}}{{{}}}", top.text, bottom.text), Level::Factor)
    }

    fn inline(&self, math: &Piece) -> String {
        format!("${}$", math.text)
    }

    fn display(&self, math: &Piece) -> String {
        format!("\\[ {} \\]", math.text)
    }
}

impl Symbols for Latex {
    fn root(&self, inner: Piece) -> Piece {
        Piece::new(format!("\\sqrt{{{}}}", inner.text), Level::Factor)
    }

    fn blocks(&self, rows: &[Vec<Piece>]) -> Piece {
        let row =
            |row: &Vec<Piece>| row.iter().map(|x| x.text.as_str()).collect::<Vec<_>>().join(" & ");
        let rows = rows.iter().map(row).collect::<Vec<_>>().join(r" \\ ");
        Piece::atom(format!("\\begin{{bmatrix}} {rows} \\end{{bmatrix}}"))
    }

    fn cases(&self, yes: &Piece, condition: &Piece, no: &Piece) -> Piece {
        let (yes, condition, no) = (&yes.text, &condition.text, &no.text);
        let text = format!(
            "\\begin{{cases}} {yes} & \\text{{where }} {condition} \\\\ {no} & \\text{{elsewhere}} \\end{{cases}}"
        );
        Piece::new(text, Level::Open)
    }
}
