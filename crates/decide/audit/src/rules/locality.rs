// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network ports and the drives they serve on different packages.
//!
//! Which port serves which drive leaves no sign, so that only the clear case is told: no fast port
//! shares a package with any drive. A machine without network and NVMe classes in its capture is
//! judged by its PCI functions, with less certainty.

use machine::Function;
use setting::{Confidence, Severity};
use units::NodeId;

use super::spread::Spread;
use super::{drive_spread, nic_spread};
use crate::context::Context;
use crate::devices::{Role, role};
use crate::draft::Draft;
use crate::words;

/// Lanes that a card of 10 Gb/s or more has at least.
const FAST_CARD_LANES: u8 = 8;

type Placed = Vec<(String, Option<NodeId>)>;

/// One finding for the machine.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    if context.places.packages().len() < 2 {
        return Vec::new();
    }
    let (ports, drives, confidence) =
        if context.machine.nics.is_empty() && context.machine.drives.is_empty() {
            (functions(context, is_fast_card), functions(context, is_drive), Confidence::Unsure)
        } else {
            (nic_spread::cards(context), drive_spread::drives(context), Confidence::Likely)
        };
    let at = Spread::of(context, ports.clone());
    let on = Spread::of(context, drives.clone());
    let apart = at.used().iter().all(|package| !on.used().contains(package));
    if at.total() == 0 || on.total() == 0 || !apart {
        return Vec::new();
    }
    let severity = if confidence == Confidence::Likely { Severity::Medium } else { Severity::Low };
    vec![draft(context, severity, &at, &on).confidence(confidence)]
}

fn draft(context: &Context<'_>, severity: Severity, at: &Spread, on: &Spread) -> Draft {
    let (ports, drives) = (at.names(), on.names());
    let (here, there) =
        (words::numbers("package", at.used()), words::numbers("package", on.used()));
    let title = format!(
        "The network ({}) and the drives ({}) hang on different packages",
        words::names(&ports),
        words::names(&drives)
    );
    let because = format!(
        "the network is on {here} ({}), and the drives are on {there} ({}): what the network sends \
         of these drives crosses the link between packages, wherever the memory between them is",
        words::names(&ports),
        words::names(&drives)
    );
    let mut draft = Draft::new("nic-drive-locality", severity, title)
        .values(format!("network on {here}, drives on {there}"), "both on one package")
        .weighed(match severity {
            Severity::Medium => "no fast port shares a package with any drive",
            _ => "told by the PCI functions alone",
        })
        .because(because)
        .about_all(ports)
        .about_all(drives);
    for function in
        context.machine.functions.iter().filter(|f| is_fast_card(f) || is_drive(f)).take(12)
    {
        if let Some(node) = function.node {
            draft = draft.on_node(context, Some(function.address), node);
        }
    }
    draft
}

fn functions(context: &Context<'_>, which: fn(&Function) -> bool) -> Placed {
    let functions = context.machine.functions.iter().filter(|function| which(function));
    functions.map(|function| (function.address.to_string(), function.node)).collect()
}

fn is_drive(function: &Function) -> bool {
    role(function) == Role::Nvme && function.driver.is_some()
}

fn is_fast_card(function: &Function) -> bool {
    let link = function.link.as_ref();
    let lanes = link.and_then(|link| link.own.width.clone().ok()).unwrap_or(0);
    role(function) == Role::Network
        && function.driver.is_some()
        && function.physical_function.is_none()
        && function.address.function == 0
        && (lanes >= FAST_CARD_LANES || is_fast_by_name(&function.names.device))
}

/// `Ethernet Controller XXV710 for 25GbE SFP28`: pci.ids names the rate of most fast cards.
fn is_fast_by_name(name: &str) -> bool {
    ["10Gb", "25Gb", "40Gb", "50Gb", "100Gb", "200Gb", "400Gb", "ConnectX"]
        .iter()
        .any(|rate| name.contains(rate))
}
