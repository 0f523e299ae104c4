// SPDX-License-Identifier: MIT OR Apache-2.0
//! Max payload sizes along the way from a device to its root port.

use machine::Function;
use setting::Severity;

use crate::context::Context;
use crate::devices::{Role, is_held, role};
use crate::draft::Draft;
use crate::lines;

/// Findings: one a function, alike ones grouped.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    if context.is_guest() {
        return Vec::new();
    }
    let functions = context.machine.functions.iter();
    let worth = functions.filter(|function| {
        is_held(function)
            && function.physical_function.is_none()
            && matches!(role(function), Role::Nvme | Role::Storage | Role::Network)
    });
    worth.filter_map(|function| judge(context, function)).collect()
}

fn judge(context: &Context<'_>, function: &Function) -> Option<Draft> {
    let now = *function.config.mps.as_ref().ok()?;
    let chain: Vec<&Function> = context.devices.above(function.address).collect();
    let above = chain.first()?;
    let port = *above.config.mps.as_ref().ok()?;
    if now > port {
        return Some(mismatched(context, function, above, now, port));
    }
    let mut best = *function.config.mps_supported.as_ref().ok()?;
    for port in &chain {
        best = best.min(*port.config.mps_supported.as_ref().ok()?);
    }
    (now < best).then(|| raisable(context, function, above, now, best))
}

/// A device that sends larger packets than the port takes in: they are dropped as malformed
/// (PCI Express Base Specification, 2.2.2).
fn mismatched(
    context: &Context<'_>,
    function: &Function,
    above: &Function,
    now: u16,
    port: u16,
) -> Draft {
    let because = format!(
        "the device may send {now} bytes a packet, the port {} above takes {port}: larger ones are \
         refused as malformed",
        above.address
    );
    let title =
        format!("{{devices}}: Packets carry up to {now} bytes, and the port above takes {port}");
    evidence(context, Draft::new("pcie-mps", Severity::Medium, title), function, above)
        .values(now.to_string(), port.to_string())
        .because(because)
        .weighed("packets that are too large are lost")
        .change(["# kernel command line: pci=pcie_bus_safe".to_owned()])
}

fn raisable(
    context: &Context<'_>,
    function: &Function,
    above: &Function,
    now: u16,
    best: u16,
) -> Draft {
    let because = format!(
        "every port on the way to the root can carry {best} bytes a packet; packets of {now} spend a \
         larger share of the link on headers"
    );
    let title = format!("{{devices}}: Packets carry up to {now} bytes, and {best} would fit");
    evidence(context, Draft::new("pcie-mps", Severity::Low, title), function, above)
        .values(now.to_string(), best.to_string())
        .because(because)
        .weighed("some percent of the link")
        .change(["# kernel command line: pci=pcie_bus_safe".to_owned()])
}

fn evidence(context: &Context<'_>, draft: Draft, function: &Function, above: &Function) -> Draft {
    let mut draft = draft.about(context.devices.label(function.address));
    for function in [function, above] {
        let config = &function.config;
        if let (Ok(now), Ok(best)) = (&config.mps, &config.mps_supported) {
            let at = function.address;
            let control = lines::express(at, 8, 2).meaning(format!("DevCtl MaxPayload {now}"));
            let can = lines::express(at, 4, 4).meaning(format!("DevCap MaxPayload {best}"));
            draft = draft.evidence(control).evidence(can);
        }
    }
    draft
}
