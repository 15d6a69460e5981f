//! What grading found.

use serde::{Serialize, Serializer};

use super::{Feedback, Trouble};
use crate::Place;

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
    /// Left to a person, for it is not read for certain.
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
#[derive(Clone, Debug, PartialEq)]
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
    pub feedback: Feedback,
    /// Where the answer stands.
    pub place: Option<Place>,
    /// What a person marks.
    pub rubric: Vec<String>,
}

impl GradedPart {
    /// Whether its points are left to a person.
    pub fn is_left(&self) -> bool {
        matches!(self.verdict, Verdict::ByHand | Verdict::Unreadable)
    }
}

impl Serialize for GradedPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            part: &'a str,
            verdict: Verdict,
            points: f64,
            of: u32,
            says: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            mistake: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            hint: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            place: &'a Option<Place>,
            #[serde(skip_serializing_if = "<[String]>::is_empty")]
            rubric: &'a [String],
        }
        let Self { part, verdict, points, of, feedback, place, rubric } = self;
        let (says, mistake, hint) = (feedback.to_string(), feedback.mistake(), feedback.hint());
        let (verdict, points, of) = (*verdict, *points, *of);
        Document { part, verdict, points, of, says, mistake, hint, place, rubric }
            .serialize(serializer)
    }
}

/// One submission, graded.
#[derive(Clone, Debug, Serialize)]
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
    /// Points that are left to a person, those of answers that are not read for certain among them.
    pub by_hand: u32,
    /// The parts in the order of the sheet; none where the submission cannot be graded.
    pub parts: Vec<GradedPart>,
    /// What is wrong beside them.
    pub trouble: Vec<Trouble>,
}

impl Graded {
    /// The parts that are left to a person.
    pub fn left(&self) -> Vec<&str> {
        self.parts.iter().filter(|part| part.is_left()).map(|part| part.part.as_str()).collect()
    }

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
