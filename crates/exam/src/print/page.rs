//! Formulas in LaTeX on lines that fit on a page of A4, however long they are.

use qkvet_prove::render::{Style, render};
use qkvet_spec::syntax::Expr;

use super::document::Inline;
use super::lines::broken_where;
use super::markup::latex as escape;
use super::width::{text_width, width};

/// The width of the text, 160 mm, in widths of a font of 10.95 points, less what alignment adds.
const LINE: f64 = 41.0;
/// The same in an entry of a list.
const ENTRY: f64 = 38.0;
/// How far all lines behind the first are moved in.
const INDENT: f64 = 2.0;
/// Signs before or behind a formula.
const SIGN: f64 = 3.0;

/// What stays together on a line.
#[derive(Default)]
struct Piece {
    /// The sign before it.
    lead: String,
    body: String,
    /// A comma behind it.
    tail: &'static str,
}

impl Piece {
    fn latex(&self) -> String {
        format!("{}{}{}", self.lead, self.body, self.tail)
    }

    /// The same, made smaller if it is wider than a line on its own.
    fn fitted(&self, most: f64) -> String {
        if width(&self.latex()) <= most {
            return self.latex();
        }
        let Self { lead, body, tail } = self;
        format!(
            "{lead}\\resizebox{{{:.2}\\linewidth}}{{!}}{{$\\displaystyle {body}$}}{tail}",
            (most - SIGN) / LINE
        )
    }
}

/// Formulas on a line of their own, or on several if one is too short.
pub(super) fn display(line: &[Inline]) -> String {
    let whole: String = pieces(line, &|_| true).iter().map(Piece::latex).collect();
    let tall = if is_tall(&whole) { "\\tall\n" } else { "" };
    if width(&whole) <= LINE {
        return format!("\\[\n{tall}{whole}\n\\]\n");
    }
    let lines = lines(&pieces(line, &|expr| fits(expr, LINE - INDENT - SIGN)));
    format!(
        "\\[\n{tall}\\begin{{aligned}}\n&{}\n\\end{{aligned}}\n\\]\n",
        lines.join(" \\\\\n&\\quad\\quad ")
    )
}

/// A formula between words; a long one in parts between which a line may end.
pub(super) fn inline(expr: &Expr) -> String {
    let latex = render(expr, Style::Latex);
    if width(&latex) <= ENTRY {
        return format!("${}{latex}$", if is_tall(&latex) { "\\tall " } else { "" });
    }
    let all = pieces(&[Inline::math(expr.clone())], &|expr| fits(expr, ENTRY - SIGN));
    let all: Vec<String> = all.iter().map(|piece| format!("${}$", piece.fitted(ENTRY))).collect();
    all.join(" ")
}

/// Whether fractions stand in a matrix, which would touch each other in rows as close as those of
/// numbers.
fn is_tall(latex: &str) -> bool {
    latex.split("\\begin{bmatrix}").skip(1).any(|rest| {
        rest.split("\\end{bmatrix}")
            .next()
            .is_some_and(|matrix| matrix.contains("\\\\") && matrix.contains("\\frac"))
    })
}

fn fits(expr: &Expr, most: f64) -> bool {
    width(&render(expr, Style::Latex)) <= most
}

/// Pieces side by side as long as they fit.
fn lines(pieces: &[Piece]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut used = f64::INFINITY;
    for piece in pieces {
        let most = LINE - INDENT;
        let (latex, wide) = (piece.fitted(most), width(&piece.latex()).min(most));
        match lines.last_mut() {
            Some(line) if used + wide <= most => {
                line.push_str(&latex);
                used += wide;
            }
            _ => {
                lines.push(latex);
                used = wide;
            }
        }
    }
    lines
}

/// Formulas with the signs before them; those that do not fit are taken apart.
fn pieces(line: &[Inline], fits: &dyn Fn(&Expr) -> bool) -> Vec<Piece> {
    let mut all: Vec<Piece> = Vec::new();
    let mut lead = String::new();
    for inline in line.iter().flat_map(|inline| match inline {
        Inline::Math(expr) => broken_where(expr, fits),
        other => vec![other.clone()],
    }) {
        match &inline {
            Inline::Math(expr) => {
                all.push(Piece {
                    lead: std::mem::take(&mut lead),
                    body: render(expr, Style::Latex),
                    tail: "",
                });
            }
            Inline::Text(text) | Inline::Strong(text) | Inline::Code(text) => {
                match (text.trim(), all.last_mut()) {
                    (",", Some(last)) => last.tail = r",\quad ",
                    (text, _) => match sign(text) {
                        Some(sign) => lead += sign,
                        None => all.extend(words(text, std::mem::take(&mut lead))),
                    },
                }
            }
        }
    }
    all.extend(Some(Piece { lead, ..Piece::default() }).filter(|piece| !piece.lead.is_empty()));
    all
}

fn sign(text: &str) -> Option<&'static str> {
    Some(match text {
        "≈" => r"{} \approx ",
        "=" => "{} = ",
        "≤" => r"{} \le ",
        "≥" => r"{} \ge ",
        "+" => "{} + ",
        "−" => "{} - ",
        _ => return None,
    })
}

/// Words inside a formula; many of them in pieces.
fn words(text: &str, lead: String) -> Vec<Piece> {
    let mut chunks: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match chunks.last_mut() {
            Some(chunk) if text_width(chunk) + text_width(word) <= LINE - INDENT - SIGN => {
                chunk.push(' ');
                chunk.push_str(word);
            }
            _ => chunks.push(word.to_owned()),
        }
    }
    let mut lead = Some(lead);
    let piece = |chunk: String| {
        let lead = format!("{}\\quad", lead.take().unwrap_or_default());
        Piece { lead, body: format!("\\text{{{}}}", escape(&chunk)), tail: "" }
    };
    chunks.into_iter().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use qkvet_spec::Catalog;

    use super::*;
    use crate::build::{Request, build};
    use crate::key::Source;

    /// The lines of all displays of a LaTeX source.
    fn displayed(text: &str) -> Vec<&str> {
        let displays = text.split("\n\\[\n").skip(1).filter_map(|rest| rest.split_once("\n\\]"));
        let lines = displays.flat_map(|(display, _)| display.split('\n'));
        lines.filter(|line| !line.ends_with("{aligned}")).collect()
    }

    #[test]
    fn no_line_of_any_sheet_or_key_runs_off_the_page() {
        let catalog = Catalog::embedded().unwrap_or_else(|error| panic!("{error}"));
        let (mut seen, mut broken, mut smaller) = (0, 0, 0);
        for (path, text) in
            Catalog::texts("exams").into_iter().filter(|(path, _)| !path.contains("/questions/"))
        {
            let set = Source { path, text: text.to_owned() };
            let files = build(&Request { set, own: Vec::new(), variants: 3, seed: 11 }, &catalog);
            for file in files.unwrap_or_else(|error| panic!("{error}")) {
                if !file.path.ends_with(".tex") {
                    continue;
                }
                broken += file.text.matches("\\begin{aligned}").count();
                for line in displayed(&file.text) {
                    let line = line.trim_start_matches('&').trim_end_matches('\\');
                    if line.contains("\\resizebox") {
                        smaller += 1;
                        continue;
                    }
                    assert!(width(line) <= LINE + 0.5, "{}: {}\n{line}", file.path, width(line));
                    seen += 1;
                }
                assert!(file.text.is_ascii(), "{}: signs that LaTeX does not know", file.path);
            }
        }
        assert!(seen > 500 && broken > 10, "{seen} lines, {broken} displays of several");
        // To make a formula smaller is the last resort.
        assert!(smaller * 100 <= seen, "{smaller} of {seen} lines made smaller");
    }

    #[test]
    fn what_cannot_be_broken_is_made_smaller() {
        let row = format!("entries(({}))", ["exp(1) + exp(2)"; 12].join(", "));
        let expr = qkvet_spec::syntax::parse(&row).unwrap_or_else(|error| panic!("{error}"));
        for text in [display(&[Inline::math(expr.clone())]), inline(&expr)] {
            assert!(
                text.contains("\\resizebox{0.")
                    && text.contains("\\linewidth}{!}{$\\displaystyle \\begin{bmatrix}"),
                "{text}"
            );
        }
        let short = qkvet_spec::syntax::parse("A @ V").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(display(&[Inline::math(short.clone())]), "\\[\nA \\, V\n\\]\n");
        assert_eq!(inline(&short), "$A \\, V$");
    }

    #[test]
    fn long_words_stand_on_lines_of_their_own() {
        let reason = "because ".repeat(30);
        let expr = qkvet_spec::syntax::parse("A == B").unwrap_or_else(|error| panic!("{error}"));
        let text = display(&[
            Inline::text("= "),
            Inline::math(expr),
            Inline::text(format!("  ({reason})")),
        ]);
        let lines = displayed(&format!("\n{text}")).len();
        assert!(lines >= 3 && text.matches("because").count() == 30, "{text}");
    }
}
