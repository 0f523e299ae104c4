// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts on CPUs that were set apart for other work.
//!
//! Not flagged: managed vectors, which the kernel leaves there as a last resort and which fire only
//! when the isolated CPU itself does I/O; interrupts that never fired there and may go elsewhere.

use machine::{Irq, Managed};
use setting::{Confidence, Evidence, Goal, Severity};
use units::{Cpu, CpuSet};

use crate::context::Context;
use crate::draft::Draft;
use crate::words;

/// One finding for the machine.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    let cpus = &context.machine.cpus;
    let isolated = cpus.isolated.and(&cpus.online);
    if isolated.is_empty() {
        return Vec::new();
    }
    let irqs = context.machine.irqs.iter().filter(|irq| is_there(context, irq, &isolated));
    let irqs: Vec<&Irq> = irqs.collect();
    if irqs.is_empty() {
        return Vec::new();
    }
    vec![draft(context, &irqs, &isolated)]
}

/// Timers and the like have no source and cannot be moved.
fn is_there(context: &Context<'_>, irq: &Irq, isolated: &CpuSet) -> bool {
    irq.managed == Managed::No
        && irq.source.is_some()
        && !irq.actions.is_empty()
        && is_aimed(&context.target(irq), isolated)
}

/// At isolated CPUs alone: a wide set leaves the choice to the kernel.
fn is_aimed(cpus: &CpuSet, isolated: &CpuSet) -> bool {
    !cpus.is_empty() && cpus.is_subset(isolated)
}

fn draft(context: &Context<'_>, irqs: &[&Irq], isolated: &CpuSet) -> Draft {
    let severity = if context.goal == Goal::Latency { Severity::Medium } else { Severity::Low };
    let fired =
        irqs.iter().flat_map(|irq| &irq.counts).any(|(cpu, _)| isolated.contains(Cpu(*cpu)));
    let confidence = if fired { Confidence::Sure } else { Confidence::Likely };
    let housekeeping = context.machine.cpus.online.minus(isolated);
    let mut names: Vec<String> = irqs
        .iter()
        .filter_map(|irq| irq.source.as_ref())
        .map(|source| source.device.clone())
        .collect();
    names.sort_by(|a, b| words::natural(a, b));
    names.dedup();
    let are = if irqs.len() == 1 { "is" } else { "are" };
    let count = words::count(irqs.len(), "interrupt");
    let (apart, others) = (words::cpus(isolated), words::cpus(&housekeeping));
    let targets: std::collections::BTreeSet<String> = irqs
        .iter()
        .map(|irq| near(context, irq, isolated).unwrap_or_else(|| housekeeping.clone()).to_string())
        .collect();
    // What is proposed below: each near its own device.
    let wanted = match targets.first() {
        Some(one) if targets.len() == 1 => one.clone(),
        _ => format!("{others}, those near each device"),
    };
    let title = format!("{{devices}}: {count} {are} aimed at isolated {apart}");
    let because = format!(
        "{apart} were set apart, and each interrupt there breaks into the work that they were set \
         apart for; {others} are there to take it"
    );
    let mut draft = Draft::new("isolated-cpu-interrupts", severity, title)
        .about_all(names)
        .weighed(match severity {
            Severity::Medium => "the goal is latency, and each breaks into work that was set apart",
            _ => "some microseconds at a time, which throughput hardly feels",
        })
        .confidence(confidence)
        .values(format!("on {apart}"), wanted)
        .because(because)
        .evidence(Evidence::file("/sys/devices/system/cpu/isolated"));
    for irq in irqs.iter().take(6) {
        draft = draft.aimed(context, irq);
    }
    let line = |irq: &&Irq| {
        let cpus = near(context, irq, isolated).unwrap_or_else(|| housekeeping.clone());
        format!("echo {cpus} > /proc/irq/{}/smp_affinity_list", irq.number)
    };
    draft.change(irqs.iter().map(line))
}

/// CPUs near the interrupt's device that are not set apart: no other rule shall move it again.
fn near(context: &Context<'_>, irq: &Irq, isolated: &CpuSet) -> Option<CpuSet> {
    let function = context.devices.function(irq.source.as_ref()?.function?)?;
    let near = context.places.near(function.node?)?.minus(isolated);
    (!near.is_empty()).then_some(near)
}
