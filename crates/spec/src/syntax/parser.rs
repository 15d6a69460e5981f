//! Tokens to a tree, by precedence climbing.

use super::lexer::{Token, lex};
use super::{BinaryOp, Expr, ExprError, ExprKind, Span, UnaryOp};

/// Nesting beyond this is refused, so that hostile input cannot exhaust the stack.
const MAX_DEPTH: usize = 64;
/// Longer expressions are refused: a chain of operators nests as deep as it is long.
const MAX_TOKENS: usize = 500;

/// Functions whose argument may stand in brackets, as in `E[q @ k.T]`.
pub(crate) const MOMENTS: [&str; 2] = ["E", "Var"];

/// Parses one expression.
///
/// # Errors
/// The first token that does not fit, with what was expected there.
pub fn parse(text: &str) -> Result<Expr, ExprError> {
    let tokens = lex(text)?;
    if let Some((_, span)) = tokens.get(MAX_TOKENS) {
        let message = format!(
            "expression: expected at most {MAX_TOKENS} words and signs, got {}",
            tokens.len() - 1
        );
        return Err(ExprError::new(span.clone(), message));
    }
    let mut parser = Parser { tokens, at: 0, depth: 0 };
    let expr = parser.expression(0)?;
    match parser.peek() {
        Token::End => Ok(expr),
        other => Err(ExprError::new(
            parser.span(),
            format!("expression: expected an operator or the end, got {}", other.describe()),
        )),
    }
}

struct Parser {
    tokens: Vec<(Token, Span)>,
    at: usize,
    depth: usize,
}

/// Binding strength of infix operators; relations do not chain except through [`chain`].
fn infix(token: &Token) -> Option<(BinaryOp, u8)> {
    use BinaryOp::{
        Add, And, Div, Eq, Ge, Gt, In, Le, Lt, MatMul, Mul, Ne, Or, Rem, SameBits, Sub,
    };
    Some(match token {
        Token::Name(name) => match name.as_str() {
            "or" => (Or, 1),
            "and" => (And, 2),
            "in" => (In, 4),
            "same_bits" => (SameBits, 4),
            _ => return None,
        },
        Token::Symbol(symbol) => match *symbol {
            "==" => (Eq, 4),
            "!=" => (Ne, 4),
            "<=" => (Le, 4),
            "<" => (Lt, 4),
            ">=" => (Ge, 4),
            ">" => (Gt, 4),
            "+" => (Add, 6),
            "-" => (Sub, 6),
            "*" => (Mul, 7),
            "/" => (Div, 7),
            "%" => (Rem, 7),
            "@" => (MatMul, 7),
            _ => return None,
        },
        _ => return None,
    })
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn span(&self) -> Span {
        self.tokens[self.at].1.clone()
    }

    fn next(&mut self) -> (Token, Span) {
        let token = self.tokens[self.at].clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Token::Symbol(s) if *s == symbol);
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<Span, ExprError> {
        let span = self.span();
        if self.eat(symbol) {
            Ok(span)
        } else {
            Err(ExprError::new(
                span,
                format!("expression: expected `{symbol}`, got {}", self.peek().describe()),
            ))
        }
    }

    fn expression(&mut self, min: u8) -> Result<Expr, ExprError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(ExprError::new(
                self.span(),
                format!("expression: expected at most {MAX_DEPTH} levels of nesting, got more"),
            ));
        }
        let mut left = self.prefix()?;
        while let Some((op, strength)) = infix(self.peek()) {
            if strength < min {
                break;
            }
            self.next();
            let right = self.expression(strength + 1)?;
            left = chain(left, op, right);
        }
        if min == 0 && self.eat("..") {
            let high = self.expression(5)?;
            let span = left.span.start..high.span.end;
            left = Expr { kind: ExprKind::Interval(Box::new(left), Box::new(high)), span };
        }
        self.depth -= 1;
        Ok(left)
    }

    fn prefix(&mut self) -> Result<Expr, ExprError> {
        let start = self.span();
        if self.eat("-") {
            let operand = self.expression(8)?;
            let span = start.start..operand.span.end;
            return Ok(Expr { kind: ExprKind::Unary(UnaryOp::Neg, Box::new(operand)), span });
        }
        if matches!(self.peek(), Token::Name(name) if name == "not") {
            self.next();
            let operand = self.expression(3)?;
            let span = start.start..operand.span.end;
            return Ok(Expr { kind: ExprKind::Unary(UnaryOp::Not, Box::new(operand)), span });
        }
        let mut expr = self.atom()?;
        while self.eat(".") {
            let (token, end) = self.next();
            if token != Token::Name("T".to_owned()) {
                return Err(ExprError::new(
                    end,
                    format!("expression: expected `T` after `.`, got {}", token.describe()),
                ));
            }
            let span = expr.span.start..end.end;
            expr = Expr { kind: ExprKind::Transpose(Box::new(expr)), span };
        }
        Ok(expr)
    }

    fn atom(&mut self) -> Result<Expr, ExprError> {
        let (token, span) = self.next();
        match token {
            Token::Number(x) => Ok(Expr { kind: ExprKind::Number(x), span }),
            Token::Name(name) if self.eat("(") => self.application(name, span),
            Token::Name(function) if MOMENTS.contains(&function.as_str()) && self.eat("[") => {
                let args = vec![self.expression(0)?];
                let end = self.expect("]")?;
                Ok(Expr {
                    kind: ExprKind::Apply { function, args, named: Vec::new() },
                    span: span.start..end.end,
                })
            }
            Token::Name(name) => Ok(Expr { kind: ExprKind::Name(name), span }),
            Token::Symbol("(") => {
                let mut items = vec![self.expression(0)?];
                let mut tuple = false;
                while self.eat(",") {
                    tuple = true;
                    items.push(self.expression(0)?);
                }
                let end = self.expect(")")?;
                let span = span.start..end.end;
                match items.pop() {
                    Some(only) if !tuple => Ok(Expr { span, ..only }),
                    last => {
                        items.extend(last);
                        Ok(Expr { kind: ExprKind::Tuple(items), span })
                    }
                }
            }
            other => Err(ExprError::new(
                span,
                format!("expression: expected a name, a number or `(`, got {}", other.describe()),
            )),
        }
    }

    fn application(&mut self, function: String, name: Span) -> Result<Expr, ExprError> {
        let (mut args, mut named) = (Vec::new(), Vec::new());
        let end = loop {
            let here = self.span();
            if self.eat(")") {
                break here;
            }
            if !(args.is_empty() && named.is_empty()) {
                self.expect(",")?;
            }
            match (self.peek().clone(), &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].0) {
                (Token::Name(key), Token::Symbol("=")) => {
                    let span = self.span();
                    if named.iter().any(|(known, _)| *known == key) {
                        return Err(ExprError::new(
                            span,
                            format!("argument `{key}`: expected once, got twice"),
                        ));
                    }
                    self.next();
                    self.next();
                    named.push((key, self.expression(0)?));
                }
                _ if named.is_empty() => args.push(self.expression(0)?),
                (other, _) => {
                    return Err(ExprError::new(
                        self.span(),
                        format!(
                            "argument: expected `name=value` after a named argument, got {}",
                            other.describe()
                        ),
                    ));
                }
            }
        };
        Ok(Expr { kind: ExprKind::Apply { function, args, named }, span: name.start..end.end })
    }
}

/// `a < b < c` is read as `a < b and b < c`, as in mathematics.
fn chain(left: Expr, op: BinaryOp, right: Expr) -> Expr {
    let span = left.span.start..right.span.end;
    if op.is_relation()
        && let ExprKind::Binary(first, _, middle) = &left.kind
        && first.is_relation()
    {
        let second = Expr {
            span: middle.span.start..right.span.end,
            kind: ExprKind::Binary(op, middle.clone(), Box::new(right)),
        };
        return Expr {
            kind: ExprKind::Binary(BinaryOp::And, Box::new(left), Box::new(second)),
            span,
        };
    }
    Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), span }
}
