//! Typst source, from which `typst compile --pdf-standard ua-1` makes an accessible PDF: every
//! formula has its words.

use qkvet_prove::render::{Style, render, typst_string};
use qkvet_spec::syntax::Expr;

use super::document::{Block, Document, Inline, Marker, kept, letter};

/// Formulas between words take the room that they need: of the leading of their paragraph, which
/// they would reach into, they have none.
const PREAMBLE: &str = "\
#let foot = context align(center, text(size: .8em)[#sheet · #counter(page).display(\"1 of 1\", both: true)])
#set page(paper: \"a4\", margin: 22mm, numbering: \"1\", footer: foot)
#set text(size: 11pt, lang: \"en\")
#set par(leading: .6em, spacing: .9em)
#set list(spacing: .75em)
#set enum(spacing: .75em)
#set math.mat(row-gap: .45em)
#let formula(words, it) = box({ set par(leading: 0pt); math.equation(alt: words, it) })
#set heading(bookmarked: true)
#show heading: set block(above: 1.4em, below: .8em, sticky: true)
#let tick = box(width: .75em, height: .75em, stroke: .5pt, baseline: .08em)
#let points(n) = [ #h(1fr)#sym.wj#text(size: .9em)[\\[#n\\]]]
#let given(body) = block(inset: (left: 1.5em), above: 1em, below: 1.1em, body)
#let kept(body) = block(sticky: true, spacing: .9em, body)
#let room(height) = block(breakable: height > 180mm, box(height: height))
#let line-to-fill = box(width: 1fr, height: 1.2em, stroke: (bottom: .5pt))

";

/// Questions after which a long document goes on with a new page: Typst sets what lies between such
/// pages side by side.
const RUN: usize = 10;

pub(super) fn print(document: &Document) -> String {
    let (title, subtitle) = (typst_string(&document.title), typst_string(&document.subtitle));
    let footer = typst_string(&document.footer);
    let mut text = format!(
        "#set document(title: {title})\n#let sheet = {footer}\n{PREAMBLE}#heading(level: 1, {title})\n#{subtitle};\n"
    );
    let mut questions = 0;
    for (block, is_kept) in document.blocks.iter().zip(kept(&document.blocks)) {
        if matches!(block, Block::Question { .. }) {
            if questions > 0 && questions % RUN == 0 {
                text += "\n#pagebreak(weak: true)\n";
            }
            questions += 1;
        }
        let printed = printed(block);
        let is_sticky = matches!(block, Block::Question { .. } | Block::Part { .. });
        text += &if is_kept && !is_sticky {
            format!("\n#kept[{printed}]\n")
        } else {
            format!("\n{printed}\n")
        };
    }
    text
}

fn printed(block: &Block) -> String {
    match block {
        Block::Question { title, points } => {
            format!("#heading(level: 2, [#{};#points({points})])", typst_string(title))
        }
        Block::Part { letter, points, text } => {
            format!(
                "#block(above: 1.3em, sticky: true)[*({letter})* {}#points({points})]",
                inlines(text)
            )
        }
        Block::Label(label) => format!("#block(sticky: true, strong({}))", typst_string(label)),
        Block::Paragraph(line) => format!("{}\n", inlines(line)),
        Block::Display(line) => format!("#given[{}]", inlines(line)),
        Block::List(marker, items) => list(*marker, items),
        Block::Figure(figure) => format!("#given[{}]", inlines(&figure.written())),
        Block::Room(lines) => format!("#room({}mm)", lines * 7),
        Block::Line(before) => format!("{}#line-to-fill\n", inlines(before)),
    }
}

fn list(marker: Marker, items: &[Vec<Inline>]) -> String {
    let entry = |(at, item): (usize, &Vec<Inline>)| {
        let item = inlines(item);
        match marker {
            Marker::Dot | Marker::Number => format!("[{item}]"),
            Marker::Letter => format!("[({}) {item}]", letter(at)),
            Marker::Box => format!("[#tick ({}) {item}]", letter(at)),
            Marker::TrueFalse => format!("[#tick true #tick false: {item}]"),
        }
    };
    let items: Vec<String> = items.iter().enumerate().map(entry).collect();
    let items = items.join(", ");
    match marker {
        Marker::Number => format!("#enum({items})"),
        Marker::Dot => format!("#list({items})"),
        Marker::Letter | Marker::Box | Marker::TrueFalse => format!("#list(marker: [], {items})"),
    }
}

fn inlines(line: &[Inline]) -> String {
    line.iter()
        .map(|inline| match inline {
            Inline::Text(text) => format!("#{};", typst_string(text)),
            Inline::Strong(text) => format!("#strong({});", typst_string(text)),
            Inline::Code(code) => format!("#raw({});", typst_string(code)),
            Inline::Math(expr) => math(expr),
        })
        .collect()
}

fn math(expr: &Expr) -> String {
    let words = typst_string(&render(expr, Style::Words));
    format!("#formula({words}, $display({})$);", render(expr, Style::Typst))
}
