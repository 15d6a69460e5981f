//! QTI 2.1: a package for each variant with an item for each part and a test that holds them in
//! order.
//!
//! Formulas are MathML. A matrix is a table of entries and is marked as a whole: right, a modelled
//! mistake, or by its right entries.

use super::decimal::{Entry, shares, split};
use super::item::{Cell, Item, ItemKind, ItemMistake, Offer, Placed, Word, sides};
use super::package::zipped;
use super::xml::{Element, element};
use super::{Credit, Exam, Exported, Variant, secret};
use crate::error::ExamError;
use crate::print::{Block, Inline, Marker, Maths, escape, fragment, line_fragment};

const ITEM: &str = "http://www.imsglobal.org/xsd/imsqti_v2p1";
const PACKAGE: &str = "http://www.imsglobal.org/xsd/imscp_v1p1";
const MAP_RESPONSE: &str = "http://www.imsglobal.org/question/qti_v2p1/rptemplates/map_response";

pub(super) fn write(exam: &Exam, credit: Credit) -> Result<Vec<Exported>, ExamError> {
    let mut files = Vec::new();
    for variant in &exam.variants {
        let ids: Vec<String> =
            variant.items.iter().map(|item| format!("q-{}-{}", variant.name, item.id)).collect();
        let mut entries = vec![
            ("imsmanifest.xml".to_owned(), manifest(variant, &ids).document()?),
            ("test.xml".to_owned(), test(exam, variant, &ids).document()?),
        ];
        for (item, id) in variant.items.iter().zip(&ids) {
            entries.push((format!("{id}.xml"), assessment_item(item, id, credit).document()?));
        }
        files.push(secret(format!("{}-qti21.zip", variant.name), zipped(&entries)?));
    }
    Ok(files)
}

fn manifest(variant: &Variant, ids: &[String]) -> Element {
    let file = |name: &str| element("file").with("href", name);
    let item = |id: &String| {
        let name = format!("{id}.xml");
        element("resource")
            .with("identifier", id.as_str())
            .with("type", "imsqti_item_xmlv2p1")
            .with("href", name.as_str())
            .child(file(&name))
    };
    let test = element("resource")
        .with("identifier", "test")
        .with("type", "imsqti_test_xmlv2p1")
        .with("href", "test.xml")
        .child(file("test.xml"))
        .children(ids.iter().map(|id| element("dependency").with("identifierref", id.as_str())));
    element("manifest")
        .with("xmlns", PACKAGE)
        .with("identifier", format!("m-{}", variant.name))
        .child(
            element("metadata")
                .child(element("schema").text("QTIv2.1 Package"))
                .child(element("schemaversion").text("1.0.0")),
        )
        .child(element("organizations"))
        .child(element("resources").child(test).children(ids.iter().map(item)))
}

fn test(exam: &Exam, variant: &Variant, ids: &[String]) -> Element {
    let mut part = element("testPart")
        .with("identifier", "all")
        .with("navigationMode", "nonlinear")
        .with("submissionMode", "simultaneous");
    let last = variant.items.last().map_or(0, |item| item.question);
    for question in 1..=last {
        let of_question =
            variant.items.iter().zip(ids).filter(|(item, _)| item.question == question);
        let title = variant
            .items
            .iter()
            .find(|item| item.question == question)
            .map(|item| item.title.clone());
        let section = element("assessmentSection")
            .with("identifier", format!("s{question}"))
            .with("title", title.unwrap_or_default())
            .with("visible", "true");
        let item = |(_, id): (&Item, &String)| {
            element("assessmentItemRef")
                .with("identifier", id.as_str())
                .with("href", format!("{id}.xml"))
        };
        part = part.child(section.children(of_question.map(item)));
    }
    element("assessmentTest")
        .with("xmlns", ITEM)
        .with("identifier", format!("t-{}", variant.name))
        .with("title", format!("{}, variant {}", exam.title, variant.number))
        .child(part)
}

fn shown(blocks: &[Block]) -> String {
    fragment(blocks, Maths::MathMl)
}

fn line(line: &[Inline]) -> String {
    line_fragment(line, Maths::MathMl)
}

fn value(text: &str) -> Element {
    element("value").text(text)
}

fn declared(id: &str, cardinality: &str, base: &str) -> Element {
    element("responseDeclaration")
        .with("identifier", id)
        .with("cardinality", cardinality)
        .with("baseType", base)
}

/// What differs between kinds of items.
struct Body {
    declarations: Vec<Element>,
    /// What stands below the words of the question.
    interactions: Vec<Element>,
    processing: Option<Element>,
}

fn assessment_item(item: &Item, id: &str, credit: Credit) -> Element {
    let Body { declarations, interactions, processing } = match &item.asked {
        ItemKind::Numbers(rows) => numbers(item, rows),
        ItemKind::Shape(word) => shape(word, item.points),
        ItemKind::One(offers) => options(offers, item.points, credit),
        ItemKind::TrueFalse(offers) => statements(offers, item.points),
        ItemKind::Order(lines) => places(lines, item.points),
        ItemKind::Open(lines) => open(item, *lines),
    };
    let outcome = |id: &str, points: u32| {
        element("outcomeDeclaration")
            .with("identifier", id)
            .with("cardinality", "single")
            .with("baseType", "float")
            .child(element("defaultValue").child(value(&points.to_string())))
    };
    element("assessmentItem")
        .with("xmlns", ITEM)
        .with("identifier", id)
        .with("title", item.name())
        .with("adaptive", "false")
        .with("timeDependent", "false")
        .children(declarations)
        .child(outcome("SCORE", 0))
        .child(outcome("MAXSCORE", item.points))
        .child(
            element("itemBody")
                .child(element("div").markup(shown(&item.entered_stem())))
                .children(interactions),
        )
        .children(processing)
}

/// A share of points in hundredths, rounded down; of the share four decimals count.
fn hundredths(points: u32, share: f64) -> u32 {
    points * (share * 10_000.0).round() as u32 / 100
}

/// A share of points, with two decimals.
fn part_of(points: u32, share: f64) -> String {
    let part = hundredths(points, share);
    format!("{}.{:02}", part / 100, part % 100)
}

fn numbers(item: &Item, rows: &[Vec<Cell>]) -> Body {
    let id = |i: usize, j: usize| format!("R{}C{}", i + 1, j + 1);
    let (mut declarations, mut lines) = (Vec::new(), Vec::new());
    for (i, row) in rows.iter().enumerate() {
        let mut cells = Vec::new();
        for (j, cell) in row.iter().enumerate() {
            let (base, right) = match &cell.right {
                Entry::Decimal { text, .. } => ("float", text),
                Entry::Fraction(text) => ("string", text),
            };
            declarations.push(
                declared(&id(i, j), "single", base)
                    .child(element("correctResponse").child(value(right))),
            );
            let entry = element("textEntryInteraction")
                .with("responseIdentifier", id(i, j))
                .with("expectedLength", "10");
            cells.push(element("td").child(entry));
        }
        lines.push(element("tr").children(cells));
    }
    Body {
        declarations,
        interactions: vec![element("table").child(element("tbody").children(lines))],
        processing: Some(element("responseProcessing").child(marked(item, rows, id))),
    }
}

/// All entries right; else those of a mistake; else the right ones for their share.
fn marked(item: &Item, rows: &[Vec<Cell>], id: impl Fn(usize, usize) -> String) -> Element {
    let cells: Vec<(String, &Cell)> = rows
        .iter()
        .enumerate()
        .flat_map(|(i, row)| {
            row.iter().enumerate().map(|(j, cell)| (id(i, j), cell)).collect::<Vec<_>>()
        })
        .collect();
    let all = |entries: &[&Entry]| {
        let mut tests: Vec<Element> = Vec::new();
        for ((id, cell), entry) in cells.iter().zip(entries) {
            tests.push(same(id, &cell.right, entry)?);
        }
        if tests.len() == 1 { tests.pop() } else { Some(element("and").children(tests)) }
    };
    let then = |name: &'static str, test: Element, score: Element| {
        element(name)
            .child(test)
            .child(element("setOutcomeValue").with("identifier", "SCORE").child(score))
    };
    let points = |text: &str| element("baseValue").with("baseType", "float").text(text);
    let right: Vec<&Entry> = cells.iter().map(|(_, cell)| &cell.right).collect();
    let right = all(&right).map(|test| then("responseIf", test, points(&item.points.to_string())));
    let mistake = |(gives, share): &(Vec<Vec<Entry>>, f64)| {
        let is_of_shape = gives.iter().map(Vec::len).eq(rows.iter().map(Vec::len));
        let entries: Vec<&Entry> = gives.iter().flatten().collect();
        let test = if is_of_shape { all(&entries)? } else { return None };
        Some(then("responseElseIf", test, points(&part_of(item.points, *share))))
    };
    let condition = element("responseCondition")
        .children(right)
        .children(item.mistakes.iter().filter_map(mistake));
    if cells.len() == 1 {
        return condition;
    }
    let shares = split(hundredths(item.points, item.entries), cells.len());
    let one = |((id, cell), share): (&(String, &Cell), &String)| {
        let sum = element("sum")
            .child(element("variable").with("identifier", "SCORE"))
            .child(points(share));
        same(id, &cell.right, &cell.right)
            .map(|test| element("responseCondition").child(then("responseIf", test, sum)))
    };
    condition.child(element("responseElse").children(cells.iter().zip(&shares).filter_map(one)))
}

/// Whether what was entered where `right` is asked is `entry`; none where that cannot be entered.
fn same(id: &str, right: &Entry, entry: &Entry) -> Option<Element> {
    let variable = || element("variable").with("identifier", id);
    let base = |kind: &str, text: &str| element("baseValue").with("baseType", kind).text(text);
    let equal = |mode: &str| element("equal").with("toleranceMode", mode);
    Some(match (right, entry) {
        (Entry::Decimal { .. }, Entry::Decimal { text, tolerance }) if tolerance == "0" => {
            equal("exact").child(variable()).child(base("float", text))
        }
        (Entry::Decimal { .. }, Entry::Decimal { text, tolerance }) => equal("absolute")
            .with("tolerance", format!("{tolerance} {tolerance}"))
            .child(variable())
            .child(base("float", text)),
        (Entry::Decimal { .. }, Entry::Fraction(_)) => return None,
        (Entry::Fraction(_), entry) => {
            let same = |way: &String| {
                element("stringMatch")
                    .with("caseSensitive", "false")
                    .child(variable())
                    .child(base("string", way))
            };
            element("or").children(entry.ways().iter().map(same))
        }
    })
}

fn by_map() -> Option<Element> {
    Some(element("responseProcessing").with("template", MAP_RESPONSE))
}

fn mapping(entries: Vec<(String, String)>) -> Element {
    let entry = |(key, points): (String, String)| {
        element("mapEntry").with("mapKey", key).with("mappedValue", points)
    };
    element("mapping").with("defaultValue", "0").children(entries.into_iter().map(entry))
}

fn shape(word: &Word, points: u32) -> Body {
    let mut entries: Vec<(String, String)> =
        Word::ways(&word.right).map(|way| (way, points.to_string())).into();
    for ItemMistake { gives, share, .. } in &word.wrong {
        entries.extend(Word::ways(gives).map(|way| (way, part_of(points, *share))));
    }
    let declaration = declared("RESPONSE", "single", "string")
        .child(element("correctResponse").child(value(&word.right)))
        .child(mapping(entries));
    let entry = element("textEntryInteraction")
        .with("responseIdentifier", "RESPONSE")
        .with("expectedLength", "20");
    Body {
        declarations: vec![declaration],
        interactions: vec![element("p").child(entry)],
        processing: by_map(),
    }
}

fn choice(id: &str, markup: &str) -> Element {
    element("simpleChoice").with("identifier", id).markup(markup)
}

fn options(offers: &[Offer], points: u32, credit: Credit) -> Body {
    let id = |at: usize| format!("O{}", at + 1);
    let worth = |offer: &Offer| match offer {
        Offer { right: true, .. } => points.to_string(),
        Offer { mistake: true, .. } => part_of(points, f64::from(credit.ticked()) / 100.0),
        _ => "0".to_owned(),
    };
    let right = offers.iter().position(|offer| offer.right).map(id);
    let entries = offers.iter().enumerate().map(|(at, offer)| (id(at), worth(offer))).collect();
    let declaration = declared("RESPONSE", "single", "identifier")
        .child(element("correctResponse").children(right.as_deref().map(value)))
        .child(mapping(entries));
    let option = |(at, offer): (usize, &Offer)| {
        let option = choice(&id(at), &line(&offer.says));
        if offer.because.is_empty() {
            return option;
        }
        option.child(
            element("feedbackInline")
                .with("outcomeIdentifier", "FEEDBACK")
                .with("identifier", id(at))
                .with("showHide", "show")
                .markup(line(&offer.because)),
        )
    };
    let interaction = element("choiceInteraction")
        .with("responseIdentifier", "RESPONSE")
        .with("shuffle", "false")
        .with("maxChoices", "1")
        .children(offers.iter().enumerate().map(option));
    let feedback = element("outcomeDeclaration")
        .with("identifier", "FEEDBACK")
        .with("cardinality", "single")
        .with("baseType", "identifier");
    let set = |outcome: &str, to: Element| {
        element("setOutcomeValue").with("identifier", outcome).child(to)
    };
    let response = |name: &'static str| element(name).with("identifier", "RESPONSE");
    let processing = element("responseProcessing")
        .child(set("SCORE", response("mapResponse")))
        .child(set("FEEDBACK", response("variable")));
    Body {
        declarations: vec![declaration, feedback],
        interactions: vec![interaction],
        processing: Some(processing),
    }
}

/// Left sides, each of which belongs to one right side.
fn pairs(lefts: &[(String, usize)], rights: &[String], points: u32) -> Body {
    let (left, right) = (|at: usize| format!("L{}", at + 1), |at: usize| format!("R{}", at + 1));
    let keys: Vec<String> = lefts
        .iter()
        .enumerate()
        .map(|(at, (_, side))| format!("{} {}", left(at), right(*side)))
        .collect();
    let declaration = declared("RESPONSE", "multiple", "directedPair")
        .child(element("correctResponse").children(keys.iter().map(|key| value(key))))
        .child(mapping(keys.iter().cloned().zip(shares(points, lefts.len())).collect()));
    let one = |id: String, most: usize, markup: &str| {
        element("simpleAssociableChoice")
            .with("identifier", id)
            .with("matchMax", most.to_string())
            .markup(markup)
    };
    let lefts_shown = lefts.iter().enumerate().map(|(at, (markup, _))| one(left(at), 1, markup));
    let rights_shown =
        rights.iter().enumerate().map(|(at, side)| one(right(at), lefts.len(), &escape(side)));
    let interaction = element("matchInteraction")
        .with("responseIdentifier", "RESPONSE")
        .with("shuffle", "false")
        .with("maxAssociations", lefts.len().to_string())
        .child(element("simpleMatchSet").children(lefts_shown))
        .child(element("simpleMatchSet").children(rights_shown));
    Body { declarations: vec![declaration], interactions: vec![interaction], processing: by_map() }
}

fn statements(offers: &[Offer], points: u32) -> Body {
    let lefts: Vec<_> =
        offers.iter().map(|offer| (line(&offer.says), usize::from(!offer.right))).collect();
    pairs(&lefts, &["true".to_owned(), "false".to_owned()], points)
}

fn places(lines: &[Placed], points: u32) -> Body {
    let (rights, own) = sides(lines);
    let lefts: Vec<_> = lines.iter().zip(own).map(|(own, side)| (line(&own.says), side)).collect();
    pairs(&lefts, &rights, points)
}

fn open(item: &Item, lines: usize) -> Body {
    let rubric = Block::List(Marker::Dot, item.rubric.clone());
    let marked = if item.rubric.is_empty() { String::new() } else { shown(&[rubric]) }
        + &shown(&item.solution);
    let interaction = element("extendedTextInteraction")
        .with("responseIdentifier", "RESPONSE")
        .with("expectedLines", lines.to_string());
    let scorer = element("rubricBlock").with("view", "scorer").markup(marked);
    Body {
        declarations: vec![declared("RESPONSE", "single", "string")],
        interactions: vec![interaction, scorer],
        processing: None,
    }
}

#[cfg(test)]
mod tests {
    use super::part_of;

    #[test]
    fn parts_are_hundredths() {
        let known = [
            (4, 0.5, "2.00"),
            (3, 0.5, "1.50"),
            (1, 1.0 / 3.0, "0.33"),
            (3, 0.0, "0.00"),
            (2, 0.07, "0.14"),
        ];
        for (points, share, expected) in known {
            assert_eq!(part_of(points, share), expected);
        }
    }
}
