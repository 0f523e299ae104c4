// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts about PCI functions that a driver of storage, network or graphics holds.

use machine::{Aspm, Fact, Function, PortKind, Why};

use super::{Answer, switch};
use crate::context::Context;
use crate::devices;
use crate::rules::pcie_link;

/// What is asked of one device.
type Ask = fn(&Context<'_>, &Function) -> Fact<String>;

/// Answers a fact about functions.
pub(super) fn answer(context: &Context<'_>, fact: &str) -> Option<Vec<Answer>> {
    let (ask, file): (Ask, &str) = match fact {
        "link" => (|_, function| pcie_link::summary(function), "current_link_width"),
        "aspm" => (|_, function| aspm(function), "link"),
        "mps" => (|_, function| number(&function.config.mps), "config"),
        "mrrs" => (|_, function| number(&function.config.mrrs), "config"),
        "extended-tags" => (|_, function| tags(&function.config.extended_tags), "config"),
        "ten-bit-tags" => (|_, function| tags(&function.config.ten_bit_tags), "config"),
        "relaxed-ordering" => {
            (|_, function| function.config.relaxed_ordering.clone().map(switch), "config")
        }
        "acs-redirect" => (acs_redirect, "config"),
        "sriov" => (|_, function| sriov(function), "sriov_numvfs"),
        _ => return None,
    };
    let held = context.machine.functions.iter().filter(|function| devices::is_held(function));
    let answers = held.map(|function| {
        let value = ask(context, function);
        let reason = value.as_ref().map_or_else(crate::words::unknown, Clone::clone);
        let path = format!("/sys/bus/pci/devices/{}/{file}", function.address);
        Answer::device(function.address.to_string(), value, path, reason)
    });
    Some(answers.collect())
}

fn number(value: &Fact<u16>) -> Fact<String> {
    value.as_ref().map(ToString::to_string).map_err(Clone::clone)
}

fn tags(value: &Fact<(bool, bool)>) -> Fact<String> {
    match value {
        Ok((false, _)) => Ok("not supported".to_owned()),
        Ok((true, enabled)) => Ok(switch(*enabled)),
        Err(why) => Err(why.clone()),
    }
}

fn aspm(function: &Function) -> Fact<String> {
    let link = function.link.as_ref().ok_or(Why::NotSupported)?;
    let (l0s, l1) = states(&link.aspm)?;
    let word = match (l0s, l1) {
        (false, false) => "off",
        (true, false) => "l0s",
        (false, true) => "l1",
        (true, true) => "l0s+l1",
    };
    Ok(word.to_owned())
}

/// (L0s, L1) from config space, else from the files in `link/`.
fn states(aspm: &Aspm) -> Fact<(bool, bool)> {
    if let Ok(enabled) = aspm.enabled {
        return Ok(enabled);
    }
    if aspm.files.is_empty() {
        return aspm.enabled.clone();
    }
    let is_on = |name: &str| aspm.files.iter().any(|(file, on)| *on && file == name);
    Ok((is_on("l0s_aspm"), is_on("l1_aspm")))
}

/// Whether a port above sends requests between its devices up to the root.
fn acs_redirect(context: &Context<'_>, function: &Function) -> Fact<String> {
    let ports = context.devices.above(function.address);
    let ports =
        ports.filter(|port| matches!(port.port, Some(PortKind::Root | PortKind::Downstream)));
    let mut value = Err(Why::Absent);
    for port in ports {
        match &port.config.acs_redirect {
            Ok(Some((true, _) | (_, true))) => return Ok("on".to_owned()),
            Ok(Some(_)) => value = Ok("off".to_owned()),
            Ok(None) if value.is_err() => value = Ok("not supported".to_owned()),
            Ok(None) => {}
            Err(why) if value.is_err() => value = Err(why.clone()),
            Err(_) => {}
        }
    }
    value
}

fn sriov(function: &Function) -> Fact<String> {
    let (now, most) = function.sriov.ok_or(Why::NotSupported)?;
    Ok(format!("{now} of {most}"))
}
