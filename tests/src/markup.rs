//! Markup as tests read it: tags that close, in order, with their attributes and text.

/// One element of a page or an XML document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Names from the outermost element to this one.
    pub path: Vec<String>,
    /// Attributes with their values, character references replaced.
    pub attributes: Vec<(String, String)>,
    /// Text directly in it, character references replaced.
    pub text: String,
}

impl Element {
    /// Its own name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }

    /// The value of an attribute.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Elements of HTML that have no end.
const VOID: [&str; 5] = ["meta", "link", "br", "input", "img"];
/// Elements of HTML whose text is no markup.
const RAW: [&str; 2] = ["style", "script"];

/// All elements in the order in which they begin.
///
/// # Errors
/// What is not well formed: an element that does not end or ends elsewhere, an attribute without
/// quotes or twice, a bare `<`, `&` or `>`.
pub fn elements(text: &str, is_html: bool) -> Result<Vec<Element>, String> {
    let (mut found, mut open): (Vec<Element>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        if let Some(element) = open.last() {
            found[*element].text.push_str(&unescaped(before)?);
        } else if !before.trim().is_empty() {
            return Err(format!("text outside: {before:?}"));
        }
        let end = end_of(tag).ok_or_else(|| format!("a tag that does not end: {:?}", head(tag)))?;
        let inner = &tag[1..end];
        rest = &tag[end + 1..];
        if inner.starts_with('!') || inner.starts_with('?') {
            continue;
        }
        if let Some(name) = inner.strip_prefix('/') {
            let element =
                open.pop().ok_or_else(|| format!("an end without a beginning: {name}"))?;
            if found[element].name() != name {
                return Err(format!("expected </{}>, got </{name}>", found[element].name()));
            }
            continue;
        }
        let is_closed = inner.ends_with('/');
        let inner = inner.trim_end_matches('/');
        let (name, attributes) = inner.split_once(char::is_whitespace).unwrap_or((inner, ""));
        let mut path = open.last().map_or_else(Vec::new, |element| found[*element].path.clone());
        path.push(name.to_owned());
        found.push(Element { path, attributes: attributes_of(attributes)?, text: String::new() });
        if is_closed || (is_html && VOID.contains(&name)) {
            continue;
        }
        open.push(found.len() - 1);
        if is_html && RAW.contains(&name) {
            let close = format!("</{name}>");
            let at = rest.find(&close).ok_or_else(|| format!("<{name}> does not end"))?;
            let (raw, after) = rest.split_at(at);
            found.last_mut().ok_or("no element")?.text.push_str(raw);
            rest = after;
        }
    }
    if let Some(element) = open.last() {
        return Err(format!("<{}> does not end", found[*element].name()));
    }
    if rest.trim().is_empty() {
        Ok(found)
    } else {
        Err(format!("text at the end: {:?}", head(rest)))
    }
}

fn head(text: &str) -> String {
    text.chars().take(60).collect()
}

/// Where a tag ends: the first `>` outside of quotes.
fn end_of(tag: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in tag.char_indices() {
        match (quote, c) {
            (None, '>') => return Some(at),
            (None, '"') => quote = Some('"'),
            (Some(open), c) if c == open => quote = None,
            _ => {}
        }
    }
    None
}

fn attributes_of(mut text: &str) -> Result<Vec<(String, String)>, String> {
    let mut found: Vec<(String, String)> = Vec::new();
    loop {
        text = text.trim_start();
        if text.is_empty() {
            return Ok(found);
        }
        let end = text.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let value = match rest.strip_prefix('=') {
            None => {
                text = rest;
                String::new()
            }
            Some(rest) => {
                let inner =
                    rest.strip_prefix('"').ok_or_else(|| format!("{name}: expected quotes"))?;
                let (value, after) =
                    inner.split_once('"').ok_or_else(|| format!("{name}: expected an end"))?;
                text = after;
                unescaped(value)?
            }
        };
        if found.iter().any(|(known, _)| known == name) {
            return Err(format!("{name} twice"));
        }
        found.push((name.to_owned(), value));
    }
}

/// The text that stands for itself.
fn unescaped(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['&', '<']) {
        out.push_str(&rest[..at]);
        let (name, after) = rest[at..]
            .strip_prefix('&')
            .and_then(|rest| rest.split_once(';'))
            .ok_or_else(|| format!("a bare character at {:?}", head(&rest[at..])))?;
        let number = name.strip_prefix('#').map(|digits| match digits.strip_prefix('x') {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => digits.parse(),
        });
        out.push(match (name, number) {
            ("amp", _) => '&',
            ("lt", _) => '<',
            ("gt", _) => '>',
            ("quot", _) => '"',
            (_, Some(Ok(number))) => {
                char::from_u32(number).ok_or_else(|| format!("no character: &{name};"))?
            }
            _ => return Err(format!("an unknown reference: &{name};")),
        });
        rest = after;
    }
    Ok(out + rest)
}
