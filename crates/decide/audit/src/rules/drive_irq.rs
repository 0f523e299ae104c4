// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts of a storage controller that a person may move, and that are taken far away.
//!
//! Not flagged: vectors that the kernel manages (NVMe I/O queues, most RAID drivers): they are
//! spread over all nodes on purpose, one queue for the CPUs that submit to it.

use std::collections::BTreeMap;

use machine::{Drive, DriveKind, Irq};
use setting::Severity;
use units::{CpuSet, PciAddress};

use crate::context::Context;
use crate::draft::Draft;
use crate::words;

/// Findings: one a controller.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    if !context.places.has_far_nodes() {
        return Vec::new();
    }
    let mut controllers: BTreeMap<PciAddress, Vec<&Drive>> = BTreeMap::new();
    for drive in context.machine.drives.iter().filter(|drive| is_worth(drive)) {
        for function in drive.controllers.iter().filter_map(|path| path.function) {
            controllers.entry(function).or_default().push(drive);
        }
    }
    controllers.iter().filter_map(|(at, drives)| judge(context, *at, drives)).collect()
}

/// A hard disk waits for its arm, a virtual disk for its host.
fn is_worth(drive: &Drive) -> bool {
    drive.rotational != Ok(true)
        && !matches!(
            drive.kind,
            DriveKind::Virtio | DriveKind::Paravirtual | DriveKind::NvmeFabrics
        )
}

fn judge(context: &Context<'_>, function: PciAddress, drives: &[&Drive]) -> Option<Draft> {
    let node = context.devices.function(function)?.node?;
    let local = context.places.cpus(node)?;
    let wanted = context.places.near(node)?;
    let irqs = context.movable_irqs(function);
    let is_far = |(_, cpus): &(&Irq, CpuSet)| !cpus.is_empty() && !cpus.overlaps(local);
    let far: Vec<(&Irq, CpuSet)> =
        irqs.iter().map(|irq| (*irq, context.target(irq))).filter(is_far).collect();
    let (_, cpus) = far.first()?;
    let is_quick = drives.iter().any(|drive| drive.kind != DriveKind::Sata);
    let severity = if is_quick { Severity::Medium } else { Severity::Low };
    let title = format!(
        "{{devices}}: {} far from the drive's node, {node}",
        words::share(far.len(), irqs.len(), "queue interrupt", "is taken", "are taken"),
    );
    let because = format!(
        "the controller {function} hangs on node {node} ({}), its completions are \
         handled on {}",
        words::some_cpus(local),
        words::some_cpus(cpus)
    );
    let mut draft = Draft::new("drive-irq-placement", severity, title)
        .about_all(drives.iter().map(|drive| drive.name.clone()))
        .values(words::cpus(cpus), wanted.to_string())
        .weighed(if is_quick {
            "each completion of a fast drive crosses"
        } else {
            "the drives are SATA ones"
        })
        .because(because)
        .on_node(context, Some(function), node);
    for (irq, _) in far.iter().take(4) {
        draft = draft.aimed(context, irq);
    }
    let line = |irq: &Irq| format!("echo {wanted} > /proc/irq/{}/smp_affinity_list", irq.number);
    Some(draft.change(far.iter().map(|(irq, _)| line(irq))))
}
