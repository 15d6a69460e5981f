//! Formulas in print: what every law and every function looks like, and that print never changes a
//! meaning.

mod form;
mod reading;

use qkvet_prove::outcome::prove;
use qkvet_prove::render::{Style, render, render_law};
use qkvet_spec::Catalog;
use qkvet_spec::syntax::{Expr, ExprKind, parse};

/// Every function of the law language, and those that formulas about expectations use.
const FUNCTIONS: [&str; 55] = [
    "attention(Q, K, V)",
    "attention(Q, K, V, mask=M)",
    "attention(Q, K, V, mask=M @ P.T, bias=B, scale=1)",
    "exact(Q, K, V)",
    "weights(Q, K, scale=1 / sqrt(d_k))",
    "lse(Q, K)",
    "exact_lse(Q, K)",
    "shape(V)",
    "ones(n)",
    "ones(n_q, 2 * d_v)",
    "zeros(n_q)",
    "zeros(n, n + 1)",
    "eye(n)",
    "row(V, j)",
    "row(K2, j + 1)",
    "col(softmax_rows(X), j)",
    "select(K, S)",
    "drop_row(K, j)",
    "indicator(S, n_k)",
    "where(H, K2, K)",
    "hidden(i)",
    "heads(A, B)",
    "mean_heads(X)",
    "repeat_heads(K)",
    "split_heads(A, h_q)",
    "combine_heads(X)",
    "item(Q, i)",
    "scale_row(eye(n), a, gamma)",
    "spread(V)",
    "norm_max(X - Y)",
    "norm_2(X - Y)",
    "diag(a) - a.T @ a",
    "exp(-t)",
    "log(w / (1 - w))",
    "sqrt(d_k)",
    "sigmoid(beta * (gamma - 1))",
    "min(V, axis=rows)",
    "max(V, axis=cols)",
    "sum(weights(Q, K), axis=cols)",
    "hcat(A, B @ C)",
    "vcat(A, -B)",
    "softmax_rows(Q @ K.T / sqrt(d_k), mask=M)",
    "softcap(X)",
    "E(q.T @ k)",
    "Var(x + y)",
    "entry(x, t)",
    "entry(K2, t, c)",
    "power(mu, 2)",
    "power(E(x + y), 2) - power(n + 1, 3)",
    "series(t, d_k, power(entry(x, t), 2))",
    "2 * series(t, n - 1, x + y) + series(t, n, x) / n",
    "power(series(t, n, x), 2)",
    "X in between(L, U)",
    "f_new(x, key=y)",
    "phi(x)",
];

#[track_caller]
fn tree(text: &str) -> Expr {
    parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn node(kind: ExprKind) -> Expr {
    Expr { kind, span: 0..0 }
}

/// The texts in pages of up to 20 KiB.
fn pages(texts: &[String]) -> Vec<String> {
    let mut pages = vec![String::new()];
    for text in texts {
        // The same words in every formula.
        let text = text.replace(" xmlns=\"http://www.w3.org/1998/Math/MathML\"", "");
        match pages.last_mut() {
            Some(page) if page.len() + text.len() < 20_000 => *page += &text,
            _ => pages.push(text),
        }
    }
    pages
}

#[test]
fn laws_and_functions() {
    let catalog = Catalog::embedded().unwrap();
    for style in Style::ALL {
        let laws: Vec<String> = catalog
            .laws
            .iter()
            .map(|(id, law)| format!("{id}\n{}\n\n", render_law(law, style)))
            .collect();
        let functions: Vec<String> = FUNCTIONS
            .iter()
            .map(|text| format!("{text}\n    {}\n", render(&tree(text), style)))
            .collect();
        let style = format!("{style:?}").to_lowercase();
        for (what, texts) in [("laws", laws), ("functions", functions)] {
            for (at, page) in pages(&texts).iter().enumerate() {
                let number = if at == 0 { String::new() } else { format!("_{}", at + 1) };
                insta::assert_snapshot!(format!("{style}_{what}{number}"), page);
            }
        }
    }
}

/// Whole proofs: means, variances, a sum, roots, quotients.
#[test]
fn proofs_about_moments() {
    let catalog = Catalog::embedded().unwrap();
    for style in Style::ALL {
        let proofs =
            ["averaged-value-variance", "dot-product-scale", "squared-norm-variance"].map(|id| {
                let lines = prove(&catalog.laws[id]).lines;
                let lines: Vec<String> =
                    lines.iter().map(|line| format!("  {}\n", line.shown.text(style))).collect();
                format!("{id}\n{}\n", lines.concat())
            });
        let [page] = pages(&proofs).try_into().unwrap();
        insta::assert_snapshot!(format!("{style:?}_moments").to_lowercase(), page);
    }
}

#[test]
fn nested_conditions_take_no_time() {
    let nested = (0..30).fold("a".to_owned(), |inner, _| format!("(p < q and {inner} < z)"));
    let long = "a and ".repeat(200) + "b";
    for style in Style::ALL {
        assert!(render(&tree(&nested), style).contains('p'));
        assert!(render(&tree(&long), style).contains('b'));
    }
}

#[test]
fn conditions_divide_whole_numbers() {
    let source = "law: x\ntitle: x\nwhere: h_q / h_k % 2 == 0 and not causal\nexpect: V == V\nproof: definition\ncatches: []\n";
    let mut catalog = Catalog::embedded().unwrap();
    catalog.add_law("x.yaml", source).unwrap();
    let law = &catalog.laws["x"];
    assert_eq!(
        render_law(law, Style::Unicode),
        "Suppose ⌊h_q/h_k⌋ mod 2 = 0 and not causal.\nThen\n    V = V"
    );
    assert!(
        render_law(law, Style::Latex)
            .contains(r"\left\lfloor \frac{h_{q}}{h_{k}}\right\rfloor \bmod 2 = 0")
    );
}

#[track_caller]
fn check(style: Style, text: &str, expected: &str) {
    assert_eq!(render(&tree(text), style), expected, "{text}");
}

#[test]
fn parentheses_stand_where_they_are_needed() {
    let unicode = |text, expected| check(Style::Unicode, text, expected);
    unicode("a + (b - c)", "a + (b − c)");
    unicode("(a - b) - c", "a − b − c");
    unicode("a - (b - c)", "a − (b − c)");
    unicode("a - (b + c)", "a − (b + c)");
    unicode("a + (b + c)", "a + b + c");
    unicode("a + ((b - c) + d)", "a + (b − c) + d");
    unicode("-(a + b)", "−(a + b)");
    unicode("-a * b", "−a b");
    unicode("a * -b", "a (−b)");
    unicode("a - -b", "a − (−b)");
    unicode("-(-a)", "−(−a)");
    unicode("(-(-a)) * b", "(−(−a)) b");
    unicode("A @ (B @ C)", "A B C");
    unicode("A @ (-B @ C)", "A (−B) C");
    unicode("(A @ B).T", "(A B)ᵀ");
    unicode("A.T.T", "(Aᵀ)ᵀ");
    unicode("(-A).T", "(−A)ᵀ");
    unicode("a / (b * c)", "a/(b c)");
    unicode("a / b * c", "(a/b) c");
    unicode("a * (b / c)", "a (b/c)");
    unicode("a / b / c", "(a/b)/c");
    unicode("(a + b) / 2", "(a + b)/2");
    unicode("-a / b", "−a/b");
    unicode("a + -b / c", "a + (−b/c)");
    unicode("exp(-t) * x", "e^(−t) x");
    unicode("exp(f(x))", "e^(f(x))");
    unicode("sqrt(a * b).T", "(√(a b))ᵀ");
    unicode("2 * 3 * x", "2 · 3 x");
    unicode("0 * ones(n)", "0 · 𝟏_n");
    unicode("scale * x", "scale · x");
    unicode("row(A @ B, i)", "(A B)_{i,:}");
    unicode("a % b + c", "(a mod b) + c");
    unicode("1 < h_k < h_q", "1 < h_k < h_q");
    unicode("1 < h_k and h_k < h_q", "1 < h_k and h_k < h_q");
    unicode("a <= b and c <= d or not e == f", "a ≤ b and c ≤ d or not e = f");
    unicode("not (a and b)", "not (a and b)");
    unicode("a in between(-b, b)", "−b ≤ a ≤ b");
    unicode("1e-9 + 1e300", "1 · 10^(−9) + 1 · 10^300");
}

#[test]
fn styles() {
    use Style::{Latex, MathMl, Typst, Words};
    check(Latex, "-(a + b) / (beta * c)", r"-\frac{a + b}{\beta \, c}");
    check(Latex, "(a / b).T", r"\left(\frac{a}{b}\right)^{\top}");
    check(Latex, "exp(a / b)", r"e^{\frac{a}{b}}");
    check(Latex, "row(K2, j).T", r"(K_{2})_{j,:}^{\top}");
    check(Latex, "n_tokens + key_lengths", r"n_{\text{tokens}} + \mathrm{key\_lengths}");
    check(Latex, "2 * (1 / 2)", r"2 \cdot \frac{1}{2}");
    check(Typst, "-(a + b) / (beta * c)", "-frac(a + b, beta thin c)");
    check(Typst, "f(x, y) same_bits -key", r#"f (x, y) equiv_"bits" -"key""#);
    check(
        Words,
        "-(a + b) / (beta * c)",
        "minus open parenthesis a plus b close parenthesis over open parenthesis beta times c close parenthesis",
    );
    check(
        Words,
        "attention(Q, K, V, mask=M) + V",
        "open parenthesis attention of Q, K and V with mask M close parenthesis plus V",
    );
    check(
        Words,
        "row(V, a) / 2 * spread(V)",
        "open parenthesis row a of V over 2 close parenthesis times the spread of V",
    );
    // What stands side by side is one matrix of blocks, however it was put together.
    check(Latex, "hcat(hcat(a, b), hcat(c, d))", r"\begin{bmatrix} a & b & c & d \end{bmatrix}");
    check(
        Latex,
        "vcat(vcat(a, b), hcat(c, d))",
        r"\begin{bmatrix} a \\ b \\ \begin{bmatrix} c & d \end{bmatrix} \end{bmatrix}",
    );
    let math =
        |inner: &str| format!("<math xmlns=\"http://www.w3.org/1998/Math/MathML\">{inner}</math>");
    check(MathMl, "a / n_q", &math("<mfrac><mi>a</mi><msub><mi>n</mi><mi>q</mi></msub></mfrac>"));
    check(
        MathMl,
        "sqrt(x).T",
        &math("<msup><mrow><mo>(</mo><msqrt><mi>x</mi></msqrt><mo>)</mo></mrow><mo>⊤</mo></msup>"),
    );
}
