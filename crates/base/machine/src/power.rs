// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frequency, idle states and uncore.

use units::CpuSet;

use crate::Fact;

/// Power settings of the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Power {
    /// `cpuidle/current_driver`: `intel_idle`, `acpi_idle`, `none`.
    pub idle_driver: Fact<String>,
    /// `cpuidle/current_governor`.
    pub idle_governor: Fact<String>,
    /// Idle states, by latency; states of the same name and latency on many CPUs are one entry.
    pub idle_states: Vec<IdleState>,
    /// Frequency policies; policies that agree are one entry.
    pub policies: Vec<FrequencyPolicy>,
    /// Uncore domains.
    pub uncore: Vec<Uncore>,
    /// `intel_pstate/no_turbo` inverted, or `cpufreq/boost`: whether turbo is on.
    pub turbo: Fact<bool>,
    /// `intel_pstate/status` or `amd_pstate/status`.
    pub pstate_status: Fact<String>,
}

/// An idle state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleState {
    /// `C6`, `C1E`, `POLL`.
    pub name: String,
    /// Exit latency, us. This, not the index, says how deep it is.
    pub latency_us: u32,
    /// Target residency, us.
    pub residency_us: Fact<u32>,
    /// CPUs that have it.
    pub cpus: CpuSet,
    /// CPUs on which it is disabled now.
    pub disabled_on: CpuSet,
    /// `default_status` is `disabled`: the firmware's tables do not list it.
    pub default_disabled: bool,
}

/// A cpufreq policy, or several that agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrequencyPolicy {
    /// CPUs it rules.
    pub cpus: CpuSet,
    /// `scaling_driver`.
    pub driver: String,
    /// `scaling_governor`.
    pub governor: String,
    /// `scaling_min_freq`, kHz.
    pub min_khz: Fact<u64>,
    /// `scaling_max_freq`, kHz.
    pub max_khz: Fact<u64>,
    /// `cpuinfo_min_freq`, kHz.
    pub hardware_min_khz: Fact<u64>,
    /// `cpuinfo_max_freq`, kHz.
    pub hardware_max_khz: Fact<u64>,
}

/// An uncore frequency domain (`intel_uncore_frequency`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uncore {
    /// `package_00_die_00` or `uncore01`.
    pub name: String,
    /// `agent_types` of TPMI domains: `core cache memory`, `io`.
    pub agents: Fact<String>,
    /// Lowest now, kHz.
    pub min_khz: Fact<u64>,
    /// Highest now, kHz.
    pub max_khz: Fact<u64>,
    /// Lowest at boot, kHz.
    pub initial_min_khz: Fact<u64>,
    /// Highest at boot, kHz.
    pub initial_max_khz: Fact<u64>,
}

impl Default for Power {
    fn default() -> Self {
        Self {
            idle_driver: Err(Default::default()),
            idle_governor: Err(Default::default()),
            idle_states: Vec::new(),
            policies: Vec::new(),
            uncore: Vec::new(),
            turbo: Err(Default::default()),
            pstate_status: Err(Default::default()),
        }
    }
}
