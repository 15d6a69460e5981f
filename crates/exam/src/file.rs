//! Files that are made, as text and as bytes.

/// A file of an exam.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Path below the folder of the exam.
    pub path: String,
    /// What stands in it.
    pub text: String,
    /// Whether only its owner may read it.
    pub secret: bool,
}

/// A file of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Path below the folder of the export.
    pub path: String,
    /// What stands in it.
    pub bytes: Vec<u8>,
    /// Whether only its owner may read it.
    pub secret: bool,
}
