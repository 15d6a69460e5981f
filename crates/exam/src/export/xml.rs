//! XML as a tree, which is written and escaped by a library.

use quick_xml::Writer;
use quick_xml::events::{BytesCData, BytesDecl, BytesEnd, BytesStart, BytesText, Event};

use crate::error::ExamError;

/// An element.
#[derive(Clone, Debug)]
pub(super) struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    children: Vec<Node>,
}

#[derive(Clone, Debug)]
enum Node {
    Element(Element),
    Text(String),
    Character(String),
    Markup(String),
}

/// An element without anything in it.
pub(super) fn element(name: &'static str) -> Element {
    Element { name, attributes: Vec::new(), children: Vec::new() }
}

impl Element {
    /// With an attribute.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.attributes.push((name, plain(&value.into())));
        self
    }

    /// With words in it.
    pub(super) fn text(mut self, text: impl Into<String>) -> Self {
        self.children.push(Node::Text(plain(&text.into())));
        self
    }

    /// With markup in it that is only words to XML.
    pub(super) fn cdata(mut self, text: impl Into<String>) -> Self {
        self.children.push(Node::Character(plain(&text.into())));
        self
    }

    /// With well-formed markup in it.
    pub(super) fn markup(mut self, markup: impl Into<String>) -> Self {
        self.children.push(Node::Markup(plain(&markup.into())));
        self
    }

    /// With another element in it.
    pub(super) fn child(mut self, child: Self) -> Self {
        self.children.push(Node::Element(child));
        self
    }

    /// With more elements in it.
    pub(super) fn children(mut self, children: impl IntoIterator<Item = Self>) -> Self {
        self.children.extend(children.into_iter().map(Node::Element));
        self
    }

    /// The document of which this is the root.
    ///
    /// # Errors
    /// None that text in memory has.
    pub(super) fn document(&self) -> Result<String, ExamError> {
        let mut writer = Writer::new(Vec::new());
        writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        self.write(&mut writer, 0)?;
        Ok(String::from_utf8_lossy(&writer.into_inner()).into_owned() + "\n")
    }

    fn write(&self, writer: &mut Writer<Vec<u8>>, depth: usize) -> std::io::Result<()> {
        // Between elements alone space means nothing.
        let is_open = !self.children.is_empty()
            && self.children.iter().all(|node| matches!(node, Node::Element(_)));
        let line = |writer: &mut Writer<Vec<u8>>, depth: usize| {
            writer.write_event(Event::Text(BytesText::from_escaped(format!(
                "\n{}",
                " ".repeat(depth)
            ))))
        };
        let mut start = BytesStart::new(self.name);
        for (name, value) in &self.attributes {
            start.push_attribute((*name, value.as_str()));
        }
        if depth == 0 {
            line(writer, 0)?;
        }
        if self.children.is_empty() {
            return writer.write_event(Event::Empty(start));
        }
        writer.write_event(Event::Start(start))?;
        for node in &self.children {
            match node {
                Node::Element(element) => {
                    if is_open {
                        line(writer, depth + 1)?;
                    }
                    element.write(writer, depth + 1)?;
                }
                Node::Text(text) => writer.write_event(Event::Text(BytesText::new(text)))?,
                Node::Markup(markup) => {
                    writer.write_event(Event::Text(BytesText::from_escaped(markup)))?
                }
                Node::Character(text) => {
                    for section in BytesCData::escaped(text) {
                        writer.write_event(Event::CData(section))?;
                    }
                }
            }
        }
        if is_open {
            line(writer, depth)?;
        }
        writer.write_event(Event::End(BytesEnd::new(self.name)))
    }
}

/// Without the characters that XML does not have.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_its_place() {
        let root = element("a").with("b", "\"<&\u{1}").children([
            element("c").text("<x> & ]]>"),
            element("d").cdata("<p>]]></p>"),
            element("e").markup("<p>1</p>"),
            element("f"),
        ]);
        let text = root.document().unwrap_or_else(|error| panic!("{error}"));
        for part in [
            "<a b=\"&quot;&lt;&amp; \">",
            "<c>&lt;x&gt; &amp; ]]&gt;</c>",
            "<d><![CDATA[<p>]]]]><![CDATA[></p>]]></d>",
            "<e><p>1</p></e>",
            "<f/>",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}
