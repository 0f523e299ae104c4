// SPDX-License-Identifier: MIT OR Apache-2.0
//! What verify says of changes that no longer stand.

use super::*;
use crate::{Standing, verify};

fn standings(kernel: &Simulated, medium: &MemoryMedium) -> Vec<Standing> {
    let verified = verify(kernel, journal(medium).transactions()).unwrap();
    verified.into_iter().map(|one| one.standing).collect()
}

#[test]
fn what_stands_is_told_from_what_does_not() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let path = "/proc/sys/net/ipv4/tcp_rmem";
    carry_out(
        &kernel,
        &medium,
        vec![
            file(path, Form::Numbers, "4096 131072 16777216"),
            drive(&kernel, "read_ahead_kb", Form::Number, "4095"),
            drive(&kernel, "nomerges", Form::Number, "2"),
            file("/proc/sys/vm/swappiness", Form::Number, "10"),
        ],
    );
    assert_eq!(standings(&kernel, &medium), vec![Standing::AsSet; 4]);
    kernel.set(path, "4096 131072  16777216\n");
    kernel.other("/proc/sys/vm/swappiness", "33").unwrap();
    let mut expected = vec![Standing::AsSet; 4];
    expected[3] = Standing::Drifted { found: "33".to_owned() };
    assert_eq!(standings(&kernel, &medium), expected);
    let rebooted = kernel.rebooted("another boot");
    assert_eq!(standings(&rebooted, &medium), vec![Standing::Reset; 4]);
}

#[test]
fn an_interrupt_follows_when_one_comes() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    carry_out(&kernel, &medium, vec![interrupt(&kernel, "eth0", 0, 0, "1")]);
    let function = device(&kernel, DeviceKind::Nic, "eth0").function.unwrap();
    let vectors = linux::vectors(&kernel, function);
    let number = vectors.iter().find(|vector| vector.queue == Some(0)).unwrap().number;
    assert!(matches!(standings(&kernel, &medium)[..], [Standing::NotYetEffective { .. }]));
    kernel.interrupt(number);
    assert_eq!(standings(&kernel, &medium), [Standing::AsSet]);
}

#[test]
fn what_goes_with_a_reopened_device_is_lost() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    carry_out(&kernel, &medium, vec![interrupt(&kernel, "eth0", 0, 0, "1")]);
    kernel.other_ethtool("eth0", &Ethtool::Channels, "combined=4").unwrap();
    assert!(matches!(standings(&kernel, &medium)[..], [Standing::LostOnReopen { .. }]));
}

#[test]
fn the_kernel_that_moves_an_interrupt_from_an_offline_cpu_is_nobody() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    carry_out(&kernel, &medium, vec![interrupt(&kernel, "eth0", 0, 0, "7")]);
    let function = device(&kernel, DeviceKind::Nic, "eth0").function.unwrap();
    let vectors = linux::vectors(&kernel, function);
    let number = vectors.iter().find(|vector| vector.queue == Some(0)).unwrap().number;
    kernel.other(&format!("/proc/irq/{number}/smp_affinity_list"), "0-6").unwrap();
    assert!(matches!(standings(&kernel, &medium)[..], [Standing::Drifted { .. }]));
    kernel.set("/sys/devices/system/cpu/online", "0-6\n");
    let found = "0-6".to_owned();
    assert_eq!(standings(&kernel, &medium), [Standing::CpusOffline { found }]);
}

#[test]
fn a_service_that_writes_it_is_named() {
    for (service, path, form, to, other) in [
        ("tuned", "/proc/sys/vm/swappiness", Form::Number, "10", "1"),
        ("tlp", "/proc/sys/kernel/nmi_watchdog", Form::Switch, "off", "1"),
    ] {
        let mut tree = tree();
        tree.file(&format!("/sys/fs/cgroup/system.slice/{service}.service/cgroup.procs"), "1\n");
        let (kernel, medium) = (Simulated::new(tree), MemoryMedium::default());
        carry_out(&kernel, &medium, vec![file(path, form, to)]);
        kernel.other(path, other).unwrap();
        let verified = verify(&kernel, journal(&medium).transactions()).unwrap();
        let Standing::Overridden { by, .. } = &verified[0].standing else {
            panic!("{verified:?}");
        };
        assert!(by == service && verified[0].is_drift());
    }
}

#[test]
fn of_two_changes_of_a_place_the_newer_counts() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let path = "/proc/sys/vm/swappiness";
    for to in ["10", "20"] {
        carry_out(&kernel, &medium, vec![file(path, Form::Number, to)]);
    }
    assert_eq!(standings(&kernel, &medium), [Standing::AsSet]);
}
