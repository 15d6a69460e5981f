//! A whole law as sentences.

use qkvet_spec::syntax::{Expr, ExprKind, parse};
use qkvet_spec::{CheckedLaw, Domain, Misfit, Observation, Variables, Word, WordKind};

use super::name;
use super::notation::{Division, Notation};
use super::piece::{Level, Piece, Printer};
use super::sign;

/// The sentences of the law, one a line.
pub(super) fn print(law: &CheckedLaw, printer: &dyn Printer) -> String {
    let writer = Writer { printer, notation: Notation { printer, division: Division::Real } };
    let mut lines: Vec<String> = law.given.iter().map(|given| writer.given(given)).collect();
    for (name, value) in &law.lets {
        let equation = [(&sign::DEFINED, writer.notation.operand(value, Level::Open))];
        let equation = printer.infix(&name::print(printer, name), &equation, Level::Relation);
        lines.push(format!("Let {}.", printer.inline(&equation)));
    }
    if let Some(condition) = &law.law.condition
        && let Ok(condition) = parse(condition.text())
    {
        let notation = Notation { division: Division::Whole, ..writer.notation };
        lines.push(format!("Suppose {}.", printer.inline(&notation.print(&condition))));
    }
    let statement = match (&law.expect, law.law.observe) {
        (Some(expect), _) => {
            if !lines.is_empty() {
                lines.push("Then".to_owned());
            }
            Some(printer.display(&writer.notation.print(expect)))
        }
        (None, Some(Observation::InputsUnchanged)) => {
            let call = writer.observed();
            lines.push(format!(
                "Query, key, value, mask and bias have the same bits before and after {call}."
            ));
            None
        }
        (None, Some(Observation::Refused)) => {
            let misfit = law.law.misfit.and_then(told).unwrap_or_default();
            lines
                .push(format!("{} is an error, and no answer, where {misfit}.", writer.observed()));
            None
        }
        (None, None) => None,
    };
    let lines = lines.iter().map(|line| printer.paragraph(line));
    lines.chain(statement).collect::<Vec<_>>().join("\n")
}

struct Writer<'a> {
    printer: &'a dyn Printer,
    notation: Notation<'a>,
}

/// What does not fit, as the end of a sentence.
fn told(misfit: Misfit) -> Option<String> {
    let is_it = |word: &Word| word.kind == WordKind::Misfit && word.name == misfit.name();
    let mut letters = Word::all().into_iter().find(is_it)?.meaning.into_bytes();
    letters.first_mut()?.make_ascii_lowercase();
    String::from_utf8(letters).ok()
}

impl Writer<'_> {
    /// The call that is observed.
    fn observed(&self) -> String {
        let call =
            ["Q", "K", "V"].map(|name| Expr { kind: ExprKind::Name(name.to_owned()), span: 0..0 });
        let kind = ExprKind::Apply {
            function: "attention".to_owned(),
            args: call.to_vec(),
            named: Vec::new(),
        };
        self.math(&Expr { kind, span: 0..0 })
    }

    fn math(&self, expr: &Expr) -> String {
        self.printer.inline(&self.notation.print(expr))
    }

    fn name(&self, name: &str) -> String {
        self.printer.inline(&name::print(self.printer, name))
    }

    fn number(&self, x: f64) -> String {
        self.printer.inline(&self.notation.number(x))
    }

    fn size(&self, rows: &Expr, cols: &Expr) -> String {
        let factor = |extent: &Expr| -> Piece { self.notation.operand(extent, Level::Factor) };
        self.printer.inline(&self.printer.infix(
            &factor(rows),
            &[(&sign::CROSS, factor(cols))],
            Level::Open,
        ))
    }

    fn given(&self, given: &Variables) -> String {
        let names: Vec<String> = given.names.iter().map(|name| self.name(name)).collect();
        let names = names.join(" and ");
        let be = |what: String| format!("Let {names} be {what}.");
        match &given.domain {
            Domain::Dim { low, high } => {
                // Extents are checked to be at most 4096.
                #[expect(clippy::cast_precision_loss, reason = "far below 2⁵³")]
                let [low, high] = [*low, *high].map(|extent| self.number(extent as f64));
                be(format!("a whole number from {low} to {high}"))
            }
            Domain::Index { of, not } => {
                let other = not.as_ref().map(|other| format!(" other than {}", self.name(other)));
                be(format!("an index below {}{}", self.math(of), other.unwrap_or_default()))
            }
            Domain::Real { low, high } => {
                be(format!("a real number from {} to {}", self.number(*low), self.number(*high)))
            }
            Domain::Number => be("a real number".to_owned()),
            Domain::Positive => be("a positive real number".to_owned()),
            Domain::Normal { rows, cols, mean, sd } => {
                let (size, mean, sd) = (self.size(rows, cols), self.math(mean), self.math(sd));
                let entries = "independent normal entries of mean";
                be(format!(
                    "a random matrix of size {size} with {entries} {mean} and standard deviation {sd}"
                ))
            }
            Domain::Permutation(n) => be(format!("a permutation matrix of size {}", self.math(n))),
            Domain::Subset(n) => {
                let n = self.math(n);
                be(format!("a non-empty set of indices below {n}, not all of them unless {n} is 1"))
            }
            Domain::Mask => be("the mask, 1 where a query may see a key".to_owned()),
            Domain::Bias => be("the bias that is added to the scores".to_owned()),
            Domain::Matrix(rows, cols) => be(format!("a matrix of size {}", self.size(rows, cols))),
            Domain::Tensor(rows, cols) => be(format!(
                "a matrix of size {} for every batch item and key/value head",
                self.size(rows, cols)
            )),
            Domain::Grid(rows, cols) => {
                let each = "for every batch item and key/value head";
                be(format!(
                    "a matrix of multiples of 1/8, of size {}, {each}",
                    self.size(rows, cols)
                ))
            }
            Domain::Separated { j, margin } => {
                self.apart(&names, j, "exceeds every other score of that query", margin)
            }
            Domain::Opposed { j, margin } => {
                self.apart(&names, j, "lies below every other score of that query", margin)
            }
        }
    }

    fn apart(&self, names: &str, j: &str, how: &str, margin: &str) -> String {
        let (j, margin) = (self.name(j), self.name(margin));
        format!(
            "Let {names} be such that the scaled score of every query with key {j} {how} by at least {margin}."
        )
    }
}
