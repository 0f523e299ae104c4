// SPDX-License-Identifier: MIT OR Apache-2.0
//! Max read request size of fast network cards.
//!
//! Not flagged: drives and GPUs, which do well with 512, slower ports, guests.

use machine::NicKind;
use setting::Severity;
use units::{BitRate, PciAddress};

use crate::context::Context;
use crate::draft::Draft;

/// From this line rate on, a card needs large reads to keep its transmit side busy.
const FROM: BitRate = BitRate(100_000_000_000);
/// The largest size there is (PCI Express Base Specification, device control bits 14:12).
const BEST: u16 = 4096;

/// Findings: one a port, alike ones grouped.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    if context.is_guest() {
        return Vec::new();
    }
    let nics = context.machine.nics.iter();
    let fast = nics.filter(|nic| {
        nic.kind == NicKind::Physical && nic.speed.as_ref().is_ok_and(|speed| *speed >= FROM)
    });
    fast.filter_map(|nic| judge(context, &nic.name, nic.function?)).collect()
}

fn judge(context: &Context<'_>, name: &str, address: PciAddress) -> Option<Draft> {
    let now = *context.devices.function(address)?.config.mrrs.as_ref().ok()?;
    if now >= BEST {
        return None;
    }
    let because = format!(
        "{name} fetches what it sends in reads of {now} bytes: more of them are on their way at a time than need be"
    );
    let draft = Draft::new(
        "pcie-mrrs",
        Severity::Low,
        format!("{{devices}}: reads at most {now} bytes at a time"),
    )
    .about(name)
    .values(now.to_string(), BEST.to_string())
    .because(because)
    .evidence(format!("/sys/bus/pci/devices/{address}/config"), format!("DevCtl MaxReadReq {now}"));
    Some(draft.change([format!("setpci -s {address} CAP_EXP+8.w=5000:7000")]))
}
