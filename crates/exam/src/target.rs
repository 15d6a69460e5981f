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
    /// An outline of an assignment with rubrics, as Gradescope has it.
    Gradescope,
    /// A table.
    Csv,
}

impl Target {
    /// Every format.
    pub const ALL: [Self; 7] = [
        Self::Moodle,
        Self::Qti12,
        Self::Qti21,
        Self::PrairieLearn,
        Self::Notebook,
        Self::Gradescope,
        Self::Csv,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Moodle => "moodle",
            Self::Qti12 => "qti12",
            Self::Qti21 => "qti21",
            Self::PrairieLearn => "prairielearn",
            Self::Notebook => "notebook",
            Self::Gradescope => "gradescope",
            Self::Csv => "csv",
        }
    }
}
