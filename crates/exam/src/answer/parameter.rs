//! The parameters of one instance of a question.

use std::fmt;

use indexmap::IndexMap;
use qkvet_prove::exact::{Exact, ExactMatrices, Instance, Value};
use qkvet_spec::shape::DIMENSIONS;
use qkvet_spec::{Binding, CallOptions, Case, Dims, Dtype, Matrices};
use serde::{Deserialize, Serialize};

/// The value of a parameter. All its numbers are exact in binary64.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Parameter {
    /// A matrix, by rows.
    Matrix(Vec<Vec<f64>>),
    /// A number.
    Number(f64),
    /// A row or column, from 0.
    Index(usize),
}

impl fmt::Display for Parameter {
    /// `0.5`, `index 2`, `a matrix of 2 × 3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Matrix(rows) => {
                write!(f, "a matrix of {} × {}", rows.len(), rows.first().map_or(0, Vec::len))
            }
            Self::Number(x) => write!(f, "{x}"),
            Self::Index(at) => write!(f, "index {}", at + 1),
        }
    }
}

/// Extents and parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Drawn {
    /// Extents by name.
    pub sizes: IndexMap<String, usize>,
    /// Parameters by name.
    pub parameters: IndexMap<String, Parameter>,
}

impl Drawn {
    /// An extent; those of the law language that the question does not set are 1.
    pub fn size(&self, name: &str) -> Option<usize> {
        self.sizes.get(name).copied().or_else(|| DIMENSIONS.contains(&name).then_some(1))
    }

    /// The parameters as an instance in exact numbers.
    ///
    /// # Errors
    /// A float that is no number.
    pub fn instance(&self) -> Result<Instance, qkvet_prove::exact::NotExact> {
        let mut instance = Instance::default();
        for name in DIMENSIONS.into_iter().chain(self.sizes.keys().map(String::as_str)) {
            instance.extents.insert(name.to_owned(), self.size(name).unwrap_or(1));
        }
        for (name, parameter) in &self.parameters {
            let value = match parameter {
                Parameter::Matrix(rows) => {
                    let data = rows.iter().flatten().map(|x| Ok(Exact::try_from(*x)?.into()));
                    let (n, cols) = (rows.len(), rows.first().map_or(0, Vec::len));
                    let data = data.collect::<Result<_, _>>()?;
                    Value::Matrices(ExactMatrices { batch: None, heads: None, rows: n, cols, data })
                }
                Parameter::Number(x) => Value::Number(Exact::try_from(*x)?.into()),
                Parameter::Index(i) => Value::Index(*i),
            };
            instance.values.insert(name.clone(), value);
        }
        Ok(instance)
    }

    /// The parameters as a case of the engine.
    pub fn case(&self, id: &str) -> Case {
        let d = |name: &str| self.size(name).unwrap_or(1);
        let mut bindings = IndexMap::new();
        for (name, size) in
            self.sizes.iter().filter(|(name, _)| !DIMENSIONS.contains(&name.as_str()))
        {
            bindings.insert(name.clone(), Binding::Dim(*size));
        }
        for (name, parameter) in &self.parameters {
            let binding = match parameter {
                Parameter::Matrix(rows) => Binding::Matrices(Matrices {
                    batch: None,
                    heads: None,
                    rows: rows.len(),
                    cols: rows.first().map_or(0, Vec::len),
                    data: rows.concat(),
                }),
                Parameter::Number(x) => Binding::Real(*x),
                Parameter::Index(i) => Binding::Index(*i),
            };
            bindings.insert(name.clone(), binding);
        }
        let dims = Dims {
            b: d("b"),
            h_q: d("h_q"),
            h_k: d("h_k"),
            n_q: d("n_q"),
            n_k: d("n_k"),
            d_k: d("d_k"),
            d_v: d("d_v"),
        };
        Case {
            law: id.to_owned(),
            dtype: Dtype::Float64,
            dims,
            options: CallOptions::default(),
            bindings,
        }
    }
}
