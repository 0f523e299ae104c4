// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network ports: interrupts, steering, MTUs, queues, spread.

use machine::{Channels, Feature, Managed, NicKind, NodeFrom, ReceiveSpread};
use setting::{Goal, Severity};

use super::{all, made, of, one};
use made::{Order, set};

/// The machine of the published NIC study: one EPYC 7551, four nodes of eight cores, numbered
/// round-robin, its port on node 2.
fn epyc() -> machine::Machine {
    let mut machine = made::bare(1, 4, 8, Order::RoundRobin);
    machine.host.cpu_vendor = Ok("AuthenticAMD".into());
    machine.host.cpu_model = Ok("AMD EPYC 7551 32-Core Processor".into());
    made::add_port(&mut machine, made::Place { number: 20, node: 2 }, 100, &set("0-31"));
    machine.host.services.push(made::service("irqbalance"));
    machine
}

#[test]
fn the_epyc_of_the_study_gets_its_list_of_cpus() {
    let finding = one(&epyc(), "nic-irq-placement");
    assert_eq!(finding.wanted, "2,6,10,14,18,22,26,30");
    assert_eq!(finding.device(), Some("eth20"));
    assert_eq!(finding.severity, Severity::High);
    assert!(finding.title.contains("24 of 32"), "{}", finding.title);
    assert!(finding.because.contains("node 2"), "{}", finding.because);
    let change = finding.change.unwrap();
    assert!(change.by_hand[2].contains("--banirq"), "{:?}", change.by_hand);
    let list = "set_irq_affinity_cpulist.sh 2,6,10,14,18,22,26,30 eth20";
    assert!(change.by_hand[4].ends_with(list), "{:?}", change.by_hand);
    let paths: Vec<&str> = finding.evidence.iter().map(|line| line.path.as_str()).collect();
    assert!(paths.contains(&"/sys/bus/pci/devices/0000:54:00.0/numa_node"), "{paths:?}");
    assert!(paths.iter().any(|path| path.ends_with("/effective_affinity_list")), "{paths:?}");
    assert_eq!(one(&epyc(), "irqbalance").severity, Severity::Medium);
}

#[test]
fn interrupts_that_are_near_or_managed_or_spread_by_design_are_fine() {
    let mut near = epyc();
    near.irqs.clear();
    near.nics.clear();
    made::add_port(&mut near, made::Place { number: 21, node: 2 }, 100, &set("2,6,10,14"));
    assert_eq!(of(&near, "nic-irq-placement"), []);

    let mut managed = epyc();
    managed.irqs.iter_mut().for_each(|irq| irq.managed = Managed::Told);
    assert_eq!(of(&managed, "nic-irq-placement"), []);

    let mut paravirtual = epyc();
    paravirtual.nics[0].kind = NicKind::Paravirtual;
    assert_eq!(of(&paravirtual, "nic-irq-placement"), []);

    let mut down = epyc();
    down.nics[0].state = "down".into();
    assert_eq!(of(&down, "nic-irq-placement"), []);

    let mut slow = epyc();
    slow.nics[0].speed = Ok(units::BitRate(1_000_000_000));
    assert_eq!(of(&slow, "nic-irq-placement"), []);

    let mut unknown = epyc();
    unknown.nics[0].node = None;
    unknown.functions[0].node = None;
    assert_eq!(of(&unknown, "nic-irq-placement"), []);
}

/// vmxnet3 leaves its queues where the first one is, and virtio-net with fewer queues than CPUs
/// spreads them over all nodes.
#[test]
fn a_paravirtual_port_is_judged_where_the_hypervisor_tells_its_node() {
    let mut machine = epyc();
    let queue = |irq: &machine::Irq| irq.source.as_ref().and_then(|source| source.queue);
    machine.nics[0].kind = NicKind::Paravirtual;
    machine.nics[0].speed = Err(machine::Why::Absent);
    machine.irqs.retain(|irq| queue(irq).is_some_and(|queue| queue < 4));
    machine.nics[0].rx_queues.truncate(4);
    machine.nics[0].tx_queues.truncate(4);
    for irq in &mut machine.irqs {
        irq.affinity = Ok(set("0-7"));
        irq.effective = Ok(set("0"));
    }
    let finding = one(&machine, "nic-irq-placement");
    assert_eq!((finding.severity, finding.device()), (Severity::Low, Some("eth20")));
    assert!(finding.title.contains("All 4 "), "{}", finding.title);
    // Two of the four were given up: their vectors stay and carry nothing.
    machine.nics[0].rx_queues.truncate(2);
    machine.nics[0].tx_queues.truncate(2);
    assert!(one(&machine, "nic-irq-placement").title.contains("All 2 "));
    machine.functions.iter_mut().for_each(|function| function.node_from = NodeFrom::LocalCpus);
    assert_eq!(of(&machine, "nic-irq-placement"), []);
}

#[test]
fn an_old_effective_cpu_does_not_hide_where_an_interrupt_was_sent() {
    let mut machine = epyc();
    for irq in &mut machine.irqs {
        // Moved near by hand, and no interrupt came since.
        irq.effective = Ok(set("0"));
        irq.affinity = Ok(set("2,6,10"));
    }
    assert_eq!(of(&machine, "nic-irq-placement"), []);
}

#[test]
fn a_wide_affinity_is_judged_by_where_it_went() {
    let mut machine = epyc();
    for irq in &mut machine.irqs {
        irq.affinity = Ok(set("0-31"));
        irq.effective = Err(machine::Why::Absent);
        irq.counts = vec![(2, 100_000), (0, 3)];
    }
    assert_eq!(of(&machine, "nic-irq-placement"), []);
    machine.irqs[0].counts = vec![(1, 100_000)];
    assert!(one(&machine, "nic-irq-placement").title.contains("1 of 32"));
}

#[test]
fn steering_to_far_cpus_is_found() {
    let mut machine = made::healthy();
    machine.nics[0].rx_queues[0].rps = Ok(set("16-31"));
    let finding = one(&machine, "rps-placement");
    assert_eq!(finding.device(), Some("eth0"));
    assert!(finding.change.unwrap().by_hand[0].contains("0000ffff"));
    machine.nics[0].rx_queues[0].rps = Ok(set("0-15"));
    assert_eq!(of(&machine, "rps-placement"), []);
}

#[test]
fn transmit_queues_are_found_only_when_crossed() {
    let mut machine = made::healthy();
    // Every CPU of the far node uses a near queue: somebody has to serve it.
    machine.nics[0].tx_queues[0].xps = Ok(set("16-31"));
    assert_eq!(of(&machine, "xps-placement"), []);
    for irq in machine.irqs.iter_mut().filter(|irq| irq.actions[0] == "eth0-1") {
        irq.affinity = Ok(set("20"));
        irq.effective = Ok(set("20"));
    }
    assert!(one(&machine, "xps-placement").title.contains("2 of 16"));
}

#[test]
fn mtus_that_do_not_fit_are_found() {
    let mut machine = made::healthy();
    let mut bond = made::nic("bond0", NicKind::Bond);
    bond.mtu = Ok(9000);
    bond.lower = vec!["eth0".into(), "eth1".into()];
    machine.nics.push(bond);
    machine.nics[0].mtu = Ok(9000);
    machine.nics[1].mtu = Ok(1500);
    let finding = one(&machine, "mtu-path");
    assert_eq!(finding.severity, Severity::Medium);
    assert!(finding.title.contains("eth1 has 1500"), "{}", finding.title);
    machine.nics[1].mtu = Ok(9000);
    assert_eq!(of(&machine, "mtu-path"), []);
}

#[test]
fn a_smaller_vlan_is_a_note_and_a_container_port_is_nothing() {
    let mut machine = made::healthy();
    machine.nics[0].mtu = Ok(9000);
    let mut vlan = made::nic("eth0.10", NicKind::Vlan);
    vlan.lower = vec!["eth0".into()];
    machine.nics.push(vlan);
    assert_eq!(one(&machine, "mtu-path").severity, Severity::Note);

    let mut machine = made::healthy();
    let mut veth = made::nic("veth1", NicKind::Virtual);
    veth.mtu = Ok(1450);
    let mut bridge = made::nic("docker0", NicKind::Bridge);
    bridge.lower = vec!["veth1".into()];
    machine.nics.extend([veth, bridge]);
    assert_eq!(of(&machine, "mtu-path"), []);
}

#[test]
fn a_port_with_one_queue_of_many_is_found() {
    let mut machine = made::healthy();
    machine.nics[0].channels = Ok(Channels { combined: Some((1, 64)), ..Channels::default() });
    let finding = one(&machine, "queue-count");
    assert_eq!(finding.severity, Severity::Medium);
    assert_eq!(finding.change.unwrap().by_hand, ["ethtool -L eth0 combined 16"]);
    machine.nics[0].channels = Ok(Channels { combined: Some((8, 64)), ..Channels::default() });
    assert_eq!(of(&machine, "queue-count"), []);
}

#[test]
fn cards_on_one_side_are_found_and_ports_of_one_card_are_not() {
    let mut machine = made::healthy();
    machine.nics[1].node = Some(units::NodeId(0));
    let finding = one(&machine, "nic-spread");
    assert_eq!(finding.severity, Severity::Medium);
    assert_eq!(finding.observed, "2/0");
    // Two ports of one card cannot be on two packages.
    machine.nics[1].function = machine.nics[0].function;
    assert_eq!(of(&machine, "nic-spread"), []);
}

#[test]
fn irqbalance_matters_where_there_is_something_to_move() {
    let mut machine = made::healthy();
    machine.host.services.push(made::service("irqbalance"));
    assert_eq!(one(&machine, "irqbalance").severity, Severity::Medium);
    let balanced = all(&machine, Goal::Balanced);
    assert!(balanced.iter().all(|finding| finding.id != "irqbalance"));
    made::into_guest(&mut machine);
    assert_eq!(of(&machine, "irqbalance"), []);
}

/// A port of eight queues whose table has 128 entries over these in turn.
fn spreading(named: &[u32]) -> machine::Machine {
    let mut machine = made::healthy();
    let table = named.iter().copied().cycle().take(128).collect();
    machine.nics[0].receive_spread = Ok(ReceiveSpread { queues: Some(8), table });
    machine
}

#[test]
fn a_table_that_leaves_queues_out_is_found() {
    let finding = one(&spreading(&[0, 1, 2, 3]), "nic-receive-spread");
    assert_eq!(finding.severity, Severity::Medium);
    assert!(finding.title.contains("4 of 8 receive queues"), "{}", finding.title);
    assert_eq!(finding.change.unwrap().by_hand, ["ethtool -X eth0 equal 8"]);
    let one_idle = one(&spreading(&[0, 1, 2, 3, 4, 5, 6]), "nic-receive-spread");
    assert_eq!(one_idle.severity, Severity::Low);
    let heavy = one(&spreading(&[0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7]), "nic-receive-spread");
    assert!(heavy.title.contains("unequal"), "{}", heavy.title);
    assert!(heavy.observed.starts_with("queue 0: "), "{}", heavy.observed);
}

#[test]
fn a_table_that_is_as_even_as_it_can_be_is_fine() {
    let of = |machine: &machine::Machine| of(machine, "nic-receive-spread");
    assert_eq!(of(&spreading(&[7, 6, 5, 4, 3, 2, 1, 0])), []);
    let mut many = spreading(&[0]);
    let table: Vec<u32> = (0..100).cycle().take(128).collect();
    many.nics[0].receive_spread = Ok(ReceiveSpread { queues: Some(100), table });
    assert_eq!(of(&many), []);
    // More queues than entries: no table could name them all.
    let table: Vec<u32> = (0..128).collect();
    many.nics[0].receive_spread = Ok(ReceiveSpread { queues: Some(200), table });
    assert_eq!(of(&many), []);
    let mut down = spreading(&[0]);
    down.nics[0].state = "down".into();
    assert_eq!(of(&down), []);
}

#[test]
fn queues_that_may_be_kept_for_steered_flows_are_told_and_left() {
    let mut machine = spreading(&[0, 1, 2, 3]);
    let name = "rx-ntuple-filter".to_owned();
    let filter = Feature { name, active: true, wanted: true, fixed: false };
    machine.nics[0].features = Ok(vec![filter]);
    let finding = one(&machine, "nic-receive-spread");
    assert_eq!((finding.confidence, finding.change), (setting::Confidence::Unsure, None));
}
