//! The embedded knowledge is whole, and names are composed and told.

use indexmap::IndexMap;
use qkvet_spec::*;

#[test]
fn everything_embedded_is_well_formed() {
    let catalog = Catalog::embedded().unwrap_or_else(|error| panic!("{error}"));
    for dtype in Dtype::ALL {
        let count = catalog.contracts.values().filter(|c| c.dtype == dtype && c.default).count();
        assert_eq!(count, 1, "{dtype}");
    }
    let unsourced: Vec<&String> = catalog
        .laws
        .iter()
        .filter(|(_, law)| law.law.sources.is_empty())
        .map(|(id, _)| id)
        .collect();
    assert!(unsourced.is_empty(), "laws that say not where they are from: {unsourced:?}");
    let none = Catalog { contracts: IndexMap::new(), ..catalog };
    let none = none.default_contract(Dtype::Float8E5m2).expect_err("no contract");
    let known = "contract for float8_e5m2: expected one with `default: true`, got none\nhint: formats with contracts: float64, float32, bfloat16, float16";
    assert_eq!(none.to_string(), known);
}

fn composed(name: &str) -> Contract {
    Catalog::embedded()
        .unwrap_or_else(|error| panic!("{error}"))
        .contract(name)
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn modifiers_loosen_or_tighten_whatever_their_order() {
    let (one, other) =
        (composed("bf16-flash+split-kv+tile-64"), composed("bf16-flash + tile-64 + split-kv"));
    assert_eq!(one, other);
    assert_eq!(one.contract, "bf16-flash+split-kv+tile-64");
    assert!(one.merges && one.tile == Some(64) && !one.default && !one.frozen);
    assert!(one.title.ends_with("rescaled at most once for 64 keys"), "{}", one.title);
    assert_eq!(
        composed("bf16-flash"),
        Catalog::embedded().map(|all| all.contracts["bf16-flash"].clone()).expect("one")
    );
    // What is allowed or promised already stays as it is.
    assert_eq!(composed("bf16-unfused+pre-scaled-query").input_roundings, 4);
    assert_eq!(composed("bf16-flash+tile-8").tile, Some(16));
    assert_eq!(composed("f16-flash+f16-accumulation").dot, Dtype::Float16);
    assert_eq!(composed("e4m3-flash+full-accumulator").dot_precision(), 24);
    let deep = composed("f32+depth-24").depth;
    assert_eq!((deep.scores, deep.values), (Some(24), Some(24)));
    assert!(composed("tf32+unmerged").operands.is_some() && !composed("tf32+unmerged").merges);
    assert!(
        !composed("f32+unrounded-sum").sum_of_rounded
            && composed("e5m2-flash+rounded-sum").sum_of_rounded
    );
    assert_eq!(composed("e5m2-flash+bf16-partials").partial, Some(Dtype::Bfloat16));
}

#[test]
fn compositions_that_mean_nothing_are_refused() {
    let catalog = Catalog::embedded().unwrap_or_else(|error| panic!("{error}"));
    for (name, message) in [
        (
            "bf16-flahs",
            "contract `bf16-flahs`: expected a known contract\nhint: did you mean `bf16-flash`?",
        ),
        (
            "bf16-flash+split-vk",
            "modifier `split-vk`: expected a known modifier\nhint: did you mean `split-kv`?",
        ),
        (
            "bf16-flash+",
            "modifier ``: expected a known modifier\nhint: `qkvet list contracts` shows the known ones",
        ),
        (
            "f32+split-kv+split-kv",
            "contract `f32+split-kv+split-kv`: expected each modifier once, got `split-kv` twice",
        ),
        (
            "f32+unmerged+split-kv",
            "contract `f32+split-kv+unmerged`: expected modifiers that agree, got `split-kv` and `unmerged`, which both set merges",
        ),
        (
            "f32+depth-8+values-depth-9",
            "contract `f32+depth-8+values-depth-9`: expected modifiers that agree, got `depth-8` and `values-depth-9`, which both set values_depth",
        ),
        (
            "f32+e4m3-operands+e5m2-operands",
            "contract `f32+e4m3-operands+e5m2-operands`: expected one format of operands, or formats of which one rounds everything more coarsely, got float8_e5m2 and float8_e4m3fn",
        ),
        (
            "f32+f16-accumulation",
            "contract `f32+f16-accumulation`: expected a contract of float16 for `f16-accumulation`, got float32",
        ),
        (
            "f32+tile-x",
            "modifier `tile-x`: expected a positive number in place of N, got `x`\nhint: such as tile-64",
        ),
        (
            "tile-64",
            "contract `tile-64`: expected a contract in front of its modifiers, got modifiers alone\nhint: behind the contract that they change, such as bf16+tile-64",
        ),
        (
            "+split-kv+tile-64",
            "contract `+split-kv+tile-64`: expected a contract in front of its modifiers, got modifiers alone\nhint: behind the contract that they change, such as bf16+split-kv+tile-64",
        ),
        (
            "f16-accumulation",
            "contract `f16-accumulation`: expected a contract in front of its modifiers, got modifiers alone\nhint: behind the contract that they change, such as f16+f16-accumulation",
        ),
        (
            "unmerged+split-kv",
            "contract `unmerged+split-kv`: expected a contract in front of its modifiers, got modifiers alone\nhint: `qkvet list contracts` shows the known ones",
        ),
        (
            "+split-vk",
            "modifier `split-vk`: expected a known modifier\nhint: did you mean `split-kv`?",
        ),
        (
            "",
            "contract ``: expected a known contract\nhint: `qkvet list contracts` shows the known ones",
        ),
        (
            "+",
            "modifier ``: expected a known modifier\nhint: `qkvet list contracts` shows the known ones",
        ),
        (
            "f32+tile-0",
            "modifier `tile-0`: expected a positive number in place of N, got `0`\nhint: such as tile-64",
        ),
    ] {
        assert_eq!(catalog.contract(name).map(|_| ()).expect_err(name).to_string(), message);
    }
}

#[test]
fn ill_shaped_laws_are_shown_in_place() {
    let check = |expect: &str, parts: &[&str]| {
        let source = format!(
            "law: x\ntitle: t\ngiven: {{P: permutation(n_k), j: index(n_k), S: subset(n_k)}}\nlet: {{}}\nproof: exact\ncatches: []\nexpect: {expect}\n"
        );
        let error = CheckedLaw::from_yaml("x.yaml", &source).map(|_| ()).expect_err(expect);
        for part in parts {
            assert!(error.to_string().contains(part), "{expect}\n{}\nlacks {part}", error);
        }
    };
    check(
        "attention(P @ Q, K, V) == attention(Q, K, V)",
        &["x.yaml:7:19", "expected n_k on both sides, got n_k and n_q"],
    );
    check("attention(Q, K, V) == V", &["x.yaml:7:9", "rows of `==`"]);
    check("attenton(Q, K, V) == Q", &["did you mean `attention`?"]);
    check("attention(Q, K, V, maks=P) == Q", &["did you mean `mask`?"]);
    check("attention(Q, K, V)", &["expected a relation"]);
    check("attention(Q, K) == Q", &["expected 3 arguments, got 2"]);
    check(
        "attention(Q, K, V, causal=P) == Q",
        &["argument `causal`: expected `off`", "gets the case's"],
    );
    check("attention(Q, K, V, mask=of) == Q", &["name `of`"]);
    check("lse(Q, K, V, V) == Q", &["expected 3 arguments, got 4"]);
    check(
        "lse(Q, K, select(V, S)) == Q",
        &["rows of key and value: expected n_k on both sides, got n_k and |S|"],
    );
    check(
        "select(V, others(S, n_k)) == V",
        &["expected n_k - |S| on both sides, got n_k - |S| and n_k"],
    );
    check(
        "others(j, n_k) == P",
        &["argument 1 of `others`: expected a set of indices, got an index"],
    );
    check("head(P, j) == P", &["`head`: expected a matrix with heads, got one for all"]);
    check("as_bias(j) == P", &["argument 1 of `as_bias`: expected a matrix, got an index"]);
    check(
        "scale_rows(V, P) == V",
        &["argument 2 of `scale_rows`: expected one factor a row, got a matrix (n_k, n_k)"],
    );
    check(
        "scale_rows(V, ones(n_q)) == V",
        &["rows in `scale_rows`: expected n_k on both sides, got n_k and n_q"],
    );
    check(
        "split_heads(P, 3) == P",
        &["columns in `split_heads`: expected a multiple of 3, got n_k"],
    );
    check(
        "split_heads(Q, h_q) == Q",
        &["argument 1 of `split_heads`: expected a matrix without heads"],
    );
    check("split_heads(P, j) == P", &["extent: expected a whole number"]);
    check(
        "combine_heads(P) == P",
        &["argument 1 of `combine_heads`: expected a matrix with heads"],
    );
    check("combine_heads(V) == V", &["columns of `==`: expected d_v*h_k on both sides"]);
    check("diag(P) == P", &["argument 1 of `diag`: expected one row, got a matrix (n_k, n_k)"]);
    check("norm_2(j) <= 1", &["argument 1 of `norm_2`: expected a matrix, got an index"]);
    check("log(P) == P", &["argument 1 of `log`: expected a number, got a matrix"]);
    check("'attention(Q, K, W) == Q'", &["x.yaml:7:26", "name `W`"]);
}

#[test]
fn parts_that_do_not_fit_are_labelled_where_they_stand_and_where_they_are_declared() {
    let rendered = |expect: &str| {
        let given =
            "given:\n  P: permutation(n_k)\n  S: subset(n_k)\nlet:\n  O: attention(Q, K, V)\n";
        let source =
            format!("law: x\ntitle: t\n{given}proof: exact\ncatches: []\nexpect: {expect}\n");
        CheckedLaw::from_yaml("x.yaml", &source).map(|_| ()).expect_err(expect).to_string()
    };
    let product = rendered("attention(Q, P @ K, P @ V) == P @ attention(Q, K, V)");
    for part in [
        "4 |   P: permutation(n_k)",
        "P is a matrix (n_k, n_k)",
        "    a matrix (n_k, n_k)",
        "a matrix (b, h_q, n_q, d_v)",
    ] {
        assert!(product.contains(part), "{product}\nlacks {part}");
    }
    // An abbreviation is shown where it stands for something, and a name that has no part in it
    // is not.
    let equation = rendered("O == V");
    for part in ["O is a matrix (b, h_q, n_q, d_v)", "a matrix (b, h_k, n_k, d_v)"] {
        assert!(equation.contains(part), "{equation}\nlacks {part}");
    }
    assert!(!equation.contains("P is"), "{equation}");
    let call = rendered("attention(Q, select(K, S), V) == Q");
    for part in ["S is |S| indices", "a matrix (b, h_k, |S|, d_k)", "a matrix (b, h_k, n_k, d_v)"] {
        assert!(call.contains(part), "{call}\nlacks {part}");
    }
    // An error of a part is labelled there alone.
    let inner = rendered("attention(Q, K, V) == W @ V");
    assert!(!inner.contains("a matrix"), "{inner}");
}

fn about_numbers(given: &str, expect: &str) -> Result<CheckedLaw, SpecError> {
    let head = "law: x\ntitle: t\nproof: moments\ncatches: []\ngiven:\n  mu: number()\n  sigma: positive()\n";
    CheckedLaw::from_yaml("x.yaml", &format!("{head}{given}expect: {expect}\n"))
}

#[test]
fn moments_are_shape_checked() {
    let normal = "  q: normal(1, d_k, mean=mu, sd=sigma)\n  x: normal(n_k, d_v)\n";
    let law = about_numbers(normal, "Var[q @ q.T / sqrt(d_k)] == E(mu) + E[sum(q, axis=cols)]")
        .expect("fits");
    assert!(!law.asks());
    let check = |given: &str, expect: &str, part: &str| {
        let error = about_numbers(given, expect).map(|_| ()).expect_err(expect);
        assert!(error.to_string().contains(part), "{given}{expect}\n{}\nlacks {part}", error);
    };
    check(
        normal,
        "E[q @ x] == 0",
        "inner extents of `@`: expected d_k on both sides, got d_k and n_k",
    );
    check(
        normal,
        "E[x] == 0",
        "argument 1 of `E`: expected a number or a matrix (1, 1), got a matrix (n_k, d_v)",
    );
    check(normal, "Var[q == q] == 0", "got a statement");
    check(normal, "Var(q @ q.T, mu) == 0", "`Var`: expected 1 arguments, got 2");
    check(normal, "Vra(mu) == 0", "did you mean `Var`?");
    check("  q: normal(1)\n", "mu == 0", "`normal`: expected 2 arguments, got 1");
    check("  q: normal(1, d_x)\n", "mu == 0", "name `d_x`");
    check("  q: normal(1, d_k, sd=-1)\n", "mu == 0", "expected a number that is not negative");
    check("  q: normal(1, d_k, sd=mu)\n", "mu == 0", "`positive()` is the domain");
    check(
        "  q: normal(1, d_k, mean=d_k)\n",
        "mu == 0",
        "expected a number or a real declared above",
    );
    check("  q: normal(1, d_k, men=mu)\n", "mu == 0", "did you mean `mean`?");
    check("  q: number(1)\n", "mu == 0", "`number`: expected 0 arguments, got 1");
}

#[test]
fn a_law_that_asks_has_a_value_for_every_case() {
    let check = |given: &str, expect: &str, parts: [&str; 2]| {
        let source =
            format!("law: x\ntitle: t\nproof: moments\ncatches: []\n{given}expect: {expect}\n");
        let error = CheckedLaw::from_yaml("x.yaml", &source).map(|_| ()).expect_err(expect);
        for part in parts {
            assert!(error.to_string().contains(part), "{expect}\n{}\nlacks {part}", error);
        }
    };
    let drawn = "expected one that is drawn";
    check(
        "given:\n  a: number()\n",
        "attention(Q, K, a * V) == a * attention(Q, K, V)",
        ["x.yaml:6", drawn],
    );
    check("given:\n  X: normal(n_q, n_k)\n", "weights(Q, K) <= X", ["x.yaml:6", drawn]);
    check("", "lse(Q, K) <= E[1]", ["x.yaml:5:22", "no `E` or `Var`"]);
    check("let:\n  m: Var[1]\n", "lse(Q, K) <= m", ["x.yaml:6:6", "no `E` or `Var`"]);
}

#[test]
fn suites_take_the_laws_that_ask() {
    let mut catalog = Catalog::embedded().unwrap_or_else(|error| panic!("{error}"));
    let source = "law: square\ntitle: t\ngiven:\n  mu: number()\nproof: moments\ncatches: []\nexpect: 0 <= mu * mu\n";
    let id = catalog.add_law("mine.yaml", source).expect("a law");
    let mut suite = catalog.suites["core"].clone();
    let laws = catalog.suite_laws(&suite).expect("laws");
    assert!(laws.iter().all(|law| law.asks()) && laws.len() < catalog.laws.len());
    assert!(laws.iter().any(|law| law.law.law == "inputs-unchanged"));
    suite.laws = vec![id];
    let error = catalog.suite_laws(&suite).map(|_| ()).expect_err("it asks nothing");
    let message = "law square: expected one that asks a target something, got one about numbers alone\nhint: `qkvet prove --file mine.yaml` proves it";
    assert_eq!(error.to_string(), message);
}
