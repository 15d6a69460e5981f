//! Files of users join the catalog.

use qkvet_spec::*;

#[test]
fn conventions_of_a_user_join_or_are_refused() {
    let add = |text: &str| {
        let mut catalog = Catalog::embedded().unwrap_or_else(|error| panic!("{error}"));
        let added = catalog.add_own_convention("my.yaml", text)?;
        Ok::<_, SpecError>(catalog.conventions[&added].title.clone())
    };
    let text = |id: &str, field: &str, value: &str, standard: &str, meaning: &str| {
        format!(
            "convention: {id}\ntitle: t\nfield: {field}\nvalue: {value}\nmeaning: {meaning}\nstandard_value: {standard}\nstandard: s\n"
        )
    };
    let one = "{default_scale: one}";
    assert_eq!(add(&text("scale-one", "scale", "one", "root", one)).expect("a convention"), "t");
    for (bad, part) in [
        (
            text(
                "causal-upper-left",
                "causal",
                "upper-left",
                "lower-right",
                "{causal: upper-left}",
            ),
            "which is taken\nhint: ",
        ),
        (
            text("upper", "causal", "upper-left", "lower-right", "{causal: upper-left}"),
            "which is taken\nhint: ",
        ),
        (text("Scale", "scale", "one", "root", one), "lower-case"),
        (text("unscaled", "scale", "one", "root", one), "expected the id `scale-one`"),
        (text("scale-one", "scale", "one", "one", one), "`one` for both"),
        (
            text("causal-one", "causal", "one", "root", one),
            "expected `standard_value: lower-right`, as of causal-upper-left",
        ),
        (text("scale-one", "scale", "one", "root", "{}"), "something under `meaning`"),
        (text("scale-one", "scale", "one", "root", "{default_scale: two}"), "my.yaml:5"),
    ] {
        let error = add(&bad).expect_err(&bad);
        assert!(error.to_string().contains(part), "{error}\nlacks {part}");
    }
}
