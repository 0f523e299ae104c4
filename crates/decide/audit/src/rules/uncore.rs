// SPDX-License-Identifier: MIT OR Apache-2.0
//! Uncore clocks held below what they were at boot.
//!
//! Only ceilings: whether a floor or a fixed clock pays depends on the part. A ceiling below the
//! value at boot slows caches, memory and PCI Express on every part.

use machine::Uncore;
use setting::{Evidence, Goal, Severity};

use crate::context::Context;
use crate::draft::Draft;
use crate::words;

const FOLDER: &str = "/sys/devices/system/cpu/intel_uncore_frequency";

/// One finding for all domains. A balanced host may save power here.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    if context.is_guest() || context.goal == Goal::Balanced {
        return Vec::new();
    }
    let domains = &context.machine.power.uncore;
    let capped: Vec<(&Uncore, u64, u64)> = domains.iter().filter_map(capped).collect();
    judge(&capped, domains.len()).into_iter().collect()
}

/// (domain, ceiling now, ceiling at boot) of a domain that is held down.
fn capped(domain: &Uncore) -> Option<(&Uncore, u64, u64)> {
    let now = *domain.max_khz.as_ref().ok()?;
    let boot = *domain.initial_max_khz.as_ref().ok()?;
    (now < boot).then_some((domain, now, boot))
}

fn judge(capped: &[(&Uncore, u64, u64)], all: usize) -> Option<Draft> {
    let (domain, now, boot) = *capped.iter().min_by_key(|(_, now, _)| *now)?;
    let (now_mhz, boot_mhz) = (now / 1000, boot / 1000);
    let is_fixed = domain.min_khz.as_ref().is_ok_and(|min| *min == now);
    let how = if is_fixed { "fixed at" } else { "held to" };
    let title = format!(
        "The uncore clock is {how} {now_mhz} MHz in {} of {}; it was {boot_mhz} MHz at boot",
        capped.len(),
        words::count(all, "domain")
    );
    let because = format!(
        "caches, memory controllers and PCIe roots of {} run on a clock of at most {now_mhz} MHz, \
         and the processor came up with {boot_mhz}",
        domain.name
    );
    let mut draft = Draft::new("uncore-max-frequency", Severity::Low, title)
        .values(now.to_string(), boot.to_string())
        .weighed("its own share of any study's gain is unknown")
        .because(because);
    for (domain, _, _) in capped {
        let folder = format!("{FOLDER}/{}", domain.name);
        draft = draft
            .evidence(Evidence::file(format!("{folder}/max_freq_khz")))
            .evidence(Evidence::file(format!("{folder}/initial_max_freq_khz")));
    }
    let line = |(domain, _, boot): &(&Uncore, u64, u64)| {
        format!("echo {boot} > {FOLDER}/{}/max_freq_khz", domain.name)
    };
    let is_plain = capped.iter().all(|(domain, _, _)| words::is_plain(&domain.name));
    let lines: Vec<String> = capped.iter().filter(|_| is_plain).map(line).collect();
    Some(draft.change(lines))
}
