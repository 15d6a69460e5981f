//! A C prototype: which arguments a function takes, of which types and in which order.
//!
//! Not C: one function of numbers and pointers to numbers. [`Prototype::parse`] takes the text, and
//! an error points into it.

use std::ops::Range;

use qkvet_spec::{Dtype, SpecError, nearest};

use super::role::{Role, Shape};

/// Where errors say that the text stands.
const PLACE: &str = "--call";

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// A floating-point format.
    Real(Dtype),
    /// Sixteen bits that stand for a number of a format to be declared.
    Bits16,
    /// `bool`, `uint8_t`.
    Byte,
    I32,
    U32,
    I64,
    U64,
}

/// What a function takes or gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Pointer(Number),
    Plain(Number),
}

/// One parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    pub(super) role: Role,
    /// As it is written.
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// A function by its name, what it returns and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prototype {
    pub(super) symbol: String,
    /// `None` for `void`; else an error code.
    pub(super) returns: Option<Number>,
    pub(super) parameters: Vec<Parameter>,
    /// The format of query, key, value and output.
    pub(super) dtype: Dtype,
}

impl Prototype {
    /// Reads a prototype.
    ///
    /// # Errors
    /// What is not a prototype, a type or a name that is not known, a parameter that attention
    /// cannot do without: each with its place in the text.
    pub(crate) fn parse(text: &str) -> Result<Self, SpecError> {
        let error = |Wrong { at, message, hint }: Wrong| {
            SpecError::at(PLACE, text, at, &message, hint.as_deref())
        };
        let tokens = tokens(text).map_err(error)?;
        Parser { text, tokens, at: 0 }.prototype().map_err(error)
    }

    /// The text with the declared format in place of sixteen bits of either, if exactly one format
    /// of sixteen bits is declared.
    pub(super) fn with_format(text: &str, declared: &[Dtype]) -> String {
        match declared {
            [dtype @ (Dtype::Float16 | Dtype::Bfloat16)] => ["uint16_t", "unsigned short"]
                .iter()
                .fold(text.to_owned(), |text, bits| text.replace(bits, dtype.name())),
            _ => text.to_owned(),
        }
    }

    /// The parameter of a role.
    pub(super) fn parameter(&self, role: Role) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| parameter.role == role)
    }

    pub(super) fn has(&self, role: Role) -> bool {
        self.parameter(role).is_some()
    }
}

struct Wrong {
    at: Range<usize>,
    message: String,
    hint: Option<String>,
}

impl Wrong {
    fn new(at: Range<usize>, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), hint: None }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// Words and single characters, by their places.
fn tokens(text: &str) -> Result<Vec<Range<usize>>, Wrong> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        match found.last_mut() {
            Some(last)
                if last.end == at && is_word(c) && text[last.clone()].chars().all(is_word) =>
            {
                last.end = end
            }
            _ if c.is_whitespace() => {}
            _ if is_word(c) || "*(),;[]".contains(c) => found.push(at..end),
            _ => {
                return Err(Wrong::new(
                    at..end,
                    format!("prototype: expected a C prototype, got `{c}`"),
                ));
            }
        }
    }
    Ok(found)
}

/// Words of C that change nothing here.
const QUALIFIERS: [&str; 10] = [
    "restrict",
    "__restrict",
    "__restrict__",
    "volatile",
    "extern",
    "static",
    "inline",
    "register",
    "struct",
    "signed",
];

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Range<usize>>,
    at: usize,
}

/// A type and a name.
struct Declared {
    words: Vec<Range<usize>>,
    n_stars: usize,
    is_const: bool,
    name: Range<usize>,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&str> {
        self.tokens.get(self.at).map(|at| &self.text[at.clone()])
    }

    fn here(&self) -> Range<usize> {
        self.tokens.get(self.at).cloned().unwrap_or(self.text.len()..self.text.len())
    }

    fn take(&mut self, token: &str) -> Result<Range<usize>, Wrong> {
        let here = self.here();
        if self.peek() == Some(token) {
            self.at += 1;
            return Ok(here);
        }
        let got = self.peek().map_or_else(|| "the end".to_owned(), |got| format!("`{got}`"));
        let hint = "such as 'int attn(const float* q, const float* k, const float* v, float* out, int b, int h, int n_q, int n_k, int d)'";
        Err(Wrong::new(here, format!("prototype: expected `{token}`, got {got}")).hint(hint))
    }

    fn prototype(&mut self) -> Result<Prototype, Wrong> {
        let function = self.declared()?;
        let returns = match self.kind(&function)? {
            None => None,
            Some(Kind::Plain(number @ (Number::I32 | Number::U32 | Number::I64 | Number::U64))) => {
                Some(number)
            }
            Some(_) => {
                let at = function.words.first().cloned().unwrap_or(0..0);
                return Err(Wrong::new(at, "return type: expected void, or int for an error code"));
            }
        };
        let open = self.take("(")?;
        let mut parameters: Vec<Parameter> = Vec::new();
        loop {
            let declared = self.declared()?;
            let parameter = self.parameter(&declared)?;
            if parameters.iter().any(|other| other.role == parameter.role) {
                let message = format!(
                    "parameter `{}`: expected `{}` once",
                    parameter.name,
                    parameter.role.name()
                );
                return Err(Wrong::new(declared.name, message));
            }
            parameters.push(parameter);
            if self.peek() != Some(",") {
                break;
            }
            self.at += 1;
        }
        let close = self.take(")")?;
        if self.peek() == Some(";") {
            self.at += 1;
        }
        if self.at < self.tokens.len() {
            return Err(Wrong::new(self.here(), "prototype: expected one function and no more"));
        }
        let dtype = complete(&parameters, open.start..close.end)?;
        Ok(Prototype { symbol: self.text[function.name].to_owned(), returns, parameters, dtype })
    }

    /// Words, stars, a name, and `[]` behind it.
    fn declared(&mut self) -> Result<Declared, Wrong> {
        let (mut words, mut n_stars, mut is_const) = (Vec::new(), 0, false);
        let is_word =
            |token: &str| token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        while let Some(token) = self.peek() {
            match token {
                // What a pointer itself is does not matter, what it points to does.
                "const" => is_const |= n_stars == 0,
                "*" => n_stars += 1,
                token if QUALIFIERS.contains(&token) => {}
                token if is_word(token) => words.push(self.here()),
                _ => break,
            }
            self.at += 1;
        }
        let Some(name) = words.pop().filter(|_| !words.is_empty()) else {
            let got = self.peek().map_or_else(|| "the end".to_owned(), |got| format!("`{got}`"));
            return Err(Wrong::new(
                self.here(),
                format!("prototype: expected a type and a name, got {got}"),
            )
            .hint("every parameter needs its name: it says what is passed"));
        };
        if self.peek() == Some("[") {
            self.at += 1;
            self.take("]")?;
            n_stars += 1;
        }
        Ok(Declared { words, n_stars, is_const, name })
    }

    /// `None` for `void`.
    fn kind(&self, declared: &Declared) -> Result<Option<Kind>, Wrong> {
        let Declared { words, n_stars, .. } = declared;
        let whole =
            words.first().map_or(0, |word| word.start)..words.last().map_or(0, |word| word.end);
        let words: Vec<&str> = words.iter().map(|word| &self.text[word.clone()]).collect();
        let number = match words.join(" ").as_str() {
            "void" if *n_stars == 0 => return Ok(None),
            "float" => Number::Real(Dtype::Float32),
            "double" => Number::Real(Dtype::Float64),
            "_Float16" | "__fp16" | "float16" | "float16_t" | "half" | "__half" => {
                Number::Real(Dtype::Float16)
            }
            "__bf16" | "bfloat16" | "bfloat16_t" | "__nv_bfloat16" => Number::Real(Dtype::Bfloat16),
            "uint16_t" | "unsigned short" => Number::Bits16,
            "bool" | "_Bool" | "uint8_t" | "unsigned char" => Number::Byte,
            "int" | "int32_t" => Number::I32,
            "unsigned" | "unsigned int" | "uint32_t" => Number::U32,
            // As wide as a pointer, wherever this is built for.
            "long" | "long int" | "long long" | "int64_t" | "ptrdiff_t" | "ssize_t"
            | "intptr_t" => Number::I64,
            "size_t" | "unsigned long" | "unsigned long long" | "uint64_t" | "uintptr_t" => {
                Number::U64
            }
            other => {
                let error =
                    Wrong::new(whole, format!("type: expected a number type of C, got `{other}`"));
                let known = [
                    "float", "double", "_Float16", "__bf16", "uint8_t", "bool", "int", "int32_t",
                    "int64_t", "size_t",
                ];
                let near = nearest(other, known);
                return Err(error.hint(match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("known: {}, and pointers to them", known.join(", ")),
                }));
            }
        };
        match n_stars {
            0 => Ok(Some(Kind::Plain(number))),
            1 => Ok(Some(Kind::Pointer(number))),
            _ => Err(Wrong::new(
                whole,
                "type: expected a pointer to numbers, got a pointer to pointers",
            )),
        }
    }

    fn parameter(&self, declared: &Declared) -> Result<Parameter, Wrong> {
        let kind = self.kind(declared)?;
        let at = declared.name.clone();
        let name = &self.text[at.clone()];
        let Some(role) = Role::of(name) else {
            let error = Wrong::new(
                at,
                format!("parameter `{name}`: expected a name that says what is passed"),
            );
            let known: Vec<&str> = Role::names().collect();
            return Err(error.hint(match nearest(name, Role::names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "known: {}; wrap what takes more in a function of your own",
                    known.join(", ")
                ),
            }));
        };
        let shape = role.shape();
        if kind == Some(Kind::Pointer(Number::Bits16)) && shape == Shape::Numbers {
            return Err(Wrong::new(
                at,
                format!("parameter `{name}`: expected a format, got 16 bits of either"),
            )
            .hint(
                "write bfloat16 or float16 in place of uint16_t, or declare the one with --dtype",
            ));
        }
        let kind = kind.filter(|kind| fits(*kind, shape)).ok_or_else(|| {
            Wrong::new(at.clone(), format!("parameter `{name}`: expected {}", shape.expected()))
        })?;
        if role.is_result() && declared.is_const {
            return Err(Wrong::new(
                at,
                format!("parameter `{name}`: expected to be written to, got a pointer to const"),
            ));
        }
        Ok(Parameter { role, name: name.to_owned(), kind })
    }
}

fn fits(kind: Kind, shape: Shape) -> bool {
    use Number::{Byte, I32, I64, Real, U32, U64};
    match (shape, kind) {
        (Shape::Numbers, Kind::Pointer(Real(_))) | (Shape::Bytes, Kind::Pointer(Byte)) => true,
        (Shape::WideNumbers, Kind::Pointer(Real(dtype)))
        | (Shape::Real, Kind::Plain(Real(dtype))) => {
            matches!(dtype, Dtype::Float32 | Dtype::Float64)
        }
        (Shape::Wholes, Kind::Pointer(number)) | (Shape::Whole, Kind::Plain(number)) => {
            matches!(number, I32 | U32 | I64 | U64)
        }
        (Shape::SignedWhole, Kind::Plain(number)) => matches!(number, I32 | I64),
        (Shape::Switch, Kind::Plain(number)) => matches!(number, Byte | I32 | U32 | I64 | U64),
        _ => false,
    }
}

/// The format that the function computes in, if it has what attention cannot do without.
fn complete(parameters: &[Parameter], at: Range<usize>) -> Result<Dtype, Wrong> {
    let has = |role: Role| parameters.iter().find(|parameter| parameter.role == role);
    let lacks = |what: &str| {
        Wrong::new(at.clone(), format!("prototype: expected a parameter {what}, got none"))
    };
    let wanted = [Role::Query, Role::Key, Role::Value, Role::Output, Role::KeyWidth];
    if let Some(missing) = wanted.into_iter().find(|role| has(*role).is_none()) {
        return Err(lacks(&format!("`{}`", missing.name())).hint(
            "names say what is passed; sizes that a function has built in are for a wrapper",
        ));
    }
    if has(Role::Queries).or(has(Role::Positions)).is_none() {
        return Err(lacks("`n_q`").hint("`seqlen` stands for as many queries as keys"));
    }
    for (one, other) in [
        (Role::WindowLeft, Role::WindowRight),
        (Role::QueryOffsets, Role::KeyOffsets),
        (Role::QueryOffsets, Role::Sequences),
    ] {
        if has(one).is_some() != has(other).is_some() {
            let missing = if has(one).is_some() { other } else { one };
            return Err(lacks(&format!("`{}`", missing.name())));
        }
    }
    let format = |role: Role| match has(role)?.kind {
        Kind::Pointer(Number::Real(dtype)) => Some(dtype),
        _ => None,
    };
    let Some(dtype) = format(Role::Query) else { return Err(lacks("`query`")) };
    for role in [Role::Key, Role::Value, Role::Output, Role::Weights] {
        if format(role).is_some_and(|other| other != dtype) {
            let message =
                format!("prototype: expected `{}` in the format of query, {dtype}", role.name());
            return Err(Wrong::new(at, message).hint("wrap a function that mixes formats"));
        }
    }
    Ok(dtype)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "void attn(const float* q, const float* k, const float* v, float* out, int b, int h_q, int h_k, \
                         int n_q, int n_k, int d_k, int d_v, float scale, bool causal)";

    #[test]
    fn prototypes() {
        let whole = Prototype::parse(WHOLE).unwrap();
        assert_eq!(
            (whole.symbol.as_str(), whole.returns, whole.parameters.len()),
            ("attn", None, 13)
        );
        assert_eq!(whole.dtype, Dtype::Float32);
        assert_eq!(whole.parameters[12].kind, Kind::Plain(Number::Byte));
        let other = "extern int32_t f(double *restrict O, double const * const Q, const double K[], const double V[],\n \
                     size_t Sq, unsigned long Sk, long long D, const uint8_t* attn_mask, const int32_t* cache_seqlens);";
        let other = Prototype::parse(other).unwrap();
        assert_eq!((other.returns, other.dtype), (Some(Number::I32), Dtype::Float64));
        assert_eq!(other.parameters[4].kind, Kind::Plain(Number::U64));
        assert_eq!(other.parameters[8].role, Role::KeyLengths);
        let bits = "void f(const uint16_t* q, const uint16_t* k, const unsigned short* v, uint16_t* o, int seqlen, int d)";
        let declared = Prototype::with_format(bits, &[Dtype::Bfloat16]);
        assert_eq!(Prototype::parse(&declared).unwrap().dtype, Dtype::Bfloat16);
        for other in [&[][..], &[Dtype::Float32], &[Dtype::Float16, Dtype::Bfloat16]] {
            assert_eq!(Prototype::with_format(bits, other), bits);
        }
    }

    fn check(text: &str, column: usize, parts: &[&str]) {
        let error = Prototype::parse(text).unwrap_err();
        assert!(
            error.summary.starts_with(&format!("--call:1:{column}: ")),
            "{}\n{text}",
            error.summary
        );
        for part in parts {
            assert!(error.to_string().contains(part), "lacks {part}\n{}", error);
        }
    }

    #[test]
    fn what_is_wrong_is_shown_in_its_place() {
        let tail = "const float* k, const float* v, float* o, int n_q, int d)";
        check(
            &format!("void f(const float* q, int strem, {tail}"),
            28,
            &["parameter `strem`", "known: query"],
        );
        check(
            &format!("void f(const float* q, float softcup, {tail}"),
            30,
            &["did you mean `softcap`?"],
        );
        check(
            &format!("void f(const flaot* q, {tail}"),
            14,
            &["got `flaot`", "did you mean `float`?"],
        );
        check(&format!("float f(const float* q, {tail}"), 1, &["return type: expected void"]);
        check(
            &format!("void f(const float* q, const float* query, {tail}"),
            37,
            &["expected `query` once"],
        );
        check(&format!("void f(const float** q, {tail}"), 14, &["pointer to pointers"]);
        check(&format!("void f(const uint16_t* q, {tail}"), 24, &["16 bits of either", "--dtype"]);
        check(
            &format!("void f(const double* q, {tail}"),
            7,
            &["expected `key` in the format of query, float64"],
        );
        check(
            &format!("void f(const float* q, double* lse, const float* causal, {tail}"),
            50,
            &["bool or int"],
        );
        check(
            &format!("void f(const float* q, int window_left, {tail}"),
            7,
            &["`window_right`, got none"],
        );
        check(&WHOLE.replace("float* out", "const float* out"), 72, &["expected to be written to"]);
        check("void f(const float* q)", 7, &["expected a parameter `key`, got none"]);
        check(
            "void f(const float*)",
            20,
            &["expected a type and a name, got `)`", "needs its name"],
        );
        check("void f", 7, &["expected `(`, got the end"]);
        check("f(x)", 2, &["expected a type and a name"]);
        check("", 1, &["expected a type and a name, got the end"]);
        check(&format!("{WHOLE} {WHOLE}"), WHOLE.len() + 2, &["one function and no more"]);
        check("void f(int $x)", 12, &["got `$`"]);
        check("void f(int x[3])", 14, &["expected `]`"]);
        for end in 0..WHOLE.len() {
            assert!(Prototype::parse(&WHOLE[..end]).is_err(), "{}", &WHOLE[..end]);
        }
    }
}
