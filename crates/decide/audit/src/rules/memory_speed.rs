// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory modules that run below their rating.
//!
//! Not flagged: guests and desktops. Modules that are faster than the processor takes look the same
//! as modules slowed by a second one on the channel, so the finding is never sure.

use machine::Dimm;
use setting::{Confidence, Severity};
use units::Bytes;

use crate::context::Context;
use crate::draft::Draft;
use crate::facts::slowed;
use crate::lines;
use crate::words;

/// One finding for the machine.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    let dimms = &context.machine.dimms;
    if context.is_guest() || context.is("desktop") {
        return Vec::new();
    }
    let Some((now, rated)) = slowed(dimms) else { return Vec::new() };
    let in_place: Vec<&Dimm> = dimms.iter().filter(|dimm| dimm.size > Bytes(0)).collect();
    let slow: Vec<&&Dimm> = in_place.iter().filter(|dimm| dimm.configured_mts == Ok(now)).collect();
    // A tenth less is what a second module on the channel costs on many platforms.
    let severity = if now.saturating_mul(100) < rated.saturating_mul(80) {
        Severity::Medium
    } else {
        Severity::Low
    };
    let because = format!(
        "{} at {now} MT/s, rated {rated}: a second module on the channel, a mix of modules, a \
         power-saving profile, or a processor that takes no more",
        words::share(slow.len(), in_place.len(), "module", "runs", "run")
    );
    let mut draft =
        Draft::new("memory-speed", severity, format!("Memory runs at {now} of {rated} MT/s"))
            .confidence(Confidence::Unsure)
            .weighed(match severity {
                Severity::Medium => "more than a fifth of the rate is lost",
                _ => "no more than a fifth of the rate is lost",
            })
            .values(format!("{now} MT/s"), format!("{rated} MT/s"))
            .because(because);
    for dimm in slow.iter().take(4) {
        let text =
            format!("{}: Configured Memory Speed: {now} MT/s, Speed: {rated} MT/s", dimm.locator);
        draft = draft.evidence(lines::module(dimm).meaning(text));
    }
    vec![draft]
}
