//! Words of the law language as a reference has them: what one means, of which types its parts and
//! its value are, and which laws use it. What is said of each is in `vocabulary`; the types are
//! those of the checker.

use serde_json::Value;

use super::check::type_of;
use super::domain::declare;
use super::vocabulary::{self, DOMAINS, EXAMPLES, Entry, FUNCTIONS, NAMES, SIGNS};
use super::{CheckedLaw, Scope, Variables};
use crate::syntax::{BinaryOp, Expr, ExprError, ExprKind, parse};
use crate::{Law, schema};

/// What kind of word it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordKind {
    /// A field of a law's file.
    Field,
    /// A name that needs no declaration.
    Name,
    /// A domain of `given:`.
    Domain,
    /// A function.
    Function,
    /// An operator.
    Operator,
    /// A relation, which makes a statement.
    Relation,
    /// A method of `proof:`.
    Proof,
    /// What `observe:` may name.
    Observation,
    /// What `misfit:` may name.
    Misfit,
}

impl WordKind {
    /// Every kind, in the order of a reference.
    pub const ALL: [Self; 9] = [
        Self::Field,
        Self::Name,
        Self::Domain,
        Self::Function,
        Self::Operator,
        Self::Relation,
        Self::Proof,
        Self::Observation,
        Self::Misfit,
    ];

    /// The kind in a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Field => "field",
            Self::Name => "name",
            Self::Domain => "domain",
            Self::Function => "function",
            Self::Operator => "operator",
            Self::Relation => "relation",
            Self::Proof => "proof",
            Self::Observation => "observation",
            Self::Misfit => "misfit",
        }
    }
}

/// A word of the law language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// What kind of word it is.
    pub kind: WordKind,
    /// The word.
    pub name: String,
    /// A use of it.
    pub usage: String,
    /// What the use means, in one line.
    pub meaning: String,
}

impl Word {
    /// Every word, by kind. Fields, methods of proof and observations are those of the schema of a
    /// law.
    pub fn all() -> Vec<Self> {
        // A generated file: where it cannot be read, words have no meaning, which a test sees.
        let law: Value =
            schema("law").and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let fields = law["properties"].as_object().into_iter().flatten();
        let fields = fields
            .map(|(name, field)| Self::told(WordKind::Field, name, &format!("{name}:"), field));
        let values = |kind: WordKind, of: &str, field: &str| {
            let values = law["$defs"][of]["oneOf"].as_array().cloned().unwrap_or_default();
            let told = |value: &Value| {
                let name = value["const"].as_str().unwrap_or_default();
                Self::told(kind, name, &format!("{field}: {name}"), value)
            };
            values.iter().map(told).collect::<Vec<_>>()
        };
        let entries = |kind: WordKind, entries: &[Entry]| {
            entries.iter().map(|one| Self::of(kind, one)).collect::<Vec<_>>()
        };
        let infix = |kind: WordKind| {
            let of_kind = move |op: &BinaryOp| op.is_relation() == (kind == WordKind::Relation);
            BinaryOp::ALL
                .into_iter()
                .filter(of_kind)
                .map(move |op| Self::of(kind, &vocabulary::operator(op)))
        };
        let mut all: Vec<Self> = fields.collect();
        all.extend(entries(WordKind::Name, &NAMES));
        all.extend(entries(WordKind::Domain, &DOMAINS));
        all.extend(entries(WordKind::Function, &FUNCTIONS));
        all.extend(entries(WordKind::Operator, &SIGNS));
        all.extend(infix(WordKind::Operator));
        all.extend(infix(WordKind::Relation));
        all.extend(values(WordKind::Proof, "Proof", "proof"));
        all.extend(values(WordKind::Observation, "Observation", "observe"));
        all.extend(values(WordKind::Misfit, "Misfit", "misfit"));
        all
    }

    /// Variables that the uses speak of, each with its domain.
    pub fn examples() -> impl Iterator<Item = (&'static str, &'static str)> {
        EXAMPLES.into_iter()
    }

    fn of(kind: WordKind, entry: &Entry) -> Self {
        let Entry { name, usage, meaning } = entry;
        Self {
            kind,
            name: (*name).to_owned(),
            usage: (*usage).to_owned(),
            meaning: (*meaning).to_owned(),
        }
    }

    /// A word that the schema tells of, as a sentence.
    fn told(kind: WordKind, name: &str, usage: &str, schema: &Value) -> Self {
        let meaning = schema["description"].as_str().unwrap_or_default();
        let meaning = meaning.trim_end_matches('.').replace('\n', " ");
        Self { kind, name: name.to_owned(), usage: usage.to_owned(), meaning }
    }

    /// What the parts of the use are, as far as they have a type, and what the whole is; `None` for
    /// what has no type: a field, a method of proof, what stands in conditions only.
    pub fn types(&self) -> Option<(Vec<(String, String)>, String)> {
        self.typed().ok()
    }

    fn typed(&self) -> Result<(Vec<(String, String)>, String), ExprError> {
        let (mut scope, above) = example_scope()?;
        let expr = parse(&self.usage)?;
        let described = |part: &Expr| {
            let is_number = matches!(part.kind, ExprKind::Number(_));
            let ty = type_of(&scope, part).ok().filter(|_| !is_number)?;
            Some((self.usage.get(part.span.clone())?.to_owned(), ty.describe()))
        };
        let parts = expr.parts().into_iter().filter_map(described).collect();
        if self.kind != WordKind::Domain {
            return Ok((parts, type_of(&scope, &expr)?.describe()));
        }
        let pair = matches!(self.name.as_str(), "separated" | "opposed");
        let given = declare(&mut scope, &above, &parse(if pair { "(Q, K)" } else { "x" })?, &expr)?;
        let described = |name: &String| scope.get(name).map(super::Type::describe);
        let types: Vec<String> = given.names.iter().filter_map(described).collect();
        Ok((parts, types.join(" and ")))
    }

    /// Whether the law uses it: the function, the sign, the domain, the name or the field.
    pub fn is_in(&self, law: &CheckedLaw) -> bool {
        self.line_in(law).is_some()
    }

    /// A line of the law that uses it, of several that of the statement; the title for a word that
    /// is no part of a formula.
    pub fn line_in(&self, checked: &CheckedLaw) -> Option<String> {
        let law = &checked.law;
        let is_there = match self.kind {
            WordKind::Field => match &serde_json::to_value(law).unwrap_or_default()[&self.name] {
                Value::Null => false,
                Value::Array(items) => !items.is_empty(),
                _ => true,
            },
            WordKind::Proof => law.proof.name() == self.name,
            WordKind::Observation => {
                law.observe.is_some_and(|observation| observation.name() == self.name)
            }
            WordKind::Misfit => law.misfit.is_some_and(|misfit| misfit.name() == self.name),
            _ => {
                let usage = parse(&self.usage).ok()?;
                let line = |(place, text): &(String, &str)| {
                    let expr = parse(text).ok()?;
                    expr.find(&|part| is_use(part, &usage)).map(|_| format!("{place}: {text}"))
                };
                return lines(law).iter().find_map(line);
            }
        };
        is_there.then(|| law.title.clone())
    }

    /// Of the laws that use it the one with the shortest line, in its statement if there is such a
    /// law; the first of several.
    pub fn law<'a>(
        &self,
        laws: impl IntoIterator<Item = &'a CheckedLaw>,
    ) -> Option<&'a CheckedLaw> {
        let lines = laws.into_iter().filter_map(|law| Some((law, self.line_in(law)?)));
        let shortest = lines.min_by_key(|(_, line)| (!line.starts_with(STATEMENT), line.len()));
        shortest.map(|(law, _)| law)
    }
}

/// The field of the statement, before its text.
const STATEMENT: &str = "expect: ";

/// Formulas of a law as they stand in its file, each with its field or its name, the statement
/// first.
fn lines(law: &Law) -> Vec<(String, &str)> {
    let statement = law.expect.iter().map(|expect| ("expect".to_owned(), expect));
    let named = law.lets.iter().chain(&law.given).map(|(name, formula)| (name.clone(), formula));
    let through = law.through.iter().map(|formula| ("through".to_owned(), formula));
    let formulas = statement
        .chain(named)
        .chain(through)
        .map(|(place, formula)| (place, formula.text.as_str()));
    let condition = law.condition.as_ref().map(|condition| ("where".to_owned(), condition.text()));
    formulas.chain(condition).collect()
}

/// The names of entries, for hints.
pub(super) fn names(entries: &'static [Entry]) -> impl Iterator<Item = &'static str> + Clone {
    entries.iter().map(|entry| entry.name)
}

fn example_scope() -> Result<(Scope, Vec<Variables>), ExprError> {
    let (mut scope, mut above) = (Scope::new(), Vec::new());
    for (name, domain) in EXAMPLES {
        above.push(declare(&mut scope, &above, &parse(name)?, &parse(domain)?)?);
    }
    Ok((scope, above))
}

/// Whether the head of an expression is that of the use, whatever its parts are.
fn is_use(part: &Expr, usage: &Expr) -> bool {
    match (&part.kind, &usage.kind) {
        (ExprKind::Name(x), ExprKind::Name(y)) => x == y,
        (ExprKind::Unary(x, _), ExprKind::Unary(y, _)) => x == y,
        (ExprKind::Binary(x, ..), ExprKind::Binary(y, ..)) => x == y,
        (ExprKind::Apply { function: x, .. }, ExprKind::Apply { function: y, .. }) => x == y,
        (ExprKind::Transpose(_), ExprKind::Transpose(_))
        | (ExprKind::Tuple(_), ExprKind::Tuple(_)) => true,
        _ => false,
    }
}
