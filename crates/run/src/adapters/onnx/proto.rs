//! The messages of ONNX that are read and written here, as far as they are: a model, its graph, its
//! tensors.
//!
//! Fields keep the numbers of `onnx.proto`; what is not listed is passed over in reading and absent
//! in writing.

use prost::{Enumeration, Message, Oneof};

/// A model: what is read from a `.onnx` file.
#[derive(Clone, PartialEq, Message)]
pub struct ModelProto {
    /// Version of the file format.
    #[prost(int64, tag = "1")]
    pub ir_version: i64,
    /// Who wrote it.
    #[prost(string, tag = "2")]
    pub producer_name: String,
    /// The graph.
    #[prost(message, optional, tag = "7")]
    pub graph: Option<GraphProto>,
    /// Versions of the sets of operators.
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSetIdProto>,
}

/// A set of operators and its version.
#[derive(Clone, PartialEq, Message)]
pub struct OperatorSetIdProto {
    /// Empty for the operators of ONNX itself.
    #[prost(string, tag = "1")]
    pub domain: String,
    /// Version.
    #[prost(int64, tag = "2")]
    pub version: i64,
}

/// A graph.
#[derive(Clone, PartialEq, Message)]
pub struct GraphProto {
    /// Nodes, in an order in which they can be computed.
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<NodeProto>,
    /// Name.
    #[prost(string, tag = "2")]
    pub name: String,
    /// Constants. Of files that are read only their names are of interest.
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<TensorName>,
    /// Inputs; old files list constants here too.
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<ValueInfoProto>,
    /// Outputs.
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<ValueInfoProto>,
}

/// The name of a tensor, and nothing else of it.
#[derive(Clone, PartialEq, Message)]
pub struct TensorName {
    /// Name.
    #[prost(string, tag = "8")]
    pub name: String,
}

/// One operation.
#[derive(Clone, PartialEq, Message)]
pub struct NodeProto {
    /// Names of what it takes; empty where it goes without.
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    /// Names of what it gives.
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    /// Name.
    #[prost(string, tag = "3")]
    pub name: String,
    /// Operator.
    #[prost(string, tag = "4")]
    pub op_type: String,
    /// Attributes.
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<AttributeProto>,
    /// Set of operators; empty for those of ONNX itself.
    #[prost(string, tag = "7")]
    pub domain: String,
}

/// An attribute that is one number.
#[derive(Clone, PartialEq, Message)]
pub struct AttributeProto {
    /// Name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// A real number.
    #[prost(float, tag = "2")]
    pub f: f32,
    /// A whole number.
    #[prost(int64, tag = "3")]
    pub i: i64,
    /// Which of them.
    #[prost(enumeration = "AttributeType", tag = "20")]
    pub r#type: i32,
}

/// Kinds of attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum AttributeType {
    /// None of those below.
    Undefined = 0,
    /// A real number.
    Float = 1,
    /// A whole number.
    Int = 2,
}

/// An input or output of a graph.
#[derive(Clone, PartialEq, Message)]
pub struct ValueInfoProto {
    /// Name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Type.
    #[prost(message, optional, tag = "2")]
    pub r#type: Option<TypeProto>,
}

/// A type, if it is that of a tensor.
#[derive(Clone, PartialEq, Message)]
pub struct TypeProto {
    /// The type.
    #[prost(message, optional, tag = "1")]
    pub tensor_type: Option<TensorTypeProto>,
}

/// Elements and shape.
#[derive(Clone, PartialEq, Message)]
pub struct TensorTypeProto {
    /// Code of the element's format.
    #[prost(int32, tag = "1")]
    pub elem_type: i32,
    /// Shape, if it is known.
    #[prost(message, optional, tag = "2")]
    pub shape: Option<TensorShapeProto>,
}

/// A shape.
#[derive(Clone, PartialEq, Message)]
pub struct TensorShapeProto {
    /// Extents, outermost first.
    #[prost(message, repeated, tag = "1")]
    pub dim: Vec<DimensionProto>,
}

/// An extent.
#[derive(Clone, PartialEq, Message)]
pub struct DimensionProto {
    /// A number, a name, or nothing.
    #[prost(oneof = "Extent", tags = "1, 2")]
    pub value: Option<Extent>,
}

/// What an extent is given by.
#[derive(Clone, PartialEq, Oneof)]
pub enum Extent {
    /// Its number.
    #[prost(int64, tag = "1")]
    Value(i64),
    /// A name for whatever it is.
    #[prost(string, tag = "2")]
    Param(String),
}

/// A tensor in a file of its own.
#[derive(Clone, PartialEq, Message)]
pub struct TensorProto {
    /// Extents, outermost first.
    #[prost(int64, repeated, tag = "1")]
    pub dims: Vec<i64>,
    /// Code of the element's format.
    #[prost(int32, tag = "2")]
    pub data_type: i32,
    /// Name.
    #[prost(string, tag = "8")]
    pub name: String,
    /// Elements, little-endian, row-major.
    #[prost(bytes = "vec", tag = "9")]
    pub raw_data: Vec<u8>,
}

impl AttributeProto {
    /// A whole number.
    pub fn int(name: &str, i: i64) -> Self {
        Self { name: name.to_owned(), i, r#type: AttributeType::Int.into(), ..Self::default() }
    }

    /// A real number.
    pub fn float(name: &str, f: f32) -> Self {
        Self { name: name.to_owned(), f, r#type: AttributeType::Float.into(), ..Self::default() }
    }
}

impl ValueInfoProto {
    /// A tensor of this element format and shape; `None` for an extent that is free.
    pub fn tensor(
        name: &str,
        elem_type: i32,
        shape: impl IntoIterator<Item = Option<usize>>,
    ) -> Self {
        let dim = shape.into_iter().map(|n| DimensionProto {
            value: n.and_then(|n| i64::try_from(n).ok()).map(Extent::Value),
        });
        let shape = Some(TensorShapeProto { dim: dim.collect() });
        let tensor_type = Some(TensorTypeProto { elem_type, shape });
        Self { name: name.to_owned(), r#type: Some(TypeProto { tensor_type }) }
    }

    /// Names of the extents that have one.
    pub fn names(&self) -> Vec<Option<String>> {
        let tensor = self.r#type.as_ref().and_then(|r#type| r#type.tensor_type.as_ref());
        let name = |dim: &DimensionProto| match &dim.value {
            Some(Extent::Param(name)) if !name.is_empty() => Some(name.clone()),
            _ => None,
        };
        tensor
            .and_then(|tensor| tensor.shape.as_ref())
            .map_or_else(Vec::new, |shape| shape.dim.iter().map(name).collect())
    }

    /// Element format and extents; `None` for a free extent, and for a shape that is not known.
    pub fn form(&self) -> Option<(i32, Option<Vec<Option<usize>>>)> {
        let tensor = self.r#type.as_ref()?.tensor_type.as_ref()?;
        let extent = |dim: &DimensionProto| match &dim.value {
            Some(Extent::Value(n)) => usize::try_from(*n).ok(),
            _ => None,
        };
        Some((
            tensor.elem_type,
            tensor.shape.as_ref().map(|shape| shape.dim.iter().map(extent).collect()),
        ))
    }
}
