//! What the target was taken to follow, field by field.

use std::collections::{BTreeMap, BTreeSet};

use qkvet_spec::{Catalog, Summary};

/// A field that implementations choose differently.
pub(super) struct ConventionRow {
    pub(super) field: String,
    /// What is standard.
    pub(super) standard: String,
    /// What it was judged by.
    pub(super) judged: String,
    /// How that was found out.
    pub(super) how: &'static str,
    pub(super) is_standard: bool,
}

/// A row for each field of the catalog.
pub(super) fn conventions(summary: &Summary, catalog: &Catalog) -> Vec<ConventionRow> {
    let undeclared: BTreeSet<String> =
        summary.findings.iter().filter_map(|finding| finding.cause.convention()).collect();
    let mut rows: BTreeMap<&str, ConventionRow> = BTreeMap::new();
    for convention in catalog.conventions.values() {
        let (field, value) = (convention.field.as_str(), convention.value.as_str());
        let row = rows.entry(field).or_insert_with(|| ConventionRow {
            field: field.to_owned(),
            standard: convention.standard.clone(),
            judged: convention.standard_value.clone(),
            how: "standard",
            is_standard: true,
        });
        let name = format!("{field}={value}");
        let is_declared = summary.run.conventions.contains(&name);
        if is_declared || undeclared.contains(&name) {
            row.judged = value.to_owned();
            row.how = if is_declared { "declared" } else { "found, not declared" };
            row.is_standard = false;
        }
    }
    rows.into_values().collect()
}
