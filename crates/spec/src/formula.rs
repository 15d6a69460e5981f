//! A formula in a YAML file: its text and where it stands, so that errors inside it point at the
//! right column.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_yaml::Spanned;

use crate::syntax::{Expr, ExprError, parse};

/// Text of an expression and its byte offset in the file.
#[derive(Clone, Debug)]
pub struct Formula {
    /// The expression as written.
    pub text: String,
    /// Byte offset of the scalar in its file, when it came from one.
    pub offset: Option<usize>,
}

impl Formula {
    /// The parsed expression.
    ///
    /// # Errors
    /// Syntax errors.
    pub fn parse(&self) -> Result<Expr, ExprError> {
        parse(&self.text)
    }
}

impl PartialEq for Formula {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Serialize for Formula {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Formula {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<String>::deserialize(deserializer)?;
        let offset =
            spanned.referenced.span().byte_offset().and_then(|offset| usize::try_from(offset).ok());
        Ok(Self { text: spanned.value, offset })
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Formula {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Formula".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": "expression of the law language" })
    }
}
