// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wishes that narrow each other, and words that stand for several things.

use machine::{Coalescing, Feature};

use super::*;

/// Reasons of what is left of a setting.
fn because<'a>(plan: &'a Plan, setting: &str) -> Vec<&'a str> {
    let own = plan.left.iter().filter(|left| left.setting == setting);
    own.map(|left| left.because.as_str()).collect()
}

#[test]
fn what_is_named_comes_beside_what_the_goal_is_narrowed_to() {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 2);
    let seen = [observed("swappiness", "60"), observed("somaxconn", "4096")];
    let only = |named: &[&str]| Request {
        goal: Some(Goal::Throughput),
        only: vec!["swappiness".to_owned()],
        ..names(named)
    };
    let plan = planned(&machine, &seen, &only(&["somaxconn=5000"]));
    assert_eq!(settings(&plan), ["somaxconn", "swappiness"], "{:?}", plan.left);
    assert!(because(&plan, "somaxconn").is_empty());
    let plan = planned(&machine, &seen, &only(&["nic-irq-placement=3,1@eth0"]));
    assert_eq!(queues(&plan, "eth0"), ["3", "1"]);
    assert!(because(&plan, "nic-irq-placement").is_empty());
}

#[test]
fn what_lies_outside_of_a_narrowed_plan_says_so() {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 2);
    add_port(&mut machine, "eth1", 0x82, 2);
    let seen = [observed("swappiness", "60")];
    let narrowed = |request: Request| Request { devices: vec!["eth0".to_owned()], ..request };
    let only = Request { only: vec!["swappiness".to_owned()], ..goal() };
    let plan = planned(&machine, &seen, &narrowed(only));
    let expected = ["it is the machine's, and the plan is for eth0 only"];
    assert_eq!(because(&plan, "swappiness"), expected);
    for wish in ["nic-irq-placement=near@eth1", "nic-rx-ring=4096@eth1"] {
        let plan = planned(&machine, &seen, &narrowed(names(&[wish])));
        let setting = wish.split('=').next().unwrap();
        assert_eq!(because(&plan, setting), ["the plan is for eth0 only"], "{wish}");
    }
    let refusal = checked(&machine, &narrowed(names(&["swappiness=10"]))).unwrap_err();
    assert_eq!(refusal.what, "swappiness is the machine's, and the plan is narrowed to eth0");
}

#[test]
fn channels_that_cannot_be_read_are_left_with_the_reason() {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 64);
    machine.nics[0].channels = Err(Why::Denied);
    let fit = Request { queues: Queues::Fit, ..goal() };
    let plan = planned(&machine, &[], &fit);
    let expected = ["the channels of eth0 are not known: permission denied"];
    assert_eq!(because(&plan, "nic-channels"), expected);
}

#[test]
fn what_fights_is_left_before_and_after_the_other_was_written() {
    let mut machine = machine();
    let wishes = names(&["nic-adaptive-rx=on@eth0", "nic-rx-usecs=8"]);
    for (at, name) in ["eth0", "eth1"].into_iter().enumerate() {
        add_port(&mut machine, name, 0x81 + u8::try_from(at).unwrap(), 2);
    }
    for is_written in [false, true] {
        let mut seen = Vec::new();
        for nic in &mut machine.nics {
            let adaptive = is_written && nic.name == "eth0";
            nic.coalescing = Ok(coalescing(Some(adaptive), 50));
            let word = if adaptive { "on" } else { "off" };
            for (setting, value) in [("nic-adaptive-rx", word), ("nic-rx-usecs", "50")] {
                let device = Some(nic.name.clone());
                seen.push(Observation { device, ..observed(setting, value) });
            }
        }
        let plan = planned(&machine, &seen, &wishes);
        let usecs = plan.changes.iter().filter(|one| one.setting == "nic-rx-usecs");
        let nics: Vec<_> = usecs.map(|one| one.device.as_ref().unwrap().name.as_str()).collect();
        assert_eq!(nics, ["eth1"], "written: {is_written}: {plan:#?}");
        assert_eq!(left(&plan, "nic-rx-usecs"), [LeftWhy::Conflict]);
        let adaptive = plan.changes.iter().any(|one| one.setting == "nic-adaptive-rx");
        assert_eq!(adaptive, !is_written);
    }
}

#[test]
fn a_delay_needs_no_adaptive_moderation() {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 2);
    let mut to = |adaptive: Option<bool>, wish: &str| {
        machine.nics[0].coalescing = Ok(coalescing(adaptive, 3));
        let plan = planned(&machine, &[of_nic("nic-rx-usecs", "3")], &names(&[wish]));
        plan.changes.iter().map(|one| one.to.clone()).collect::<Vec<_>>()
    };
    assert_eq!(to(Some(true), "nic-rx-usecs=50@eth0"), ["adaptive-rx=off rx-usecs=50"]);
    assert_eq!(to(None, "nic-rx-usecs=50@eth0"), ["rx-usecs=50"]);
    // Of itself there is nothing to switch.
    assert_eq!(to(None, "nic-adaptive-rx=off@eth0"), [""; 0]);
}

fn coalescing(adaptive_rx: Option<bool>, usecs: u32) -> Coalescing {
    Coalescing {
        adaptive_rx,
        rx_usecs: Some(usecs),
        adaptive_tx: None,
        rx_frames: None,
        tx_usecs: None,
        tx_frames: None,
    }
}

fn of_nic(setting: &str, value: &str) -> Observation {
    Observation { device: Some("eth0".to_owned()), ..observed(setting, value) }
}

#[test]
fn a_short_word_of_features_is_all_of_them() {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 2);
    let feature = |name: &str, active, fixed| Feature {
        name: name.to_owned(),
        active,
        wanted: active,
        fixed,
    };
    machine.nics[0].features = Ok(vec![
        feature("tx-tcp-segmentation", false, false),
        feature("tx-tcp6-segmentation", true, false),
        feature("tx-tcp-mangleid-segmentation", false, false),
        feature("tx-tcp-ecn-segmentation", true, true),
    ]);
    let plan = planned(&machine, &[of_nic("nic-tso", "on")], &names(&["nic-tso=off@eth0"]));
    let [change] = plan.changes.as_slice() else { panic!("{:?}", plan.left) };
    assert_eq!((change.from.as_deref(), change.to.as_str()), (Ok("tso=on"), "tso=off"));
    assert!(script(&plan, &machine).contains("run ethtool -K 'eth0' 'tso' 'off'"));
    let undo = undo_script(&plan, &machine);
    let back = "run ethtool -K 'eth0' 'tx-tcp-segmentation' 'off' 'tx-tcp6-segmentation' 'on' \
                'tx-tcp-mangleid-segmentation' 'off'";
    assert!(undo.contains(back), "{undo}");
}

#[test]
fn a_device_may_have_an_at_in_its_name() {
    let named: Named = "mtu=1400@b'q@c".parse().unwrap();
    assert_eq!((named.value.as_str(), named.device.as_deref()), ("1400", Some("b'q@c")));
}
