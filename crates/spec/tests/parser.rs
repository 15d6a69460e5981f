//! Expressions are parsed, and errors point at their place.

use qkvet_spec::syntax::parse;

/// Levels of nesting, and words and signs, of an expression at most.
const MAX_DEPTH: usize = 64;
const MAX_TOKENS: usize = 500;

fn check(text: &str, expected: &str) {
    assert_eq!(parse(text).map(|expr| expr.to_string()), Ok(expected.to_owned()), "{text}");
}

fn check_error(text: &str, at: usize, part: &str) {
    let error = parse(text).expect_err(text);
    assert_eq!(error.span.start, at, "{text}: {error}");
    assert!(error.message.contains(part), "{text}: {error}");
}

#[test]
fn precedence() {
    check("a + b * c - d", "((a + (b * c)) - d)");
    check("-a * b", "((-a) * b)");
    check("P @ K.T == x", "((P @ K.T) == x)");
    check("not a and b or c", "(((not a) and b) or c)");
    check("1 < h_k < h_q", "((1 < h_k) and (h_k < h_q))");
    check("f(x) same_bits -f(x)", "(f(x) same_bits (-f(x)))");
}

#[test]
fn arguments_and_literals() {
    check(
        "attention(Q, K, V, mask=M @ P.T, scale=1)",
        "attention(Q, K, V, mask=(M @ P.T), scale=1)",
    );
    check("index(n, not=a)", "index(n, not=a)");
    check("real(0.25..4)", "real(0.25..4)");
    check("dim(3..16)", "dim(3..16)");
    check("(b, h_q)", "(b, h_q)");
    check("Var[q @ k.T] == E(x) + E[(y)]", "(Var((q @ k.T)) == (E(x) + E(y)))");
    check("1e-3", "0.001");
}

#[test]
fn errors_say_where_and_what() {
    check_error("a +", 3, "got the end of the expression");
    check_error("f(a, b", 6, "expected `,`");
    check_error("a b", 2, "got `b`");
    check_error("a # b", 2, "got `#`");
    check_error("E[x", 3, "expected `]`, got the end");
    check_error("E[x)", 3, "expected `]`, got `)`");
    check_error("E[x, y]", 3, "expected `]`, got `,`");
    check_error("exp[x]", 3, "got `[`");
    check_error("[x]", 0, "got `[`");
    check_error("x.U", 2, "expected `T`");
    check_error("f(a=1, b)", 7, "after a named argument");
    check_error("f(a=1, a=2)", 7, "got twice");
    check_error(&"(".repeat(400), MAX_DEPTH, "levels of nesting");
    check_error(&"-".repeat(400), MAX_DEPTH, "levels of nesting");
    check_error(&format!("V{}", "+V".repeat(100_000)), MAX_TOKENS, "words and signs");
    check_error(&format!("V{}", ".T".repeat(100_000)), MAX_TOKENS, "words and signs");
}
