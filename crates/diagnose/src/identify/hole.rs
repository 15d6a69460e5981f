//! Formulas with a hole: a number of each row that is read off wrong results, such as the first key
//! that is not seen.

use qkvet_spec::{
    CallOption, Causal, CountOf, DeviationFormula, Dims, IndexEnv, IndexExpr, MeaningPatch,
    Obedience, Twist, WindowBounds, WindowSide,
};

use super::language::Scope;
use super::literal::parsed;

/// A formula with a hole.
pub(super) struct Hole {
    pub(super) needs: &'static [CallOption],
    pub(super) bits: f64,
    /// The largest number that means something in a call.
    pub(super) most: fn(Dims) -> usize,
    pub(super) beyond: Beyond,
    pub(super) of: Of,
    shape: Shape,
}

/// What numbers outside the range mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beyond {
    /// The first or the last number.
    Clamp,
    /// The number is taken modulo the extent.
    Wrap,
    /// No key, which is what the last number means.
    Nothing,
}

/// What the number may depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Row,
    Head,
    Item,
}

type Field = fn(&mut MeaningPatch) -> &mut Option<IndexExpr>;

/// The texts have `@` where the hole is.
enum Shape {
    Meaning(Box<MeaningPatch>, Vec<(Field, String)>),
    Twist(String, Box<dyn Fn(IndexExpr) -> Twist>),
}

impl Of {
    /// The place with the names that the number may depend on.
    pub(super) fn env(self, env: IndexEnv) -> IndexEnv {
        match self {
            Self::Row => env,
            Self::Head => IndexEnv { item: 0, i: 0, ..env },
            Self::Item => IndexEnv { h: 0, i: 0, ..env },
        }
    }
}

impl Hole {
    /// The formula with an expression in the hole; `None` if a text does not parse.
    pub(super) fn formula(&self, text: &str) -> Option<DeviationFormula> {
        let filled = |template: &String| parsed(&template.replace('@', text));
        Some(match &self.shape {
            Shape::Meaning(own, fields) => {
                let mut meaning = MeaningPatch::clone(own);
                for (field, template) in fields {
                    *field(&mut meaning) = Some(filled(template)?);
                }
                DeviationFormula { meaning, ..DeviationFormula::default() }
            }
            Shape::Twist(template, twist) => {
                DeviationFormula { twist: Some(twist(filled(template)?)), ..Default::default() }
            }
        })
    }
}

/// Every formula with a hole whose options some wrong call has.
pub(super) fn holes(scope: &Scope) -> Vec<Hole> {
    let mut all = seen(scope);
    all.extend(counts());
    all.extend(maps());
    all.extend(exchanged());
    all.retain(|hole| hole.needs.iter().all(|option| scope.options.contains(*option)));
    all
}

/// Keys that are hidden or shown, and limits that lie elsewhere.
fn seen(scope: &Scope) -> Vec<Hole> {
    use CallOption::{Causal as CausalOption, KeyLengths, Window};
    let none = MeaningPatch::default;
    let causal = || MeaningPatch { causal: Some(Causal::Ignored), ..none() };
    let window = || MeaningPatch { window: Some(WindowBounds::Ignored), ..none() };
    let left = || MeaningPatch { window_left: Some(WindowSide::Ignored), ..none() };
    let right = || MeaningPatch { window_right: Some(WindowSide::Ignored), ..none() };
    let both = MeaningPatch { causal: Some(Causal::Ignored), ..window() };
    let lengths = MeaningPatch { key_lengths: Some(Obedience::Ignored), ..none() };
    let unseen: Field = |it| &mut it.unseen;
    let shown: Field = |it| &mut it.shown;
    let limits: [(&[CallOption], MeaningPatch, Field, &str, Beyond); 14] = [
        (&[], none(), unseen, "j >= @", Beyond::Clamp),
        (&[], none(), unseen, "j < @", Beyond::Clamp),
        (&[], none(), unseen, "j == @", Beyond::Nothing),
        (&[], none(), shown, "j == @", Beyond::Nothing),
        (&[], none(), shown, "j < @", Beyond::Clamp),
        (&[CausalOption, Window], window(), shown, "j >= @", Beyond::Clamp),
        (&[CausalOption, Window], window(), shown, "j < @", Beyond::Clamp),
        (&[CausalOption], causal(), unseen, "causal and j >= @", Beyond::Clamp),
        (&[Window], left(), unseen, "window and j < @", Beyond::Clamp),
        // Keys of a cache and new ones, apart.
        (&[Window], left(), unseen, "window and j < n_k - n_q and j < @", Beyond::Clamp),
        (&[Window], left(), unseen, "window and j >= n_k - n_q and j < @", Beyond::Clamp),
        (&[Window], right(), unseen, "window and j >= @", Beyond::Clamp),
        (&[CausalOption, Window], both, unseen, "(causal or window) and j >= @", Beyond::Clamp),
        (&[KeyLengths], lengths, unseen, "key_lengths and j >= @", Beyond::Clamp),
    ];
    let limit = |(needs, own, field, text, beyond): (_, _, Field, &str, _)| {
        let shape = Shape::Meaning(Box::new(own), vec![(field, text.to_owned())]);
        Hole { needs, bits: 7.0, most: |dims| dims.n_k, beyond, of: Of::Row, shape }
    };
    let mut all: Vec<Hole> = limits.into_iter().map(limit).collect();
    for t in scope.tiles.iter().filter(|t| t.is_power_of_two()) {
        let text = format!("j >= max(@, 0) and j < @ + {t}");
        all.push(Hole {
            needs: &[],
            bits: 8.0,
            most: |dims| dims.n_k,
            beyond: Beyond::Clamp,
            of: Of::Row,
            shape: Shape::Meaning(Box::default(), vec![(unseen, text)]),
        });
    }
    all.push(Hole {
        needs: &[],
        bits: 7.0,
        most: |_| MAX_ZERO_KEYS,
        beyond: Beyond::Clamp,
        of: Of::Row,
        shape: Shape::Meaning(Box::default(), vec![(|it| &mut it.zero_keys, "@".to_owned())]),
    });
    all
}

/// Keys of zeros that join a softmax.
const MAX_ZERO_KEYS: usize = 64;

/// Keys that count twice, or in one of the two sums alone.
fn counts() -> impl Iterator<Item = Hole> {
    use CountOf::{Both, Sum, Values};
    [
        (Both, "1 + (j == @)", Beyond::Nothing),
        (Both, "1 + (j < @)", Beyond::Clamp),
        (Both, "1 + (j >= @)", Beyond::Clamp),
        (Sum, "j != @", Beyond::Nothing),
        (Sum, "j < @", Beyond::Clamp),
        (Sum, "j >= @", Beyond::Clamp),
        (Values, "j != @", Beyond::Nothing),
        (Values, "j < @", Beyond::Clamp),
        (Values, "j >= @", Beyond::Clamp),
    ]
    .into_iter()
    .map(|(of, text, beyond)| Hole {
        needs: &[],
        bits: 8.0,
        most: |dims| dims.n_k,
        beyond,
        of: Of::Row,
        shape: Shape::Twist(text.to_owned(), Box::new(move |times| Twist::Counts { times, of })),
    })
}

/// What is read in another place.
fn maps() -> Vec<Hole> {
    use CallOption::{AlibiSlopes, Bias, Causal as CausalOption, KeyLengths, Mask, Sinks};
    let items: fn(Dims) -> usize = |dims| dims.b.saturating_sub(1);
    let heads: fn(Dims) -> usize = |dims| dims.h_q.saturating_sub(1);
    let rows: fn(Dims) -> usize = |dims| dims.n_q.saturating_sub(1);
    let key_heads: fn(Dims) -> usize = |dims| dims.h_k.saturating_sub(1);
    let keys: fn(Dims) -> usize = |dims| dims.n_k.saturating_sub(1);
    let places: [(&[CallOption], _, Of, Field); 15] = [
        (&[], items, Of::Row, |it| &mut it.query_item),
        (&[], heads, Of::Row, |it| &mut it.query_head),
        (&[], rows, Of::Row, |it| &mut it.query_index),
        (&[], items, Of::Head, |it| &mut it.key_item),
        (&[], key_heads, Of::Head, |it| &mut it.head_map),
        (&[CausalOption], rows, Of::Row, |it| &mut it.causal_row),
        (&[Mask], items, Of::Row, |it| &mut it.mask_item),
        (&[Mask], heads, Of::Row, |it| &mut it.mask_head),
        (&[Mask], rows, Of::Row, |it| &mut it.mask_row),
        (&[Bias], items, Of::Row, |it| &mut it.bias_item),
        (&[Bias], heads, Of::Row, |it| &mut it.bias_head),
        (&[Bias], rows, Of::Row, |it| &mut it.bias_row),
        (&[Sinks], heads, Of::Head, |it| &mut it.sink_head),
        (&[AlibiSlopes], heads, Of::Head, |it| &mut it.alibi_head),
        (&[KeyLengths], items, Of::Item, |it| &mut it.length_item),
    ];
    let turned: [(&[CallOption], Field); 4] = [
        (&[], |it| &mut it.key_index),
        (&[], |it| &mut it.value_index),
        (&[Mask], |it| &mut it.mask_key),
        (&[Bias], |it| &mut it.bias_key),
    ];
    let meaning =
        |field, text: &str| Shape::Meaning(Box::default(), vec![(field, text.to_owned())]);
    let place = |(needs, most, of, field)| {
        let shape = meaning(field, "@");
        Hole { needs, bits: 6.0, most, beyond: Beyond::Clamp, of, shape }
    };
    let turn = |(needs, field)| {
        let shape = meaning(field, "(j + @) % n_k");
        Hole { needs, bits: 7.0, most: keys, beyond: Beyond::Wrap, of: Of::Row, shape }
    };
    let mut all: Vec<Hole> = places.into_iter().map(place).collect();
    all.extend(turned.into_iter().map(turn));
    for values in [false, true] {
        let twist = move |head| Twist::HeadOf { values, head };
        all.push(Hole {
            needs: &[],
            bits: 7.0,
            most: key_heads,
            beyond: Beyond::Clamp,
            of: Of::Head,
            shape: Shape::Twist("@".to_owned(), Box::new(twist)),
        });
    }
    all.push(Hole {
        needs: &[Sinks],
        bits: 7.0,
        most: heads,
        beyond: Beyond::Wrap,
        of: Of::Row,
        shape: Shape::Twist("(@) % h_q".to_owned(), Box::new(|head| Twist::SinkOf { head })),
    });
    all
}

/// Rows of the heads of an item, and heads of all items, one after the other.
fn exchanged() -> impl Iterator<Item = Hole> {
    let rows: fn(Dims) -> usize = |dims| (dims.h_q * dims.n_q).saturating_sub(1);
    let heads: fn(Dims) -> usize = |dims| (dims.b * dims.h_q).saturating_sub(1);
    let all: [(_, _, Field, Field); 4] = [
        (rows, ["n_q", "h_q"], |it| &mut it.output_head, |it| &mut it.output_row),
        (rows, ["n_q", "h_q"], |it| &mut it.query_head, |it| &mut it.query_index),
        (heads, ["h_q", "b"], |it| &mut it.output_item, |it| &mut it.output_head),
        (heads, ["h_q", "b"], |it| &mut it.query_item, |it| &mut it.query_head),
    ];
    all.into_iter().map(|(most, [n, ends], outer, inner)| {
        let texts = vec![(outer, format!("(@) / {n} % {ends}")), (inner, format!("(@) % {n}"))];
        Hole {
            needs: &[],
            bits: 7.0,
            most,
            beyond: Beyond::Wrap,
            of: Of::Row,
            shape: Shape::Meaning(Box::default(), texts),
        }
    })
}
