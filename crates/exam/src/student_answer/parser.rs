//! Tokens to trees: the expressions of the law language, with lists as tuples and powers as `pow`.

use std::ops::Range;

use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind, UnaryOp};

use super::ReadError;
use super::lexer::{Lexed, Token};
use super::names::{known, split};
use super::vocabulary::{ARRAYS, SAME};

/// Brackets in brackets.
const MAX_DEPTH: usize = 40;
/// Parts of one answer: a chain of operators nests as deep as it is long.
const MAX_OPERATORS: usize = 300;

/// Functions of numbers.
const FUNCTIONS: [&str; 7] = ["exp", "sqrt", "ln", "log", "frac", "pow", "binom"];

/// Reads tokens that may use these names; without any, for numbers.
pub(super) struct Parser<'a> {
    tokens: &'a [Lexed],
    names: Option<&'a [&'a str]>,
    at: usize,
    depth: usize,
    operators: usize,
    /// Whether one number is asked, so that `162 1/2` is one.
    is_scalar: bool,
}

/// A row: of each cell what stands between its commas, side by side.
type Row = Vec<Vec<Expr>>;

/// A tree at a place.
pub(super) fn tree(kind: ExprKind, span: Range<usize>) -> Expr {
    Expr { kind, span }
}

fn apply(function: &str, args: Vec<Expr>, span: Range<usize>) -> Expr {
    tree(ExprKind::Apply { function: function.to_owned(), args, named: Vec::new() }, span)
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    let span = left.span.start..right.span.end;
    tree(ExprKind::Binary(op, Box::new(left), Box::new(right)), span)
}

/// A list as a tree.
fn is_list(tree: &Expr) -> bool {
    matches!(tree.kind, ExprKind::Tuple(_))
}

/// A number that is written with digits and perhaps a sign or one line of a fraction.
fn is_plain(tree: &Expr) -> bool {
    match &tree.kind {
        ExprKind::Number(_) => true,
        ExprKind::Unary(UnaryOp::Neg, x) => is_plain(x),
        ExprKind::Binary(BinaryOp::Div, x, y) => is_plain(x) && is_plain(y),
        ExprKind::Apply { function, args, .. } => {
            function == "percent" && args.iter().all(is_plain)
        }
        _ => false,
    }
}

/// A whole number and a fraction below 1 side by side, `162 1/2`, as their sum.
pub(super) fn mixed(parts: &[Expr]) -> Option<Expr> {
    let [whole, fraction] = parts else { return None };
    let (is_negative, bare) = match &whole.kind {
        ExprKind::Unary(UnaryOp::Neg, x) => (true, &**x),
        _ => (false, whole),
    };
    let is_whole = |x: &Expr| matches!(x.kind, ExprKind::Number(x) if x.fract() == 0.0);
    let ExprKind::Binary(BinaryOp::Div, over, under) = &fraction.kind else { return None };
    let is_proper = match (&over.kind, &under.kind) {
        (ExprKind::Number(over), ExprKind::Number(under)) => *over > 0.0 && over < under,
        _ => false,
    };
    if !(is_whole(bare) && is_proper && is_whole(over) && is_whole(under)) {
        return None;
    }
    let op = if is_negative { BinaryOp::Sub } else { BinaryOp::Add };
    Some(binary(op, whole.clone(), fraction.clone()))
}

impl<'a> Parser<'a> {
    pub(super) fn new(tokens: &'a [Lexed], names: Option<&'a [&'a str]>) -> Self {
        Self { tokens, names, at: 0, depth: 0, operators: 0, is_scalar: false }
    }

    /// The same where one number is asked.
    pub(super) fn scalar(mut self, is_scalar: bool) -> Self {
        self.is_scalar = is_scalar;
        self
    }

    /// One expression, or the list of all that stands between commas and lines.
    ///
    /// # Errors
    /// What is none.
    pub(super) fn all(&mut self) -> Result<Expr, ReadError> {
        let mut rows = self.rows(&Token::End)?;
        if self.is_scalar
            && let [row] = rows.as_mut_slice()
            && let [cell] = row.as_mut_slice()
            && let Some(sum) = mixed(cell)
        {
            *cell = vec![sum];
        }
        let tree = listed(rows, false, 0..0)?;
        match self.peek() {
            Token::End => Ok(tree),
            got => Err(ReadError::NotTheEnd { got: got.clone() }),
        }
    }

    fn lexed(&self, ahead: usize) -> Option<&'a Lexed> {
        self.tokens.get(self.at + ahead)
    }

    fn peek(&self) -> &'a Token {
        self.lexed(0).map_or(&Token::End, |lexed| &lexed.token)
    }

    fn peek_at(&self, ahead: usize) -> &'a Token {
        self.lexed(ahead).map_or(&Token::End, |lexed| &lexed.token)
    }

    fn is_spaced(&self, ahead: usize) -> bool {
        self.lexed(ahead).is_none_or(|lexed| lexed.spaced)
    }

    fn takes(&mut self, token: &Token) -> bool {
        let is = self.peek() == token;
        self.at += usize::from(is);
        is
    }

    fn span(&self) -> Range<usize> {
        let end = self.tokens.last().map_or(0, |last| last.span.end);
        self.lexed(0).map_or(end..end, |lexed| lexed.span.clone())
    }

    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        if self.depth >= MAX_DEPTH {
            return Err(ReadError::More { most: MAX_DEPTH, what: "brackets in each other" });
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn operator(&mut self) -> Result<(), ReadError> {
        self.at += 1;
        self.operators += 1;
        if self.operators > MAX_OPERATORS {
            return Err(ReadError::More { most: MAX_OPERATORS, what: "operators" });
        }
        Ok(())
    }

    /// All rows up to a closing bracket or the end, which is left.
    fn rows(&mut self, end: &Token) -> Result<Vec<Row>, ReadError> {
        let mut rows: Vec<Row> = Vec::new();
        let mut row: Row = Vec::new();
        let (mut is_open, outer) = (true, self.operators);
        loop {
            let token = self.peek();
            if token == end || matches!((token, end), (Token::Close(_), Token::Close(_))) {
                break;
            }
            // Elements side by side nest no deeper than each of them.
            self.operators = outer;
            match token {
                Token::End => return Err(ReadError::Unclosed),
                // `[≈1, ≈2]`
                Token::Relation if is_open && self.names.is_none() && self.is_in_list() => {
                    self.at += 1;
                }
                // `(1 | 2)`
                Token::Op('|') if !is_open => {
                    self.at += 1;
                    is_open = true;
                }
                // Of `[1,,2]` something is missing.
                Token::Comma if is_open => return Err(ReadError::Nothing),
                Token::Comma => {
                    self.at += 1;
                    is_open = true;
                }
                Token::Row | Token::Break => {
                    self.at += 1;
                    // A comma at the end of a line goes on.
                    if *token == Token::Row || !is_open {
                        rows.push(std::mem::take(&mut row));
                        is_open = true;
                    }
                }
                _ => {
                    let element = self.sum()?;
                    match row.last_mut() {
                        Some(cell) if !is_open => cell.push(element),
                        _ => row.push(vec![element]),
                    }
                    is_open = false;
                }
            }
        }
        rows.push(row);
        rows.retain(|row| !row.is_empty());
        Ok(rows)
    }

    fn sum(&mut self) -> Result<Expr, ReadError> {
        let mut left = self.product()?;
        loop {
            let op = match self.peek() {
                Token::Op('+') => BinaryOp::Add,
                Token::Op('-') => BinaryOp::Sub,
                _ => return Ok(left),
            };
            // `1 -2` is two numbers.
            let is_next = self.names.is_none() && self.is_spaced(0) && !self.is_spaced(1);
            if is_next && is_plain(&left) {
                return Ok(left);
            }
            self.operator()?;
            left = binary(op, left, self.product()?);
        }
    }

    fn product(&mut self) -> Result<Expr, ReadError> {
        let mut left = self.factor()?;
        // What was divided by.
        let mut divisor: Option<Expr> = None;
        loop {
            match self.peek() {
                Token::Op(sign @ ('*' | '@')) => {
                    let op = if *sign == '*' { BinaryOp::Mul } else { BinaryOp::MatMul };
                    self.operator()?;
                    left = binary(op, left, self.factor()?);
                    divisor = None;
                }
                Token::Op('/') => {
                    self.operator()?;
                    let under = self.factor()?;
                    divisor = Some(under.clone());
                    left = binary(BinaryOp::Div, left, under);
                }
                Token::Name(_) | Token::Open(_) if !self.begins_element(&left) => {
                    let is_logarithm =
                        matches!(self.peek(), Token::Name(name) if name == "ln" || name == "log");
                    let is_clear = match divisor.take() {
                        None => true,
                        Some(_) if is_logarithm || self.is_list_ahead() => true,
                        Some(under) => {
                            self.names.is_some() && !matches!(under.kind, ExprKind::Name(_))
                        }
                    };
                    // `1/2e`
                    if !is_clear {
                        return Err(ReadError::NoBrackets);
                    }
                    self.operators += 1;
                    left = binary(BinaryOp::Mul, left, self.factor()?);
                }
                _ => return Ok(left),
            }
        }
    }

    /// Whether a square bracket or a comma stands before.
    fn is_in_list(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        before.is_some_and(|before| matches!(before.token, Token::Open('[') | Token::Comma))
    }

    /// Whether a list behind a list is the next one, and no factor of it.
    fn begins_element(&self, left: &Expr) -> bool {
        is_list(left)
    }

    /// Whether brackets follow in which a list stands.
    fn is_list_ahead(&self) -> bool {
        let mut depth = 0_usize;
        for lexed in self.tokens.get(self.at..).unwrap_or_default() {
            match lexed.token {
                Token::Open('[') if depth == 0 => return true,
                Token::Open(_) => depth += 1,
                Token::Close(_) => depth = depth.saturating_sub(1),
                Token::Comma | Token::Row if depth == 1 => return true,
                _ => {}
            }
            if depth == 0 {
                return false;
            }
        }
        false
    }

    fn factor(&mut self) -> Result<Expr, ReadError> {
        self.deeper(|reader| {
            let start = reader.span().start;
            if reader.takes(&Token::Op('-')) {
                // `--3` is a slip of the pen.
                if *reader.peek() == Token::Op('-') {
                    return Err(ReadError::NoOperator);
                }
                let x = reader.factor()?;
                let span = start..x.span.end;
                return Ok(tree(ExprKind::Unary(UnaryOp::Neg, Box::new(x)), span));
            }
            if reader.takes(&Token::Op('+')) {
                return reader.factor();
            }
            let base = reader.atom()?;
            let base = reader.postfix(base)?;
            if !reader.takes(&Token::Op('^')) {
                return Ok(base);
            }
            let minus = reader.takes(&Token::Op('-'));
            let mut exponent = reader.atom()?;
            if minus {
                let span = exponent.span.clone();
                exponent = tree(ExprKind::Unary(UnaryOp::Neg, Box::new(exponent)), span);
            }
            let span = base.span.start..exponent.span.end;
            let power = apply("pow", vec![base, exponent], span);
            reader.postfix(power)
        })
    }

    /// Transposes, methods and percent signs.
    fn postfix(&mut self, mut base: Expr) -> Result<Expr, ReadError> {
        loop {
            let span = base.span.start..self.span().end;
            match self.peek() {
                Token::Transpose => {
                    self.operator()?;
                    base = tree(ExprKind::Transpose(Box::new(base)), span);
                }
                Token::Op('%') => {
                    self.at += 1;
                    base = apply("percent", vec![base], span);
                }
                Token::Method(name) => {
                    self.operator()?;
                    let args = self.arguments()?;
                    base = match (name.as_str(), args) {
                        (name, args) if SAME.contains(&name) && args.is_empty() => base,
                        ("transpose" | "t", args) if args.is_empty() => {
                            tree(ExprKind::Transpose(Box::new(base)), span)
                        }
                        ("dot" | "matmul" | "mm", mut args) if args.len() == 1 => {
                            binary(BinaryOp::MatMul, base, args.remove(0))
                        }
                        _ => return Err(ReadError::NoNumber { got: Token::Method(name.clone()) }),
                    };
                }
                _ => return Ok(base),
            }
        }
    }

    fn atom(&mut self) -> Result<Expr, ReadError> {
        let span = self.span();
        let token = self.peek().clone();
        let start = self.at;
        self.at += 1;
        match token {
            Token::Number(digits) => self.number(digits, start, span),
            Token::Half(over, under) => {
                let number = |digits: &str, span| {
                    tree(ExprKind::Number(digits.parse().unwrap_or(0.0)), span)
                };
                let line = span.start + over.len();
                let over = number(over, span.start..line);
                Ok(binary(BinaryOp::Div, over, number(under, line + 1..span.end)))
            }
            Token::Open(open) => self.group(open, span.start),
            Token::Name(name) => self.name(&name, span),
            got => Err(ReadError::NoNumber { got }),
        }
    }

    /// A number; what stands right behind it may belong to it: `6¼`, `5e-6`.
    fn number(
        &mut self,
        digits: String,
        start: usize,
        span: Range<usize>,
    ) -> Result<Expr, ReadError> {
        let literal =
            |span: Range<usize>| tree(ExprKind::Number(digits.parse().unwrap_or(f64::NAN)), span);
        if let (Token::Half(..), false) = (self.peek(), self.is_spaced(0)) {
            if !digits.chars().all(|c| c.is_ascii_digit()) {
                return Err(ReadError::NotWhole { got: Token::Number(digits) });
            }
            let fraction = self.atom()?;
            return Ok(binary(BinaryOp::Add, literal(span), fraction));
        }
        // `5e-6` alone is a number, and in a longer formula it may be `5 e - 6`.
        if let (Token::Name(e), Token::Op('+' | '-'), Token::Number(power)) =
            (self.peek(), self.peek_at(1), self.peek_at(2))
            && matches!(e.as_str(), "e" | "E")
            && !(0..3).any(|ahead| self.is_spaced(ahead))
        {
            let is_begin = |token: Option<&Lexed>| {
                token.is_none_or(|lexed| {
                    matches!(
                        lexed.token,
                        Token::Comma
                            | Token::Row
                            | Token::Break
                            | Token::Open(_)
                            | Token::Number(_)
                    )
                })
            };
            let before = |n: usize| start.checked_sub(n).and_then(|at| self.tokens.get(at));
            let is_signed = matches!(before(1), Some(Lexed { token: Token::Op('-' | '+'), .. }));
            let is_first = is_begin(before(1)) || is_signed && is_begin(before(2));
            let is_last = match self.lexed(3) {
                None => true,
                Some(next) => {
                    next.spaced && !matches!(next.token, Token::Op(_))
                        || matches!(
                            next.token,
                            Token::Comma | Token::Row | Token::Break | Token::Close(_)
                        )
                }
            };
            let is_whole = power.chars().all(|c| c.is_ascii_digit());
            if !(is_first && is_last && is_whole) {
                return Err(ReadError::NoOperator);
            }
            let end = self.lexed(2).map_or(span.end, |lexed| lexed.span.end);
            self.at += 3;
            return Ok(literal(span.start..end));
        }
        Ok(literal(span))
    }

    /// What stands in brackets: one thing, or a list.
    fn group(&mut self, open: char, start: usize) -> Result<Expr, ReadError> {
        self.deeper(|reader| {
            let rows = reader.rows(&Token::Close(')'))?;
            let end = reader.span().end;
            let Token::Close(close) = reader.peek() else { return Err(ReadError::Unclosed) };
            if (open == '[') != (*close == ']') && open != '{' && *close != '}' {
                return Err(ReadError::Unclosed);
            }
            reader.at += 1;
            let is_python = matches!(
                reader.tokens.get(reader.at.wrapping_sub(2)),
                Some(Lexed { token: Token::Comma, .. })
            );
            listed(rows, open == '[' || is_python, start..end)
        })
    }

    /// The arguments in the brackets that follow; named ones and what stands behind them are left
    /// out.
    fn arguments(&mut self) -> Result<Vec<Expr>, ReadError> {
        if !matches!(self.peek(), Token::Open('(' | '[' | '{')) {
            return Err(ReadError::Unclosed);
        }
        self.at += 1;
        self.deeper(|reader| {
            let mut args = Vec::new();
            loop {
                match reader.peek() {
                    Token::Close(_) => {
                        reader.at += 1;
                        return Ok(args);
                    }
                    Token::Comma | Token::Break => reader.at += 1,
                    Token::End => return Err(ReadError::Unclosed),
                    Token::Name(_) if *reader.peek_at(1) == Token::Relation => {
                        reader.skip_named()?
                    }
                    Token::Text(text) => {
                        let span = reader.span();
                        reader.at += 1;
                        args.push(tree(ExprKind::Name(text.clone()), span));
                    }
                    _ => args.push(reader.sum()?),
                }
            }
        })
    }

    /// Goes on to the bracket that closes a call.
    fn skip_named(&mut self) -> Result<(), ReadError> {
        if self.names.is_some() {
            return Err(ReadError::NotTheEnd { got: self.peek().clone() });
        }
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                Token::End => return Err(ReadError::Unclosed),
                Token::Open(_) => depth += 1,
                Token::Close(_) if depth == 0 => return Ok(()),
                Token::Close(_) => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }

    fn name(&mut self, name: &str, span: Range<usize>) -> Result<Expr, ReadError> {
        let resolved = self.names.and_then(|names| known(name, names));
        if let Some(name) = resolved {
            return Ok(tree(ExprKind::Name(name.to_owned()), span));
        }
        let is_called = matches!(self.peek(), Token::Open('(' | '['));
        if name == "sqrt" && *self.peek() == Token::Open('[') {
            return self.root(span);
        }
        if FUNCTIONS.contains(&name) {
            return self.function(name, span);
        }
        if ARRAYS.contains(&name) && is_called {
            let mut args = self.arguments()?;
            let end = self.tokens[self.at - 1].span.end;
            return match args.len() {
                1 => Ok(args.remove(0)),
                0 => Err(ReadError::Nothing),
                // `c(1, 2)`, `Size(1, 2)`, `Fraction(1, 2)`
                2 if matches!(name, "Fraction" | "Rational") => {
                    let under = args.remove(1);
                    Ok(binary(BinaryOp::Div, args.remove(0), under))
                }
                _ => Ok(tree(ExprKind::Tuple(args), span.start..end)),
            };
        }
        if name == "e" {
            return Ok(tree(ExprKind::Name("e".to_owned()), span));
        }
        let Some(names) = self.names else {
            return Err(ReadError::NoNumber { got: Token::Name(name.to_owned()) });
        };
        let all = split(name, names);
        match all.as_slice() {
            [one] => {
                let mut factors =
                    one.iter().map(|name| tree(ExprKind::Name((*name).to_owned()), span.clone()));
                let first = factors.next().ok_or(ReadError::Nothing)?;
                Ok(factors.fold(first, |left, right| binary(BinaryOp::Mul, left, right)))
            }
            [] if is_called => {
                let args = self.arguments()?;
                let end = self.tokens[self.at - 1].span.end;
                super::formula::function(name, args, span.start..end)
            }
            [] => Err(ReadError::UnknownName { got: name.to_owned(), names: owned(names) }),
            [one, two, ..] => {
                Err(ReadError::Ambiguous { got: name.to_owned(), ways: [owned(one), owned(two)] })
            }
        }
    }

    /// A function of numbers; of one argument also without brackets.
    fn function(&mut self, name: &str, span: Range<usize>) -> Result<Expr, ReadError> {
        self.deeper(|reader| {
            let n = if matches!(name, "frac" | "binom") { 2 } else { 1 };
            let is_called = matches!(reader.peek(), Token::Open('(')) && n == 1;
            let args = if is_called {
                reader.arguments()?
            } else {
                (0..n).map(|_| reader.atom()).collect::<Result<_, _>>()?
            };
            let end = reader.tokens[reader.at - 1].span.end;
            let span = span.start..end;
            let mut args = args.into_iter();
            match (name, args.next(), args.next(), args.next()) {
                ("frac", Some(over), Some(under), None) => {
                    Ok(tree(ExprKind::Binary(BinaryOp::Div, Box::new(over), Box::new(under)), span))
                }
                ("binom", Some(over), Some(under), None) => {
                    let row = |x: Expr| tree(ExprKind::Tuple(vec![x.clone()]), x.span);
                    Ok(tree(ExprKind::Tuple(vec![row(over), row(under)]), span))
                }
                ("pow", Some(base), Some(exponent), None) => {
                    Ok(apply("pow", vec![base, exponent], span))
                }
                ("pow", ..) => Err(ReadError::Nothing),
                ("ln" | "log", Some(x), None, None) => Ok(apply("log", vec![x], span)),
                (name, Some(x), None, None) => Ok(apply(name, vec![x], span)),
                _ => Err(ReadError::NoNumber { got: Token::Name(name.to_owned()) }),
            }
        })
    }

    /// `\sqrt[3]{8}`, or `Sqrt[2]`.
    fn root(&mut self, span: Range<usize>) -> Result<Expr, ReadError> {
        self.deeper(|reader| {
            let mut args = reader.arguments()?;
            let (Some(first), true) = (args.pop(), args.is_empty()) else {
                return Err(ReadError::Nothing);
            };
            if !matches!(reader.peek(), Token::Open('{')) {
                return Ok(apply("sqrt", vec![first.clone()], span.start..first.span.end));
            }
            let of = reader.atom()?;
            let one = tree(ExprKind::Number(1.0), first.span.start..first.span.start);
            let span = span.start..of.span.end;
            Ok(apply("pow", vec![of, binary(BinaryOp::Div, one, first)], span))
        })
    }
}

pub(super) fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Rows as a tree: the one thing in them, unless a list is meant; a list; or a list of lists.
fn listed(rows: Vec<Row>, is_list: bool, span: Range<usize>) -> Result<Expr, ReadError> {
    let row = |cells: Row| -> Result<Vec<Expr>, ReadError> {
        let is_one = cells.len() == 1;
        let mut all = Vec::new();
        for mut cell in cells {
            match (cell.len(), mixed(&cell)) {
                (1, _) => all.append(&mut cell),
                // Numbers side by side where no commas stand.
                _ if is_one => all.append(&mut cell),
                (_, Some(mixed)) => all.push(mixed),
                _ => return Err(ReadError::NoOperator),
            }
        }
        Ok(all)
    };
    let mut rows: Vec<Vec<Expr>> = rows.into_iter().map(row).collect::<Result<_, _>>()?;
    let tuple = |items: Vec<Expr>| tree(ExprKind::Tuple(items), span.clone());
    match rows.len() {
        0 => Err(ReadError::Nothing),
        1 => {
            let mut items = rows.remove(0);
            let is_one = items.len() == 1 && !is_list;
            Ok(if is_one { items.remove(0) } else { tuple(items) })
        }
        // Rows in brackets of their own, a line each.
        _ if rows.iter().all(|row| matches!(row.as_slice(), [one] if self::is_list(one))) => {
            Ok(tuple(rows.into_iter().flatten().collect()))
        }
        _ => Ok(tuple(rows.into_iter().map(tuple).collect())),
    }
}
