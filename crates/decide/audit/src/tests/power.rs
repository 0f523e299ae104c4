// SPDX-License-Identifier: MIT OR Apache-2.0
//! Defaults that somebody has moved: turbo, threads, cores, limits of clocks.

use machine::{FrequencyPolicy, Machine, Uncore, Why};
use setting::{Confidence, Finding, Goal, Owner, Reboot, Severity};

use super::{made, whole};

/// What the whole catalogue finds under one id.
fn found(machine: &Machine, id: &str, goal: Goal) -> Vec<Finding> {
    whole(machine, goal).into_iter().filter(|finding| finding.id == id).collect()
}

/// A healthy machine with a frequency driver.
fn with_driver(driver: &str, flag: &str) -> Machine {
    let mut machine = made::full();
    machine.power.policies[0] = FrequencyPolicy {
        driver: driver.into(),
        governor: "performance".into(),
        ..machine.power.policies[0].clone()
    };
    machine.host.cpu_flags.push(flag.into());
    machine.power.turbo = Ok(true);
    machine
}

#[test]
fn turbo_off_names_who_switched_it() {
    let id = "turbo-boost";
    for (driver, flag) in [
        ("intel_pstate", "ida"),
        ("intel_cpufreq", "ida"),
        ("amd-pstate-epp", "cpb"),
        ("acpi-cpufreq", "ida"),
    ] {
        let mut machine = with_driver(driver, flag);
        assert_eq!(found(&machine, id, Goal::Throughput), [], "{driver}");
        machine.power.turbo = Ok(false);
        let finding = found(&machine, id, Goal::Throughput).remove(0);
        assert_eq!((finding.owner, finding.severity), (Owner::Os, Severity::Medium));
        let evidence = &finding.evidence[0];
        assert!(evidence.path.ends_with("no_turbo"), "{driver}");
        assert!(evidence.or.as_ref().is_some_and(|path| path.ends_with("boost")), "{driver}");
        assert!(finding.change.is_some_and(|change| change.reboot == Reboot::None));
        assert_eq!(found(&machine, id, Goal::Latency)[0].severity, Severity::Low);
        assert_eq!(found(&machine, id, Goal::Balanced), []);
        // Without the flag the firmware did it, or the part has none.
        machine.host.cpu_flags.retain(|known| known != flag);
        let finding = found(&machine, id, Goal::Throughput).remove(0);
        assert_eq!((finding.owner, finding.confidence), (Owner::Bios, Confidence::Likely));
        let change = finding.change.unwrap();
        assert_eq!((change.reboot, change.by_hand.len()), (Reboot::Reboot, 0));
        made::into_guest(&mut machine);
        assert_eq!(found(&machine, id, Goal::Throughput), [], "{driver}");
    }
    let mut absent = with_driver("intel_pstate", "ida");
    absent.power.turbo = Err(Why::Absent);
    assert_eq!(found(&absent, id, Goal::Throughput), []);
}

#[test]
fn threads_and_cores_that_are_off_are_named_by_who_can_bring_them_back() {
    let mut machine = made::healthy();
    machine.cpus.smt.state = "off".into();
    machine.cpus.offline = made::set("32-63");
    let finding = found(&machine, "logical-processor", Goal::Throughput).remove(0);
    assert_eq!((finding.owner, finding.severity), (Owner::Os, Severity::Low));
    assert_eq!(found(&machine, "logical-processor", Goal::Latency), []);
    // The CPUs that are offline are those second threads.
    assert_eq!(found(&machine, "cores-per-processor", Goal::Throughput), []);

    let mut machine = made::healthy();
    machine.cpus.offline = made::set("32-63");
    let finding = found(&machine, "cores-per-processor", Goal::Throughput).remove(0);
    assert_eq!(finding.observed, "32 of 64 CPUs (os)");
    assert_eq!(finding.change.unwrap().reboot, Reboot::None);
    assert_eq!(found(&machine, "logical-processor", Goal::Throughput), []);
}

#[test]
fn a_clock_limit_below_the_hardware_is_found() {
    let id = "max-frequency";
    for (max, severity) in [
        (3_900_000, None),
        (3_850_000, None),
        (3_500_000, Some(Severity::Low)),
        (2_000_000, Some(Severity::Medium)),
    ] {
        let mut machine = with_driver("intel_pstate", "ida");
        machine.power.policies[0].max_khz = Ok(max);
        let seen = found(&machine, id, Goal::Throughput);
        assert_eq!(seen.first().map(|finding| finding.severity), severity, "{max}");
        assert_eq!(found(&machine, id, Goal::Balanced), []);
        made::into_guest(&mut machine);
        assert_eq!(found(&machine, id, Goal::Throughput), []);
    }
}

#[test]
fn an_uncore_below_its_clock_at_boot_is_found_and_a_raised_floor_is_not() {
    let domain = |name: &str, min, max| Uncore {
        name: name.into(),
        agents: Err(Why::Absent),
        min_khz: Ok(min),
        max_khz: Ok(max),
        initial_min_khz: Ok(800_000),
        initial_max_khz: Ok(2_400_000),
    };
    let mut machine = made::healthy();
    machine.power.uncore = vec![domain("uncore00", 2_400_000, 2_400_000)];
    assert_eq!(found(&machine, "uncore-max-frequency", Goal::Throughput), []);
    machine.power.uncore.push(domain("uncore01", 800_000, 1_600_000));
    let finding = found(&machine, "uncore-max-frequency", Goal::Throughput).remove(0);
    assert_eq!(
        finding.title,
        "The uncore clock is held to 1600 MHz in 1 of 2 domains; it was 2400 MHz at boot"
    );
    let change = finding.change.unwrap();
    let path = "/sys/devices/system/cpu/intel_uncore_frequency/uncore01/max_freq_khz";
    assert_eq!(change.by_hand, [format!("echo 2400000 > {path}")]);
    machine.power.uncore[1].min_khz = Ok(1_600_000);
    let finding = found(&machine, "uncore-max-frequency", Goal::Throughput).remove(0);
    assert!(finding.title.starts_with("The uncore clock is fixed at 1600 MHz"));
    machine.power.uncore[1].initial_max_khz = Err(Why::Absent);
    assert_eq!(found(&machine, "uncore-max-frequency", Goal::Throughput), []);
}
