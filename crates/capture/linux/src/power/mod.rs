// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frequency, idle states and uncore.
//!
//! What is the kernel's alone (the frequency driver) is asked once; what each CPU may have of its
//! own, of each. A CPU's idle states are recognised by their number and the latency of the last,
//! so that only `disable` is read of all of them: 1,024 CPUs with four states answer in about
//! 6,000 reads instead of 20,000.

pub(crate) mod frequency;
mod idle;

use machine::{Fact, Power, Uncore, Why};
use root::{Dir, Root};
use units::CpuSet;

use crate::{Troubles, cpu::numbered};

const FOLDER: &str = "/sys/devices/system/cpu";

pub(crate) fn read(root: &dyn Root, troubles: &mut Troubles) -> Power {
    let dir = Dir::new(root, FOLDER);
    let names = dir.list().unwrap_or_default();
    let folders = numbered(&names, "cpu");
    let online = dir.parse::<CpuSet>("online").map_or(folders.clone(), |set| set.and(&folders));
    let idle = dir.sub("cpuidle");
    let governor = idle.text("current_governor").or_else(|_| idle.text("current_governor_ro"));
    Power {
        idle_driver: idle.text("current_driver"),
        idle_governor: governor,
        idle_states: idle::states(&dir, &online),
        policies: frequency::policies(&dir, &online, troubles),
        uncore: uncore(&dir.sub("intel_uncore_frequency")),
        turbo: turbo(&dir),
        pstate_status: dir.text("intel_pstate/status").or_else(|_| dir.text("amd_pstate/status")),
    }
}

/// Intel's own switch counts the other way round.
fn turbo(dir: &Dir<'_>) -> Fact<bool> {
    let off = dir.text("intel_pstate/no_turbo").and_then(|text| switch(&text)).map(|off| !off);
    off.or_else(|why| match dir.text("cpufreq/boost") {
        Ok(text) => switch(&text),
        Err(_) => Err(why),
    })
}

pub(crate) fn switch(text: &str) -> Fact<bool> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        other => Err(Why::unparsed(other)),
    }
}

/// Domains of intel_uncore_frequency. Where there are TPMI domains (`uncore00`), the older
/// `package_00_die_00` only sums them up and is left out.
fn uncore(dir: &Dir<'_>) -> Vec<Uncore> {
    let mut names = dir.list().unwrap_or_default();
    if names.iter().any(|name| name.starts_with("uncore")) {
        names.retain(|name| name.starts_with("uncore"));
    }
    let domains = names.into_iter().map(|name| (dir.sub(&name), name));
    domains.filter(|(own, _)| own.list().is_ok()).map(|(own, name)| domain(&own, name)).collect()
}

fn domain(own: &Dir<'_>, name: String) -> Uncore {
    Uncore {
        name,
        agents: own.text("agent_types").map(|text| text.replace('\n', " ")),
        min_khz: own.parse("min_freq_khz"),
        max_khz: own.parse("max_freq_khz"),
        initial_min_khz: own.parse("initial_min_freq_khz"),
        initial_max_khz: own.parse("initial_max_freq_khz"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use root::MemoryRoot;

    fn power(root: &MemoryRoot) -> Power {
        read(root, &mut Troubles::default())
    }

    #[test]
    fn turbo_by_either_switch() {
        for (file, text, expected) in [
            ("intel_pstate/no_turbo", "1", Ok(false)),
            ("intel_pstate/no_turbo", "0", Ok(true)),
            ("cpufreq/boost", "1\n", Ok(true)),
            ("cpufreq/boost", "x", Err(Why::Unparsed("x".to_owned()))),
            ("other", "1", Err(Why::Absent)),
        ] {
            let mut root = MemoryRoot::new();
            root.file(&format!("{FOLDER}/{file}"), text);
            assert_eq!(power(&root).turbo, expected, "{file} {text}");
        }
    }

    #[test]
    fn tpmi_domains_come_before_their_sum() {
        let mut root = MemoryRoot::new();
        for (name, agents) in
            [("package_00_die_00", ""), ("uncore00", "core\ncache"), ("uncore01", "io")]
        {
            let folder = format!("{FOLDER}/intel_uncore_frequency/{name}");
            root.file(&format!("{folder}/min_freq_khz"), "800000\n")
                .file(&format!("{folder}/max_freq_khz"), "2500000\n");
            if !agents.is_empty() {
                root.file(&format!("{folder}/agent_types"), agents);
            }
        }
        let uncore = power(&root).uncore;
        let seen: Vec<_> = uncore.iter().map(|u| (u.name.as_str(), u.agents.as_deref())).collect();
        assert_eq!(seen, [("uncore00", Ok("core cache")), ("uncore01", Ok("io"))]);
        assert_eq!(
            (&uncore[0].min_khz, &uncore[0].initial_min_khz),
            (&Ok(800_000), &Err(Why::Absent))
        );
    }
}
