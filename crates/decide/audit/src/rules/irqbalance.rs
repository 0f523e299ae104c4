// SPDX-License-Identifier: MIT OR Apache-2.0
//! irqbalance at work on a machine whose interrupts were placed, or should be.
//!
//! Not flagged: guests, machines with one node, machines without a fast port, and the balanced goal.

use machine::Irq;
use setting::{Confidence, Evidence, Goal, Severity};

use crate::context::Context;
use crate::devices;
use crate::draft::Draft;
use crate::lines;
use crate::words;

/// One finding for the machine.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    let asked = context.goal != Goal::Balanced;
    if !asked
        || context.is_guest()
        || !context.places.has_far_nodes()
        || !context.is_running("irqbalance")
    {
        return Vec::new();
    }
    let fast = devices::working_ports(context.machine).filter(|nic| devices::is_fast(nic));
    let names: Vec<String> = fast.clone().map(|nic| nic.name.clone()).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let pinned: Vec<&Irq> = fast
        .filter_map(|nic| nic.function)
        .flat_map(|function| context.movable_irqs(function))
        .filter(|irq| irq.affinity.as_ref().is_ok_and(|cpus| cpus.len() == 1))
        .collect();
    vec![draft(context, &names, &pinned)]
}

fn draft(context: &Context<'_>, names: &[String], pinned: &[&Irq]) -> Draft {
    let severity = if pinned.is_empty() { Severity::Low } else { Severity::Medium };
    let nics = words::names(names);
    let title = format!("irqbalance runs and may move the interrupts of {nics}");
    let because = if pinned.is_empty() {
        format!("it looks at load every ten seconds and may put the queues of {nics} on any node")
    } else {
        format!(
            "{} of {nics} are bound to one CPU each; irqbalance may undo that within ten seconds",
            words::count(pinned.len(), "queue interrupt")
        )
    };
    let mut draft = Draft::new("irqbalance", severity, title)
        .confidence(Confidence::Likely)
        .values("running", "stopped")
        .because(because)
        .evidences(lines::service(context.machine, "irqbalance"))
        .change([
            "systemctl stop irqbalance".to_owned(),
            "systemctl disable irqbalance".to_owned(),
        ]);
    let services = &context.machine.host.services;
    let service = services.iter().find(|service| service.name == "irqbalance");
    if let Some((file, text)) = service.and_then(|service| service.configuration.as_ref()) {
        draft = draft.evidences(text.lines().map(|line| Evidence::line(file, line)));
    }
    draft.evidences(pinned.iter().take(4).map(|irq| lines::irq(irq.number, "smp_affinity")))
}
