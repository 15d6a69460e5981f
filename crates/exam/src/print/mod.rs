//! Sheets and keys: one tree, printed in several formats.

mod document;
mod html;
mod latex;
mod markdown;
mod sheet;
mod solution;
mod words;

pub use document::{Block, Document, Format, Inline, Marker};
pub use sheet::sheet_document;
pub use solution::key_document;

/// The document in a format.
pub fn print(document: &Document, format: Format) -> String {
    match format {
        Format::Markdown => markdown::print(document),
        Format::Html => html::print(document),
        Format::Latex => latex::print(document),
    }
}
