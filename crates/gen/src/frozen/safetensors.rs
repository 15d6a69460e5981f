//! Archives as safetensors files.

use indexmap::IndexMap;
use qkvet_spec::Dtype;
use safetensors::tensor::{Dtype as Kind, SafeTensors, TensorView};

use super::archive::{Archive, Array, Element};
use crate::GenError;

/// The container's name of an element.
fn kind(element: Element) -> Option<Kind> {
    Some(match element {
        Element::Bool => Kind::BOOL,
        Element::Float(dtype) => match dtype.name() {
            "float64" => Kind::F64,
            "float32" => Kind::F32,
            "bfloat16" => Kind::BF16,
            "float16" => Kind::F16,
            "float8_e4m3fn" => Kind::F8_E4M3,
            "float8_e5m2" => Kind::F8_E5M2,
            _ => return None,
        },
        Element::Whole(4) => Kind::I32,
        Element::Whole(8) => Kind::I64,
        Element::Bits(_) | Element::Whole(_) => return None,
    })
}

fn element(kind: Kind) -> Option<Element> {
    let floats = Dtype::ALL.into_iter().map(Element::Float);
    floats
        .chain([Element::Bool, Element::Whole(4), Element::Whole(8)])
        .find(|element| self::kind(*element) == Some(kind))
}

/// One text at most: the container writes several in the order of a hash map, which is another one
/// each time.
pub(super) fn write(archive: &Archive) -> Result<Vec<u8>, GenError> {
    if archive.texts.len() > 1 {
        return Err(GenError::new(
            "texts",
            "metadata",
            "one at most",
            archive.texts.len().to_string(),
        ));
    }
    let failed = |name: &str, error: &dyn std::fmt::Display| {
        GenError::new(
            "array",
            format!("`{name}`"),
            "one that safetensors can hold",
            error.to_string(),
        )
    };
    let mut views = Vec::with_capacity(archive.arrays.len());
    for (name, array) in &archive.arrays {
        let kind = kind(array.element).ok_or_else(|| failed(name, &"bits without a format"))?;
        let view = TensorView::new(kind, array.shape.clone(), &array.bytes)
            .map_err(|error| failed(name, &error))?;
        views.push((name.as_str(), view));
    }
    let texts = archive.texts.iter().map(|(name, text)| (name.clone(), text.clone())).collect();
    safetensors::serialize(views, Some(texts)).map_err(|error| failed("all", &error))
}

/// Reads all arrays, and the text of this name; other metadata are somebody else's.
pub(super) fn read(bytes: &[u8], text: &str) -> Result<Archive, GenError> {
    let failed = |error: &dyn std::fmt::Display| {
        GenError::new("file", "its header", "a safetensors file", error.to_string())
    };
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| failed(&error))?;
    let file = SafeTensors::deserialize(bytes).map_err(|error| failed(&error))?;
    let mut archive = Archive::default();
    let found = metadata.metadata().as_ref().and_then(|all| all.get(text));
    archive.texts.extend(found.map(|found| (text.to_owned(), found.clone())));
    let mut arrays = IndexMap::new();
    for (name, view) in file.iter() {
        let element = element(view.dtype()).ok_or_else(|| {
            GenError::new(
                "format",
                format!("array `{name:.64}`"),
                "bool, a floating-point format, int32 or int64",
                format!("{:?}", view.dtype()),
            )
        })?;
        let array = Array { element, shape: view.shape().to_vec(), bytes: view.data().to_vec() };
        array.check_size(name)?;
        arrays.insert(name.to_owned(), array);
    }
    arrays.sort_keys();
    archive.arrays = arrays;
    Ok(archive)
}
