//! qkvet-wire/1 for one function on float32, with the options scale and causal and the result
//! output. Standard library alone. SPDX-License-Identifier: MIT OR Apache-2.0

use std::io::{BufRead, Write};

/// One call. `scale` is 1/√d_k unless another was asked for; with `causal`, query i sees the keys j
/// ≤ i + n_k − n_q.
pub struct Call {
    pub query: Vec<f32>,
    pub key: Vec<f32>,
    pub value: Vec<f32>,
    pub b: usize,
    pub h_q: usize,
    pub h_k: usize,
    pub n_q: usize,
    pub n_k: usize,
    pub d_k: usize,
    pub d_v: usize,
    pub scale: f64,
    pub causal: bool,
}

/// Why there is no result.
pub struct Declined {
    status: &'static str,
    reason: String,
}

#[allow(dead_code)]
impl Declined {
    /// Not offered.
    pub fn unsupported(reason: impl Into<String>) -> Self {
        Self { status: "unsupported", reason: reason.into() }
    }

    /// Offered, but this input is declined.
    pub fn refused(reason: impl Into<String>) -> Self {
        Self { status: "refused", reason: reason.into() }
    }

    /// It went wrong.
    pub fn error(reason: impl Into<String>) -> Self {
        Self { status: "error", reason: reason.into() }
    }
}

pub struct Program {
    pub name: &'static str,
    /// Among `scale` and `causal`.
    pub options: &'static [&'static str],
    pub attention: fn(&Call) -> Result<Vec<f32>, Declined>,
}

/// Answers requests until there are no more. What the function prints should go to standard error.
pub fn serve(program: &Program) -> std::io::Result<()> {
    let mut answers = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let Some(request) = parse(&line) else {
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "a line that is no JSON"));
        };
        let answer = match request.at("op") {
            Some(Json::Text(op)) if op == "stop" => return Ok(()),
            Some(Json::Text(op)) if op == "hello" => hello(program),
            _ => {
                let seq = match request.at("seq") {
                    Some(Json::Number(seq)) => seq.as_str(),
                    _ => "0",
                };
                match run(program, &request) {
                    Ok(tensor) => format!("{{\"seq\":{seq},\"status\":\"ok\",\"tensors\":{{\"output\":{tensor}}}}}"),
                    Err(Declined { status, reason }) => {
                        format!("{{\"seq\":{seq},\"status\":\"{status}\",\"reason\":{}}}", quoted(&reason))
                    }
                }
            }
        };
        answers.write_all((answer + "\n").as_bytes())?;
        answers.flush()?;
    }
    Ok(())
}

fn hello(program: &Program) -> String {
    let options: Vec<String> = program.options.iter().map(|option| quoted(option)).collect();
    format!(
        "{{\"ok\":true,\"wire\":1,\"name\":{},\"language\":\"rust\",\"supports\":{{\"dtypes\":[\"float32\"],\
         \"options\":[{}],\"outputs\":[\"output\"],\"payloads\":[\"inline\"]}}}}",
        quoted(program.name),
        options.join(",")
    )
}

fn run(program: &Program, request: &Json) -> Result<String, Declined> {
    let (params, tensors) = (request.entries("params"), request.entries("tensors"));
    let offers = |name: &str| program.options.contains(&name.trim_end_matches("_hex"));
    let wanted: &[Json] = match request.at("want") {
        Some(Json::Array(wanted)) => wanted,
        _ => &[],
    };
    // A name that is not known is declined, never passed over.
    let unknown = params.iter().map(|(name, _)| name).find(|name| !offers(name));
    let unknown = unknown.or(tensors.iter().map(|(name, _)| name).find(|name| !["query", "key", "value"].contains(&name.as_str())));
    let unknown = unknown.map(String::as_str).or(wanted.iter().find_map(|want| match want {
        Json::Text(name) if name != "output" => Some(name.as_str()),
        _ => None,
    }));
    if let Some(name) = unknown {
        return Err(Declined::unsupported(format!("no {name}")));
    }
    let tensor = |name: &str| tensor(name, tensors.iter().find(|(key, _)| key == name).map(|(_, sent)| sent));
    let (([b, h_q, n_q, d_k], query), (key_shape, key), (value_shape, value)) =
        (tensor("query")?, tensor("key")?, tensor("value")?);
    let ([_, h_k, n_k, _], [.., d_v]) = (key_shape, value_shape);
    if key_shape != [b, h_k, n_k, d_k] || value_shape != [b, h_k, n_k, d_v] || h_k == 0 || h_q % h_k != 0 {
        return Err(Declined::refused(format!("key {key_shape:?} and value {value_shape:?} for {h_q} heads of width {d_k}")));
    }
    let param = |name: &str| params.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let scale = match param("scale") {
        Some(Json::Number(scale)) => scale.parse().map_err(|_| Declined::error("scale: expected a number"))?,
        _ => 1.0 / (d_k as f64).sqrt(),
    };
    let causal = matches!(param("causal"), Some(Json::True));
    let call = Call { query, key, value, b, h_q, h_k, n_q, n_k, d_k, d_v, scale, causal };
    let output = (program.attention)(&call)?;
    if output.len() != b * h_q * n_q * d_v {
        return Err(Declined::error(format!("expected {} numbers, got {}", b * h_q * n_q * d_v, output.len())));
    }
    let bytes: Vec<u8> = output.iter().flat_map(|x| x.to_le_bytes()).collect();
    Ok(format!("{{\"dtype\":\"float32\",\"shape\":[{b},{h_q},{n_q},{d_v}],\"data\":\"{}\"}}", to_base64(&bytes)))
}

fn tensor(name: &str, sent: Option<&Json>) -> Result<([usize; 4], Vec<f32>), Declined> {
    let wrong = |what: &str| Declined::error(format!("{name}: expected {what}"));
    let sent = sent.ok_or_else(|| wrong("a tensor"))?;
    match sent.at("dtype") {
        Some(Json::Text(dtype)) if dtype == "float32" => {}
        _ => return Err(Declined::unsupported(format!("{name}: another dtype than float32"))),
    }
    let Some(Json::Array(extents)) = sent.at("shape") else { return Err(wrong("a shape")) };
    let extent = |extent: &Json| match extent {
        Json::Number(n) => n.parse().ok(),
        _ => None,
    };
    let extents: Option<Vec<usize>> = extents.iter().map(extent).collect();
    let shape: [usize; 4] = extents.and_then(|extents| extents.try_into().ok()).ok_or_else(|| wrong("4 axes"))?;
    let Some(Json::Text(data)) = sent.at("data") else { return Err(wrong("data")) };
    let bytes = from_base64(data).ok_or_else(|| wrong("base64"))?;
    if shape.iter().try_fold(4, |size: usize, n| size.checked_mul(*n)) != Some(bytes.len()) {
        return Err(wrong("as many bytes as the shape says"));
    }
    Ok((shape, bytes.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]])).collect()))
}

/// A value of JSON; numbers as they are written.
enum Json {
    Null,
    True,
    False,
    Number(String),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    fn at(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(entries) => entries.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    fn entries(&self, name: &str) -> &[(String, Json)] {
        match self.at(name) {
            Some(Json::Object(entries)) => entries,
            _ => &[],
        }
    }
}

fn parse(line: &str) -> Option<Json> {
    let mut rest = line.trim();
    let value = value(&mut rest, 0)?;
    rest.trim().is_empty().then_some(value)
}

fn take(rest: &mut &str, token: &str) -> Option<()> {
    *rest = rest.trim_start().strip_prefix(token)?;
    Some(())
}

fn value(rest: &mut &str, depth: usize) -> Option<Json> {
    *rest = rest.trim_start();
    if depth > 32 {
        return None;
    }
    for (word, json) in [("null", Json::Null), ("true", Json::True), ("false", Json::False)] {
        if take(rest, word).is_some() {
            return Some(json);
        }
    }
    match rest.chars().next()? {
        '"' => text(rest).map(Json::Text),
        '[' => {
            take(rest, "[")?;
            let mut items = Vec::new();
            if take(rest, "]").is_some() {
                return Some(Json::Array(items));
            }
            loop {
                items.push(value(rest, depth + 1)?);
                if take(rest, ",").is_none() {
                    return take(rest, "]").map(|()| Json::Array(items));
                }
            }
        }
        '{' => {
            take(rest, "{")?;
            let mut entries = Vec::new();
            if take(rest, "}").is_some() {
                return Some(Json::Object(entries));
            }
            loop {
                let key = text(rest)?;
                take(rest, ":")?;
                entries.push((key, value(rest, depth + 1)?));
                if take(rest, ",").is_none() {
                    return take(rest, "}").map(|()| Json::Object(entries));
                }
            }
        }
        _ => {
            let end = rest.find(|c: char| !"+-.eE0123456789".contains(c)).unwrap_or(rest.len());
            let (number, after) = rest.split_at(end);
            *rest = after;
            number.parse::<f64>().ok().map(|_| Json::Number(number.to_owned()))
        }
    }
}

fn text(rest: &mut &str) -> Option<String> {
    take(rest, "\"")?;
    let mut out = String::new();
    let mut chars = rest.char_indices();
    loop {
        match chars.next()? {
            (at, '"') => {
                *rest = &rest[at + 1..];
                return Some(out);
            }
            (_, '\\') => match chars.next()?.1 {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                'b' => out.push('\u{8}'),
                'f' => out.push('\u{c}'),
                'u' => {
                    let digits: String = chars.by_ref().take(4).map(|(_, c)| c).collect();
                    // Only names and ids come as text, and those are plain: half of a pair may be
                    // lost.
                    let code = u32::from_str_radix(&digits, 16).ok()?;
                    out.push(char::from_u32(code).unwrap_or('\u{fffd}'));
                }
                other => out.push(other),
            },
            (_, c) => out.push(c),
        }
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if (c as u32) < 32 => out.push(' '),
            c => out.push(c),
        }
    }
    out + "\""
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn to_base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() / 3 * 4 + 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().enumerate().fold(0_u32, |bits, (at, byte)| bits | u32::from(*byte) << (16 - 8 * at));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize] as char;
            out.push(if place <= chunk.len() { digit } else { '=' });
        }
    }
    out
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut n_bits) = (0_u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            out.push((bits >> n_bits) as u8);
        }
    }
    Some(out)
}
