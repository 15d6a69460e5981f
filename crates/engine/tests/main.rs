//! Enclosures, bounds, digits and laws of the engine against exact and independent routes.
//!
//! One program, for each one is linked with all that it tests.

mod adversarial;
mod containment;
mod containment_arb;
mod digits;
mod directed;
mod fallback;
mod law_answers;
mod law_functions;
mod numerics_bound;
mod numerics_common;
mod numerics_details;
mod numerics_enclosure;
mod numerics_exact;
mod numerics_exp;
mod numerics_exp_product;
mod numerics_keeps;
mod numerics_modifiers;
mod numerics_options;
mod numerics_tanh;
mod numerics_threads;
mod precise;
mod some_rows;
