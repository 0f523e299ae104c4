// SPDX-License-Identifier: MIT OR Apache-2.0
//! What moves what: values that a write is known to change beside its own.
//!
//! Measured on Linux 6.1: a scheduler resets `nr_requests`, channels reset affinity and XPS, the
//! `dirty_*` pairs zero each other, features take others along. From the kernel's sources: the
//! performance governor of intel_pstate takes the energy preference along
//! (drivers/cpufreq/intel_pstate.c), drivers open a device again for rings, MTU and some features,
//! which may reset what channels reset, and a link without L1 has none of its substates
//! (`pcie_config_aspm_link`, drivers/pci/pcie/aspm.c). Measured on Linux 6.12: after a write of
//! `nr_requests` mq-deadline takes `async_depth` from the number before it (blk_mq_update_nr_requests
//! calls the scheduler first and stores the number after).

use std::collections::BTreeMap;

use crate::{Device, Ethtool, Form, Place, Planned};

/// Files that a file moves: by the end of its path, the ones beside it and how they compare.
const BESIDE: [(&str, &str, Form); 18] = [
    ("/queue/scheduler", "nr_requests", Form::Number),
    ("/queue/nr_requests", "iosched/async_depth", Form::Number),
    ("/queue/scheduler", "wbt_lat_usec", Form::Number),
    ("/vm/dirty_bytes", "dirty_ratio", Form::Number),
    ("/vm/dirty_ratio", "dirty_bytes", Form::Number),
    ("/vm/dirty_background_bytes", "dirty_background_ratio", Form::Number),
    ("/vm/dirty_background_ratio", "dirty_background_bytes", Form::Number),
    ("/scaling_governor", "energy_performance_preference", Form::Text),
    ("/scaling_governor", "scaling_min_freq", Form::Number),
    ("/scaling_governor", "scaling_max_freq", Form::Number),
    ("/intel_pstate/no_turbo", "max_perf_pct", Form::Number),
    ("/intel_pstate/no_turbo", "min_perf_pct", Form::Number),
    ("/cpufreq/boost", "policy*/scaling_max_freq", Form::Number),
    ("/cpufreq/boost", "policy*/scaling_min_freq", Form::Number),
    (THREADS, "../../cpufreq/policy*/scaling_governor", Form::Text),
    (THREADS, "../../cpufreq/policy*/energy_performance_preference", Form::Text),
    ("/link/l1_aspm", "l1_1_pcipm", Form::Switch),
    ("/link/l1_aspm", "l1_2_pcipm", Form::Switch),
];

/// Threads that come back have lost what was set of them, and devices what was set for them.
const THREADS: &str = "/smt/control";

/// The files that a write to `path` moves, each with how it compares. `{device}` and `*` stand in
/// them as in [`Place::File`].
pub fn moved_files(path: &str) -> Vec<(String, Form)> {
    let Some((folder, _)) = path.rsplit_once('/') else { return Vec::new() };
    let file = |(_, name, form): &(&str, &str, Form)| match name.strip_prefix("../../") {
        // `/sys/devices/system/cpu/smt/control` and what lies beside `smt`.
        Some(name) => {
            (format!("{}/{name}", folder.rsplit_once('/').map_or("", |(up, _)| up)), *form)
        }
        None => (format!("{folder}/{name}"), *form),
    };
    let fits = |(end, ..): &&(&str, &str, Form)| path.ends_with(end);
    BESIDE.iter().filter(fits).map(file).collect()
}

/// What a write to `place` moves of what ethtool sets of the same device.
pub fn moved_by_ethtool(place: &Place) -> &'static [Ethtool] {
    match place {
        Place::Ethtool { what: Ethtool::Channels } => {
            &[Ethtool::ReceiveSpread, Ethtool::Coalescing]
        }
        _ => &[],
    }
}

/// Whether a place makes its device anew, so that what belongs to queues may be lost.
pub fn opens_again(place: &Place) -> bool {
    match place {
        Place::Ethtool { what } => {
            matches!(what, Ethtool::Channels | Ethtool::Rings | Ethtool::Features)
        }
        Place::File { path } => path.ends_with("/mtu"),
        _ => false,
    }
}

/// Whether a place changes which CPUs there are, so that the queues of every device may be placed
/// anew.
pub fn reshapes(place: &Place) -> bool {
    matches!(place, Place::File { path } if path.ends_with(THREADS))
}

/// Whether a place belongs to the queues of its device.
pub fn is_of_queue(place: &Place) -> bool {
    match place {
        Place::Interrupt { .. } => true,
        Place::File { path } => path.contains("/queues/"),
        Place::Ethtool { what } => *what == Ethtool::ReceiveSpread,
        _ => false,
    }
}

/// Whether two paths are names of one file: a CPU's folder of frequencies is its policy's
/// (Documentation/admin-guide/pm/cpufreq.rst).
pub fn is_one_file(a: &str, b: &str) -> bool {
    a == b || policy(a).is_some_and(|name| policy(b) == Some(name))
}

/// The name of a file of a frequency policy, whichever policy it is.
fn policy(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("/sys/devices/system/cpu/")?;
    match rest.strip_prefix("cpufreq/policy") {
        Some(rest) => rest.split_once('/').map(|(_, name)| name),
        None => rest.strip_prefix("cpu")?.split_once("/cpufreq/").map(|(_, name)| name),
    }
}

/// The changes of a plan that move others.
#[derive(Debug, Default)]
pub struct Movers<'a> {
    /// By the device they are written on, the machine being "".
    devices: BTreeMap<String, Vec<&'a Planned>>,
}

impl<'a> Movers<'a> {
    /// Those among `changes`.
    pub fn of(changes: impl IntoIterator<Item = &'a Planned>) -> Self {
        let mut devices: BTreeMap<String, Vec<&Planned>> = BTreeMap::new();
        for planned in changes.into_iter().filter(|planned| moves_others(&planned.place)) {
            devices.entry(identity(planned.device.as_ref())).or_default().push(planned);
        }
        Self { devices }
    }

    /// Those that move a place of `planned`'s device, itself left out.
    pub fn that_move<'b>(&'b self, planned: &'b Planned) -> impl Iterator<Item = &'a Planned> + 'b {
        let own = identity(planned.device.as_ref());
        let of = |identity: &str| self.devices.get(identity).into_iter().flatten();
        let machines = of("").filter(move |_| planned.device.is_some());
        of(&own).chain(machines).copied().filter(|mover| moves(&mover.place, &planned.place))
    }

    /// How many changes must be made before `planned`, by what moves it, counted from `own`, the
    /// number of those that come before it for other reasons. Limits that zero each other count no
    /// further.
    pub fn depth(&self, planned: &Planned, own: &dyn Fn(&Planned) -> usize) -> usize {
        self.depth_of(planned, own, 0)
    }

    fn depth_of(&self, planned: &Planned, own: &dyn Fn(&Planned) -> usize, steps: usize) -> usize {
        if steps == LONGEST_CHAIN {
            return own(planned);
        }
        let before = self.that_move(planned).filter(|mover| !moves(&planned.place, &mover.place));
        let depths = before.map(|mover| self.depth_of(mover, own, steps + 1).saturating_add(1));
        own(planned).max(depths.max().unwrap_or(0))
    }
}

/// Threads, governor, preference: no chain of the table is longer.
const LONGEST_CHAIN: usize = 4;

/// What two places of one device have in common. Whatever hangs from a function, its queues are the
/// function's.
fn identity(device: Option<&Device>) -> String {
    let Some(device) = device else { return String::new() };
    match (device.kind, device.function) {
        (crate::DeviceKind::Nic, Some(function)) => function.to_string(),
        _ => device.name.clone(),
    }
}

/// Whether a write to `place` may change a value elsewhere.
pub fn moves_others(place: &Place) -> bool {
    let by_file = |path: &str| BESIDE.iter().any(|(end, ..)| path.ends_with(end));
    opens_again(place)
        || !moved_by_ethtool(place).is_empty()
        || matches!(place, Place::File { path } if by_file(path))
}

/// Whether a write to `mover` moves `place`, both of one device or the first of the machine.
fn moves(mover: &Place, place: &Place) -> bool {
    if mover == place {
        return false;
    }
    let by_file = |path: &str, file: &str| {
        moved_files(path).iter().any(|(moved, _)| is_one_file(moved, file))
    };
    let is_queue_lost = is_of_queue(place) && (opens_again(mover) || reshapes(mover));
    is_queue_lost
        || match (mover, place) {
            (Place::File { path }, Place::File { path: file }) => by_file(path, file),
            (_, Place::Ethtool { what }) => moved_by_ethtool(mover).contains(what),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use machine::Why;

    use super::*;
    use crate::DeviceKind;

    fn planned(device: Option<(&str, DeviceKind)>, place: Place) -> Planned {
        let device = device.map(|(name, kind)| Device {
            name: name.to_owned(),
            kind,
            function: None,
            serial: None,
            port: None,
        });
        Planned {
            setting: String::new(),
            device,
            place,
            form: Form::Text,
            from: Err(Why::Absent),
            to: String::new(),
            because: String::new(),
            cost: String::new(),
            drops_link: None,
        }
    }

    fn file(path: &str) -> Place {
        Place::File { path: path.to_owned() }
    }

    #[test]
    fn a_write_moves_what_the_table_says_and_nothing_else() {
        let drive = Some(("nvme0n1", DeviceKind::Drive));
        let other = Some(("nvme1n1", DeviceKind::Drive));
        let (nic, cpu) = (Some(("eth0", DeviceKind::Nic)), Some(("cpu 3", DeviceKind::Cpu)));
        let ethtool = |what| Place::Ethtool { what };
        let queue = "/sys/class/net/{device}/queues/tx-0/xps_cpus";
        let cpufreq = "/sys/devices/system/cpu/cpu{device}/cpufreq/";
        let of_cpu = |name: &str| file(&format!("{cpufreq}{name}"));
        let scheduler = || file("/sys/block/{device}/queue/scheduler");
        let requests = || file("/sys/block/{device}/queue/nr_requests");
        let threads = || file("/sys/devices/system/cpu/smt/control");
        let irq = || Place::Interrupt { queue: Some(0), ordinal: 0 };
        for (mover, moved, expected) in [
            (planned(drive, scheduler()), planned(drive, requests()), true),
            (planned(drive, scheduler()), planned(other, requests()), false),
            (planned(drive, requests()), planned(drive, scheduler()), false),
            (planned(cpu, of_cpu("scaling_governor")), planned(cpu, of_cpu("x")), false),
            (planned(None, threads()), planned(cpu, of_cpu("scaling_governor")), true),
            (planned(None, threads()), planned(nic, irq()), true),
            (planned(nic, ethtool(Ethtool::Rings)), planned(nic, irq()), true),
            (planned(nic, ethtool(Ethtool::Pause)), planned(nic, irq()), false),
            (planned(nic, file("/sys/class/net/{device}/mtu")), planned(nic, file(queue)), true),
            (
                planned(nic, ethtool(Ethtool::Channels)),
                planned(nic, ethtool(Ethtool::Coalescing)),
                true,
            ),
            (
                planned(nic, ethtool(Ethtool::Rings)),
                planned(nic, ethtool(Ethtool::Coalescing)),
                false,
            ),
        ] {
            let movers = Movers::of([&mover]);
            let found = movers.that_move(&moved).count() == 1;
            assert_eq!(found, expected, "{:?} and {:?}", mover.place, moved.place);
        }
    }

    #[test]
    fn a_policy_has_two_names() {
        let (own, policy) = (
            "/sys/devices/system/cpu/cpu{device}/cpufreq/scaling_governor",
            "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
        );
        assert!(is_one_file(own, policy));
        assert!(!is_one_file("/sys/devices/system/cpu/cpufreq/boost", policy));
        let preference = "/sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference";
        assert!(!is_one_file(own, preference));
    }
}
