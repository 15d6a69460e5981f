//! What is fed to a graph: tensors by the graph's names, in its formats, ranks and orders of axes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use qkvet_engine::format;
use qkvet_spec::{BoolTensor, Dtype, Tensor};
use serde_json::{Value, json};

use super::proto::TensorProto;

/// Format of an element, by the codes of ONNX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// A floating-point format.
    Float(Dtype),
    /// Truth values, a byte each.
    Bool,
    /// Whole numbers of 32 bits.
    Int32,
    /// Whole numbers of 64 bits.
    Int64,
}

impl Element {
    const ALL: [Self; 9] = [
        Self::Float(Dtype::Float32),
        Self::Float(Dtype::Float16),
        Self::Float(Dtype::Float64),
        Self::Float(Dtype::Bfloat16),
        Self::Float(Dtype::Float8E4m3fn),
        Self::Float(Dtype::Float8E5m2),
        Self::Bool,
        Self::Int32,
        Self::Int64,
    ];

    /// Its `TensorProto.DataType`.
    pub fn code(self) -> i32 {
        match self {
            Self::Float(Dtype::Float32) => 1,
            Self::Int32 => 6,
            Self::Int64 => 7,
            Self::Bool => 9,
            Self::Float(Dtype::Float16) => 10,
            Self::Float(Dtype::Float64) => 11,
            Self::Float(Dtype::Bfloat16) => 16,
            Self::Float(Dtype::Float8E4m3fn) => 17,
            Self::Float(Dtype::Float8E5m2) => 19,
        }
    }

    /// The element of a code; `None` for those that attention does not take.
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|element| element.code() == code)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Float(dtype) => dtype.name(),
            Self::Bool => "bool",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
        }
    }
}

/// One tensor under the name of a graph's input.
#[derive(Clone, Debug, PartialEq)]
pub struct Feed {
    /// The input.
    pub name: String,
    /// Format of an element.
    pub element: Element,
    /// Extents, outermost first.
    pub shape: Vec<usize>,
    /// Elements, little-endian, row-major.
    pub bytes: Vec<u8>,
}

impl Feed {
    /// A tensor of real numbers.
    pub fn float(name: &str, tensor: &Tensor) -> Self {
        let bytes = format::encode(&tensor.data, tensor.dtype);
        Self {
            name: name.to_owned(),
            element: Element::Float(tensor.dtype),
            shape: tensor.shape.clone(),
            bytes,
        }
    }

    /// A tensor of truth values: as such, or as whole numbers, 1 for true.
    pub fn truth(name: &str, element: Element, tensor: &BoolTensor) -> Self {
        if matches!(element, Element::Int32 | Element::Int64) {
            let numbers: Vec<usize> = tensor.data.iter().map(|x| usize::from(*x)).collect();
            return Self::whole(name, element, tensor.shape.clone(), &numbers);
        }
        let bytes = tensor.data.iter().map(|x| u8::from(*x)).collect();
        Self { name: name.to_owned(), element: Element::Bool, shape: tensor.shape.clone(), bytes }
    }

    /// Whole numbers, as wide as the element says.
    pub fn whole(name: &str, element: Element, shape: Vec<usize>, numbers: &[usize]) -> Self {
        let bytes = match element {
            Element::Int32 => {
                let narrow = |n: &usize| i32::try_from(*n).unwrap_or(i32::MAX).to_le_bytes();
                numbers.iter().flat_map(narrow).collect()
            }
            _ => numbers.iter().flat_map(|n| (*n as u64).to_le_bytes()).collect(),
        };
        Self { name: name.to_owned(), element, shape, bytes }
    }

    /// The file of the tensor.
    pub fn proto(&self) -> TensorProto {
        TensorProto {
            dims: self.shape.iter().map(|n| i64::try_from(*n).unwrap_or(i64::MAX)).collect(),
            data_type: self.element.code(),
            name: self.name.clone(),
            raw_data: self.bytes.clone(),
        }
    }

    /// As the worker is sent it.
    pub(super) fn message(&self) -> Value {
        json!({
            "name": self.name,
            "dtype": self.element.name(),
            "shape": self.shape,
            "data": BASE64.encode(&self.bytes),
        })
    }
}

/// The rows of axis 2 from `from` to before `to`: `(b, h, n, d)` → `(b, h, to − from, d)`.
pub(super) fn rows(tensor: &Tensor, from: usize, to: usize) -> Tensor {
    let [b, h, n, d] = four(&tensor.shape);
    let head = |x: usize| tensor.data[(x * n + from) * d..(x * n + to) * d].iter().copied();
    let data = (0..b * h).flat_map(head).collect();
    Tensor { dtype: tensor.dtype, shape: vec![b, h, to - from, d], data }
}

/// Heads side by side: `(b, h, n, d)` → `(b, n, h · d)`.
pub(super) fn side_by_side(tensor: &Tensor) -> Tensor {
    let [b, h, n, d] = four(&tensor.shape);
    Tensor { shape: vec![b, n, h * d], ..axes_exchanged(tensor) }
}

/// Axes 1 and 2 exchanged: `(b, h, n, d)` → `(b, n, h, d)`.
pub(super) fn axes_exchanged(tensor: &Tensor) -> Tensor {
    let [b, h, n, d] = four(&tensor.shape);
    let mut data = Vec::with_capacity(tensor.data.len());
    for item in 0..b {
        for row in 0..n {
            for head in 0..h {
                let at = ((item * h + head) * n + row) * d;
                data.extend_from_slice(&tensor.data[at..at + d]);
            }
        }
    }
    Tensor { dtype: tensor.dtype, shape: vec![b, n, h, d], data }
}

/// The four extents of a tensor of a call.
pub(super) fn four(shape: &[usize]) -> [usize; 4] {
    let axis = |at: usize| shape.get(at).copied().unwrap_or(1);
    [axis(0), axis(1), axis(2), axis(3)]
}

/// A mask or bias of 2 or 4 axes written out in its last two: `(…, 1 or n_q, 1 or n_k)` →
/// `(…, n_q, n_k)`; one that does not fit stays as it is.
pub(super) fn written_out<T: Copy>(
    shape: &[usize],
    data: &[T],
    n_q: usize,
    n_k: usize,
) -> (Vec<usize>, Vec<T>) {
    let (outer, inner) = shape.split_at(shape.len().saturating_sub(2));
    let (rows, cols) = match inner {
        [rows, cols] if (*rows == 1 || *rows == n_q) && (*cols == 1 || *cols == n_k) => {
            (*rows, *cols)
        }
        _ => return (shape.to_vec(), data.to_vec()),
    };
    let mut out = Vec::new();
    for item in 0..outer.iter().product::<usize>() {
        for i in 0..n_q {
            for j in 0..n_k {
                let (i, j) = (if rows == 1 { 0 } else { i }, if cols == 1 { 0 } else { j });
                out.push(data[(item * rows + i) * cols + j]);
            }
        }
    }
    ([outer, &[n_q, n_k]].concat(), out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(shape: &[usize]) -> Tensor {
        let data = (0..shape.iter().product::<usize>()).map(|n| n as f64).collect();
        Tensor { dtype: Dtype::Float32, shape: shape.to_vec(), data }
    }

    #[test]
    fn axes() {
        let x = counted(&[1, 2, 3, 2]);
        assert_eq!(axes_exchanged(&x).data, [0., 1., 6., 7., 2., 3., 8., 9., 4., 5., 10., 11.]);
        assert_eq!(side_by_side(&x).shape, [1, 3, 4]);
        assert_eq!(rows(&x, 1, 3).data, [2., 3., 4., 5., 8., 9., 10., 11.]);
        assert_eq!(rows(&x, 0, 0).shape, [1, 2, 0, 2]);
    }

    #[test]
    fn masks_are_written_out_in_their_last_two_axes() {
        assert_eq!(written_out(&[1, 2], &[7, 8], 2, 2), (vec![2, 2], vec![7, 8, 7, 8]));
        assert_eq!(written_out(&[1, 3], &[7, 8, 9], 2, 2), (vec![1, 3], vec![7, 8, 9]));
        assert_eq!(
            written_out(&[2, 1, 2, 1], &[1, 2, 3, 4], 2, 2),
            (vec![2, 1, 2, 2], vec![1, 1, 2, 2, 3, 3, 4, 4])
        );
    }

    #[test]
    fn codes_are_those_of_onnx_and_can_be_read_back() {
        for element in Element::ALL {
            assert_eq!(Element::from_code(element.code()), Some(element));
        }
        assert_eq!(Element::from_code(8), None);
        let feed = Feed::whole("n", Element::Int32, vec![2], &[3, 258]);
        assert_eq!(feed.bytes, [3, 0, 0, 0, 2, 1, 0, 0]);
    }
}
