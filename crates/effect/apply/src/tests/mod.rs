// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plans carried out on simulated kernels, cut short, disturbed, and taken back.

mod confirm;
mod cuts;
mod drift;
mod faults;
mod identity;
mod kernels;
mod others;
mod places;
mod queues;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use journal::{Journal, MemoryMedium};
use machine::Why;
use root::MemoryRoot;
use setting::{Device, DeviceKind, Ethtool, Form, Outcome, Place, Plan, Planned, Undone};

use crate::simulated::{Clock, CuttingMedium, Simulated};
use crate::{
    Ending, Force, Kernel, OnFailure, Options, Receipts, Reverted, Selection, apply, revert,
};

/// Two nodes of four CPUs, a drive, a NIC whose driver renumbers interrupts and one whose does not.
const MACHINE: &str = r#"
about = "A small server for changes."
[host]
roots-per-node = 1
[cpu]
name = "Intel(R) Xeon(R) 6747P"
packages = 2
cores-per-node = 4
[memory]
node-mib = [4096]
[power]
governor = "powersave"
epp = "balance_power"
mhz = [800, 3900]
uncore = { min-mhz = 800, max-mhz = 2400, initial-mhz = [800, 2400] }
idle = [{ name = "C1", latency-us = 1, residency-us = 1 }, { name = "C6", latency-us = 170, residency-us = 600 }]
[[nvme]]
count = 1
model = "A drive"
id = [0x144d, 0xa826]
gb = 100
queues = 8
queue = { scheduler = "mq-deadline", nr_requests = 64, wbt_lat_usec = 2000 }
at = { node = 0 }
[[nic]]
names = ["eth0"]
driver = "mlx5_core"
id = [0x15b3, 0x101d]
mbps = 100000
queues = 4
max-queues = 8
rings = [1024, 8192]
irq-cpus = "4-7"
at = { node = 1 }
[[nic]]
names = ["eth1"]
driver = "virtio_net"
id = [0x1af4, 0x1041]
mbps = 10000
queues = 4
max-queues = 4
irq-spread = "all"
at = { node = 0 }
"#;

const QUEUE: &str = "/sys/block/nvme0n1/queue";
const IRQBALANCE: &str = "/etc/default/irqbalance";
const ADMINS: &str = "# ours\nIRQBALANCE_ARGS=\"--hintpolicy=exact\"\n";

fn tree() -> MemoryRoot {
    let mut root = synthetic::parse(MACHINE).unwrap().build();
    root.file(IRQBALANCE, ADMINS)
        .file(
            "/usr/lib/systemd/system/irqbalance.service",
            "[Service]\nEnvironmentFile=-/etc/default/irqbalance\nExecStart=/usr/sbin/irqbalance $IRQBALANCE_ARGS\n",
        )
        .file("/dev/cpu_dma_latency", "");
    root
}

/// The same tree, made once: cuts try thousands of kernels.
fn shared_tree() -> Arc<MemoryRoot> {
    static TREE: OnceLock<Arc<MemoryRoot>> = OnceLock::new();
    Arc::clone(TREE.get_or_init(|| Arc::new(tree())))
}

fn kernel() -> Simulated {
    let kernel = Simulated::new(shared_tree());
    kernel.run_service("irqbalance.service");
    kernel
}

fn device(kernel: &dyn Kernel, kind: DeviceKind, name: &str) -> Device {
    let link = match kind {
        DeviceKind::Nic => format!("/sys/class/net/{name}"),
        _ => format!("/sys/block/{name}"),
    };
    let path = kernel.resolve(&link).unwrap_or_default();
    let function = path.rsplit('/').find_map(|part| part.parse().ok());
    let file = if kind == DeviceKind::Nic { "address" } else { "wwid" };
    let serial = root::text(kernel, &format!("{link}/{file}")).ok();
    Device { name: name.to_owned(), kind, function, serial, port: None }
}

fn planned(device: Option<Device>, place: Place, form: Form, to: &str) -> Planned {
    let setting = match &place {
        Place::File { path } => path.rsplit('/').next().unwrap_or_default().to_owned(),
        Place::Interrupt { .. } => "interrupt".to_owned(),
        Place::Ethtool { what } => format!("{what:?}").to_lowercase(),
        other => format!("{other:?}").split(' ').next().unwrap_or_default().to_lowercase(),
    };
    Planned {
        setting,
        device,
        place,
        form,
        from: Err(Why::Absent),
        to: to.to_owned(),
        because: String::new(),
        cost: String::new(),
        drops_link: None,
    }
}

fn file(path: &str, form: Form, to: &str) -> Planned {
    planned(None, Place::File { path: path.to_owned() }, form, to)
}

fn drive(kernel: &dyn Kernel, knob: &str, form: Form, to: &str) -> Planned {
    let path = format!("/sys/block/{{device}}/queue/{knob}");
    let device = device(kernel, DeviceKind::Drive, "nvme0n1");
    planned(Some(device), Place::File { path }, form, to)
}

fn nic(kernel: &dyn Kernel, name: &str, what: Ethtool, to: &str) -> Planned {
    let device = device(kernel, DeviceKind::Nic, name);
    planned(Some(device), Place::Ethtool { what }, Form::Text, to)
}

fn queue(kernel: &dyn Kernel, name: &str, file: &str, form: Form, to: &str) -> Planned {
    let path = format!("/sys/class/net/{{device}}/queues/{file}");
    planned(Some(device(kernel, DeviceKind::Nic, name)), Place::File { path }, form, to)
}

fn interrupt(kernel: &dyn Kernel, name: &str, queue: u32, ordinal: u32, to: &str) -> Planned {
    let place = Place::Interrupt { queue: Some(queue), ordinal };
    planned(Some(device(kernel, DeviceKind::Nic, name)), place, Form::CpuList, to)
}

fn plan(changes: Vec<Planned>) -> Plan {
    Plan { changes, ..Plan::default() }
}

fn options() -> Options {
    Options {
        on_failure: OnFailure::Undo,
        at: "2026-01-01T00:00:00Z".to_owned(),
        why: "a test".to_owned(),
        ..Options::default()
    }
}

fn keep_going() -> Options {
    Options { on_failure: OnFailure::KeepGoing, ..options() }
}

fn journal(medium: &MemoryMedium) -> Journal {
    Journal::on(Box::new(medium.clone()), Path::new("journal")).unwrap()
}

fn cutting(medium: &MemoryMedium, clock: &Clock) -> Result<Journal, journal::JournalError> {
    let medium = CuttingMedium::new(medium.clone(), clock.clone());
    Journal::on(Box::new(medium), Path::new("journal"))
}

fn carry_out(kernel: &Simulated, medium: &MemoryMedium, changes: Vec<Planned>) -> Receipts {
    apply(kernel, &mut journal(medium), &plan(changes), &options()).unwrap()
}

fn take_back(kernel: &Simulated, medium: &MemoryMedium) -> Vec<Reverted> {
    revert(kernel, &mut journal(medium), &Selection::All, Force::Respect).unwrap().reverted
}

/// What differs from the beginning: every file but the numbers of interrupts and where they went
/// last, and of each NIC's interrupts the CPUs by queue.
fn left(kernel: &Simulated) -> Vec<String> {
    let fresh = Simulated::new(shared_tree());
    let mut left = kernel.differences();
    left.retain(|line| !line.starts_with("/proc/irq/") && !line.contains("/msi_irqs/"));
    for name in ["eth0", "eth1"] {
        let (then, now) = (affinities(&fresh, name), affinities(kernel, name));
        if then != now {
            left.push(format!("{name}: {then:?}, now {now:?}"));
        }
    }
    left
}

/// Queue and CPUs of each interrupt of a NIC.
fn affinities(kernel: &Simulated, name: &str) -> Vec<(Option<u32>, String)> {
    let function = device(kernel, DeviceKind::Nic, name).function.unwrap();
    let list = |number| {
        root::text(kernel, &format!("/proc/irq/{number}/smp_affinity_list")).unwrap_or_default()
    };
    let vectors = linux::vectors(kernel, function).into_iter();
    vectors.map(|vector| (vector.queue, list(vector.number))).collect()
}

fn read(kernel: &dyn Kernel, path: &str) -> String {
    root::text(kernel, path).unwrap()
}

/// The plans that stand for the three goals, and one in an order that no plan should have.
fn goals(kernel: &dyn Kernel) -> Vec<(&'static str, Vec<Planned>)> {
    vec![
        ("throughput", throughput(kernel)),
        ("latency", latency(kernel)),
        ("balanced", balanced(kernel)),
        ("awkward", awkward(kernel)),
        ("waiting", waiting()),
    ]
}

const CPUS: &str = "/sys/devices/system/cpu";

fn throughput(kernel: &dyn Kernel) -> Vec<Planned> {
    let mut throughput = vec![
        planned(None, Place::BannedInterrupts, Form::Numbers, "40 41 42 43"),
        nic(kernel, "eth0", Ethtool::Channels, "combined=6"),
        nic(kernel, "eth0", Ethtool::Rings, "rx=8192 tx=8192"),
        nic(kernel, "eth0", Ethtool::Features, "ntuple=on"),
        nic(kernel, "eth0", Ethtool::Coalescing, "adaptive-rx=off rx-usecs=80"),
    ];
    for index in 0..6 {
        let cpu = 4 + index % 4;
        throughput.push(interrupt(kernel, "eth0", index, 0, &cpu.to_string()));
    }
    for index in 0..6 {
        let (cpu, xps) = (4 + index % 4, format!("tx-{index}/xps_cpus"));
        throughput.push(queue(kernel, "eth0", &xps, Form::CpuMask, &cpu.to_string()));
    }
    throughput.extend([
        drive(kernel, "scheduler", Form::Selected, "none"),
        drive(kernel, "nr_requests", Form::Number, "32"),
        drive(kernel, "nomerges", Form::Number, "2"),
        drive(kernel, "read_ahead_kb", Form::Number, "4095"),
        file("/proc/sys/vm/dirty_bytes", Form::Number, "1073741824"),
        file("/proc/sys/net/ipv4/tcp_rmem", Form::Numbers, "4096 131072 16777216"),
        file("/proc/sys/kernel/numa_balancing", Form::Switch, "off"),
        file("/sys/kernel/mm/transparent_hugepage/enabled", Form::Selected, "madvise"),
    ]);
    throughput
}

fn latency(kernel: &dyn Kernel) -> Vec<Planned> {
    let governors = format!("{CPUS}/cpufreq/policy*/scaling_governor");
    let preferences = format!("{CPUS}/cpufreq/policy*/energy_performance_preference");
    let uncore = format!("{CPUS}/intel_uncore_frequency/*");
    vec![
        planned(
            None,
            Place::Service { unit: "irqbalance.service".to_owned() },
            Form::Text,
            "stopped",
        ),
        nic(kernel, "eth1", Ethtool::Channels, "combined=2"),
        interrupt(kernel, "eth1", 0, 0, "1"),
        interrupt(kernel, "eth1", 1, 1, "2"),
        queue(kernel, "eth1", "rx-*/rps_cpus", Form::CpuMask, "0-3"),
        file(&governors, Form::Text, "performance"),
        file(&preferences, Form::Text, "performance"),
        file(&format!("{uncore}/min_freq_khz"), Form::Number, "2400000"),
        planned(None, Place::IdleLatency, Form::Number, "10"),
        file(&format!("{CPUS}/cpu*/cpuidle/state2/disable"), Form::Switch, "on"),
        file("/sys/module/pcie_aspm/parameters/policy", Form::Selected, "performance"),
    ]
}

fn balanced(kernel: &dyn Kernel) -> Vec<Planned> {
    let uncore = format!("{CPUS}/intel_uncore_frequency/*");
    vec![
        nic(kernel, "eth0", Ethtool::Pause, "autoneg=off rx=off"),
        nic(kernel, "eth0", Ethtool::Features, "sg=off"),
        nic(kernel, "eth0", Ethtool::Channels, "combined=2"),
        nic(kernel, "eth0", Ethtool::ReceiveSpread, "1"),
        file("/proc/sys/vm/dirty_background_ratio", Form::Number, "5"),
        file(&format!("{uncore}/max_freq_khz"), Form::Number, "1200000"),
        file(&format!("{uncore}/min_freq_khz"), Form::Number, "1000000"),
        drive(kernel, "scheduler", Form::Selected, "bfq"),
    ]
}

fn awkward(kernel: &dyn Kernel) -> Vec<Planned> {
    vec![
        file("/proc/sys/vm/dirty_background_bytes", Form::Number, "65536"),
        file("/proc/sys/vm/dirty_background_ratio", Form::Number, "5"),
        drive(kernel, "nr_requests", Form::Number, "16"),
        drive(kernel, "scheduler", Form::Selected, "none"),
        interrupt(kernel, "eth0", 1, 0, "2"),
        nic(kernel, "eth0", Ethtool::Features, "sg=off"),
        nic(kernel, "eth0", Ethtool::Channels, "combined=8"),
        interrupt(kernel, "eth0", 7, 0, "3"),
    ]
}

/// Ceilings below the floors of now, which have to wait for them.
fn waiting() -> Vec<Planned> {
    let uncore = format!("{CPUS}/intel_uncore_frequency/*");
    vec![
        file("/proc/sys/vm/swappiness", Form::Number, "10"),
        file(&format!("{uncore}/max_freq_khz"), Form::Number, "700000"),
        file(&format!("{uncore}/min_freq_khz"), Form::Number, "600000"),
    ]
}

#[test]
fn a_plan_is_applied_once_and_taken_back_to_the_byte() {
    for (name, changes) in goals(&kernel()) {
        let (kernel, medium) = (kernel(), MemoryMedium::default());
        let first = carry_out(&kernel, &medium, changes.clone());
        assert_eq!(first.ending, Ending::Done, "{name}: {first:?}");
        let odd: Vec<_> = first.receipts.iter().filter(|r| !r.outcome.is_well()).collect();
        assert!(odd.is_empty(), "{name}: {odd:?}");
        assert!(!left(&kernel).is_empty());
        if name == "awkward" {
            // Its values are at odds with one another.
            take_back(&kernel, &medium);
            assert_eq!(left(&kernel), [""; 0], "{name}");
            continue;
        }
        let writes = kernel.writes().len();
        // 4095 KiB can never be had: what came then is all that there is.
        let again = carry_out(&kernel, &medium, changes);
        assert_eq!(again.ending, Ending::Done, "{name}: {again:?}");
        let rounded = |receipt: &&crate::Receipt| receipt.outcome != Outcome::Equal;
        let unequal: Vec<_> = again.receipts.iter().filter(rounded).collect();
        assert!(unequal.is_empty(), "{name}: {unequal:?}");
        assert_eq!(kernel.writes()[writes..], [""; 0], "{name}");
        let reverted = take_back(&kernel, &medium);
        let stuck: Vec<_> = reverted.iter().filter(|one| one.is_stuck()).collect();
        assert!(stuck.is_empty(), "{name}: {stuck:?}");
        assert_eq!(left(&kernel), [""; 0], "{name}");
        assert_eq!(journal(&medium).transactions(), [], "{name}");
        assert_eq!(read(&kernel, IRQBALANCE), ADMINS.trim());
    }
}

#[test]
fn nothing_to_do_leaves_no_trace() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let receipts = carry_out(&kernel, &medium, vec![drive(&kernel, "nomerges", Form::Number, "0")]);
    assert_eq!((receipts.transaction, receipts.ending), (None, Ending::Done));
    assert_eq!(receipts.receipts[0].outcome, Outcome::Equal);
    assert_eq!((kernel.writes().len(), journal(&medium).transactions().len()), (0, 0));
    assert_eq!(take_back(&kernel, &medium), []);
}

#[test]
fn undone_says_which_bytes_came_back() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    carry_out(&kernel, &medium, vec![file("/proc/sys/vm/swappiness", Form::Number, "10")]);
    let reverted = take_back(&kernel, &medium);
    let expected = Reverted {
        transaction: 1,
        setting: "swappiness".to_owned(),
        device: None,
        path: "/proc/sys/vm/swappiness".to_owned(),
        before: "60".to_owned(),
        undone: Undone::Restored,
    };
    assert_eq!(reverted, [expected]);
}
