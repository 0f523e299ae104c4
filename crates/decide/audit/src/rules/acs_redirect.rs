// SPDX-License-Identifier: MIT OR Apache-2.0
//! Switches that send the traffic between their own devices up to the root and back.
//!
//! It matters only where devices under one switch talk to each other: GPUs, or a GPU with a drive
//! or a network card. Machines that give devices to guests need the redirect.

use std::collections::BTreeMap;

use machine::{Function, PortKind};
use setting::{Confidence, Severity};
use units::PciAddress;

use crate::context::Context;
use crate::devices::{Role, role};
use crate::draft::Draft;
use crate::lines;
use crate::words;

/// Findings: one a switch.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    if context.is("hypervisor-host") || context.is("vfio") || context.is_guest() {
        return Vec::new();
    }
    let mut switches: BTreeMap<PciAddress, Vec<&Function>> = BTreeMap::new();
    for function in &context.machine.functions {
        if !matches!(role(function), Role::Nvme | Role::Network | Role::Gpu) {
            continue;
        }
        let mut above = context.devices.above(function.address);
        if let Some(switch) = above.find(|port| port.port == Some(PortKind::Upstream)) {
            switches.entry(switch.address).or_default().push(function);
        }
    }
    switches.into_iter().filter_map(|(switch, below)| judge(context, switch, &below)).collect()
}

fn judge(context: &Context<'_>, switch: PciAddress, below: &[&Function]) -> Option<Draft> {
    let gpus = below.iter().filter(|function| role(function) == Role::Gpu).count();
    if gpus == 0 || below.len() < 2 {
        return None;
    }
    let mut ports: Vec<&Function> = below
        .iter()
        .flat_map(|function| context.devices.above(function.address))
        .filter(|port| port.port == Some(PortKind::Downstream) && redirects(port))
        .collect();
    ports.sort_by_key(|port| port.address);
    ports.dedup_by_key(|port| port.address);
    ports.first()?;
    let names: Vec<String> =
        below.iter().map(|function| context.devices.label(function.address)).collect();
    let title = "{devices}: What they exchange is sent up to the root and back (ACS redirect)";
    let because = format!(
        "{} share the switch {switch}; with the redirect on, a copy between them crosses the \
         switch's uplink twice instead of staying inside",
        words::names(&names)
    );
    let mut draft = Draft::new("pcie-acs-redirect", Severity::Medium, title)
        .about_all(names)
        .weighed("it costs the copies between these devices alone")
        .confidence(Confidence::Likely)
        .values("on", "off")
        .because(because);
    for port in ports.iter().take(6) {
        let Ok(Some(redirects)) = &port.config.acs_redirect else { continue };
        let sign = |on| if on { '+' } else { '-' };
        let (requests, completions) = (sign(redirects.requests), sign(redirects.completions));
        let text = format!("ACSCtl ReqRedir{requests} CmpltRedir{completions}");
        draft = draft.evidence(lines::acs(port.address).meaning(text));
    }
    // Bits 2 and 3 of ACS control: request and completion redirect.
    let line = |port: &&Function| format!("setpci -s {} ECAP_ACS+6.w=0000:000c", port.address);
    Some(draft.change(ports.iter().map(line)))
}

fn redirects(port: &Function) -> bool {
    matches!(&port.config.acs_redirect, Ok(Some(redirects)) if redirects.any())
}
