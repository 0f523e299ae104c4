// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wishes of the catalogue: grouping, tags, unknown values, order.

use catalogue::Catalogue;
use machine::{Fact, Machine, Why};
use setting::{Finding, Goal, Observation, Reboot, Severity};

use super::made;
use crate::{Subject, audit, is_about};

const SCHEDULER: &str = r#"
id = "example-scheduler"
title = "Scheduler"
owner = "os"
scope = "drive"
what = "Orders requests."
trade-off = "None that is known."
reboot = "none"
by-hand = "echo {value} > /sys/block/{device}/queue/scheduler"
[observe]
file = "/sys/block/{drive}/queue/scheduler"
form = "selected"
[wanted.throughput]
one-of = ["none"]
[applies]
when = ["nvme"]
never = ["rotational"]
[[effect]]
text = "Less time a request."
basis = "reasoned"
impact = "low"
source = "Documentation/block"
"#;

fn catalogue() -> Catalogue {
    Catalogue::with_folder([("example-scheduler.toml".into(), SCHEDULER.into())]).unwrap()
}

fn observed(device: &str, value: Fact<&str>) -> Observation {
    Observation {
        setting: "example-scheduler".into(),
        device: Some(device.into()),
        value: value.map(str::to_owned),
        reason: String::new(),
        evidence: vec![setting::Evidence::quoted(
            format!("/sys/block/{device}/queue/scheduler"),
            "none [mq-deadline]",
        )],
    }
}

fn everything(machine: &Machine, observations: &[Observation], goal: Goal) -> Vec<Finding> {
    let catalogue = catalogue();
    audit(&Subject { machine, observations, catalogue: &catalogue, goal }).findings
}

/// What the example's own wish finds.
fn found(machine: &Machine, observations: &[Observation], goal: Goal) -> Vec<Finding> {
    let mut findings = everything(machine, observations, goal);
    findings.retain(|finding| finding.id == "example-scheduler");
    findings
}

#[test]
fn drives_of_which_the_same_is_said_are_one_finding() {
    let machine = made::healthy();
    let observations: Vec<Observation> =
        (0..8).map(|number| observed(&format!("nvme{number}n1"), Ok("mq-deadline"))).collect();
    let findings = found(&machine, &observations, Goal::Throughput);
    let [finding] = findings.as_slice() else { panic!("{findings:#?}") };
    assert_eq!(finding.title, "nvme0n1, nvme1n1 and 6 more: Scheduler is mq-deadline, wanted none");
    assert_eq!((finding.devices.len(), finding.device()), (8, None));
    assert_eq!((finding.severity, finding.cost.as_str()), (Severity::Low, "None that is known."));
    let change = finding.change.as_ref().unwrap();
    assert_eq!((change.to.as_str(), change.reboot), ("none", Reboot::None));
    assert_eq!(change.by_hand[7], "echo none > /sys/block/nvme7n1/queue/scheduler");
    assert!(is_about(finding, &machine, "nvme3n1"));
    assert!(is_about(finding, &machine, "/dev/nvme3n1"));
    assert!(is_about(finding, &machine, "0000:13:00.0"));
    assert!(!is_about(finding, &machine, "eth0"));
}

#[test]
fn the_goal_the_tags_and_the_doubt_are_respected() {
    let mut machine = made::healthy();
    let wrong = [observed("nvme0n1", Ok("mq-deadline"))];
    assert_eq!(found(&machine, &wrong, Goal::Throughput).len(), 1);
    assert_eq!(found(&machine, &wrong, Goal::Latency), []);
    assert_eq!(found(&machine, &[observed("nvme0n1", Ok("none"))], Goal::Throughput), []);
    assert_eq!(found(&machine, &[observed("sda", Ok("mq-deadline"))], Goal::Throughput), []);
    assert_eq!(found(&machine, &[observed("nvme0n1", Err(Why::Denied))], Goal::Throughput), []);
    machine.drives[0].rotational = Ok(true);
    assert_eq!(found(&machine, &wrong, Goal::Throughput), []);
}

#[test]
fn what_is_unknown_stays_in_the_settings() {
    let machine = made::healthy();
    let catalogue = catalogue();
    let observations = [observed("nvme0n1", Err(Why::Denied))];
    let goal = Goal::Throughput;
    let audit = audit(&Subject {
        machine: &machine,
        observations: &observations,
        catalogue: &catalogue,
        goal,
    });
    assert_eq!(audit.settings[0].value, Err(Why::Denied));
}

#[test]
fn a_hostile_name_becomes_no_command() {
    let mut machine = made::healthy();
    machine.drives[0].name = "nvme0n1;reboot".into();
    let findings =
        found(&machine, &[observed("nvme0n1;reboot", Ok("mq-deadline"))], Goal::Throughput);
    assert!(findings[0].change.as_ref().unwrap().by_hand.is_empty());
}

#[test]
fn the_order_is_by_severity_then_by_what_is_known() {
    let mut machine = made::bare(1, 4, 8, made::Order::RoundRobin);
    made::add_port(&mut machine, made::Place { number: 0, node: 2 }, 100, &made::set("0-31"));
    made::option(&mut machine, "nosmt", None);
    let observations = [];
    let findings = everything(&machine, &observations, Goal::Throughput);
    let severities: Vec<Severity> = findings.iter().map(|finding| finding.severity).collect();
    let mut sorted = severities.clone();
    sorted.sort_by(|a, b| b.cmp(a));
    assert_eq!(severities, sorted);
    assert_eq!(findings[0].id, "nic-irq-placement");
}
