// SPDX-License-Identifier: MIT OR Apache-2.0
//! The catalogue passes its own lint.

use anyhow::Result;

use super::Complaints;

pub(super) fn check() -> Result<Complaints> {
    let catalogue = catalogue::Catalogue::built_in();
    Ok(catalogue.lint().iter().map(ToString::to_string).collect())
}
