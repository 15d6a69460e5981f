//! Names of formats.

use qkvet_spec::*;

#[test]
fn yaml_and_wire_use_the_same_names() {
    for dtype in Dtype::ALL {
        assert_eq!(serde_yaml::from_str::<Dtype>(dtype.name()).ok(), Some(dtype));
        assert_eq!(Dtype::from_name(dtype.name()), Some(dtype));
    }
    assert_eq!(Dtype::from_name("float8"), None);
}

#[test]
fn checked_formats_are_the_wide_ones() {
    assert_eq!(Dtype::ALL[..Dtype::CHECKED.len()], Dtype::CHECKED);
}
