//! The questions that problem sets may name.

use indexmap::IndexMap;
use qkvet_spec::{Catalog, Redirects, SpecError, Unexpected, nearest};

use super::error::Misfit;
use super::{CheckedQuestion, Item, ProblemSet};

/// Checked questions by id.
#[derive(Clone, Debug, Default)]
pub struct Library {
    questions: IndexMap<String, CheckedQuestion>,
}

impl Library {
    /// The questions that are built in.
    ///
    /// # Errors
    /// The first file that does not fit; a release has none.
    pub fn embedded(catalog: &Catalog) -> Result<Self, SpecError> {
        let mut library = Self::default();
        for (path, source) in Catalog::texts("exams/questions") {
            let id = library.add(&path, source, catalog)?;
            if path.rsplit('/').next().and_then(|file| file.strip_suffix(".yaml"))
                != Some(id.as_str())
            {
                return Err(Unexpected::at_path("question", path, "the file name")
                    .quoted(id)
                    .into());
            }
        }
        Ok(library)
    }

    /// Reads and checks a question, which replaces one of the same id; gives that id.
    ///
    /// # Errors
    /// What does not fit, with its place.
    pub fn add(
        &mut self,
        path: &str,
        source: &str,
        catalog: &Catalog,
    ) -> Result<String, SpecError> {
        let question = CheckedQuestion::from_yaml(path, source, catalog)?;
        let id = question.question.question.clone();
        self.questions.insert(id.clone(), question);
        Ok(id)
    }

    /// Every question, in order of id or of addition.
    pub fn iter(&self) -> impl Iterator<Item = &CheckedQuestion> {
        self.questions.values()
    }

    /// The question of this id, or of an id that it had before.
    pub fn get(&self, id: &str) -> Option<&CheckedQuestion> {
        let current = || self.questions.get(&*Redirects::embedded().current(id));
        self.questions.get(id).or_else(current)
    }

    /// The question that an item of a problem set names.
    ///
    /// # Errors
    /// An unknown id, with the nearest known one; parts that the question has not.
    pub fn of_item(&self, set: (&str, &str), item: &Item) -> Result<&CheckedQuestion, SpecError> {
        let id = item.question.as_ref().map_or("", |id| id.text.as_str());
        let at = item.question.as_ref().and_then(|id| id.offset).unwrap_or(0);
        let place = |message: String, hint: Option<&str>| {
            SpecError::at(set.0, set.1, at..at + id.len(), &message, hint)
        };
        let Some(question) = self.get(id) else {
            let hint = nearest(id, self.questions.keys().map(String::as_str)).map_or_else(
                || {
                    "`qkvet exam list` shows the known ones; own questions lie in a folder `questions` beside the set"
                        .to_owned()
                },
                |near| format!("did you mean `{near}`?"),
            );
            return Err(place(format!("question: expected a known one, got `{id}`"), Some(&hint)));
        };
        let n = question.parts.len();
        let (asked, got) = (item.asked_of(n).len(), item.points.len());
        if got != 0 && got != asked {
            return Err(place(
                format!(
                    "points of question `{id}`: expected {asked}, one for each part, got {got}"
                ),
                None,
            ));
        }
        if let Some(points) = item.points.iter().find(|points| !(1..=1000).contains(*points)) {
            return Err(place(
                format!("points of question `{id}`: expected numbers from 1 to 1000, got {points}"),
                None,
            ));
        }
        match item.parts.iter().find(|part| !(1..=n).contains(*part)) {
            Some(part) => Err(place(
                format!("parts of question `{id}`: expected numbers from 1 to {n}, got {part}"),
                None,
            )),
            None => Ok(question),
        }
    }

    /// Gives the questions of a problem set the titles, points and tolerance that it says.
    ///
    /// # Errors
    /// As [`Library::of_item`]; other titles or points for the same question, pools of questions
    /// that are not worth the same.
    pub fn adapt(&mut self, path: &str, source: &str, set: &ProblemSet) -> Result<(), SpecError> {
        let mut seen: IndexMap<String, &Item> = IndexMap::new();
        for item in set.items() {
            let id = self.of_item((path, source), item)?.question.question.clone();
            let twice = || Misfit::Twice { question: id.clone() }.at(path, source, "questions");
            if let Some(other) = seen.insert(id.clone(), item)
                && (&other.title, &other.points) != (&item.title, &item.points)
            {
                return Err(twice());
            }
            let Some(question) = self.questions.get_mut(&id) else { continue };
            if let Some(title) = &item.title {
                question.question.title.clone_from(title);
            }
            for (part, points) in item.asked_of(question.parts.len()).into_iter().zip(&item.points)
            {
                question.question.parts[part].points = *points;
            }
            let in_decimals =
                question.question.parts.iter_mut().filter(|part| part.places().is_some());
            for part in in_decimals.filter(|part| part.tolerance.is_none()) {
                part.tolerance.clone_from(&set.tolerance);
            }
        }
        let points = |item: &Item| -> Result<u32, SpecError> {
            let question = self.of_item((path, source), item)?;
            let parts = item.asked_of(question.parts.len());
            Ok(parts.into_iter().map(|part| question.question.parts[part].points).sum())
        };
        for (at, item) in set.questions.iter().enumerate() {
            let worth = item.pool.iter().map(points).collect::<Result<Vec<_>, _>>()?;
            if let Some(other) = worth.iter().find(|other| **other != worth[0]) {
                let misfit = Misfit::Pool { first: worth[0], other: *other };
                return Err(misfit.at(path, source, &format!("questions.{}", at + 1)));
            }
        }
        Ok(())
    }

    /// Every question that a variant of a problem set may have, in the order of its items.
    ///
    /// # Errors
    /// As [`Library::of_item`].
    pub fn of_set(
        &self,
        path: &str,
        source: &str,
        set: &ProblemSet,
    ) -> Result<Vec<&CheckedQuestion>, SpecError> {
        set.items().map(|item| self.of_item((path, source), item)).collect()
    }
}
