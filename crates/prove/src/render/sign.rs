//! Every sign in every style, once.

/// One sign in each style, with the space around it where a style does not make its own.
#[derive(Debug)]
pub(super) struct Sign {
    pub(super) unicode: &'static str,
    pub(super) latex: &'static str,
    pub(super) typst: &'static str,
    pub(super) mathml: &'static str,
    pub(super) words: &'static str,
}

macro_rules! signs {
    ($($name:ident: $unicode:literal, $latex:literal, $typst:literal, $mathml:literal, $words:literal;)*) => {
        $(pub(super) const $name: Sign =
            Sign { unicode: $unicode, latex: $latex, typst: $typst, mathml: $mathml, words: $words };)*
    };
}

signs! {
    // Between two operands.
    OR: " or ", r" \text{ or } ", r#" " or " "#, "<mtext>&#xA0;or&#xA0;</mtext>", " or ";
    AND: " and ", r" \text{ and } ", r#" " and " "#, "<mtext>&#xA0;and&#xA0;</mtext>", " and ";
    EQ: " = ", " = ", " = ", "<mo>=</mo>", " equals ";
    // `Let x = y`.
    DEFINED: " = ", " = ", " = ", "<mo>=</mo>", " be ";
    NE: " ≠ ", r" \neq ", " != ", "<mo>≠</mo>", " does not equal ";
    LE: " ≤ ", r" \leq ", " <= ", "<mo>≤</mo>", " is at most ";
    LT: " < ", " < ", " < ", "<mo>&lt;</mo>", " is less than ";
    GE: " ≥ ", r" \geq ", " >= ", "<mo>≥</mo>", " is at least ";
    GT: " > ", " > ", " > ", "<mo>&gt;</mo>", " is greater than ";
    IN: " ∈ ", r" \in ", " in ", "<mo>∈</mo>", " is in ";
    SAME_BITS: " ≡_bits ", r" \equiv_{\text{bits}} ", r#" equiv_"bits" "#, "<msub><mo>≡</mo><mtext>bits</mtext></msub>",
        " equals bit for bit ";
    PLUS: " + ", " + ", " + ", "<mo>+</mo>", " plus ";
    MINUS: " − ", " - ", " - ", "<mo>−</mo>", " minus ";
    TIMES: " ", r" \, ", " thin ", "<mo lspace=\"0.17em\" rspace=\"0\">&#x2062;</mo>", " times ";
    DOT: " · ", r" \cdot ", " dot ", "<mo>·</mo>", " times ";
    CROSS: "×", r" \times ", " times ", "<mo lspace=\"0\" rspace=\"0\">×</mo>", " by ";
    MOD: " mod ", r" \bmod ", " mod ", "<mo lspace=\"0.22em\" rspace=\"0.22em\">mod</mo>", " modulo ";
    COMMA: ", ", ", ", ", ", "<mo>,</mo>", ", ";
    INDEX_COMMA: ",", ",", ",", "<mo>,</mo>", " comma ";
    SEMICOLON: "; ", "; ", r"\; ", "<mo>;</mo>", " with ";
    APPLIED: "", "", " ", "<mo>&#x2061;</mo>", " of ";
    SUMMED: " ", " ", " ", "<mo>&#x2061;</mo>", " of ";
    // Before one operand.
    NEGATIVE: "−", "-", "-", "<mo form=\"prefix\">−</mo>", "minus ";
    NOT: "not ", r"\text{not } ", r#""not " "#, "<mtext>not&#xA0;</mtext>", "not ";
    WITHOUT: "∖", r"\setminus ", "without ", "<mo form=\"prefix\" lspace=\"0\" rspace=\"0\">∖</mo>", "without ";
    // Things.
    ONES: "𝟏", r"\mathbf{1}", "bold(1)", "<mn>𝟏</mn>", "the ones";
    ZEROS: "𝟎", r"\mathbf{0}", "bold(0)", "<mn>𝟎</mn>", "the zeros";
    IDENTITY: "I", "I", "I", "<mi>I</mi>", "the identity";
    EULER: "e", "e", "e", "<mi>e</mi>", "e";
    EXPECTED: "𝔼", r"\mathbb{E}", "EE", "<mi>𝔼</mi>", "the expected value";
    SUM: "Σ", r"\sum", "sum", "<mo largeop=\"false\">∑</mo>", "the sum";
    ALL_OF_THEM: ":", ":", ":", "<mo lspace=\"0\" rspace=\"0\">:</mo>", "all";
    INFINITY: "∞", r"\infty", "infinity", "<mi>∞</mi>", "infinity";
}

/// Greek letters by their English names; every letter that LaTeX has a command for.
const GREEK: [(&str, &str); 34] = [
    ("alpha", "α"),
    ("beta", "β"),
    ("gamma", "γ"),
    ("delta", "δ"),
    ("epsilon", "ε"),
    ("zeta", "ζ"),
    ("eta", "η"),
    ("theta", "θ"),
    ("iota", "ι"),
    ("kappa", "κ"),
    ("lambda", "λ"),
    ("mu", "μ"),
    ("nu", "ν"),
    ("xi", "ξ"),
    ("pi", "π"),
    ("rho", "ρ"),
    ("sigma", "σ"),
    ("tau", "τ"),
    ("upsilon", "υ"),
    ("phi", "φ"),
    ("chi", "χ"),
    ("psi", "ψ"),
    ("omega", "ω"),
    ("Gamma", "Γ"),
    ("Delta", "Δ"),
    ("Theta", "Θ"),
    ("Lambda", "Λ"),
    ("Xi", "Ξ"),
    ("Pi", "Π"),
    ("Sigma", "Σ"),
    ("Upsilon", "Υ"),
    ("Phi", "Φ"),
    ("Psi", "Ψ"),
    ("Omega", "Ω"),
];

/// The Greek letter of an English name.
pub(super) fn greek(name: &str) -> Option<&'static str> {
    GREEK.iter().find(|(known, _)| *known == name).map(|(_, letter)| *letter)
}
