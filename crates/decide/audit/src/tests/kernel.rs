// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of the command line.

use machine::Machine;
use setting::{Finding, Goal, Severity};

use super::{made, whole};

const ID: &str = "command-line-overrides";

/// What the catalogue's options make of a command line.
fn found(machine: &Machine, goal: Goal) -> Vec<Finding> {
    whole(machine, goal).into_iter().filter(|finding| finding.id == ID).collect()
}

#[test]
fn idle_poll_is_weighed_by_the_goal() {
    let mut machine = made::healthy();
    made::option(&mut machine, "idle", Some("poll"));
    let severity = |goal| found(&machine, goal)[0].severity;
    assert_eq!(severity(Goal::Throughput), Severity::Low);
    assert_eq!(severity(Goal::Latency), Severity::Note);
    assert_eq!(severity(Goal::Balanced), Severity::Medium);
}

#[test]
fn every_kind_of_override_is_found_by_its_own_name() {
    for (key, value) in [
        ("maxcpus", Some("4")),
        ("nosmt", None),
        ("pcie_aspm", Some("force")),
        ("pcie-aspm", Some("force")),
        ("intel_idle.max_cstate", Some("1")),
        ("processor.max_cstate", Some("1")),
        ("iommu", Some("strict")),
        ("pci", Some("noaer,nomsi")),
        ("clocksource", Some("hpet")),
        ("numa", Some("fake=4")),
    ] {
        let mut machine = made::healthy();
        made::option(&mut machine, key, value);
        let finding = &found(&machine, Goal::Throughput)[0];
        assert!(finding.title.starts_with(key), "{}", finding.title);
        let text = machine.host.command_line.text.split(' ').next_back().unwrap_or_default();
        assert_eq!(finding.evidence[0], setting::Evidence::line("/proc/cmdline", text));
    }
}

#[test]
fn options_that_override_nothing_are_not_named() {
    let mut machine = made::healthy();
    for (key, value) in [
        ("root", Some("/dev/sda1")),
        ("isolcpus", Some("2-3")),
        ("iommu", Some("pt")),
        ("mitigations", Some("off")),
        ("quiet", None),
        ("memory_hotplug", Some("1")),
        ("numa_balancing", Some("off")),
    ] {
        made::option(&mut machine, key, value);
    }
    assert_eq!(found(&machine, Goal::Throughput), []);
}

#[test]
fn the_same_option_twice_is_one_finding() {
    let mut machine = made::healthy();
    made::option(&mut machine, "nosmt", None);
    made::option(&mut machine, "nosmt", None);
    assert_eq!(found(&machine, Goal::Throughput).len(), 1);
}

#[test]
fn options_that_matter_little_are_one_finding_and_those_that_serve_the_goal_another() {
    let mut machine = made::healthy();
    made::option(&mut machine, "idle", Some("poll"));
    made::option(&mut machine, "intel_idle.max_cstate", Some("0"));
    made::option(&mut machine, "numa", Some("off"));
    made::option(&mut machine, "intel_pstate", Some("disable"));
    let found = found(&machine, Goal::Throughput);
    let observed: Vec<&str> = found.iter().map(|finding| finding.observed.as_str()).collect();
    assert_eq!(observed, ["numa=off", "idle=poll intel_pstate=disable", "intel_idle.max_cstate=0"]);
    assert!(found[1].change.is_some());
    // What this goal wants is noted, and nobody is told to take it off.
    assert_eq!((found[2].severity, &found[2].change), (Severity::Note, &None));
}

#[test]
fn an_entry_for_the_value_says_more_than_one_for_any() {
    let mut machine = made::healthy();
    made::option(&mut machine, "intel_idle.max_cstate", Some("0"));
    assert!(found(&machine, Goal::Throughput)[0].because.contains("acpi_idle takes over"));
}

#[test]
fn hidden_nodes_are_no_loss_where_there_is_one_package() {
    let mut machine = made::bare(1, 1, 16, made::Order::Linear);
    made::option(&mut machine, "numa", Some("off"));
    assert_eq!(found(&machine, Goal::Throughput), []);
}
