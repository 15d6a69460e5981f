//! Signs that LaTeX's text fonts lack, as formulas.

/// Text with such signs as formulas, all others as `plain` has them.
pub(super) fn with_signs(text: &str, plain: impl Fn(char) -> String) -> String {
    let mut all = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let (mark, of): (char, fn(char) -> Option<&'static str>) = match (raised(c), lowered(c)) {
            (Some(_), _) => ('^', raised),
            (None, Some(_)) => ('_', lowered),
            (None, None) => {
                all += &sign(c).map_or_else(|| plain(c), |sign| format!("${sign}$"));
                continue;
            }
        };
        // Two exponents side by side are one: each on its own would stand in a formula of its own.
        let mut script = of(c).unwrap_or_default().to_owned();
        let mut length = 1;
        while let Some(next) = rest.peek().copied().and_then(of) {
            if script.ends_with(|c: char| c.is_ascii_alphabetic()) {
                script.push(' ');
            }
            script += next;
            length += 1;
            rest.next();
        }
        all += &if length == 1 {
            format!("${mark}{script}$")
        } else {
            format!("${mark}{{{script}}}$")
        };
    }
    all
}

fn lowered(c: char) -> Option<&'static str> {
    Some(match c {
        '₀' => "0",
        '₁' => "1",
        '₂' => "2",
        '₃' => "3",
        '₄' => "4",
        '₅' => "5",
        '₆' => "6",
        '₇' => "7",
        '₈' => "8",
        '₉' => "9",
        '₊' => "+",
        '₋' => "-",
        'ᵢ' => "i",
        'ⱼ' => "j",
        'ₖ' => "k",
        'ₙ' => "n",
        'ₘ' => "m",
        _ => return None,
    })
}

fn raised(c: char) -> Option<&'static str> {
    Some(match c {
        '⁰' => "0",
        '¹' => "1",
        '²' => "2",
        '³' => "3",
        '⁴' => "4",
        '⁵' => "5",
        '⁶' => "6",
        '⁷' => "7",
        '⁸' => "8",
        '⁹' => "9",
        '⁺' => "+",
        '⁻' => "-",
        'ⁱ' => "i",
        'ⁿ' => "n",
        'ᵏ' => "k",
        'ᵀ' => r"\top",
        '′' => r"\prime",
        '″' => r"\prime\prime",
        _ => return None,
    })
}

fn sign(c: char) -> Option<&'static str> {
    Some(match c {
        '<' => "<",
        '>' => ">",
        '−' => "-",
        '√' => r"\surd",
        '≈' => r"\approx",
        '≤' => r"\le",
        '≥' => r"\ge",
        '≠' => r"\neq",
        '≡' => r"\equiv",
        '∝' => r"\propto",
        '∼' => r"\sim",
        '≪' => r"\ll",
        '≫' => r"\gg",
        '×' => r"\times",
        '·' | '⋅' => r"\cdot",
        '±' => r"\pm",
        '∓' => r"\mp",
        '⊗' => r"\otimes",
        '⊕' => r"\oplus",
        '⊙' => r"\odot",
        '∘' => r"\circ",
        '∑' => r"\sum",
        '∏' => r"\prod",
        '∫' => r"\int",
        '∂' => r"\partial",
        '∇' => r"\nabla",
        '∞' => r"\infty",
        '→' => r"\to",
        '←' => r"\leftarrow",
        '↔' => r"\leftrightarrow",
        '↦' => r"\mapsto",
        '⇒' => r"\Rightarrow",
        '⇐' => r"\Leftarrow",
        '⇔' => r"\Leftrightarrow",
        '∀' => r"\forall",
        '∃' => r"\exists",
        '¬' => r"\neg",
        '∧' => r"\land",
        '∨' => r"\lor",
        '⊤' => r"\top",
        '⊥' => r"\bot",
        '∈' => r"\in",
        '∉' => r"\notin",
        '∅' => r"\emptyset",
        '⊂' => r"\subset",
        '⊆' => r"\subseteq",
        '∪' => r"\cup",
        '∩' => r"\cap",
        '‖' => r"\|",
        '⟨' => r"\langle",
        '⟩' => r"\rangle",
        '⌈' => r"\lceil",
        '⌉' => r"\rceil",
        '⌊' => r"\lfloor",
        '⌋' => r"\rfloor",
        '✓' => r"\checkmark",
        'ℓ' => r"\ell",
        'ℝ' => r"\mathbb{R}",
        'ℕ' => r"\mathbb{N}",
        'ℤ' => r"\mathbb{Z}",
        '𝔼' => r"\mathbb{E}",
        '½' => r"\tfrac12",
        '⅓' => r"\tfrac13",
        '¼' => r"\tfrac14",
        '¾' => r"\tfrac34",
        '∥' => r"\parallel",
        '≅' => r"\cong",
        '≃' => r"\simeq",
        '∣' => r"\mid",
        '≲' => r"\lesssim",
        '≳' => r"\gtrsim",
        '⟶' => r"\longrightarrow",
        '∗' => "*",
        '⋯' => r"\cdots",
        '⋮' => r"\vdots",
        c => return greek(c),
    })
}

/// Capitals that look as Latin ones do are those in LaTeX.
fn greek(c: char) -> Option<&'static str> {
    Some(match c {
        'α' => r"\alpha",
        'β' => r"\beta",
        'γ' => r"\gamma",
        'δ' => r"\delta",
        'ε' => r"\varepsilon",
        'ϵ' => r"\epsilon",
        'ζ' => r"\zeta",
        'η' => r"\eta",
        'θ' => r"\theta",
        'ϑ' => r"\vartheta",
        'ι' => r"\iota",
        'κ' => r"\kappa",
        'λ' => r"\lambda",
        // The sign for a millionth is another character.
        'μ' | 'µ' => r"\mu",
        'ν' => r"\nu",
        'ξ' => r"\xi",
        'ο' => "o",
        'π' => r"\pi",
        'ρ' => r"\rho",
        'σ' => r"\sigma",
        'ς' => r"\varsigma",
        'τ' => r"\tau",
        'υ' => r"\upsilon",
        'φ' => r"\varphi",
        'ϕ' => r"\phi",
        'χ' => r"\chi",
        'ψ' => r"\psi",
        'ω' => r"\omega",
        'Γ' => r"\Gamma",
        'Δ' => r"\Delta",
        'Θ' => r"\Theta",
        'Λ' => r"\Lambda",
        'Ξ' => r"\Xi",
        'Π' => r"\Pi",
        'Σ' => r"\Sigma",
        'Υ' => r"\Upsilon",
        'Φ' => r"\Phi",
        'Ψ' => r"\Psi",
        'Ω' => r"\Omega",
        'Α' => r"\mathrm{A}",
        'Β' => r"\mathrm{B}",
        'Ε' => r"\mathrm{E}",
        'Ζ' => r"\mathrm{Z}",
        'Η' => r"\mathrm{H}",
        'Ι' => r"\mathrm{I}",
        'Κ' => r"\mathrm{K}",
        'Μ' => r"\mathrm{M}",
        'Ν' => r"\mathrm{N}",
        'Ο' => r"\mathrm{O}",
        'Ρ' => r"\mathrm{P}",
        'Τ' => r"\mathrm{T}",
        'Χ' => r"\mathrm{X}",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::with_signs;

    #[test]
    fn signs_are_formulas_and_exponents_side_by_side_are_one() {
        let shown = |text: &str| with_signs(text, |c| c.to_string());
        assert_eq!(shown("10⁻² ≪ x²"), "10$^{-2}$ $\\ll$ x$^2$");
        assert_eq!(shown("Aᵀ²"), "A$^{\\top 2}$");
        assert_eq!(shown("x₁₂ + y₃"), "x$_{12}$ + y$_3$");
        let greek: String = ('Α'..='Ω').chain('α'..='ω').filter(|c| *c != '\u{3a2}').collect();
        for text in [greek.as_str(), "∑∏≫≪⇒⇔∀∃⊤⊥∂∇✓≡∝⊗⊕‖⟨⟩ℝ←↔±⁻⁰¹²³⁴⁵⁶⁷⁸⁹"]
        {
            assert!(shown(text).is_ascii(), "{}", shown(text));
        }
    }
}
