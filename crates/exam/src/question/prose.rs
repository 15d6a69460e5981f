//! Prose with formulas in it.
//!
//! `$Q @ K.T$` is a formula, `$=S$` its value, `$$X; W$$` stands on a line of its own and says
//! `X = value, W = value`, `$#A$` draws a matrix as a heat map, `$~A; one; other$` its rows as
//! curves with these names, `` `code` `` is code. A blank line ends a paragraph; lines that begin
//! with `- ` are a list.

use qkvet_spec::Formula;
use qkvet_spec::syntax::{Expr, ExprError, parse};

/// A paragraph or one entry of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Paragraph {
    /// Whether it is an entry of a list.
    pub item: bool,
    /// What stands in it.
    pub pieces: Vec<Piece>,
}

/// A part of a paragraph.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// Words.
    Text(String),
    /// Code, as it is.
    Code(String),
    /// A formula.
    Formula(Expr),
    /// The value of a formula.
    Value(Expr),
    /// Formulas with their values, on a line of their own.
    Equations(Vec<Expr>),
    /// The values of a matrix, drawn.
    Figure(Plot, Expr),
}

/// How a matrix is drawn, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plot {
    /// How.
    pub drawing: Drawing,
    /// What its rows are, or what it is as a whole, in words.
    pub names: Vec<String>,
}

/// How a matrix is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawing {
    /// A field for each entry, the darker the larger.
    Heat,
    /// A curve for each row.
    Curves,
}

/// Reads prose. The spans of its formulas are those in the text.
///
/// # Errors
/// A formula that cannot be read, or one that does not end.
pub fn prose(text: &Formula) -> Result<Vec<Paragraph>, ExprError> {
    let mut paragraphs = Vec::new();
    let mut whole = Whole { text: &text.text, from: 0 };
    for block in text.text.split("\n\n").map(str::trim).filter(|block| !block.is_empty()) {
        let mut items: Vec<(bool, String)> = Vec::new();
        for line in block.lines().map(str::trim) {
            match (line.strip_prefix("- "), items.last_mut()) {
                (Some(rest), _) => items.push((true, rest.to_owned())),
                (None, Some((_, last))) => {
                    last.push(' ');
                    last.push_str(line);
                }
                (None, None) => items.push((false, line.to_owned())),
            }
        }
        for (item, words) in items {
            paragraphs.push(Paragraph { item, pieces: pieces(&words, &mut whole)? });
        }
    }
    Ok(paragraphs)
}

/// The text in which formulas and errors are placed, read from its start to its end.
struct Whole<'a> {
    text: &'a str,
    from: usize,
}

impl Whole<'_> {
    /// Where a word stands that has not been passed; where lines were joined it is not found, and
    /// the last place stands for it.
    fn find(&self, word: &str) -> usize {
        self.text
            .get(self.from..)
            .and_then(|rest| rest.find(word))
            .map_or(self.from, |at| self.from + at)
    }

    fn pass(&mut self, word: &str) {
        let at = self.find(word);
        if self.text[at..].starts_with(word) {
            self.from = at + word.len();
        }
    }

    fn read(&mut self, text: &str) -> Result<Expr, ExprError> {
        let text = text.trim();
        let start = self.find(text);
        self.pass(text);
        match parse(text) {
            Ok(mut expr) => {
                moved(&mut expr, start);
                Ok(expr)
            }
            Err(error) => {
                let span = start + error.span.start..start + error.span.end;
                Err(ExprError { span, ..error })
            }
        }
    }
}

/// Puts a formula where it stands in a longer text.
fn moved(expr: &mut Expr, by: usize) {
    expr.span = expr.span.start + by..expr.span.end + by;
    expr.parts_mut().into_iter().for_each(|part| moved(part, by));
}

/// The parts of one paragraph.
fn pieces(words: &str, whole: &mut Whole<'_>) -> Result<Vec<Piece>, ExprError> {
    let mut pieces = Vec::new();
    let mut rest = words;
    while let Some(at) = rest.find(['$', '`']) {
        if at > 0 {
            pieces.push(Piece::Text(rest[..at].to_owned()));
        }
        let mark = if rest[at..].starts_with("$$") { "$$" } else { &rest[at..=at] };
        let inner = &rest[at + mark.len()..];
        let Some(end) = inner.find(mark) else {
            let start = whole.find(mark);
            return Err(ExprError::new(
                start..start + 1,
                format!("prose: expected a closing `{mark}`, got the end"),
            ));
        };
        whole.pass(mark);
        let formula = inner[..end].trim();
        let first = formula.chars().next().filter(|first| "=#~".contains(*first));
        let value = formula.strip_prefix(['=', '#', '~']).unwrap_or(formula);
        let mut drawn = |drawing| -> Result<Piece, ExprError> {
            let mut all = value.split(';');
            let expr = whole.read(all.next().unwrap_or_default())?;
            Ok(Piece::Figure(
                Plot { drawing, names: all.map(|name| name.trim().to_owned()).collect() },
                expr,
            ))
        };
        pieces.push(match (mark, first) {
            ("`", _) => {
                whole.pass(&inner[..end]);
                Piece::Code(inner[..end].to_owned())
            }
            ("$$", _) => Piece::Equations(
                formula.split(';').map(|one| whole.read(one)).collect::<Result<_, _>>()?,
            ),
            (_, Some('#')) => drawn(Drawing::Heat)?,
            (_, Some('~')) => drawn(Drawing::Curves)?,
            (_, Some(_)) => Piece::Value(whole.read(value)?),
            (_, None) => Piece::Formula(whole.read(formula)?),
        });
        whole.pass(mark);
        rest = &inner[end + mark.len()..];
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    Ok(pieces)
}

impl Piece {
    /// The formulas of which it prints the value.
    pub(crate) fn values(&self) -> &[Expr] {
        match self {
            Self::Value(expr) | Self::Figure(_, expr) => std::slice::from_ref(expr),
            Self::Equations(exprs) => exprs,
            Self::Text(_) | Self::Code(_) | Self::Formula(_) => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formula(text: &str) -> Formula {
        Formula { text: text.to_owned(), offset: None }
    }

    #[test]
    fn prose_has_words_formulas_values_and_lists() {
        let read =
            prose(&formula("Let $X @ W$ be\n`x` $=X$.\n\n- one\n- two\n  lines\n\n$$X; W$$"))
                .unwrap();
        assert_eq!(read.iter().map(|p| p.item).collect::<Vec<_>>(), [false, true, true, false]);
        assert_eq!(read[0].pieces.len(), 7);
        assert!(matches!(&read[0].pieces[4], Piece::Text(space) if space == " "));
        assert!(matches!(&read[2].pieces[0], Piece::Text(words) if words == "two lines"));
        assert!(matches!(&read[3].pieces[0], Piece::Equations(two) if two.len() == 2));
    }

    #[test]
    fn figures_are_told_by_their_first_sign() {
        let read = prose(&formula("$#A$ and $~A.T; one head; two$")).unwrap();
        assert!(
            matches!(&read[0].pieces[0], Piece::Figure(plot, _) if plot.drawing == Drawing::Heat && plot.names.is_empty())
        );
        assert!(
            matches!(&read[0].pieces[2], Piece::Figure(plot, _) if plot.names == ["one head", "two"])
        );
    }

    #[test]
    fn errors_have_their_place() {
        let open = prose(&formula("so $X is")).unwrap_err();
        assert_eq!((open.span.start, open.message.contains("closing `$`")), (3, true));
        let bad = prose(&formula("so $X +$ is")).unwrap_err();
        assert_eq!(bad.span.start, 7);
        // A name that stood in words before, or in a formula before.
        let later = prose(&formula("Let X be $X$.\n\nThen $X$ and\n$=X +$ end")).unwrap_err();
        assert_eq!(later.span.start, 33);
        let text = "One $=X$, one\n$X$.\n\n$$X; Y$$\n\n- `X` $#X; a map$";
        let read = prose(&formula(text)).unwrap();
        let pieces = read.iter().flat_map(|paragraph| &paragraph.pieces);
        let starts: Vec<usize> =
            pieces.flat_map(Piece::values).map(|expr| expr.span.start).collect();
        assert_eq!(starts, [6, 22, 25, 38]);
    }
}
