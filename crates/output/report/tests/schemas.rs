// SPDX-License-Identifier: MIT OR Apache-2.0
//! The schemas in `schemas/` are those of the types; `NEARSIDE_WRITE_SCHEMAS=1` writes them.

use std::path::Path;

#[test]
fn the_schemas_in_the_repository_are_fresh() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../schemas");
    let write = std::env::var_os("NEARSIDE_WRITE_SCHEMAS").is_some();
    for (file, text) in nearside_report::json::schemas() {
        let path = folder.join(file);
        if write {
            std::fs::write(&path, &text).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == text, "{file} is stale: run with NEARSIDE_WRITE_SCHEMAS=1");
    }
}
