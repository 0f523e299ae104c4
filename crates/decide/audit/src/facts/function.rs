// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts about PCI functions that a driver of storage, network or graphics holds.

use machine::{Ability, Aspm, AspmStates, Fact, Function, Why};
use setting::Evidence;

use super::{Answer, switch};
use crate::context::Context;
use crate::devices;
use crate::lines;
use crate::rules::pcie_link;

/// What is asked of one device.
type Ask = fn(&Context<'_>, &Function) -> Fact<String>;

/// Answers a fact about functions.
pub(super) fn answer(context: &Context<'_>, fact: &str) -> Option<Vec<Answer>> {
    let ask: Ask = match fact {
        "link" => |_, function| pcie_link::summary(function),
        "aspm" => |_, function| aspm(function),
        "mps" => |_, function| number(&function.config.mps),
        "mrrs" => |_, function| number(&function.config.mrrs),
        "extended-tags" => |_, function| tags(&function.config.extended_tags),
        "ten-bit-tags" => |_, function| tags(&function.config.ten_bit_tags),
        "relaxed-ordering" => |_, function| function.config.relaxed_ordering.clone().map(switch),
        "acs-redirect" => acs_redirect,
        "sriov" => |_, function| sriov(function),
        _ => return None,
    };
    let held = context.machine.functions.iter().filter(|function| devices::is_held(function));
    let answers = held.map(|function| {
        let value = ask(context, function);
        let means = value.as_ref().map(|value| format!("{fact} {value}"));
        let told = |line: Evidence| match &means {
            Ok(means) if lines::is_register(&line) && line.means.is_none() => line.meaning(means),
            _ => line,
        };
        let evidence = evidence(context, fact, function).into_iter().map(told).collect();
        Answer::device(function.address.to_string(), value, evidence)
    });
    Some(answers.collect())
}

/// Offsets in the Express capability are those of PCI_EXP_DEVCAP, _DEVCTL, _LNKCTL, _DEVCAP2 and
/// _DEVCTL2 (include/uapi/linux/pci_regs.h).
fn evidence(context: &Context<'_>, fact: &str, function: &Function) -> Vec<Evidence> {
    let at = function.address;
    let files = |names: &[&str]| names.iter().map(|name| lines::function(at, name)).collect();
    match fact {
        "link" => lines::link_now(function),
        "aspm" => aspm_lines(function),
        "mps" | "mrrs" | "relaxed-ordering" => vec![lines::express(at, 0x08, 2)],
        "extended-tags" => vec![lines::express(at, 0x04, 4), lines::express(at, 0x08, 2)],
        "ten-bit-tags" => vec![lines::express(at, 0x24, 4), lines::express(at, 0x28, 2)],
        "acs-redirect" => {
            let ports: Vec<_> =
                ports(context, function).map(|port| lines::acs(port.address)).collect();
            // Its place in the tree shows that no port is above it.
            if ports.is_empty() { vec![lines::place(at)] } else { ports }
        }
        _ => files(&["sriov_numvfs", "sriov_totalvfs"]),
    }
}

/// The register where it could be read, else the kernel's files for the states.
fn aspm_lines(function: &Function) -> Vec<Evidence> {
    let at = function.address;
    let files = function.link.as_ref().map_or(&[][..], |link| &link.aspm.files);
    let known = function.link.as_ref().is_some_and(|link| link.aspm.enabled.is_ok());
    if known || files.is_empty() {
        return vec![lines::express(at, 0x10, 2)];
    }
    files.iter().map(|(name, _)| lines::function(at, &format!("link/{name}"))).collect()
}

fn number(value: &Fact<u16>) -> Fact<String> {
    value.as_ref().map(ToString::to_string).map_err(Clone::clone)
}

fn tags(value: &Fact<Ability>) -> Fact<String> {
    match value {
        Ok(tags) if tags.supported => Ok(switch(tags.enabled)),
        Ok(_) => Ok("not supported".to_owned()),
        Err(why) => Err(why.clone()),
    }
}

fn aspm(function: &Function) -> Fact<String> {
    let link = function.link.as_ref().ok_or(Why::NotSupported)?;
    Ok(states(&link.aspm)?.to_string())
}

/// From config space, else from the files in `link/`.
fn states(aspm: &Aspm) -> Fact<AspmStates> {
    if let Ok(enabled) = aspm.enabled {
        return Ok(enabled);
    }
    if aspm.files.is_empty() {
        return aspm.enabled.clone();
    }
    let is_on = |name: &str| aspm.files.iter().any(|(file, on)| *on && file == name);
    Ok(AspmStates { l0s: is_on("l0s_aspm"), l1: is_on("l1_aspm") })
}

/// Whether a port above sends requests between its devices up to the root.
fn acs_redirect(context: &Context<'_>, function: &Function) -> Fact<String> {
    let mut value = Err(Why::Absent);
    for port in ports(context, function) {
        match &port.config.acs_redirect {
            Ok(Some(redirect)) if redirect.any() => return Ok("on".to_owned()),
            Ok(Some(_)) => value = Ok("off".to_owned()),
            Ok(None) if value.is_err() => value = Ok("not supported".to_owned()),
            Ok(None) => {}
            Err(why) if value.is_err() => value = Err(why.clone()),
            Err(_) => {}
        }
    }
    value
}

/// Ports above that could send requests elsewhere: root ports and downstream ports of switches.
fn ports<'a>(context: &Context<'a>, function: &Function) -> impl Iterator<Item = &'a Function> {
    let above: Vec<&'a Function> = context.devices.above(function.address).collect();
    above.into_iter().filter(|port| port.is_upper_end())
}

fn sriov(function: &Function) -> Fact<String> {
    let functions = function.sriov.ok_or(Why::NotSupported)?;
    Ok(format!("{} of {}", functions.now, functions.most))
}
