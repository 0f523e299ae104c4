// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices with fewer queues than the CPUs that would use them.
//!
//! A drive with a queue for each CPU of a node is well off; one that has fewer shares them. A
//! network port is measured against the cores of its own node, and only where it could have more.

use machine::{Drive, Nic, NicKind};
use setting::{Confidence, Evidence, Owner, Severity};

use crate::context::Context;
use crate::devices;
use crate::draft::Draft;
use crate::lines;
use crate::words;

const ID: &str = "queue-count";

/// Findings: drives and ports, alike ones grouped.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    if context.is("desktop") {
        return Vec::new();
    }
    let drives = context
        .machine
        .drives
        .iter()
        .filter(|drive| devices::is_nvme(drive) && !devices::is_system(drive));
    let mut drafts: Vec<Draft> = drives.filter_map(|drive| of_drive(context, drive)).collect();
    drafts.extend(context.machine.nics.iter().filter_map(|nic| of_port(context, nic)));
    drafts
}

fn of_drive(context: &Context<'_>, drive: &Drive) -> Option<Draft> {
    let path = drive.controllers.iter().max_by_key(|path| path.queues)?;
    let queues = usize::try_from(path.queues).ok()?;
    let online = context.machine.cpus.online.len();
    let node =
        path.node.and_then(|node| context.places.near(node)).map_or(online, units::CpuSet::len);
    if queues == 0 || queues >= node {
        return None;
    }
    let severity = match queues {
        1 if node > 4 => Severity::Medium,
        _ if queues.saturating_mul(4) < node => Severity::Low,
        _ => Severity::Note,
    };
    if severity == Severity::Note && context.is_guest() {
        return None;
    }
    let because = format!(
        "{} for {online} CPUs ({node} cores on the drive's node): CPUs that share a queue wait for each \
         other; the count is what the drive grants, less where vectors are short",
        words::count(queues, "queue")
    );
    let serve = match queues {
        1 => "1 queue serves".to_owned(),
        queues => format!("{queues} queues serve"),
    };
    let controller = &path.name;
    let draft = Draft::new(ID, severity, format!("{{devices}}: {serve} {node} near cores"))
        .about(&drive.name)
        .confidence(Confidence::Likely)
        .owner(Owner::Device)
        .values(queues.to_string(), format!("{node} or more"))
        .weighed(match severity {
            Severity::Medium => "all CPUs share a single queue",
            Severity::Low => "more than four cores share a queue",
            _ => "a queue is shared by a few cores",
        })
        .because(because)
        .evidence(Evidence::file(format!("/sys/class/nvme/{controller}/queue_count")));
    Some(draft)
}

/// Half of what would be of use is near enough: drivers choose half the cores as a default.
fn of_port(context: &Context<'_>, nic: &Nic) -> Option<Draft> {
    let (now, most) = nic.channels.as_ref().ok()?.combined?;
    let counts = match nic.kind {
        NicKind::Physical => devices::is_fast(nic),
        NicKind::Paravirtual => nic.in_use,
        _ => false,
    };
    if !counts || !devices::is_up(nic) || now == 0 {
        return None;
    }
    let near = nic.node.and_then(|node| context.places.near(node));
    let cores = near.map_or(context.machine.cpus.online.len(), units::CpuSet::len);
    let useful = u32::try_from(cores).unwrap_or(u32::MAX).min(most);
    if now.saturating_mul(2) >= useful {
        return None;
    }
    let severity =
        if now == 1 && nic.kind == NicKind::Physical { Severity::Medium } else { Severity::Low };
    let because = format!(
        "{} takes part of its traffic on {now} of {cores} near cores, and could have {most} queues: \
         one core is full long before the link is",
        nic.name
    );
    let draft = Draft::new(
        ID,
        severity,
        format!(
            "{{devices}}: {} in use, and near cores could serve {useful}",
            words::are(now, "queue")
        ),
    )
    .about(&nic.name)
    .values(now.to_string(), useful.to_string())
    .weighed(match severity {
        Severity::Medium => "one core takes all that a fast port brings",
        _ => "several cores take what the port brings",
    })
    .because(because)
    .evidence(lines::ethtool("-l", &nic.name));
    Some(draft.change([format!("ethtool -L {} combined {useful}", nic.name)]))
}
