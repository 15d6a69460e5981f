//! Layout of the document: objects indented, every row of a tensor on a line of its own.

use std::io::{Result, Write};

use serde_json::ser::Formatter;

/// Where the writer stands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Layout {
    objects: usize,
    arrays: usize,
    /// Whether the array that is open has entries on lines of their own.
    broken: bool,
}

impl Layout {
    fn line<W: ?Sized + Write>(&self, writer: &mut W) -> Result<()> {
        write!(writer, "\n{:1$}", "", 2 * (self.objects + self.arrays))
    }
}

impl Formatter for Layout {
    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.objects += 1;
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.objects -= 1;
        self.line(writer)?;
        writer.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        self.line(writer)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        writer.write_all(b": ")
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        if self.arrays > 0 {
            self.broken = true;
            self.line(writer)?;
        }
        self.arrays += 1;
        writer.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.arrays -= 1;
        if self.arrays == 0 && self.broken {
            self.broken = false;
            self.line(writer)?;
        }
        writer.write_all(b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        if first { Ok(()) } else { writer.write_all(b",") }
    }

    fn begin_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        if self.arrays > 0 {
            self.broken = true;
            self.line(writer)?;
        }
        writer.write_all(b"\"")
    }
}
