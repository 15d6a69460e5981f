//! Sheets and keys: one tree, printed in several formats.

mod document;
mod figure;
mod html;
mod latex;
mod lines;
mod markdown;
mod markup;
mod page;
mod pdf;
mod rows;
mod sheet;
mod solution;
mod symbols;
mod template;
#[cfg(feature = "pdf")]
mod typesetter;
mod typst;
mod width;
mod words;

pub(crate) use document::letter;
pub use document::{Block, Document, Figure, Format, Inline, Marker};
pub(crate) use html::{Maths, fragment, line_fragment};
pub(crate) use markdown::{blocks as markdown_blocks, inlines as markdown_line};
pub(crate) use markup::html as escape;
pub use pdf::{HAS_PDF, pdfs};
pub(crate) use rows::{called, numbered};
pub use sheet::sheet_document;
pub(crate) use sheet::{ask, how, number};
pub use solution::key_document;
pub(crate) use solution::{rubric_lines, solution};
pub(crate) use template::sample;
pub use template::template;
pub(crate) use words::{PRINTED_PLACES, blocks, line, part_letter, with_names};

/// The document in a format.
pub fn print(document: &Document, format: Format) -> String {
    match format {
        Format::Markdown => markdown::print(document),
        Format::Html => html::print(document),
        Format::Latex => latex::print(document),
        Format::Typst => typst::print(document),
    }
}
