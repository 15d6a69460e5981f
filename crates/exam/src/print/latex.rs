//! LaTeX source with amsmath, amssymb and graphicx, for any engine.

use super::document::{Block, Document, Inline, Marker, kept, letter};
use super::markup::latex as escape;
use super::page;
use crate::plural::of_points;

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
% More room between the rows of a matrix with fractions.
\newcommand{\tall}{\renewcommand{\arraystretch}{1.6}}
% At the foot of each page, how many there are, once LaTeX has run twice.
\makeatletter
\newcommand{\ofall}{\@ifundefined{r@last-page}{}{ of \pageref{last-page}}}
\renewcommand{\ps@plain}{\let\@oddhead\@empty\let\@evenhead\@empty\def\@oddfoot{\hfil\small\sheet{} $\cdot$ \thepage\ofall\hfil}\let\@evenfoot\@oddfoot}
\makeatother
% A new page where less room than that is left.
\newcommand{\keep}[1]{\par\penalty-100\ifdim\dimexpr\pagegoal-\pagetotal\relax<#1\newpage\fi}
";

/// Lines that are kept together; a page has more.
const MAX_LINES: usize = 40;

pub(super) fn print(document: &Document) -> String {
    let mut text = PREAMBLE.to_owned();
    // Formulas between words are not broken everywhere: lines end where they can, and none is too
    // long.
    text +=
        &format!("\\newcommand{{\\sheet}}{{{}}}\n\\pagestyle{{plain}}\n", escape(&document.footer));
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
            Block::Label(label) => format!("\\textbf{{{}}}\\par\\nobreak\n", escape(label)),
            Block::Paragraph(line) => format!("{}\n", inlines(line)),
            Block::Display(line) => page::display(line),
            Block::Figure(figure) => page::display(&figure.written()),
            Block::List(marker, items) => {
                let items: String =
                    items.iter().enumerate().map(|(at, item)| entry(*marker, at, item)).collect();
                format!("\\begin{{itemize}}\n{items}\\end{{itemize}}\n")
            }
            Block::Room(lines) => format!("\\vspace{{{lines}\\baselineskip}}\n"),
            Block::Line(before) => format!("{}\\hrulefill\n", inlines(before)),
        };
    }
    text + "\\label{last-page}\n\\end{document}\n"
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
    lines.min(MAX_LINES)
}

fn entry(marker: Marker, at: usize, item: &[Inline]) -> String {
    let item = inlines(item);
    match marker {
        // A bracket behind `\item` would be its label.
        Marker::Dot if item.starts_with('[') => format!("\\item {{}}{item}\n"),
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
