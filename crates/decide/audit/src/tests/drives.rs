// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drives: managed vectors, spread, queues, and the ports that serve them.

use machine::{DriveKind, Managed};
use setting::Severity;
use units::NodeId;

use super::{made, of, one};
use made::{Order, set};

#[test]
fn managed_vectors_on_all_nodes_are_right() {
    // Every drive of the healthy machine has a vector on each CPU of both nodes.
    let machine = made::healthy();
    assert!(machine.irqs.iter().any(|irq| irq.managed == Managed::ByDriver));
    assert_eq!(of(&machine, "drive-irq-placement"), []);
    assert_eq!(of(&machine, "queue-count"), []);
}

#[test]
fn a_movable_far_vector_is_found() {
    let mut machine = made::healthy();
    let far = machine.irqs.iter_mut().find(|irq| irq.actions[0] == "nvme0q20").unwrap();
    far.managed = Managed::No;
    let finding = one(&machine, "drive-irq-placement");
    assert_eq!(finding.device(), Some("nvme0n1"));
    assert_eq!(finding.wanted, "0-15");
    machine.drives[0].rotational = Ok(true);
    assert_eq!(of(&machine, "drive-irq-placement"), []);
}

#[test]
fn drives_on_one_package_are_found() {
    let mut machine = made::healthy();
    assert_eq!(of(&machine, "drive-spread"), []);
    for drive in &mut machine.drives {
        drive.controllers[0].node = Some(NodeId(0));
    }
    let finding = one(&machine, "drive-spread");
    assert_eq!((finding.severity, finding.observed.as_str()), (Severity::Medium, "8/0"));
    assert!(finding.because.contains("none on package 1"), "{}", finding.because);
    // Drives of the system say nothing about how the machine was laid out.
    machine.drives.iter_mut().for_each(|drive| drive.mounts = vec!["/".into()]);
    assert_eq!(of(&machine, "drive-spread"), []);
}

#[test]
fn ports_and_drives_apart_are_found() {
    let mut machine = made::healthy();
    machine.drives.iter_mut().for_each(|drive| drive.controllers[0].node = Some(NodeId(0)));
    assert_eq!(of(&machine, "nic-drive-locality"), []);
    machine.nics.iter_mut().for_each(|nic| nic.node = Some(NodeId(1)));
    let finding = one(&machine, "nic-drive-locality");
    assert_eq!(finding.severity, Severity::Medium);
    assert!(finding.because.contains("on package 1"), "{}", finding.because);
    assert!(finding.devices.contains(&"eth0".to_owned()));
}

#[test]
fn few_queues_are_found_by_how_few() {
    let mut machine = made::healthy();
    machine.drives.iter_mut().for_each(|drive| drive.controllers[0].queues = 16);
    assert_eq!(of(&machine, "queue-count"), []);
    machine.drives.iter_mut().for_each(|drive| drive.controllers[0].queues = 1);
    let finding = one(&machine, "queue-count");
    assert_eq!((finding.severity, finding.devices.len()), (Severity::Medium, 8));
    assert_eq!(finding.evidence[0].path, "/sys/class/nvme/nvme0/queue_count");
}

#[test]
fn vectors_that_ran_short_show_in_uneven_drives() {
    let mut machine = made::healthy();
    machine.drives[3].controllers[0].queues = 9;
    let finding = one(&machine, "vector-exhaustion");
    assert_eq!(finding.device(), Some("nvme3n1"));
    assert_eq!((finding.observed.as_str(), finding.wanted.as_str()), ("9", "32"));
}

#[test]
fn a_controller_with_fewer_vectors_than_queues_shares_them() {
    let mut machine = made::bare(1, 1, 16, Order::Linear);
    made::add_drive(&mut machine, made::Place { number: 0, node: 0 });
    assert_eq!(of(&machine, "vector-exhaustion"), []);
    machine.irqs.truncate(4);
    assert_eq!(one(&machine, "vector-exhaustion").observed, "4");
    let poll = ("nvme".to_owned(), "poll_queues".to_owned(), "12".to_owned());
    machine.host.module_parameters.push(poll);
    assert_eq!(of(&machine, "vector-exhaustion"), []);
}

#[test]
fn a_virtual_disk_is_its_hosts_business() {
    let mut machine = made::healthy();
    machine.irqs.iter_mut().for_each(|irq| irq.managed = Managed::No);
    machine.drives.iter_mut().for_each(|drive| drive.kind = DriveKind::Virtio);
    assert_eq!(of(&machine, "drive-irq-placement"), []);
}

#[test]
fn interrupts_on_isolated_cpus_are_found() {
    let mut machine = made::healthy();
    machine.cpus.isolated = set("2-3");
    let finding = one(&machine, "isolated-cpu-interrupts");
    // Only the port's: the drives' vectors are managed.
    assert_eq!(finding.device(), Some("eth0"));
    assert_eq!(finding.wanted, "0-1,4-15");
    // A wide set leaves the choice to the kernel.
    machine.irqs.iter_mut().for_each(|irq| {
        irq.affinity = Ok(set("0-31"));
        irq.effective = Ok(set("0"));
    });
    assert_eq!(of(&machine, "isolated-cpu-interrupts"), []);
}
