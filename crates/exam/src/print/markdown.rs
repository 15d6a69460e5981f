//! Markdown: formulas are LaTeX between dollars.

use qkvet_prove::render::{Style, render};

use super::document::{Block, Document, Inline, Marker, letter};
use super::figure::{caption, svg};
use super::markup::markdown as escape;
use crate::plural::of_points;

pub(super) fn print(document: &Document) -> String {
    let mut text = format!("# {}\n\n{}\n", escape(&document.title), escape(&document.subtitle));
    for block in &document.blocks {
        text.push('\n');
        text += &printed(block);
    }
    text
}

/// Blocks one after the other, with a free line between them; room for answers is left to what
/// shows them.
pub(crate) fn blocks(blocks: &[Block]) -> String {
    let is_shown = |block: &&Block| !matches!(block, Block::Room(_) | Block::Line(_));
    // Many that show Markdown take drawings out.
    let plain = |block: &Block| match block {
        Block::Figure(figure) => display(&figure.written()),
        block => printed(block),
    };
    blocks.iter().filter(is_shown).map(plain).collect::<Vec<_>>().join("\n")
}

fn printed(block: &Block) -> String {
    match block {
        Block::Question { title, points } => {
            format!("## {} ({})\n", escape(title), of_points(*points))
        }
        Block::Part { letter, points, text } => {
            format!("**({letter})** {} *[{points}]*\n", inlines(text))
        }
        Block::Label(label) => format!("**{}**\n", escape(label)),
        Block::Paragraph(line) => format!("{}\n", inlines(line)),
        Block::Display(line) => display(line),
        Block::List(marker, items) => {
            items.iter().enumerate().map(|(at, item)| entry(*marker, at, item)).collect()
        }
        Block::Figure(figure) => {
            let note = caption(figure).map(|words| format!("\n{words}\n")).unwrap_or_default();
            format!("{}\n{note}", svg(figure))
        }
        // Lines of a space that is kept, with a break between two: a break behind the last would be
        // printed as it stands.
        Block::Room(lines) => vec!["&nbsp;"; *lines].join("\\\n") + "\n",
        Block::Line(before) => {
            format!("{}\\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\n", inlines(before))
        }
    }
}

fn entry(marker: Marker, at: usize, item: &[Inline]) -> String {
    let item = inlines(item);
    match marker {
        Marker::Dot => format!("- {item}\n"),
        Marker::Letter => format!("- ({}) {item}\n", letter(at)),
        Marker::Box => format!("- ☐ ({}) {item}\n", letter(at)),
        Marker::TrueFalse => format!("- ☐ true ☐ false: {item}\n"),
        Marker::Number => format!("{}. {item}\n", at + 1),
    }
}

/// A line of formulas alone is one formula; words between them are words inside it.
fn display(line: &[Inline]) -> String {
    let part = |inline: &Inline| match inline {
        Inline::Math(expr) => render(expr, Style::Latex),
        Inline::Text(text) if text.trim() == "≈" => r" \approx ".to_owned(),
        Inline::Text(text) if text.trim() == "=" => " = ".to_owned(),
        Inline::Text(text) if text.trim() == "≤" => r" \le ".to_owned(),
        Inline::Text(text) if text.trim() == "≥" => r" \ge ".to_owned(),
        Inline::Text(text) if text == ", " => r",\quad ".to_owned(),
        Inline::Text(text) | Inline::Strong(text) | Inline::Code(text) => {
            format!("\\quad\\text{{{}}}", super::markup::latex(text.trim()))
        }
    };
    format!("$$\n{}\n$$\n", line.iter().map(part).collect::<String>())
}

pub(crate) fn inlines(line: &[Inline]) -> String {
    line.iter()
        .map(|inline| match inline {
            Inline::Text(text) => escape(text),
            Inline::Strong(text) => format!("**{}**", escape(text.trim_end())) + trailing(text),
            Inline::Code(code) => format!("`{code}`"),
            Inline::Math(expr) => format!("${}$", render(expr, Style::Latex)),
        })
        .collect()
}

/// Spaces before the closing stars would undo them.
fn trailing(text: &str) -> &str {
    &text[text.trim_end().len()..]
}
