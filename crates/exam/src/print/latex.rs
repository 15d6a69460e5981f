//! LaTeX source with amsmath, amssymb and graphicx, for any engine.

use super::document::{Block, Document, Inline, Marker, kept, letter};
use super::page;
use crate::counted::of_points;

const PREAMBLE: &str = r"\documentclass[11pt,a4paper]{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{amsmath,amssymb,graphicx}
\usepackage[margin=25mm]{geometry}
\setlength{\parindent}{0pt}
\setlength{\parskip}{6pt}
\allowdisplaybreaks
\setcounter{MaxMatrixCols}{40}
% At the right end of the last line, or of one more where there is no room.
\newcommand{\points}[1]{{\unskip\nobreak\hfill\penalty50\hskip1em\hbox{}\nobreak\hfill\textit{[#1]}\parfillskip=0pt\par}}
% A new page where less room than that is left.
\newcommand{\keep}[1]{\par\penalty-100\ifdim\dimexpr\pagegoal-\pagetotal\relax<#1\newpage\fi}
";

/// Lines that are kept together; a page has more.
const MOST_LINES: usize = 40;

pub(super) fn print(document: &Document) -> String {
    let mut text = PREAMBLE.to_owned();
    // Formulas between words are not broken everywhere: lines end where they can, and none is too long.
    text += "\\begin{document}\n\\raggedright\n";
    text += &format!("\\section*{{{}}}\n{}\n", escape(&document.title), escape(&document.subtitle));
    let kept = kept(&document.blocks);
    for (at, block) in document.blocks.iter().enumerate() {
        text.push('\n');
        if kept[at] && matches!(block, Block::Question { .. } | Block::Part { .. }) {
            text += &format!("\\keep{{{}\\baselineskip}}\n", lines(&document.blocks[at..]));
        }
        text += &match block {
            Block::Question { title, points } => {
                format!("\\subsection*{{{} ({})}}\n", escape(title), of_points(*points))
            }
            Block::Part { letter, points, text } => {
                format!("\\textbf{{({letter})}} {} \\points{{{points}}}\n", inlines(text))
            }
            Block::Label(label) => format!("\\textbf{{{}}}\n", escape(label)),
            Block::Paragraph(line) => format!("{}\n", inlines(line)),
            Block::Display(line) => page::display(line),
            Block::Figure(figure) => page::display(&figure.written()),
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

/// About how many lines a part has with the room for its answer.
fn lines(blocks: &[Block]) -> usize {
    let mut lines = 0;
    for block in blocks {
        lines += match block {
            Block::Room(room) => room + 1,
            Block::List(_, items) => 2 * items.len(),
            Block::Display(_) | Block::Figure(_) => 4,
            _ => 2,
        };
        if matches!(block, Block::Room(_) | Block::Line(_)) {
            break;
        }
    }
    lines.min(MOST_LINES)
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

fn inlines(line: &[Inline]) -> String {
    line.iter()
        .map(|inline| match inline {
            Inline::Text(text) => escape(text),
            Inline::Strong(text) => format!("\\textbf{{{}}}", escape(text)),
            Inline::Code(code) => format!("\\texttt{{{}}}", escape(code)),
            Inline::Math(expr) => page::inline(expr),
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
            'α' => r"$\alpha$".to_owned(),
            'β' => r"$\beta$".to_owned(),
            'γ' => r"$\gamma$".to_owned(),
            '²' => "$^2$".to_owned(),
            '³' => "$^3$".to_owned(),
            '⁴' => "$^4$".to_owned(),
            '½' => r"$\tfrac12$".to_owned(),
            '𝔼' => r"$\mathbb{E}$".to_owned(),
            '∈' => r"$\in$".to_owned(),
            '…' => r"\dots{}".to_owned(),
            c => c.to_string(),
        })
        .collect()
}
