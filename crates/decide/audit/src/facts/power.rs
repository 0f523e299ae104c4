// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts about idle states and frequency.

use machine::{IdleState, Machine, Why};

use super::Answer;
use crate::context::Context;

const IDLE: &str = "/sys/devices/system/cpu/cpu*/cpuidle/state*";

/// Answers a fact about power.
pub(super) fn answer(context: &Context<'_>, fact: &str) -> Option<Vec<Answer>> {
    let machine = context.machine;
    let power = &machine.power;
    let answer = match fact {
        "deepest-idle-us" => deepest(machine),
        "idle-driver" => {
            let path = "/sys/devices/system/cpu/cpuidle/current_driver";
            Answer::machine(power.idle_driver.clone(), path, text(&power.idle_driver))
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
        return Answer::machine(Ok("0".to_owned()), "/proc/cmdline", reason);
    }
    let Some(state) = enabled(machine).max_by_key(|state| state.latency_us) else {
        let none = if machine.power.idle_states.is_empty() {
            Err(Why::Absent)
        } else {
            Ok("0".to_owned())
        };
        return Answer::machine(none, IDLE, "no idle state is enabled");
    };
    let cpus = state.cpus.minus(&state.disabled_on);
    let reason =
        format!("{} takes {} us to leave, enabled on CPUs {cpus}", state.name, state.latency_us);
    Answer::machine(Ok(state.latency_us.to_string()), IDLE, reason)
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
    Answer::machine(value, IDLE, format!("idle states {}", names.join(", ")))
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
    let path = "/sys/devices/system/cpu/cpufreq/policy*/scaling_driver";
    Answer::machine(value.map(str::to_owned), path, reason)
}

/// The kernel's switch says off in both cases: where a person or a tool turned it, and where the
/// firmware did or the part has no turbo. Then CPUID leaf 6 tells of none (Intel SDM volume 3,
/// IA32_MISC_ENABLE bit 38; kernel flag `ida`; AMD's is `cpb`).
fn turbo(context: &Context<'_>) -> Answer {
    let machine = context.machine;
    let flags = &machine.host.cpu_flags;
    let offered = flags.iter().any(|flag| flag == "ida" || flag == "cpb");
    let is_intel = machine.power.policies.iter().any(|policy| policy.driver.starts_with("intel_"));
    let path = match is_intel {
        true => "/sys/devices/system/cpu/intel_pstate/no_turbo",
        false => "/sys/devices/system/cpu/cpufreq/boost",
    };
    let value = machine.power.turbo.clone().map(|on| match (on, offered || flags.is_empty()) {
        (true, _) => "on",
        (false, true) => "off (os)",
        (false, false) => "off (firmware)",
    });
    // Intel's switch counts the other way round.
    let said = machine.power.turbo.clone().map(|on| u8::from(on != is_intel).to_string());
    let reason = text(&said);
    Answer::machine(value.map(str::to_owned), path, reason)
}

fn uncore(machine: &Machine) -> Answer {
    let path = "/sys/devices/system/cpu/intel_uncore_frequency/*/{min,max}_freq_khz";
    let mut ranges = Vec::new();
    for domain in &machine.power.uncore {
        match (&domain.min_khz, &domain.max_khz) {
            (Ok(min), Ok(max)) => ranges.push((*min, *max)),
            (Err(why), _) | (_, Err(why)) => {
                return Answer::machine(
                    Err(why.clone()),
                    path,
                    format!("{} is unknown", domain.name),
                );
            }
        }
    }
    let Some((min, max)) = ranges.first().copied() else {
        return Answer::machine(Err(Why::Absent), path, "no uncore domain");
    };
    let fixed = ranges.iter().all(|range| *range == (min, min));
    let value = if fixed { format!("fixed {min} kHz") } else { "dynamic".to_owned() };
    Answer::machine(
        Ok(value),
        path,
        format!("{} domains, the first {min} to {max} kHz", ranges.len()),
    )
}
