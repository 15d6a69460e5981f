//! One call of attention, written out under the standard meaning with every option that the law
//! ranges over.

use qkvet_spec::syntax::Expr;
use qkvet_spec::{CallOption, Domain};

use super::{NotUnfolded, OneHead, Place, Unfolder, scores, unknown};
use crate::tree::Tree;

impl Unfolder<'_> {
    fn ranges_over(&self, option: CallOption) -> bool {
        self.law.law.options.contains(&option)
    }

    /// `softmax(bias + cap(scale · QKᵀ) over the visible keys) · V`, or the softmax alone.
    pub(super) fn call(
        &mut self,
        function: &str,
        args: &[Expr],
        named: &[(String, Expr)],
        place: &Place,
    ) -> Result<Tree, NotUnfolded> {
        let argument =
            |name: &str| named.iter().find(|(key, _)| key == name).map(|(_, value)| value);
        if let Some((name, _)) = named.iter().find(|(_, value)| value.is_off()) {
            return Err(unknown(name, "`off`"));
        }
        // Inside of a call the head is that of its queries.
        let one_head = place.one_head.clone().map(|head| OneHead { is_own: false, ..head });
        let place = &Place { one_head, ..place.clone() };
        let (query, key) = (self.term(&args[0], place)?, self.term(&args[1], place)?);
        let ((n_q, d_k), (n_k, _)) = (self.shape(&query)?, self.shape(&key)?);
        let scale = match argument("scale") {
            Some(scale) => self
                .number(scale, place)
                .ok_or_else(|| unknown("scale", "an expression"))?
                .to_string(),
            // What is not given depends on the width alone.
            None if d_k == "d_k" => "scale#".to_owned(),
            None => format!("scale({d_k})"),
        };
        let mut scores = scores(query, key, &scale);
        match argument("softcap") {
            Some(cap) => {
                scores = Tree::new("cap", [Tree::leaf(&self.inverse(cap)?.to_string()), scores])
            }
            None if self.ranges_over(CallOption::Softcap) => scores = Tree::new("cap", [scores]),
            None => {}
        }
        let bias = match argument("bias") {
            Some(bias) => Some(self.term(bias, place)?),
            None if self.ranges_over(CallOption::Bias) => {
                Some(self.of_case(&Domain::Bias, "bias#", place))
            }
            None => None,
        };
        if let Some(bias) = bias {
            scores = Tree::new("+", [bias, scores]);
        }
        if self.ranges_over(CallOption::AlibiSlopes) {
            // Depends on extents and positions, so on the extents alone.
            scores = Tree::new("+", [self.of_extents("alibi", (&n_q, &n_k), place), scores]);
        }
        // What the case has is of its heads, not of those that a law lists.
        let of_heads =
            [CallOption::Bias, CallOption::Mask, CallOption::Sinks, CallOption::AlibiSlopes];
        if place.head.is_some() && of_heads.iter().any(|option| self.ranges_over(*option)) {
            return Err(unknown(
                "heads",
                "an option of the case's heads for those that the law lists",
            ));
        }
        let explicit = argument("mask").map(|mask| self.term(mask, place)).transpose()?;
        let mask = self.visible(explicit, (&n_q, &n_k), place)?;
        // A number of each head, and the same for every item.
        let sink = match (self.ranges_over(CallOption::Sinks), &place.one_head) {
            (false, _) => "none".to_owned(),
            (true, None) => "sink#".to_owned(),
            (true, Some(head)) => format!("sink#[head {}]", head.index),
        };
        if function.ends_with("lse") {
            let is_plain = mask == Tree::leaf("all") && sink == "none";
            return if is_plain {
                Ok(Tree::new("lse", [scores]))
            } else {
                Err(unknown(function, "masks or sinks"))
            };
        }
        let weights = Tree::new("soft", [scores, mask, Tree::leaf(&sink)]);
        if function == "weights" {
            return Ok(weights);
        }
        let value = self.term(&args[2], place)?;
        Ok(Tree::new("*", [weights, value]))
    }

    /// The mask of what a call with these extents sees, `explicit` being its own.
    pub(super) fn visible(
        &mut self,
        explicit: Option<Tree>,
        (n_q, n_k): (&str, &str),
        place: &Place,
    ) -> Result<Tree, NotUnfolded> {
        let ones = |n: &str| Tree::new("one", [Tree::leaf(n)]);
        let row = |column: Tree| Tree::new("T", [column]);
        let mut masks = Vec::new();
        match explicit {
            Some(mask) => masks.push(mask),
            None if self.ranges_over(CallOption::Mask) => {
                masks.push(self.of_case(&Domain::Mask, "mask#", place))
            }
            None => {}
        }
        if self.ranges_over(CallOption::KeyLengths) {
            let exists = self.own(&format!("key-exists({n_k})"), (n_k, "1"), place, true);
            masks.push(Tree::new("*", [ones(n_q), row(exists)]));
        }
        if self.ranges_over(CallOption::QueryLengths) {
            let exists = self.own(&format!("query-exists({n_q})"), (n_q, "1"), place, true);
            masks.push(Tree::new("*", [exists, row(ones(n_k))]));
        }
        for option in [CallOption::Causal, CallOption::Window, CallOption::Packed] {
            if self.ranges_over(option) {
                masks.push(self.of_extents(option.name(), (n_q, n_k), place));
            }
        }
        Ok(masks.into_iter().reduce(|x, y| Tree::new("both", [x, y])).unwrap_or(Tree::leaf("all")))
    }

    /// A matrix that the extents of a call determine; also the lengths of the item and the slope of
    /// the head, where the law has them.
    fn of_extents(&mut self, name: &str, (n_q, n_k): (&str, &str), place: &Place) -> Tree {
        let of_items = [CallOption::KeyLengths, CallOption::QueryLengths]
            .map(|option| self.ranges_over(option));
        let item = place.item.clone().filter(|_| of_items.contains(&true));
        let one_head = place.one_head.clone().filter(|_| name == "alibi");
        let place = Place { item, one_head, ..Place::default() };
        self.own(&format!("{name}({n_q},{n_k})"), (n_q, n_k), &place, true)
    }
}
