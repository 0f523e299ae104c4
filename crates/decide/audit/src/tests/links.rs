// SPDX-License-Identifier: MIT OR Apache-2.0
//! PCI Express: links below their best and all that must not be taken for one; payloads, reads, ACS.

use machine::{AcsRedirect, Function, Machine, PortKind};
use setting::{Owner, Severity};
use units::Transfers;

use super::{made, of, one};
use made::{address, side};

fn spoilt(spoil: impl Fn(&mut Function)) -> Machine {
    let mut machine = made::healthy();
    spoil(&mut machine.functions[0]);
    machine
}

#[test]
fn a_link_that_trained_low_is_found() {
    let machine = spoilt(|function| function.link.as_mut().unwrap().width = Ok(2));
    let finding = one(&machine, "pcie-link");
    assert_eq!(finding.device(), Some("nvme0n1"));
    assert_eq!((finding.severity, finding.owner), (Severity::High, Owner::Person));
    assert_eq!((finding.observed.as_str(), finding.wanted.as_str()), ("16 GT/s x2", "16 GT/s x4"));
    assert!(finding.evidence[0].path.ends_with("/current_link_speed"));
    assert!(finding.evidence[1].path.ends_with("/current_link_width"));
}

#[test]
fn what_is_no_fault_of_a_link_is_not_flagged() {
    let narrow = |function: &mut Function| {
        let link = function.link.as_mut().unwrap();
        link.width = Ok(2);
        link.speed = Ok(Transfers(25));
    };
    // The slot, or a bridge, can do no more.
    let by_slot = spoilt(|function| {
        let link = function.link.as_mut().unwrap();
        (link.width, link.speed) = (Ok(2), Ok(Transfers(80)));
        link.above = Some(side(80, 2));
    });
    // A guest's or a dangling port cannot be seen.
    let unseen = spoilt(|function| {
        narrow(function);
        function.link.as_mut().unwrap().above = None;
    });
    let unknown =
        spoilt(|function| function.link.as_mut().unwrap().width = Err(machine::Why::Absent));
    let virtual_function = spoilt(|function| {
        narrow(function);
        function.physical_function = Some(address(0x50));
    });
    let integrated = spoilt(|function| {
        narrow(function);
        function.port = Some(PortKind::Integrated);
    });
    let board_graphics = spoilt(|function| {
        narrow(function);
        (function.class.base, function.vendor) = (0x03, 0x1a03);
    });
    let usb = spoilt(|function| {
        narrow(function);
        (function.class.base, function.class.sub) = (0x0c, 0x03);
    });
    let root_port = spoilt(|function| {
        narrow(function);
        function.port = Some(PortKind::Root);
    });
    let tunnel = spoilt(|function| {
        narrow(function);
        function.names.device = "JHL7540 Thunderbolt 3 Bridge".into();
    });
    let machines = [
        by_slot,
        unseen,
        unknown,
        virtual_function,
        integrated,
        board_graphics,
        usb,
        root_port,
        tunnel,
    ];
    for (number, machine) in machines.iter().enumerate() {
        assert_eq!(of(machine, "pcie-link"), [], "case {number}");
    }
}

#[test]
fn an_idle_gpu_may_be_slow_but_not_narrow() {
    let gpu = |width| {
        spoilt(move |function| {
            (function.class.base, function.class.sub) = (0x03, 0x02);
            let link = function.link.as_mut().unwrap();
            (link.speed, link.width) = (Ok(Transfers(25)), Ok(width));
            (link.own, link.above) = (side(320, 16), Some(side(320, 16)));
        })
    };
    assert_eq!(of(&gpu(16), "pcie-link"), []);
    assert_eq!(one(&gpu(8), "pcie-link").observed, "32 GT/s x8");
}

#[test]
fn a_whole_model_at_one_speed_points_to_the_firmware() {
    let mut machine = made::healthy();
    let drives = machine.functions.iter_mut().filter(|function| function.class.base == 1);
    for function in drives {
        let link = function.link.as_mut().unwrap();
        link.own = side(320, 4);
        link.above = Some(side(320, 4));
    }
    machine.functions.iter_mut().filter(|f| f.class.base == 2).for_each(|f| f.device = 1);
    let finding = one(&machine, "pcie-link");
    assert_eq!((finding.devices.len(), finding.owner), (8, Owner::Bios));
    assert!(finding.title.starts_with("nvme0n1, nvme1n1 and 6 more"), "{}", finding.title);
    assert_eq!(finding.device(), None);
}

#[test]
fn a_port_faster_than_its_slot_is_found() {
    let mut machine = made::healthy();
    // 100 Gb/s through 16 GT/s x4 (63 Gb/s).
    let nic = machine.functions.iter_mut().find(|function| function.class.base == 2).unwrap();
    nic.link.as_mut().unwrap().own = side(160, 16);
    let finding = one(&machine, "pcie-link");
    assert_eq!((finding.severity, finding.owner), (Severity::Medium, Owner::Person));
    assert!(finding.because.contains("12.5 GB/s"), "{}", finding.because);
    machine.nics[0].speed = Ok(units::BitRate(25_000_000_000));
    assert_eq!(of(&machine, "pcie-link"), []);
}

#[test]
fn a_slow_link_that_carries_all_its_port_takes_in_is_little() {
    let mut machine = made::healthy();
    let nic = machine.functions.iter_mut().find(|function| function.class.base == 2).unwrap();
    // 2.5 GT/s x4 carries 1 GB/s.
    nic.link.as_mut().unwrap().speed = Ok(Transfers(25));
    let at = nic.address;
    assert_eq!(one(&machine, "pcie-link").severity, Severity::High);
    let ports = machine.nics.iter_mut().filter(|nic| nic.function == Some(at));
    ports.for_each(|nic| nic.speed = Ok(units::BitRate(1_000_000_000)));
    let finding = one(&machine, "pcie-link");
    assert_eq!(finding.severity, Severity::Low);
    assert!(finding.because.contains("at most 125 MB/s"), "{}", finding.because);
}

#[test]
fn payloads_are_judged_along_the_chain() {
    let mut machine = made::healthy();
    machine.functions.push(made::bridge(0x01, PortKind::Root, None));
    assert_eq!(of(&machine, "pcie-mps"), []);
    machine.functions[0].config.mps = Ok(256);
    assert_eq!(one(&machine, "pcie-mps").wanted, "512");
    // The port above takes no more: nothing to raise.
    machine.functions.last_mut().unwrap().config.mps_supported = Ok(256);
    machine.functions.iter_mut().for_each(|function| function.config.mps = Ok(256));
    assert_eq!(of(&machine, "pcie-mps"), []);
    machine.functions[0].config.mps = Ok(512);
    assert_eq!(one(&machine, "pcie-mps").severity, Severity::Medium);
}

#[test]
fn small_reads_matter_for_the_fastest_ports_alone() {
    let mut machine = made::healthy();
    machine.functions.iter_mut().for_each(|function| function.config.mrrs = Ok(512));
    let finding = one(&machine, "pcie-mrrs");
    assert_eq!(finding.devices, ["eth0", "eth1"]);
    assert_eq!(finding.change.unwrap().by_hand.len(), 2);
    machine.nics.iter_mut().for_each(|nic| nic.speed = Ok(units::BitRate(25_000_000_000)));
    assert_eq!(of(&machine, "pcie-mrrs"), []);
}

#[test]
fn redirects_matter_between_devices_of_one_switch() {
    let mut machine = made::bare(1, 1, 4, made::Order::Linear);
    machine.functions.push(made::bridge(0x02, PortKind::Upstream, None));
    for (port, device, class) in [(3, 0x60, (0x03, 0x02)), (4, 0x61, (0x01, 0x08))] {
        let mut bridge = made::bridge(port, PortKind::Downstream, Some(0x02));
        bridge.config.acs_redirect = Ok(Some(AcsRedirect { requests: true, completions: true }));
        let mut endpoint = made::function(address(device), class, Some(0));
        endpoint.parent = Some(address(port));
        machine.functions.extend([bridge, endpoint]);
    }
    let finding = one(&machine, "pcie-acs-redirect");
    assert_eq!(finding.devices.len(), 2);
    assert_eq!(finding.change.unwrap().by_hand[0], "setpci -s 0000:03:00.0 ECAP_ACS+6.w=0000:000c");
    machine.host.hypervisor_host = Some("kvm".into());
    assert_eq!(of(&machine, "pcie-acs-redirect"), []);
    // Two drives do not talk to each other.
    machine.host.hypervisor_host = None;
    machine.functions[2].class.base = 0x01;
    machine.functions[2].class.sub = 0x08;
    assert_eq!(of(&machine, "pcie-acs-redirect"), []);
}

#[test]
fn a_loop_of_bridges_ends() {
    let mut machine = made::healthy();
    machine.functions.push(made::bridge(0x01, PortKind::Root, Some(0x02)));
    machine.functions.push(made::bridge(0x02, PortKind::Root, Some(0x01)));
    assert_eq!(of(&machine, "pcie-link"), []);
}
