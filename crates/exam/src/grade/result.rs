//! What grading found.

use serde::Serialize;

/// What the first field of a result in JSON says.
pub const FORMAT: &str = "qkvet-exam-grades-1";

/// How a part was marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Full points.
    Right,
    /// Some points.
    Partial,
    /// Not right, but what follows from the student's own earlier answer.
    Follows,
    /// No points.
    Wrong,
    /// Left to a person.
    ByHand,
    /// No answer.
    Missing,
    /// An answer that cannot be read.
    Unreadable,
}

impl Verdict {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Partial => "partial",
            Self::Follows => "follows",
            Self::Wrong => "wrong",
            Self::ByHand => "by-hand",
            Self::Missing => "missing",
            Self::Unreadable => "unreadable",
        }
    }
}

/// One part of one submission.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GradedPart {
    /// `1a`.
    pub part: String,
    /// How it was marked.
    pub verdict: Verdict,
    /// Points given.
    pub points: f64,
    /// Points that a full answer has.
    pub of: u32,
    /// What is to be said of it.
    pub says: String,
    /// The modelled mistake that gives this answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mistake: Option<String>,
    /// What to do about an answer that cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Where the answer stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// What a person marks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rubric: Vec<String>,
}

/// Something wrong with a submission that belongs to no part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// Where.
    pub place: String,
    /// What.
    pub says: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// One submission, graded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Graded {
    /// Whose it is.
    pub student: String,
    /// The file that it is from.
    pub file: String,
    /// The problem set.
    pub exam: String,
    /// The variant; nothing where it is unknown.
    pub variant: Option<usize>,
    /// Points given.
    pub points: f64,
    /// Points of the whole sheet.
    pub of: u32,
    /// Points that are left to a person.
    pub by_hand: u32,
    /// The parts in the order of the sheet; none where the submission cannot be graded.
    pub parts: Vec<GradedPart>,
    /// What is wrong beside them.
    pub trouble: Vec<Trouble>,
}

impl Graded {
    /// A submission that cannot be graded, and why.
    pub(super) fn refused(student: &str, file: &str, trouble: Vec<Trouble>) -> Self {
        Self {
            student: student.to_owned(),
            file: file.to_owned(),
            exam: String::new(),
            variant: None,
            points: 0.0,
            of: 0,
            by_hand: 0,
            parts: Vec::new(),
            trouble,
        }
    }
}
