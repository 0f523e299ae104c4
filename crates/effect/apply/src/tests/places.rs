// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places that are no files, and those that may not be written.

use super::*;

#[test]
fn the_largest_read_request_changes_three_bits() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let function = device(&kernel, DeviceKind::Drive, "nvme0n1").function.unwrap();
    let own = Device {
        name: function.to_string(),
        kind: DeviceKind::Function,
        function: Some(function),
        serial: None,
        port: None,
    };
    let config = format!("/sys/bus/pci/devices/{function}/config");
    let before = root::Root::read(&kernel, &config).unwrap();
    let change = |to: &str| planned(Some(own.clone()), Place::MaxReadRequest, Form::Number, to);
    let receipts = carry_out(&kernel, &medium, vec![change("512")]);
    assert_eq!(receipts.receipts[0].outcome, Outcome::Applied, "{receipts:?}");
    let after = root::Root::read(&kernel, &config).unwrap();
    let differing: Vec<usize> = (0..before.len()).filter(|at| before[*at] != after[*at]).collect();
    assert_eq!(differing.len(), 1);
    let bits = before[differing[0]] ^ after[differing[0]];
    assert_eq!(bits & !0x70, 0, "{bits:#x}");
    take_back(&kernel, &medium);
    assert_eq!(root::Root::read(&kernel, &config).unwrap(), before);
    for odd in ["100", "8192", "many"] {
        let plan = plan(vec![change(odd)]);
        let receipts = apply(&kernel, &mut journal(&medium), &plan, &options()).unwrap();
        let refused = Outcome::Refused { errno: "EINVAL".to_owned() };
        assert_eq!((&receipts.receipts[0].outcome, receipts.ending), (&refused, Ending::Undone));
    }
}

#[test]
fn a_plan_writes_nothing_but_knobs() {
    let kernel = kernel();
    for path in
        ["/etc/passwd", "/proc/1/oom_score_adj", "/sys/../etc/shadow", "/proc/sysrq-trigger"]
    {
        kernel.set(path, "x\n");
        let medium = MemoryMedium::default();
        let receipts = carry_out(&kernel, &medium, vec![file(path, Form::Text, "1")]);
        let denied = Outcome::Denied { errno: "EPERM".to_owned() };
        assert_eq!(receipts.receipts[0].outcome, denied, "{path}");
        assert_eq!(receipts.ending, Ending::Undone);
    }
    let unit = Place::Service { unit: "--now".to_owned() };
    let receipts = carry_out(
        &kernel,
        &MemoryMedium::default(),
        vec![planned(None, unit, Form::Text, "stopped")],
    );
    assert_eq!(receipts.receipts[0].outcome, Outcome::Denied { errno: "EPERM".to_owned() });
    assert_eq!(kernel.writes(), [""; 0]);
}

#[test]
fn what_guards_the_machine_is_not_written_by_way_of_a_star() {
    let kernel = kernel();
    for (file_path, pattern) in [
        (
            "/proc/sys/net/ipv4/conf/all/secure_redirects",
            "/proc/sys/net/ipv4/conf/all/secure_redirect*",
        ),
        ("/proc/sys/net/ipv4/conf/all/rp_filter", "/proc/sys/net/ipv4/conf/all/*"),
        ("/proc/sys/kernel/yama/ptrace_scope", "/proc/sys/kernel/*/ptrace_scope"),
        ("/sys/module/firmware_class/parameters/path", "/sys/module/*/parameters/path"),
    ] {
        kernel.set(file_path, "1\n");
        let medium = MemoryMedium::default();
        let receipts = carry_out(&kernel, &medium, vec![file(pattern, Form::Text, "0")]);
        assert!(!receipts.receipts[0].outcome.is_well(), "{pattern}: {receipts:?}");
    }
    assert_eq!(kernel.writes(), [""; 0]);
}

#[test]
fn without_systemd_a_service_is_unsupported() {
    let kernel = Simulated::new(tree());
    let unit = Place::Service { unit: "irqbalance.service".to_owned() };
    let change = planned(None, unit, Form::Text, "stopped");
    let receipts = carry_out(&kernel, &MemoryMedium::default(), vec![change]);
    let unsupported = Outcome::Unsupported { errno: "EOPNOTSUPP".to_owned() };
    assert_eq!(receipts.receipts[0].outcome, unsupported);
}

#[test]
fn a_failure_takes_the_others_back_or_leaves_them() {
    let changes = |kernel: &Simulated| {
        vec![
            file("/proc/sys/vm/swappiness", Form::Number, "10"),
            drive(kernel, "nomerges", Form::Number, "2"),
            drive(kernel, "io_poll", Form::Number, "1"),
            file("/proc/sys/vm/stat_interval", Form::Number, "10"),
        ]
    };
    let (kernel1, medium) = (kernel(), MemoryMedium::default());
    let receipts = carry_out(&kernel1, &medium, changes(&kernel1));
    assert_eq!((receipts.ending, receipts.receipts.len()), (Ending::Undone, 3));
    assert_eq!(left(&kernel1), [""; 0]);
    assert_eq!(journal(&medium).transactions(), []);
    let kernel2 = kernel();
    let plan = plan(changes(&kernel2));
    let receipts = apply(&kernel2, &mut journal(&medium), &plan, &keep_going()).unwrap();
    assert_eq!((receipts.ending, receipts.receipts.len()), (Ending::Done, 4));
    assert_eq!(read(&kernel2, "/proc/sys/vm/stat_interval"), "10");
    take_back(&kernel2, &medium);
    assert_eq!(left(&kernel2), [""; 0]);
}

#[test]
fn a_drive_behind_several_paths_is_written_on_each() {
    let mut tree = tree();
    for path in ["nvme0c0n1", "nvme0c1n1"] {
        tree.file(&format!("/sys/block/{path}/queue/nomerges"), "0\n");
    }
    let (kernel, medium) = (Simulated::new(tree), MemoryMedium::default());
    let receipts = carry_out(&kernel, &medium, vec![drive(&kernel, "nomerges", Form::Number, "2")]);
    let paths: Vec<&str> = receipts.receipts.iter().map(|receipt| receipt.path.as_str()).collect();
    let expected = ["/sys/block/nvme0c0n1/queue/nomerges", "/sys/block/nvme0c1n1/queue/nomerges"];
    assert_eq!(paths, expected);
    take_back(&kernel, &medium);
    assert_eq!(kernel.differences(), [""; 0]);
}
