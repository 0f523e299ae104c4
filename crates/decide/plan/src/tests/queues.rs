// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spread of received packets, flows that follow their readers, and queues that are yet to come.

use machine::{Carries, Feature, ReceiveSpread};
use setting::{Ethtool, Planned};

use super::*;

const SPREAD: &str = "nic-receive-spread";

/// A port whose table has 128 entries over these queues in turn.
fn with_table(queues: u32, named: &[u32]) -> Machine {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, queues);
    let table = named.iter().copied().cycle().take(128).collect();
    machine.nics[0].receive_spread = Ok(ReceiveSpread { queues: Some(queues), table });
    machine
}

fn of<'a>(plan: &'a Plan, setting: &str) -> Vec<&'a Planned> {
    plan.changes.iter().filter(|one| one.setting == setting).collect()
}

/// Settings about channels and their spread, in the order in which they are written.
fn order(plan: &Plan) -> Vec<(&str, &str)> {
    let is_it = |one: &&Planned| {
        matches!(one.place, Place::Ethtool { what: Ethtool::Channels | Ethtool::ReceiveSpread })
    };
    plan.changes.iter().filter(is_it).map(|one| (one.setting.as_str(), one.to.as_str())).collect()
}

#[test]
fn a_table_that_leaves_queues_out_is_made_even() {
    let plan = planned(&with_table(8, &[0, 1, 2, 3]), &[], &goal());
    let [change] = of(&plan, SPREAD)[..] else { panic!("{:?}", settings(&plan)) };
    assert_eq!((change.from.as_deref(), change.to.as_str()), (Ok("4"), "8"));
    assert_eq!(change.drops_link, None);
    let even = with_table(8, &[0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(of(&planned(&even, &[], &goal()), SPREAD).is_empty());
    // Queues may be kept for flows that rules steer.
    let mut steered = with_table(8, &[0, 1, 2, 3]);
    let filter = "rx-ntuple-filter".to_owned();
    let filter = Feature { name: filter, active: true, wanted: true, fixed: false };
    steered.nics[0].features = Ok(vec![filter]);
    assert!(of(&planned(&steered, &[], &goal()), SPREAD).is_empty());
}

#[test]
fn a_spread_is_asked_for_by_name() {
    let uneven = with_table(4, &[0, 0, 0, 1, 2, 3]);
    let plan = planned(&uneven, &[], &names(&["nic-receive-spread=2@eth0"]));
    assert_eq!(order(&plan), [(SPREAD, "2")]);
    assert!(of(&plan, SPREAD)[0].from.is_err());
    let plan = planned(&uneven, &[], &names(&["nic-receive-spread=even@eth0"]));
    assert_eq!(order(&plan), [(SPREAD, "4")]);
    let own = with_table(4, &[0, 1, 2, 3]);
    let plan = planned(&own, &[], &names(&["nic-receive-spread=2@eth0"]));
    assert_eq!(of(&plan, SPREAD)[0].from.as_deref(), Ok("default"));
    assert!(script(&plan, &own).contains("run ethtool -X 'eth0' equal '2'"));
    assert!(undo_script(&plan, &own).contains("run ethtool -X 'eth0' default"));
    let mut none = own;
    none.nics[0].receive_spread = Err(Why::NotSupported);
    let plan = planned(&none, &[], &names(&["nic-receive-spread=2@eth0"]));
    assert_eq!(left(&plan, SPREAD), [LeftWhy::Prerequisite]);
}

#[test]
fn a_table_that_was_set_makes_room_before_its_channels_go() {
    let set = with_table(8, &[7, 6, 5, 4, 3, 2, 1, 0]);
    let fewer = names(&["nic-channels=4@eth0"]);
    let channels = ("nic-channels", "combined=4");
    assert_eq!(order(&planned(&set, &[], &fewer)), [(SPREAD, "4"), channels]);
    // The kernel's own follows by itself.
    let own = with_table(8, &[0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(order(&planned(&own, &[], &fewer)), [channels]);
    let few = with_table(8, &[1, 0]);
    assert_eq!(order(&planned(&few, &[], &fewer)), [channels]);
}

#[test]
fn packets_are_spread_over_the_channels_that_there_will_be() {
    let mut machine = with_table(64, &(0..64).collect::<Vec<_>>());
    let request = Request { queues: Queues::Fit, devices: vec!["eth0".to_owned()], ..goal() };
    let expected = [("nic-channels", "combined=40"), (SPREAD, "40")];
    assert_eq!(order(&planned(&machine, &[], &request)), expected);
    // A driver that spreads over fewer queues than it has does so afterwards as well.
    let table = (0..16).cycle().take(128).collect();
    machine.nics[0].receive_spread = Ok(ReceiveSpread { queues: Some(16), table });
    assert_eq!(order(&planned(&machine, &[], &request))[1], (SPREAD, "16"));
}

/// The port of eight queues with a filter for flows.
fn filtering(fixed: bool) -> Machine {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 8);
    let name = "rx-ntuple-filter".to_owned();
    machine.nics[0].features = Ok(vec![Feature { name, active: false, wanted: false, fixed }]);
    machine
}

#[test]
fn flows_follow_their_readers_by_one_name() {
    let machine = filtering(false);
    let seen = [observed("rps-sock-flow-entries", "0")];
    let plan = planned(&machine, &seen, &names(&["arfs=on@eth0"]));
    let all: Vec<_> = plan.changes.iter().map(|c| (c.setting.as_str(), c.to.as_str())).collect();
    let expected = [
        ("nic-ntuple", "ntuple=on"),
        ("rps-sock-flow-entries", "32768"),
        ("rps-flow-count", "4096"),
    ];
    assert_eq!(all, expected);
    let Place::File { path } = &plan.changes[2].place else { panic!("no file") };
    assert_eq!(path, "/sys/class/net/{device}/queues/rx-*/rps_flow_cnt");
    assert_eq!(plan.changes[0].drops_link.as_deref(), Some("eth0"));
    // A larger table of somebody stays, and is shared out.
    let seen = [observed("rps-sock-flow-entries", "65536")];
    let plan = planned(&machine, &seen, &names(&["arfs=on@eth0"]));
    assert_eq!(settings(&plan), ["nic-ntuple", "rps-flow-count"]);
    assert_eq!(plan.changes[1].to, "8192");
    let plan = planned(&machine, &seen, &names(&["arfs=off@eth0"]));
    assert!(plan.changes.is_empty(), "{:?}", settings(&plan));
}

#[test]
fn without_a_filter_none_of_the_three_is_set() {
    let plan = planned(&filtering(true), &[], &names(&["arfs=on@eth0"]));
    assert!(plan.changes.is_empty());
    assert_eq!(left(&plan, "arfs"), [LeftWhy::Prerequisite]);
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 2);
    let plan = planned(&machine, &[], &names(&["arfs=on"]));
    assert_eq!(left(&plan, "arfs"), [LeftWhy::Prerequisite]);
}

#[test]
fn irqbalance_is_told_of_queues_that_have_no_number_yet() {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 64);
    add_port(&mut machine, "eth1", 0x82, 2);
    machine.host.services.push(irqbalance("OPTIONS=-i7"));
    machine.carriers.insert("eth1".to_owned(), [Carries::Login].into());
    let request = Request { queues: Queues::Fit, ..goal() };
    let plan = planned(&machine, &[], &request);
    let at = |place: fn(&Place) -> bool| plan.changes.iter().position(|one| place(&one.place));
    let ban = at(|place| *place == Place::BannedInterrupts).unwrap();
    let channels = at(|place| *place == Place::Ethtool { what: Ethtool::Channels }).unwrap();
    let interrupt = at(|place| matches!(place, Place::Interrupt { .. })).unwrap();
    assert!(channels < ban && ban < interrupt, "{channels} {ban} {interrupt}");
    assert_eq!(plan.changes[ban].to, "7 165 166 0000:81:00.0");
    assert!(left(&plan, "irqbalance").is_empty());
}
