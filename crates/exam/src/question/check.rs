//! A question checked as a whole: every formula parsed, typed and shaped, every reference leading
//! somewhere.

use std::collections::BTreeSet;
use std::ops::Range;

use indexmap::IndexMap;
use qkvet_spec::shape::{DIMENSIONS, LawError, check_law};
use qkvet_spec::syntax::{Expr, ExprError, ExprKind, parse};
use qkvet_spec::{
    Catalog, CheckedLaw, Fault, Formula, Law, Meaning, SpecError, located, parse_yaml,
};

use super::error::Misfit;
use super::place::line_of;
use super::room;
use super::{
    AnswerSpec, CheckedMistake, Choice, Domain, Keep, MistakeEffect, Ordering, Paragraph, Part,
    Piece, Property, Question, Size, Statement, Statements, prose,
};

use crate::taught::{row_name, stand_in};

/// A question whose formulas fit.
#[derive(Clone, Debug)]
pub struct CheckedQuestion {
    /// The question as written.
    pub question: Question,
    /// Its extents.
    pub sizes: Vec<(String, Size)>,
    /// Its parameters.
    pub draw: Vec<(String, Domain)>,
    /// Its parameters and abbreviations as those of a law.
    pub law: CheckedLaw,
    /// Its conditions.
    pub keep: Vec<Keep>,
    /// The band of its load.
    pub load: Option<Size>,
    /// Its parts.
    pub parts: Vec<CheckedPart>,
    /// The text of the file.
    pub source: String,
}

/// A part whose formulas fit.
#[derive(Clone, Debug, Default)]
pub struct CheckedPart {
    /// The formula whose value is the answer; of a design the distance from what is wanted.
    pub of: Option<Expr>,
    /// The same by another way, or the answer of which `of` is the value; of a design what the
    /// distance may be at most.
    pub beside: Option<Expr>,
    /// Mistakes that people make here.
    pub mistakes: Vec<CheckedMistake>,
}

impl CheckedQuestion {
    /// Reads and checks one question.
    ///
    /// # Errors
    /// YAML errors, unknown names, types and shapes that do not fit, unknown faults and laws: each
    /// with its place.
    pub fn from_yaml(path: &str, source: &str, catalog: &Catalog) -> Result<Self, SpecError> {
        let question: Question = parse_yaml(path, source)?;
        Checker { path, source, catalog, question: &question }
            .check()
            .map(|checked| Self { source: source.to_owned(), ..checked })
    }
}

impl CheckedQuestion {
    /// Names in formulas of prose that the question does not define, each with its line. Single
    /// letters, with or without an index, and Greek ones stand for themselves.
    pub fn strangers(&self) -> Vec<(usize, String)> {
        let question = &self.question;
        let mut all: Vec<(usize, String)> = Vec::new();
        let mut texts: Vec<&Formula> = question.prompt.iter().collect();
        for part in &question.parts {
            texts.push(&part.prompt);
            texts.extend(&part.because);
            match &part.answer {
                AnswerSpec::Choice(choice) => {
                    texts.push(&choice.right);
                    texts.extend(choice.wrong.iter().flat_map(|one| [&one.says, &one.because]));
                }
                AnswerSpec::Statements(bank) => {
                    texts.extend(
                        bank.right
                            .iter()
                            .chain(&bank.wrong)
                            .flat_map(|one| [&one.says, &one.because]),
                    );
                }
                _ => {}
            }
        }
        let is_known = |name: &str| {
            let bare = name.split('_').next().unwrap_or(name);
            bare.len() <= 1
                || GREEK.contains(&bare)
                || self.law.lets.iter().any(|(step, _)| step == name)
                || question.draw.contains_key(name)
                || question.sizes.contains_key(name)
        };
        for text in texts {
            let pieces =
                prose(text).unwrap_or_default().into_iter().flat_map(|paragraph| paragraph.pieces);
            for piece in pieces {
                let Piece::Formula(expr) = piece else { continue };
                each_name(&expr, &mut |name, span| {
                    if is_known(name) || all.iter().any(|(_, other)| other == name) {
                        return;
                    }
                    let at = located(&self.source, text, span);
                    let at = at.map_or(text.offset.unwrap_or(0), |at| at.start);
                    all.push((line_of(&self.source, at), name.to_owned()));
                });
            }
        }
        all
    }
}

impl CheckedQuestion {
    /// Parameters that no answer, mistake, option or condition of an answer depends on, by name.
    pub fn unused(&self) -> Vec<&str> {
        let mut used = BTreeSet::new();
        let mut note = |expr: &Expr| {
            each_name(expr, &mut |name, _| {
                used.insert(name.to_owned());
            })
        };
        for (part, checked) in self.question.parts.iter().zip(&self.parts) {
            checked.of.iter().chain(&checked.beside).for_each(&mut note);
            for mistake in &checked.mistakes {
                if let MistakeEffect::Answer(gives) = &mistake.slip {
                    note(gives);
                }
            }
            let mut texts: Vec<&Formula> = part.because.iter().chain([&part.prompt]).collect();
            match &part.answer {
                AnswerSpec::Choice(choice) => {
                    texts.push(&choice.right);
                    texts.extend(choice.wrong.iter().map(|one| &one.says));
                }
                AnswerSpec::Statements(bank) => {
                    texts.extend(bank.right.iter().chain(&bank.wrong).map(|one| &one.says));
                }
                _ => {}
            }
            for text in texts {
                let read = prose(text).unwrap_or_default();
                let pieces = read.iter().flat_map(|paragraph| &paragraph.pieces);
                pieces.flat_map(Piece::values).for_each(&mut note);
            }
        }
        for (name, expr) in self.law.lets.iter().rev() {
            if used.contains(name) {
                each_name(expr, &mut |name, _| {
                    used.insert(name.to_owned());
                });
            }
        }
        for (name, domain) in self.draw.iter().rev() {
            if used.contains(name)
                && let Domain::Index { not, .. } = domain
            {
                used.extend(not.iter().cloned());
            }
        }
        self.draw
            .iter()
            .map(|(name, _)| name.as_str())
            .filter(|name| !used.contains(*name))
            .collect()
    }
}

/// Calls `with` for each name in a formula and where it stands.
fn each_name(expr: &Expr, with: &mut dyn FnMut(&str, Range<usize>)) {
    if let ExprKind::Name(name) = &expr.kind {
        with(name, expr.span.clone());
    }
    expr.parts().into_iter().for_each(|part| each_name(part, with));
}

/// Parts of a question: each has a letter.
const MAX_PARTS: usize = 26;
/// Points of a part, so that those of an exam have a sum.
const MAX_POINTS: usize = 1000;

/// Letters that stand for themselves.
const GREEK: [&str; 16] = [
    "alpha", "beta", "gamma", "delta", "epsilon", "eta", "theta", "kappa", "lambda", "mu", "pi",
    "rho", "sigma", "tau", "phi", "omega",
];

struct Checker<'a> {
    path: &'a str,
    source: &'a str,
    catalog: &'a Catalog,
    question: &'a Question,
}

type Lets = IndexMap<String, Formula>;

impl Checker<'_> {
    fn check(&self) -> Result<CheckedQuestion, SpecError> {
        let question = self.question;
        self.ranged("difficulty", (1, 5, ""), question.difficulty.into())?;
        if question.parts.is_empty() {
            return Err(self.plain("parts", &Misfit::None));
        }
        if question.parts.len() > MAX_PARTS {
            let (most, got) = (MAX_PARTS, question.parts.len());
            let place = format!("parts.{}", most + 1);
            return Err(self.plain(&place, &Misfit::TooManyParts { most, got }));
        }
        let at = |place: String, formula: &Formula| {
            let formula = formula.clone();
            move |error: ExprError| self.misplaced(place, formula, error)
        };
        let mut sizes = Vec::new();
        for (name, formula) in &question.sizes {
            sizes.push((
                name.clone(),
                Size::parse(formula).map_err(at(format!("sizes.{name}"), formula))?,
            ));
        }
        let mut draw: Vec<(String, Domain)> = Vec::new();
        let greatest = room::greatest(&sizes);
        for (name, formula) in &question.draw {
            let above: Vec<&str> = draw.iter().map(|(name, _)| name.as_str()).collect();
            let domain =
                Domain::parse(formula, &above).map_err(at(format!("draw.{name}"), formula))?;
            room::of_domain(&domain, &formula.text, &greatest)
                .map_err(at(format!("draw.{name}"), formula))?;
            draw.push((name.clone(), domain));
        }
        let given = self.given(&sizes, &draw);
        let law = self.law(&given, &question.lets, None)?;
        let (mut keep, mut values) = (Vec::new(), Lets::new());
        for (number, formula) in question.keep.iter().enumerate() {
            let place = format!("keep.{}", number + 1);
            let parsed = formula.parse().map_err(at(place.clone(), formula))?;
            let Some((word, args)) = Keep::word(&parsed) else {
                keep.extend(
                    self.law(&given, &question.lets, Some(formula))?.expect.map(Keep::Holds),
                );
                continue;
            };
            for (at, arg) in args.iter().enumerate() {
                let text = formula.text.get(arg.span.clone()).unwrap_or_default().to_owned();
                let offset = located(self.source, formula, arg.span.clone()).map(|at| at.start);
                values.insert(format!("{place} argument {}", at + 1), Formula { text, offset });
            }
            keep.push(Keep::Word(word, args.to_vec()));
        }
        let load = match &question.load {
            Some(band) => Some(Size::parse(band).map_err(at("load".to_owned(), band))?),
            None => None,
        };
        self.prose_of("prompt", question.prompt.as_ref(), &mut values)?;
        let mut parts = Vec::new();
        for (number, part) in question.parts.iter().enumerate() {
            parts.push(self.part(number + 1, part, &given, &law, &mut values)?);
        }
        // Formulas whose values are printed have values.
        let mut lets = question.lets.clone();
        lets.extend(values);
        for (name, expr) in &self.law(&given, &lets, None)?.lets {
            let formula = lets
                .get(name)
                .cloned()
                .unwrap_or_else(|| Formula { text: String::new(), offset: None });
            room::of_formula(expr, &greatest).map_err(at(name.clone(), &formula))?;
        }
        Ok(CheckedQuestion {
            question: question.clone(),
            sizes,
            draw,
            law,
            keep,
            load,
            parts,
            source: String::new(),
        })
    }

    /// Extents and parameters as the variables of a law.
    fn given(&self, sizes: &[(String, Size)], draw: &[(String, Domain)]) -> Lets {
        let mut given = Lets::new();
        for (name, Size { low, high }) in
            sizes.iter().filter(|(name, _)| !DIMENSIONS.contains(&name.as_str()))
        {
            let offset = self.question.sizes.get(name).and_then(|formula| formula.offset);
            given.insert(name.clone(), Formula { text: format!("dim({low}..{high})"), offset });
        }
        for ((name, domain), formula) in draw.iter().zip(self.question.draw.values()) {
            given.insert(
                name.clone(),
                Formula { text: domain.in_laws(&formula.text), offset: formula.offset },
            );
        }
        given
    }

    /// The question as a law, with `1 <= 2` for a statement if there is none.
    fn law(
        &self,
        given: &Lets,
        lets: &Lets,
        expect: Option<&Formula>,
    ) -> Result<CheckedLaw, SpecError> {
        let (mut own, mut numbers) = (Vec::new(), Vec::new());
        let mut checked = lets.clone();
        for (at, formula) in checked.values_mut().enumerate() {
            if let Some(stand_in) = stand_in(formula, &mut numbers) {
                own.push((at, std::mem::replace(formula, stand_in)));
            }
        }
        let statement =
            expect.cloned().unwrap_or(Formula { text: "1 <= 2".to_owned(), offset: None });
        let typed = stand_in(&statement, &mut numbers);
        let mut given = given.clone();
        for n in numbers {
            let text = "index(4096)".to_owned();
            given.insert(row_name(n), Formula { text, offset: None });
        }
        let law = Law {
            law: self.question.question.clone(),
            title: self.question.title.clone(),
            given,
            lets: checked,
            condition: None,
            expect: Some(typed.clone().unwrap_or_else(|| statement.clone())),
            through: Vec::new(),
            observe: None,
            misfit: None,
            options: Vec::new(),
            proof: qkvet_spec::Proof::Definition,
            contrast: None,
            catches: Vec::new(),
            sources: Vec::new(),
        };
        let mut law = check_law(law).map_err(|error| self.in_question(error))?;
        let parsed = |formula: &Formula, place: String| {
            formula.parse().map_err(|error| self.misplaced(place, formula.clone(), error))
        };
        for (at, formula) in own {
            let (name, expr) = &mut law.lets[at];
            *expr = parsed(&formula, format!("let.{name}"))?;
            law.law.lets[at] = formula;
        }
        if typed.is_some() {
            law.expect = Some(parsed(&statement, "keep".to_owned())?);
        }
        Ok(law)
    }

    /// An error of a law in the words of questions, whose variables are extents and parameters.
    fn in_question(&self, mut error: Box<LawError>) -> SpecError {
        if let Some(name) = error.place.strip_prefix("given.") {
            let field = if self.question.sizes.contains_key(name) { "sizes" } else { "draw" };
            if field == "draw" && DIMENSIONS.contains(&name) {
                let hint = format!("`{name}` is an extent in every formula: choose another name");
                error.error = error.error.clone().hint(hint);
            }
            error.place = format!("{field}.{name}");
        }
        SpecError::in_law(self.path, self.source, &error)
    }

    fn part(
        &self,
        number: usize,
        part: &Part,
        given: &Lets,
        law: &CheckedLaw,
        values: &mut Lets,
    ) -> Result<CheckedPart, SpecError> {
        let place = |what: &str| format!("parts.{number}.{what}");
        self.prose_of(&place("prompt"), Some(&part.prompt), values)?;
        self.prose_of(&place("because"), part.because.as_ref(), values)?;
        part.steps.iter().try_for_each(|step| self.known_step(&place("steps"), step))?;
        let points = usize::try_from(part.points).unwrap_or(usize::MAX);
        self.ranged(&place("points"), (1, MAX_POINTS, ""), points)?;
        if let Some((name, got)) = part.credit.misfit() {
            let place = place(&format!("credit.{name}"));
            return Err(self.plain(&place, &Misfit::NoShare { got }));
        }
        if let Some(misfit) =
            part.tolerance.as_ref().and_then(|bands| bands.misfit(part.places().is_some()))
        {
            return Err(self.plain(&place("tolerance"), &misfit));
        }
        let mut checked = CheckedPart::default();
        let mut typed = |what: &str, formula: &Formula| -> Result<Expr, SpecError> {
            values.insert(place(what), formula.clone());
            formula.parse().map_err(|error| self.misplaced(place(what), formula.clone(), error))
        };
        match &part.answer {
            AnswerSpec::Value(value) => {
                checked.of = Some(typed("answer.of", &value.of)?);
                checked.beside =
                    value.check.as_ref().map(|check| typed("answer.check", check)).transpose()?;
                if let Some(places) = value.places {
                    self.ranged(&place("answer.places"), (1, 12, ""), places)?;
                }
                if value.choices {
                    let n = part.mistakes.len();
                    self.ranged(&place("mistakes"), (2, 6, " beside `choices`"), n)?;
                }
            }
            AnswerSpec::Shape(shape) => checked.of = Some(typed("answer.shape", shape)?),
            AnswerSpec::Largest(largest) => checked.of = Some(typed("answer.of", &largest.of)?),
            AnswerSpec::Expression(expression) => {
                checked.of = Some(typed("answer.equals", &expression.equals)?);
                checked.beside = Some(typed("answer.is", &expression.is)?);
                expression
                    .law
                    .iter()
                    .try_for_each(|law| self.known_law(&place("answer.law"), law))?;
            }
            AnswerSpec::Design(Property { example, distance, at_most, rubric }) => {
                checked.of = Some(typed("answer.distance", distance)?);
                checked.beside = Some(typed("answer.at_most", at_most)?);
                let place_of = place("answer.example");
                example.iter().try_for_each(|name| self.known_step(&place_of, name))?;
                self.all_prose(&place("answer.rubric"), rubric, values)?;
            }
            AnswerSpec::Choice(Choice { right, wrong }) => {
                self.ranged(&place("answer.wrong"), (1, 7, ""), wrong.len())?;
                self.prose_of(&place("answer.right"), Some(right), values)?;
                self.statements(&place("answer.wrong"), wrong, values)?;
                self.distinct(std::iter::once(right).chain(wrong.iter().map(|one| &one.says)))?;
            }
            AnswerSpec::Statements(Statements { pick, right, wrong }) => {
                let n = right.len() + wrong.len();
                // Of one kind alone no number is right.
                let least = if right.is_empty() || wrong.is_empty() { n + 1 } else { 2 };
                if !(least..=n).contains(pick) {
                    let of = " with statements of both kinds";
                    let misfit = Misfit::Range { low: 2, high: n, of, got: *pick };
                    return Err(self.plain(&place("answer.pick"), &misfit));
                }
                self.statements(&place("answer.right"), right, values)?;
                self.statements(&place("answer.wrong"), wrong, values)?;
                self.distinct(right.iter().chain(wrong).map(|one| &one.says))?;
            }
            AnswerSpec::Ordering(ordering) => {
                let Ordering { lines, strangers, .. } = ordering;
                if let Some(misfit) = ordering.misfit() {
                    return Err(self.plain(&place("answer.any_order"), &misfit));
                }
                self.ranged(&place("answer.lines"), (3, 16, ""), lines.len())?;
                self.all_prose(&place("answer.lines"), lines, values)?;
                self.statements(&place("answer.strangers"), strangers, values)?;
                self.distinct(lines.iter().chain(strangers.iter().map(|one| &one.says)))?;
            }
            AnswerSpec::Proof(proof) => {
                self.known_law(&place("answer.law"), &proof.law)?;
                self.all_prose(&place("answer.rubric"), &proof.rubric, values)?;
            }
            AnswerSpec::Text(text) => {
                self.prose_of(&place("answer.sample"), Some(&text.sample), values)?;
                self.all_prose(&place("answer.rubric"), &text.rubric, values)?;
            }
        }
        for (at, spec) in part.mistakes.iter().enumerate() {
            let place = format!("parts.{number}.mistakes.{}", at + 1);
            checked.mistakes.push(self.mistake(
                &place,
                spec,
                given,
                law,
                values,
                &checked.beside,
            )?);
        }
        Ok(checked)
    }

    fn mistake(
        &self,
        place: &str,
        spec: &super::MistakeSpec,
        given: &Lets,
        law: &CheckedLaw,
        values: &mut Lets,
        beside: &Option<Expr>,
    ) -> Result<CheckedMistake, SpecError> {
        let wrong = |misfit| self.plain(place, &misfit);
        if let Some(got) = spec.credit.filter(|share| !(0.0..=1.0).contains(share)) {
            return Err(self.plain(&format!("{place}.credit"), &Misfit::NoShare { got }));
        }
        let kinds = [
            spec.fault.is_some(),
            !spec.with.is_empty() || !spec.rounds.is_empty(),
            spec.gives.is_some(),
        ];
        if kinds.iter().filter(|is| **is).count() != 1 {
            return Err(wrong(Misfit::MistakeKind));
        }
        if let Some(id) = &spec.fault {
            let fault: &Fault = Catalog::find("fault", &self.catalog.faults, id)
                .map_err(|error| wrong(error.into()))?;
            if fault.meaning.is_empty() || !fault.student {
                return Err(wrong(Misfit::NoFaultOfStudents { got: id.clone() }));
            }
            if beside
                .as_ref()
                .is_none_or(|check| check.application_of(&["attention", "weights"]).is_none())
            {
                return Err(wrong(Misfit::NoCall { fault: id.clone() }));
            }
            let says =
                spec.says.clone().unwrap_or_else(|| format!("{}. {}", fault.title, fault.tell));
            let slip = MistakeEffect::Fault(Box::new(fault.meaning.apply(&Meaning::standard())));
            return Ok(CheckedMistake { says, credit: spec.credit, slip });
        }
        let Some(says) = spec.says.clone() else {
            return Err(wrong(Misfit::NoWords));
        };
        if let Some(gives) = &spec.gives {
            values.insert(format!("{place}.gives"), gives.clone());
            let expr = gives
                .parse()
                .map_err(|error| self.misplaced(place.to_owned(), gives.clone(), error))?;
            return Ok(CheckedMistake {
                says,
                credit: spec.credit,
                slip: MistakeEffect::Answer(expr),
            });
        }
        let mut lets = self.question.lets.clone();
        for name in spec.with.keys().chain(spec.rounds.keys()) {
            self.known_step(place, name)?;
        }
        lets.extend(spec.with.clone());
        let changed =
            if spec.with.is_empty() { law.clone() } else { self.law(given, &lets, None)? };
        let mut anew: Vec<String> = Vec::new();
        for (name, expr) in &changed.lets {
            let mut is_new = spec.with.contains_key(name) || spec.rounds.contains_key(name);
            expr.each_name(&mut |used| is_new |= anew.iter().any(|known| known == used));
            if is_new {
                anew.push(name.clone());
            }
        }
        let slip =
            MistakeEffect::Steps { law: Box::new(changed), rounds: spec.rounds.clone(), anew };
        Ok(CheckedMistake { says, credit: spec.credit, slip })
    }

    fn known_law(&self, place: &str, id: &str) -> Result<(), SpecError> {
        Catalog::find("law", &self.catalog.laws, id)
            .map(|_| ())
            .map_err(|error| self.plain(place, &error.into()))
    }

    fn known_step(&self, place: &str, name: &str) -> Result<(), SpecError> {
        let lets = &self.question.lets;
        if lets.contains_key(name) {
            return Ok(());
        }
        let known = lets.keys().cloned().collect();
        Err(self.plain(place, &Misfit::NoStep { got: name.to_owned(), known }))
    }

    fn ranged(
        &self,
        place: &str,
        (low, high, of): (usize, usize, &'static str),
        got: usize,
    ) -> Result<(), SpecError> {
        if (low..=high).contains(&got) {
            return Ok(());
        }
        Err(self.plain(place, &Misfit::Range { low, high, of, got }))
    }

    fn statements(
        &self,
        place: &str,
        statements: &[Statement],
        values: &mut Lets,
    ) -> Result<(), SpecError> {
        for (at, statement) in statements.iter().enumerate() {
            self.prose_of(&format!("{place}.{}.says", at + 1), Some(&statement.says), values)?;
            self.prose_of(
                &format!("{place}.{}.because", at + 1),
                Some(&statement.because),
                values,
            )?;
        }
        Ok(())
    }

    fn all_prose(
        &self,
        place: &str,
        texts: &[Formula],
        values: &mut Lets,
    ) -> Result<(), SpecError> {
        texts.iter().enumerate().try_for_each(|(at, text)| {
            self.prose_of(&format!("{place}.{}", at + 1), Some(text), values)
        })
    }

    /// Reads prose and notes the formulas whose values it prints, to be checked with all others.
    fn prose_of(
        &self,
        place: &str,
        text: Option<&Formula>,
        values: &mut Lets,
    ) -> Result<(), SpecError> {
        let Some(text) = text else { return Ok(()) };
        let read: Vec<Paragraph> =
            prose(text).map_err(|error| self.misplaced(place.to_owned(), text.clone(), error))?;
        let pieces = read.iter().flat_map(|paragraph| &paragraph.pieces);
        for (at, expr) in pieces.flat_map(|piece| piece.values()).enumerate() {
            let start = expr.span.start;
            let start = located(self.source, text, start..start);
            // Its own text is not kept; printing it again gives one that reads the same.
            let formula = Formula {
                text: expr.to_string(),
                offset: start.map(|start| start.start).or(text.offset),
            };
            if parse(&formula.text).is_err() {
                return Err(self.plain(place, &Misfit::TooDeep));
            }
            values.insert(format!("{place} formula {}", at + 1), formula);
        }
        Ok(())
    }

    /// Whether no two of the texts that stand side by side are the same, but for spaces.
    fn distinct<'f>(&self, texts: impl Iterator<Item = &'f Formula>) -> Result<(), SpecError> {
        let mut seen = BTreeSet::new();
        for text in texts {
            let words = text.text.split_whitespace().collect::<Vec<_>>().join(" ");
            if !seen.insert(words.clone()) {
                let at = text.offset.unwrap_or(0);
                let message =
                    format!("text: expected another than all beside it, got `{words}` twice");
                return Err(SpecError::at(self.path, self.source, at..at + 1, &message, None));
            }
        }
        Ok(())
    }

    fn misplaced(&self, place: String, formula: Formula, error: ExprError) -> SpecError {
        let error = LawError { place, formula: Some(formula), error, declared: Vec::new() };
        SpecError::in_law(self.path, self.source, &error)
    }

    /// An error whose message begins with the path of what is wrong: `parts.2.answer.places: …`.
    fn plain(&self, place: &str, misfit: &Misfit) -> SpecError {
        misfit.at(self.path, self.source, place)
    }
}
