// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that a change moves beside its own: kept where they are wanted, and brought back.

use machine::{Aspm, Link, LinkSide};
use setting::Planned;

use super::*;

/// The NVMe drive `number` on node 1.
pub(super) fn add_drive(machine: &mut Machine, number: u32, bus: u8) {
    let mut function = Function::new(format!("0000:{bus:02x}:00.0").parse().unwrap());
    (function.node, function.node_from) = (Some(NodeId(1)), NodeFrom::Own);
    machine.drives.push(support::made::drive(number, &function, 4));
    machine.functions.push(function);
}

fn of(setting: &str, device: &str, value: &str) -> Observation {
    Observation { device: Some(device.to_owned()), ..observed(setting, value) }
}

/// (setting, value now, value wanted) in the order of the plan.
fn lines(plan: &Plan) -> Vec<(&str, &str, &str)> {
    fn line(one: &Planned) -> (&str, &str, &str) {
        (&one.setting, one.from.as_deref().unwrap_or_default(), &one.to)
    }
    plan.changes.iter().map(line).collect()
}

#[test]
fn a_named_value_stays_in_the_plan_after_what_moves_it() {
    let mut machine = machine();
    add_drive(&mut machine, 0, 0x41);
    let seen = |scheduler: &str| {
        [of("block-scheduler", "nvme0n1", scheduler), of("block-nr-requests", "nvme0n1", "64")]
    };
    let wish = names(&["block-nr-requests=64", "block-scheduler=none"]);
    let plan = planned(&machine, &seen("mq-deadline"), &wish);
    let expected = [("block-scheduler", "mq-deadline", "none"), ("block-nr-requests", "64", "64")];
    assert_eq!(lines(&plan), expected);
    // Where nothing moves it, it is as wanted.
    let plan = planned(&machine, &seen("none"), &wish);
    assert!(plan.changes.is_empty(), "{:?}", lines(&plan));
    let equal = [("block-nr-requests".to_owned(), 1), ("block-scheduler".to_owned(), 1)];
    assert_eq!(plan.equal, equal);
    let alone = planned(&machine, &seen("mq-deadline"), &names(&["block-scheduler=none"]));
    assert_eq!(lines(&alone), [("block-scheduler", "mq-deadline", "none")]);
}

#[test]
fn a_preference_is_written_again_after_its_governor() {
    let seen = [
        of("cpufreq-governor", "cpu 0-79", "performance"),
        of("energy-performance-preference", "cpu 0-79", "performance"),
    ];
    let wish = names(&[
        "energy-performance-preference=performance@cpu 7",
        "cpufreq-governor=powersave@cpu 7",
    ]);
    let plan = planned(&machine(), &seen, &wish);
    let expected = [
        ("cpufreq-governor", "performance", "powersave"),
        ("energy-performance-preference", "performance", "performance"),
    ];
    assert_eq!(lines(&plan), expected);
    // One CPU's governor moves no other's preference.
    let wish = names(&[
        "energy-performance-preference=performance@cpu 6",
        "cpufreq-governor=powersave@cpu 7",
    ]);
    assert_eq!(lines(&planned(&machine(), &seen, &wish)).len(), 1);
}

/// A port whose queues are where `near` puts them.
fn near() -> Machine {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 2);
    for (cpu, irq) in (40..).zip(&mut machine.irqs) {
        irq.affinity = Ok([Cpu(cpu)].into_iter().collect());
    }
    machine
}

#[test]
fn a_device_that_is_opened_again_gets_its_interrupts_placed_again() {
    for mover in ["mtu=9000@eth0", "nic-rx-ring=4096@eth0", "nic-channels=3@eth0"] {
        let seen = [of("mtu", "eth0", "1500")];
        let wish = names(&[mover, "nic-irq-placement=near@eth0"]);
        let plan = planned(&near(), &seen, &wish);
        let first = plan.changes.first().map(|one| one.setting.as_str());
        assert_eq!(first, mover.split('=').next());
        let cpus = if mover.contains("channels") { &["40", "41", "42"][..] } else { &["40", "41"] };
        assert_eq!(queues(&plan, "eth0"), cpus, "{mover}");
    }
    let alone = planned(&near(), &[], &names(&["nic-irq-placement=near@eth0"]));
    assert!(alone.changes.is_empty(), "{:?}", lines(&alone));
}

#[test]
fn what_the_goal_finds_near_stays_near() {
    let seen = [of("mtu", "eth0", "1500")];
    let wish = Request { goal: Some(Goal::Throughput), ..names(&["mtu=9000@eth0"]) };
    let plan = planned(&near(), &seen, &wish);
    assert_eq!(queues(&plan, "eth0"), ["40", "41"]);
    let alone = planned(&near(), &seen, &goal());
    assert!(queues(&alone, "eth0").is_empty(), "{:?}", lines(&alone));
}

#[test]
fn a_limit_that_is_so_and_would_be_zeroed_is_a_conflict() {
    let seen = [observed("dirty-bytes", "0"), observed("dirty-ratio", "20")];
    let plan = planned(&machine(), &seen, &names(&["dirty-bytes=268435456", "dirty-ratio=20"]));
    assert_eq!(settings(&plan), ["dirty-bytes"]);
    assert_eq!(left(&plan, "dirty-ratio"), [LeftWhy::Conflict]);
}

/// Where the lines stand in a text, in this order.
fn in_order(text: &str, lines: &[&str]) {
    let at: Vec<_> = lines.iter().map(|line| text.find(line)).collect();
    assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{at:?}: {lines:#?}\n{text}");
}

#[test]
fn an_undo_brings_back_what_the_kernel_moves() {
    let mut machine = near();
    add_drive(&mut machine, 0, 0x41);
    machine.nics[0].tx_queues[1].xps = Ok(CpuSet::from_list("41,79").unwrap());
    let seen = [
        of("block-scheduler", "nvme0n1", "mq-deadline"),
        of("block-nr-requests", "nvme0n1", "4"),
        of("block-wbt", "nvme0n1", "75000"),
    ];
    let plan = planned(&machine, &seen, &names(&["block-scheduler=none", "nic-channels=1@eth0"]));
    assert_eq!(plan.changes.len(), 2);
    let undo = undo_script(&plan, &machine);
    let scheduler = ["'n1/queue/scheduler'", "put \"$file\" 'mq-deadline'"];
    let requests = ["'n1/queue/nr_requests'", "put \"$file\" '4'"];
    let delay = ["'n1/queue/wbt_lat_usec'", "put \"$file\" '75000'"];
    in_order(&undo, &[scheduler, requests].concat());
    in_order(&undo, &[scheduler, delay].concat());
    let channels = "ethtool -L 'eth0' 'combined' '2'";
    in_order(&undo, &[channels, "irq_at '0000:81:00.0' 1 '40'"]);
    in_order(&undo, &[channels, "irq_at '0000:81:00.0' 2 '41'"]);
    in_order(&undo, &[channels, "/queues/tx-1/xps_cpus' '"]);
}

/// A link whose L1 sleeps and whose L0s does not.
fn linked() -> Machine {
    let mut machine = machine();
    add_drive(&mut machine, 0, 0x41);
    let files = [("l0s_aspm", false), ("l1_aspm", true), ("l1_1_pcipm", true)];
    let files = files.map(|(name, on)| (name.to_owned(), on)).to_vec();
    machine.functions[0].link = Some(Link {
        speed: Err(Why::Absent),
        width: Err(Why::Absent),
        own: LinkSide::default(),
        above: None,
        port: None,
        aspm: Aspm { files, ..Aspm::default() },
    });
    machine
}

#[test]
fn each_file_of_a_pattern_comes_back_as_it_was() {
    let plan = planned(
        &linked(),
        &[of("pcie-aspm", "0000:41:00.0", "l1")],
        &names(&["pcie-aspm=off@0000:41:00.0"]),
    );
    assert_eq!(settings(&plan), ["pcie-aspm"]);
    let undo = undo_script(&plan, &linked());
    let top = "put \"$ROOT\"'/sys/bus/pci/devices/0000:41:00.0/link/";
    for (file, value) in [("l0s_aspm", 0), ("l1_aspm", 1), ("l1_1_pcipm", 1)] {
        assert!(undo.contains(&format!("{top}{file}' '{value}'\n")), "{file}: {undo}");
    }
    in_order(&undo, &["/l1_aspm' '1'", "/l1_1_pcipm' '1'"]);
    assert!(!undo.contains("not restored"), "{undo}");
}

#[test]
fn files_of_a_pattern_that_differ_come_back_by_name() {
    let at = |package: u32, value: &str| {
        let path = format!(
            "/sys/devices/system/cpu/intel_uncore_frequency/package_0{package}_die_00/max_freq_khz"
        );
        Observation {
            evidence: vec![setting::Evidence::quoted(path, value.to_owned())],
            ..observed("uncore-max-frequency", value)
        }
    };
    let seen = [at(0, "1800000"), at(1, "2000000")];
    let plan = planned(&machine(), &seen, &names(&["uncore-max-frequency=2200000"]));
    let undo = undo_script(&plan, &machine());
    in_order(&undo, &["package_00_die_00/max_freq_khz' '1800000'"]);
    in_order(&undo, &["package_01_die_00/max_freq_khz' '2000000'"]);
}
