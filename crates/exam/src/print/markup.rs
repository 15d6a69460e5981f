//! Text in the markup of each format, so that it is printed as it is.

use super::symbols::with_signs;

/// Text in HTML and in XML.
pub(crate) fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Text that LaTeX prints as it is, signs of mathematics as formulas.
pub(super) fn latex(text: &str) -> String {
    with_signs(text, |c| match c {
        '&' | '%' | '$' | '#' | '_' | '{' | '}' => format!("\\{c}"),
        '\\' => r"\textbackslash{}".to_owned(),
        '~' => r"\textasciitilde{}".to_owned(),
        '^' => r"\textasciicircum{}".to_owned(),
        '…' => r"\dots{}".to_owned(),
        c => c.to_string(),
    })
}

/// Text in Markdown.
pub(super) fn markdown(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\\' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '#' | '$' => format!("\\{c}"),
            c => c.to_string(),
        })
        .collect()
}
