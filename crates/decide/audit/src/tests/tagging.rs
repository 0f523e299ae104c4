// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tags: each word of the vocabulary holds on some machine or device.

use std::collections::BTreeSet;

use catalogue::Catalogue;
use machine::{Container, DriveKind, Machine, NicKind, PortKind, RdmaDevice};
use setting::{Goal, Observation, Scope, TAGS};

use super::made;
use crate::context::Context;
use crate::tags;

/// Every tag that the machine or any of its devices carries.
fn carried(machine: &Machine, observations: &[Observation]) -> BTreeSet<String> {
    let catalogue = Catalogue::default();
    let context = Context::new(machine, &catalogue, Goal::Throughput, observations);
    let mut all = context.tags.clone();
    for function in &machine.functions {
        all.extend(tags::of_device(&context, Scope::Function, &function.address.to_string()));
    }
    for drive in &machine.drives {
        all.extend(tags::of_device(&context, Scope::Drive, &drive.name));
    }
    for nic in &machine.nics {
        all.extend(tags::of_device(&context, Scope::Nic, &nic.name));
    }
    all
}

/// Machines that between them have everything.
fn zoo() -> Vec<(Machine, Vec<Observation>)> {
    let mut server = made::full();
    server.host.cpu_model = Ok("Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz".into());
    server.acpi.apic_ids = vec![(units::Cpu(0), 300)];
    server.cpus.isolated = made::set("2-3");
    server.drives[0].kind = DriveKind::Sata;
    server.drives[1].kind = DriveKind::Sas;
    server.drives[2].kind = DriveKind::Virtio;
    server.drives[3].rotational = Ok(true);
    let hidden = machine::HiddenBy {
        driver: "megaraid_sas".into(),
        function: made::address(0x13),
        likely: "NVMe drive shown as SCSI disk".into(),
    };
    server.drives[3].hidden_by = Some(hidden);
    server.functions[0].hot_plug = true;
    server.functions[1].port = Some(PortKind::Integrated);
    server.functions[2].driver = Some("vfio-pci".into());
    let rdma = RdmaDevice {
        name: "mlx5_0".into(),
        function: server.nics[0].function,
        node: None,
        ports: vec![],
    };
    server.rdma.push(rdma);
    server.host.hypervisor_host = Some("kvm".into());
    server.nics.push(made::nic("docker0", NicKind::Bridge));

    let mut router = made::bare(1, 1, 64, made::Order::Linear);
    router.host.cpu_vendor = Ok("AuthenticAMD".into());
    router.nics.push(made::nic("eth0", NicKind::Paravirtual));
    made::into_guest(&mut router);
    let forwards = Observation {
        setting: "ip-forward".into(),
        device: None,
        value: Ok("1".into()),
        reason: String::new(),
        evidence: vec![setting::Evidence::quoted("/proc/sys/net/ipv4/ip_forward", "1")],
    };

    let mut old = made::bare(2, 1, 2, made::Order::Linear);
    old.host.cpu_family_model = Ok((6, 23));
    old.host.cpu_model = Ok("Intel(R) Core(TM)2 Quad CPU Q6600".into());
    old.host.container = Container::Yes { name: "docker".into(), sign: "test".into() };
    let mut arm = made::bare(1, 1, 2, made::Order::Linear);
    arm.host.cpu_vendor = Ok("0x48".into());
    vec![(server, vec![]), (router, vec![forwards]), (old, vec![]), (arm, vec![])]
}

#[test]
fn every_tag_of_the_vocabulary_is_given() {
    let mut all = BTreeSet::new();
    for (machine, observations) in zoo() {
        all.extend(carried(&machine, &observations));
    }
    for (tag, _) in TAGS {
        assert!(all.contains(*tag), "nothing carries {tag}");
    }
    assert!(all.contains("driver:mlx5_core") && all.contains("vendor:example"), "{all:?}");
}

#[test]
fn a_healthy_server_carries_what_it_is() {
    let tags = carried(&made::healthy(), &[]);
    for tag in ["bare-metal", "intel", "multi-package", "multi-node", "has-nvme", "fast-nic"] {
        assert!(tags.contains(tag), "{tag}");
    }
    for tag in ["guest", "desktop", "front-side-bus", "many-cpus", "vfio", "rotational"] {
        assert!(!tags.contains(tag), "{tag}");
    }
}
