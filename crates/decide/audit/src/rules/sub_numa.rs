// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packages that could be split into nodes and are not.
//!
//! Not flagged: guests, parts that cannot, machines without fast I/O to gain from it, and AMD's
//! processors, for which no published measurement speaks (the entry `nps` explains them).

use setting::{Confidence, Evidence, Severity};

use super::{drive_spread, nic_spread};
use crate::context::Context;
use crate::draft::Draft;
use crate::{layout, lines, words};

/// One finding for the machine.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    let (word, reason) = layout::sub_numa(context.machine);
    let drives = drive_spread::drives(context).len() + hidden(context);
    let ports = nic_spread::fast(context).len();
    let is_busy = drives >= 2 || ports > 0;
    if word.as_deref() != Some("off")
        || context.is_guest()
        || !context.is("sub-numa-capable")
        || !context.is("intel")
        || !is_busy
    {
        return Vec::new();
    }
    // Alone it brought 1.9 % in the published ladder; it is the base of what linear numbering and
    // placement bring on a machine full of drives.
    let severity = if drives >= 4 { Severity::Medium } else { Severity::Low };
    let near = [(drives, "drive"), (ports, "fast port")];
    let near: Vec<String> = near
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| words::count(number, word))
        .collect();
    let because = format!(
        "{reason}; with SNC each node is a part of a package with its own memory channels and \
         PCIe lanes, nearer to the {} here",
        near.join(" and ")
    );
    let mut draft = Draft::new(
        "sub-numa-cluster",
        severity,
        "The packages are not split into NUMA nodes",
    )
    .confidence(Confidence::Likely)
    .values("off", "snc-2 or more")
    .weighed(match severity {
        Severity::Medium => {
            "alone it brought 1.9 % in the study; linear numbering and placement build on it"
        }
        _ => "few devices here would be nearer to anything",
    })
    .because(because)
    .evidence(Evidence::line("/proc/cpuinfo", "model name"));
    let nodes = context.places.nodes().keys().take(8);
    draft = draft.evidences(nodes.map(|node| lines::node_cpus(*node)));
    vec![draft.change([])]
}

/// Drives that a RAID controller shows as something else count as well.
fn hidden(context: &Context<'_>) -> usize {
    let drives = context.machine.drives.iter();
    drives.filter(|drive| drive.hidden_by.is_some() && drive.rotational != Ok(true)).count()
}
