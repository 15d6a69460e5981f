//! The words of deviations: a formula in one line of English.

use qkvet_spec::syntax::BinaryOp;
use qkvet_spec::{
    CallOption, CountOf, DenominatorForm, Deviation, DeviationFormula, Grid, IndexExpr, IndexName,
    InputForm, LazySlip, LogitForm, LseForm, MaskJoin, MeaningPatch, PartWeight, ResultName,
    ScaleForm, SoftcapForm, Standing, Step, StubForm, TileFactor, TileForm, TileMax, TilePlace,
    Twist, WeightForm,
};

/// What is computed: `the softcap is x·tanh(x/c)`.
pub(crate) fn formula(formula: &DeviationFormula) -> String {
    let twist = formula.twist.as_ref().map(twist);
    let all: Vec<String> = meaning(&formula.meaning).into_iter().chain(twist).collect();
    let all = if all.is_empty() { "nothing is changed".to_owned() } else { all.join(", and ") };
    match formula.result {
        None => all,
        Some(ResultName::Output) => format!("in the output alone, {all}"),
        Some(ResultName::Weights) => format!("in the returned weights alone, {all}"),
        Some(ResultName::Lse) => format!("in the log-sum-exp alone, {all}"),
    }
}

/// The title: the formula and where it holds.
pub(crate) fn title(deviation: &Deviation) -> String {
    let partly = if deviation.standing == Standing::Partly { "partly explained: " } else { "" };
    format!("{partly}{}{}", formula(&deviation.formula), only(deviation))
}

/// `, only where n_q < n_k and bias`, or nothing.
pub(crate) fn only(deviation: &Deviation) -> String {
    let when = deviation.when.as_ref();
    when.map_or_else(String::new, |when| format!(", only where {}", condition(when)))
}

/// What was counted.
pub(crate) fn evidence(deviation: &Deviation) -> String {
    let Deviation { explained, of, outside, foretold, fresh, .. } = deviation;
    let mut text = format!("explains {explained} of {of} wrong calls");
    if let Some(when) = &deviation.when {
        let verb = if *outside == 1 { "is" } else { "are" };
        text += &format!(
            "; {outside} calls that it would change {verb} right, none of them where {}",
            condition(when)
        );
    }
    if *fresh > 0 {
        text += &format!("; foretold {foretold} of {fresh} fresh calls");
    }
    text
}

/// A condition as people write it.
pub(crate) fn condition(when: &IndexExpr) -> String {
    when.text()
        .replace("mask_hides", "the mask hides a key")
        .replace("longest_keys", "the longest key length")
        .replace("not window_left_open", "the window has a left limit")
        .replace("not window_right_open", "the window has a right limit")
        .replace("window_left_open", "the window has no left limit")
        .replace("window_right_open", "the window has no right limit")
        .replace(" % ", " mod ")
        .replace(">=", "≥")
        .replace("<=", "≤")
        .replace("!=", "≠")
        .replace("==", "=")
}

/// The fields of a meaning that are expressions, with the words around each.
const MAPS: [(&str, &str); 32] = [
    ("scale_of", "the default scale is 1/√(…)"),
    ("causal_row", "query i has the causal limit of query …"),
    ("mask_item", "the mask is read at batch item …"),
    ("mask_head", "the mask is read at head …"),
    ("mask_row", "the mask is read at row …"),
    ("mask_key", "the mask is read at column …"),
    ("bias_item", "the bias is read at batch item …"),
    ("bias_head", "the bias is read at head …"),
    ("bias_row", "the bias is read at row …"),
    ("bias_key", "the bias is read at column …"),
    ("sink_head", "query head h meets the sink of head …"),
    ("alibi_head", "query head h meets the slope of head …"),
    ("length_item", "batch item `item` has the lengths of item …"),
    ("head_map", "query head h reads key/value head …"),
    ("query_head", "query head h is read at head …"),
    ("query_index", "query i is read at row …"),
    ("query_column", "column c of the query is read at column …"),
    ("query_item", "the query of batch item `item` is that of item …"),
    ("key_item", "keys and values of batch item `item` are those of item …"),
    ("key_head", "keys of head h are read in head …"),
    ("key_index", "key j is read at row …"),
    ("value_head", "values of head h are read in head …"),
    ("value_index", "value j is read at row …"),
    ("score_width", "scores are made of the first … columns"),
    ("keys", "only the first … keys exist"),
    ("unseen", "keys are hidden where …"),
    ("shown", "keys are seen where …, whatever hides them"),
    ("zero_keys", "… more keys join the softmax of query i; beyond the tensor they are zeros"),
    ("output_column", "column c of the output holds column …"),
    ("output_item", "batch item `item` of the output holds item …"),
    ("output_head", "head h of the output holds head …"),
    ("output_row", "row i of the output holds row …"),
];

/// The other fields: the field, its value, the words.
const CHOICES: [(&str, &str, &str); 54] = [
    ("default_scale", "one", "there is no default scale"),
    ("explicit_scale", "ignored", "a scale that is given is ignored"),
    ("explicit_scale", "times-default", "a scale that is given multiplies the default"),
    ("explicit_scale", "inverted", "1/scale is used for a scale that is given"),
    ("explicit_scale", "squared", "the square of a scale that is given is used"),
    ("explicit_scale", "absolute", "the sign of a scale that is given is lost"),
    ("explicit_scale", "one-means-default", "a scale of 1 is taken for the default"),
    ("causal", "ignored", "causal masking is ignored"),
    ("causal", "upper-left", "the causal mask is aligned upper-left: query i sees keys j ≤ i"),
    ("causal", "always", "every call is causal"),
    ("mask", "ignored", "the mask is ignored"),
    ("mask", "true-hides", "the mask is inverted: true hides"),
    ("mask", "added", "the mask is added to the scores as 0 and 1"),
    ("hidden", "weight-zeroed", "hidden keys keep their part in the row sum"),
    ("bias", "ignored", "the bias is ignored"),
    ("bias", "subtracted", "the bias is subtracted"),
    ("bias", "nonzero-hides", "the bias is taken for a mask: what is not 0 hides"),
    ("window", "ignored", "the window is ignored"),
    ("window", "exclusive", "both ends of the window are left out"),
    ("window_left", "ignored", "the left side of the window is ignored"),
    ("window_left", "one-more", "the window reaches one key farther to the left"),
    ("window_left", "one-fewer", "the window reaches one key less far to the left"),
    ("window_left", "of-other-side", "the left side of the window is that of the right"),
    ("window_left", "zero-means-all", "a left side of 0 means no limit"),
    ("window_right", "ignored", "the right side of the window is ignored"),
    ("window_right", "one-more", "the window reaches one key farther to the right"),
    ("window_right", "one-fewer", "the window reaches one key less far to the right"),
    ("window_right", "of-other-side", "the right side of the window is that of the left"),
    ("window_right", "zero-means-all", "a right side of 0 means no limit"),
    ("window_anchor", "upper-left", "the window is anchored upper-left"),
    ("sinks", "ignored", "the sinks are ignored"),
    ("sinks", "twice", "the sinks count twice"),
    ("sinks", "scaled", "the sinks are multiplied by the scale"),
    ("alibi", "ignored", "ALiBi is ignored"),
    ("alibi", "reversed", "ALiBi has the wrong sign"),
    ("alibi_anchor", "upper-left", "distances of ALiBi count from upper-left"),
    ("key_lengths", "ignored", "key_lengths are ignored"),
    ("query_lengths", "ignored", "query_lengths are ignored"),
    ("length_anchor", "extents", "positions count from extents, not from lengths"),
    ("packed", "ignored", "packed sequences are not kept apart"),
    ("packed", "first-boundary", "only the first packed sequence is kept apart"),
    ("normalization", "none", "weights are not normalized"),
    ("values", "non-negative", "negative values count as 0"),
    ("normalization", "over-queries", "weights are divided by sums over queries, not over keys"),
    ("empty_row", "zero", "a query that sees no key gets 0"),
    ("empty_row", "nan", "a query that sees no key gets NaN"),
    ("empty_row", "mean", "a query that sees no key gets the mean of all values"),
    ("empty_row", "first", "a query that sees no key gets the first value"),
    ("empty_lse", "negative-infinity", "the log-sum-exp of no key is −∞"),
    ("empty_lse", "infinity", "the log-sum-exp of no key is ∞"),
    ("empty_lse", "zero", "the log-sum-exp of no key is 0"),
    ("lse_base", "two", "the log-sum-exp has base 2"),
    ("lse_base", "natural-times-ln2", "the log-sum-exp is multiplied by ln 2"),
    ("lse_sinks", "ignored", "the log-sum-exp leaves the sinks out"),
];

/// One phrase for each field; a part that two fields say together is one.
fn meaning(patch: &MeaningPatch) -> Vec<String> {
    if let Some(together) = together(patch) {
        return vec![together];
    }
    let mut all = Vec::new();
    for (field, text) in patch.fields() {
        let of_map = MAPS.iter().find(|(name, _)| *name == field);
        let of_choice = CHOICES.iter().find(|(name, value, _)| *name == field && *value == text);
        all.push(match (of_map, of_choice) {
            (Some((_, words)), _) => words.replace('…', &text),
            (_, Some((_, _, words))) => (*words).to_owned(),
            _ => format!("{field} is {text}"),
        });
    }
    all
}

/// Fields that say one thing together.
fn together(patch: &MeaningPatch) -> Option<String> {
    use qkvet_spec::{DefaultScale, HiddenKeys, Stage};
    if let (Some(form), Some(of)) = (patch.default_scale, &patch.scale_of) {
        let of = of.text();
        return Some(match form {
            DefaultScale::InverseSqrt => format!("the default scale is 1/√({of})"),
            DefaultScale::Inverse => format!("the default scale is 1/({of})"),
            DefaultScale::Sqrt => format!("the default scale is √({of})"),
            DefaultScale::InverseFloorSqrt => format!("the default scale is 1/⌊√({of})⌋"),
            DefaultScale::One => "there is no default scale".to_owned(),
        });
    }
    if let Some(unseen) = &patch.unseen
        && let Some(together) = hidden(unseen, patch)
    {
        return Some(together);
    }
    if let Some(stages) = &patch.stages {
        let name = |stage: &Stage| match stage {
            Stage::Scale => "scale",
            Stage::Softcap => "softcap",
            Stage::Bias => "bias and ALiBi",
        };
        let lost = [Stage::Scale, Stage::Softcap, Stage::Bias];
        let lost: Vec<&str> =
            lost.iter().filter(|stage| !stages.contains(stage)).map(name).collect();
        let order: Vec<&str> = stages.iter().map(name).collect();
        return Some(match lost.as_slice() {
            [] => format!("the order of the stages is {}", order.join(", ")),
            [one] => format!("the {one} is ignored"),
            _ => format!("{} are ignored", lost.join(" and ")),
        });
    }
    match (patch.hidden, patch.hidden_score) {
        (Some(HiddenKeys::ScoreReplaced), Some(x)) => {
            Some(format!("hidden keys have the logit {}", number(x)))
        }
        (Some(HiddenKeys::ScoreAdded), Some(x)) => {
            Some(format!("hidden keys have their own logit plus {}", number(x)))
        }
        _ => None,
    }
}

/// Keys that are hidden otherwise than by the option that hid them.
fn hidden(unseen: &IndexExpr, patch: &MeaningPatch) -> Option<String> {
    use qkvet_spec::{Causal, WindowBounds, WindowSide};
    // What stands behind `option and`.
    let behind = |expr: &IndexExpr, option: CallOption| {
        let [first, rest] = expr.operands(BinaryOp::And)?;
        first.is(IndexName::Option(option)).then_some(rest)
    };
    let either = unseen.operands(BinaryOp::Or);
    let first = either.as_ref().map_or(unseen, |[first, _]| first);
    // The first of three.
    let both = first.operands(BinaryOp::Or);
    let first = both.as_ref().map_or(first, |[first, _]| first);
    if patch.key_lengths.is_some() {
        let keys = behind(first, CallOption::KeyLengths)?;
        return Some(format!("key_lengths hide the keys {}", condition(&keys)));
    }
    if patch.window.is_some()
        && let Some([_, position]) =
            behind(first, CallOption::Causal).and_then(|rest| rest.operands(BinaryOp::Gt))
    {
        return Some(format!(
            "query i stands at key {}, for the causal diagonal and the window",
            position.text()
        ));
    }
    if patch.causal == Some(Causal::Ignored) {
        let sees = behind(unseen, CallOption::Causal)?.negated()?;
        return Some(format!("causal: query i sees key j where {}", condition(&sees)));
    }
    if patch.window == Some(WindowBounds::Ignored)
        || [patch.window_left, patch.window_right].contains(&Some(WindowSide::Ignored))
    {
        let keys = behind(unseen, CallOption::Window)?;
        return Some(format!("the window hides the keys {}", condition(&keys)));
    }
    let sees = unseen.negated()?;
    Some(format!("query i sees key j only where {}", condition(&sees)))
}

/// A number, by its name if it has one.
fn number(x: f64) -> String {
    use std::f64::consts;
    let named = [
        (consts::LN_2, "ln 2"),
        (consts::LOG2_E, "log₂ e"),
        (consts::E, "e"),
        (consts::SQRT_2, "√2"),
        (consts::FRAC_1_SQRT_2, "1/√2"),
        (consts::PI, "π"),
    ];
    let name = named.iter().find(|(value, _)| value.to_bits() == x.to_bits());
    name.map_or_else(|| x.to_string(), |(_, name)| format!("{name} ({x:.6})"))
}

fn twist(twist: &Twist) -> String {
    match twist {
        Twist::Softcap { form } => {
            let form = match form {
                SoftcapForm::TimesScore => "x·tanh(x/c)",
                SoftcapForm::NotDivided => "c·tanh(x)",
                SoftcapForm::NotMultiplied => "tanh(x/c)",
                SoftcapForm::Clamped => "min(max(x, −c), c)",
                SoftcapForm::Rational => "x/(1 + |x|/c)",
                SoftcapForm::Inverted => "c·tanh(c·x)",
            };
            format!("the softcap is {form}, not c·tanh(x/c)")
        }
        Twist::Logits { form } => match form {
            LogitForm::Times { factor } => format!("logits are multiplied by {}", number(*factor)),
            LogitForm::Clipped { limit } => {
                let limit = number(limit.abs());
                format!("logits are clipped to −{limit} … {limit}")
            }
            LogitForm::ClippedAbove { limit } => {
                format!("logits are clipped above {}", number(*limit))
            }
            LogitForm::Absolute => "logits are taken without their sign".to_owned(),
            LogitForm::Squared => "logits are squared".to_owned(),
            LogitForm::ZeroHidden => "keys with a logit of 0 are hidden".to_owned(),
            LogitForm::TimesEachTile { factor, size } => format!(
                "logits are multiplied by {} once more at each tile of {size} keys",
                number(*factor)
            ),
        },
        Twist::Times { option, factor } => {
            let what = match option {
                CallOption::AlibiSlopes => "ALiBi is",
                CallOption::Sinks => "the sinks are",
                CallOption::Scale => "the scale is",
                CallOption::Softcap => "the softcap is",
                _ => "the bias is",
            };
            format!("{what} multiplied by {}", number(*factor))
        }
        Twist::BiasCells { cells, value } => {
            format!("the bias is {} where {}", value.text(), condition(cells))
        }
        Twist::Hidden { option, score, added } => {
            let plus = if *added { "their own logit plus" } else { "the logit" };
            format!("keys that {option} hides have {plus} {}", number(*score))
        }
        Twist::HiddenAtCap { option } => {
            format!("keys that {option} hides have the logit −softcap")
        }
        Twist::Rounded { step, to } => rounded(*step, *to),
        Twist::Columns { times } => match times.operands(BinaryOp::Add) {
            Some([_, twice]) => {
                format!("columns with {} count twice in the scores", condition(&twice))
            }
            None => format!("scores are made of columns with {} alone", condition(times)),
        },
        Twist::KeysCentered { size } => {
            format!("each key meets the query without the mean of its tile of {size} keys")
        }
        Twist::Clipped { step, limit } => {
            format!("{} clipped to ±{}", input(*step), number(limit.abs()))
        }
        Twist::KeysAdded { size } => format!(
            "the product of each key holds the products of the keys one tile of {size}, two tiles and so on before it"
        ),
        Twist::Scale { form } => {
            let form = match form {
                ScaleForm::Root => "its square root",
                ScaleForm::Squared => "its square",
                ScaleForm::Cubed => "its cube",
                ScaleForm::Inverse => "its inverse",
                ScaleForm::Negative => "its negative",
            };
            format!("{form} is used for the scale, given or not")
        }
        Twist::Without { option, of: CountOf::Sum } => {
            format!("the row sum, not the weighted values, ignores {option}")
        }
        Twist::Without { option, .. } => {
            format!("the weighted values, not the row sum, ignore {option}")
        }
        Twist::MaxAtLeast { score, divided } => {
            let then = if *divided { "0/0" } else { "0" };
            format!(
                "the maximum begins at {}: where all exponentials underflow, the output is {then}",
                number(*score)
            )
        }
        Twist::MaskJoined { items, by } => {
            let what = if *items { "batch items" } else { "heads" };
            match by {
                MaskJoin::All => format!("a key is seen where the masks of all {what} show it"),
                MaskJoin::Any => {
                    format!("a key is seen where the mask of any of the {what} shows it")
                }
                MaskJoin::AllBefore => {
                    format!("a key is seen where the masks of all {what} up to its own show it")
                }
            }
        }
        Twist::StopsAtHiddenTile { size, by_head } => {
            let hidden = match by_head {
                true => "no query of the head sees",
                false => "the query does not see",
            };
            format!("keys end at the first tile of {size} keys that {hidden}")
        }
        Twist::Denominator { form } => match form {
            DenominatorForm::SinkKeysCentered => {
                "the sink meets logits of keys without their mean".to_owned()
            }
            DenominatorForm::SinkCapped => {
                "the sink passes through the softcap before it joins the row sum".to_owned()
            }
            DenominatorForm::TiesOnce => {
                "keys that share the largest score count once in the row sum".to_owned()
            }
            DenominatorForm::SinkEachTile { size } => {
                format!("exp(sink) joins the row sum once for each tile of {size} keys")
            }
            DenominatorForm::SinkTimes { factor } => {
                format!("exp(sink) joins the row sum {} times", number(*factor))
            }
            DenominatorForm::Plus { term } => {
                format!("the row sum begins at {}, behind the shift by the maximum", number(*term))
            }
            DenominatorForm::Times { factor } => {
                format!("the row sum is multiplied by {}", number(*factor))
            }
            DenominatorForm::SinkAsNumber => {
                "|sink| joins the row sum, not its exponential".to_owned()
            }
            DenominatorForm::SinkNotShifted => {
                "exp(sink) joins the row sum, not shifted by the maximum".to_owned()
            }
            DenominatorForm::SinkAboveKeys => {
                "exp(sink) joins the row sum, not shifted by the maximum of the keys".to_owned()
            }
            DenominatorForm::OwnMaxima { size, strided } => {
                let parts = match strided {
                    true => format!("of {size} lanes"),
                    false => format!("of tiles of {size} keys"),
                };
                format!("row sums {parts}, each shifted by its own maximum, are added as they are")
            }
            DenominatorForm::PaddingAtCap { multiple } => format!(
                "padding up to a multiple of {multiple} keys counts in the row sum with the logit −softcap"
            ),
        },
        Twist::Weights { form } => match form {
            WeightForm::Sigmoid => "weights are sigmoid(x), with no sum",
            WeightForm::Relu => "weights are max(x, 0) over their sum",
            WeightForm::Largest => "the key of the largest logit has all weight",
            WeightForm::Uniform => "every visible key has the same weight",
            WeightForm::Squared => "weights are squared",
        }
        .to_owned(),
        Twist::Tiles { size, form, at } => tiled(*size, form, *at),
        Twist::Parts { part, by } => {
            let by = match by {
                PartWeight::Equal => "all the same",
                PartWeight::Lse => "by the log-sum-exp itself, not its exponential",
                PartWeight::Keys => "by their numbers of keys",
                PartWeight::ExpMax => "by the exponential of their maximum",
                PartWeight::OwnSum => "by their own row sums",
                PartWeight::ExpOfLog2 => "by e to the power of their log-sum-exp in base 2",
                PartWeight::TwoToLse => "by 2 to the power of their log-sum-exp",
                PartWeight::ShareOfAll => {
                    "one by one, by their share of a log-sum-exp that holds their own already"
                }
                PartWeight::EmptyAsZero => {
                    "with a log-sum-exp of 0 for those without a visible key"
                }
                PartWeight::LastOnly => "as if only the last existed",
                PartWeight::MaxScaledTwice => "by maxima that are multiplied with the scale twice",
                PartWeight::MaxOfDefaultScale => {
                    "by maxima with the default scale, whatever is given"
                }
                PartWeight::MaxNotScaled => "by maxima without the scale",
                PartWeight::TwoToMax => "by 2 to the power of their maximum, times their row sum",
            };
            format!("the parts of keys j with the same {} are merged {by}", part.text())
        }
        Twist::Counts { times, of } => counted(times, *of),
        Twist::AlibiDistance { distance } => format!("ALiBi's distance is {}", distance.text()),
        Twist::SinkOf { head } => format!("row i of head h takes the sink {}", head.text()),
        Twist::OutputWhere { cells, value } => {
            format!("the output is {} where {}", number(*value), condition(cells))
        }
        Twist::OutputTimes { factor } => format!("the output is multiplied by {}", number(*factor)),
        Twist::Stub { form } => match form {
            StubForm::Constant { value } => {
                format!("the output is {} whatever is given", number(*value))
            }
            StubForm::MeanOfValues => "the output is the mean of the values".to_owned(),
            StubForm::SumOfVisible => "the output is the sum of the visible values".to_owned(),
            StubForm::ValueRow { row } => format!("output row i is value row {}", row.text()),
            StubForm::Query => "the output is the query".to_owned(),
            StubForm::NotANumber => "the output is no number".to_owned(),
        },
        Twist::HeadOf { values, head } => {
            let what = if *values { "values" } else { "keys" };
            format!("query head h reads the {what} of key/value head {}", head.text())
        }
        Twist::Inputs { form } => match form {
            InputForm::KeyForValue => "the key is used for the value",
            InputForm::ValueForKey => "the value is used for the key",
            InputForm::ScoresTransposed => "the scores are transposed",
            InputForm::KeyReshaped => {
                "the key is transposed by a change of shape, from (n_k, d_k) to (d_k, n_k)"
            }
            InputForm::QueryAsRows => "heads and rows of the query are exchanged",
            InputForm::KeyAsRows => "heads and rows of the key are exchanged",
            InputForm::ValueAsRows => "heads and rows of the value are exchanged",
            InputForm::AllAsRows => "heads and rows of query, key and value are exchanged",
        }
        .to_owned(),
        Twist::Lse { form } => match form {
            LseForm::Zero => "the log-sum-exp is 0",
            LseForm::WithoutMax => "the log-sum-exp leaves the maximum out",
            LseForm::MaxOnly => "the log-sum-exp is the maximum",
            LseForm::Sum => "the log-sum-exp is the row sum",
            LseForm::Negative => "the log-sum-exp has the wrong sign",
            LseForm::NegativeInfinity => "the log-sum-exp is −∞",
            LseForm::KeysCentered => "the log-sum-exp is that of keys without their mean",
            LseForm::MaxNotScaled => {
                "the maximum in the log-sum-exp is that of scores that are not scaled"
            }
            LseForm::MaxInBaseTwo => {
                "the maximum in the log-sum-exp is of base 2, the logarithm of the row sum is not"
            }
            LseForm::SumInBaseTwo => {
                "the logarithm of the row sum in the log-sum-exp has base 2, the maximum has not"
            }
        }
        .to_owned(),
    }
}

/// What is changed, with its verb.
fn input(step: Step) -> &'static str {
    match step {
        Step::Query => "the query is",
        Step::Key => "the key is",
        Step::Value => "the value is",
        Step::KeyAndValue => "key and value are",
        Step::Inputs => "query, key and value are",
        Step::Bias => "the bias is",
        Step::Products => "products of query and key are",
        Step::Logits => "logits are",
        Step::Exponentials => "exponentials are, before they meet the values,",
        Step::Weights => "weights are",
    }
}

/// What is rounded to what.
fn rounded(step: Step, to: Grid) -> String {
    let what = input(step);
    let to = match to {
        Grid::Float32 => "float32",
        Grid::Bfloat16 => "bfloat16",
        Grid::Float16 => "float16",
        Grid::Float8E4m3fn => "float8 e4m3",
        Grid::Float8E5m2 => "float8 e5m2",
        Grid::Int8Rows => "8 bits, by the largest number of each row",
        Grid::Int8Blocks => "8 bits, by the largest number of each 32 columns",
        Grid::Int8Columns => "8 bits, by the largest number of each column",
        Grid::Int8Heads => "8 bits, by the largest number of each head",
        Grid::Int8Tensor => "8 bits, by the largest number of all",
    };
    format!("{what} rounded to {to}")
}

/// How often keys count.
fn counted(times: &IndexExpr, of: CountOf) -> String {
    match of {
        CountOf::Both => format!("key j counts {} times", times.text()),
        CountOf::Sum => format!("the row sum has the keys {} alone", times.text()),
        CountOf::Values => {
            format!("the output has the values {} alone, and the row sum all keys", times.text())
        }
    }
}

/// What multiplies sums as the maximum rises.
fn rescaled(by: TileFactor) -> String {
    let by = match by {
        TileFactor::Missing => "1",
        TileFactor::Right => "e^(old − new)",
        TileFactor::Inverse => "e^(new − old)",
        TileFactor::ScaledTwice => "e^(scale · (old − new))",
        TileFactor::BaseTwo => "2^(old − new)",
    };
    format!("rescaled by {by}, not e^(old − new),")
}

/// What is done at tiles of so many keys.
fn tiled(size: usize, form: &TileForm, at: TilePlace) -> String {
    let place = match at {
        TilePlace::Every if size == 1 => "at each key".to_owned(),
        TilePlace::Every => format!("at each tile of {size} keys"),
        TilePlace::Last => format!("at the last tile of {size} keys"),
        TilePlace::Diagonal => format!("at tiles of {size} keys on the causal diagonal"),
    };
    let what = match form {
        TileForm::NoneYetIsNan => {
            return format!("a row is NaN {place}, where it has seen no key yet");
        }
        TileForm::NoneIsNan => return format!("a row is NaN {place}, where it sees no key of it"),
        TileForm::Rescaled { values, sum } => match (values, sum) {
            (TileFactor::Missing, TileFactor::Missing) => {
                "neither row sum nor weighted values are rescaled".to_owned()
            }
            (TileFactor::Missing, _) => "the weighted values are not rescaled".to_owned(),
            (_, TileFactor::Missing) => "the row sum is not rescaled".to_owned(),
            (TileFactor::Right, other) => format!("the row sum is {}", rescaled(*other)),
            (other, TileFactor::Right) => format!("the weighted values are {}", rescaled(*other)),
            (other, _) => format!("row sum and weighted values are {}", rescaled(*other)),
        },
        TileForm::Divided => "the weighted values are divided by the row sum".to_owned(),
        TileForm::Shifted { by: TileMax::Own } => {
            "exponentials are shifted by the maximum of the tile alone".to_owned()
        }
        TileForm::Shifted { by: TileMax::Before } => {
            "exponentials are shifted by the maximum before the tile".to_owned()
        }
        TileForm::Lazy { most, slip } => {
            let what = match slip {
                LazySlip::Shifted => "exponentials are shifted by the new maximum",
                LazySlip::Rescaled => "row sum and weighted values are rescaled",
                LazySlip::ValuesRescaled => "the weighted values are rescaled",
                LazySlip::SumRescaled => "the row sum is rescaled",
                LazySlip::NotRescaled => {
                    return format!(
                        "neither row sum nor weighted values are rescaled {place}, where the maximum rises by at most {most:.4}"
                    );
                }
            };
            return format!(
                "{what} {place}, also where the old maximum is kept: for a rise of at most {most:.4}"
            );
        }
    };
    format!("{what} {place}")
}
