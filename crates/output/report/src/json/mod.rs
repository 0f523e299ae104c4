// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON documents that other programs build on: `topology/1`, `audit/1`, `plan/1`,
//! `placement/1`, `run-list/1`, `sweep/1`, and their schemas.
//!
//! The types here are the formats. They are apart from the model on purpose: the model may change,
//! a field of a document may only be added. A value that is unknown is `null`, never zero.

mod audit;
mod change;
mod placement;
mod plan;
mod runs;
mod sweep;
mod topology;

pub use audit::{
    Audit, AuditChange, AuditEffect, AuditEvidence, AuditFinding, AuditSetting, audit,
};
pub use change::{
    Receipts, Reverts, Transactions, Verification, receipts, reverts, transactions, verification,
};
pub use placement::{
    PlacementDevice, PlacementDocument, PlacementLeftOut, PlacementMemory, PlacementTarget,
    placement,
};
pub use plan::{Plan, PlanChange, PlanDevice, PlanEqual, PlanLeft, plan};
pub use runs::{RunLine, RunList, RunUnread, run_list};
pub use sweep::{Sweep, SweepAxis, SweepCell, SweepDrift, SweepKnee};
pub use topology::{
    Cache, Controller, CpuSets, Drive, Function, FunctionNames, Gpu, Host, Interrupt, Lanes, Link,
    Nic, Node, Package, Smt, SubNuma, Topology, Unknown, topology, topology_hash,
};

/// The JSON schemas of all documents: file name and text, as they lie in `schemas/`.
pub fn schemas() -> Vec<(&'static str, String)> {
    vec![
        ("topology-1.json", schema_text(&schema::<Topology>())),
        ("audit-1.json", schema_text(&schema::<Audit>())),
        ("placement-1.json", schema_text(&schema::<PlacementDocument>())),
        ("plan-1.json", schema_text(&schema::<Plan>())),
        ("receipts-1.json", schema_text(&schema::<Receipts>())),
        ("reverts-1.json", schema_text(&schema::<Reverts>())),
        ("run-1.json", schema_text(&schema::<record::Run>())),
        ("run-list-1.json", schema_text(&schema::<RunList>())),
        ("sweep-1.json", schema_text(&schema::<Sweep>())),
        ("transactions-1.json", schema_text(&schema::<Transactions>())),
        ("verification-1.json", schema_text(&schema::<Verification>())),
    ]
}

/// The schema of what is written: a field that may be null is there all the same.
fn schema<T: schemars::JsonSchema>() -> schemars::Schema {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>()
}

fn schema_text(schema: &schemars::Schema) -> String {
    let text = serde_json::to_string_pretty(schema);
    let mut text = text.expect("a schema is plain JSON with text keys");
    text.push('\n');
    text
}
