//! What other programs read is well formed, whatever the names are.

use proptest::prelude::*;
use qkvet_prove::outcome::{Shown, prove};
use qkvet_prove::render::{Style, render};
use qkvet_spec::syntax::{Expr, ExprKind};
use qkvet_spec::{Catalog, Proof};

use crate::render::reading::formulas;
use crate::render::{FUNCTIONS, node, tree};

#[test]
fn hostile_names_are_data() {
    let name = node(ExprKind::Name("<b>&\"$}\\_#%^~\u{7}".to_owned()));
    let call = node(ExprKind::Apply {
        function: "<i>\"".to_owned(),
        args: vec![name.clone()],
        named: vec![("]{".to_owned(), name)],
    });
    assert_eq!(
        render(&call, Style::MathMl),
        "<math xmlns=\"http://www.w3.org/1998/Math/MathML\"><mrow><mi>&lt;i&gt;&quot;</mi><mo>&#x2061;</mo><mrow>\
         <mo stretchy=\"false\">(</mo><mrow><mi>&lt;b&gt;&amp;&quot;$}\\_#%^~ </mi><mo>;</mo><mrow><mtext>]{</mtext><mo>=</mo>\
         <mi>&lt;b&gt;&amp;&quot;$}\\_#%^~ </mi></mrow></mrow><mo stretchy=\"false\">)</mo></mrow></mrow></math>"
    );
    let latex = r#"\text{<b>\&"\$\}\textbackslash{}\_\#\%\textasciicircum{}\textasciitilde{} }"#;
    assert!(render(&call, Style::Latex).contains(latex), "{}", render(&call, Style::Latex));
    let typst = render(&call, Style::Typst);
    assert!(typst.contains(r#""<b>&\"$}\\_#%^~ ""#), "{typst}");
    for style in Style::ALL {
        for kind in [
            ExprKind::Number(f64::NAN),
            ExprKind::Number(f64::NEG_INFINITY),
            ExprKind::Tuple(Vec::new()),
            ExprKind::Name(String::new()),
            ExprKind::Name("_".to_owned()),
            ExprKind::Apply { function: "row".to_owned(), args: Vec::new(), named: Vec::new() },
        ] {
            render(&node(kind), style);
        }
    }
}

/// Whether every opening sign is closed in its order; quoted text and escaped signs are no signs.
fn is_balanced(text: &str) -> bool {
    let mut open = Vec::new();
    let mut signs = text.chars();
    let mut quoted = false;
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => drop(signs.next()),
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' => open.push(')'),
            '[' => open.push(']'),
            '{' => open.push('}'),
            ')' | ']' | '}' if open.pop() != Some(sign) => return false,
            _ => {}
        }
    }
    open.is_empty() && !quoted
}

/// Whether every element is closed in its order, and no sign stands for markup.
fn is_well_formed(xml: &str) -> bool {
    let mut open = Vec::new();
    let mut parts = xml.split('<');
    parts.next().is_some_and(str::is_empty)
        && parts.all(|part| match part.split_once('>') {
            Some((tag, text)) => {
                let closes = match tag.strip_prefix('/') {
                    Some(name) => open.pop() == Some(name),
                    None => {
                        open.extend(tag.split(' ').next());
                        true
                    }
                };
                closes
                    && !text.contains('>')
                    && text.split('&').skip(1).all(|entity| entity.contains(';'))
            }
            None => false,
        })
        && open.is_empty()
}

fn assert_well_formed(what: &str, expr: &Expr) {
    let latex = render(expr, Style::Latex);
    let count = |sign| latex.matches(sign).count();
    assert!(is_balanced(&latex), "{what}: {latex}");
    assert_eq!(count(r"\left"), count(r"\right"), "{what}: {latex}");
    assert_eq!(count(r"\begin{"), count(r"\end{"), "{what}: {latex}");
    let typst = render(expr, Style::Typst);
    assert!(is_balanced(&typst), "{what}: {typst}");
    let mathml = render(expr, Style::MathMl);
    assert!(is_well_formed(&mathml), "{what}: {mathml}");
}

#[test]
fn the_checks_of_form_see_what_is_malformed() {
    assert!(is_balanced(r#"\{ (a [b]) "(" \]"#));
    for bad in ["(a]", "(", "\"(", ")"] {
        assert!(!is_balanced(bad), "{bad}");
    }
    assert!(is_well_formed("<a><b x=\"1\">&lt;</b></a>"));
    for bad in ["<a><b></a></b>", "<a>", "<a>b > c</a>", "a</a>", "<a>&</a>", "<a>b < c</a>"] {
        assert!(!is_well_formed(bad), "{bad}");
    }
}

#[test]
fn every_function_is_well_formed() {
    FUNCTIONS.iter().for_each(|text| assert_well_formed(text, &tree(text)));
}

#[test]
fn every_step_about_moments_is_well_formed() {
    let catalog = Catalog::embedded().unwrap();
    let laws = catalog.laws.values().filter(|law| law.law.proof == Proof::Moments);
    let mut steps = 0;
    for law in laws {
        for line in prove(law).lines {
            let Shown::Equation(equation) = line.shown else {
                panic!("{}: expected equations", law.law.law)
            };
            assert_well_formed(&law.law.law, &equation);
            // No style shows the notation of the law's file.
            let latex = render(&equation, Style::Latex);
            assert!(!["@", ".T", "*", "sqrt("].iter().any(|sign| latex.contains(sign)), "{latex}");
            steps += 1;
        }
    }
    assert!(steps > 50, "{steps}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn formulas_are_well_formed(expr in formulas()) {
        assert_well_formed("formula", &expr);
    }
}
