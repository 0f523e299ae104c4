// SPDX-License-Identifier: MIT OR Apache-2.0
//! The order of findings: what costs most first, and what was measured before what was rated.

use std::cmp::Ordering;

use setting::{Basis, Finding};

use crate::words;

/// Sorts findings: by severity, then by how well the effect is known, then by its size, then by
/// confidence; rule and device settle the rest, so that the order is always the same.
pub(crate) fn rank(findings: &mut [Finding]) {
    findings.sort_by(compare);
}

fn compare(a: &Finding, b: &Finding) -> Ordering {
    b.severity
        .cmp(&a.severity)
        .then_with(|| basis(a.effect.basis).cmp(&basis(b.effect.basis)))
        .then_with(|| size(b).total_cmp(&size(a)))
        .then_with(|| b.confidence.cmp(&a.confidence))
        .then_with(|| a.id.cmp(&b.id))
        .then_with(|| device(a, b))
        .then_with(|| a.observed.cmp(&b.observed))
}

/// Measured alone, measured in a bundle, rated, reasoned.
fn basis(basis: Basis) -> u8 {
    match basis {
        Basis::Measured => 0,
        Basis::Bundle => 1,
        Basis::Rated => 2,
        Basis::Reasoned => 3,
    }
}

/// How far the ratio is from one; nothing known is the smallest.
fn size(finding: &Finding) -> f64 {
    finding.effect.ratio.map_or(0.0, |ratio| (ratio - 1.0).abs())
}

fn device(a: &Finding, b: &Finding) -> Ordering {
    let first = |finding: &Finding| finding.devices.first().cloned().unwrap_or_default();
    words::natural(&first(a), &first(b))
}
