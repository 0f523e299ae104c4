// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts about the kernel's own choices: IOMMU, ASPM control, services, command line.

use machine::Why;
use setting::{Evidence, Part, Span};

use super::Answer;
use crate::context::Context;
use crate::lines;
use crate::rules::{command_line, irqbalance};

/// Answers a fact about the kernel.
pub(super) fn answer(context: &Context<'_>, fact: &str) -> Option<Vec<Answer>> {
    let answer = match fact {
        "iommu" => iommu(context),
        "firmware-aspm" => firmware_aspm(context),
        "irqbalance" => balance(context),
        "command-line-overrides" => overrides(context),
        _ => return None,
    };
    Some(vec![answer])
}

/// Off without groups. With groups, the command line tells the kind; without an option it is what
/// the kernel was built with, and translated is the usual default of x86.
fn iommu(context: &Context<'_>) -> Answer {
    let machine = context.machine;
    let options = &machine.host.command_line;
    let Some(first) = machine.functions.first() else {
        let none = Evidence::new("/sys/bus/pci/devices", Part::Names);
        return Answer::machine(Err(Why::Absent), vec![none], "no PCI function was read");
    };
    let grouped = machine.functions.iter().find(|function| function.iommu_group.is_some());
    let address = grouped.unwrap_or(first).address;
    let group = Evidence::new(format!("/sys/bus/pci/devices/{address}/iommu_group"), Part::Target);
    let evidence = vec![group, Evidence::line("/proc/cmdline", "iommu")];
    if grouped.is_none() {
        return Answer::machine(Ok("off".to_owned()), evidence, "no function has an IOMMU group");
    }
    let parts = |key| options.last(key).flatten().unwrap_or_default().split(',');
    let pt = parts("iommu").any(|part| part == "pt")
        || parts("iommu.passthrough").any(|part| part == "1");
    if pt {
        let reason = "asked for on the command line";
        return Answer::machine(Ok("passthrough".to_owned()), evidence, reason);
    }
    let reason = "functions have IOMMU groups and the command line asks for no passthrough; a kernel \
                  built with passthrough as its default would look the same";
    Answer::machine(Ok("translated".to_owned()), evidence, reason)
}

fn firmware_aspm(context: &Context<'_>) -> Answer {
    let value = context.machine.acpi.fadt_no_aspm.clone();
    let word = |withheld| if withheld { "withheld by FADT" } else { "left to the kernel" };
    let value = value.map(|withheld| word(withheld).to_owned());
    // IAPC_BOOT_ARCH (ACPI 6.5, table 5.9).
    let part = Part::Bytes(Span::new(109, 2));
    let evidence = Evidence::new("/sys/firmware/acpi/tables/FACP", part);
    Answer::machine(value, vec![evidence], "IAPC_BOOT_ARCH bit 4")
}

fn balance(context: &Context<'_>) -> Answer {
    let services = &context.machine.host.services;
    let service = services.iter().find(|service| service.name == "irqbalance");
    let value = match service.map(|service| &service.running) {
        None => Ok("absent".to_owned()),
        Some(Ok(true)) if irqbalance::spares_all(context) => Ok("spared".to_owned()),
        Some(Ok(true)) => Ok("running".to_owned()),
        Some(Ok(false)) => Ok("stopped".to_owned()),
        Some(Err(why)) => Err(why.clone()),
    };
    let seen = lines::service(context.machine, "irqbalance");
    let evidence = seen.unwrap_or_else(|| Evidence::new("/proc", Part::Names));
    Answer::machine(value, vec![evidence], "a process of that name, or none")
}

fn overrides(context: &Context<'_>) -> Answer {
    let line = &context.machine.host.command_line;
    let found = command_line::overrides(context);
    let value = match found.as_slice() {
        _ if line.text.is_empty() && line.options.is_empty() => Err(Why::Absent),
        [] => Ok("none".to_owned()),
        found => Ok(found.iter().map(|option| option.text.as_str()).collect::<Vec<_>>().join(" ")),
    };
    let first = found.first().map_or("", |option| option.text.as_str());
    Answer::machine(value, vec![lines::command_line(first)], line.text.clone())
}
