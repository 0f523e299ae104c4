// SPDX-License-Identifier: MIT OR Apache-2.0
//! Max read request size of NVMe drives and fast network cards.
//!
//! Not flagged: GPUs, slower ports, guests, desktops.

use machine::{Function, Nic, NicKind};
use setting::Severity;
use units::BitRate;

use crate::context::Context;
use crate::devices::{self, Role, role};
use crate::draft::Draft;
use crate::lines;

/// From this line rate on, makers of cards advise the largest reads.
const FASTEST: BitRate = BitRate(100_000_000_000);
/// Bytes; the largest size there is (PCI Express Base Specification,
/// device control bits 14:12).
const MOST: u16 = 4096;
/// Bytes; what the rest needs.
const ENOUGH: u16 = 512;

/// Findings: one a function, alike ones grouped.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    if context.is_guest() || context.is("desktop") {
        return Vec::new();
    }
    let functions = context.machine.functions.iter();
    let worth = functions.filter(|function| function.physical_function.is_none());
    worth.filter_map(|function| judge(context, function)).collect()
}

/// Bytes that a function should ask for at a time; none where it does not matter.
fn wanted(context: &Context<'_>, function: &Function) -> Option<u16> {
    let carries =
        |nic: &&Nic| nic.function == Some(function.address) && nic.kind == NicKind::Physical;
    match role(function) {
        Role::Nvme => Some(ENOUGH),
        Role::Network => {
            let mut nics = context.machine.nics.iter().filter(carries);
            let fast = nics.find(|nic| devices::is_fast(nic))?;
            let fastest = fast.speed.as_ref().is_ok_and(|speed| *speed >= FASTEST);
            Some(if fastest { MOST } else { ENOUGH })
        }
        _ => None,
    }
}

fn judge(context: &Context<'_>, function: &Function) -> Option<Draft> {
    let wanted = wanted(context, function)?;
    let now = *function.config.mrrs.as_ref().ok()?;
    if now >= wanted {
        return None;
    }
    let address = function.address;
    let because = format!(
        "reads of memory ask for {now} bytes at a time: more of them must be on their way at once to \
         keep the link full"
    );
    let title = format!(
        "{{devices}}: A read of memory asks for at most {now} bytes, and {wanted} are of use"
    );
    let draft = Draft::new("pcie-mrrs", Severity::Low, title)
        .about(context.devices.label(address))
        .values(now.to_string(), wanted.to_string())
        .weighed("it is felt only where a device nearly fills its link")
        .because(because)
        .evidence(lines::express(address, 8, 2).meaning(format!("DevCtl MaxReadReq {now}")));
    let bits = if wanted == MOST { "5000" } else { "2000" };
    Some(draft.change([format!("setpci -s {address} CAP_EXP+8.w={bits}:7000")]))
}
