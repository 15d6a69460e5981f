//! Text to tokens: plain text, Unicode, LaTeX, and the signs of programs.

use std::fmt;
use std::ops::Range;

use super::vocabulary::{ARRAYS, COMMANDS, FONTS, GREEK, LIBRARIES, NOTHING, SIGNS};
use super::{Notation, ReadError};

/// Longest text that is read.
const MAX_LENGTH: usize = 1 << 17;
/// Digits of one number.
const MAX_DIGITS: usize = 400;

/// A part of an answer as it is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// Digits, perhaps with a point and an exponent, without the signs between groups.
    Number(String),
    /// A fraction that is one sign, `½`.
    Half(&'static str, &'static str),
    /// A word or a name with its index, `W_Q`.
    Name(String),
    /// Text in quotes that is no name.
    Text(String),
    /// `.dot`.
    Method(String),
    /// A sign between values, or `%` behind one.
    Op(char),
    /// `=`, `≈`, `:`, `→`.
    Relation,
    /// `≤`.
    AtMost,
    /// An opening bracket.
    Open(char),
    /// A closing bracket.
    Close(char),
    /// `,`, `&`, `|`.
    Comma,
    /// `;`, or `\\` of LaTeX.
    Row,
    /// A line's end.
    Break,
    /// `ᵀ`, `^T`, `.T`.
    Transpose,
    /// A sign that no answer has.
    Unknown(String),
    /// The end of the text.
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(text) | Self::Name(text) | Self::Text(text) => write!(f, "`{text}`"),
            Self::Unknown(text) => write!(f, "`{}`", text.escape_debug()),
            Self::Half(over, under) => write!(f, "`{over}/{under}`"),
            Self::Method(name) => write!(f, "`.{name}`"),
            Self::Op(sign) | Self::Open(sign) | Self::Close(sign) => write!(f, "`{sign}`"),
            Self::Relation => f.write_str("`=`"),
            Self::AtMost => f.write_str("`≤`"),
            Self::Comma => f.write_str("`,`"),
            Self::Row => f.write_str("`;`"),
            Self::Break => f.write_str("the end of a line"),
            Self::Transpose => f.write_str("a transpose"),
            Self::End => f.write_str("the end"),
        }
    }
}

/// A token and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lexed {
    /// What it is.
    pub token: Token,
    /// Bytes of the text.
    pub span: Range<usize>,
    /// Whether there is space before it.
    pub spaced: bool,
}

/// Fractions that are one sign.
const FRACTIONS: [(char, &str, &str); 15] = [
    ('½', "1", "2"),
    ('⅓', "1", "3"),
    ('⅔', "2", "3"),
    ('¼', "1", "4"),
    ('¾', "3", "4"),
    ('⅕', "1", "5"),
    ('⅖', "2", "5"),
    ('⅗', "3", "5"),
    ('⅘', "4", "5"),
    ('⅙', "1", "6"),
    ('⅚', "5", "6"),
    ('⅛', "1", "8"),
    ('⅜', "3", "8"),
    ('⅝', "5", "8"),
    ('⅞', "7", "8"),
];

/// Spaces between groups of three digits wherever they stand.
const THIN: [char; 4] = ['\u{202f}', '\u{2009}', '’', '_'];

/// A digit or sign above the line, as one on it.
fn lowered(c: char) -> Option<char> {
    match c {
        '⁻' => Some('-'),
        '⁺' => Some('+'),
        '¹' => Some('1'),
        '²' => Some('2'),
        '³' => Some('3'),
        '⁰' | '⁴'..='⁹' => char::from_digit(u32::from(c) - u32::from('⁰'), 10),
        _ => None,
    }
}

/// The sign of ordinary width, U+FF01 to U+FF5E being those of ASCII in the same order.
fn half_width(c: char) -> char {
    match c {
        '\u{3000}' => ' ',
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        c => c,
    }
}

/// The tokens of a text, and the text that their spans are in: numbers stand there without groups
/// and with a decimal point.
///
/// # Errors
/// A text that is too long, digits above the line that are no exponent.
pub(super) fn lex(text: &str, notation: Notation) -> Result<(Vec<Lexed>, String), ReadError> {
    if text.len() > MAX_LENGTH {
        return Err(ReadError::TooMany { most: MAX_LENGTH, what: "characters", got: text.len() });
    }
    let text: String = text.chars().map(half_width).collect();
    let text = unmarked(&text).to_owned();
    let mut lexer = Lexer {
        text: &text,
        at: 0,
        spaced: false,
        silent: Vec::new(),
        notation,
        tokens: Vec::new(),
        out: String::new(),
    };
    while lexer.at < text.len() {
        lexer.token()?;
    }
    Ok((lexer.tokens, lexer.out))
}

/// A pattern in quotes, `ij,jk->ik`.
fn quoted(text: &str) -> Option<&str> {
    let quote = text.chars().next()?;
    let (inner, _) = text[1..].split_once(quote)?;
    let is_part = |c: char| c.is_ascii_alphabetic() || ",->. ".contains(c);
    (inner.contains("->") && inner.chars().all(is_part)).then_some(inner)
}

/// Text without the signs of Markdown round all of it.
fn unmarked(text: &str) -> &str {
    let text = text.trim();
    let inner =
        ["**", "`", "__"].iter().find_map(|mark| text.strip_prefix(*mark)?.strip_suffix(*mark));
    inner.map_or(text, unmarked)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    spaced: bool,
    /// Of each open brace whether it only holds what a command of LaTeX is about.
    silent: Vec<bool>,
    notation: Notation,
    tokens: Vec<Lexed>,
    out: String,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn push(&mut self, token: Token, len: usize) {
        let spaced = std::mem::replace(&mut self.spaced, false);
        self.out.push_str(if spaced { " " } else { "" });
        let start = self.out.len();
        match &token {
            Token::Number(digits) => self.out.push_str(digits),
            Token::Half(over, under) => self.out.extend([*over, "/", *under]),
            _ => self.out.push_str(&self.text[self.at..self.at + len]),
        }
        self.tokens.push(Lexed { token, span: start..self.out.len(), spaced });
        self.at += len;
    }

    /// Adds an index to the name before.
    fn add_index(&mut self, index: &str) -> bool {
        let Some(Lexed { token: Token::Name(name), span, .. }) = self.tokens.last_mut() else {
            return false;
        };
        for text in [name, &mut self.out] {
            text.push('_');
            text.push_str(index);
        }
        span.end = self.out.len();
        true
    }

    fn skip(&mut self, len: usize) {
        self.at += len;
        self.spaced = true;
    }

    fn last(&self) -> Option<&Token> {
        self.tokens.last().map(|last| &last.token).filter(|_| !self.spaced)
    }

    /// Whether a value ends right before.
    fn is_behind_value(&self) -> bool {
        matches!(
            self.last(),
            Some(
                Token::Number(_)
                    | Token::Half(..)
                    | Token::Name(_)
                    | Token::Close(_)
                    | Token::Transpose
            )
        )
    }

    fn token(&mut self) -> Result<(), ReadError> {
        let rest = self.rest();
        let Some(c) = rest.chars().next() else { return Ok(()) };
        let len = c.len_utf8();
        if let Some((sign, token)) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
            self.push(token.clone(), sign.len());
            return Ok(());
        }
        match c {
            '\n' => self.push(Token::Break, len),
            '"' if quoted(rest).is_some() => {
                let inner = quoted(rest).unwrap_or_default();
                self.push(Token::Text(inner.to_owned()), inner.len() + 2);
            }
            '$' | '"' | '`' | '“' | '”' | '„' => self.skip(len),
            c if c.is_whitespace() || c == '\u{feff}' => self.skip(len),
            '0'..='9' => self.number()?,
            '.' if !self.notation.comma && rest[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                self.number()?;
            }
            '.' | '…' => self.point(),
            '_' if matches!(
                self.tokens.last().map(|last| &last.token),
                Some(Token::Name(_) | Token::Close(_))
            ) =>
            {
                self.index(1)
            }
            '√' => self.push(Token::Name("sqrt".to_owned()), len),
            '\'' => self.quote(),
            '\\' => self.command(),
            '^' => self.power()?,
            '{' => {
                self.silent.push(false);
                self.push(Token::Open('{'), len);
            }
            '}' if self.silent.pop() == Some(true) => self.at += len,
            '(' | '[' | '⟨' => self.push(Token::Open(c), len),
            ')' | ']' | '⟩' | '}' => self.push(Token::Close(c), len),
            '₀'..='₉' => self.lowered_index(),
            c if c.is_alphabetic() => self.word(),
            c => {
                if lowered(c).is_some() {
                    return self.raised();
                }
                match FRACTIONS.iter().find(|(sign, ..)| *sign == c) {
                    Some((_, over, under)) => self.push(Token::Half(over, under), len),
                    None => self.push(Token::Unknown(c.to_string()), len),
                }
            }
        }
        Ok(())
    }

    /// Digits, with a point, groups and an exponent.
    fn number(&mut self) -> Result<(), ReadError> {
        let rest = self.rest();
        let comma = self.notation.comma;
        let mut digits = String::new();
        let mut len = 0;
        let mut between = None;
        let mut has_point = false;
        while let Some(c) = rest[len..].chars().next() {
            let behind = &rest[len + c.len_utf8()..];
            let n = behind.chars().take_while(char::is_ascii_digit).count();
            let is_first = !digits.starts_with('0') && (1..=3).contains(&digits.len());
            // A group of three digits between two signs that are the same.
            let sign =
                [("\\,", 2), ("{,}", 3)].iter().find(|(sign, _)| rest[len..].starts_with(sign));
            let (sign, used) = sign.map_or((c, c.len_utf8()), |(_, used)| ('\u{2009}', *used));
            let n_behind = rest[len + used..].chars().take_while(char::is_ascii_digit).count();
            let may_group = match sign {
                ',' => self.notation.grouped && !comma,
                '.' => comma && (between == Some('.') || self.notation.grouped),
                ' ' | '\u{a0}' => self.notation.grouped,
                sign => THIN.contains(&sign) || sign == '\'',
            };
            let is_group = may_group
                && !has_point
                && n_behind == 3
                && between.map_or(is_first, |one| one == sign);
            if c.is_ascii_digit() {
                digits.push(c);
                len += 1;
            } else if is_group {
                between = Some(sign);
                len += used;
            } else if (c == '.' && !comma || c == ',' && comma && n > 0) && !has_point {
                // `1.` is a number, and `1. A` its place.
                has_point = true;
                digits.push('.');
                len += 1;
            } else if c == '.' && has_point && n > 0 {
                let token = Token::Unknown(rest[..len + 1 + n].to_owned());
                self.push(token, len + 1 + n);
                return Ok(());
            } else {
                break;
            }
        }
        if digits.len() > MAX_DIGITS {
            return Err(ReadError::TooMany { most: MAX_DIGITS, what: "digits", got: digits.len() });
        }
        // `5e6` is a number; of `5e-6` the parser decides, and `5e` is five times e.
        let exponent = rest[len..]
            .strip_prefix(['e', 'E'])
            .map_or(0, |rest| rest.chars().take_while(char::is_ascii_digit).count());
        if exponent > 0 {
            digits.push('e');
            digits.push_str(&rest[len + 1..len + 1 + exponent]);
            len += 1 + exponent;
        }
        self.push(Token::Number(digits), len);
        Ok(())
    }

    /// `.T`, `.dot(`, `·` between names, or the end of a sentence.
    fn point(&mut self) {
        let rest = self.rest();
        let behind = rest.trim_start_matches(['.', '…']);
        let is_one = rest.len() - behind.len() == 1 && !rest.starts_with('…');
        let word: String =
            behind.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        if !is_one || !self.is_behind_value() || word.is_empty() {
            let used = rest.len() - behind.len();
            // `9.792...` is cut off there; dots between values leave something out.
            let is_end = matches!(
                behind.trim_start().chars().next(),
                None | Some(',' | ';' | ')' | ']' | '&' | '\\')
            );
            if is_one || is_end {
                self.skip(used);
            } else {
                self.push(Token::Unknown(rest[..used].to_owned()), used);
            }
            return;
        }
        let used = 1 + word.len();
        if word == "T" {
            self.push(Token::Transpose, used);
        } else if behind[word.len()..].starts_with('(') {
            self.push(Token::Method(word), used);
        } else {
            self.push(Token::Op('*'), 1);
        }
    }

    /// A transpose, a quote round a name, or text.
    fn quote(&mut self) {
        let rest = self.rest();
        if self.is_behind_value() {
            self.push(Token::Transpose, 1);
            return;
        }
        match rest[1..].split_once('\'') {
            Some((inner, _)) if quoted(rest).is_some() => {
                self.push(Token::Text(inner.to_owned()), inner.len() + 2);
            }
            Some((inner, _)) => {
                // A name in quotes: what is in them is read, and they are not.
                self.at += 1;
                let end = self.at + inner.len();
                while self.at < end && self.token().is_ok() {}
                self.at = end.max(self.at) + usize::from(self.at <= end);
            }
            None => self.skip(1),
        }
    }

    /// A run of letters and digits.
    fn word(&mut self) {
        let rest = self.rest();
        let first = rest.chars().next().unwrap_or(' ');
        if let Some((_, name)) = GREEK.iter().find(|(sign, _)| *sign == first) {
            self.push(Token::Name((*name).to_owned()), first.len_utf8());
            return;
        }
        // `2x3`, `1.05 x 10^-1`
        let behind = &rest[first.len_utf8()..];
        let is_times = matches!(first, 'x' | 'X')
            && behind.trim_start().starts_with(|c: char| c.is_ascii_digit());
        // `0x10` is no product.
        let is_number = |token: &Token| matches!(token, Token::Number(digits) if digits != "0");
        if is_times && self.tokens.last().is_some_and(|last| is_number(&last.token)) {
            self.push(Token::Op('*'), 1);
            return;
        }
        let is_part = |c: char| {
            c.is_alphanumeric()
                && c != 'ᵀ'
                && !GREEK.iter().any(|(sign, _)| *sign == c)
                && lowered(c).is_none()
                && !('₀'..='₉').contains(&c)
        };
        let len = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(len);
        // `sqrt2`; `log2` may have another base.
        for function in ["sqrt", "ln"] {
            let digits = word.strip_prefix(function).unwrap_or_default();
            if !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()) {
                self.push(Token::Name(function.to_owned()), function.len());
                return;
            }
        }
        if LIBRARIES.contains(&word) && behind.starts_with('.') {
            self.at += len + 1;
            return;
        }
        // `d.p.` and `i.e.` are words.
        if let Some((_, dotless)) = [("d.p", "dp"), ("s.f", "sf"), ("i.e", "ie")]
            .iter()
            .find(|(dots, _)| rest.starts_with(dots))
        {
            self.push(Token::Name((*dotless).to_owned()), 3);
            return;
        }
        if ["isn", "don", "doesn", "aren", "won", "can"].contains(&word)
            && behind.starts_with(['\'', '’'])
        {
            self.push(Token::Unknown(format!("{word}'t")), len);
            return;
        }
        // Of `dtype=np.float64` in a call nothing is read.
        self.push(Token::Name(word.to_owned()), len);
        let is_array = ARRAYS.contains(&word);
        if is_array && behind.starts_with('{') {
            self.skip(behind.find('}').map_or(0, |end| end + 1));
        }
    }

    /// What stands behind `_`: an index, which belongs to the name before it.
    fn index(&mut self, sign: usize) {
        let behind = &self.rest()[sign..];
        let (index, used) = group(behind);
        let index: String =
            plain(index).chars().filter(|c| c.is_alphanumeric() || *c == ',').collect();
        if !index.is_empty() {
            self.add_index(&index);
        }
        self.at += sign + used;
    }

    fn lowered_index(&mut self) {
        let rest = self.rest();
        let digits: String = rest
            .chars()
            .map_while(|c| char::from_digit(u32::from(c).wrapping_sub(u32::from('₀')), 10))
            .collect();
        let used = digits.len() * '₀'.len_utf8();
        if self.add_index(&digits) {
            self.at += used;
        } else {
            self.push(Token::Unknown(digits), used);
        }
    }

    /// `^T`, an index above the line, or a power.
    fn power(&mut self) -> Result<(), ReadError> {
        let rest = self.rest();
        let (inner, used) = group(&rest[1..]);
        let content = plain(inner);
        let is_index = content.len() == 1 && content.chars().all(|c| c.is_ascii_uppercase());
        if ["T", "⊤", "t", "top", "intercal", "'"].contains(&content.as_str()) {
            self.push(Token::Transpose, 1 + used);
        } else if is_index && matches!(self.last(), Some(Token::Name(name)) if !name.contains('_'))
        {
            self.index(1);
        } else {
            self.push(Token::Op('^'), 1);
        }
        Ok(())
    }

    /// An exponent above the line.
    fn raised(&mut self) -> Result<(), ReadError> {
        let digits: String = self.rest().chars().map_while(lowered).collect();
        let used = self.rest().chars().take(digits.chars().count()).map(char::len_utf8).sum();
        let bare = digits.strip_prefix(['-', '+']).unwrap_or(&digits);
        if bare.is_empty() || !bare.chars().all(|c| c.is_ascii_digit()) || bare.len() > MAX_DIGITS {
            return Err(ReadError::NoExponent { got: digits });
        }
        let number = Token::Number(bare.to_owned());
        let minus = digits.starts_with('-').then_some(Token::Op('-'));
        self.push(Token::Op('^'), 0);
        self.push(Token::Open('('), 0);
        minus.into_iter().for_each(|minus| self.push(minus, 0));
        self.push(number, used);
        self.push(Token::Close(')'), 0);
        Ok(())
    }

    /// A command of LaTeX.
    fn command(&mut self) {
        let rest = &self.rest()[1..];
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(letters);
        let used = 1 + letters;
        let argument = |text: &str| group(text).1;
        match word {
            "" => match rest.chars().next() {
                Some('\\') => {
                    // `\\[4pt]` is a line's end with some space.
                    let space = rest[1..].strip_prefix('[').and_then(|rest| rest.split_once(']'));
                    let space = space
                        .filter(|(inner, _)| inner.ends_with(|c: char| c.is_ascii_alphabetic()));
                    self.push(Token::Row, 2 + space.map_or(0, |(inner, _)| inner.len() + 2));
                }
                Some('{') => self.push(Token::Open('('), 2),
                Some('}') => self.push(Token::Close(')'), 2),
                Some('%') => self.push(Token::Op('%'), 2),
                Some(c @ (',' | ';' | ':' | '!' | ' ' | '(' | ')' | '[' | ']' | '$' | '_')) => {
                    self.skip(1 + c.len_utf8())
                }
                Some(c) => self.push(Token::Unknown(format!("\\{c}")), 1 + c.len_utf8()),
                None => self.push(Token::Unknown("\\".to_owned()), 1),
            },
            "begin" | "pmatrix" | "bmatrix" | "matrix" => {
                let mut used = used;
                if word == "begin" {
                    used += argument(behind);
                    // `{array}{ccc}` says how columns stand.
                    let next = &self.rest()[used..];
                    let columns = group(next).0;
                    if next.starts_with('{')
                        && columns.chars().all(|c| matches!(c, 'c' | 'l' | 'r' | '|' | ' '))
                    {
                        used += argument(next);
                    }
                    self.push(Token::Open('['), used);
                } else {
                    self.at += used;
                    self.spaced = true;
                }
            }
            "end" => self.push(Token::Close(']'), used + argument(behind)),
            word if COMMANDS.iter().any(|(name, _)| *name == word) => {
                let token = COMMANDS.iter().find(|(name, _)| *name == word);
                self.push(token.map_or(Token::End, |(_, token)| token.clone()), used);
            }
            "frac" | "dfrac" | "tfrac" | "cfrac" => {
                self.push(Token::Name("frac".to_owned()), used);
                // `\frac12` is a half.
                for _ in 0..2 {
                    let rest = self.rest();
                    let space = rest.len() - rest.trim_start().len();
                    let Some(digit) = rest.trim_start().chars().next().filter(char::is_ascii_digit)
                    else {
                        break;
                    };
                    self.at += space;
                    self.push(Token::Number(digit.to_string()), 1);
                }
            }
            word if FONTS.contains(&word) => {
                self.at += used;
                // `X` and `\mathbf{W}` are two names, `_\mathbf{Q}` is an index.
                self.spaced = true;
                if let Some(inner) = behind.strip_prefix('{') {
                    self.at += behind.len() - inner.len();
                    self.silent.push(true);
                }
            }
            word if NOTHING.contains(&word) => self.skip(used),
            word => {
                let greek = GREEK.iter().find(|(_, name)| *name == word).map(|(_, name)| *name);
                let name = greek.unwrap_or(word).trim_start_matches("var").to_owned();
                self.push(Token::Name(name), used);
            }
        }
    }
}

/// What stands in the braces or brackets at the beginning of a text, or its first sign, or command,
/// or word; and its bytes.
fn group(text: &str) -> (&str, usize) {
    let Some(open) = text.chars().next() else { return ("", 0) };
    let close = match open {
        '{' => '}',
        '(' => ')',
        '\\' => {
            let letters =
                text[1..].find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len() - 1);
            let used = 1 + letters;
            // `\mathbf{Q}`
            return match text[used..].trim_start().chars().next() {
                Some('{') => {
                    let space = text[used..].len() - text[used..].trim_start().len();
                    let (_, inner) = group(text[used..].trim_start());
                    (&text[..used + space + inner], used + space + inner)
                }
                _ => (&text[..used], used),
            };
        }
        c if c.is_alphanumeric() => {
            let used = text
                .find(|c: char| !c.is_alphanumeric() || c == 'ᵀ' || lowered(c).is_some())
                .unwrap_or(text.len());
            return (&text[..used], used);
        }
        c => return (&text[..c.len_utf8()], c.len_utf8()),
    };
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
            if depth == 0 {
                return (&text[1..at], at + 1);
            }
        }
    }
    ("", open.len_utf8())
}

/// Text without commands of LaTeX that only say how it looks, and without spaces and braces.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c == '\\' {
            let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            let word = &rest[..letters];
            if !FONTS.contains(&word) && !NOTHING.contains(&word) {
                out.push_str(word);
            }
            rest = &rest[letters..];
        } else if !c.is_whitespace() && !matches!(c, '{' | '}') {
            out.push(c);
        }
    }
    out
}
