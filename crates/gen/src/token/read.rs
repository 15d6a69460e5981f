//! From a token to its case. Every error names the character at which the reading ended.

use indexmap::IndexMap;
use qkvet_engine::format::round;
use qkvet_spec::{
    Binding, BoolTensor, CallOptions, Case, Dims, Dtype, Matrices, Packed, Tensor, Window,
};

use super::{Version, extents_of};
use crate::GenError;
use crate::validate::{check_dims, check_elements, check_option_values, is_law};

/// Longer tokens are refused: none is written, and a case of this size belongs in a file.
const MAX_READ: usize = 1 << 16;

/// Most digits of an extent or an index.
const MAX_DIGITS: usize = 9;

/// A part of the token and where it begins, counted from 1.
#[derive(Clone, Copy)]
struct Part<'a> {
    text: &'a str,
    at: usize,
}

/// Reads a token that [`token`](super::token) wrote. Whether it fits its law is for
/// [`check_case`](crate::check_case) to say.
///
/// # Errors
/// Anything but a token of version 1 or 2: unknown, repeated and misplaced parts, extents that do
/// not fit the elements, numbers that the format does not have.
pub fn from_token(text: &str) -> Result<Case, GenError> {
    if text.len() > MAX_READ {
        return Err(GenError::new(
            "token",
            "its end",
            format!("{MAX_READ} bytes at most"),
            text.len().to_string(),
        ));
    }
    let start = Part { text, at: 1 };
    let (version, rest) =
        start.split(':').ok_or_else(|| start.wrong("token", "`qk1:` and a law"))?;
    let known = Version::ALL.into_iter().find(|known| known.prefix() == version.text);
    let version = known.ok_or_else(|| version.wrong("version", "`qk1` or `qk2`"))?;
    let mut parts = rest.parts(';');
    let law = parts.next().filter(|law| is_law(law.text));
    let law = law.ok_or_else(|| rest.wrong("law", "lower-case words joined by hyphens"))?;
    let dtype =
        parts.next().ok_or_else(|| rest.after().wrong("format", "`;` and a number format"))?;
    let known = Dtype::ALL.map(Dtype::name).join(", ");
    let dtype = Dtype::from_name(dtype.text)
        .ok_or_else(|| dtype.wrong("format", &format!("one of {known}")))?;
    let (options, bindings) = (CallOptions::default(), IndexMap::new());
    let mut reader = Reader { version, dtype, dims: None, options, bindings, seen: 0 };
    parts.try_for_each(|part| reader.part(part))?;
    let Reader { dims, options, bindings, .. } = reader;
    let dims = dims.or_else(|| extents_of(&bindings)).ok_or_else(|| {
        GenError::new(
            "extents",
            "the token",
            "`dims=b,h_q,h_k,n_q,n_k,d_k,d_v` where Q, K, V do not show them",
            "none",
        )
    })?;
    check_dims(&dims, "the token")?;
    check_option_values(&options, &dims, dtype)?;
    Ok(Case { law: law.text.to_owned(), dtype, dims, options, bindings })
}

impl<'a> Part<'a> {
    /// What stands before and behind the first `separator`.
    fn split(self, separator: char) -> Option<(Self, Self)> {
        let (before, behind) = self.text.split_once(separator)?;
        let at = self.at + before.chars().count() + 1;
        Some((Self { text: before, ..self }, Self { text: behind, at }))
    }

    fn parts(self, separator: char) -> impl Iterator<Item = Self> {
        let mut at = self.at;
        self.text.split(separator).map(move |text| {
            let part = Self { text, at };
            at += text.chars().count() + 1;
            part
        })
    }

    /// Entries of a list; an empty text has none.
    fn list(self, separator: char) -> impl Iterator<Item = Self> {
        self.parts(separator).filter(move |_| !self.text.is_empty())
    }

    /// The place behind it.
    fn after(self) -> Self {
        Self { text: "", at: self.at + self.text.chars().count() }
    }

    fn place(self) -> String {
        format!("character {} of the token", self.at)
    }

    fn wrong(self, what: &str, expected: &str) -> GenError {
        let got = if self.text.is_empty() {
            "nothing".to_owned()
        } else {
            format!("`{:.40}`", self.text)
        };
        GenError::new(what, self.place(), expected, got)
    }

    fn size(self) -> Result<usize, GenError> {
        let digits = self.text.len() <= MAX_DIGITS && self.text.bytes().all(|c| c.is_ascii_digit());
        let size = self.text.parse().ok().filter(|_| digits);
        size.ok_or_else(|| {
            self.wrong("number", &format!("a whole number of at most {MAX_DIGITS} digits"))
        })
    }

    fn sizes(self) -> Result<Vec<usize>, GenError> {
        self.list(',').map(Self::size).collect()
    }

    /// The number of the format that the decimal rounds to.
    fn number(self, dtype: Dtype) -> Result<f64, GenError> {
        let decimal =
            self.text.bytes().all(|c| c.is_ascii_digit() || matches!(c, b'.' | b'-' | b'e'));
        let number = self.text.parse::<f64>().ok().filter(|_| decimal).map(|x| round(x, dtype));
        let number = number.ok_or_else(|| self.wrong("number", "a decimal number"))?;
        check_elements(&[number], dtype, &self.place())?;
        Ok(number)
    }
}

/// The case as far as it has been read.
struct Reader {
    version: Version,
    dtype: Dtype,
    dims: Option<Dims>,
    options: CallOptions,
    bindings: IndexMap<String, Binding>,
    /// How many of the version's options can no longer come, in their order.
    seen: usize,
}

impl Reader {
    fn part(&mut self, part: Part<'_>) -> Result<(), GenError> {
        let (name, value) = part.split('=').unwrap_or((part, part.after()));
        let options = self.version.options();
        let Some(option) = options.iter().position(|option| *option == name.text) else {
            self.seen = options.len();
            return self.variable(name, value);
        };
        if option < self.seen {
            let order = options.join(", ");
            return Err(name.wrong(
                "option",
                &format!("each once, in the order {order}, before the variables"),
            ));
        }
        self.seen = option + 1;
        match name.text {
            "dims" => self.dims = Some(dims(value)?),
            "causal" if part.text == "causal" => self.options.causal = true,
            "causal" => return Err(part.wrong("option", "`causal` alone")),
            "scale" => self.options.scale = Some(value.number(self.dtype)?),
            "mask" => self.options.mask = Some(mask(value)?),
            "softcap" => self.options.softcap = Some(value.number(self.dtype)?),
            "window" => self.options.window = Some(window(value)?),
            "sinks" => self.options.sinks = Some(self.by_head(value)?),
            "alibi_slopes" => self.options.alibi_slopes = Some(self.by_head(value)?),
            "key_lengths" => self.options.key_lengths = Some(value.sizes()?),
            "query_lengths" => self.options.query_lengths = Some(value.sizes()?),
            "packed" => {
                let (queries, keys) = value
                    .split(':')
                    .ok_or_else(|| value.wrong("value", "offsets, `:` and offsets"))?;
                self.options.packed =
                    Some(Packed { query_offsets: queries.sizes()?, key_offsets: keys.sizes()? });
            }
            _ => {
                let (axes, data) = shaped(value)?;
                let shape = axes.parts('x').map(Part::size).collect::<Result<Vec<_>, _>>()?;
                let data = self.elements(data, &shape)?;
                self.options.bias = Some(Tensor { dtype: self.dtype, shape, data });
            }
        }
        Ok(())
    }

    fn variable(&mut self, name: Part<'_>, value: Part<'_>) -> Result<(), GenError> {
        if !self.version.is_name(name.text) {
            return Err(name.wrong("variable", "a short word, `=` and a value"));
        }
        if self.bindings.contains_key(name.text) {
            return Err(name.wrong("variable", "each once"));
        }
        let binding = match value.split(':') {
            None => Binding::Index(value.size()?),
            Some((Part { text: "dim", .. }, n)) => Binding::Dim(n.size()?),
            Some((Part { text: "real", .. }, x)) => Binding::Real(x.number(self.dtype)?),
            Some((Part { text: "set", .. }, all)) => Binding::Indices(all.sizes()?),
            Some((axes, data)) => self.matrices(axes, data)?,
        };
        self.bindings.insert(name.text.to_owned(), binding);
        Ok(())
    }

    fn matrices(&self, axes: Part<'_>, data: Part<'_>) -> Result<Binding, GenError> {
        let lead = |part: Part<'_>| if part.text == "_" { Ok(None) } else { part.size().map(Some) };
        let parts: Vec<Part<'_>> = axes.parts('x').collect();
        let (batch, heads, rows, cols) = match parts[..] {
            [rows, cols] => (None, None, rows.size()?, cols.size()?),
            [batch, heads, rows, cols] if batch.text != "_" || heads.text != "_" => {
                (lead(batch)?, lead(heads)?, rows.size()?, cols.size()?)
            }
            _ => {
                return Err(axes.wrong(
                    "value",
                    "an index, `dim:`, `real:`, `set:` or extents such as 2x2 or 1x1x2x2",
                ));
            }
        };
        let data = self.elements(data, &[batch.unwrap_or(1), heads.unwrap_or(1), rows, cols])?;
        Ok(Binding::Matrices(Matrices { batch, heads, rows, cols, data }))
    }

    fn by_head(&self, data: Part<'_>) -> Result<Tensor, GenError> {
        let data =
            data.list(',').map(|part| part.number(self.dtype)).collect::<Result<Vec<_>, _>>()?;
        Ok(Tensor { dtype: self.dtype, shape: vec![data.len()], data })
    }

    fn elements(&self, data: Part<'_>, shape: &[usize]) -> Result<Vec<f64>, GenError> {
        let numbers =
            data.list(',').map(|part| part.number(self.dtype)).collect::<Result<Vec<_>, _>>()?;
        check_count(data, numbers.len(), shape)?;
        Ok(numbers)
    }
}

fn dims(value: Part<'_>) -> Result<Dims, GenError> {
    let sizes = value.parts(',').map(Part::size).collect::<Result<Vec<_>, _>>()?;
    match sizes[..] {
        [b, h_q, h_k, n_q, n_k, d_k, d_v] => Ok(Dims { b, h_q, h_k, n_q, n_k, d_k, d_v }),
        _ => Err(value.wrong("extents", "seven: b,h_q,h_k,n_q,n_k,d_k,d_v")),
    }
}

fn window(value: Part<'_>) -> Result<Window, GenError> {
    let side = |side: Part<'_>| if side.text == "_" { Ok(None) } else { side.size().map(Some) };
    let (left, right) = value
        .split(',')
        .ok_or_else(|| value.wrong("window", "two numbers of keys, `_` for all"))?;
    Ok(Window { left: side(left)?, right: side(right)? })
}

fn shaped(value: Part<'_>) -> Result<(Part<'_>, Part<'_>), GenError> {
    value.split(':').ok_or_else(|| value.wrong("value", "extents, `:` and elements"))
}

fn mask(value: Part<'_>) -> Result<BoolTensor, GenError> {
    let (axes, data) = shaped(value)?;
    let shape = axes.parts('x').map(Part::size).collect::<Result<Vec<_>, _>>()?;
    let bit = |c: char| match c {
        '0' => Ok(false),
        '1' => Ok(true),
        _ => Err(data.wrong("mask", "0 and 1")),
    };
    let bits = data.text.chars().map(bit).collect::<Result<Vec<_>, _>>()?;
    check_count(data, bits.len(), &shape)?;
    Ok(BoolTensor { shape, data: bits })
}

/// Whether there are as many elements as the shape says.
fn check_count(data: Part<'_>, count: usize, shape: &[usize]) -> Result<(), GenError> {
    let product = shape.iter().try_fold(1usize, |product, n| product.checked_mul(*n));
    if product == Some(count) {
        return Ok(());
    }
    let expected = product.map_or_else(|| "fewer".to_owned(), |n| n.to_string());
    Err(GenError::new("elements", data.place(), expected, count.to_string()))
}
