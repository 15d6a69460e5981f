//! The formats of learning management systems, notebooks and tables that exams are exported to.

/// A format of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Moodle's XML.
    Moodle,
    /// QTI 1.2 as Canvas reads it.
    Qti12,
    /// QTI 2.1.
    Qti21,
    /// Folders of `PrairieLearn`.
    PrairieLearn,
    /// Jupyter notebooks with nbgrader's metadata.
    Notebook,
    /// A table.
    Csv,
}

/// Of a format: its name on the command line, whether it can give part of the points for a number
/// that a mistake gives and for an option that a mistake gives, and what it is.
type Row = (Target, &'static str, [bool; 2], &'static str);

/// Every format.
const TABLE: [Row; 6] = [
    (Target::Moodle, "moodle", [true, true], "Moodle XML, a category for each variant"),
    (Target::Qti12, "qti12", [false, false], "QTI 1.2 packages as Canvas imports them"),
    (Target::Qti21, "qti21", [true, true], "QTI 2.1 packages"),
    (Target::PrairieLearn, "prairielearn", [false, true], "question folders of PrairieLearn"),
    (
        Target::Notebook,
        "notebook",
        [false, false],
        "Jupyter notebooks with nbgrader's metadata, for students and instructors",
    ),
    (Target::Csv, "csv", [false, false], "a table of answers"),
];

impl Target {
    /// Every format, with its name and what it is.
    pub fn all() -> impl Iterator<Item = (Self, &'static str, &'static str)> {
        TABLE.iter().map(|(target, name, _, about)| (*target, *name, *about))
    }

    fn row(self) -> &'static Row {
        TABLE.iter().find(|(target, ..)| *target == self).unwrap_or(&TABLE[0])
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Whether it gives part of the points for numbers and for options that mistakes give.
    pub(crate) fn gives(self) -> [bool; 2] {
        self.row().2
    }
}
