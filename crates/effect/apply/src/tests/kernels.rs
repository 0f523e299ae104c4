// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel does with a write, each as it was measured, and what is made of it.

use super::*;
use units::CpuSet;

fn outcome(kernel: &Simulated, changes: Vec<Planned>) -> Vec<Outcome> {
    let medium = MemoryMedium::default();
    let receipts = apply(kernel, &mut journal(&medium), &plan(changes), &keep_going()).unwrap();
    let outcomes = receipts.receipts.into_iter().map(|receipt| receipt.outcome).collect();
    take_back(kernel, &medium);
    assert_eq!(left(kernel), [""; 0]);
    outcomes
}

fn one(kernel: &Simulated, change: Planned) -> Outcome {
    outcome(kernel, vec![change]).swap_remove(0)
}

fn errno(name: &str) -> String {
    name.to_owned()
}

#[test]
fn a_write_that_was_taken_may_round_or_drop() {
    let kernel = kernel();
    let rounded = |came: &str| Outcome::Rounded { came: came.to_owned() };
    let knob = |knob, to| one(&kernel, drive(&kernel, knob, Form::Number, to));
    assert_eq!(knob("read_ahead_kb", "4095"), rounded("4092"));
    assert_eq!(knob("nomerges", "7"), rounded("1"));
    assert_eq!(knob("rq_affinity", "3"), Outcome::Dropped);
    let entries = file("/proc/sys/net/core/rps_sock_flow_entries", Form::Number, "1000");
    assert_eq!(one(&kernel, entries), rounded("1024"));
    let flows = queue(&kernel, "eth0", "rx-0/rps_flow_cnt", Form::Number, "1000");
    assert_eq!(one(&kernel, flows), rounded("1024"));
}

#[test]
fn a_mask_of_offline_cpus_reads_nothing() {
    let mut tree = tree();
    tree.file("/sys/devices/system/cpu/online", "0-5\n");
    let kernel = Simulated::new(tree);
    let medium = MemoryMedium::default();
    let change = queue(&kernel, "eth0", "tx-0/xps_cpus", Form::CpuMask, "6-7");
    let receipts =
        apply(&kernel, &mut journal(&medium), &plan(vec![change]), &keep_going()).unwrap();
    let outcome = &receipts.receipts[0].outcome;
    let is_empty = matches!(outcome, Outcome::Rounded { came } if came.is_empty());
    assert!(is_empty || *outcome == Outcome::Dropped, "{outcome:?}");
}

#[test]
fn a_write_that_was_refused_says_what_the_kernel_said() {
    let kernel = kernel();
    let refused = |name: &str| Outcome::Refused { errno: errno(name) };
    let knob = |knob, to| one(&kernel, drive(&kernel, knob, Form::Number, to));
    assert_eq!(knob("io_poll", "1"), refused("EINVAL"));
    assert_eq!(knob("max_sectors_kb", "100000"), refused("EINVAL"));
    assert_eq!(knob("nr_requests", "100000"), refused("EINVAL"));
    assert_eq!(
        one(&kernel, drive(&kernel, "scheduler", Form::Selected, "bogus")),
        refused("EINVAL")
    );
    let bbr = file("/proc/sys/net/ipv4/tcp_congestion_control", Form::Text, "bbr");
    assert_eq!(one(&kernel, bbr), Outcome::Unsupported { errno: errno("ENOENT") });
    let bytes = file("/proc/sys/vm/dirty_bytes", Form::Number, "4096");
    assert_eq!(one(&kernel, bytes), refused("EINVAL"));
    let absent = file("/proc/sys/vm/no_such_knob", Form::Number, "1");
    assert_eq!(one(&kernel, absent), Outcome::Unsupported { errno: errno("ENOENT") });
    let channels = nic(&kernel, "eth0", Ethtool::Channels, "combined=64");
    assert_eq!(one(&kernel, channels), refused("EINVAL"));
    let moderation = nic(&kernel, "eth1", Ethtool::Coalescing, "rx-usecs=3");
    assert_eq!(one(&kernel, moderation), Outcome::Unsupported { errno: errno("EOPNOTSUPP") });
}

#[test]
fn interrupts_answer_as_they_were_measured() {
    let kernel = kernel();
    let place = |to: &str| one(&kernel, interrupt(&kernel, "eth0", 0, 0, to));
    let refused = |name: &str| Outcome::Refused { errno: errno(name) };
    assert_eq!(place("2"), Outcome::Applied);
    assert_eq!(place("0-6:2/3"), Outcome::Applied);
    assert_eq!(place("8"), refused("ERANGE"));
    let mut tree = tree();
    tree.file("/sys/devices/system/cpu/online", "0-5\n");
    let some_offline = Simulated::new(tree);
    let place = |to: &str| {
        let change = interrupt(&some_offline, "eth0", 0, 0, to);
        let medium = MemoryMedium::default();
        let plan = plan(vec![change]);
        let receipts = apply(&some_offline, &mut journal(&medium), &plan, &keep_going()).unwrap();
        receipts.receipts[0].outcome.clone()
    };
    assert_eq!(place("7"), refused("EINVAL"));
    assert_eq!(place("5,7"), Outcome::Applied);
    for (path, mask) in [("smp_affinity", "0"), ("smp_affinity", "00000000,00000010")] {
        let irq =
            linux::vectors(&kernel, device(&kernel, DeviceKind::Nic, "eth0").function.unwrap());
        let path = format!("/proc/irq/{}/{path}", irq[0].number);
        let expected = if mask == "0" { "EINVAL" } else { "EOVERFLOW" };
        let error = kernel.other(&path, mask).unwrap_err();
        assert_eq!(crate::errno::name(error), expected);
        assert_eq!(kernel.other(&path, ""), Ok(()));
    }
}

/// The admin vector of an NVMe drive can be moved, those of its queues cannot.
#[test]
fn managed_vectors_are_left_whatever_they_answer() {
    for mode in [0o444, 0o644] {
        let mut tree = tree();
        let kernel = Simulated::new(tree.clone());
        let drive = device(&kernel, DeviceKind::Drive, "nvme0n1");
        let vectors = linux::vectors(&kernel, drive.function.unwrap());
        for vector in vectors.iter().filter(|vector| vector.queue.is_some_and(|queue| queue > 0)) {
            let path = format!("/proc/irq/{}/smp_affinity_list", vector.number);
            let text = read(&kernel, &path);
            tree.file_with_mode(&path, format!("{text}\n"), mode);
        }
        let kernel = Simulated::new(tree);
        let place = |queue| Place::Interrupt { queue, ordinal: 0 };
        let change =
            |queue, to: &str| planned(Some(drive.clone()), place(queue), Form::CpuList, to);
        let managed = vectors.iter().find(|vector| vector.queue == Some(1)).unwrap();
        let own = read(&kernel, &format!("/proc/irq/{}/smp_affinity_list", managed.number));
        let to = if own == "0" { "1" } else { "0" };
        let medium = MemoryMedium::default();
        let receipts = carry_out(&kernel, &medium, vec![change(Some(1), to)]);
        assert_eq!(receipts.receipts[0].outcome, Outcome::Managed, "{mode:o}");
        assert_eq!(receipts.ending, Ending::Done);
        assert_eq!(kernel.writes(), [""; 0]);
    }
}

#[test]
fn a_full_cpu_gives_its_vector_to_the_next_of_its_node() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    kernel.fill_vectors(CpuSet::from_list("4-5").unwrap());
    let receipts = carry_out(&kernel, &medium, vec![interrupt(&kernel, "eth0", 1, 0, "4")]);
    let receipt = &receipts.receipts[0];
    assert_eq!(receipt.outcome, Outcome::Rounded { came: "6".to_owned() });
    let note = receipt.note.as_deref().unwrap();
    assert_eq!(note, "CPU 4 has no interrupt vector left; CPU 6 is of its node");
    // It is all that there is: the same again changes nothing, and fails nothing.
    let again = carry_out(&kernel, &medium, vec![interrupt(&kernel, "eth0", 1, 0, "4")]);
    assert_eq!((&again.receipts[0].outcome, again.ending), (&Outcome::Equal, Ending::Done));
    let again = || {
        kernel.fill_vectors(CpuSet::new());
        take_back(&kernel, &medium);
        kernel.fill_vectors(CpuSet::from_list("4-5").unwrap());
    };
    again();
    // CPUs that somebody keeps quiet get none.
    kernel.set("/sys/devices/system/cpu/isolated", "6\n");
    kernel.set("/sys/devices/system/cpu/nohz_full", "(null)\n");
    let receipts = carry_out(&kernel, &medium, vec![interrupt(&kernel, "eth0", 1, 0, "4")]);
    assert_eq!(receipts.receipts[0].outcome, Outcome::Rounded { came: "7".to_owned() });
    again();
    kernel.set("/sys/devices/system/cpu/nohz_full", "6-7\n");
    let receipts = apply(
        &kernel,
        &mut journal(&MemoryMedium::default()),
        &plan(vec![interrupt(&kernel, "eth0", 1, 0, "4")]),
        &keep_going(),
    );
    let refused = Outcome::Refused { errno: errno("ENOSPC") };
    assert_eq!(receipts.unwrap().receipts[0].outcome, refused);
}

#[test]
fn a_preference_under_the_performance_governor_is_busy() {
    let kernel = kernel();
    let policy = "/sys/devices/system/cpu/cpufreq/policy0";
    kernel.other(&format!("{policy}/scaling_governor"), "performance").unwrap();
    let preference = format!("{policy}/energy_performance_preference");
    let medium = MemoryMedium::default();
    let change = file(&preference, Form::Text, "power");
    let receipts = carry_out(&kernel, &medium, vec![change]);
    let busy = Outcome::Busy { errno: errno("EBUSY") };
    assert_eq!((&receipts.receipts[0].outcome, receipts.ending), (&busy, Ending::Undone));
}

#[test]
fn a_floor_above_the_ceiling_waits_for_it() {
    let kernel = kernel();
    let uncore = "/sys/devices/system/cpu/intel_uncore_frequency/package_00_die_00";
    kernel.set(&format!("{uncore}/max_freq_khz"), "1000000\n");
    let change = |name: &str, to| file(&format!("{uncore}/{name}"), Form::Number, to);
    let medium = MemoryMedium::default();
    let changes = vec![change("min_freq_khz", "2000000"), change("max_freq_khz", "2000000")];
    let receipts = carry_out(&kernel, &medium, changes);
    assert_eq!(receipts.ending, Ending::Done, "{receipts:?}");
    assert!(receipts.receipts.iter().all(|receipt| receipt.outcome == Outcome::Applied));
    let reverted = take_back(&kernel, &medium);
    assert!(reverted.iter().all(|one| one.undone == Undone::Restored), "{reverted:?}");
    assert_eq!(read(&kernel, &format!("{uncore}/max_freq_khz")), "1000000");
    assert_eq!(read(&kernel, &format!("{uncore}/min_freq_khz")), "800000");
}

#[test]
fn the_pairs_that_zero_each_other_come_back_both_ways() {
    for (path, to, start) in [
        ("dirty_bytes", "1073741824", None),
        ("dirty_ratio", "40", None),
        ("dirty_ratio", "40", Some(("dirty_bytes", "500000000"))),
        ("dirty_bytes", "1073741824", Some(("dirty_ratio", "0"))),
        ("dirty_background_bytes", "65536", None),
    ] {
        let (kernel, medium) = (kernel(), MemoryMedium::default());
        let vm = |name: &str| format!("/proc/sys/vm/{name}");
        if let Some((name, value)) = start {
            kernel.other(&vm(name), value).unwrap();
        }
        let all = || {
            ["dirty_bytes", "dirty_ratio", "dirty_background_bytes", "dirty_background_ratio"]
                .map(|name| read(&kernel, &vm(name)))
        };
        let before = all();
        let receipts = carry_out(&kernel, &medium, vec![file(&vm(path), Form::Number, to)]);
        assert_eq!(receipts.receipts[0].outcome, Outcome::Applied);
        let reverted = take_back(&kernel, &medium);
        assert!(reverted.iter().all(|one| !one.is_stuck()), "{path} {start:?}: {reverted:?}");
        assert_eq!(all(), before, "{path} {start:?}");
    }
}

#[test]
fn a_scheduler_takes_its_requests_along_and_brings_them_back() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let requests = || read(&kernel, &format!("{QUEUE}/nr_requests"));
    kernel.other(&format!("{QUEUE}/nr_requests"), "4").unwrap();
    let receipts =
        carry_out(&kernel, &medium, vec![drive(&kernel, "scheduler", Form::Selected, "kyber")]);
    assert_eq!((receipts.ending, requests().as_str()), (Ending::Done, "256"));
    take_back(&kernel, &medium);
    assert_eq!(requests(), "4");
    assert_eq!(read(&kernel, &format!("{QUEUE}/scheduler")), "none [mq-deadline] kyber bfq");
}

#[test]
fn a_depth_that_follows_one_write_late_comes_back() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let depth = format!("{QUEUE}/iosched/async_depth");
    kernel.set(&depth, "64\n");
    let receipts =
        carry_out(&kernel, &medium, vec![drive(&kernel, "nr_requests", Form::Number, "32")]);
    assert_eq!(receipts.receipts[0].outcome, Outcome::Applied);
    take_back(&kernel, &medium);
    assert_eq!(read(&kernel, &format!("{QUEUE}/nr_requests")), "64");
    assert_eq!(read(&kernel, &depth), "64");
}

#[test]
fn features_that_fall_with_another_rise_with_it() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let told = || kernel.ethtool("eth0", &Ethtool::Features).unwrap();
    let before = told();
    carry_out(&kernel, &medium, vec![nic(&kernel, "eth0", Ethtool::Features, "sg=off")]);
    assert!(told().contains("tx-generic-segmentation=off/on"), "{}", told());
    take_back(&kernel, &medium);
    assert_eq!(told(), before);
}

/// Drivers drop the rules of flow steering when their feature goes off.
#[test]
fn rules_of_others_are_not_lost_with_flow_steering() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let set = |value: &str| nic(&kernel, "eth0", Ethtool::Features, value);
    carry_out(&kernel, &medium, vec![set("ntuple=on")]);
    kernel.other_flow_rules("eth0", 2);
    let writes = kernel.writes().len();
    let refused = carry_out(&kernel, &medium, vec![set("sg=off"), set("ntuple=off")]);
    let receipt = refused.receipts.iter().find(|one| one.wanted == "ntuple=off").unwrap();
    assert_eq!(receipt.outcome, Outcome::Busy { errno: errno("EBUSY") });
    let why = "2 rules of flow steering would be lost with it: look with `ethtool -n eth0`";
    assert_eq!(receipt.note.as_deref(), Some(why));
    let reverted = take_back(&kernel, &medium);
    let Undone::Failed { why: told } = &reverted[0].undone else { panic!("{reverted:?}") };
    assert!(told.ends_with(why), "{told}");
    assert_eq!((kernel.writes().len(), kernel.flow_rules("eth0")), (writes, Ok(2)));
    kernel.other_flow_rules("eth0", 0);
    take_back(&kernel, &medium);
    assert_eq!(left(&kernel), [""; 0]);
}

#[test]
fn smt_that_is_not_there_is_unsupported() {
    let kernel = kernel();
    let control = "/sys/devices/system/cpu/smt/control";
    kernel.set(control, "notsupported\n");
    let medium = MemoryMedium::default();
    let plan = plan(vec![file(control, Form::Text, "off")]);
    let receipts = apply(&kernel, &mut journal(&medium), &plan, &keep_going()).unwrap();
    let unsupported = Outcome::Unsupported { errno: errno("ENODEV") };
    assert_eq!(receipts.receipts[0].outcome, unsupported);
}
