// SPDX-License-Identifier: MIT OR Apache-2.0
//! irqbalance at work on a machine whose interrupts were placed, or should be.
//!
//! Not flagged: guests, machines with one node, machines without a fast port, the balanced goal, and
//! ports whose interrupts it is told to leave alone, which is what a plan does.

use machine::{Irq, Nic};
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
    let ports = devices::working_ports(context.machine).filter(|nic| devices::is_fast(nic));
    let moved: Vec<(&Nic, Vec<&Irq>)> = ports
        .map(|nic| (nic, balanced(context, nic)))
        .filter(|(_, irqs)| !irqs.is_empty())
        .collect();
    if moved.is_empty() { Vec::new() } else { vec![draft(context, &moved)] }
}

/// Interrupts of a port that irqbalance may move.
fn balanced<'a>(context: &Context<'a>, nic: &Nic) -> Vec<&'a Irq> {
    let movable = nic.function.map(|function| context.movable_irqs(function)).unwrap_or_default();
    movable.into_iter().filter(|irq| context.is_balanced(irq.number)).collect()
}

/// Whether it is told to leave every interrupt of a fast port alone, and there are some.
pub(crate) fn spares_all(context: &Context<'_>) -> bool {
    let ports = devices::working_ports(context.machine).filter(|nic| devices::is_fast(nic));
    let functions = ports.filter_map(|nic| nic.function);
    let mut irqs = functions.flat_map(|function| context.movable_irqs(function)).peekable();
    irqs.peek().is_some() && irqs.all(|irq| !context.is_balanced(irq.number))
}

fn draft(context: &Context<'_>, moved: &[(&Nic, Vec<&Irq>)]) -> Draft {
    let names: Vec<String> = moved.iter().map(|(nic, _)| nic.name.clone()).collect();
    let irqs: Vec<&Irq> = moved.iter().flat_map(|(_, irqs)| irqs.iter().copied()).collect();
    let is_bound = |irq: &&&Irq| irq.affinity.as_ref().is_ok_and(|cpus| cpus.len() == 1);
    let pinned: Vec<&Irq> = irqs.iter().filter(is_bound).copied().collect();
    let nics = words::names(&names);
    let (severity, because) = if pinned.is_empty() {
        let text = format!(
            "it looks at load every ten seconds and may put the queues of {nics} on any node"
        );
        (Severity::Low, text)
    } else {
        let queues = words::count(pinned.len(), "queue interrupt");
        let are = if pinned.len() == 1 { "is" } else { "are" };
        let text = format!(
            "{queues} of {nics} {are} bound to one CPU each; irqbalance may undo that within ten \
             seconds"
        );
        (Severity::Medium, text)
    };
    let title = format!("irqbalance runs and may move the interrupts of {nics}");
    let count = words::count(irqs.len(), "interrupt");
    let mut draft = Draft::new("irqbalance", severity, title)
        .confidence(Confidence::Likely)
        .values("running", format!("told to leave {count} alone"))
        .weighed(match severity {
            Severity::Medium => "what was bound by hand is undone",
            _ => "nothing is bound by hand here",
        })
        .because(because)
        .evidences(lines::service(context.machine, "irqbalance"))
        .change(spare(&irqs));
    let services = &context.machine.host.services;
    let service = services.iter().find(|service| service.name == "irqbalance");
    if let Some((file, text)) = service.and_then(|service| service.configuration.as_ref()) {
        draft = draft.evidences(text.lines().map(|line| Evidence::line(file, line)));
    }
    draft.evidences(pinned.iter().take(4).map(|irq| lines::irq(irq.number, "smp_affinity")))
}

/// Lines that tell irqbalance to leave interrupts alone, as a plan does: in the distribution's own
/// file and variable, behind the arguments that stand there.
pub(crate) fn spare(irqs: &[&Irq]) -> Vec<String> {
    let numbers: Vec<String> = irqs.iter().map(|irq| irq.number.to_string()).collect();
    vec![
        "f=/etc/default/irqbalance v=IRQBALANCE_ARGS; [ -e $f ] || f=/etc/sysconfig/irqbalance"
            .to_owned(),
        "systemctl cat irqbalance | grep -q '^ExecStart=.*OPTIONS' && v=OPTIONS".to_owned(),
        format!(
            "(. $f; args=${{!v-}}; for irq in {}; do args=\"$args --banirq=$irq\"; done; \
             echo \"$v='$args'\") >> $f",
            numbers.join(" ")
        ),
        "systemctl restart irqbalance".to_owned(),
    ]
}
