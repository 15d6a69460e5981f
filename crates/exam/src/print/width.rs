//! How wide a formula is on paper: an estimate that is not below what TeX makes of it.
//!
//! It is derived from the metrics of Computer Modern at its own size (widths and italic corrections
//! of `cmmi10` and `cmr10`, rounded up), the spaces that TeX puts around operators, relations and
//! commas, and the widest form of each delimiter. Exponents and indices are taken at 0.82 of the
//! size, which no smaller size of the family exceeds.

/// Widths of a to z in formulas, in hundredths of the size.
const ITALIC_LOWER: [u16; 26] = [
    53, 43, 44, 53, 47, 60, 52, 58, 35, 47, 56, 32, 88, 61, 49, 51, 49, 48, 47, 37, 58, 53, 75, 58,
    53, 51,
];
/// Widths of A to Z in formulas.
const ITALIC_UPPER: [u16; 26] = [
    76, 81, 79, 86, 80, 79, 79, 92, 52, 66, 93, 69, 108, 92, 80, 79, 80, 77, 68, 73, 80, 81, 109,
    91, 81, 76,
];
/// Widths of a to z in words.
const ROMAN_LOWER: [u16; 26] = [
    51, 56, 45, 56, 45, 31, 51, 56, 28, 31, 53, 28, 84, 56, 51, 56, 53, 40, 40, 39, 56, 53, 73, 53,
    53, 45,
];
/// Widths of A to Z in words.
const ROMAN_UPPER: [u16; 26] = [
    76, 71, 73, 77, 69, 66, 79, 76, 37, 52, 78, 63, 92, 76, 78, 69, 78, 74, 56, 73, 76, 76, 103,
    76, 76, 62,
];
/// Spaces around an operator, a relation, and behind a comma.
const OPERATOR: f64 = 2.0 * 0.223;
const RELATION: f64 = 2.0 * 0.278;
const PUNCTUATION: f64 = 0.167;
/// A delimiter at its widest.
const DELIMITER: f64 = 0.88;
/// Exponents and indices.
const SCRIPT: f64 = 0.82;
/// What is not known: the widest sign of the family with spaces.
const WIDEST: f64 = 1.6;

/// The width of a formula that the LaTeX printer wrote, in widths of the font (its em).
pub(super) fn width(latex: &str) -> f64 {
    let mut measure = Measure { rest: latex };
    let mut total = 0.0;
    // What closes nothing is passed over.
    while !measure.rest.is_empty() {
        total += measure.row();
        measure.token();
    }
    total
}

/// The width of words.
pub(super) fn text_width(text: &str) -> f64 {
    text.chars().map(|c| letter(c, &ROMAN_LOWER, &ROMAN_UPPER).unwrap_or_else(|| sign(c))).sum()
}

fn letter(c: char, lower: &[u16; 26], upper: &[u16; 26]) -> Option<f64> {
    let at = |first: char| usize::try_from(u32::from(c) - u32::from(first)).ok();
    let hundredths = match c {
        'a'..='z' => *lower.get(at('a')?)?,
        'A'..='Z' => *upper.get(at('A')?)?,
        _ => return None,
    };
    Some(f64::from(hundredths) / 100.0)
}

/// A sign that is no letter, without space around it.
fn sign(c: char) -> f64 {
    match c {
        '0'..='9' | '/' | '*' | '"' | '$' => 0.5,
        '(' | ')' => 0.389,
        '[' | ']' | '.' | ',' | ':' | ';' | '!' | '\'' | '|' => 0.278,
        ' ' | '-' => 0.334,
        '+' | '=' | '<' | '>' | '&' => 0.778,
        _ => 1.0,
    }
}

/// A token of a formula.
#[derive(Clone, Copy)]
enum Token<'a> {
    Command(&'a str),
    Char(char),
}

/// A formula while it is read.
struct Measure<'a> {
    rest: &'a str,
}

impl<'a> Measure<'a> {
    fn token(&mut self) -> Option<Token<'a>> {
        let rest = self.rest;
        let c = rest.chars().next()?;
        if c != '\\' {
            self.rest = &rest[c.len_utf8()..];
            return Some(Token::Char(c));
        }
        let after = &rest[1..];
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let length =
            if letters == 0 { after.chars().next().map_or(0, char::len_utf8) } else { letters };
        self.rest = &after[length..];
        Some(Token::Command(&after[..length]))
    }

    /// What stands side by side up to the end of a group, a cell or a matrix.
    fn row(&mut self) -> f64 {
        let mut total = 0.0;
        while !(self.rest.is_empty()
            || self.rest.starts_with(['}', '&'])
            || self.rest.starts_with("\\\\")
            || self.rest.starts_with("\\end"))
        {
            let Some(token) = self.token() else { break };
            total += self.one(token);
        }
        total
    }

    /// The next group or sign.
    fn argument(&mut self) -> f64 {
        self.rest = self.rest.trim_start();
        self.token().map_or(0.0, |token| self.one(token))
    }

    /// The next group as it is written.
    fn words(&mut self) -> &'a str {
        let Some(inner) = self.rest.strip_prefix('{') else { return "" };
        let mut depth = 0;
        let end = inner.char_indices().find(|(_, c)| {
            depth += match c {
                '{' => 1,
                '}' => -1,
                _ => 0,
            };
            depth < 0
        });
        let end = end.map_or(inner.len(), |(at, _)| at);
        self.rest = inner.get(end + 1..).unwrap_or_default();
        &inner[..end]
    }

    fn one(&mut self, token: Token<'a>) -> f64 {
        match token {
            Token::Char(c) => self.char(c),
            Token::Command(name) => self.command(name),
        }
    }

    fn char(&mut self, c: char) -> f64 {
        match c {
            '{' => {
                let inner = self.row();
                // A stray sign inside a group belongs to it.
                match self.token() {
                    Some(Token::Char('}')) | None => inner,
                    Some(_) => inner + WIDEST,
                }
            }
            '^' | '_' => SCRIPT * self.argument() + 0.05,
            ' ' | '\n' => 0.0,
            '+' | '-' | '*' => 0.778 + OPERATOR,
            '=' | '<' | '>' => 0.778 + RELATION,
            ':' => 0.278 + RELATION,
            ',' | ';' => 0.278 + PUNCTUATION,
            c => letter(c, &ITALIC_LOWER, &ITALIC_UPPER).unwrap_or_else(|| sign(c)),
        }
    }

    fn command(&mut self, name: &str) -> f64 {
        match name {
            "frac" => self.argument().max(self.argument()) + 0.24,
            "sqrt" => self.argument() + 1.0,
            "left" | "right" => {
                self.token();
                DELIMITER
            }
            "lVert" | "rVert" | "lfloor" | "rfloor" => DELIMITER,
            "begin" => self.environment(),
            "operatorname" => text_width(self.words()) + 2.0 * PUNCTUATION,
            "mathrm" | "text" => text_width(self.words()),
            "mathbf" | "mathbb" => 1.2 * text_width(self.words()),
            "quad" | "infty" => 1.0,
            "," => PUNCTUATION,
            ";" => 0.278,
            " " => 0.334,
            "cdot" => 0.278 + OPERATOR,
            "times" | "setminus" => 0.778 + OPERATOR,
            "leq" | "geq" | "le" | "ge" | "neq" | "approx" | "in" | "equiv" => 0.778 + RELATION,
            "{" | "}" | "_" => 0.5,
            "Gamma" | "Delta" | "Theta" | "Lambda" | "Xi" | "Pi" | "Sigma" | "Upsilon" | "Phi"
            | "Psi" | "Omega" => 0.92,
            "alpha" | "beta" | "gamma" | "delta" | "varepsilon" | "zeta" | "eta" | "theta"
            | "iota" | "kappa" | "lambda" | "mu" | "nu" | "xi" | "pi" | "rho" | "sigma" | "tau"
            | "upsilon" | "varphi" | "chi" | "psi" | "omega" => 0.69,
            "top" => 0.778,
            _ => WIDEST,
        }
    }

    /// A matrix or cases: the widest cell of each column.
    fn environment(&mut self) -> f64 {
        let kind = self.words();
        let (mut columns, mut at): (Vec<f64>, usize) = (Vec::new(), 0);
        loop {
            let cell = self.row();
            if at == columns.len() {
                columns.push(cell);
            } else {
                columns[at] = columns[at].max(cell);
            }
            match self.token() {
                Some(Token::Char('&')) => at += 1,
                Some(Token::Command("\\")) => at = 0,
                Some(Token::Command("end")) => {
                    self.words();
                    break;
                }
                Some(_) => columns[at] += WIDEST,
                None => break,
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "columns are few")]
        let between = (columns.len().saturating_sub(1)) as f64;
        let (space, delimiters) =
            if kind == "cases" { (1.0, DELIMITER + 0.2) } else { (0.92, 2.0 * 0.68) };
        columns.iter().sum::<f64>() + between * space + delimiters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Widths that TeX gives in text of 10 points:
    /// `\setbox0\hbox{$\displaystyle ...$}\showthe\wd0`.
    const SET: [(&str, f64); 11] = [
        (r"\operatorname{softmax}\left(\frac{Q \, K^{\top}}{\sqrt{d_{k}}}\right) \, V", 90.21),
        (
            r"A = \begin{bmatrix} \frac{e^{\sqrt{2}/2} + 1}{2 \, e^{\sqrt{2}/2} + 1} & 1 \\ 0.5989 & 1.2033 \end{bmatrix}",
            108.42,
        ),
        (
            r"\left\lVert \operatorname{softmax}(q \, I_{n}^{\top}) - \frac{(I_{n})_{a,:} + (I_{n})_{c,:}}{2}\right\rVert_{\operatorname{max}} \leq 0.005",
            203.44,
        ),
        (
            r"\operatorname{Var}[q \, k^{\top}] = d_{k} \, (\sigma^{4} + 2 \, \mu^{2} \, \sigma^{2})",
            124.99,
        ),
        (r"\mathbb{E}[q \, k^{\top}] = \sum_{t < d_{k}} \mathbb{E}[q_{t} \, k_{t}]", 94.39),
        (r"W_{\text{Q}} = 4 \, \frac{a^{\top} \, d + d^{\top} \, c}{\beta^{2}}", 87.56),
        (r"m = \operatorname{ln}\left(\frac{(n - 1) \, (f - 1)}{2}\right) \approx 4.7362", 153.99),
        (r"\begin{bmatrix} 1 & 0 & 0 \\ 0 & 1 & 0 \end{bmatrix} \, \mathbf{1}_{2 \times 3}", 69.36),
        (r"e^{-e^{-x}} \neq \infty", 48.41),
        (
            r"\operatorname{Attention}(P \, Q, K, V; M) = \begin{cases} O & \text{where } x \leq 1 \\ 0 & \text{elsewhere} \end{cases}",
            201.40,
        ),
        (r"(1 - w_{j}), \quad x \in [-1, 1]", 96.53),
    ];

    #[test]
    fn no_formula_is_wider_than_its_estimate() {
        for (latex, points) in SET {
            let estimate = 10.0 * width(latex);
            assert!(
                points <= estimate && estimate <= 1.5 * points + 5.0,
                "{latex}: {points}, estimated {estimate:.2}"
            );
        }
    }

    #[test]
    fn what_cannot_be_read_is_measured_all_the_same() {
        for latex in
            ["}", "\\", "a}b", "\\begin{bmatrix} 1 & 2", "\\frac{1", "{&}", "\\end", "\\left", "é^"]
        {
            assert!(width(latex).is_finite(), "{latex}");
        }
    }
}
