//! What a check says that a target computes, kept in a file that the target is held against: other
//! cases, other formats, nothing more and nothing less.

use qkvet_diagnose::is_word;
use qkvet_spec::{CallOption, DeviationFile, Dims, SavedDeviation};
use qkvet_tests::{Folder, has_python, is_thorough, numpy_attention, temp};

/// A fault of each kind: a formula everywhere, one with a condition, a way of computing.
#[test]
fn what_is_named_is_what_is_computed() {
    let folder = temp();
    for fault in ["scale-inverse-d", "causal-off-by-one", "no-rescale", "softcap-after-bias"] {
        let target = format!("builtin:fault/{fault}");
        let suite = "--suite smoke --format json";
        let save = format!("check {target} {suite} --dtype float32 --save-fault it.yaml");
        folder.run(save).report(1);
        let two = "--dtype float32,bfloat16";
        let all = folder.run(format!("check {target} {suite} {two} --seed 7 --as it.yaml"));
        let claim = &all.finds(&[])["claim"];
        assert!(claim["explained"].as_u64() > Some(20), "{fault}: {claim}");
        assert_eq!(claim["contradicted"], 0, "{fault}");
        // Neither a right target nor one with another fault computes that.
        let right = folder.run(format!("check builtin:standard {suite} {two} --as it.yaml"));
        let claim = &right.report(1)["claim"];
        assert_eq!(claim["explained"], 0, "{fault}");
        assert!(claim["contradicted"].as_u64() > Some(20), "{fault}: {claim}");
        let other = "builtin:fault/window-ignored";
        let other = folder.run(format!("check {other} {suite} --dtype float32 --as it.yaml"));
        assert!(!other.report(1)["findings"].as_array().expect("findings").is_empty(), "{fault}");
    }
}

/// A formula that no fault of the atlas has.
#[test]
fn a_formula_is_kept_with_its_condition() {
    if !has_python() {
        return;
    }
    let folder = temp();
    let capped = "    if softcap is not None: s = np.clip(s, -softcap, softcap)\n";
    folder.write("mine.py", numpy_attention(", softcap=None", capped, "sums"));
    let check = "check mine.py:attention --suite smoke --convention empty-row=nan --format json";
    folder.run(format!("{check} --dtype float32 --save-fault it.yaml")).report(1);
    let kept = folder.read("it.yaml");
    assert!(kept.contains("form: clamped") && kept.contains("# - "), "{kept}");
    let report = folder.run(format!("{check} --seed 7 --as it.yaml")).finds(&[]);
    assert!(report["claim"]["explained"].as_u64() > Some(5), "{}", report["claim"]);
    // Another form is refuted by the same cases.
    folder.write("it.yaml", kept.replace("clamped", "rational"));
    folder.run(format!("{check} --dtype float32 --as it.yaml")).report(1);
    // Where it does not hold, what it says is wrong.
    let never = format!("{kept}  when: n_q > 100000\n");
    folder.write("it.yaml", &never);
    folder.run(format!("{check} --dtype float32 --as it.yaml")).report(1);
}

/// A condition that few calls of a suite have, and a map with a condition.
#[test]
fn conditions_are_found_again() {
    let folder = temp();
    for (formula, when, laws) in [
        ("meaning: {causal: ignored}", "not mask and return_lse", "--law value --law log-sum-exp"),
        ("meaning: {mask_item: item * h_q % b}", "causal", "--law value"),
        // Calls without the option are changed too, and are no evidence.
        (
            "twist: output-where, cells: i >= key_length / 2, value: 0.0",
            "key_lengths",
            "--law value",
        ),
        // Of a batch of one it is a fault of the atlas, which explains fewer cases than it leaves.
        (
            "twist: output-where, cells: item * h_q + h > 0, value: 0.0",
            "causal",
            "--law value --law constant-values",
        ),
    ] {
        let said = format!("deviations:\n- formula: {{{formula}}}\n  when: {when}\n");
        folder.write("it.yaml", said);
        let check = format!("check builtin:fault/it.yaml {laws} --dtype float64 --format json");
        folder.run(format!("{check} --save-fault found.yaml")).report(1);
        let kept = folder.read("found.yaml");
        assert!(kept.trim_end().ends_with(&format!("when: {when}")), "{kept}");
        folder.run(format!("{check} --as found.yaml --seed 7")).ends(0);
    }
}

#[test]
fn a_file_that_says_nothing_is_refused() {
    let folder = temp();
    let refused = |text: &str, parts: &[&str]| {
        folder.write("it.yaml", text);
        folder.run("check builtin:standard --suite smoke --as it.yaml").expect(2, parts);
    };
    refused("", &["it.yaml"]);
    refused("deviations: []\n", &["it.yaml", "1 to 8"]);
    refused("deviations:\n- fault: causal-of-by-one\n", &["did you mean `causal-off-by-one`?"]);
    refused("deviations:\n- when: causal\n", &["deviation 1", "`formula:`"]);
    refused("deviations:\n- fault: scale-missing\n  when: causal\n", &["deviation 1"]);
    refused("deviations:\n- fault: answer-cached\n", &["a habit besides"]);
    refused("deviations:\n- formula: {twist: softcp}\n", &["it.yaml", "softcap"]);
    refused(
        "deviations:\n- formula: {meaning: {causal_offset: 9223372036854775807}}\n",
        &["6 digits"],
    );
    for size in ["2_305_843_009_213_693_952", "0xFFFF"] {
        let said = format!("deviations:\n- formula: {{twist: keys-centered, size: {size}}}\n");
        refused(&said, &["6 digits"]);
    }
    let twice = "- formula: {twist: output-times, factor: 2.0}\n".repeat(2);
    refused(&format!("deviations:\n{twice}"), &["one with a `twist:` at most"]);
    // What makes no difference in any case is not confirmed.
    folder.write(
        "never.yaml",
        "deviations:\n- formula: {twist: output-times, factor: 2.0}\n  when: n_k > 99999\n",
    );
    folder.run("check builtin:standard --suite smoke --law value --as never.yaml").ends(4);
    // Numbers that fit excuse no other habit.
    let habit = "check builtin:fault/query-overwritten --suite smoke --law value --as never.yaml";
    folder.run(habit).ends(1);
    let both = "deviations:\n- fault: no-rescale\n- formula: {twist: output-times, factor: 2.0}\n";
    refused(both, &["formulas alone, or faults alone"]);
    let missing = "check builtin:standard --suite smoke --as none.yaml";
    folder.run(missing).expect(2, &["none.yaml", "--save-fault"]);
    // What has no finding has no file.
    let right =
        folder.run("check builtin:standard --suite smoke --law value --save-fault new.yaml");
    assert!(right.ends(0).stderr.contains("new.yaml is not written"), "{}", right.stderr);
    assert!(!folder.path().join("new.yaml").exists());
}

/// Numbers of formulas of which another is run, in the standard tests and in all.
const STEP: [usize; 2] = [32, 1];
/// How many of the formulas are no words as they stand: the search fits a number, joins two, or
/// reads an expression off the rows.
const FITTED: usize = 5;

/// A target that computes what a file says is found to compute that, by its calls alone. The search
/// tries every formula; some of them are run.
#[test]
fn what_a_file_says_is_found_again() {
    let folder = temp();
    let step = STEP[usize::from(is_thorough())];
    let dims = Dims { b: 3, h_q: 8, h_k: 2, n_q: 66, n_k: 70, d_k: 64, d_v: 40 };
    let mut n_fitted = 0;
    for (number, (formula, part, law, suite)) in FORMULAS.into_iter().enumerate() {
        let said = format!("deviations:\n- formula: {{{formula}}}\n");
        let file = DeviationFile::from_yaml("it.yaml", &said).expect("a file");
        let [SavedDeviation { formula: Some(own), .. }] = &file.deviations[..] else {
            panic!("{formula}");
        };
        let is_tried = is_word(own, dims, CallOption::ALL.into_iter().collect());
        n_fitted += usize::from(!is_tried);
        if is_tried && number % step != 0 {
            continue;
        }
        folder.write("it.yaml", said);
        let check = format!(
            "check builtin:fault/it.yaml --law {law} --suite {suite} --dtype float64 --format json"
        );
        let found = folder.run(format!("{check} --save-fault found.yaml"));
        assert_eq!(found.report(1)["findings"].as_array().map(Vec::len), Some(1), "{formula}");
        let kept = folder.read("found.yaml");
        assert!(kept.contains(part), "{formula}: {kept}");
        folder.run(format!("{check} --as found.yaml --seed 7")).ends(0);
    }
    assert_eq!(n_fitted, FITTED);
    folder.run("check builtin:fault/none.yaml").expect(2, &["none.yaml", "--save-fault"]);
}

const COUNTS: &str = "twist: counts, times: '1 + (j / 16 == (n_k - 1) / 16)', of: both";

/// A formula, a part of what is saved, a law and a suite that show it.
const FORMULAS: [(&str, &str, &str, &str); 69] = [
    (COUNTS, "times: 1 + (j / 16", "value", "smoke"),
    ("twist: counts, times: 'j < n_k - 1', of: sum", "of: sum", "value", "smoke"),
    ("twist: stub, form: {stub: not-a-number}", "not-a-number", "value", "smoke"),
    (
        "meaning: {key_lengths: ignored, unseen: key_lengths and j >= longest_keys}",
        "longest_keys",
        "value",
        "core",
    ),
    (
        "meaning: {query_item: (item + i) / n_q % b, query_index: (item + i) % n_q}",
        "(item + i)",
        "value",
        "smoke",
    ),
    ("meaning: {mask_row: i / 16 * 16, bias_row: i / 16 * 16}", "bias_row", "value", "core"),
    (
        "meaning: {shown: 'causal and window and j >= max((i / 8 * 8 + n_k - n_q) - window_left, 0) \
         / 4 * 4 and j < min((i / 8 * 8 + n_k - n_q) + 1, n_k) / 4 * 4'}",
        "causal and window",
        "value",
        "core",
    ),
    (
        "meaning: {output_item: (item * h_q + h) % b, output_head: (item * h_q + h) / b}",
        "output_item",
        "value",
        "smoke",
    ),
    (
        "twist: tiles, size: 16, form: {tile: rescaled, values: inverse, sum: right}, at: every",
        "values: inverse",
        "value",
        "smoke",
    ),
    (
        "twist: tiles, size: 16, form: {tile: lazy, most: 5.545177444479562, slip: shifted}, at: every",
        "slip: shifted",
        "value",
        "smoke",
    ),
    (
        "twist: tiles, size: 16, form: {tile: rescaled, values: scaled-twice, sum: right}, at: every",
        "values: scaled-twice",
        "value",
        "smoke",
    ),
    (
        "twist: parts, part: j / ((n_k + 1) / 2), by: max-scaled-twice",
        "max-scaled",
        "value",
        "smoke",
    ),
    ("twist: parts, part: j / 16, by: two-to-max", "two-to-max", "value", "smoke"),
    ("meaning: {query_column: (c % 2 * (d_k / 2) + c / 2) % d_k}", "c % 2 *", "value", "smoke"),
    // Right too where a sink takes all weight and the output is below the normal range.
    ("twist: alibi-distance, distance: n_k - 1 - j", "n_k - 1 - j", "value", "core"),
    ("twist: sink-of, head: (h * n_q + i) % h_q", "sink-of", "value", "smoke"),
    // Neither of the two explains a wrong call alone.
    (
        "meaning: {score_width: 'min(d_k, 16)'}, twist: output-where, cells: c >= 16, value: 0.0",
        "cells: c >= 16",
        "value",
        "core",
    ),
    ("twist: parts, part: j % 2, by: two-to-lse", "part: j % 2", "value", "smoke"),
    ("twist: lse, form: keys-centered", "keys-centered", "log-sum-exp", "smoke"),
    ("twist: lse, form: max-in-base-two", "max-in-base-two", "log-sum-exp", "smoke"),
    ("twist: lse, form: max-not-scaled", "max-not-scaled", "log-sum-exp", "smoke"),
    ("twist: denominator, form: {sum: sink-keys-centered}", "sink-keys-centered", "value", "smoke"),
    ("twist: parts, part: j / 16, by: empty-as-zero", "empty-as-zero", "value", "smoke"),
    ("twist: inputs, form: key-reshaped", "key-reshaped", "value", "smoke"),
    ("twist: inputs, form: value-as-rows", "value-as-rows", "value", "smoke"),
    ("meaning: {alibi_head: h / (h_q / h_k)}", "h / (h_q / h_k)", "value", "smoke"),
    ("twist: lse, form: sum-in-base-two", "sum-in-base-two", "log-sum-exp", "smoke"),
    ("twist: denominator, form: {sum: sink-each-tile, size: 32}", "size: 32", "value", "smoke"),
    ("twist: denominator, form: {sum: sink-times, factor: 5.0}", "factor: 5", "value", "smoke"),
    ("twist: hidden-at-cap, option: causal", "hidden-at-cap", "value", "smoke"),
    (
        "twist: tiles, size: 16, form: {tile: lazy, most: 8.0, slip: not-rescaled}, at: every",
        "slip: not-rescaled",
        "value",
        "core",
    ),
    ("meaning: {default_scale: inverse-floor-sqrt}", "inverse-floor-sqrt", "value", "core"),
    (
        "meaning: {value_index: 'j - (j >= n_k / 16 * 16) * (n_k >= 16) * (16 - n_k % 16)'}",
        "value_index",
        "value",
        "smoke",
    ),
    (
        "meaning: {causal_row: '(i * (h_q / h_k) + h % (h_q / h_k)) % n_q'}",
        "h % (h_q / h_k)) % n_q",
        "value",
        "smoke",
    ),
    ("meaning: {mask: ignored}, result: weights", "result: weights", "weights", "smoke"),
    ("twist: rounded, step: value, to: int8-blocks", "int8-blocks", "value", "core"),
    ("twist: rounded, step: weights, to: bfloat16", "step: weights", "value", "smoke"),
    (
        "twist: columns, times: 1 + (c >= d_k - 8 and c < d_k / 8 * 8)",
        "c >= d_k - 8",
        "value",
        "core",
    ),
    ("twist: keys-centered, size: 8", "size: 8", "value", "smoke"),
    (
        "meaning: {keys: next_power_of_two((n_k + 15) / 16 + 1) / 2 * 16}",
        "next_power",
        "value",
        "smoke",
    ),
    ("twist: keys-added, size: 16", "keys-added", "value", "smoke"),
    ("twist: scale, form: root", "form: root", "value", "smoke"),
    ("twist: clipped, step: value, limit: 1.0", "limit: 1", "value", "smoke"),
    ("twist: times, option: softcap, factor: 0.5", "option: softcap", "value", "smoke"),
    ("twist: denominator, form: {sum: sink-capped}", "sink-capped", "value", "core"),
    ("twist: denominator, form: {sum: ties-once}", "ties-once", "value", "smoke"),
    ("twist: logits, form: {logit: zero-hidden}", "zero-hidden", "value", "smoke"),
    (
        "twist: parts, part: 'j / ((n_k + 3) / 4)', by: share-of-all",
        "share-of-all",
        "value",
        "smoke",
    ),
    ("meaning: {mask_key: j + n_k - key_length}", "n_k - key_length", "value", "core"),
    ("twist: without, option: bias, of: values", "of: values", "value", "smoke"),
    ("twist: without, option: softcap, of: sum", "option: softcap", "value", "smoke"),
    ("twist: mask-joined, items: false, by: all-before", "all-before", "value", "core"),
    (
        "twist: stops-at-hidden-tile, size: 16, by_head: true",
        "stops-at-hidden-tile",
        "value",
        "core",
    ),
    ("meaning: {value_index: j + 32 * (j + 32 < n_k)}", "j + 32", "value", "smoke"),
    (
        "meaning: {zero_keys: '(not causal) * max(min((16 - n_k % 16) % 16, i - n_q + 1 + window_right), 0)'}",
        "window_right",
        "value",
        "smoke",
    ),
    ("twist: parts, part: j >= n_k - n_q, by: exp-of-log2", "j >= n_k - n_q", "value", "smoke"),
    (
        "meaning: {unseen: 'window and j >= max((i / 4 * 4 + n_k - n_q) - window_left, 0) + \
         (min(n_k, window_left + 4) + 4 - 1) / 4 * 4'}",
        "min(n_k, window_left + 4)",
        "value",
        "core",
    ),
    (
        "meaning: {shown: 'mask and j < (i / 16 * 16 + n_k - n_q) / 8 * 8'}",
        "i / 16 * 16",
        "value",
        "core",
    ),
    (
        "meaning: {key_item: (item * n_q + j) / n_k % b, key_index: (item * n_q + j) % n_k, \
         value_index: (item * n_q + j) % n_k, unseen: j >= n_q or item * n_q + j >= b * n_k}",
        "item * n_q + j",
        "value",
        "smoke",
    ),
    (
        "meaning: {mask_item: (item * (mask_items > 1) * mask_heads + h * (mask_heads > 1) + i * \
         (mask_queries == 1)) / mask_heads, mask_head: (item * (mask_items > 1) * mask_heads + h * \
         (mask_heads > 1) + i * (mask_queries == 1)) % mask_heads, shown: mask and (item * \
         (mask_items > 1) * mask_heads + h * (mask_heads > 1) + i * (mask_queries == 1)) >= \
         mask_items * mask_heads and not (causal and j > i + n_k - n_q)}",
        "mask_queries == 1",
        "value",
        "core",
    ),
    (
        "meaning: {causal: ignored, unseen: 'causal and j > i + n_k - n_q and j >= ((min(i / 8 * 8 + \
         8, n_q) - 1 + n_k - n_q)) / 8 * 8'}",
        "i / 8 * 8",
        "value",
        "smoke",
    ),
    (
        "meaning: {window_left: ignored, unseen: window and (j < key_length - window_left - 1)}",
        "key_length - window_left",
        "value",
        "core",
    ),
    (
        "twist: output-where, cells: (item * h_q + h) * n_q + i >= 16, value: 0.0",
        "n_q + i >= 16",
        "value",
        "smoke",
    ),
    (
        "twist: tiles, size: 1, form: {tile: rescaled, values: missing, sum: missing}, at: every",
        "size: 1",
        "value",
        "smoke",
    ),
    (
        "twist: tiles, size: 8, form: {tile: none-yet-is-nan}, at: every",
        "none-yet-is-nan",
        "value",
        "smoke",
    ),
    // No word says it: it is read off the rows.
    ("meaning: {unseen: j == (i + n_k - n_q) / 3}", "(i + n_k - n_q) / 3", "value", "smoke"),
    (
        "meaning: {zero_keys: (16 - n_k % 16) % 16, key_item: item + j / n_k, key_index: j % n_k, \
         value_index: j % n_k}",
        "item + j / n_k",
        "value",
        "smoke",
    ),
    (
        "meaning: {shown: 'causal and j < ((i / 8 * 8 + n_k - n_q) + 16 - 1) / 16 * 16'}, \
         twist: counts, times: '1 + (causal and j >= (i / 8 * 8 + n_k - n_q) and j < ((i / 8 * 8 + \
         n_k - n_q) + 16 - 1) / 16 * 16 and j <= i + n_k - n_q)', of: both",
        "twist: counts",
        "value",
        "smoke",
    ),
    (
        "twist: parts, part: (j < n_k - n_q) * (j / 8 + 1), by: max-of-default-scale",
        "max-of-default-scale",
        "value",
        "core",
    ),
];
