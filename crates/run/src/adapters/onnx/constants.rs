//! Options that a model has as constants: read off its attributes, or declared for a graph that
//! does not tell.

use qkvet_spec::{Unexpected, Window};

/// What a model always does; `None` where nothing is known of it or it is off.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Constants {
    /// Whether it is causal.
    pub causal: Option<bool>,
    /// Its scale; absent: the default.
    pub scale: Option<f64>,
    /// Its cap; absent: none.
    pub softcap: Option<f64>,
    /// Its window; absent: none.
    pub window: Option<Window>,
    /// Numbers of query heads and key heads, where heads have no axis of their own.
    pub heads: Option<(usize, usize)>,
}

impl Constants {
    /// Reads declarations: `causal`, `scale=0.125`, `softcap=30`, `heads=8,2`.
    ///
    /// # Errors
    /// The first that is none of these.
    pub fn parse(declared: &[String]) -> Result<Self, Unexpected> {
        let mut constants = Self::default();
        for text in declared {
            let expected = "causal, scale=NUMBER, softcap=NUMBER or heads=QUERY[,KEY]";
            let wrong = || Unexpected::at(format!("constant `{text}`"), expected);
            let number =
                |text: &str| text.parse::<f64>().ok().filter(|x| x.is_finite()).ok_or_else(wrong);
            let count =
                |text: &str| text.trim().parse::<usize>().ok().filter(|n| *n > 0).ok_or_else(wrong);
            match text.split_once('=') {
                None if text == "causal" => constants.causal = Some(true),
                Some(("causal", "true")) => constants.causal = Some(true),
                Some(("causal", "false")) => constants.causal = Some(false),
                Some(("scale", value)) => constants.scale = Some(number(value)?),
                Some(("softcap", value)) => constants.softcap = Some(number(value)?),
                Some(("heads", value)) => {
                    let (h_q, h_k) = value.split_once(',').unwrap_or((value, value));
                    constants.heads = Some((count(h_q)?, count(h_k)?));
                }
                _ => return Err(wrong()),
            }
        }
        Ok(constants)
    }

    /// These, and what is declared of the others.
    pub(super) fn or(self, declared: &Self) -> Self {
        Self {
            causal: self.causal.or(declared.causal),
            scale: self.scale.or(declared.scale),
            softcap: self.softcap.or(declared.softcap),
            window: self.window.or(declared.window),
            heads: self.heads.or(declared.heads),
        }
    }

    /// `causal, scale 0.125, heads 8 and 2`.
    pub fn describe(&self) -> String {
        let extent = |n: Option<usize>| n.map_or_else(|| "all".to_owned(), |n| n.to_string());
        let parts = [
            (self.causal == Some(true)).then(|| "causal".to_owned()),
            self.scale.map(|scale| format!("scale {scale}")),
            self.softcap.map(|cap| format!("softcap {cap}")),
            self.window.map(|window| {
                format!("window {} to {}", extent(window.left), extent(window.right))
            }),
            self.heads.map(|(h_q, h_k)| format!("heads {h_q} and {h_k}")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations() {
        let read = |texts: &[&str]| {
            Constants::parse(&texts.iter().map(|x| (*x).to_owned()).collect::<Vec<_>>())
        };
        let all = read(&["causal", "scale=0.5", "softcap=30", "heads=8,2"]).unwrap();
        assert_eq!(all.describe(), "causal, scale 0.5, softcap 30, heads 8 and 2");
        assert_eq!(read(&["heads=4"]).unwrap().heads, Some((4, 4)));
        for wrong in ["", "scale", "scale=x", "scale=inf", "heads=0", "heads=2,", "window=3"] {
            let told = read(&[wrong]).unwrap_err().to_string();
            assert!(told.starts_with(&format!("constant `{wrong}`: expected causal")), "{told}");
        }
    }
}
