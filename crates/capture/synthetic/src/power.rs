// SPDX-License-Identifier: MIT OR Apache-2.0
//! cpufreq, cpuidle, uncore and energy bias.

use crate::topology::Topology;
use crate::{Description, IdleState, Tree};

const CPUS: &str = "/sys/devices/system/cpu";

pub(crate) fn write(tree: &mut Tree, description: &Description, topology: &Topology) {
    let power = &description.power;
    write_drivers(tree, description);
    let poll =
        IdleState { name: "POLL".to_owned(), latency_us: 0, residency_us: 0, disabled: false };
    let states: Vec<&IdleState> = match power.idle.is_empty() {
        true => Vec::new(),
        false => std::iter::once(&poll).chain(&power.idle).collect(),
    };
    let has_bias = description.cpu.vendor == "GenuineIntel" && !power.driver.is_empty();
    let usual_bias = has_bias.then_some(0);
    for cpu in topology.cpus.iter().filter(|cpu| cpu.online) {
        let folder = format!("{CPUS}/cpu{}", cpu.cpu);
        if !power.driver.is_empty() {
            write_policy(tree, description, cpu.cpu);
        }
        for (index, state) in states.iter().enumerate() {
            write_state(tree, &format!("{folder}/cpuidle/state{index}"), state);
        }
        tree.line(format!("{folder}/power/pm_qos_resume_latency_us"), &power.resume_latency);
        if let Some(bias) = power.epb.or(usual_bias) {
            tree.line(format!("{folder}/power/energy_perf_bias"), bias);
        }
    }
    write_uncore(tree, description);
}

fn write_drivers(tree: &mut Tree, description: &Description) {
    let power = &description.power;
    let idle = format!("{CPUS}/cpuidle");
    let driver = if power.idle.is_empty() { "none" } else { &power.idle_driver };
    tree.line(format!("{idle}/current_driver"), driver);
    tree.line(format!("{idle}/current_governor"), "menu");
    tree.line(format!("{idle}/current_governor_ro"), "menu");
    tree.line(format!("{idle}/available_governors"), "ladder menu teo ");
    match power.driver.as_str() {
        "" => {}
        "intel_pstate" => {
            let folder = format!("{CPUS}/intel_pstate");
            tree.line(format!("{folder}/status"), "active");
            tree.line(format!("{folder}/no_turbo"), u32::from(!power.turbo));
            tree.line(format!("{folder}/min_perf_pct"), 20);
            tree.line(format!("{folder}/max_perf_pct"), 100);
            tree.line(format!("{folder}/hwp_dynamic_boost"), 0);
        }
        driver => {
            if driver.starts_with("amd-pstate") {
                tree.line(format!("{CPUS}/amd_pstate/status"), "active");
            }
            tree.line(format!("{CPUS}/cpufreq/boost"), u32::from(power.turbo));
        }
    }
}

/// `cpufreq/policyN`: one for each CPU, as drivers with hardware states have it.
fn write_policy(tree: &mut Tree, description: &Description, cpu: u32) {
    let power = &description.power;
    let folder = format!("{CPUS}/cpufreq/policy{cpu}");
    let [lowest, highest] = power.mhz.map(|mhz| mhz * 1000);
    let floor = power.floor_mhz.map_or(lowest, |mhz| mhz * 1000);
    tree.lines(
        &folder,
        [
            ("affected_cpus", cpu.to_string()),
            ("related_cpus", cpu.to_string()),
            ("scaling_driver", power.driver.clone()),
            ("scaling_governor", power.governor.clone()),
            ("scaling_available_governors", "performance powersave".to_owned()),
            ("scaling_min_freq", floor.to_string()),
            ("scaling_max_freq", highest.to_string()),
            ("scaling_cur_freq", (power.base_mhz * 1000).to_string()),
            ("cpuinfo_min_freq", lowest.to_string()),
            ("cpuinfo_max_freq", highest.to_string()),
        ],
    );
    if power.driver == "intel_pstate" {
        tree.line(format!("{folder}/base_frequency"), power.base_mhz * 1000);
    }
    if !power.epp.is_empty() {
        let name = "energy_performance_available_preferences";
        let all = "default performance balance_performance balance_power power ";
        tree.line(format!("{folder}/{name}"), all);
        tree.line(format!("{folder}/energy_performance_preference"), &power.epp);
    }
    tree.link(format!("{CPUS}/cpu{cpu}/cpufreq"), &folder);
}

fn write_state(tree: &mut Tree, folder: &str, state: &IdleState) {
    let words = if state.name == "POLL" { "CPUIDLE CORE POLL IDLE" } else { "MWAIT 0x00" };
    tree.lines(
        folder,
        [
            ("name", state.name.clone()),
            ("desc", words.to_owned()),
            ("latency", state.latency_us.to_string()),
            ("residency", state.residency_us.to_string()),
            ("disable", u32::from(state.disabled).to_string()),
            ("default_status", "enabled".to_owned()),
            ("usage", "1024".to_owned()),
            ("time", "1048576".to_owned()),
        ],
    );
}

/// `intel_uncore_frequency/package_PP_die_DD`, kHz.
fn write_uncore(tree: &mut Tree, description: &Description) {
    let Some(uncore) = &description.power.uncore else { return };
    for package in 0..description.cpu.packages {
        for die in 0..description.cpu.dies_per_package {
            let folder = format!("{CPUS}/intel_uncore_frequency/package_{package:02}_die_{die:02}");
            let [initial_min, initial_max] = uncore.initial_mhz;
            tree.lines(
                &folder,
                [
                    ("min_freq_khz", (uncore.min_mhz * 1000).to_string()),
                    ("max_freq_khz", (uncore.max_mhz * 1000).to_string()),
                    ("initial_min_freq_khz", (initial_min * 1000).to_string()),
                    ("initial_max_freq_khz", (initial_max * 1000).to_string()),
                    ("current_freq_khz", (uncore.max_mhz * 1000).to_string()),
                ],
            );
        }
    }
}
