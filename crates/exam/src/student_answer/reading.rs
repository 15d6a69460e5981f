//! Answers as people write them: names before values, chains of equations, words round a number.

use super::lexer::{Lexed, Token, lex};
use super::parser::Parser;
use super::table::plain_lines;
use super::value::{MAX_CELLS, Value, value};
use super::vocabulary::{FILLERS, PRECISION, STOPS};
use super::{Form, ParsedNumber, ReadError};

/// How text is to be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Notation {
    /// Whether a comma is the decimal sign.
    pub comma: bool,
    /// Whether one number is asked, so that `3,132` is one.
    pub grouped: bool,
}

/// Numbers that are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestedShape<'a> {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// Whether the number is asked for in percent, so that a `%` behind it says nothing.
    pub in_percent: bool,
    /// Whether a column may stand for the only row, and a row for the only column.
    pub turns: bool,
    /// Whether they are extents, between which `×` may stand.
    pub is_shape: bool,
    /// Whether a comma is the decimal sign.
    pub comma: bool,
    /// Names of matrices side by side, or of extents, that may be given one by one.
    pub blocks: &'a [&'a str],
}

/// Something that stands behind a name, or alone.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The name.
    pub name: Option<Label>,
    /// What stands between it and the value, set equal.
    chain: Vec<Vec<Lexed>>,
    /// The value.
    tokens: Vec<Lexed>,
    /// The text in which its places are.
    text: String,
}

/// A name before a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// Without its index.
    pub stem: String,
    /// Its indices as they are written.
    pub indices: Vec<String>,
}

impl Label {
    /// The name with its index, as in formulas.
    pub fn name(&self) -> String {
        match self.indices.as_slice() {
            [] => self.stem.clone(),
            indices => format!("{}_{}", self.stem, indices.join(",")),
        }
    }
}

/// The tokens between relations outside of brackets.
pub(super) fn members(tokens: &[Lexed]) -> Vec<&[Lexed]> {
    parts(tokens, |token| matches!(token, Token::Relation | Token::AtMost))
}

fn parts(tokens: &[Lexed], is_separator: impl Fn(&Token) -> bool) -> Vec<&[Lexed]> {
    let (mut parts, mut start) = (Vec::new(), 0);
    for at in outside(tokens) {
        if is_separator(&tokens[at].token) {
            parts.push(&tokens[start..at]);
            start = at + 1;
        }
    }
    parts.push(&tokens[start..]);
    parts
}

/// Places outside of all brackets.
fn outside(tokens: &[Lexed]) -> impl Iterator<Item = usize> + '_ {
    let mut depth = 0_usize;
    tokens.iter().enumerate().filter_map(move |(at, lexed)| match lexed.token {
        Token::Open(_) => {
            depth += 1;
            None
        }
        Token::Close(_) => {
            depth = depth.saturating_sub(1);
            None
        }
        _ => (depth == 0).then_some(at),
    })
}

fn word(lexed: &Lexed) -> Option<String> {
    if let Token::Name(name) = &lexed.token { Some(name.to_lowercase()) } else { None }
}

/// Values by name, or one without.
///
/// # Errors
/// What is no answer, or one that only a person can read: with `or`, `not` and the like.
pub fn entries(text: &str, notation: Notation) -> Result<Vec<Entry>, ReadError> {
    let (tokens, text) = lex(&plain_lines(text), notation)?;
    let tokens = without_words(tokens)?;
    let tokens = unwrapped(&tokens);
    let mut all: Vec<Entry> = Vec::new();
    let mut start = 0;
    let separators = outside(tokens)
        .filter(|at| matches!(tokens[*at].token, Token::Comma | Token::Row | Token::Break));
    for end in separators.chain([tokens.len()]).collect::<Vec<_>>() {
        let piece = &tokens[start..end];
        let mut members = members(piece);
        // `(2, 3) = (n, d)`: what is set equal to numbers may stand behind them.
        while members.len() > 1
            && is_symbolic(members[members.len() - 1])
            && members.iter().any(|one| has_number(one))
        {
            members.pop();
        }
        let last = members.pop().unwrap_or_default().to_vec();
        let first = members.first().copied().unwrap_or_default();
        match (members.len(), all.last_mut()) {
            // What names nothing belongs to what stands before it: `q = 1, 0`.
            (0, Some(entry)) => {
                entry.tokens.extend(start.checked_sub(1).and_then(|at| tokens.get(at)).cloned());
                entry.tokens.extend(last);
            }
            // A line that begins with `=` goes on.
            (1.., Some(entry))
                if first.is_empty()
                    && tokens
                        .get(start.wrapping_sub(1))
                        .is_some_and(|lexed| lexed.token == Token::Break) =>
            {
                let before = std::mem::replace(&mut entry.tokens, last);
                entry.chain.push(before);
                entry.chain.extend(members[1..].iter().map(|one| one.to_vec()));
            }
            _ => {
                let is_named = is_symbolic(first) || first.iter().any(|one| is_letter(&one.token));
                let name = if is_named { Some(label(first)?) } else { None };
                let chain = members.iter().skip(usize::from(is_named)).map(|one| one.to_vec());
                all.push(Entry { name, chain: chain.collect(), tokens: last, text: text.clone() });
            }
        }
        start = end + 1;
    }
    Ok(all)
}

/// A name that is no number.
fn is_letter(token: &Token) -> bool {
    matches!(token, Token::Name(name) if !["e", "exp", "sqrt", "ln", "log", "frac", "pow"].contains(&name.as_str()))
}

fn has_number(tokens: &[Lexed]) -> bool {
    tokens.iter().any(|lexed| matches!(lexed.token, Token::Number(_) | Token::Half(..)))
}

fn is_symbolic(tokens: &[Lexed]) -> bool {
    !has_number(tokens) && tokens.iter().any(|lexed| is_letter(&lexed.token))
}

/// Tokens without words that change nothing and remarks on how a number was rounded.
fn without_words(tokens: Vec<Lexed>) -> Result<Vec<Lexed>, ReadError> {
    let mut kept: Vec<Lexed> = Vec::new();
    let mut rest = tokens.into_iter().peekable();
    while let Some(mut lexed) = rest.next() {
        let word = word(&lexed);
        let word = word.as_deref().unwrap_or("");
        if let Token::Unknown(got) = &lexed.token {
            return Err(ReadError::Word { got: got.clone() });
        }
        if STOPS.contains(&word) {
            return Err(ReadError::Word { got: word.to_owned() });
        }
        let next = |rest: &mut std::iter::Peekable<std::vec::IntoIter<Lexed>>| {
            rest.peek().and_then(self::word)
        };
        match word {
            // `3 decimals`
            _ if matches!(lexed.token, Token::Number(_))
                && next(&mut rest).is_some_and(|word| PRECISION.contains(&word.as_str())) => {}
            word if PRECISION.contains(&word) => {}
            // `rows sum to 1`
            "sum" | "sums" if kept.last().is_none_or(|last| !is_letter(&last.token)) => {
                while next(&mut rest).is_some_and(|word| ["to", "up"].contains(&word.as_str())) {
                    rest.next();
                }
                match rest.next().map(|lexed| lexed.token) {
                    Some(Token::Number(one)) if one == "1" => {}
                    Some(Token::Name(one)) if one == "one" => {}
                    _ => return Err(ReadError::Word { got: word.to_owned() }),
                }
            }
            "is" | "are" | "equals" | "equal" => {
                lexed.token = Token::Relation;
                kept.push(lexed);
            }
            // `9 times`, `9x`
            "times" | "x"
                if rest.peek().is_none()
                    && kept.last().is_some_and(|last| matches!(last.token, Token::Number(_))) => {}
            "times" | "x" | "by"
                if kept.last().is_some_and(|last| {
                    matches!(last.token, Token::Number(_) | Token::Close(_))
                }) && rest.peek().is_some_and(|next| {
                    matches!(next.token, Token::Number(_) | Token::Open(_) | Token::Half(..))
                }) =>
            {
                lexed.token = Token::Op('*');
                kept.push(lexed);
            }
            // `9.792k` is no number and a word.
            word if FILLERS.contains(&word)
                && (lexed.spaced
                    || !kept.last().is_some_and(|last| matches!(last.token, Token::Number(_)))) =>
            {
                if let Some(next) = rest.peek_mut() {
                    next.spaced = true;
                }
            }
            _ => {
                let before = |n: usize| kept.len().checked_sub(n).map(|at| &kept[at].token);
                let is_empty =
                    matches!((&lexed.token, before(1)), (Token::Close(_), Some(Token::Open(_))))
                        && !matches!(before(2), Some(Token::Method(_)));
                if is_empty {
                    kept.pop();
                } else {
                    kept.push(lexed);
                }
            }
        }
    }
    while kept
        .last()
        .is_some_and(|last| matches!(last.token, Token::Row | Token::Break | Token::Comma))
    {
        kept.pop();
    }
    while kept.first().is_some_and(|first| matches!(first.token, Token::Break)) {
        kept.remove(0);
    }
    Ok(kept)
}

/// What stands in brackets round everything, if names stand in them.
fn unwrapped(tokens: &[Lexed]) -> &[Lexed] {
    let [first, inner @ .., last] = tokens else { return tokens };
    let is_wrapped =
        matches!((&first.token, &last.token), (Token::Open('{' | '('), Token::Close(_)));
    let mut depth = 1_usize;
    let closes_early = inner.iter().any(|lexed| {
        match lexed.token {
            Token::Open(_) => depth += 1,
            Token::Close(_) => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    let is_named = outside(inner).any(|at| inner[at].token == Token::Relation);
    if is_wrapped && !closes_early && is_named { inner } else { tokens }
}

/// A name with indices: `q_1`, `row 1`, `A[1, 2]`, `A[0][1]`, `q_1 · k_2`.
fn label(tokens: &[Lexed]) -> Result<Label, ReadError> {
    let no_label = || {
        let got = tokens.first().map_or(Token::End, |first| first.token.clone());
        ReadError::NoLabel { got }
    };
    let kinds: Vec<&Token> = tokens
        .iter()
        .map(|lexed| &lexed.token)
        .filter(|token| **token != Token::Transpose)
        .collect();
    let named = |name: &String| {
        let (stem, index) = match name.split_once('_') {
            Some((stem, index)) => (stem, index),
            None => name.split_at(name.trim_end_matches(|c: char| c.is_ascii_digit()).len()),
        };
        let index = Some(index).filter(|index| index.starts_with(|c: char| c.is_ascii_digit()));
        match index {
            Some(index) => Label {
                stem: stem.to_owned(),
                indices: index.split(',').map(str::to_owned).collect(),
            },
            None => Label { stem: name.clone(), indices: Vec::new() },
        }
    };
    match kinds.as_slice() {
        // `-x = 3`, `2 x = 3`, `x^2 = 3`: no value of x.
        [Token::Op(_), ..]
        | [Token::Number(_), Token::Name(_)]
        | [Token::Name(_), Token::Op('^' | '/'), ..] => Err(no_label()),
        [Token::Number(_), Token::Op('-' | '/'), ..] => Err(no_label()),
        [Token::Name(name)] => Ok(named(name)),
        [Token::Name(name), Token::Number(index)] => {
            Ok(Label { stem: name.clone(), indices: vec![index.clone()] })
        }
        [Token::Name(name), Token::Open(_), inner @ ..]
            if inner.iter().all(|token| {
                matches!(token, Token::Number(_) | Token::Comma | Token::Open(_) | Token::Close(_))
            }) =>
        {
            let index = |token: &&Token| {
                if let Token::Number(index) = token { Some(index.clone()) } else { None }
            };
            Ok(Label { stem: name.clone(), indices: inner.iter().filter_map(index).collect() })
        }
        [Token::Name(x), Token::Op('*'), Token::Name(y)] | [Token::Name(x), Token::Name(y)] => {
            let (x, y) = (named(x), named(y));
            Ok(Label {
                stem: format!("{}{}", x.stem, y.stem),
                indices: [x.indices, y.indices].concat(),
            })
        }
        _ => {
            let text = |token: &&Token| token.to_string().replace('`', "");
            Ok(Label { stem: kinds.iter().map(text).collect(), indices: Vec::new() })
        }
    }
}

impl Entry {
    /// The value as a formula in names.
    ///
    /// # Errors
    /// What is no formula.
    pub fn formula(&self, names: &[&str]) -> Result<qkvet_spec::syntax::Expr, ReadError> {
        super::formula::of_tokens(&self.tokens, names)
    }

    fn value(&self, is_one: bool) -> Result<Value, ReadError> {
        value(&Parser::new(&self.tokens, None).scalar(is_one).all()?, &self.text)
    }

    /// The number: the last of a chain whose members are the same, or an exact one before it.
    fn number(&self, in_percent: bool) -> Result<ParsedNumber, ReadError> {
        let mut tokens = self.tokens.clone();
        if in_percent && tokens.last().is_some_and(|last| last.token == Token::Op('%')) {
            tokens.pop();
        }
        let one = |tokens: &[Lexed]| -> Result<ParsedNumber, ReadError> {
            let tree = Parser::new(tokens, None).scalar(true).all()?;
            let mut value = value(&tree, &self.text)?;
            loop {
                value = match value {
                    Value::One(x) => return Ok(*x),
                    Value::List(mut items) if items.len() == 1 => items.remove(0),
                    Value::List(items) => return Err(ReadError::Several { got: items.len() }),
                }
            }
        };
        let last = one(&tokens)?;
        let mut exact = None;
        for member in
            self.chain.iter().filter(|member| !member.iter().any(|lexed| is_letter(&lexed.token)))
        {
            let Ok(before) = one(member) else { continue };
            let is_same = match last.form {
                // A whole number may be exact.
                Form::Decimal(0) => before.is(&last.value),
                Form::Decimal(places) => before.is_within_unit(&last.value, places),
                Form::Expression => {
                    before.is(&last.value)
                        || matches!(before.form, Form::Decimal(places) if last.is_within_unit(&before.value, places))
                }
            };
            if !is_same {
                return Err(ReadError::Chain);
            }
            let is_rounded = |lexed: &Lexed| matches!(&lexed.token, Token::Number(digits) if digits.contains('.'));
            if before.form == Form::Expression && !member.iter().any(is_rounded) {
                exact = Some(before);
            }
        }
        Ok(exact.filter(|_| last.form != Form::Expression).unwrap_or(last))
    }

    /// The numbers by rows, whatever is asked.
    ///
    /// # Errors
    /// What cannot be read for certain.
    pub(super) fn rows(&self) -> Result<Vec<Vec<ParsedNumber>>, ReadError> {
        Ok(match self.table()? {
            Table::Flat(row) => vec![row],
            Table::Rows(rows) => rows,
        })
    }

    /// Numbers in one row or in several.
    fn table(&self) -> Result<Table, ReadError> {
        table(self.value(false)?)
    }

    /// The numbers that are asked for.
    ///
    /// # Errors
    /// What is no number, or is laid out so that only a person can tell what is meant.
    pub fn numbers(&self, asked: &RequestedShape<'_>) -> Result<Vec<Vec<ParsedNumber>>, ReadError> {
        if (asked.rows, asked.cols) == (1, 1) {
            return Ok(vec![vec![self.number(asked.in_percent)?]]);
        }
        fitted(self.table()?, asked)
    }
}

/// A row, or rows.
enum Table {
    Flat(Vec<ParsedNumber>),
    Rows(Vec<Vec<ParsedNumber>>),
}

fn table(value: Value) -> Result<Table, ReadError> {
    let items = match value {
        Value::One(x) => return Ok(Table::Flat(vec![*x])),
        Value::List(items) => items,
    };
    let is_one = |item: &Value| matches!(item, Value::One(_));
    if items.iter().all(is_one) {
        let number = |item| if let Value::One(x) = item { Some(*x) } else { None };
        return Ok(Table::Flat(items.into_iter().filter_map(number).collect()));
    }
    // A batch of one.
    if let [Value::List(inner)] = items.as_slice()
        && inner.iter().all(|item| matches!(item, Value::List(_)))
    {
        return table(Value::List(inner.clone()));
    }
    let row = |item: Value| match table(item)? {
        Table::Flat(row) => Ok(row),
        // A column stands for a row.
        Table::Rows(rows) if rows.iter().all(|row| row.len() == 1) => Ok(rows.concat()),
        Table::Rows(_) => Err(ReadError::Depth),
    };
    if items.iter().any(is_one) {
        return Err(ReadError::Depth);
    }
    Ok(Table::Rows(items.into_iter().map(row).collect::<Result<_, _>>()?))
}

/// The numbers in the rows and columns that are asked for, where they can be told.
fn fitted(table: Table, asked: &RequestedShape<'_>) -> Result<Vec<Vec<ParsedNumber>>, ReadError> {
    let (rows, cols) = (asked.rows, asked.cols);
    let rows_of = |all: Vec<ParsedNumber>| all.into_iter().map(|x| vec![x]).collect::<Vec<_>>();
    let n = rows * cols;
    let given = match table {
        Table::Flat(all) if all.len() == 1 => return Err(ReadError::Several { got: 1 }),
        Table::Flat(all) if cols == 1 => rows_of(all),
        Table::Flat(all) if rows > 1 && all.len() == n => {
            return Err(ReadError::Layout { rows, cols });
        }
        Table::Flat(all) => vec![all],
        Table::Rows(given) => given,
    };
    let width = given.first().map_or(0, Vec::len);
    if given.iter().any(|row| row.len() != width) {
        return Err(ReadError::Ragged);
    }
    let (height, is_turned) = (given.len(), (given.len(), width) == (cols, rows));
    Ok(match (rows, cols) {
        (1, _) if is_turned && asked.turns => vec![given.concat()],
        (_, 1) if is_turned && asked.turns => rows_of(given.concat()),
        _ if height * width == n && (height, width) != (rows, cols) && !is_turned => {
            return Err(ReadError::Layout { rows, cols });
        }
        _ => given,
    })
}

/// Reads the numbers that are asked for.
///
/// # Errors
/// What cannot be read for certain.
pub fn read_numbers(
    text: &str,
    asked: &RequestedShape<'_>,
) -> Result<Vec<Vec<ParsedNumber>>, ReadError> {
    let is_one = (asked.rows, asked.cols) == (1, 1);
    let notation = Notation { comma: asked.comma, grouped: is_one };
    let mut entries = self::entries(text, notation)?;
    if asked.is_shape {
        entries.iter_mut().for_each(|entry| extents(entry, asked.cols));
    }
    match entries.as_slice() {
        [] => Err(ReadError::Nothing),
        [one] => one.numbers(asked),
        _ => fitted(together(&entries, asked)?, asked),
    }
}

/// Reads a number or a matrix of any extents.
///
/// # Errors
/// What cannot be read for certain.
pub fn read_table(text: &str) -> Result<Vec<Vec<ParsedNumber>>, ReadError> {
    let all = entries(text, Notation::default())?;
    let [one] = all.as_slice() else { return Err(ReadError::Several { got: all.len() }) };
    one.rows()
}

/// `2 × 3 × 4` as a list of so many extents, and without `R^` before it.
fn extents(entry: &mut Entry, n: usize) {
    let tokens = &mut entry.tokens;
    if matches!(tokens.as_slice(), [Lexed { token: Token::Name(r), .. }, Lexed { token: Token::Op('^'), .. }, ..] if r == "R")
    {
        tokens.drain(..2);
    }
    let has_list = tokens.iter().any(|lexed| matches!(lexed.token, Token::Comma | Token::Row));
    let is_times = |lexed: &Lexed| lexed.token == Token::Op('*');
    if !has_list && n > 1 && tokens.iter().filter(|lexed| is_times(lexed)).count() + 1 == n {
        tokens
            .iter_mut()
            .filter(|lexed| is_times(lexed))
            .for_each(|lexed| lexed.token = Token::Comma);
    }
}

/// Entries with names as one table: rows, columns, or numbers with one index or two.
fn together(entries: &[Entry], asked: &RequestedShape<'_>) -> Result<Table, ReadError> {
    let labels: Vec<&Label> = entries
        .iter()
        .map(|entry| entry.name.as_ref())
        .collect::<Option<_>>()
        .ok_or(ReadError::Several { got: entries.len() })?;
    let tables: Vec<Table> = entries.iter().map(Entry::table).collect::<Result<_, _>>()?;
    let of_block = |block: &&str| {
        labels.iter().position(|label| super::known(&label.name(), &[block]).is_some())
    };
    if asked.blocks.len() == entries.len()
        && let Some(order) = asked.blocks.iter().map(of_block).collect::<Option<Vec<_>>>()
    {
        return side_by_side(tables, &order, asked.is_shape);
    }
    if asked.is_shape {
        return Err(ReadError::NoLabel { got: Token::Name(labels[0].name()) });
    }
    if labels.iter().any(|label| label.stem != labels[0].stem) {
        return Err(ReadError::NoLabel { got: Token::Name(labels[1].name()) });
    }
    // `z_12` is row 1, column 2.
    let is_pair = |label: &&Label| matches!(label.indices.as_slice(), [one] if one.len() == 2);
    let is_flat = |table: &Table| matches!(table, Table::Flat(row) if row.len() == 1);
    let all_one = tables.iter().all(is_flat);
    let split =
        all_one && asked.rows.max(asked.cols) < 10 && asked.rows > 1 && labels.iter().all(is_pair);
    let indices = |label: &&Label| -> Option<Vec<usize>> {
        let texts: Vec<String> = if split {
            label.indices[0].chars().map(String::from).collect()
        } else {
            label.indices.clone()
        };
        texts.iter().map(|text| text.parse().ok()).collect()
    };
    let all: Vec<Vec<usize>> =
        labels.iter().map(indices).collect::<Option<_>>().ok_or(ReadError::Ragged)?;
    let first = all.iter().flatten().copied().min().unwrap_or(0);
    if first > 1 {
        return Err(ReadError::Ragged);
    }
    let place = |index: &[usize]| all.iter().position(|own| own.as_slice() == index);
    let n = all.len();
    let one =
        |table: &Table| if let Table::Flat(row) = table { row.first().cloned() } else { None };
    let row = |table: &Table| match table {
        Table::Flat(row) => Some(row.clone()),
        Table::Rows(rows) if rows.len() == 1 || rows.iter().all(|row| row.len() == 1) => {
            Some(rows.concat())
        }
        Table::Rows(_) => None,
    };
    let is_grid = all_one && all.iter().all(|index| index.len() == 2);
    if is_grid {
        if n != asked.rows * asked.cols {
            return Err(ReadError::Ragged);
        }
        let cell = |i: usize, j: usize| one(&tables[place(&[first + i, first + j])?]);
        let line = |i: usize| (0..asked.cols).map(|j| cell(i, j)).collect::<Option<Vec<_>>>();
        return Ok(Table::Rows(
            (0..asked.rows).map(line).collect::<Option<_>>().ok_or(ReadError::Ragged)?,
        ));
    }
    let in_order = (0..n)
        .map(|i| place(&[first + i]))
        .collect::<Option<Vec<usize>>>()
        .ok_or(ReadError::Ragged)?;
    if all_one {
        let all = in_order.iter().map(|at| one(&tables[*at]));
        return Ok(Table::Flat(all.collect::<Option<_>>().ok_or(ReadError::Ragged)?));
    }
    let rows: Vec<Vec<ParsedNumber>> = in_order
        .iter()
        .map(|at| row(&tables[*at]))
        .collect::<Option<_>>()
        .ok_or(ReadError::Ragged)?;
    let are_columns = labels[0].stem.to_lowercase().starts_with("col");
    if n != if are_columns { asked.cols } else { asked.rows } {
        return Err(ReadError::Ragged);
    }
    if !are_columns {
        return Ok(Table::Rows(rows));
    }
    let height = rows[0].len();
    if rows.iter().any(|row| row.len() != height) {
        return Err(ReadError::Ragged);
    }
    Ok(Table::Rows((0..height).map(|i| rows.iter().map(|row| row[i].clone()).collect()).collect()))
}

/// Matrices side by side, or extents one behind the other, in this order.
fn side_by_side(tables: Vec<Table>, order: &[usize], is_shape: bool) -> Result<Table, ReadError> {
    let rows = |table: &Table| match table {
        Table::Flat(row) => vec![row.clone()],
        Table::Rows(rows) => rows.clone(),
    };
    let all: Vec<Vec<Vec<ParsedNumber>>> = order.iter().map(|at| rows(&tables[*at])).collect();
    let n = all.first().map_or(0, Vec::len);
    if all.iter().any(|one| one.len() != n) || n > MAX_CELLS {
        return Err(ReadError::Ragged);
    }
    let line = |i: usize| all.iter().flat_map(|one| one[i].iter().cloned()).collect::<Vec<_>>();
    Ok(if is_shape { Table::Flat(line(0)) } else { Table::Rows((0..n).map(line).collect()) })
}
