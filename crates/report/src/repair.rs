//! The repair of a fault: what is right, and where in an implementation to look.

use std::sync::LazyLock;

use qkvet_spec::{Catalog, FaultFamily, FaultRef};

static CATALOG: LazyLock<Option<Catalog>> = LazyLock::new(|| Catalog::embedded().ok());

/// The family of a fault, which says how to repair it; `None` for a fault of another version.
pub(crate) fn family_of(fault: &FaultRef) -> Option<&'static FaultFamily> {
    let catalog = CATALOG.as_ref()?;
    catalog.families.get(&catalog.faults.get(&fault.fault)?.family)
}
