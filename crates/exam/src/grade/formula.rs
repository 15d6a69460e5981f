//! Formulas as people type them: names side by side are multiplied, `·` and `*` are the product
//! that fits, `ᵀ` and `^T` transpose.

use qkvet_spec::syntax::{BinaryOp, Expr, ExprKind, parse};

use super::NoFormula;
use crate::student_answer::unlabelled;

/// Longer names are not taken for several that stand side by side.
const MAX_LETTERS: usize = 60;

/// Words that are operators.
const WORDS: [&str; 5] = ["and", "or", "not", "in", "same_bits"];

/// Names of libraries before a function.
const LIBRARIES: [&str; 4] = ["np", "numpy", "torch", "jnp"];

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// A name, or the digits of a number.
    Value(String),
    /// A function, an argument's name or a word: what follows is not multiplied with it.
    Word(String),
    Open(char),
    Close(char),
    Transpose,
    Sign(char),
}

/// Reads a formula in which only `names` have values. Names that stand side by side, with or
/// without a space, are joined by `@`.
///
/// # Errors
/// What is no formula, in words.
pub(super) fn read(text: &str, names: &[&str]) -> Result<Expr, NoFormula> {
    let tokens = tokens(&plain(unlabelled(text)), names)?;
    let mut joined = String::new();
    let mut before: Option<&Token> = None;
    for token in &tokens {
        let is_end = matches!(before, Some(Token::Value(_) | Token::Close(_) | Token::Transpose));
        if is_end
            && matches!(token, Token::Value(_) | Token::Word(_) | Token::Open('('))
            && !is_operator(token)
        {
            joined.push_str(" @");
        }
        match token {
            Token::Value(text) | Token::Word(text) => {
                joined.push(' ');
                joined.push_str(text);
            }
            Token::Open(sign) | Token::Close(sign) | Token::Sign(sign) => joined.push(*sign),
            Token::Transpose => joined.push_str(".T"),
        }
        before = Some(token);
    }
    let mut formula = parse(&joined).map_err(NoFormula::Syntax)?;
    written_as_functions(&mut formula);
    Ok(formula)
}

/// Products and transposes that are written as functions of programs, and `softmax`, which on
/// sheets is the one over rows.
fn written_as_functions(expr: &mut Expr) {
    expr.parts_mut().into_iter().for_each(written_as_functions);
    let ExprKind::Apply { function, args, named } = &mut expr.kind else { return };
    let kind = match (function.as_str(), args.as_mut_slice()) {
        _ if !named.is_empty() => return,
        ("dot" | "matmul", [left, right]) => {
            ExprKind::Binary(BinaryOp::MatMul, Box::new(left.clone()), Box::new(right.clone()))
        }
        ("transpose", [matrix]) => ExprKind::Transpose(Box::new(matrix.clone())),
        ("softmax", [_]) => {
            *function = "softmax_rows".to_owned();
            return;
        }
        _ => return,
    };
    expr.kind = kind;
}

fn is_operator(token: &Token) -> bool {
    matches!(token, Token::Word(word) if WORDS.contains(&word.as_str()))
}

/// The formula with each product of the kind that fits: `@` between matrices, `*` where a factor is
/// a number.
pub(super) fn fitted(expr: &Expr, is_matrix: &dyn Fn(&Expr) -> bool) -> Expr {
    let mut fitted = expr.clone();
    fit(&mut fitted, is_matrix);
    fitted
}

fn fit(expr: &mut Expr, is_matrix: &dyn Fn(&Expr) -> bool) {
    for part in expr.parts_mut() {
        fit(part, is_matrix);
    }
    if let ExprKind::Binary(op @ (BinaryOp::Mul | BinaryOp::MatMul), left, right) = &mut expr.kind {
        *op = if is_matrix(left) && is_matrix(right) { BinaryOp::MatMul } else { BinaryOp::Mul };
    }
}

/// LaTeX and the signs of sheets as plain text.
fn plain(text: &str) -> String {
    let mut text = text.trim().replace('$', "");
    for (from, to) in [
        ("\\left", ""),
        ("\\right", ""),
        ("\\cdot", " @ "),
        ("\\times", " @ "),
        ("\\,", " "),
        ("\\;", " "),
        ("\\ ", " "),
        ("^{\\top}", ".T "),
        ("^\\top", ".T "),
        ("^{\\mathsf{T}}", ".T "),
        ("^{\\mathrm{T}}", ".T "),
        ("^{T}", ".T "),
        ("^⊤", ".T "),
        ("^T", ".T "),
        ("ᵀ", ".T "),
        ("⊤", ".T "),
        ("·", " @ "),
        ("⋅", " @ "),
        ("∙", " @ "),
        ("×", " @ "),
        ("−", "-"),
    ] {
        text = text.replace(from, to);
    }
    // `W_{Q}` is a name; other braces are brackets.
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        let inner = rest.strip_prefix("_{").and_then(|inner| inner.split_once('}'));
        if let Some((inner, behind)) =
            inner.filter(|(inner, _)| inner.chars().all(|c| c.is_ascii_alphanumeric()))
        {
            out.push('_');
            out.push_str(inner);
            rest = behind;
            continue;
        }
        out.push(match c {
            '{' => '(',
            '}' => ')',
            c => c,
        });
        rest = &rest[c.len_utf8()..];
    }
    out
}

fn tokens(text: &str, names: &[&str]) -> Result<Vec<Token>, NoFormula> {
    let mut tokens = Vec::new();
    let (mut depth, mut methods) = (0_i32, Vec::new());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut used = c.len_utf8();
        let end =
            |is_part: &dyn Fn(char) -> bool| rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        match c {
            c if c.is_whitespace() => {}
            '0'..='9' => {
                used = end(&|c| c.is_ascii_digit() || c == '.');
                tokens.push(Token::Value(rest[..used].to_owned()));
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                used = end(&|c| c.is_ascii_alphanumeric() || c == '_');
                if LIBRARIES.contains(&&rest[..used])
                    && rest[used..].starts_with('.')
                    && known(&rest[..used], names).is_none()
                {
                    rest = &rest[used + 1..];
                    continue;
                }
                let behind = rest[used..].trim_start();
                let is_argument = behind.starts_with('=') && !behind.starts_with("==");
                named(
                    &rest[..used],
                    names,
                    is_argument || behind.starts_with('('),
                    is_argument,
                    &mut tokens,
                )?;
            }
            '.' if rest.starts_with(".T")
                && !rest[2..].starts_with(|c: char| c.is_ascii_alphanumeric()) =>
            {
                used = 2;
                tokens.push(Token::Transpose);
            }
            '.' if let Some(method) =
                [".dot(", ".matmul("].into_iter().find(|method| rest.starts_with(method)) =>
            {
                used = method.len() - 1;
                // `A.dot(B).T` is the transpose of the product: brackets go round both.
                tokens.insert(receiver(&tokens), Token::Open('('));
                tokens.push(Token::Sign('@'));
                methods.push(depth);
            }
            '.' if let Some(method) =
                [".transpose()", ".t()"].into_iter().find(|method| rest.starts_with(method)) =>
            {
                used = method.len();
                tokens.push(Token::Transpose);
            }
            '(' | '[' => {
                depth += 1;
                tokens.push(Token::Open(c));
            }
            ')' | ']' => {
                depth -= 1;
                tokens.push(Token::Close(c));
                if methods.last() == Some(&depth) {
                    methods.pop();
                    tokens.push(Token::Close(')'));
                }
            }
            c => tokens.push(Token::Sign(c)),
        }
        rest = &rest[used..];
    }
    Ok(tokens)
}

/// Where the last value begins: a name or what stands in brackets, with the function before them
/// and transposes behind.
fn receiver(tokens: &[Token]) -> usize {
    let mut at = tokens.len();
    while at > 0 && tokens[at - 1] == Token::Transpose {
        at -= 1;
    }
    let mut open = 0_usize;
    while at > 0 {
        at -= 1;
        match tokens[at] {
            Token::Close(_) => open += 1,
            Token::Open(_) => open = open.saturating_sub(1),
            _ => {}
        }
        if open == 0 {
            break;
        }
    }
    let has_function = matches!(tokens.get(at), Some(Token::Open(_)))
        && matches!(at.checked_sub(1).and_then(|before| tokens.get(before)), Some(Token::Word(_)));
    if has_function { at - 1 } else { at }
}

/// A run of letters: a name, several names side by side, or a function.
fn named(
    word: &str,
    names: &[&str],
    is_function: bool,
    is_argument: bool,
    tokens: &mut Vec<Token>,
) -> Result<(), NoFormula> {
    let known = known(word, names);
    if WORDS.contains(&word) || is_argument {
        tokens.push(Token::Word(word.to_owned()));
    } else if let Some(name) = known {
        tokens.push(Token::Value(name.to_owned()));
    } else {
        let mut all = Vec::new();
        if word.len() <= MAX_LETTERS {
            split(word, names, &mut Vec::new(), &mut all);
        }
        match all.as_slice() {
            [one] => tokens.extend(one.iter().map(|name| Token::Value((*name).to_owned()))),
            [] if is_function => tokens.push(Token::Word(word.to_owned())),
            [] => return Err(NoFormula::Unknown { got: word.to_owned(), names: owned(names) }),
            [one, two, ..] => {
                let ways = [owned(one), owned(two)];
                return Err(NoFormula::Ambiguous { got: word.to_owned(), ways });
            }
        }
    }
    Ok(())
}

pub(super) fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The name that is meant: itself, or without its `_`, as pages that are copied lose it, or with
/// small letters for large ones behind it.
pub(super) fn known<'a>(word: &str, names: &[&'a str]) -> Option<&'a str> {
    let only = |is_it: &dyn Fn(&str) -> bool| {
        let mut meant = names.iter().filter(|name| name.contains('_') && is_it(name));
        meant.next().filter(|_| meant.next().is_none()).copied()
    };
    let is_first = |name: &str| name.starts_with(|c| word.starts_with(c));
    let bare = |name: &str| name.replace('_', "").to_lowercase();
    let exactly = names.iter().find(|name| **name == word).copied();
    exactly
        .or_else(|| only(&|name| name.replace('_', "") == word))
        .or_else(|| only(&|name| is_first(name) && bare(name) == bare(word)))
}

/// The first two ways to read a word as names side by side.
fn split<'a>(
    word: &str,
    names: &[&'a str],
    before: &mut Vec<&'a str>,
    all: &mut Vec<Vec<&'a str>>,
) {
    if word.is_empty() {
        all.push(before.clone());
        return;
    }
    for name in names {
        let bare = name.replace('_', "");
        for written in [Some(*name), (bare != *name).then_some(bare.as_str())].into_iter().flatten()
        {
            if all.len() >= 2 {
                return;
            }
            if let Some(rest) = word.strip_prefix(written).filter(|_| !written.is_empty()) {
                before.push(name);
                split(rest, names, before, all);
                before.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 6] = ["X", "W_Q", "W_K", "K", "c", "W"];

    #[test]
    fn products_are_written_in_many_ways() {
        let plain = |text: &str| {
            format!(
                "{:?}",
                without_spans(&read(text, &NAMES).unwrap_or_else(|e| panic!("{text}: {e}")))
            )
        };
        let same = |text: &str, written: &str| assert_eq!(plain(text), plain(written), "{text}");
        for text in [
            "X W_Q",
            "XW_Q",
            "X · W_Q",
            "X \\cdot W_{Q}",
            "XWQ",
            "$X W_Q$",
            "X×W_Q",
            "(X)(W_Q)",
            "X (W_Q)",
            "Q = X W_Q",
        ] {
            same(text, "X @ W_Q");
        }
        for text in ["X W_q", "X Wq"] {
            same(text, "X @ W_Q");
        }
        for text in ["X K^T", "X Kᵀ", "XKᵀ", "X K^{\\top}", "X K^\\top", "X @ K.T"] {
            same(text, "X @ K.T");
        }
        for text in [
            "np.dot(X, W_Q)",
            "X.dot(W_Q)",
            "torch.matmul(X, W_Q)",
            "X.matmul(W_Q)",
            "np.matmul(X, W_Q)",
        ] {
            same(text, "X @ W_Q");
        }
        same("K.dot(X.T).T", "(K @ X.T).T");
        same("row(X, 1).dot(W_K) @ W", "(row(X, 1) @ W_K) @ W");
        same("X.dot(W_Q.dot(W_K)) / 2", "(X @ (W_Q @ W_K)) / 2");
        same("c * X.T.dot(K)", "c * (X.T @ K)");
        for text in [".dot(X)", "X.dot(", "X.dot(K))", ")X.dot(K)"] {
            let _ = read(text, &NAMES);
        }
        for text in
            ["X.dot(K.T)", "np.dot(X, np.transpose(K))", "X @ K.transpose()", "X.matmul(K.t())"]
        {
            same(text, "X @ K.T");
        }
        same("softmax(X W_K)", "softmax_rows(X @ W_K)");
        same("KᵀX", "K.T @ X");
        same("2X W_Q / 3", "2 @ X @ W_Q / 3");
        same("softmax_rows(X W_K)", "softmax_rows(X @ W_K)");
        same("row(X, 1) W_Q", "row(X, 1) @ W_Q");
        same("attention(X, K, X, scale=1)", "attention(X, K, X, scale = 1)");
        for text in
            ["XY", "Xq", "", "X @", "X^2", "9".repeat(300).as_str(), "XX".repeat(200).as_str()]
        {
            let _ = read(text, &NAMES);
        }
        assert!(read("X Y", &NAMES).is_err() && read("X @", &NAMES).is_err());
        assert!(
            read("WQc", &["W_Q", "W", "Q", "c"])
                .is_err_and(|error| matches!(error, NoFormula::Ambiguous { .. }))
        );
    }

    fn without_spans(expr: &Expr) -> Expr {
        fn bare(expr: &mut Expr) {
            expr.span = 0..0;
            expr.parts_mut().into_iter().for_each(bare);
        }
        let mut all = fitted(expr, &|_| true);
        bare(&mut all);
        all
    }
}
