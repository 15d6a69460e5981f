//! A call as the inputs of a model, or why the model cannot be asked it.

use qkvet_spec::{Call, CallOption, Fit, ResultName, Tensor};

use super::feed::{Element, Feed, axes_exchanged, rows, side_by_side};
use super::input::Input;
use super::mask::{bias, key_mask, mask};
use super::model::Model;
use super::role::{Operator, Role};
use crate::Declined;
use crate::adapters::python::Layout;

impl Model {
    /// The tensors of a call for the inputs of the model, in their order.
    ///
    /// # Errors
    /// What the model takes and the call is not: a format, an option that is a constant
    /// of it, extents.
    pub fn ask(&self, call: &Call, layout: Layout) -> Result<Vec<Feed>, Declined> {
        self.check_format(call)?;
        self.check_scale(call)?;
        self.check_options(call)?;
        let past = self.past(call)?;
        let mut feeds = Vec::new();
        for (role, input) in &self.inputs {
            let feed = self.feed(*role, input, call, layout, past)?;
            let fits = feed.shape.len() == input.rank()
                && feed
                    .shape
                    .iter()
                    .zip(&input.shape)
                    .all(|(n, fixed)| fixed.is_none_or(|fixed| fixed == *n));
            if !fits {
                let takes = input.format_shape();
                return Err(Declined::Shape { what: role.name(), shape: feed.shape, takes });
            }
            feeds.push(feed);
        }
        Ok(feeds)
    }

    fn check_format(&self, call: &Call) -> Result<(), Declined> {
        let dtype = call.dtype();
        match self.input(Role::Query).map(|input| input.element) {
            Some(Element::Float(own)) if own == dtype => Ok(()),
            Some(own) => Err(Declined::Format { dtype, takes: own.name() }),
            None => Err(Declined::NoQuery),
        }
    }

    /// A scale that the model has is asked for alone. One that it has silently, with a fixed width,
    /// is what it takes for the default.
    fn check_scale(&self, call: &Call) -> Result<(), Declined> {
        if self.input(Role::Scale).is_some() {
            return Ok(());
        }
        let d_k = call.dims().d_k;
        let is_same = |x: f64, own: f64| (x as f32).to_bits() == (own as f32).to_bits();
        match (call.options.scale, self.constants.scale) {
            (None, None) => Ok(()),
            (Some(scale), None) => Err(Declined::ExplicitScale { scale }),
            (Some(scale), Some(own)) if is_same(scale, own) => Ok(()),
            (asked @ Some(_), own) => Err(Declined::Constant { option: "scale", asked, own }),
            (None, Some(_)) if self.has_fixed_width() => Ok(()),
            (None, Some(own)) => {
                let default = 1.0 / (d_k as f64).sqrt();
                // The attribute is a float32 that somebody rounded, or computed in that format.
                if (default - own).abs() <= default * f64::from(f32::EPSILON) {
                    return Ok(());
                }
                Err(Declined::DefaultScale { d_k, own })
            }
        }
    }

    /// What the model takes: extents that are fixed in it, and the options that it has inputs for
    /// or as constants.
    pub(super) fn fit(&self, layout: Layout) -> Fit {
        let (heads, positions) = if layout == Layout::Bnhd { (2, 1) } else { (1, 2) };
        let extent = |role: Role, axis: usize| {
            let input = self.input(role).filter(|input| input.rank() == 4)?;
            input.shape.get(axis).copied().flatten()
        };
        let wide = |role: Role, heads: Option<usize>| {
            let flat = self.input(role).filter(|input| input.rank() == 3);
            let flat =
                flat.and_then(|input| Some((*input.shape.last()?)? / heads?)).filter(|d| *d > 0);
            extent(role, 3).or(flat)
        };
        let long = |role: Role| {
            let flat = self.input(role).filter(|input| input.rank() == 3);
            extent(role, positions).or(flat.and_then(|input| input.shape[1]))
        };
        let (h_q, h_k) = self.constants.heads.unzip();
        // A number of a case has the format of its tensors.
        let own = self.input(Role::Query).map(|input| input.element);
        let is_of_cases = |x: &f64| matches!(own, Some(Element::Float(dtype)) if qkvet_engine::format::is_representable(*x, dtype));
        let scale = self.constants.scale.filter(is_of_cases).filter(|_| !self.has_fixed_width());
        let options = CallOption::ALL.into_iter().filter(|option| match option {
            CallOption::Scale => self.input(Role::Scale).is_some() || scale.is_some(),
            CallOption::Causal => self.constants.causal == Some(true),
            CallOption::Mask => self.input(Role::Mask).is_some(),
            CallOption::Bias => self.input(Role::Bias).is_some(),
            CallOption::Softcap => {
                self.input(Role::Softcap).is_some() || self.constants.softcap.is_some()
            }
            CallOption::Window => self.constants.window.is_some(),
            CallOption::Sinks => self.input(Role::Sinks).is_some(),
            CallOption::KeyLengths => {
                [Role::KeyLengths, Role::LastKeys].iter().any(|role| self.input(*role).is_some())
            }
            CallOption::AlibiSlopes | CallOption::QueryLengths | CallOption::Packed => false,
        });
        let has_past = self.input(Role::PastKey).is_some();
        let first =
            |role: Role| self.input(role).and_then(|input| input.shape.first().copied().flatten());
        Fit {
            always: Vec::new(),
            forms: self.forms(),
            results: Some(vec![ResultName::Output]),
            b: [Role::Query, Role::Key, Role::Value].into_iter().find_map(first),
            h_q: h_q.or(extent(Role::Query, heads)),
            h_k: h_k.or(extent(Role::Key, heads)).or(extent(Role::Value, heads)),
            n_q: long(Role::Query),
            // Keys of a past are counted apart.
            n_k: long(Role::Key).or(long(Role::Value)).filter(|_| !has_past),
            d_k: wide(Role::Query, h_q).or(wide(Role::Key, h_k)),
            d_v: wide(Role::Value, h_k),
            alike: Vec::new(),
            options: Some(options.collect()),
            scale,
            softcap: self.constants.softcap.filter(is_of_cases),
            causal: self.constants.causal == Some(true),
        }
    }

    fn has_fixed_width(&self) -> bool {
        self.input(Role::Query).and_then(|input| input.shape.last().copied()).flatten().is_some()
    }

    fn check_options(&self, call: &Call) -> Result<(), Declined> {
        let options = &call.options;
        match (options.causal, self.constants.causal) {
            (true, None | Some(false)) | (false, Some(true)) => {
                return Err(Declined::Causal { asked: options.causal });
            }
            _ => {}
        }
        if self.input(Role::Softcap).is_none() && options.softcap != self.constants.softcap {
            let (asked, own) = (options.softcap, self.constants.softcap);
            return Err(Declined::Constant { option: "softcap", asked, own });
        }
        if options.window != self.constants.window {
            let (asked, own) = (options.window.is_some(), self.constants.window.is_some());
            return Err(Declined::Window { asked, own });
        }
        let of: [(CallOption, &[Role]); 7] = [
            (CallOption::Mask, &[Role::Mask]),
            (CallOption::Bias, &[Role::Bias]),
            (CallOption::Sinks, &[Role::Sinks]),
            (CallOption::KeyLengths, &[Role::KeyLengths, Role::LastKeys]),
            (CallOption::AlibiSlopes, &[]),
            (CallOption::QueryLengths, &[]),
            (CallOption::Packed, &[]),
        ];
        let is_missing = |roles: &[Role]| roles.iter().all(|role| self.input(*role).is_none());
        if let Some((option, _)) =
            of.iter().find(|(option, roles)| options.has(*option) && is_missing(roles))
        {
            return Err(Declined::NoInput { option: *option });
        }
        for (role, is_on) in
            [(Role::Sinks, options.sinks.is_some()), (Role::Softcap, options.softcap.is_some())]
        {
            if self.input(role).is_some() && !is_on {
                return Err(Declined::AlwaysTaken { option: role.name() });
            }
        }
        if call.return_lse {
            return Err(Declined::NoOutput { result: "lse" });
        }
        if call.return_weights && self.weights.is_none() {
            return Err(Declined::NoOutput { result: "weights" });
        }
        Ok(())
    }

    /// How many keys go as past.
    fn past(&self, call: &Call) -> Result<usize, Declined> {
        let d = call.dims();
        let has_past = self.input(Role::PastKey).is_some() && self.input(Role::PastValue).is_some();
        let is_packed = self.input(Role::Query).is_some_and(|query| query.rank() == 3);
        let is_flat = !has_past && !is_packed && self.operator != Operator::GroupQuery;
        if call.misfit().is_some() && !is_flat {
            return Err(Declined::Misfit { takes: "heads side by side, or a past" });
        }
        let own = self.constants.heads.unwrap_or((1, 1));
        if is_packed && own != (d.h_q, d.h_k) {
            return Err(Declined::Heads { h_q: d.h_q, h_k: d.h_k, own });
        }
        if !has_past {
            if self.operator == Operator::GroupQuery && d.n_q != d.n_k {
                return Err(Declined::NoPast);
            }
            return Ok(0);
        }
        match d.n_k.checked_sub(d.n_q) {
            Some(past) => Ok(past),
            None if call.options.causal => Err(Declined::NegativePast),
            None => Ok(0),
        }
    }

    fn feed(
        &self,
        role: Role,
        input: &Input,
        call: &Call,
        layout: Layout,
        past: usize,
    ) -> Result<Feed, Declined> {
        let name = input.name.as_str();
        let d = call.dims();
        let laid_out = |tensor: &Tensor| match (input.rank(), layout) {
            (3, _) => side_by_side(tensor),
            (_, Layout::Bnhd) => axes_exchanged(tensor),
            _ => tensor.clone(),
        };
        let options = &call.options;
        Ok(match role {
            Role::Query => Feed::float(name, &laid_out(&call.query)),
            Role::Key if past > 0 => Feed::float(name, &laid_out(&rows(&call.key, past, d.n_k))),
            Role::Value if past > 0 => {
                Feed::float(name, &laid_out(&rows(&call.value, past, d.n_k)))
            }
            Role::Key => Feed::float(name, &laid_out(&call.key)),
            Role::Value => Feed::float(name, &laid_out(&call.value)),
            Role::PastKey => Feed::float(name, &rows(&call.key, 0, past)),
            Role::PastValue => Feed::float(name, &rows(&call.value, 0, past)),
            Role::Mask => {
                let is_per_key = self.is_per_key(input);
                let put = if is_per_key {
                    key_mask(input, call, self.neutral)
                } else {
                    mask(input, call, self.neutral)
                };
                Feed::truth(name, input.element, &put?)
            }
            Role::Bias => Feed::float(name, &bias(input, call, d.n_q, d.n_k)?),
            Role::KeyLengths => match &options.key_lengths {
                Some(lengths) => Feed::whole(name, input.element, vec![d.b], lengths),
                None => Feed::whole(name, input.element, vec![d.b], &vec![d.n_k; d.b]),
            },
            Role::LastKeys => {
                if options.key_lengths.is_some() {
                    return Err(Declined::LengthsWithoutPast);
                }
                Feed::whole(name, input.element, vec![d.b], &vec![d.n_k.saturating_sub(1); d.b])
            }
            Role::TotalLength => {
                let shape = if input.rank() == 0 { Vec::new() } else { vec![1] };
                Feed::whole(name, input.element, shape, &[d.n_k])
            }
            Role::Sinks => options
                .sinks
                .as_ref()
                .map(|sinks| Feed::float(name, sinks))
                .ok_or(Declined::AlwaysTaken { option: "sinks" })?,
            Role::Scale => number(input, options.scale.unwrap_or(1.0 / (d.d_k as f64).sqrt()))?,
            Role::Softcap => number(input, options.softcap.unwrap_or(0.0))?,
        })
    }
}

/// One number as an input of no axis, or of one.
fn number(input: &Input, x: f64) -> Result<Feed, Declined> {
    let Element::Float(dtype) = input.element else {
        return Err(Declined::NoNumber {
            input: input.name.clone(),
            element: input.element.name(),
        });
    };
    let rounded = qkvet_engine::format::round(x, dtype);
    Ok(Feed::float(
        &input.name,
        &Tensor { dtype, shape: vec![1; input.rank()], data: vec![rounded] },
    ))
}
