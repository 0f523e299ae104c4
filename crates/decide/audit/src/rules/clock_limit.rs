// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs whose clock is limited below what the hardware can do.
//!
//! Turbo that is off is another setting: with it the kernel lowers what the hardware is said to do
//! (drivers/cpufreq/intel_pstate.c, amd-pstate.c), so that nothing is said twice.

use machine::FrequencyPolicy;
use setting::{Confidence, Evidence, Goal, Severity};

use crate::context::Context;
use crate::draft::Draft;

/// One finding for the CPUs of each limit. A balanced host may save power here.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    if context.is_guest() || context.goal == Goal::Balanced {
        return Vec::new();
    }
    context.machine.power.policies.iter().filter_map(judge).collect()
}

fn weight(severity: Severity) -> &'static str {
    match severity {
        Severity::Medium => "more than a fifth of the clock is withheld",
        _ => "no more than a fifth of the clock is withheld",
    }
}

fn judge(policy: &FrequencyPolicy) -> Option<Draft> {
    let now = *policy.max_khz.as_ref().ok()?;
    let best = *policy.hardware_max_khz.as_ref().ok()?;
    // Drivers round to steps of the bus clock, 100 MHz at most.
    if now == 0 || now.saturating_add(100_000) > best {
        return None;
    }
    let severity = if now < best / 5 * 4 { Severity::Medium } else { Severity::Low };
    let cpu = policy.cpus.first()?;
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq");
    let (now_mhz, best_mhz) = (now / 1000, best / 1000);
    Some(
        Draft::new(
            "max-frequency",
            severity,
            format!("{{devices}}: The clock is limited to {now_mhz} of {best_mhz} MHz"),
        )
        .about(format!("cpu {}", policy.cpus))
        .confidence(Confidence::Sure)
        .weighed(weight(severity))
        .values(now.to_string(), best.to_string())
        .because(format!(
            "the governor may ask for {now_mhz} MHz at most, and the hardware can do {best_mhz}"
        ))
        .evidence(Evidence::file(format!("{folder}/scaling_max_freq")))
        .evidence(Evidence::file(format!("{folder}/cpuinfo_max_freq")))
        .change([format!("cpupower -c {} frequency-set -u {best}kHz", policy.cpus)]),
    )
}
