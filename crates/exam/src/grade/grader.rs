//! Submissions against the keys of an exam.

use std::collections::BTreeMap;

use qkvet_spec::{Catalog, nearest};

use super::earlier_steps::Own;
use super::part::WorkedQuestion;
use super::result::{Graded, GradedPart, Verdict};
use super::submission::{Submission, SubmittedAnswer, stem};
use super::{Feedback, Problem, Trouble, part_id};
use crate::Place;
use crate::answer::work;
use crate::error::{ExamError, KeyError};
use crate::generate::nothing;
use crate::key::{Key, KeyedPart, KeyedQuestion};
use crate::question::{AnswerSpec, Library};
use crate::student_answer::is_missing;
use crate::verify::{not_of_seed, verify};

/// The keys of an exam, each derived again, from its numbers and from its seed, before it is
/// trusted.
#[derive(Debug)]
pub struct Grader {
    exam: String,
    library: Library,
    keys: BTreeMap<usize, Key>,
}

impl Grader {
    /// Takes the keys of the variants of one exam.
    ///
    /// # Errors
    /// No key, keys of different exams, or a key whose answers are not what its numbers and its
    /// seed give.
    pub fn new(keys: Vec<Key>, catalog: &Catalog) -> Result<Self, ExamError> {
        let mut all = BTreeMap::new();
        let mut first: Option<(String, Library)> = None;
        for key in keys {
            let (exam, library) = match &first {
                Some(first) => first,
                None => {
                    let (set, library) = key.sources(catalog)?;
                    first.insert((set.exam, library))
                }
            };
            let is_same = all.values().next().is_none_or(|other: &Key| {
                (&other.set, &other.own, other.seed, other.variants)
                    == (&key.set, &key.own, key.seed, key.variants)
            });
            if !is_same {
                return Err(KeyError::OtherExam { exam: exam.clone() }.into());
            }
            let verified = verify(&key, library, catalog);
            if let Some(reason) = verified.wrong.into_iter().next() {
                return Err(ExamError::Untrue { variant: key.variant, reason: reason.into() });
            }
            if let Some(twice) = all.insert(key.variant, key) {
                return Err(KeyError::Twice { variant: twice.variant }.into());
            }
        }
        // What the numbers of a key do not say, such as which option is the right one, its seed
        // does.
        if let Some((variant, reason)) = not_of_seed(&all.values().collect::<Vec<_>>(), catalog)? {
            return Err(ExamError::Untrue { variant, reason: reason.into() });
        }
        match first {
            Some((exam, library)) => Ok(Self { exam, library, keys: all }),
            None => Err(KeyError::None.into()),
        }
    }

    /// Grades submissions; one of a student who handed in before is graded and told of.
    pub fn all(&self, submissions: &[Submission]) -> Vec<Graded> {
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        let mut all = Vec::new();
        for submission in submissions {
            let mut graded = self.grade(submission);
            match seen.get(&graded.student) {
                Some(file) => {
                    let (student, file) = (graded.student.clone(), file.clone());
                    let problem = Problem::Another { student, file };
                    graded.trouble.push(Trouble { place: Place::file(&graded.file), problem });
                }
                None => {
                    seen.insert(graded.student.clone(), graded.file.clone());
                }
            }
            all.push(graded);
        }
        all
    }

    /// Grades one submission.
    pub fn grade(&self, submission: &Submission) -> Graded {
        let student =
            submission.student.clone().unwrap_or_else(|| stem(&submission.file).to_owned());
        let key = match self.key(submission) {
            Ok(key) => key,
            Err(trouble) => {
                let all =
                    submission.trouble.iter().cloned().chain(trouble.map(|one| *one)).collect();
                return Graded::refused(&student, &submission.file, all);
            }
        };
        let mut trouble = submission.trouble.clone();
        let answers = self.sorted(key, submission, &mut trouble);
        let mut parts = Vec::new();
        for (number, keyed) in key.questions.iter().enumerate() {
            let question = self.library.get(&keyed.question);
            let worked =
                question.and_then(|question| work(&question.law, &keyed.drawn, &nothing()).ok());
            let (Some(question), Some(worked)) = (question, worked) else { continue };
            let comma = submission.comma;
            let asked = WorkedQuestion { question, drawn: &keyed.drawn, worked, comma };
            let mut own = Own::default();
            for (at, part) in keyed.parts.iter().enumerate() {
                let id = part_id(number, at);
                let given = answers.get(&id).copied().filter(|given| !is_missing(&given.answer));
                let earlier = |at: usize| {
                    let id = part_id(number, at);
                    let given =
                        answers.get(&id).copied().filter(|given| !is_missing(&given.answer))?;
                    Some((id, given))
                };
                let kept =
                    earlier_design(&asked, keyed, at).into_iter().filter_map(earlier).next_back();
                let kept = kept.filter(|_| given.is_none());
                match kept.and_then(|(from, given)| taken_over(&asked, part, &id, (&from, given))) {
                    Some(part) => parts.push(part),
                    None => parts.push(marked(&asked, part, &id, given, &mut own)),
                }
            }
        }
        let by_hand = parts.iter().filter(|part| part.is_left()).map(|part| part.of).sum();
        Graded {
            student,
            file: submission.file.clone(),
            exam: self.exam.clone(),
            variant: Some(key.variant),
            points: rounded(parts.iter().map(|part| part.points).sum()),
            of: parts.iter().map(|part| part.of).sum(),
            by_hand,
            parts,
            trouble,
        }
    }

    /// The key that a submission is graded with; nothing said where its own trouble says enough.
    fn key(&self, submission: &Submission) -> Result<&Key, Option<Box<Trouble>>> {
        if submission.answers.is_empty() && !submission.trouble.is_empty() {
            return Err(None);
        }
        let told =
            |problem| Some(Box::new(Trouble { place: Place::file(&submission.file), problem }));
        if let Some(exam) = submission.exam.as_ref().filter(|exam| **exam != self.exam) {
            let (expected, got) = (self.exam.clone(), exam.clone());
            return Err(told(Problem::Exam { expected, got }));
        }
        match &submission.variant {
            Some(variant) => {
                let key = variant.parse().ok().and_then(|number: usize| self.keys.get(&number));
                key.ok_or_else(|| {
                    let known = self.keys.keys().copied().collect();
                    told(Problem::Variant { known, got: variant.clone() })
                })
            }
            None => match self.keys.values().next() {
                Some(key) if self.keys.len() == 1 => Ok(key),
                _ => Err(told(Problem::NoVariant)),
            },
        }
    }

    /// Answers by part; those of no part and second ones are trouble.
    fn sorted<'b>(
        &self,
        key: &Key,
        submission: &'b Submission,
        trouble: &mut Vec<Trouble>,
    ) -> BTreeMap<String, &'b SubmittedAnswer> {
        let mut known: Vec<(String, Vec<String>)> = Vec::new();
        for (number, question) in key.questions.iter().enumerate() {
            for (at, part) in question.parts.iter().enumerate() {
                let id = part_id(number, at);
                let letter = id.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned();
                let others = [
                    id.clone(),
                    format!("{}{}", number + 1, at + 1),
                    format!("{}{letter}", question.question),
                    format!("{}{}", question.question, part.part),
                ];
                known.push((id, others.iter().map(|other| bare(other)).collect()));
            }
        }
        let mut answers: BTreeMap<String, &SubmittedAnswer> = BTreeMap::new();
        for given in &submission.answers {
            let name = bare(&given.part);
            // The sheet's own names first: `12` may be part 2 of question 1 only where there is no
            // part of that name.
            let found = known.iter().find(|(_, names)| names[0] == name);
            let found = found.or_else(|| known.iter().find(|(_, names)| names.contains(&name)));
            let Some((id, _)) = found else {
                let got = given.part.clone();
                let known: Vec<String> = known.iter().map(|(id, _)| id.clone()).collect();
                let near = nearest(&got, known.iter().map(String::as_str)).map(str::to_owned);
                let problem = Problem::Part { got, near, known };
                trouble.push(Trouble { place: given.place.clone(), problem });
                continue;
            };
            if let Some(first) = answers.get(id) {
                let problem = Problem::Second { part: id.clone(), first: first.place.clone() };
                trouble.push(Trouble { place: given.place.clone(), problem });
                continue;
            }
            answers.insert(id.clone(), given);
        }
        answers
    }
}

/// A part's name without signs, and without words such as `Q` before it.
fn bare(name: &str) -> String {
    // Other signs are no part of a name: `=1+1` is a formula of a spreadsheet and not part 1 of
    // question 1.
    if name
        .chars()
        .any(|c| !c.is_alphanumeric() && !c.is_whitespace() && !".:,;()[]-_/#".contains(c))
    {
        return name.to_lowercase();
    }
    let name: String =
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let without = name.strip_prefix("question").or_else(|| name.strip_prefix('q')).unwrap_or(&name);
    if without.starts_with(|c: char| c.is_ascii_digit()) { without.to_owned() } else { name }
}

fn rounded(points: f64) -> f64 {
    (points * 100.0).round() / 100.0
}

/// The parts before a design, from 0, that ask for a design of the same names: an answer to one of
/// them may hold for it too.
fn earlier_design(asked: &WorkedQuestion<'_>, keyed: &KeyedQuestion, at: usize) -> Vec<usize> {
    let names = |part: &KeyedPart| match &asked
        .question
        .question
        .parts
        .get(part.part.checked_sub(1)?)?
        .answer
    {
        AnswerSpec::Design(property) => Some(&property.example),
        _ => None,
    };
    let Some(own) = keyed.parts.get(at).and_then(names) else { return Vec::new() };
    (0..at).filter(|before| names(&keyed.parts[*before]) == Some(own)).collect()
}

/// A part without an answer for which that to an earlier part is right.
fn taken_over(
    asked: &WorkedQuestion<'_>,
    keyed: &KeyedPart,
    id: &str,
    (from, given): (&str, &SubmittedAnswer),
) -> Option<GradedPart> {
    let part = marked(asked, keyed, id, Some(given), &mut Own::default());
    let feedback = Feedback::TakenOver { from: from.to_owned() };
    (part.verdict == Verdict::Right).then_some(GradedPart { feedback, ..part })
}

fn marked(
    asked: &WorkedQuestion<'_>,
    keyed: &KeyedPart,
    id: &str,
    given: Option<&SubmittedAnswer>,
    own: &mut Own,
) -> GradedPart {
    let part = GradedPart {
        part: id.to_owned(),
        verdict: Verdict::Missing,
        points: 0.0,
        of: keyed.points,
        feedback: Feedback::Missing,
        place: given.map(|given| given.place.clone()),
        rubric: Vec::new(),
    };
    let Some(given) = given.filter(|given| !is_missing(&given.answer)) else { return part };
    match asked.mark(keyed, id, &given.answer, own) {
        Ok(marked) => GradedPart {
            verdict: marked.verdict,
            points: rounded(f64::from(keyed.points) * marked.share),
            feedback: marked.feedback,
            rubric: marked.rubric,
            ..part
        },
        Err(unread) => {
            GradedPart { verdict: Verdict::Unreadable, feedback: Feedback::Unread(unread), ..part }
        }
    }
}
