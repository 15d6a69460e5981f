//! HTML with MathML: one file, no scripts, nothing fetched. Every formula has its words for screen
//! readers.
//!
//! A fragment of it, which is well-formed XML, goes into the files of learning management systems.

use qkvet_prove::render::{Style, render};
use qkvet_spec::syntax::Expr;

use super::document::{Block, Document, Inline, Marker, kept, letter};
use super::figure::{caption, svg};
use super::lines::broken;
use super::markup::html as escape;
use crate::plural::of_points;

/// Brackets of matrices are drawn round them: those of fonts without a table for mathematics do not
/// grow.
const STYLE: &str = "\
:root { color-scheme: light }
body { font: 17px/1.5 Georgia, 'Times New Roman', serif; color: #111; background: #fff; max-width: 46rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .2rem }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; padding-top: .6rem; border-top: 1px solid #777 }
.subtitle { color: #333; margin: 0 0 1.5rem }
.points { float: right; color: #333; font-weight: normal; font-size: 1rem; margin-left: 1rem }
.part { margin: 1.2rem 0 .4rem }
.label { font-weight: bold; margin: .8rem 0 .2rem }
.display { margin: .3rem 0 .3rem 1.5rem; padding: .4rem 0; overflow-x: auto; line-height: 2 }
.note { color: #333; font-size: .95em }
ul, ol { margin: .4rem 0; padding-left: 1.8rem }
ul.options { list-style: none; padding-left: 1.2rem }
li { margin: .3rem 0 }
li:has(mtable) { margin: .7rem 0 }
code { font: .92em ui-monospace, Menlo, Consolas, monospace }
.line { border-bottom: 1px solid #555; max-width: 24rem; margin: .8rem 0; min-height: 1.8rem }
math { font-size: 1.05em }
p math, li math, .display math { math-style: normal }
mrow:has(> mo + mtable) > mo { display: none }
mo + mtable:last-child { border: solid; border-width: 0 0 0 .07em; border-radius: .5em; padding-left: .3em }
mtable:has(+ mo) { border: solid; border-width: 0 .07em; padding: 0 .25em; margin: 0 .15em; background: linear-gradient(currentColor 0 0) 0 0/.3em .07em, linear-gradient(currentColor 0 0) 0 100%/.3em .07em, linear-gradient(currentColor 0 0) 100% 0/.3em .07em, linear-gradient(currentColor 0 0) 100% 100%/.3em .07em; background-repeat: no-repeat; print-color-adjust: exact }
@media screen and (max-width: 500px) { li:has(mtable) { overflow-x: auto; list-style-position: inside } }
@media print { body { margin: 0; max-width: none; font-size: 11pt } h2, .part, .label { break-after: avoid } .kept { break-inside: avoid } .display, li { break-inside: avoid; overflow: visible } }
";

pub(super) fn print(document: &Document) -> String {
    let mut text =
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n".to_owned();
    text += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    text += &format!(
        "<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        escape(&document.title)
    );
    text += &format!(
        "<h1>{}</h1>\n<p class=\"subtitle\">{}</p>\n",
        escape(&document.title),
        escape(&document.subtitle)
    );
    let mut is_open = false;
    for (block, is_kept) in document.blocks.iter().zip(kept(&document.blocks)) {
        if is_kept && !is_open {
            text += "<div class=\"kept\">\n";
        }
        text += &printed(block, Maths::MathMl);
        text.push('\n');
        if is_open && !is_kept {
            text += "</div>\n";
        }
        is_open = is_kept;
    }
    text + "</body>\n</html>\n"
}

/// How formulas stand in HTML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Maths {
    /// As MathML with their words.
    MathMl,
    /// As LaTeX between `\(` and `\)`.
    Parentheses,
    /// As LaTeX between dollars.
    Dollars,
}

/// Blocks one after the other; room for answers is left to what shows them.
pub(crate) fn fragment(blocks: &[Block], maths: Maths) -> String {
    let is_shown = |block: &&Block| !matches!(block, Block::Room(_) | Block::Line(_));
    // What is not HTML has no place for drawings.
    let plain = |block: &Block| match block {
        Block::Figure(figure) => printed(&Block::Display(figure.written()), maths),
        block => printed(block, maths),
    };
    blocks.iter().filter(is_shown).map(plain).collect()
}

/// A line of words and formulas.
pub(crate) fn line_fragment(line: &[Inline], maths: Maths) -> String {
    inlines(line, maths)
}

fn printed(block: &Block, maths: Maths) -> String {
    let inlines = |line: &[Inline]| inlines(line, maths);
    match block {
        Block::Question { title, points } => {
            format!(
                "<h2><span class=\"points\">{}</span>{}</h2>",
                of_points(*points),
                escape(title)
            )
        }
        Block::Part { letter, points, text } => format!(
            "<p class=\"part\"><span class=\"points\">[{points}]</span><strong>({letter})</strong> {}</p>",
            inlines(text)
        ),
        Block::Label(label) => format!("<p class=\"label\">{}</p>", escape(label)),
        Block::Paragraph(line) => format!("<p>{}</p>", inlines(line)),
        Block::Display(line) if maths == Maths::MathMl => {
            let pieces = line.iter().flat_map(|inline| match inline {
                Inline::Math(expr) => broken(expr),
                other => vec![other.clone()],
            });
            format!("<div class=\"display\">{}</div>", inlines(&pieces.collect::<Vec<_>>()))
        }
        Block::Display(line) => format!("<div class=\"display\">{}</div>", inlines(line)),
        Block::List(marker, items) => list(*marker, items, maths),
        Block::Figure(figure) => {
            let note = caption(figure)
                .map(|words| format!("<p class=\"note\">{words}</p>"))
                .unwrap_or_default();
            format!("<div class=\"display\">{}</div>{note}", svg(figure))
        }
        Block::Room(lines) => format!("<div style=\"min-height: {lines}lh\"></div>"),
        Block::Line(before) => format!("<p class=\"line\">{}</p>", inlines(before)),
    }
}

fn list(marker: Marker, items: &[Vec<Inline>], maths: Maths) -> String {
    let entry = |(at, item): (usize, &Vec<Inline>)| {
        let item = inlines(item, maths);
        match marker {
            Marker::Dot | Marker::Number => format!("<li>{item}</li>"),
            Marker::Letter => format!("<li>({}) {item}</li>", letter(at)),
            Marker::Box => format!("<li>☐ ({}) {item}</li>", letter(at)),
            Marker::TrueFalse => format!("<li>☐ true ☐ false: {item}</li>"),
        }
    };
    let items: String = items.iter().enumerate().map(entry).collect();
    match marker {
        Marker::Number => format!("<ol>{items}</ol>"),
        Marker::Dot => format!("<ul>{items}</ul>"),
        Marker::Letter | Marker::Box | Marker::TrueFalse => {
            format!("<ul class=\"options\">{items}</ul>")
        }
    }
}

fn inlines(line: &[Inline], maths: Maths) -> String {
    line.iter()
        .map(|inline| match inline {
            Inline::Text(text) => escape(text),
            Inline::Strong(text) => format!("<strong>{}</strong>", escape(text)),
            Inline::Code(code) => format!("<code>{}</code>", escape(code)),
            Inline::Math(expr) => match maths {
                Maths::MathMl => math(expr),
                Maths::Parentheses => format!("\\({}\\)", escape(&render(expr, Style::Latex))),
                Maths::Dollars => format!("${}$", escape(&render(expr, Style::Latex))),
            },
        })
        .collect()
}

fn math(expr: &Expr) -> String {
    let words = escape(&render(expr, Style::Words));
    render(expr, Style::MathMl).replacen("<math ", &format!("<math alttext=\"{words}\" "), 1)
}
