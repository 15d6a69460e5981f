//! Layout of documents: objects indented, every row of a tensor on a line of its own.

use std::io::{Result, Write};

use serde_json::ser::{CompactFormatter, Formatter};

/// What is open where the writer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Object {
        empty: bool,
    },
    /// An array, and whether its entries are on lines of their own.
    Array {
        broken: bool,
    },
}

/// Where the writer stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout(Vec<Open>);

impl Layout {
    fn line<W: ?Sized + Write>(&self, writer: &mut W) -> Result<()> {
        write!(writer, "\n{:1$}", "", 2 * self.0.len())
    }

    /// An entry that is not a plain number starts a line of the array that it is in.
    fn entry<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        match self.0.last_mut() {
            Some(Open::Array { broken }) => {
                *broken = true;
                self.line(writer)
            }
            _ => Ok(()),
        }
    }
}

impl Formatter for Layout {
    /// Whole numbers without a point; −0 keeps it, because a reader that takes it for a whole
    /// number would lose its sign.
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> Result<()> {
        let whole = value.fract() == 0.0
            && value.abs() < 1e15
            && (value != 0.0 || value.is_sign_positive());
        // Digits of a whole number need no search for the shortest ones.
        if whole {
            CompactFormatter.write_i64(writer, value as i64)
        } else {
            CompactFormatter.write_f64(writer, value)
        }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.entry(writer)?;
        self.0.push(Open::Object { empty: true });
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        if self.0.pop() != Some(Open::Object { empty: true }) {
            self.line(writer)?;
        }
        writer.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        if let Some(Open::Object { empty }) = self.0.last_mut() {
            *empty = false;
        }
        self.line(writer)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        writer.write_all(b": ")
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.entry(writer)?;
        self.0.push(Open::Array { broken: false });
        writer.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        if self.0.pop() == Some(Open::Array { broken: true }) {
            self.line(writer)?;
        }
        writer.write_all(b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        if first { Ok(()) } else { writer.write_all(b",") }
    }

    fn begin_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.entry(writer)?;
        writer.write_all(b"\"")
    }
}
