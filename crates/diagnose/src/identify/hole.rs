//! Formulas with a hole: a number of each row that is read off wrong results, such as the first key
//! that is not seen.

use qkvet_spec::{
    CallOption, Causal, CountOf, DeviationFormula, Dims, EmptyRow, IndexEnv, IndexExpr,
    MeaningPatch, Obedience, Twist, WindowBounds, WindowSide,
};

use super::language::{Scope, behind};
use super::literal::parsed;

/// A formula with a hole.
pub(super) struct Hole {
    pub(super) needs: &'static [CallOption],
    pub(super) bits: f64,
    /// The largest number that means something in a call.
    pub(super) most: Most,
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
type Most = fn(Dims) -> usize;

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

impl Shape {
    fn meaning<const N: usize>(own: MeaningPatch, fields: [(Field, &str); N]) -> Self {
        let owned = fields.map(|(field, text)| (field, text.to_owned()));
        Self::Meaning(Box::new(own), owned.into())
    }

    fn twist(text: &str, twist: impl Fn(IndexExpr) -> Twist + 'static) -> Self {
        Self::Twist(text.to_owned(), Box::new(twist))
    }
}

impl Hole {
    /// A number of each row, under any options.
    fn of_row(bits: f64, most: Most, beyond: Beyond, shape: Shape) -> Self {
        Self { needs: &[], bits, most, beyond, of: Of::Row, shape }
    }

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
    let keys: Most = |dims| dims.n_k;
    let limit = |(needs, own, field, text, beyond)| {
        let shape = Shape::meaning(own, [(field, text)]);
        Hole { needs, ..Hole::of_row(7.0, keys, beyond, shape) }
    };
    let tile = |t: usize| {
        let text = format!("j >= max(@, 0) and j < @ + {t}");
        Hole::of_row(8.0, keys, Beyond::Clamp, Shape::meaning(none(), [(unseen, &text)]))
    };
    let zeros = |(own, more)| {
        let shape = Shape::meaning(own, [(|it| &mut it.zero_keys, "@")]);
        Hole::of_row(7.0 + more, |_| MAX_ZERO_KEYS, Beyond::Clamp, shape)
    };
    let zeros = std::iter::once((none(), 0.0)).chain(behind()).map(zeros);
    // A row of which every key is hidden like this is no number.
    let nan = |(needs, own, field, text, beyond)| {
        let own = MeaningPatch { empty_row: Some(EmptyRow::Nan), ..own };
        (needs, own, field, text, beyond)
    };
    let nans = limits.clone().into_iter().filter(|_| scope.has_nan).map(nan).map(limit);
    let nans: Vec<Hole> = nans.collect();
    let all = limits.into_iter().map(limit).chain(nans);
    all.chain(scope.powers().map(tile)).chain(zeros).collect()
}

/// Keys behind the last that join a softmax.
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
    .map(|(of, text, beyond)| {
        let shape = Shape::twist(text, move |times| Twist::Counts { times, of });
        Hole::of_row(8.0, |dims| dims.n_k, beyond, shape)
    })
}

/// What is read in another place.
fn maps() -> Vec<Hole> {
    use CallOption::{AlibiSlopes, Bias, Causal as CausalOption, KeyLengths, Mask, Sinks};
    let items: Most = |dims| dims.b.saturating_sub(1);
    let heads: Most = |dims| dims.h_q.saturating_sub(1);
    let rows: Most = |dims| dims.n_q.saturating_sub(1);
    let key_heads: Most = |dims| dims.h_k.saturating_sub(1);
    let keys: Most = |dims| dims.n_k.saturating_sub(1);
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
    let place = |(needs, most, of, field)| {
        let shape = Shape::meaning(MeaningPatch::default(), [(field, "@")]);
        Hole { needs, of, ..Hole::of_row(6.0, most, Beyond::Clamp, shape) }
    };
    let turn = |(needs, field)| {
        let shape = Shape::meaning(MeaningPatch::default(), [(field, "(j + @) % n_k")]);
        Hole { needs, ..Hole::of_row(7.0, keys, Beyond::Wrap, shape) }
    };
    let head = |values| {
        let shape = Shape::twist("@", move |head| Twist::HeadOf { values, head });
        Hole { of: Of::Head, ..Hole::of_row(7.0, key_heads, Beyond::Clamp, shape) }
    };
    let sink = Shape::twist("(@) % h_q", |head| Twist::SinkOf { head });
    let sink = Hole { needs: &[Sinks], ..Hole::of_row(7.0, heads, Beyond::Wrap, sink) };
    let all = places.into_iter().map(place).chain(turned.into_iter().map(turn));
    all.chain([false, true].map(head)).chain([sink]).collect()
}

/// Rows of the heads of an item, and heads of all items, one after the other.
fn exchanged() -> impl Iterator<Item = Hole> {
    let rows: Most = |dims| (dims.h_q * dims.n_q).saturating_sub(1);
    let heads: Most = |dims| (dims.b * dims.h_q).saturating_sub(1);
    let all: [(Most, _, Field, Field); 4] = [
        (rows, ["n_q", "h_q"], |it| &mut it.output_head, |it| &mut it.output_row),
        (rows, ["n_q", "h_q"], |it| &mut it.query_head, |it| &mut it.query_index),
        (heads, ["h_q", "b"], |it| &mut it.output_item, |it| &mut it.output_head),
        (heads, ["h_q", "b"], |it| &mut it.query_item, |it| &mut it.query_head),
    ];
    all.into_iter().map(|(most, [n, ends], outer, inner)| {
        let (of_outer, of_inner) = (format!("(@) / {n} % {ends}"), format!("(@) % {n}"));
        let texts = [(outer, of_outer.as_str()), (inner, of_inner.as_str())];
        let shape = Shape::meaning(MeaningPatch::default(), texts);
        Hole::of_row(7.0, most, Beyond::Wrap, shape)
    })
}
