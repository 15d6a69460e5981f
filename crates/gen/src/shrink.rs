//! Lowering a failing plan to a small one: extents first, then options, then values, then extents
//! again.
//!
//! Extents move by binary search under the constraints of a call (`h_q` is `group · h_k` by
//! construction); data is drawn anew from the case's seed, where a smaller shape
//! keeps the leading part of every tensor.

use qkvet_spec::{BroadcastForm, Case, CheckedLaw, Dims, Domain, MaskPattern, Values};

use crate::choice::WINDOWS;
use crate::{AlibiChoice, CasePlan, ScaleChoice, SequenceChoice, SinkChoice, SoftcapChoice, build};

/// Evaluations that a witness is worth.
pub const SHRINK_BUDGET: usize = 120;

/// Lowers `start`, which fails, as far as `still_fails` goes on being true.
///
/// The result failed, or is `start`. At most `budget` evaluations are made; no plan is evaluated
/// twice, and plans that the law does not admit are not evaluated.
pub fn shrink(
    law: &CheckedLaw,
    start: &CasePlan,
    budget: usize,
    still_fails: &mut dyn FnMut(&CasePlan, &Case) -> bool,
) -> CasePlan {
    let mut shrinker =
        Shrinker { law, best: start.clone(), tried: vec![start.clone()], budget, still_fails };
    loop {
        let before = shrinker.best.clone();
        shrinker.lower_extents();
        shrinker.drop_options();
        shrinker.simplify_values();
        if shrinker.best == before || shrinker.budget == 0 {
            return shrinker.best;
        }
    }
}

struct Shrinker<'a> {
    law: &'a CheckedLaw,
    /// The smallest plan known to fail.
    best: CasePlan,
    tried: Vec<CasePlan>,
    budget: usize,
    still_fails: &'a mut dyn FnMut(&CasePlan, &Case) -> bool,
}

impl Shrinker<'_> {
    /// Whether `plan` fails; then it is the best.
    fn take(&mut self, plan: CasePlan) -> bool {
        if plan == self.best {
            return true;
        }
        if self.budget == 0 || self.tried.contains(&plan) {
            return false;
        }
        let fails = match build(self.law, &plan) {
            Ok(case) => {
                self.budget -= 1;
                (self.still_fails)(&plan, &case)
            }
            Err(_) => false,
        };
        self.tried.push(plan.clone());
        if fails {
            self.best = plan;
        }
        fails
    }

    fn lower_extents(&mut self) {
        let lowest = self.lowest();
        let mut all = Point::of(&self.best);
        all.0.iter_mut().zip(&lowest).for_each(|(n, low)| *n = *low);
        if self.take(all.plan(&self.best)) {
            return;
        }
        for (at, low) in lowest.iter().enumerate() {
            self.lower(at, *low);
        }
        // Binary search trusts that smaller is simpler; one step down does not.
        for (at, low) in lowest.iter().enumerate() {
            while Point::of(&self.best).0[at] > *low
                && self.take_at(at, Point::of(&self.best).0[at] - 1)
            {}
        }
    }

    fn lower(&mut self, at: usize, low: usize) {
        let now = Point::of(&self.best).0[at];
        if now == low || self.take_at(at, low) {
            return;
        }
        let (mut low, mut high) = (low + 1, now);
        while low < high {
            let middle = low.midpoint(high);
            if self.take_at(at, middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
    }

    fn take_at(&mut self, at: usize, n: usize) -> bool {
        let mut point = Point::of(&self.best);
        point.0[at] = n;
        self.take(point.plan(&self.best))
    }

    /// The lowest value of every coordinate of a [`Point`].
    fn lowest(&self) -> Vec<usize> {
        let own = self.law.given.iter().filter_map(|given| match given.domain {
            Domain::Dim { low, .. } => Some(low),
            _ => None,
        });
        [1; 7].into_iter().chain(own).collect()
    }

    fn drop_options(&mut self) {
        self.take(CasePlan { sequences: None, ..self.best.clone() });
        self.take(CasePlan { alibi: None, ..self.best.clone() });
        self.take(CasePlan { sinks: None, ..self.best.clone() });
        self.take(CasePlan { window: None, ..self.best.clone() });
        self.take(CasePlan { softcap: None, ..self.best.clone() });
        self.take(CasePlan { bias: None, ..self.best.clone() });
        self.take(CasePlan { mask: None, ..self.best.clone() });
        self.take(CasePlan { causal: false, ..self.best.clone() });
        self.take(CasePlan { scale: ScaleChoice::Default, ..self.best.clone() });
        if let Some((pattern, _)) = self.best.mask {
            self.take(CasePlan {
                mask: Some((pattern, BroadcastForm::Shared)),
                ..self.best.clone()
            });
        }
        if let Some((_, form)) = self.best.mask {
            self.take(CasePlan {
                mask: Some((MaskPattern::LeadingBlock, form)),
                ..self.best.clone()
            });
        }
        if self.best.bias.is_some() {
            self.take(CasePlan { bias: Some(BroadcastForm::Shared), ..self.best.clone() });
        }
        self.simplify_options();
    }

    /// The simplest choice that still fails, for each option of the extended ones that is needed.
    fn simplify_options(&mut self) {
        let best = self.best.clone();
        let _ = before(&SoftcapChoice::ALL, best.softcap)
            .any(|softcap| self.take(CasePlan { softcap: Some(softcap), ..self.best.clone() }));
        let simpler = best.window.map_or(0, |now| {
            WINDOWS.iter().position(|choice| *choice == now).unwrap_or(WINDOWS.len())
        });
        let fixed = WINDOWS[..simpler]
            .iter()
            .any(|window| self.take(CasePlan { window: Some(*window), ..best.clone() }));
        if !fixed && simpler == WINDOWS.len() {
            self.narrow_window();
        }
        let _ = before(&SinkChoice::ALL, best.sinks)
            .any(|sinks| self.take(CasePlan { sinks: Some(sinks), ..self.best.clone() }));
        let _ = before(&AlibiChoice::ALL, best.alibi)
            .any(|alibi| self.take(CasePlan { alibi: Some(alibi), ..self.best.clone() }));
        let _ = before(&SequenceChoice::ALL, best.sequences).any(|sequences| {
            self.take(CasePlan { sequences: Some(sequences), ..self.best.clone() })
        });
    }

    /// Sides of the window, halved and then one by one, while the case still fails.
    fn narrow_window(&mut self) {
        for step in [|side: usize| side / 2, |side: usize| side - 1] {
            for right in [false, true] {
                while let Some(mut window) = self.best.window {
                    let side = if right { &mut window.right } else { &mut window.left };
                    let Some(now) = side.filter(|now| *now > 0) else { break };
                    *side = Some(step(now));
                    if !self.take(CasePlan { window: Some(window), ..self.best.clone() }) {
                        break;
                    }
                }
            }
        }
    }

    fn simplify_values(&mut self) {
        if self.best.tiny {
            return;
        }
        let grid = CasePlan { values: Values::Grid, ..self.best.clone() };
        let tiny = CasePlan { tiny: true, ..grid.clone() };
        if !self.take(tiny) && self.take(grid) {
            self.take(CasePlan { tiny: true, ..self.best.clone() });
        }
    }
}

/// Choices that are simpler than the one that is on; none where none is on.
fn before<T: Copy + PartialEq>(all: &[T], now: Option<T>) -> impl Iterator<Item = T> {
    let simpler = now.and_then(|now| all.iter().position(|choice| *choice == now)).unwrap_or(0);
    all[..simpler].iter().copied()
}

/// Extents as independent coordinates: `b`, group, `h_k`, `n_q`, `n_k`, `d_k`, `d_v`, then the
/// law's own.
struct Point(Vec<usize>);

impl Point {
    fn of(plan: &CasePlan) -> Self {
        let Dims { b, h_q, h_k, n_q, n_k, d_k, d_v } = plan.dims;
        Self(
            [b, h_q / h_k, h_k, n_q, n_k, d_k, d_v]
                .into_iter()
                .chain(plan.law_dims.iter().copied())
                .collect(),
        )
    }

    fn plan(&self, plan: &CasePlan) -> CasePlan {
        let (dims, law_dims) = self.0.split_at(7);
        let [b, group, h_k, n_q, n_k, d_k, d_v] = std::array::from_fn(|at| dims[at]);
        CasePlan {
            dims: Dims { b, h_q: group * h_k, h_k, n_q, n_k, d_k, d_v },
            law_dims: law_dims.to_vec(),
            ..plan.clone()
        }
    }
}
