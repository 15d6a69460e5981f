//! The repair of a fault: what is right, and where in an implementation to look.

use std::sync::LazyLock;

use qkvet_spec::{Catalog, FaultFamily, FaultRef};

static CATALOG: LazyLock<Option<Catalog>> = LazyLock::new(|| Catalog::embedded().ok());

/// The family of a fault, which says how to repair it; `None` for a fault of another version.
pub(crate) fn family_of(fault: &FaultRef) -> Option<&'static FaultFamily> {
    let catalog = CATALOG.as_ref()?;
    catalog.families.get(&catalog.faults.get(&fault.fault)?.family)
}

/// What is right instead of a fault: as its own file says, else as its family does.
pub(crate) fn fix_of(fault: &FaultRef, family: &FaultFamily) -> String {
    let own = || CATALOG.as_ref()?.faults.get(&fault.fault)?.fix.clone();
    own().unwrap_or_else(|| family.fix.clone())
}
