// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts about the kernel's own choices: IOMMU, ASPM control, services, command line.

use machine::Why;

use super::Answer;
use crate::context::Context;
use crate::rules::command_line;

/// Answers a fact about the kernel.
pub(super) fn answer(context: &Context<'_>, fact: &str) -> Option<Vec<Answer>> {
    let answer = match fact {
        "iommu" => iommu(context),
        "firmware-aspm" => firmware_aspm(context),
        "irqbalance" => irqbalance(context),
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
    let path = "/sys/kernel/iommu_groups and /proc/cmdline";
    if machine.functions.is_empty() {
        return Answer::machine(Err(Why::Absent), path, "no PCI function was read");
    }
    if machine.functions.iter().all(|function| function.iommu_group.is_none()) {
        return Answer::machine(Ok("off".to_owned()), path, "no function has an IOMMU group");
    }
    let parts = |key| options.last(key).flatten().unwrap_or_default().split(',');
    let pt = parts("iommu").any(|part| part == "pt")
        || parts("iommu.passthrough").any(|part| part == "1");
    if pt {
        return Answer::machine(
            Ok("passthrough".to_owned()),
            path,
            "asked for on the command line",
        );
    }
    let reason = "functions have IOMMU groups and the command line asks for no passthrough; a kernel \
                  built with passthrough as its default would look the same";
    Answer::machine(Ok("translated".to_owned()), path, reason)
}

fn firmware_aspm(context: &Context<'_>) -> Answer {
    let value = context.machine.acpi.fadt_no_aspm.clone();
    let word = |withheld| if withheld { "withheld by FADT" } else { "left to the kernel" };
    let value = value.map(|withheld| word(withheld).to_owned());
    Answer::machine(value, "/sys/firmware/acpi/tables/FACP", "IAPC_BOOT_ARCH bit 4")
}

fn irqbalance(context: &Context<'_>) -> Answer {
    let services = &context.machine.host.services;
    let service = services.iter().find(|service| service.name == "irqbalance");
    let value = match service.map(|service| &service.running) {
        None => Ok("absent".to_owned()),
        Some(Ok(true)) => Ok("running".to_owned()),
        Some(Ok(false)) => Ok("stopped".to_owned()),
        Some(Err(why)) => Err(why.clone()),
    };
    Answer::machine(value, "/proc/*/comm", "a process of that name, or none")
}

fn overrides(context: &Context<'_>) -> Answer {
    let line = &context.machine.host.command_line;
    let found = command_line::overrides(context);
    let value = match found.as_slice() {
        _ if line.text.is_empty() && line.options.is_empty() => Err(Why::Absent),
        [] => Ok("none".to_owned()),
        found => Ok(found.iter().map(|option| option.text.as_str()).collect::<Vec<_>>().join(" ")),
    };
    Answer::machine(value, "/proc/cmdline", line.text.clone())
}
