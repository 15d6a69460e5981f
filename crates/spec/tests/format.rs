//! Formats by name.

use qkvet_spec::*;

#[test]
fn storage_formats_keep_their_names_and_tf32_is_beside_them() {
    for dtype in Dtype::ALL {
        let format = Format::from(dtype);
        assert_eq!(
            (format.container(), format.name(), format.precision()),
            (dtype, dtype.name(), dtype.precision())
        );
    }
    for format in Format::ALL {
        assert_eq!(serde_yaml::from_str::<Format>(format.name()).ok(), Some(format));
    }
    assert_eq!((Format::Tf32.precision(), Format::Tf32.min_exponent()), (11, -126));
    assert_eq!(Format::ALL.len(), Dtype::ALL.len() + 1);
}
