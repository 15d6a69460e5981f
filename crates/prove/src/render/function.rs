//! The notation of every function of the law language, once: its form in symbols and its words.
//! A function without an entry is printed as `name(arguments)`.

use qkvet_spec::syntax::{Expr, ExprKind};

use super::name;
use super::notation::Notation;
use super::piece::{Fence, Level, Piece, Printer, Symbols};
use super::sign;

type Setting = fn(&dyn Symbols, &[Piece]) -> Piece;

/// A function with a notation of its own.
struct Form {
    function: &'static str,
    arity: usize,
    symbols: Setting,
    /// Begins with a word and ends with an argument or a word that closes it; `{0}` is the first
    /// argument.
    words: &'static str,
}

/// A function that is printed as a call.
struct Head {
    function: &'static str,
    symbol: &'static str,
    index: Option<&'static str>,
    words: &'static str,
}

const FORMS: [Form; 30] = [
    form(
        "ones",
        1,
        |p, x| index(p, p.symbol(&sign::ONES), &[&x[0]]),
        "the column of ones of length {0}",
    ),
    form(
        "ones",
        2,
        |p, x| index(p, p.symbol(&sign::ONES), &[&size(p, x)]),
        "the {0} by {1} matrix of ones",
    ),
    form(
        "zeros",
        1,
        |p, x| index(p, p.symbol(&sign::ZEROS), &[&x[0]]),
        "the column of zeros of length {0}",
    ),
    form(
        "zeros",
        2,
        |p, x| index(p, p.symbol(&sign::ZEROS), &[&size(p, x)]),
        "the {0} by {1} matrix of zeros",
    ),
    form(
        "eye",
        1,
        |p, x| index(p, p.symbol(&sign::IDENTITY), &[&x[0]]),
        "the identity matrix of size {0}",
    ),
    form(
        "row",
        2,
        |p, x| index(p, x[0].clone(), &[&x[1], &p.symbol(&sign::ALL_OF_THEM)]),
        "row {1} of {0}",
    ),
    form(
        "col",
        2,
        |p, x| index(p, x[0].clone(), &[&p.symbol(&sign::ALL_OF_THEM), &x[1]]),
        "column {1} of {0}",
    ),
    form(
        "select",
        2,
        |p, x| index(p, x[0].clone(), &[&x[1], &p.symbol(&sign::ALL_OF_THEM)]),
        "the rows {1} of {0}",
    ),
    form(
        "drop_row",
        2,
        |p, x| {
            let others =
                p.prefix(&sign::WITHOUT, &p.at_least(x[1].clone(), Level::Product), Level::Signed);
            index(p, x[0].clone(), &[&others, &p.symbol(&sign::ALL_OF_THEM)])
        },
        "the rows other than {1} of {0}",
    ),
    form(
        "indicator",
        2,
        |p, x| p.transpose(&index(p, p.symbol(&sign::ONES), &[&x[0]])),
        "the row of length {1} with ones at {0}",
    ),
    form(
        "where",
        3,
        |p, x| p.cases(&x[1], &x[0], &x[2]),
        "the choice of {1} where {0} holds and {2} elsewhere",
    ),
    form(
        "item",
        2,
        |p, x| {
            p.superscript(
                &p.at_least(x[0].clone(), Level::Subscripted),
                &p.fence(Fence::Round, &x[1]),
            )
        },
        "item {1} of {0}",
    ),
    form(
        "scale_row",
        3,
        |p, x| {
            let texts = [p.text("row "), x[1].clone(), p.text(" by "), x[2].clone()]
                .map(|piece| piece.text);
            let how = Piece::new(p.row(&texts.each_ref().map(String::as_str)), Level::Open);
            called(p, &p.subscript(&p.operator("scale"), &how), &p.fence(Fence::Round, &x[0]))
        },
        "the result of scaling row {1} by {2} in {0}",
    ),
    form(
        "norm_max",
        1,
        |p, x| index(p, p.fence(Fence::Norm, &x[0]), &[&p.operator("max")]),
        "the largest magnitude in {0}",
    ),
    form(
        "norm_2",
        1,
        |p, x| index(p, p.fence(Fence::Norm, &x[0]), &[&p.number("2")]),
        "the Euclidean norm of {0}",
    ),
    form(
        "split_heads",
        2,
        |p, x| called(p, &index(p, p.operator("split"), &[&x[1]]), &p.fence(Fence::Round, &x[0])),
        "the split into {1} heads of {0}",
    ),
    form(
        "hidden",
        1,
        |p, x| called(p, &p.operator("hidden"), &p.fence(Fence::Round, &x[0])),
        "the keys hidden from query {0}",
    ),
    form("exp", 1, |p, x| power_of_e(p, &x[0]), "e to the power {0}"),
    // Of proofs about moments: no law has these four.
    form("entry", 2, |p, x| index(p, x[0].clone(), &[&x[1]]), "entry {1} of {0}"),
    form(
        "entry",
        3,
        |p, x| index(p, x[0].clone(), &[&x[1], &x[2]]),
        "the entry in row {1} and column {2} of {0}",
    ),
    form(
        "power",
        2,
        |p, x| p.superscript(&p.at_least(x[0].clone(), Level::Subscripted), &x[1]),
        "the power {1} of {0}",
    ),
    form("series", 3, |p, x| series(p, [&x[0], &x[1], &x[2]]), "the sum over {0} below {1} of {2}"),
    // Of sheets, for readers who do not know what a colon for an index means: no law has these
    // three either.
    form("row_of", 2, |p, x| picked(p, "row", x), "row {1} of {0}"),
    form("column_of", 2, |p, x| picked(p, "column", x), "column {1} of {0}"),
    form("rows_of", 2, |p, x| picked(p, "rows", x), "the rows {1} of {0}"),
    form("sqrt", 1, |p, x| p.root(x[0].clone()), "the square root of {0}"),
    form(
        "E",
        1,
        |p, x| called(p, &p.symbol(&sign::EXPECTED), &p.fence(Fence::Square, &x[0])),
        "the expected value of {0}",
    ),
    form(
        "Var",
        1,
        |p, x| called(p, &p.operator("Var"), &p.fence(Fence::Square, &x[0])),
        "the variance of {0}",
    ),
    form("hcat", 2, |p, x| p.blocks(&[x.to_vec()]), "the block matrix {0} beside {1} end matrix"),
    form(
        "vcat",
        2,
        |p, x| p.blocks(&x.iter().map(|block| vec![block.clone()]).collect::<Vec<_>>()),
        "the block matrix {0} above {1} end matrix",
    ),
];

const HEADS: [Head; 19] = [
    head("attention", "Attention", None, "attention"),
    head("exact", "Attention", Some("exact"), "exact attention"),
    head("weights", "Weights", None, "the attention weights"),
    head("lse", "LSE", None, "the log-sum-exp"),
    head("exact_lse", "LSE", Some("exact"), "the exact log-sum-exp"),
    head("softmax_rows", "softmax", None, "the row-wise softmax"),
    head("softcap", "softcap", None, "the soft cap"),
    head("heads", "heads", None, "the heads"),
    head("mean_heads", "mean", Some("heads"), "the mean over heads"),
    head("repeat_heads", "repeat", Some("heads"), "the repetition for every query head"),
    head("combine_heads", "combine", Some("heads"), "the row of heads"),
    head("diag", "diag", None, "the diagonal matrix"),
    head("log", "ln", None, "the natural logarithm"),
    head("spread", "spread", None, "the spread"),
    head("total_variation", "TV", None, "the total variation distance"),
    head("sigmoid", "sigma", None, "sigma"),
    head("min", "min", None, "the minimum"),
    head("max", "max", None, "the maximum"),
    head("sum", "sum", None, "the sum"),
];

const fn form(function: &'static str, arity: usize, symbols: Setting, words: &'static str) -> Form {
    Form { function, arity, symbols, words }
}

const fn head(
    function: &'static str,
    symbol: &'static str,
    index: Option<&'static str>,
    words: &'static str,
) -> Head {
    Head { function, symbol, index, words }
}

/// `base_{x,y}`.
fn index(p: &dyn Printer, base: Piece, parts: &[&Piece]) -> Piece {
    let rest: Vec<_> =
        parts.iter().skip(1).map(|part| (&sign::INDEX_COMMA, (*part).clone())).collect();
    let Some(first) = parts.first() else { return base };
    p.subscript(&p.at_least(base, Level::Call), &p.infix(first, &rest, Level::Open))
}

/// `n×m`.
fn size(p: &dyn Printer, extents: &[Piece]) -> Piece {
    let [rows, cols] = [0, 1].map(|at| p.at_least(extents[at].clone(), Level::Factor));
    p.infix(&rows, &[(&sign::CROSS, cols)], Level::Open)
}

/// `Σ_{t < n} x`.
fn series(p: &dyn Printer, [at, extent, term]: [&Piece; 3]) -> Piece {
    let below =
        p.infix(at, &[(&sign::LT, p.at_least(extent.clone(), Level::Open))], Level::Relation);
    let head = p.subscript(&p.symbol(&sign::SUM), &below);
    p.infix(&head, &[(&sign::SUMMED, p.at_least(term.clone(), Level::Quotient))], Level::Open)
}

/// `e^x`; `e` alone for its first power.
fn power_of_e(p: &dyn Printer, exponent: &Piece) -> Piece {
    let base = p.symbol(&sign::EULER);
    if exponent.text == p.number("1").text { base } else { p.superscript(&base, exponent) }
}

/// `row_i(x)`.
fn picked(p: &dyn Symbols, what: &str, x: &[Piece]) -> Piece {
    called(p, &index(p, p.operator(what), &[&x[1]]), &p.fence(Fence::Round, &x[0]))
}

/// The function beside its arguments, which a fence holds.
fn called(p: &dyn Printer, head: &Piece, fenced: &Piece) -> Piece {
    p.infix(head, &[(&sign::APPLIED, fenced.clone())], Level::Call)
}

/// `function(args; named)` in its notation.
pub(super) fn print(
    notation: Notation<'_>,
    function: &str,
    args: &[Expr],
    named: &[(String, Expr)],
) -> Piece {
    let p = notation.printer;
    if function == "entries" {
        return entries(notation, args);
    }
    if let Some(form) =
        FORMS.iter().find(|form| form.function == function && form.arity == args.len())
        && named.is_empty()
    {
        let Some(symbols) = p.symbols() else { return in_words(notation, form.words, args) };
        let args: Vec<Piece> =
            blocks(function, args).into_iter().map(|arg| notation.print(arg)).collect();
        return (form.symbols)(symbols, &args);
    }
    let known = HEADS.iter().find(|head| head.function == function);
    // `axis=rows` says which function it is: one over rows.
    let axis = match named {
        [(key, Expr { kind: ExprKind::Name(axis), .. })] if key == "axis" => {
            Some(if axis == "cols" { "columns" } else { axis })
        }
        _ => None,
    };
    let named = if axis.is_some() { &[] } else { named };
    if p.symbols().is_none() {
        let head = known.map_or_else(|| p.word(function).text, |known| known.words.to_owned());
        let head = axis.map_or(head.clone(), |axis| format!("{head} over {axis}"));
        return say(notation, &head, args, named);
    }
    let head = match known {
        Some(Head { symbol, .. }) if name::is_letter(symbol) => p.letter(symbol),
        Some(Head { symbol, .. }) => p.operator(symbol),
        None if name::is_word(function) => p.operator(function),
        None => name::print(p, function),
    };
    let head = match axis.or(known.and_then(|known| known.index)) {
        Some(text) => p.subscript(&head, &p.text(text)),
        None => head,
    };
    let mut inner = notation.list(args);
    for (at, (key, value)) in named.iter().enumerate() {
        let value = notation.print(value);
        // A mask alone needs no label.
        let value = if key == "mask" && named.len() == 1 {
            value
        } else {
            p.infix(&p.text(key), &[(&sign::EQ, value)], Level::Relation)
        };
        let sign = if at == 0 { &sign::SEMICOLON } else { &sign::COMMA };
        inner = p.infix(&inner, &[(sign, value)], Level::Open);
    }
    called(p, &head, &p.fence(Fence::Round, &inner))
}

/// What stands side by side or one above the other, `hcat(hcat(x, y), z)` as three blocks; of other
/// functions the arguments.
fn blocks<'e>(function: &str, args: &'e [Expr]) -> Vec<&'e Expr> {
    let inner = |arg: &'e Expr| match &arg.kind {
        ExprKind::Apply { function: other, args, .. }
            if other == function && matches!(function, "hcat" | "vcat") =>
        {
            blocks(function, args)
        }
        _ => vec![arg],
    };
    args.iter().flat_map(inner).collect()
}

/// A matrix written out, `entries((1, 2), (3, 4))` by rows. No law has it: sheets with numbers do.
fn entries(notation: Notation<'_>, rows: &[Expr]) -> Piece {
    let cells = |row: &Expr| match &row.kind {
        ExprKind::Tuple(items) => items.iter().map(|item| notation.print(item)).collect(),
        _ => vec![notation.print(row)],
    };
    if let Some(symbols) = notation.printer.symbols() {
        return symbols.blocks(&rows.iter().map(cells).collect::<Vec<Vec<Piece>>>());
    }
    let row = |(at, row): (usize, &Expr)| {
        let cells: Vec<String> = cells(row).into_iter().map(|cell| cell.text).collect();
        format!("row {}: {}", at + 1, cells.join(", "))
    };
    let rows: Vec<String> = rows.iter().enumerate().map(row).collect();
    Piece::new(format!("the matrix with {} end matrix", rows.join("; ")), Level::Factor)
}

fn in_words(notation: Notation<'_>, words: &str, args: &[Expr]) -> Piece {
    let mut text = String::new();
    for (at, part) in words.split(['{', '}']).enumerate() {
        // Every second part is the number of an argument.
        match part.parse::<usize>().ok().and_then(|number| args.get(number)) {
            Some(arg) if at % 2 == 1 => text += &notation.operand(arg, Level::Factor).text,
            _ => text += part,
        }
    }
    Piece::new(text, Level::Factor)
}

/// `head of x`, `head of x, y and z with mask m`.
fn say(notation: Notation<'_>, head: &str, args: &[Expr], named: &[(String, Expr)]) -> Piece {
    let level = if args.len() == 1 && named.is_empty() { Level::Factor } else { Level::Sum };
    let args: Vec<String> = args.iter().map(|arg| notation.operand(arg, level).text).collect();
    let named: Vec<String> = named
        .iter()
        .map(|(key, value)| {
            format!(
                "{} {}",
                notation.printer.word(key).text,
                notation.operand(value, Level::Sum).text
            )
        })
        .collect();
    let mut text = head.to_owned();
    if !args.is_empty() {
        text += &format!(" of {}", enumeration(&args));
    }
    if !named.is_empty() {
        text += &format!(" with {}", enumeration(&named));
    }
    Piece::new(text, if level == Level::Factor { level } else { Level::Open })
}

/// `x, y and z`.
fn enumeration(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [start @ .., last] => format!("{} and {last}", start.join(", ")),
    }
}
