//! LaTeX source with amsmath and amssymb, for any engine.

use qkvet_prove::render::{Style, render};

use super::document::{Block, Document, Inline, Marker, letter};

const PREAMBLE: &str = r"\documentclass[11pt,a4paper]{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{amsmath,amssymb}
\usepackage[margin=25mm]{geometry}
\setlength{\parindent}{0pt}
\setlength{\parskip}{6pt}
\allowdisplaybreaks
";

pub(super) fn print(document: &Document) -> String {
    let mut text = PREAMBLE.to_owned();
    text += "\\begin{document}\n";
    text += &format!("\\section*{{{}}}\n{}\n", escape(&document.title), escape(&document.subtitle));
    for block in &document.blocks {
        text.push('\n');
        text += &match block {
            Block::Question { title, points } => format!("\\subsection*{{{} ({points} points)}}\n", escape(title)),
            Block::Part { letter, points, text } => {
                format!("\\textbf{{({letter})}} {} \\hfill\\textit{{[{points}]}}\n", inlines(text))
            }
            Block::Label(label) => format!("\\textbf{{{}}}\n", escape(label)),
            Block::Paragraph(line) => format!("{}\n", inlines(line)),
            Block::Display(line) => format!("\\[\n{}\n\\]\n", line.iter().map(displayed).collect::<String>()),
            Block::Figure(figure) => {
                format!("\\[\n{}\n\\]\n", figure.written().iter().map(displayed).collect::<String>())
            }
            Block::List(marker, items) => {
                let items: String = items.iter().enumerate().map(|(at, item)| entry(*marker, at, item)).collect();
                format!("\\begin{{itemize}}\n{items}\\end{{itemize}}\n")
            }
            Block::Room(lines) => format!("\\vspace{{{lines}\\baselineskip}}\n"),
            Block::Line(before) => format!("{}\\hrulefill\n", inlines(before)),
        };
    }
    text + "\\end{document}\n"
}

fn entry(marker: Marker, at: usize, item: &[Inline]) -> String {
    let item = inlines(item);
    match marker {
        Marker::Dot => format!("\\item {item}\n"),
        Marker::Letter => format!("\\item[({})] {item}\n", letter(at)),
        Marker::Box => format!("\\item[$\\square$] ({}) {item}\n", letter(at)),
        Marker::TrueFalse => format!("\\item[] $\\square$ true $\\square$ false: {item}\n"),
        Marker::Number => format!("\\item[{}.] {item}\n", at + 1),
    }
}

fn displayed(inline: &Inline) -> String {
    match inline {
        Inline::Math(expr) => render(expr, Style::Latex),
        Inline::Text(text) => match text.trim() {
            "≈" => r" \approx ".to_owned(),
            "=" => " = ".to_owned(),
            "≤" => r" \le ".to_owned(),
            "≥" => r" \ge ".to_owned(),
            "," => r",\quad ".to_owned(),
            text => format!("\\quad\\text{{{}}}", escape(text)),
        },
        Inline::Strong(text) | Inline::Code(text) => format!("\\quad\\text{{{}}}", escape(text)),
    }
}

fn inlines(line: &[Inline]) -> String {
    line.iter()
        .map(|inline| match inline {
            Inline::Text(text) => escape(text),
            Inline::Strong(text) => format!("\\textbf{{{}}}", escape(text)),
            Inline::Code(code) => format!("\\texttt{{{}}}", escape(code)),
            Inline::Math(expr) => format!("${}$", render(expr, Style::Latex)),
        })
        .collect()
}

/// Text that LaTeX prints as it is, signs of mathematics as formulas.
pub(super) fn escape(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => format!("\\{c}"),
            '\\' => r"\textbackslash{}".to_owned(),
            '~' => r"\textasciitilde{}".to_owned(),
            '^' => r"\textasciicircum{}".to_owned(),
            '<' | '>' => format!("${c}$"),
            '√' => r"$\surd$".to_owned(),
            '≈' => r"$\approx$".to_owned(),
            '≤' => r"$\le$".to_owned(),
            '≥' => r"$\ge$".to_owned(),
            '≠' => r"$\neq$".to_owned(),
            '×' => r"$\times$".to_owned(),
            '·' => r"$\cdot$".to_owned(),
            '−' => "$-$".to_owned(),
            '→' => r"$\to$".to_owned(),
            '∞' => r"$\infty$".to_owned(),
            'ᵀ' => r"$^\top$".to_owned(),
            'Σ' => r"$\Sigma$".to_owned(),
            'ε' => r"$\varepsilon$".to_owned(),
            'μ' => r"$\mu$".to_owned(),
            'σ' => r"$\sigma$".to_owned(),
            'β' => r"$\beta$".to_owned(),
            'γ' => r"$\gamma$".to_owned(),
            '²' => "$^2$".to_owned(),
            '½' => r"$\tfrac12$".to_owned(),
            '…' => r"\dots{}".to_owned(),
            c => c.to_string(),
        })
        .collect()
}
