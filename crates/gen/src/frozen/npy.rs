//! Arrays as NumPy's `.npy`: a header that describes the elements, then the elements.

use qkvet_spec::Dtype;

use super::archive::{Array, Element};
use crate::GenError;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Headers and texts of more bytes are not ours.
const MAX_LEN: usize = 1 << 20;

/// What one entry of an archive holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Entry {
    Array(Array),
    /// One string without axes.
    Text(String),
}

/// NumPy's own formats.
fn descr(dtype: Dtype) -> Option<&'static str> {
    match dtype.name() {
        "float64" => Some("<f8"),
        "float32" => Some("<f4"),
        "float16" => Some("<f2"),
        _ => None,
    }
}

pub(super) fn write_array(array: &Array) -> Vec<u8> {
    let bits = |size: usize| if size == 1 { "|u1" } else { "<u2" };
    let descr = match array.element {
        Element::Bool => "|b1",
        Element::Float(dtype) => descr(dtype).unwrap_or(bits(dtype.size())),
        Element::Bits(size) => bits(size),
        Element::Whole(4) => "<i4",
        Element::Whole(_) => "<i8",
    };
    let extents: String = array.shape.iter().map(|n| format!("{n}, ")).collect();
    // A tuple of one keeps its comma.
    let extents = extents
        .strip_suffix(' ')
        .filter(|_| array.shape.len() == 1)
        .unwrap_or(extents.trim_end_matches(", "));
    let mut bytes = header(descr, extents);
    bytes.extend_from_slice(&array.bytes);
    bytes
}

pub(super) fn write_text(text: &str) -> Vec<u8> {
    let mut bytes = header(&format!("<U{}", text.chars().count()), "");
    text.chars().for_each(|c| bytes.extend_from_slice(&u32::from(c).to_le_bytes()));
    bytes
}

/// Version 1.0 with spaces up to a multiple of 64 bytes, as NumPy writes it; version 2.0 where the
/// header is long.
fn header(descr: &str, extents: &str) -> Vec<u8> {
    let mut text =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({extents}), }}");
    let lead = MAGIC.len() + 4;
    let padding = 63 - (lead + text.len()) % 64;
    text.extend(std::iter::repeat_n(' ', padding));
    text.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&[1, 0]);
    // Four axes at most: far below the 65535 bytes of version 1.0.
    bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

/// Reads one entry.
pub(super) fn read(name: &str, bytes: &[u8]) -> Result<Entry, GenError> {
    let place = format!("array `{name:.64}`");
    let wrong = |what: &str, expected: &str, got: String| {
        Err(GenError::new(what, place.clone(), expected, got))
    };
    let Some((version, rest)) =
        bytes.strip_prefix(MAGIC).and_then(|rest| rest.split_first_chunk::<2>())
    else {
        return wrong("file", "NumPy's .npy format", "something else".to_owned());
    };
    let length = match version[0] {
        1 => rest
            .split_first_chunk::<2>()
            .map(|(n, rest)| (usize::from(u16::from_le_bytes(*n)), rest)),
        2 | 3 => {
            rest.split_first_chunk::<4>().map(|(n, rest)| (u32::from_le_bytes(*n) as usize, rest))
        }
        other => return wrong("version", "1, 2 or 3", other.to_string()),
    };
    let Some((length, rest)) = length.filter(|(length, rest)| *length <= rest.len().min(MAX_LEN))
    else {
        return wrong("header", "all of it", "its beginning".to_owned());
    };
    let (text, data) = rest.split_at(length);
    let Some(header) = std::str::from_utf8(text).ok().and_then(Header::parse) else {
        let shown = String::from_utf8_lossy(&text[..text.len().min(80)]).into_owned();
        return wrong(
            "header",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
            format!("`{shown}`"),
        );
    };
    if header.descr.starts_with("<U") || header.descr.starts_with("|S") {
        return match text_of(&header, data) {
            Some(text) => Ok(Entry::Text(text)),
            None => wrong(
                "text",
                "one string without axes",
                format!("`{}` {:?}", header.descr, header.shape),
            ),
        };
    }
    let floats = Dtype::ALL
        .into_iter()
        .find(|dtype| descr(*dtype) == Some(&header.descr))
        .map(Element::Float);
    let element = match (floats, header.descr.as_str()) {
        (Some(float), _) => float,
        (None, "|b1") => Element::Bool,
        // What NumPy writes for the formats of ml_dtypes, and what a view as integers gives.
        (None, "<u2" | "<V2" | "|V2") => Element::Bits(2),
        (None, "|u1" | "<V1" | "|V1") => Element::Bits(1),
        (None, "<i4") => Element::Whole(4),
        (None, "<i8") => Element::Whole(8),
        (None, other) => {
            return wrong(
                "format",
                "little-endian floating-point or whole numbers, bool, or uint views",
                format!("`{other:.32}`"),
            );
        }
    };
    let mut array = Array { element, shape: header.shape, bytes: data.to_vec() };
    array.check_size(name)?;
    if header.fortran_order {
        array.bytes = row_major(&array);
    }
    Ok(Entry::Array(array))
}

fn text_of(header: &Header, data: &[u8]) -> Option<String> {
    let length: usize = header.descr.get(2..)?.parse().ok()?;
    if !header.shape.is_empty() || data.len() > 4 * MAX_LEN {
        return None;
    }
    let text: String = if header.descr.starts_with("|S") {
        (length == data.len()).then(|| std::str::from_utf8(data).ok())??.to_owned()
    } else {
        let (characters, rest) = data.as_chunks::<4>();
        let fits = characters.len() == length && rest.is_empty();
        let text = characters.iter().map(|c| char::from_u32(u32::from_le_bytes(*c)));
        fits.then(|| text.collect::<Option<String>>())??
    };
    // NumPy pads texts with zeros.
    Some(text.trim_end_matches('\0').to_owned())
}

/// Elements in the order of the last axis first.
fn row_major(array: &Array) -> Vec<u8> {
    let size = array.element.size();
    let mut bytes = Vec::with_capacity(array.bytes.len());
    let elements = array.bytes.len() / size.max(1);
    let mut index = vec![0usize; array.shape.len()];
    for _ in 0..elements {
        let at = index.iter().zip(&array.shape).rev().fold(0, |at, (i, n)| at * n + i);
        bytes.extend_from_slice(&array.bytes[at * size..(at + 1) * size]);
        for (i, n) in index.iter_mut().zip(&array.shape).rev() {
            *i += 1;
            if *i < *n {
                break;
            }
            *i = 0;
        }
    }
    bytes
}

/// The header's three entries.
#[derive(Debug, PartialEq)]
struct Header {
    descr: String,
    fortran_order: bool,
    shape: Vec<usize>,
}

impl Header {
    /// Reads Python's notation of a dictionary with these three keys, in any order.
    fn parse(text: &str) -> Option<Self> {
        let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        while !rest.is_empty() {
            let (key, value) = rest.strip_prefix('\'')?.split_once("':")?;
            let value = value.trim_start();
            let end = match key {
                "descr" => {
                    let (word, _) = value.strip_prefix('\'')?.split_once('\'')?;
                    descr.replace(word.to_owned()).is_none().then_some(word.len() + 2)?
                }
                "fortran_order" => {
                    let word = if value.starts_with("True") { "True" } else { "False" };
                    value.starts_with(word).then_some(())?;
                    fortran_order.replace(word == "True").is_none().then_some(word.len())?
                }
                "shape" => {
                    let (inside, _) = value.strip_prefix('(')?.split_once(')')?;
                    let all = inside.split(',').map(str::trim).filter(|n| !n.is_empty());
                    let all = all
                        .map(|n| n.trim_end_matches('L').parse().ok())
                        .collect::<Option<Vec<usize>>>()?;
                    shape.replace(all).is_none().then_some(inside.len() + 2)?
                }
                _ => return None,
            };
            let after = value.get(end..)?.trim_start();
            rest = match after.strip_prefix(',') {
                Some(more) => more.trim_start(),
                None if after.is_empty() => after,
                None => return None,
            };
        }
        // More axes than anything here has would only make the index arithmetic long.
        let shape = shape.filter(|shape| shape.len() <= 32)?;
        Some(Self { descr: descr?, fortran_order: fortran_order?, shape })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_in_python_notation() {
        let check = |text: &str, expected: Option<(&str, bool, &[usize])>| {
            let expected = expected.map(|(descr, fortran_order, shape)| Header {
                descr: descr.to_owned(),
                fortran_order,
                shape: shape.to_vec(),
            });
            assert_eq!(Header::parse(text), expected, "{text}");
        };
        check(
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n",
            Some(("<f4", false, &[2, 3])),
        );
        check("{'shape': (5,), 'descr': '|u1', 'fortran_order': True}", Some(("|u1", true, &[5])));
        check("{'descr': '<U4', 'fortran_order': False, 'shape': ()}", Some(("<U4", false, &[])));
        for text in [
            "",
            "{}",
            "{'descr': '<f4', 'fortran_order': False}",
            "{'descr': '<f4', 'fortran_order': Falsch, 'shape': ()}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}",
            "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}",
            "{'descr': '<f4' 'fortran_order': False, 'shape': ()}",
            "{'descr': 'é', 'fortran_order': ",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn columns_first_is_turned() {
        // [[0, 1, 2], [3, 4, 5]] as NumPy stores it columns first.
        let array =
            Array { element: Element::Bits(1), shape: vec![2, 3], bytes: vec![0, 3, 1, 4, 2, 5] };
        assert_eq!(row_major(&array), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn headers_are_aligned_and_texts_come_back() {
        for n in 0..200 {
            let text = "a".repeat(n) + "é∞";
            let bytes = write_text(&text);
            assert_eq!((bytes.len() - 4 * (n + 2)) % 64, 0);
            assert_eq!(read("x", &bytes).unwrap(), Entry::Text(text));
        }
    }
}
