// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts about idle states and frequency.

use machine::{IdleState, Machine, Why};
use setting::{Evidence, Part};

use super::Answer;
use crate::context::Context;
use crate::lines;

const CPUS: &str = "/sys/devices/system/cpu";

/// Answers a fact about power.
pub(super) fn answer(context: &Context<'_>, fact: &str) -> Option<Vec<Answer>> {
    let machine = context.machine;
    let power = &machine.power;
    let answer = match fact {
        "deepest-idle-us" => deepest(machine),
        "idle-driver" => {
            let evidence = Evidence::file(format!("{CPUS}/cpuidle/current_driver"));
            Answer::machine(power.idle_driver.clone(), vec![evidence], text(&power.idle_driver))
        }
        "c1e" => c1e(machine),
        "p-state-control" => p_state_control(context),
        "turbo" => turbo(context),
        "uncore" => uncore(machine),
        _ => return None,
    };
    Some(vec![answer])
}

fn text(value: &machine::Fact<String>) -> String {
    value.as_ref().map_or_else(crate::words::unknown, Clone::clone)
}

/// Idle states that some CPU may enter. POLL burns the CPU: it is no saving.
fn enabled(machine: &Machine) -> impl Iterator<Item = &IdleState> {
    let is_enabled = |state: &&IdleState| !state.cpus.is_subset(&state.disabled_on);
    machine.power.idle_states.iter().filter(is_enabled).filter(|state| state.name != "POLL")
}

fn deepest(machine: &Machine) -> Answer {
    if machine.host.command_line.last("idle") == Some(Some("poll")) {
        let reason = "idle=poll: CPUs spin instead of entering an idle state";
        return Answer::machine(Ok("0".to_owned()), vec![lines::command_line("idle=poll")], reason);
    }
    let Some(state) = enabled(machine).max_by_key(|state| state.latency_us) else {
        let none = if machine.power.idle_states.is_empty() {
            Err(Why::Absent)
        } else {
            Ok("0".to_owned())
        };
        return Answer::machine(none, idle(machine), "no idle state is enabled");
    };
    let cpus = state.cpus.minus(&state.disabled_on);
    let reason =
        format!("{} takes {} us to leave, enabled on CPUs {cpus}", state.name, state.latency_us);
    Answer::machine(Ok(state.latency_us.to_string()), idle(machine), reason)
}

fn c1e(machine: &Machine) -> Answer {
    let states = &machine.power.idle_states;
    let is_c1e = |state: &&IdleState| state.name.starts_with("C1E");
    // acpi_idle does not tell C1 from C1E: the processor promotes by itself.
    let value = if enabled(machine).any(|state| is_c1e(&state)) {
        Ok("on".to_owned())
    } else if states.is_empty() {
        Err(Why::Absent)
    } else if machine.power.idle_driver.as_deref() == Ok("intel_idle") {
        Ok("off".to_owned())
    } else {
        Err(Why::NotSupported)
    };
    let names: Vec<&str> = states.iter().map(|state| state.name.as_str()).collect();
    Answer::machine(value, idle(machine), format!("idle states {}", names.join(", ")))
}

fn p_state_control(context: &Context<'_>) -> Answer {
    let power = &context.machine.power;
    let (value, reason) = match power.policies.first() {
        Some(policy) => (Ok("os"), format!("cpufreq driver {}", policy.driver)),
        None if context.is_guest() => (Ok("guest"), "a guest has no cpufreq driver".to_owned()),
        None if context.machine.cpus.threads.is_empty() => {
            (Err(Why::Absent), "no CPU was read".to_owned())
        }
        None => (Ok("firmware"), "the kernel has no cpufreq driver".to_owned()),
    };
    Answer::machine(value.map(str::to_owned), vec![driver(power)], reason)
}

/// The driver of the first policy; where there is none, the folder that lacks it.
fn driver(power: &machine::Power) -> Evidence {
    let first = power.policies.first().and_then(|policy| policy.cpus.first());
    match first {
        Some(cpu) => Evidence::file(format!("{CPUS}/cpufreq/policy{cpu}/scaling_driver"))
            .or(format!("{CPUS}/cpu{cpu}/cpufreq/scaling_driver")),
        None => Evidence::new(format!("{CPUS}/cpufreq"), Part::Names),
    }
}

/// The idle states of the first CPU that has the deepest one: name and time to leave of each.
fn idle(machine: &Machine) -> Vec<Evidence> {
    let states = &machine.power.idle_states;
    let deepest = states.iter().max_by_key(|state| state.latency_us);
    let Some(cpu) = deepest.and_then(|state| state.cpus.first()) else {
        return vec![Evidence::file(format!("{CPUS}/cpuidle/current_driver"))];
    };
    let count = states.iter().filter(|state| state.cpus.contains(cpu)).count();
    let file =
        |number, name| Evidence::file(format!("{CPUS}/cpu{cpu}/cpuidle/state{number}/{name}"));
    (0..count).flat_map(|number| ["name", "latency"].map(|name| file(number, name))).collect()
}

/// The kernel's switch says off in both cases: where a person or a tool turned it, and where the
/// firmware did or the part has no turbo. Then CPUID leaf 6 tells of none (Intel SDM volume 3,
/// IA32_MISC_ENABLE bit 38; kernel flag `ida`; AMD's is `cpb`).
fn turbo(context: &Context<'_>) -> Answer {
    let machine = context.machine;
    let flags = &machine.host.cpu_flags;
    let offered = flags.iter().any(|flag| flag == "ida" || flag == "cpb");
    let value = machine.power.turbo.clone().map(|on| match (on, offered || flags.is_empty()) {
        (true, _) => "on",
        (false, true) => "off (os)",
        (false, false) => "off (firmware)",
    });
    let evidence =
        Evidence::file(format!("{CPUS}/intel_pstate/no_turbo")).or(format!("{CPUS}/cpufreq/boost"));
    Answer::machine(value.map(str::to_owned), vec![evidence], "")
}

fn uncore(machine: &Machine) -> Answer {
    let folder = format!("{CPUS}/intel_uncore_frequency");
    let first = machine.power.uncore.first();
    let evidence = match first.map(|domain| format!("{folder}/{}", domain.name)) {
        Some(domain) => {
            ["min", "max"].map(|end| Evidence::file(format!("{domain}/{end}_freq_khz"))).to_vec()
        }
        None => vec![Evidence::new(folder, Part::Names)],
    };
    let mut ranges = Vec::new();
    for domain in &machine.power.uncore {
        match (&domain.min_khz, &domain.max_khz) {
            (Ok(min), Ok(max)) => ranges.push((*min, *max)),
            (Err(why), _) | (_, Err(why)) => {
                let reason = format!("{} is unknown", domain.name);
                return Answer::machine(Err(why.clone()), evidence, reason);
            }
        }
    }
    let Some((min, max)) = ranges.first().copied() else {
        return Answer::machine(Err(Why::Absent), evidence, "no uncore domain");
    };
    let fixed = ranges.iter().all(|range| *range == (min, min));
    let value = if fixed { format!("fixed {min} kHz") } else { "dynamic".to_owned() };
    Answer::machine(
        Ok(value),
        evidence,
        format!("{} domains, the first {min} to {max} kHz", ranges.len()),
    )
}
