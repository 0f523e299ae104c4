// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings seen on trees in memory.

use root::MemoryRoot;
use setting::{Applies, Observe, Owner, Reboot, Wanted};

use super::*;

fn setting(scope: Scope, form: Form, file: &str) -> Setting {
    Setting {
        id: "s".to_owned(),
        title: String::new(),
        owner: Owner::Os,
        scope,
        what: String::new(),
        observe: Observe { file: Some(file.to_owned()), form, ..Observe::default() },
        values: Vec::new(),
        range: None,
        wanted: Wanted::default(),
        kept: Wanted::default(),
        applies: Applies::default(),
        trade_off: String::new(),
        effect: Vec::new(),
        reboot: Reboot::None,
        by_hand: None,
        conflicts: Vec::new(),
        after: Vec::new(),
        write: None,
        vendors: Vec::new(),
    }
}

fn cpus(list: &str) -> Machine {
    let mut machine = Machine::default();
    machine.cpus.online = CpuSet::from_list(list).unwrap();
    machine
}

fn values(found: &[Observation]) -> Vec<(Option<&str>, Option<&str>)> {
    found.iter().map(|o| (o.device.as_deref(), o.value.as_deref().ok())).collect()
}

#[test]
fn cpus_that_agree_are_one_observation() {
    let mut root = MemoryRoot::new();
    let file = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
    for cpu in 0..80 {
        let governor = if cpu == 7 { "powersave\n" } else { "performance\n" };
        root.file(&file(cpu), governor);
    }
    root.refuse(&file(9), Why::Denied);
    let pattern = "/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor";
    let found = observe(&root, &cpus("0-79"), &[setting(Scope::Cpu, Form::Text, pattern)]);
    let expected = [
        (Some("cpu 0-6,8,10-79"), Some("performance")),
        (Some("cpu 7"), Some("powersave")),
        (Some("cpu 9"), None),
    ];
    assert_eq!(values(&found), expected);
    assert_eq!(found[1].evidence, [Evidence::quoted(file(7), "powersave")]);
    assert_eq!(found[2].value, Err(Why::Denied));
}

#[test]
fn what_no_device_has_is_one_absence() {
    let found = observe(
        &MemoryRoot::new(),
        &cpus("0-1023"),
        &[setting(Scope::Cpu, Form::Text, "/sys/cpu{cpu}/x")],
    );
    assert_eq!(values(&found), [(None, None)]);
    assert_eq!(found[0].value, Err(Why::Absent));
    assert_eq!(found[0].evidence, [Evidence::file("/sys/cpu0/x").meaning("absent")]);
    let none = observe(
        &MemoryRoot::new(),
        &Machine::default(),
        &[setting(Scope::Drive, Form::Text, "/sys/block/{drive}/x")],
    );
    assert_eq!(none, []);
}

#[test]
fn values_are_canonical_or_unparsed() {
    let mut root = MemoryRoot::new();
    root.file("/proc/sys/a", "4096\t131072\t6291456\n")
        .file("/proc/sys/b", "always [madvise] never\n")
        .file("/proc/sys/c", "many\n")
        .file("/proc/sys/d", "x".repeat(1000));
    let settings = [
        setting(Scope::Machine, Form::Numbers, "/proc/sys/a"),
        setting(Scope::Machine, Form::Selected, "/proc/sys/b"),
        setting(Scope::Machine, Form::Number, "/proc/sys/c"),
        setting(Scope::Machine, Form::Text, "/proc/sys/d"),
    ];
    let found = observe(&root, &Machine::default(), &settings);
    assert_eq!(found[0].value.as_deref(), Ok("4096 131072 6291456"));
    let content = |at: usize| found[at].evidence[0].content.as_deref();
    assert_eq!(content(0), Some("4096\t131072\t6291456"));
    assert_eq!(found[1].value.as_deref(), Ok("madvise"));
    assert_eq!(found[2].value, Err(Why::Unparsed("many".to_owned())));
    assert_eq!(content(3).map(str::len), Some(MAX_CONTENT));
}

#[test]
fn files_behind_a_star_are_told_apart_only_where_they_differ() {
    let mut root = MemoryRoot::new();
    root.file("/sys/uncore/package_00_die_00/max", "2400000\n")
        .file("/sys/uncore/package_01_die_00/max", "2400000\n")
        .folder("/sys/uncore/package_02_die_00");
    let settings = [setting(Scope::Machine, Form::Number, "/sys/uncore/*/max")];
    let same = observe(&root, &Machine::default(), &settings);
    assert_eq!(values(&same), [(None, Some("2400000"))]);
    root.file("/sys/uncore/package_01_die_00/max", "1600000\n");
    let differ = observe(&root, &Machine::default(), &settings);
    assert_eq!(values(&differ), [(None, Some("2400000")), (None, Some("1600000"))]);
    assert_eq!(differ[1].evidence[0].path, "/sys/uncore/package_01_die_00/max");
}

#[test]
fn paths_of_a_head_are_told_by_its_name() {
    for (disk, head, is_path) in [
        ("nvme0c1n1", "nvme0n1", true),
        ("nvme0c12n1", "nvme0n1", true),
        ("nvme10c1n1", "nvme0n1", false),
        ("nvme0c1n2", "nvme0n1", false),
        ("nvme0n1", "nvme0n1", false),
        ("sda", "nvme0n1", false),
    ] {
        assert_eq!(is_path_of(disk, head), is_path, "{disk} {head}");
    }
}
