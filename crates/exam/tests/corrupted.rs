//! A hundred keys with one thing changed: none passes for a true one.

use qkvet_exam::build::{File, Request, build};
use qkvet_exam::generate::Stream;
use qkvet_exam::key::{Key, Source};
use qkvet_exam::verify::{differing, verify};
use qkvet_spec::Catalog;
use serde_json::Value;

use crate::catalog;

const KINDS: [&str; 8] =
    ["digit", "sign", "exact", "mistake", "mistake-exact", "choice", "order", "points"];

fn exam(id: &str, seed: u64) -> Vec<File> {
    let text = Catalog::texts("exams")
        .into_iter()
        .find(|(path, _)| path.ends_with(&format!("{id}.yaml")) && !path.contains("/questions/"));
    let (path, text) = text.unwrap_or_else(|| panic!("no set {id}"));
    let request =
        Request { set: Source { path, text: text.to_owned() }, own: Vec::new(), variants: 1, seed };
    build(&request, catalog()).unwrap_or_else(|error| panic!("{error}"))
}

/// Texts of a kind in a key, as JSON pointers.
fn places(key: &Value, kind: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (q, question) in key["questions"].as_array().into_iter().flatten().enumerate() {
        for (p, part) in question["parts"].as_array().into_iter().flatten().enumerate() {
            let part_at = format!("/questions/{q}/parts/{p}");
            let cells = |at: &str, field: &str| -> Vec<String> {
                let rows = key
                    .pointer(&format!("{at}/{field}"))
                    .and_then(Value::as_array)
                    .cloned()
                    .unwrap_or_default();
                let row = |(i, row): (usize, &Value)| {
                    let n = row.as_array().map_or(0, Vec::len);
                    (0..n).map(|j| format!("{at}/{field}/{i}/{j}")).collect::<Vec<_>>()
                };
                rows.iter().enumerate().flat_map(row).collect()
            };
            let answer = format!("{part_at}/answer");
            let mistakes = (0..part["mistakes"].as_array().map_or(0, Vec::len))
                .map(|m| format!("{part_at}/mistakes/{m}/numbers"));
            match kind {
                "digit" | "sign" => all.extend(cells(&format!("{answer}/numbers/key"), "rows")),
                "exact" => all.extend(cells(&format!("{answer}/numbers/key"), "exact")),
                "mistake" => mistakes.for_each(|at| all.extend(cells(&at, "rows"))),
                "mistake-exact" => mistakes.for_each(|at| all.extend(cells(&at, "exact"))),
                "choice" => {
                    let n = part["answer"]["numbers"]["choices"].as_array().map_or(0, Vec::len);
                    (0..n).for_each(|c| {
                        all.extend(cells(&format!("{answer}/numbers/choices/{c}"), "rows"))
                    });
                }
                "order" => {
                    let lists = ["choice", "ordering", "statements", "largest"]
                        .map(|name| format!("{answer}/{name}"));
                    all.extend(lists.into_iter().filter(|at| {
                        key.pointer(at).and_then(Value::as_array).is_some_and(|list| list.len() > 1)
                    }));
                }
                _ => all.push(format!("{part_at}/points")),
            }
        }
    }
    all
}

/// A digit of a number becomes another; other values and words likewise.
fn changed(value: &Value, kind: &str, stream: &mut Stream) -> Option<Value> {
    match (kind, value) {
        ("order", Value::Array(list)) => {
            let mut list = list.clone();
            let at = stream.below(list.len() - 1);
            list.swap(at, at + 1);
            Some(Value::Array(list))
        }
        ("points", Value::Number(_)) => Some(Value::from(value.as_u64()? + 1)),
        ("sign", Value::String(text)) if text.chars().any(|c| matches!(c, '1'..='9')) => Some(
            Value::from(text.strip_prefix('-').map_or_else(|| format!("-{text}"), str::to_owned)),
        ),
        ("sign", _) => None,
        (_, Value::String(text)) => {
            let digits: Vec<usize> =
                text.char_indices().filter(|(_, c)| c.is_ascii_digit()).map(|(at, _)| at).collect();
            let at = *digits.get(stream.below(digits.len().max(1)))?;
            let digit = text[at..].chars().next()?.to_digit(10)?;
            let other = (digit + 1 + u32::try_from(stream.below(8)).unwrap_or(0)) % 10;
            Some(Value::from(format!("{}{other}{}", &text[..at], &text[at + 1..])))
        }
        _ => None,
    }
}

#[test]
fn a_hundred_corrupted_keys_are_caught() {
    let sets: Vec<Vec<File>> = ["tiny-head", "csci5922-problem-set-4", "cs114b-written-4"]
        .iter()
        .map(|id| exam(id, 21))
        .collect();
    let mut tried = std::collections::BTreeMap::new();
    let (mut number, mut missed) = (0, Vec::new());
    while tried.values().sum::<usize>() < 100 {
        number += 1;
        assert!(number < 5_000, "too few places to corrupt: {tried:?}");
        let files = &sets[number % sets.len()];
        let kind = KINDS[number / sets.len() % KINDS.len()];
        let mut stream = Stream::new(8, &["corrupted", &number.to_string()]);
        let file = files
            .iter()
            .find(|file| file.path.ends_with(".json"))
            .unwrap_or_else(|| panic!("no key"));
        let mut key: Value =
            serde_json::from_str(&file.text).unwrap_or_else(|error| panic!("{error}"));
        let places = places(&key, kind);
        if places.is_empty() {
            continue;
        }
        let place = places[stream.below(places.len())].clone();
        let Some(slot) = key.pointer_mut(&place) else { panic!("{place}") };
        let Some(new) = changed(slot, kind, &mut stream) else { continue };
        if new == *slot {
            continue;
        }
        let before = std::mem::replace(slot, new.clone());
        *tried.entry(kind).or_insert(0) += 1;
        let Ok(corrupted) = Key::from_json(&key.to_string()) else { continue };
        let (_, library) = corrupted.sources(catalog()).unwrap_or_else(|error| panic!("{error}"));
        let derived = !verify(&corrupted, &library, catalog()).wrong.is_empty();
        // Another order of options is as good as the sheet's own; only the seed knows which that
        // was.
        let is_derivable = kind != "order" || place.ends_with("largest");
        let caught = derived
            || (!is_derivable && {
                let text = corrupted.json().unwrap_or_else(|error| panic!("{error}"));
                let read = |path: &str| {
                    let bytes = |file: &File| {
                        if file.path.ends_with(".json") { text.clone() } else { file.text.clone() }
                    };
                    files.iter().find(|file| file.path == path).map(|file| bytes(file).into_bytes())
                };
                differing(&corrupted, &read, catalog())
                    .iter()
                    .any(|reason| reason.to_string().contains(".json"))
            });
        if !caught {
            missed.push(format!("{kind} at {place}: {before} became {new}"));
        }
    }
    assert!(KINDS.iter().all(|kind| tried.get(kind).is_some_and(|n| *n >= 3)), "{tried:?}");
    assert!(missed.is_empty(), "{} missed: {}", missed.len(), missed.join("\n"));
    for files in &sets {
        let file = files
            .iter()
            .find(|file| file.path.ends_with(".json"))
            .unwrap_or_else(|| panic!("no key"));
        let key = Key::from_json(&file.text).unwrap_or_else(|error| panic!("{error}"));
        let (_, library) = key.sources(catalog()).unwrap_or_else(|error| panic!("{error}"));
        let verified = verify(&key, &library, catalog());
        assert!(verified.wrong.is_empty(), "{:?}", verified.wrong);
        let all: usize = key
            .questions
            .iter()
            .flat_map(|question| &question.parts)
            .map(|part| part.mistakes.len())
            .sum();
        assert_eq!(verified.mistakes, all, "every mistake's value is derived again");
    }
}
