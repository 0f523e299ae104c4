// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts about CPUs: numbering, splitting, threads, features.

use machine::{Fact, Machine, Why};
use setting::Evidence;

use super::{Answer, known, switch};
use crate::context::Context;
use crate::{layout, lines, words};

/// Where packages, dies and threads are told.
const CPUS: &str = "/sys/devices/system/cpu";

/// Answers a fact about CPUs.
pub(super) fn answer(context: &Context<'_>, fact: &str) -> Option<Vec<Answer>> {
    let machine = context.machine;
    let answer = match fact {
        "numbering" => numbering(machine),
        "siblings" => {
            let word = machine.siblings().to_string();
            Answer::machine(threads(machine, word.clone()), siblings(machine), word)
        }
        "sub-numa" => sub_numa(machine),
        "node-interleaving" => interleaving(machine),
        "smt" => smt(context),
        "active-cores" => active_cores(machine),
        "monitor-mwait" => flag(machine, "monitor", "monitor"),
        "virtualization" => virtualization(machine),
        "x2apic" => x2apic(context),
        _ => return None,
    };
    Some(vec![answer])
}

/// The value, unless no CPU could be read.
fn threads(machine: &Machine, value: String) -> Fact<String> {
    if machine.cpus.threads.is_empty() { Err(Why::Absent) } else { Ok(value) }
}

fn numbering(machine: &Machine) -> Answer {
    let numbering = machine.numbering();
    let value = threads(machine, numbering.kind.to_string());
    Answer::machine(value, or_online(lines::numbering(machine)), numbering.why)
}

/// The threads of the first core.
fn siblings(machine: &Machine) -> Vec<Evidence> {
    let first = machine.cpus.threads.iter().find(|thread| thread.online);
    let threads = first.map(|thread| {
        let folder = format!("{CPUS}/cpu{}/topology", thread.cpu);
        Evidence::file(format!("{folder}/core_cpus_list"))
            .or(format!("{folder}/thread_siblings_list"))
    });
    or_online(threads.into_iter().collect())
}

/// The lines; where there are none, those CPUs that there are.
fn or_online(lines: Vec<Evidence>) -> Vec<Evidence> {
    if lines.is_empty() { vec![Evidence::file(format!("{CPUS}/online"))] } else { lines }
}

/// What tells how packages are split: the CPUs of each node, and the first CPU of each package.
fn split(machine: &Machine) -> Vec<Evidence> {
    let nodes = machine.nodes.iter().map(|node| node.id).take(8);
    or_online(nodes.map(lines::node_cpus).chain(lines::packages(machine)).collect())
}

fn sub_numa(machine: &Machine) -> Answer {
    let (word, reason) = layout::sub_numa(machine);
    Answer::machine(known(word), split(machine), reason)
}

fn interleaving(machine: &Machine) -> Answer {
    let (word, reason) = layout::interleaving(machine);
    Answer::machine(known(word), split(machine), reason)
}

fn smt(context: &Context<'_>) -> Answer {
    let smt = &context.machine.cpus.smt;
    let mut evidence = vec![Evidence::file(format!("{CPUS}/smt/control"))];
    evidence.extend(siblings(context.machine));
    let value = match (smt.threads_per_core, smt.state.as_str()) {
        (0, _) => Err(Why::Absent),
        (2.., _) => Ok("on"),
        (_, "off" | "forceoff") => Ok("off (os)"),
        // The kernel says the same of a part without SMT and of one where firmware hides it: only
        // of a server part that always has it, on bare metal, is the second certain enough.
        (_, "notsupported") if has_hidden_threads(context) => Ok("off (firmware)"),
        (_, "notsupported") => Ok("not supported"),
        // Without the control, threads that the kernel had switched off would be offline.
        (1, "") if has_hidden_threads(context) && context.machine.cpus.offline.is_empty() => {
            Ok("off (firmware)")
        }
        _ => Err(Why::NotSupported),
    };
    let control = match smt.state.as_str() {
        "" => String::new(),
        state => format!(", smt/control says {state}"),
    };
    let threads = words::count(count(smt.threads_per_core), "thread");
    let reason = format!("{threads} a core{control}");
    Answer::machine(value.map(str::to_owned), evidence, reason)
}

fn count(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn has_hidden_threads(context: &Context<'_>) -> bool {
    let model = context.machine.host.cpu_model.as_deref().unwrap_or_default();
    // Xeon 6 with efficiency cores (6700E) has one thread a core by nature.
    let efficient = model.trim_end().ends_with('E');
    context.is("bare-metal") && context.is("sub-numa-capable") && !efficient
}

fn active_cores(machine: &Machine) -> Answer {
    let cpus = &machine.cpus;
    let (online, offline) = (cpus.online.len(), cpus.offline.len());
    // Second threads that SMT control took offline are no cores.
    let siblings = matches!(cpus.smt.state.as_str(), "off" | "forceoff") && offline <= online;
    let value = match (online, offline) {
        (0, _) => Err(Why::Absent),
        (_, 0) => Ok("all".to_owned()),
        _ if siblings => Ok("all".to_owned()),
        _ => Ok(format!("{online} of {} CPUs (os)", online + offline)),
    };
    // Cores that firmware hides leave no sign; `offline` names those too that were never there.
    let reason = format!(
        "{} of {} are online; cores that the firmware hides would leave no sign",
        online,
        words::count(online.saturating_add(offline), "CPU")
    );
    Answer::machine(value, vec![Evidence::file(format!("{CPUS}/online"))], reason)
}

/// A CPU feature flag, unknown where no flags could be read.
fn flag(machine: &Machine, name: &str, words: &str) -> Answer {
    let flags = &machine.host.cpu_flags;
    let has = flags.iter().any(|flag| flag == name);
    let value = if flags.is_empty() { Err(Why::Absent) } else { Ok(switch(has)) };
    let there = if has { "is there" } else { "is missing" };
    Answer::machine(value, vec![flags_line(name)], format!("CPU flag {words} {there}"))
}

/// The flags of the first CPU, from the flag on where it is there.
fn flags_line(name: &str) -> Evidence {
    Evidence::line("/proc/cpuinfo", format!(" {name} "))
}

fn virtualization(machine: &Machine) -> Answer {
    match machine.host.cpu_vendor.as_deref() {
        Ok("GenuineIntel") => flag(machine, "vmx", "vmx"),
        Ok("AuthenticAMD" | "HygonGenuine") => flag(machine, "svm", "svm"),
        _ => {
            let evidence = vec![Evidence::file("/proc/cpuinfo")];
            Answer::machine(Err(Why::NotSupported), evidence, "only x86 tells by a flag")
        }
    }
}

/// Whether the interrupt controllers run in x2APIC mode. The flag alone says what the CPU can do.
fn x2apic(context: &Context<'_>) -> Answer {
    let machine = context.machine;
    let flags = &machine.host.cpu_flags;
    let options = &machine.host.command_line;
    let word = if flags.is_empty() {
        None
    } else if options.last("nox2apic").is_some() || !flags.iter().any(|flag| flag == "x2apic") {
        Some("off")
    } else if context.is("over-254-apic") {
        // Such ids do not fit the older mode's 8 bits (Intel SDM volume 3, 11.12).
        Some("on")
    } else {
        None
    };
    let reason = "by the CPU flag x2apic, nox2apic on the command line and APIC ids above 254";
    let evidence = vec![flags_line("x2apic"), Evidence::file("/proc/cmdline")];
    Answer::machine(known(word), evidence, reason)
}
