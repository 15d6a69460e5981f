//! QTI 1.2 as Canvas imports it: a package for each variant.
//!
//! Canvas has no matrices, so each entry is an item of its own, with its share of the points;
//! numbers below 0.0001 become 0 there, so they are an error. It gives nothing for mistakes, whose
//! words are feedback where there are options.

use super::decimal::{Entry, shares};
use super::item::{Cell, Item, ItemKind, Offer, Word, sides};
use super::package::zipped;
use super::xml::{Element, element};
use super::{Exam, Exported, Variant, secret};
use crate::error::ExamError;
use crate::print::{Block, Inline, Maths, fragment, line_fragment};

/// Decimals below which Canvas takes a number for 0.
const PLACES: usize = 4;

const ITEMS: &str = "http://www.imsglobal.org/xsd/ims_qtiasiv1p2";
const PACKAGE: &str = "http://www.imsglobal.org/xsd/imsccv1p1/imscp_v1p1";
const CANVAS: &str = "http://canvas.instructure.com/xsd/cccv1p0";

pub(super) fn write(exam: &Exam) -> Result<Vec<Exported>, ExamError> {
    let mut files = Vec::new();
    for variant in &exam.variants {
        let own = format!("q-{}", variant.name);
        let entries = [
            ("imsmanifest.xml".to_owned(), manifest(&own).document()?),
            (format!("{own}/{own}.xml"), assessment(exam, variant, &own)?.document()?),
            (format!("{own}/assessment_meta.xml"), meta(exam, variant, &own).document()?),
        ];
        files.push(secret(format!("{}-qti12.zip", variant.name), zipped(&entries)?));
    }
    Ok(files)
}

fn manifest(own: &str) -> Element {
    let file = format!("{own}/{own}.xml");
    let resource = element("resource")
        .with("identifier", own)
        .with("type", "imsqti_xmlv1p2")
        .child(element("file").with("href", file))
        .child(element("dependency").with("identifierref", format!("{own}-meta")));
    let meta = format!("{own}/assessment_meta.xml");
    let about = element("resource")
        .with("identifier", format!("{own}-meta"))
        .with("type", "associatedcontent/imscc_xmlv1p1/learning-application-resource")
        .with("href", meta.as_str())
        .child(element("file").with("href", meta.as_str()));
    element("manifest")
        .with("identifier", format!("{own}-manifest"))
        .with("xmlns", PACKAGE)
        .child(
            element("metadata")
                .child(element("schema").text("IMS Content"))
                .child(element("schemaversion").text("1.1.3")),
        )
        .child(element("organizations"))
        .child(element("resources").child(resource).child(about))
}

/// What Canvas reads beside the items.
fn meta(exam: &Exam, variant: &Variant, own: &str) -> Element {
    let points: u32 = variant.items.iter().map(|item| item.points).sum();
    element("quiz")
        .with("identifier", own)
        .with("xmlns", CANVAS)
        .child(element("title").text(title(exam, variant)))
        .child(element("description"))
        .child(element("quiz_type").text("assignment"))
        .child(element("points_possible").text(points.to_string()))
        .child(element("shuffle_answers").text("false"))
}

fn title(exam: &Exam, variant: &Variant) -> String {
    format!("{}, variant {}", exam.title, variant.number)
}

fn assessment(exam: &Exam, variant: &Variant, own: &str) -> Result<Element, ExamError> {
    let mut section = element("section").with("ident", "root_section");
    for item in &variant.items {
        section = section.children(items(item, own, variant)?);
    }
    let attempts = metadata(&[("cc_maxattempts", "1")]);
    let assessment = element("assessment")
        .with("ident", own)
        .with("title", title(exam, variant))
        .child(attempts)
        .child(section);
    Ok(element("questestinterop").with("xmlns", ITEMS).child(assessment))
}

fn metadata(fields: &[(&str, &str)]) -> Element {
    let field = |(label, entry): &(&str, &str)| {
        element("qtimetadatafield")
            .child(element("fieldlabel").text(*label))
            .child(element("fieldentry").text(*entry))
    };
    element("qtimetadata").children(fields.iter().map(field))
}

fn html(markup: &str) -> Element {
    element("material").child(element("mattext").with("texttype", "text/html").text(markup))
}

fn shown(blocks: &[Block]) -> String {
    fragment(blocks, Maths::Parentheses)
}

fn line(line: &[Inline]) -> String {
    line_fragment(line, Maths::Parentheses)
}

/// What differs between kinds of items.
struct Body {
    kind: &'static str,
    /// `-r1c2`, where a part is several items.
    suffix: String,
    /// `row 1, column 2`, likewise.
    label: String,
    points: String,
    stem: String,
    responses: Vec<Element>,
    conditions: Vec<Element>,
    feedback: Vec<Element>,
}

fn items(item: &Item, own: &str, variant: &Variant) -> Result<Vec<Element>, ExamError> {
    let stem = shown(&item.entered_stem());
    let whole = |kind, responses, conditions, feedback| Body {
        kind,
        suffix: String::new(),
        label: String::new(),
        points: item.points.to_string(),
        stem: stem.clone(),
        responses,
        conditions,
        feedback,
    };
    let bodies = match &item.asked {
        ItemKind::Numbers(rows) => numbers(rows, item, &stem, variant)?,
        ItemKind::Shape(Word { right, .. }) => {
            let (responses, conditions) = words(&Word::ways(right));
            vec![whole("short_answer_question", responses, conditions, Vec::new())]
        }
        ItemKind::One(offers) => {
            let (responses, conditions, feedback) = options(offers);
            vec![whole("multiple_choice_question", responses, conditions, feedback)]
        }
        ItemKind::TrueFalse(offers) => {
            let sides = ["true".to_owned(), "false".to_owned()];
            let pairs: Vec<_> =
                offers.iter().map(|offer| (line(&offer.says), usize::from(!offer.right))).collect();
            let (responses, conditions) = pairs_of(&pairs, &sides);
            vec![whole("matching_question", responses, conditions, Vec::new())]
        }
        ItemKind::Order(lines) => {
            let (sides, own) = sides(lines);
            let pairs: Vec<_> =
                lines.iter().zip(own).map(|(own, side)| (line(&own.says), side)).collect();
            let (responses, conditions) = pairs_of(&pairs, &sides);
            vec![whole("matching_question", responses, conditions, Vec::new())]
        }
        ItemKind::Open(_) => {
            let fib = element("render_fib").child(label("answer1", None));
            let response = element("response_str")
                .with("ident", "response1")
                .with("rcardinality", "Single")
                .child(fib);
            let other = element("respcondition")
                .with("continue", "No")
                .child(element("conditionvar").child(element("other")));
            vec![whole("essay_question", vec![response], vec![other], Vec::new())]
        }
    };
    Ok(bodies.into_iter().map(|body| built(body, item, own)).collect())
}

fn built(body: Body, item: &Item, own: &str) -> Element {
    let id = format!("{own}-{}{}", item.id, body.suffix);
    let title = if body.label.is_empty() {
        item.name()
    } else {
        format!("{} ({})", item.name(), body.label)
    };
    let outcome = element("decvar")
        .with("maxvalue", "100")
        .with("minvalue", "0")
        .with("varname", "SCORE")
        .with("vartype", "Decimal");
    let fields = [("question_type", body.kind), ("points_possible", body.points.as_str())];
    let solution = shown(&item.solution);
    let general = element("respcondition")
        .with("continue", "Yes")
        .child(element("conditionvar").child(element("other")))
        .child(
            element("displayfeedback")
                .with("feedbacktype", "Response")
                .with("linkrefid", "general_fb"),
        );
    element("item")
        .with("ident", id)
        .with("title", title)
        .child(element("itemmetadata").child(metadata(&fields)))
        .child(element("presentation").child(html(&body.stem)).children(body.responses))
        .child(
            element("resprocessing")
                .child(element("outcomes").child(outcome))
                .child(general)
                .children(body.conditions),
        )
        .child(feedback("general_fb", &solution))
        .children(body.feedback)
}

fn feedback(id: &str, markup: &str) -> Element {
    element("itemfeedback").with("ident", id).child(element("flow_mat").child(html(markup)))
}

fn label(ident: &str, markup: Option<&str>) -> Element {
    let label = element("response_label").with("ident", ident);
    markup.map_or_else(|| label.clone(), |markup| label.clone().child(html(markup)))
}

fn scored(action: &'static str, score: &str, condition: Element) -> Element {
    element("respcondition")
        .with("continue", if action == "Set" { "No" } else { "Yes" })
        .child(element("conditionvar").child(condition))
        .child(element("setvar").with("action", action).with("varname", "SCORE").text(score))
}

fn equal(respident: &str, value: &str) -> Element {
    element("varequal").with("respident", respident).text(value)
}

/// An item for each entry.
fn numbers(
    rows: &[Vec<Cell>],
    item: &Item,
    stem: &str,
    variant: &Variant,
) -> Result<Vec<Body>, ExamError> {
    let n: usize = rows.iter().map(Vec::len).sum();
    let mut points = shares(item.points, n).into_iter();
    let mut all = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        for (j, cell) in row.iter().enumerate() {
            if cell.right.is_below(PLACES) {
                return Err(ExamError::TooSmall {
                    variant: variant.number,
                    part: item.name(),
                    entry: cell.label.clone(),
                    got: match &cell.right {
                        Entry::Decimal { text, .. } | Entry::Fraction(text) => text.clone(),
                    },
                });
            }
            let (responses, kind, conditions) = match &cell.right {
                Entry::Decimal { text, tolerance } => {
                    let (response, condition) = number(text, tolerance);
                    (response, "numerical_question", condition)
                }
                fraction @ Entry::Fraction(_) => {
                    let (response, condition) = words(&fraction.ways());
                    (response, "short_answer_question", condition)
                }
            };
            let (suffix, stem) = if n == 1 {
                (String::new(), stem.to_owned())
            } else {
                (
                    format!("-r{}c{}", i + 1, j + 1),
                    format!("{stem}<p>Give the entry in {}.</p>", cell.label),
                )
            };
            all.push(Body {
                kind,
                suffix,
                label: cell.label.clone(),
                points: points.next().unwrap_or_default(),
                stem,
                responses,
                conditions,
                feedback: Vec::new(),
            });
        }
    }
    Ok(all)
}

/// A number and what is accepted for it.
fn number(text: &str, tolerance: &str) -> (Vec<Element>, Vec<Element>) {
    let fib = element("render_fib").with("fibtype", "Decimal").child(label("answer1", None));
    let response = element("response_str")
        .with("ident", "response1")
        .with("rcardinality", "Single")
        .child(fib);
    let ends = ends(text, tolerance).map(|[low, high]| {
        element("and").children([
            element("vargte").with("respident", "response1").text(low),
            element("varlte").with("respident", "response1").text(high),
        ])
    });
    let either = element("or").child(equal("response1", text)).children(ends);
    (vec![response], vec![scored("Set", "100", either)])
}

/// The least and the largest number that is right, exactly; the number itself where nothing else
/// is.
fn ends(text: &str, tolerance: &str) -> Option<[String; 2]> {
    let places = |text: &str| text.split_once('.').map_or(0, |(_, rest)| rest.len());
    let most = places(text).max(places(tolerance));
    let units = |text: &str| -> Option<i128> {
        let own = places(text);
        let power = u32::try_from(most - own).ok()?;
        text.replace('.', "").parse::<i128>().ok()?.checked_mul(10_i128.checked_pow(power)?)
    };
    let decimal = |x: i128| {
        let width = most + 1;
        let all = format!("{:0width$}", x.unsigned_abs());
        let (whole, rest) = all.split_at(all.len() - most);
        let sign = if x < 0 { "-" } else { "" };
        if rest.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest}") }
    };
    let (x, tolerance) = (units(text)?, units(tolerance)?);
    Some([decimal(x - tolerance), decimal(x + tolerance)])
}

fn words(ways: &[String]) -> (Vec<Element>, Vec<Element>) {
    let fib = element("render_fib").child(label("answer1", None));
    let response = element("response_str")
        .with("ident", "response1")
        .with("rcardinality", "Single")
        .child(fib);
    let condition =
        element("conditionvar").children(ways.iter().map(|way| equal("response1", way)));
    let set = element("setvar").with("action", "Set").with("varname", "SCORE").text("100");
    (
        vec![response],
        vec![element("respcondition").with("continue", "No").child(condition).child(set)],
    )
}

fn options(offers: &[Offer]) -> (Vec<Element>, Vec<Element>, Vec<Element>) {
    let ident = |at: usize| format!("{}", 1000 + at);
    let labels =
        offers.iter().enumerate().map(|(at, offer)| label(&ident(at), Some(&line(&offer.says))));
    let response = element("response_lid")
        .with("ident", "response1")
        .with("rcardinality", "Single")
        .child(element("render_choice").children(labels));
    let (mut conditions, mut feedbacks) = (Vec::new(), Vec::new());
    for (at, offer) in offers.iter().enumerate().filter(|(_, offer)| !offer.because.is_empty()) {
        let id = format!("{}_fb", ident(at));
        let shown = element("displayfeedback")
            .with("feedbacktype", "Response")
            .with("linkrefid", id.as_str());
        let chosen = element("conditionvar").child(equal("response1", &ident(at)));
        conditions
            .push(element("respcondition").with("continue", "Yes").child(chosen).child(shown));
        feedbacks.push(feedback(&id, &line(&offer.because)));
    }
    if let Some(at) = offers.iter().position(|offer| offer.right) {
        conditions.push(scored("Set", "100", equal("response1", &ident(at))));
    }
    (vec![response], conditions, feedbacks)
}

/// Left sides with the number of their right side; each is worth its share.
fn pairs_of(pairs: &[(String, usize)], sides: &[String]) -> (Vec<Element>, Vec<Element>) {
    let ident = |at: usize| format!("{}", 2000 + at);
    let (mut responses, mut conditions) = (Vec::new(), Vec::new());
    for ((at, (left, right)), share) in pairs.iter().enumerate().zip(shares(100, pairs.len())) {
        let own = format!("response_{}", 1000 + at);
        let labels = sides.iter().enumerate().map(|(at, side)| {
            element("response_label")
                .with("ident", ident(at))
                .child(element("material").child(element("mattext").text(side)))
        });
        responses.push(
            element("response_lid")
                .with("ident", own.as_str())
                .child(html(left))
                .child(element("render_choice").children(labels)),
        );
        conditions.push(
            element("respcondition")
                .child(element("conditionvar").child(equal(&own, &ident(*right))))
                .child(
                    element("setvar").with("varname", "SCORE").with("action", "Add").text(share),
                ),
        );
    }
    (responses, conditions)
}

#[cfg(test)]
mod tests {
    use super::ends;

    #[test]
    fn ends_are_exact() {
        for (text, tolerance, low, high) in [
            ("0.401", "0.0005", "0.4005", "0.4015"),
            ("-0.401", "0.0005", "-0.4015", "-0.4005"),
            ("0.000", "0.0005", "-0.0005", "0.0005"),
            ("3", "0", "3", "3"),
            ("-2.5", "0", "-2.5", "-2.5"),
        ] {
            assert_eq!(ends(text, tolerance), Some([low.to_owned(), high.to_owned()]), "{text}");
        }
    }
}
