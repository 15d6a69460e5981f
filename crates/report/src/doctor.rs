//! The doctor's conversation for people: one line a message, long data cut, a mark under the first
//! field that is wrong.

use anstyle::{AnsiColor, Style};
use qkvet_spec::{Diagnosis, DoctorEvent, Quoted};

use crate::text::{cut, visible_line};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default().bold();
/// Longer text in a message is cut.
const MAX_LEN: usize = 48;
/// Longest line of a message.
const WIDTH: usize = 1000;

/// Turns events into text.
#[derive(Debug, Default)]
pub struct DoctorText {
    last: String,
}

impl DoctorText {
    /// The lines that show one event.
    pub fn event(&mut self, event: &DoctorEvent) -> String {
        match event {
            DoctorEvent::Step(title) => format!("{BOLD}{}{BOLD:#}\n", visible_line(title)),
            DoctorEvent::Sent(line) => {
                format!("  → {DIM}{}{DIM:#}\n", cut(&visible_line(&elided(line)), WIDTH))
            }
            DoctorEvent::Received(line) => {
                self.last = cut(&visible_line(&elided(&line.display().to_string())), WIDTH);
                format!("  ← {}\n", self.last)
            }
            DoctorEvent::BadField { path, expected, got, hint } => {
                let path = path.display().to_string();
                let mark = place(&self.last, &path).map_or(String::new(), |column| {
                    format!("    {}{RED}^{RED:#} {}\n", " ".repeat(column), visible_line(&path))
                });
                let field = if path.is_empty() { String::new() } else { format!("{path}: ") };
                let said = format!("{field}expected {}, got {}", expected.display(), got.display());
                let said = visible_line(&said);
                format!("{mark}  {RED}BROKEN{RED:#}  {said}\n{}", hinted(hint.as_ref()))
            }
            DoctorEvent::Shown { diagnosis, text, hint } => {
                let word = match diagnosis {
                    Diagnosis::Well => format!("{GREEN}ok{GREEN:#}    "),
                    Diagnosis::NotOffered => "-     ".to_owned(),
                    Diagnosis::Wrong => format!("{RED}WRONG{RED:#} "),
                    Diagnosis::Broken => format!("{RED}BROKEN{RED:#}"),
                };
                let text = text.display().to_string();
                format!("  {word}  {}\n{}", visible_line(&text), hinted(hint.as_ref()))
            }
        }
    }
}

fn hinted(hint: Option<&Quoted>) -> String {
    hint.map_or(String::new(), |hint| {
        format!("  hint    {}\n", visible_line(&hint.display().to_string()))
    })
}

/// The last line: what it comes to.
pub fn doctor_line(diagnosis: Diagnosis) -> String {
    match diagnosis {
        Diagnosis::Well | Diagnosis::NotOffered => {
            format!("\n{GREEN}all is well{GREEN:#}: `qkvet check` runs the laws\n")
        }
        Diagnosis::Wrong => format!("\n{RED}the conversation works, an answer is wrong{RED:#}\n"),
        Diagnosis::Broken => {
            format!("\n{RED}the program does not keep to qkvet-wire/1{RED:#}: docs/wire.md\n")
        }
    }
}

/// The message with its long texts cut: `"AAAA…(96 bytes)"` for data, `"abc…"` for the rest.
fn elided(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('"') {
        out.push_str(&rest[..=start]);
        let text = &rest[start + 1..];
        let mut escaped = false;
        let end = text.find(|c| {
            let closing = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            closing
        });
        let (text, after) = end.map_or((text, ""), |end| text.split_at(end));
        let is_data = out.ends_with("\"data\":\"");
        if text.chars().count() <= MAX_LEN {
            out.push_str(text);
        } else if is_data {
            let padding = text.bytes().rev().take_while(|b| *b == b'=').count();
            let bytes = (text.len() / 4 * 3).saturating_sub(padding);
            out.push_str(&format!("{}…({bytes} bytes)", text.chars().take(4).collect::<String>()));
        } else {
            out.push_str(&cut(text, MAX_LEN));
        }
        if after.is_empty() {
            return out;
        }
        out.push('"');
        rest = &after[1..];
    }
    out + rest
}

/// The column in characters where the last known name of a path stands.
fn place(line: &str, path: &str) -> Option<usize> {
    let mut at = None;
    for name in path.split(['.', '[', ']']).filter(|name| !name.is_empty()) {
        let from = at.unwrap_or(0);
        let Some(found) = line.get(from..).and_then(|rest| rest.find(&format!("\"{name}\"")))
        else {
            break;
        };
        at = Some(from + found);
    }
    at.map(|at| line[..at].chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_cut() {
        let data = format!(r#"{{"data":"{}==","x":"y"}}"#, "A".repeat(62));
        assert_eq!(elided(&data), r#"{"data":"AAAA…(46 bytes)","x":"y"}"#);
        assert_eq!(elided(r#"{"a":"\"b","c":"d"}"#), r#"{"a":"\"b","c":"d"}"#);
        assert_eq!(elided(r#"{"a":"open"#), r#"{"a":"open"#);
        assert_eq!(elided("no text"), "no text");
        assert!(elided(&format!(r#"{{"reason":"{}"}}"#, "é".repeat(99))).ends_with("é…\"}"));
    }

    #[test]
    fn the_wrong_field_is_marked() {
        let line = r#"{"seq":2,"é":1,"tensors":{"output":{"dtype":"float32","shape":[1,-1]}}}"#;
        let at = place(line, "tensors.output.shape[1]").expect("a place");
        assert!(line.chars().skip(at).collect::<String>().starts_with("\"shape\""));
        // A field that is not there is marked at what should hold it.
        let at = place(line, "tensors.weights").expect("a place");
        assert!(line.chars().skip(at).collect::<String>().starts_with("\"tensors\""));
        assert_eq!(place(line, ""), None);
        assert_eq!(place("not json", "seq"), None);

        let mut text = DoctorText::default();
        text.event(&DoctorEvent::Received(r#"{"seq":2,"status":"fine"}"#.into()));
        let (path, expected, got) = ("status".into(), "one of `ok`".into(), "`fine`".into());
        let shown = text.event(&DoctorEvent::BadField { path, expected, got, hint: None });
        let plain = anstream::adapter::strip_str(&shown).to_string();
        assert_eq!(
            plain,
            "             ^ status\n  BROKEN  status: expected one of `ok`, got `fine`\n"
        );
    }
}
