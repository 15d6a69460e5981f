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
        Element::Float(Dtype::Float64) => Kind::F64,
        Element::Float(Dtype::Float32) => Kind::F32,
        Element::Float(Dtype::Bfloat16) => Kind::BF16,
        Element::Float(Dtype::Float16) => Kind::F16,
        Element::Bits(_) => return None,
    })
}

fn element(kind: Kind) -> Option<Element> {
    let floats = Dtype::ALL.into_iter().map(Element::Float);
    floats.chain([Element::Bool]).find(|element| self::kind(*element) == Some(kind))
}

pub(super) fn write(archive: &Archive) -> Result<Vec<u8>, GenError> {
    let failed = |name: &str, error: &dyn std::fmt::Display| {
        GenError::new("array", format!("`{name}`"), "one that safetensors can hold", error.to_string())
    };
    let mut views = Vec::with_capacity(archive.arrays.len());
    for (name, array) in &archive.arrays {
        let kind = kind(array.element).ok_or_else(|| failed(name, &"bits without a format"))?;
        let view = TensorView::new(kind, array.shape.clone(), &array.bytes).map_err(|error| failed(name, &error))?;
        views.push((name.as_str(), view));
    }
    let texts = archive.texts.iter().map(|(name, text)| (name.clone(), text.clone())).collect();
    safetensors::serialize(views, Some(texts)).map_err(|error| failed("all", &error))
}

/// Reads all arrays, and the texts of these names; other metadata are somebody else's.
pub(super) fn read(bytes: &[u8], texts: &[&str]) -> Result<Archive, GenError> {
    let failed =
        |error: &dyn std::fmt::Display| GenError::new("file", "its header", "a safetensors file", error.to_string());
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| failed(&error))?;
    let file = SafeTensors::deserialize(bytes).map_err(|error| failed(&error))?;
    let mut archive = Archive::default();
    for name in texts {
        let text = metadata.metadata().as_ref().and_then(|all| all.get(*name));
        archive.texts.extend(text.map(|text| ((*name).to_owned(), text.clone())));
    }
    let mut arrays = IndexMap::new();
    for (name, view) in file.iter() {
        let element = element(view.dtype()).ok_or_else(|| {
            GenError::new(
                "format",
                format!("array `{name:.64}`"),
                "bool or a floating-point format",
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
