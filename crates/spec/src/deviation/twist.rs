//! Twists: what a wrong target changes between the scores and the results.

use serde::{Deserialize, Serialize};

use crate::{CallOption, IndexExpr};

/// A change of the computation that no field of a meaning has: between the scores and the results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "twist", rename_all = "kebab-case")]
pub enum Twist {
    /// The softcap has another form.
    Softcap {
        /// Of score `x` and cap `c`.
        form: SoftcapForm,
    },
    /// The logits, before keys are hidden, are changed.
    Logits {
        /// How.
        form: LogitForm,
    },
    /// The scale, an addend of the logits, or a sink is multiplied by a number.
    Times {
        /// `scale`, given or not, `softcap`, `bias`, `alibi_slopes` or `sinks`.
        option: CallOption,
        /// The factor.
        factor: f64,
    },
    /// Cells of the bias hold another number.
    BiasCells {
        /// Which: of `i`, `j`.
        cells: IndexExpr,
        /// The number: of `i`, `j`.
        value: IndexExpr,
    },
    /// Keys that one option hides have a finite logit.
    Hidden {
        /// The option.
        option: CallOption,
        /// The number.
        score: f64,
        /// Whether it is added to their own logit, not put in its place.
        added: bool,
    },
    /// Keys that one option hides have the logit `−softcap`: they were hidden before it.
    HiddenAtCap {
        /// The option.
        option: CallOption,
    },
    /// An input or a step is rounded.
    Rounded {
        /// Which.
        step: Step,
        /// To what.
        to: Grid,
    },
    /// Columns of query and key count more than once in a score, or not at all.
    Columns {
        /// How often: of `c`.
        times: IndexExpr,
    },
    /// The mean of its tile is taken away from each key.
    KeysCentered {
        /// Keys of a tile.
        size: usize,
    },
    /// Numbers of an input are clipped.
    Clipped {
        /// Which input.
        step: Step,
        /// The largest size that a number keeps.
        limit: f64,
    },
    /// Products of a key are added to those of the keys one tile, two tiles and so on before it.
    KeysAdded {
        /// Keys of a tile.
        size: usize,
    },
    /// The scale, given or not, is another one.
    Scale {
        /// Which.
        form: ScaleForm,
    },
    /// One of the two sums is made of logits without an option.
    Without {
        /// The option.
        option: CallOption,
        /// The row sum or the weighted values.
        of: CountOf,
    },
    /// The maximum of a row is at least a number: exponentials of rows far below it are 0.
    MaxAtLeast {
        /// The number.
        score: f64,
        /// Whether a row of zeros is divided by its sum of 0, else it stays 0.
        divided: bool,
    },
    /// The mask of a head or an item is joined with those of others.
    MaskJoined {
        /// Whether with those of other items, else of other heads of the item.
        items: bool,
        /// How.
        by: MaskJoin,
    },
    /// The loop over tiles of keys ends at the first one in which no key is seen.
    StopsAtHiddenTile {
        /// Keys of a tile.
        size: usize,
        /// Whether by no query of the head, else not by this query.
        by_head: bool,
    },
    /// The row sum is another one.
    Denominator {
        /// Which.
        form: DenominatorForm,
    },
    /// Weights are another function of the logits.
    Weights {
        /// Which.
        form: WeightForm,
    },
    /// Keys are taken by tiles, and exponentials or sums do not follow the maximum as they should.
    Tiles {
        /// Keys of a tile.
        size: usize,
        /// What is done instead.
        form: TileForm,
        /// At which tiles.
        at: TilePlace,
    },
    /// Keys count more than once, or not at all.
    Counts {
        /// How often: of `h`, `i`, `j`.
        times: IndexExpr,
        /// In which sums.
        of: CountOf,
    },
    /// Keys are taken in parts, each with a softmax of its own, that are merged otherwise.
    Parts {
        /// The number of the part of key `j`: of `item`, `h`, `i`, `j`.
        part: IndexExpr,
        /// What weighs the result of each part.
        by: PartWeight,
    },
    /// ALiBi is `−slope · distance` with another distance.
    AlibiDistance {
        /// Which: of `i`, `j`.
        distance: IndexExpr,
    },
    /// The sink of another head joins the row sum.
    SinkOf {
        /// Which: of `h`, `i`.
        head: IndexExpr,
    },
    /// The output is another number where the expression is not 0.
    OutputWhere {
        /// Of `item`, `h`, `i`, `c`.
        cells: IndexExpr,
        /// The number.
        value: f64,
    },
    /// The output is multiplied by a number.
    OutputTimes {
        /// The factor.
        factor: f64,
    },
    /// Attention is not computed.
    Stub {
        /// What is returned instead.
        form: StubForm,
    },
    /// Keys or values alone are read in another head.
    HeadOf {
        /// Whether of the values, else of the keys.
        values: bool,
        /// The key/value head that query head `h` reads.
        head: IndexExpr,
    },
    /// Another input stands for an input.
    Inputs {
        /// Which.
        form: InputForm,
    },
    /// The log-sum-exp is another number.
    Lse {
        /// Which.
        form: LseForm,
    },
}

/// Another scale for `s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ScaleForm {
    /// `√|s|` with the sign of `s`.
    Root,
    /// `s²`.
    Squared,
    /// `s³`.
    Cubed,
    /// `1/s`.
    Inverse,
    /// `−s`.
    Negative,
}

/// What is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The query.
    Query,
    /// The key.
    Key,
    /// The value.
    Value,
    /// Key and value.
    KeyAndValue,
    /// Query, key and value.
    Inputs,
    /// The bias.
    Bias,
    /// Products of query and key, before they are scaled.
    Products,
    /// The logits.
    Logits,
    /// The exponentials that weigh values, not those of the row sum.
    Exponentials,
    /// The weights.
    Weights,
}

/// Numbers that something is rounded to: those of a format, or 255 multiples of the largest of some
/// numbers over 127.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Grid {
    /// float32.
    Float32,
    /// bfloat16.
    Bfloat16,
    /// float16.
    Float16,
    /// float8 e4m3fn.
    Float8E4m3fn,
    /// float8 e5m2.
    Float8E5m2,
    /// The largest of each row.
    Int8Rows,
    /// The largest of each 32 columns of a row.
    Int8Blocks,
    /// The largest of each column of a head.
    Int8Columns,
    /// The largest of each head.
    Int8Heads,
    /// The largest of all.
    Int8Tensor,
}

/// How masks are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MaskJoin {
    /// A key is seen that all of them show.
    All,
    /// A key is seen that any of them shows.
    Any,
    /// A key is seen that it and all before it show.
    AllBefore,
}

/// A softcap of score `x` by cap `c`, where `c·tanh(x/c)` is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SoftcapForm {
    /// `x·tanh(x/c)`.
    TimesScore,
    /// `c·tanh(x)`.
    NotDivided,
    /// `tanh(x/c)`.
    NotMultiplied,
    /// `min(max(x, −c), c)`.
    Clamped,
    /// `x/(1 + |x|/c)`.
    Rational,
    /// `c·tanh(x·c)`.
    Inverted,
}

/// Another logit for `z`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "logit", rename_all = "kebab-case")]
pub enum LogitForm {
    /// `z·factor`.
    Times {
        /// The factor.
        factor: f64,
    },
    /// `min(max(z, −limit), limit)`.
    Clipped {
        /// The limit.
        limit: f64,
    },
    /// `min(z, limit)`.
    ClippedAbove {
        /// The limit.
        limit: f64,
    },
    /// `|z|`.
    Absolute,
    /// `z²`.
    Squared,
    /// `z`, and −∞ for 0.
    ZeroHidden,
    /// `z·factor^t` in tile `t` of `size` keys.
    TimesEachTile {
        /// The factor.
        factor: f64,
        /// Keys of a tile.
        size: usize,
    },
}

/// Another row sum, in units of the exponential of the row's maximum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "sum", rename_all = "kebab-case")]
pub enum DenominatorForm {
    /// `term` more: the sum begins at it.
    Plus {
        /// The term.
        term: f64,
    },
    /// `factor` times as much.
    Times {
        /// The factor.
        factor: f64,
    },
    /// The size of the sink joins it, not its exponential.
    SinkAsNumber,
    /// The exponential of the sink joins it, not shifted by the maximum.
    SinkNotShifted,
    /// The same where the maximum is that of the keys alone.
    SinkAboveKeys,
    /// Exponentials of each part of the keys are shifted by the maximum of the part, in the row sum
    /// alone.
    OwnMaxima {
        /// Keys of a part, or parts.
        size: usize,
        /// Whether part `t` is the keys `j` with `j % size = t`, else those with `j / size = t`.
        strided: bool,
    },
    /// The exponential of the sink behind the softcap joins it.
    SinkCapped,
    /// Keys that share the maximum of the row count as one.
    TiesOnce,
    /// The exponential of the sink joins those of logits of keys without their mean.
    SinkKeysCentered,
    /// The exponential of the sink joins it once for each tile.
    SinkEachTile {
        /// Keys of a tile.
        size: usize,
    },
    /// The exponential of the sink joins it so many times.
    SinkTimes {
        /// How many.
        factor: f64,
    },
    /// `count` more keys of logit `−softcap` and value 0.
    PaddingAtCap {
        /// Keys up to a multiple of this number.
        multiple: usize,
    },
}

/// Another weight for logit `z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WeightForm {
    /// `1/(1 + e^−z)`.
    Sigmoid,
    /// `max(z, 0)` over its sum.
    Relu,
    /// 1 for the key of the largest logit.
    Largest,
    /// The same for every visible key.
    Uniform,
    /// The softmax, squared.
    Squared,
}

/// What is done at a tile, where `e^(old − new)` multiplies both sums as the maximum rises, and
/// `new` shifts the exponentials.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "tile", rename_all = "kebab-case")]
pub enum TileForm {
    /// Other factors multiply the sums.
    Rescaled {
        /// The weighted values.
        values: TileFactor,
        /// The row sum.
        sum: TileFactor,
    },
    /// The weighted values are divided by the row sum.
    Divided,
    /// Another maximum shifts the exponentials of the tile.
    Shifted {
        /// Which.
        by: TileMax,
    },
    /// Where the tile raises the maximum by no more than that, it stays, and something is done as
    /// if it rose; or it rises, and nothing is rescaled.
    Lazy {
        /// The largest rise that is passed over.
        most: f64,
        /// What is done.
        slip: LazySlip,
    },
    /// A row is NaN where a tile ends and the row has seen no key yet.
    NoneYetIsNan,
    /// A row is NaN where it sees no key of a tile.
    NoneIsNan,
}

/// What multiplies a sum as the maximum rises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TileFactor {
    /// `e^(old − new)`, which is right.
    Right,
    /// Nothing.
    Missing,
    /// `e^(new − old)`.
    Inverse,
    /// `e^(scale·(old − new))`: the maxima have the scale already.
    ScaledTwice,
    /// `2^(old − new)`.
    BaseTwo,
}

/// A maximum beside that of all tiles so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TileMax {
    /// Of the tile alone.
    Own,
    /// Of the tiles before it.
    Before,
}

/// What is done at a tile whose rise of the maximum is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LazySlip {
    /// The exponentials are shifted by the maximum that is passed over.
    Shifted,
    /// Both sums are rescaled.
    Rescaled,
    /// The weighted values are.
    ValuesRescaled,
    /// The row sum is.
    SumRescaled,
    /// The maximum rises, and neither sum is rescaled.
    NotRescaled,
}

/// At which tiles a fault of tiles is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TilePlace {
    /// At all.
    Every,
    /// At the last one.
    Last,
    /// At those through which the causal diagonal of as many queries goes.
    Diagonal,
}

/// Sums in which a key counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CountOf {
    /// The row sum and the weighted values.
    Both,
    /// The row sum alone.
    Sum,
    /// The weighted values alone.
    Values,
}

/// What weighs the result of a part, where the exponential of its log-sum-exp is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PartWeight {
    /// All the same.
    Equal,
    /// The log-sum-exp itself.
    Lse,
    /// How many keys it has that are seen.
    Keys,
    /// The exponential of its maximum.
    ExpMax,
    /// Its row sum, as if all maxima were the same.
    OwnSum,
    /// 2 to the power of its log-sum-exp.
    TwoToLse,
    /// The exponential of its log-sum-exp in base 2.
    ExpOfLog2,
    /// 1 for the last part.
    LastOnly,
    /// What is merged with those before it by `σ(own − all)` of log-sum-exps, where `all` holds its
    /// own already.
    ShareOfAll,
    /// The exponential of its log-sum-exp, which is taken for 0 where no key is seen.
    EmptyAsZero,
    /// Its row sum times `e^(scale·maximum)`: the maximum has the scale already.
    MaxScaledTwice,
    /// Its row sum times the exponential of its maximum with the default scale, where another one
    /// is given.
    MaxOfDefaultScale,
    /// Its row sum times the exponential of its maximum without the scale.
    MaxNotScaled,
    /// Its row sum times 2 to the power of its maximum.
    TwoToMax,
}

/// What is returned instead of attention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "stub", rename_all = "kebab-case")]
pub enum StubForm {
    /// One number everywhere.
    Constant {
        /// The number.
        value: f64,
    },
    /// The mean of all values of the head.
    MeanOfValues,
    /// The sum of the values that the query sees.
    SumOfVisible,
    /// One row of the values.
    ValueRow {
        /// Its number: of `i`.
        row: IndexExpr,
    },
    /// The query, as far as its width goes.
    Query,
    /// No number: what is read behind the end of memory, or 0/0.
    NotANumber,
}

/// Another input in the place of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum InputForm {
    /// The key for the value, where they are as wide.
    KeyForValue,
    /// The value for the key, where they are as wide.
    ValueForKey,
    /// The scores transposed, where there are as many queries as keys.
    ScoresTransposed,
    /// The key transposed by a change of its shape: `(n_k, d_k)` is read as `(d_k, n_k)`.
    KeyReshaped,
    /// The query with heads for rows: `(h, n, d)` is read as `(n, h, d)`.
    QueryAsRows,
    /// The key so.
    KeyAsRows,
    /// The value so.
    ValueAsRows,
    /// All three so.
    AllAsRows,
}

/// Another log-sum-exp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LseForm {
    /// 0.
    Zero,
    /// The logarithm of the row sum, without the maximum.
    WithoutMax,
    /// The maximum alone.
    MaxOnly,
    /// The row sum itself.
    Sum,
    /// Its negative.
    Negative,
    /// −∞.
    NegativeInfinity,
    /// That of keys from which their mean is taken away.
    KeysCentered,
    /// Its maximum is that of the scores before they are scaled.
    MaxNotScaled,
    /// Its maximum is in base 2, the logarithm of the row sum is not.
    MaxInBaseTwo,
    /// The logarithm of the row sum is in base 2, the maximum is not.
    SumInBaseTwo,
}
