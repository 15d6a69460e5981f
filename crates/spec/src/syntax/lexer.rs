//! Text to tokens.

use super::{ExprError, Span};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Number(f64),
    Name(String),
    Symbol(&'static str),
    End,
}

impl Token {
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Number(x) => format!("`{x}`"),
            Self::Name(name) => format!("`{name}`"),
            Self::Symbol(symbol) => format!("`{symbol}`"),
            Self::End => "the end of the expression".to_owned(),
        }
    }
}

/// Longest first, so that `<=` is not read as `<`.
const SYMBOLS: [&str; 20] = [
    "==", "!=", "<=", ">=", "..", "<", ">", "=", "+", "-", "*", "/", "%", "@", "(", ")", "[", "]",
    ",", ".",
];

pub(super) fn lex(text: &str) -> Result<Vec<(Token, Span)>, ExprError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
        } else if first.is_ascii_digit() {
            let end = number_end(text, at);
            let number = text[at..end].parse().map_err(|_| {
                ExprError::new(
                    at..end,
                    format!("number: expected a decimal, got `{}`", &text[at..end]),
                )
            })?;
            tokens.push((Token::Number(number), at..end));
            at = end;
        } else if first.is_ascii_alphabetic() || first == '_' {
            let rest = &text[at..];
            let len =
                rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push((Token::Name(rest[..len].to_owned()), at..at + len));
            at += len;
        } else if let Some(symbol) =
            SYMBOLS.into_iter().find(|symbol| text[at..].starts_with(symbol))
        {
            tokens.push((Token::Symbol(symbol), at..at + symbol.len()));
            at += symbol.len();
        } else {
            return Err(ExprError::new(
                at..at + first.len_utf8(),
                format!("character: expected an operator, a name or a number, got `{first}`"),
            ));
        }
    }
    tokens.push((Token::End, text.len()..text.len()));
    Ok(tokens)
}

/// End of a decimal literal; `1..4` is the literal `1` and then `..`.
fn number_end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let mut end = digits(start);
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            end = digits(end + 1 + sign);
        }
    }
    end
}
