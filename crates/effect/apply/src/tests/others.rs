// SPDX-License-Identifier: MIT OR Apache-2.0
//! Somebody else writes between apply and revert, transactions lie on one another, devices move.

use root::Root;

use super::*;
use crate::ApplyError;

fn undone(reverted: &[Reverted]) -> Vec<&Undone> {
    reverted.iter().map(|one| &one.undone).collect()
}

fn kept(found: &str) -> Undone {
    Undone::Kept { found: found.to_owned() }
}

#[test]
fn what_somebody_set_since_stays_unless_forced() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let path = "/proc/sys/vm/swappiness";
    carry_out(&kernel, &medium, vec![file(path, Form::Number, "10")]);
    kernel.other(path, "33").unwrap();
    assert_eq!(undone(&take_back(&kernel, &medium)), [&kept("33")]);
    assert_eq!(read(&kernel, path), "33");
    let forced =
        revert(&kernel, &mut journal(&medium), &Selection::All, Force::Overwrite).unwrap().reverted;
    assert_eq!(undone(&forced), [&Undone::Restored]);
    assert_eq!((read(&kernel, path).as_str(), journal(&medium).transactions().len()), ("60", 0));
}

#[test]
fn what_somebody_put_back_needs_nothing() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let path = "/proc/sys/net/ipv4/tcp_rmem";
    carry_out(&kernel, &medium, vec![file(path, Form::Numbers, "4096 131072 16777216")]);
    kernel.other(path, "4096 131072 6291456").unwrap();
    let writes = kernel.writes().len();
    assert_eq!(undone(&take_back(&kernel, &medium)), [&Undone::Nothing]);
    assert_eq!(kernel.writes().len(), writes);
}

/// A saptune-like writer sets the requests of a queue after our scheduler had moved them.
#[test]
fn a_value_beside_ours_that_somebody_set_outlives_the_undoing() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    carry_out(&kernel, &medium, vec![drive(&kernel, "scheduler", Form::Selected, "none")]);
    kernel.other(&format!("{QUEUE}/nr_requests"), "33").unwrap();
    take_back(&kernel, &medium);
    assert_eq!(read(&kernel, &format!("{QUEUE}/nr_requests")), "33");
    assert_eq!(read(&kernel, &format!("{QUEUE}/scheduler")), "none [mq-deadline] kyber bfq");
}

/// An irqbalance-like writer moves an interrupt, an administrator an XPS mask.
#[test]
fn the_affinity_that_somebody_set_outlives_the_channels() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    carry_out(
        &kernel,
        &medium,
        vec![
            nic(&kernel, "eth0", Ethtool::Channels, "combined=6"),
            interrupt(&kernel, "eth0", 0, 0, "4"),
            interrupt(&kernel, "eth0", 5, 0, "5"),
        ],
    );
    let function = device(&kernel, DeviceKind::Nic, "eth0").function.unwrap();
    let number = |queue| {
        let vectors = linux::vectors(&kernel, function);
        vectors.iter().find(|vector| vector.queue == Some(queue)).unwrap().number
    };
    kernel.other(&format!("/proc/irq/{}/smp_affinity_list", number(1)), "0-1").unwrap();
    kernel.other(&format!("/proc/irq/{}/smp_affinity_list", number(0)), "2").unwrap();
    kernel.other("/sys/class/net/eth0/queues/tx-2/xps_cpus", "c1").unwrap();
    let reverted = take_back(&kernel, &medium);
    let of_queue_0 = reverted.iter().find(|one| one.undone == kept("2"));
    assert!(of_queue_0.is_some(), "{reverted:?}");
    let cpus: Vec<String> =
        affinities(&kernel, "eth0").into_iter().filter(|v| v.0.is_some()).map(|v| v.1).collect();
    assert_eq!(cpus[..2], ["2", "0-1"], "{cpus:?}");
    assert_eq!(read(&kernel, "/sys/class/net/eth0/queues/tx-2/xps_cpus"), "c1");
    let fresh = Simulated::new(tree());
    let then: Vec<_> = affinities(&fresh, "eth0");
    assert_eq!(affinities(&kernel, "eth0").len(), then.len());
    assert_eq!(
        cpus[2..],
        then.iter().filter(|v| v.0.is_some()).map(|v| v.1.clone()).collect::<Vec<_>>()[2..]
    );
}

#[test]
fn of_several_values_each_has_its_owner() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let change = nic(&kernel, "eth0", Ethtool::Coalescing, "rx-usecs=80 rx-frames=64");
    carry_out(&kernel, &medium, vec![change]);
    let theirs = "tx-usecs=5 rx-frames=99";
    kernel.other_ethtool("eth0", &Ethtool::Coalescing, theirs).unwrap();
    let reverted = take_back(&kernel, &medium);
    assert_eq!(undone(&reverted), [&Undone::Restored]);
    let now = kernel.ethtool("eth0", &Ethtool::Coalescing).unwrap();
    assert!(now.contains("rx-usecs=8 ") && now.contains("tx-usecs=5"), "{now}");
    assert!(now.contains("rx-frames=99"), "{now}");
}

#[test]
fn an_older_change_that_is_taken_back_leaves_its_bytes_to_the_newer_one() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let path = "/proc/sys/vm/swappiness";
    carry_out(&kernel, &medium, vec![file(path, Form::Number, "10")]);
    carry_out(&kernel, &medium, vec![file(path, Form::Number, "20")]);
    let older = revert(&kernel, &mut journal(&medium), &Selection::Transaction(1), Force::Respect)
        .unwrap()
        .reverted;
    assert_eq!(undone(&older), [&Undone::Inherited]);
    assert_eq!(read(&kernel, path), "20");
    assert_eq!(undone(&take_back(&kernel, &medium)), [&Undone::Restored]);
    assert_eq!(read(&kernel, path), "60");
    let none = revert(&kernel, &mut journal(&medium), &Selection::Transaction(9), Force::Respect);
    assert!(matches!(none, Err(ApplyError::NoTransaction(9))));
}

#[test]
fn what_somebody_set_between_two_changes_stays_whichever_goes_first() {
    let path = "/proc/sys/vm/swappiness";
    let made = || {
        let (kernel, medium) = (kernel(), MemoryMedium::default());
        carry_out(&kernel, &medium, vec![file(path, Form::Number, "10")]);
        kernel.other(path, "30").unwrap();
        carry_out(&kernel, &medium, vec![file(path, Form::Number, "20")]);
        (kernel, medium)
    };
    let (kernel, medium) = made();
    let first = Selection::Transaction(1);
    let older = revert(&kernel, &mut journal(&medium), &first, Force::Respect).unwrap().reverted;
    assert_eq!((undone(&older), read(&kernel, path).as_str()), (vec![&kept("20")], "20"));
    let all = take_back(&kernel, &medium);
    assert_eq!(undone(&all), [&Undone::Restored, &kept("30")]);
    assert_eq!(read(&kernel, path), "30");
    // Forced, the older bytes are what the newer one goes back to.
    let (kernel, medium) = made();
    let forced = revert(&kernel, &mut journal(&medium), &first, Force::Overwrite).unwrap();
    assert_eq!(undone(&forced.reverted), [&Undone::Inherited]);
    take_back(&kernel, &medium);
    assert_eq!(read(&kernel, path), "60");
}

#[test]
fn of_several_values_only_ours_go_to_the_newer_change() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let set = |to: &str| nic(&kernel, "eth0", Ethtool::Coalescing, to);
    let before = kernel.ethtool("eth0", &Ethtool::Coalescing).unwrap();
    carry_out(&kernel, &medium, vec![set("rx-usecs=80 rx-frames=64")]);
    kernel.other_ethtool("eth0", &Ethtool::Coalescing, "tx-usecs=5 rx-frames=99").unwrap();
    carry_out(&kernel, &medium, vec![set("rx-usecs=90 rx-frames=32 tx-usecs=7")]);
    let first = Selection::Transaction(1);
    let older = revert(&kernel, &mut journal(&medium), &first, Force::Respect).unwrap().reverted;
    assert_eq!(undone(&older), [&Undone::Inherited]);
    take_back(&kernel, &medium);
    let now = kernel.ethtool("eth0", &Ethtool::Coalescing).unwrap();
    assert!(now.contains("tx-usecs=5") && now.contains("rx-frames=99"), "{now}");
    let own = before.split(' ').find(|pair| pair.starts_with("rx-usecs=")).unwrap();
    assert!(now.contains(own), "{now}");
}

#[test]
fn transactions_on_one_another_are_taken_back_newest_first() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    for (scheduler, requests) in [("none", "32"), ("kyber", "128"), ("bfq", "16")] {
        carry_out(
            &kernel,
            &medium,
            vec![
                drive(&kernel, "scheduler", Form::Selected, scheduler),
                drive(&kernel, "nr_requests", Form::Number, requests),
            ],
        );
    }
    take_back(&kernel, &medium);
    assert_eq!(left(&kernel), [""; 0]);
}

#[test]
fn a_setting_or_a_device_is_taken_back_alone() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    carry_out(
        &kernel,
        &medium,
        vec![
            drive(&kernel, "scheduler", Form::Selected, "none"),
            drive(&kernel, "nomerges", Form::Number, "2"),
            file("/proc/sys/vm/swappiness", Form::Number, "10"),
        ],
    );
    let back = |selection| {
        revert(&kernel, &mut journal(&medium), &selection, Force::Respect).unwrap().reverted.len()
    };
    assert_eq!(back(Selection::Setting("nomerges".to_owned())), 1);
    assert_eq!(read(&kernel, &format!("{QUEUE}/nomerges")), "0");
    assert_eq!(back(Selection::Device("nvme0n1".to_owned())), 1);
    assert_eq!(read(&kernel, &format!("{QUEUE}/nr_requests")), "64");
    assert_eq!(read(&kernel, "/proc/sys/vm/swappiness"), "10");
    let other = Selection::Device("sda".to_owned());
    let refused = revert(&kernel, &mut journal(&medium), &other, Force::Respect);
    assert!(matches!(refused, Err(ApplyError::NothingOf { .. })), "{refused:?}");
    assert_eq!(back(Selection::All), 1);
    assert_eq!(left(&kernel), [""; 0]);
}

#[test]
fn a_device_that_is_gone_is_undone_when_it_returns() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    carry_out(&kernel, &medium, vec![drive(&kernel, "nomerges", Form::Number, "2")]);
    let folder = kernel.resolve("/sys/block/nvme0n1").unwrap();
    kernel.take_away(&folder);
    assert_eq!(undone(&take_back(&kernel, &medium)), [&Undone::Missing]);
    assert_eq!(journal(&medium).transactions().len(), 1);
    kernel.bring_back(&folder);
    kernel.set(&format!("{folder}/queue/nomerges"), "2\n");
    assert_eq!(undone(&take_back(&kernel, &medium)), [&Undone::Restored]);
    assert_eq!(left(&kernel), [""; 0]);
}

#[test]
fn cpus_that_went_offline_are_no_obstacle() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let disable = "/sys/devices/system/cpu/cpu7/cpuidle/state2/disable";
    let cpu = Device {
        name: "cpu 7".to_owned(),
        kind: DeviceKind::Cpu,
        function: None,
        serial: None,
        port: None,
    };
    let path = "/sys/devices/system/cpu/cpu{device}/cpuidle/state2/disable".to_owned();
    carry_out(
        &kernel,
        &medium,
        vec![
            interrupt(&kernel, "eth0", 0, 0, "7"),
            planned(Some(cpu), Place::File { path }, Form::Switch, "on"),
        ],
    );
    assert_eq!(read(&kernel, disable), "1");
    let function = device(&kernel, DeviceKind::Nic, "eth0").function.unwrap();
    let number = linux::vectors(&kernel, function)
        .iter()
        .find(|vector| vector.queue == Some(0))
        .unwrap()
        .number;
    kernel.set("/sys/devices/system/cpu/online", "0-6\n");
    kernel.take_away("/sys/devices/system/cpu/cpu7/cpuidle");
    // The kernel moves the interrupt by itself.
    kernel.other(&format!("/proc/irq/{number}/smp_affinity_list"), "0-6").unwrap();
    let reverted = take_back(&kernel, &medium);
    assert_eq!(undone(&reverted), [&Undone::Missing, &Undone::Restored], "{reverted:?}");
    kernel.set("/sys/devices/system/cpu/online", "0-7\n");
    kernel.bring_back("/sys/devices/system/cpu/cpu7/cpuidle");
    assert_eq!(undone(&take_back(&kernel, &medium)), [&Undone::Nothing]);
    assert_eq!(left(&kernel), [""; 0]);
}

#[test]
fn a_driver_that_was_loaded_again_has_other_numbers() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    carry_out(&kernel, &medium, vec![interrupt(&kernel, "eth0", 2, 0, "4")]);
    // Somebody sets channels to what they are: all interrupts get new numbers and CPUs.
    kernel.other_ethtool("eth0", &Ethtool::Channels, "combined=4").unwrap();
    let reloaded = affinities(&kernel, "eth0");
    let reverted = take_back(&kernel, &medium);
    assert!(matches!(undone(&reverted)[..], [Undone::Kept { .. }]), "{reverted:?}");
    assert_eq!(affinities(&kernel, "eth0"), reloaded);
}

#[test]
fn fewer_channels_than_ours_leave_no_queue_to_undo() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    carry_out(&kernel, &medium, vec![interrupt(&kernel, "eth0", 3, 0, "4")]);
    kernel.other_ethtool("eth0", &Ethtool::Channels, "combined=2").unwrap();
    assert_eq!(undone(&take_back(&kernel, &medium)), [&Undone::Missing]);
    kernel.other_ethtool("eth0", &Ethtool::Channels, "combined=4").unwrap();
    assert_eq!(journal(&medium).transactions().len(), 1);
}

#[test]
fn lines_that_an_administrator_adds_to_our_file_stay() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    carry_out(
        &kernel,
        &medium,
        vec![planned(None, Place::BannedInterrupts, Form::Numbers, "40 41")],
    );
    assert!(kernel.writes().contains(&"irqbalance.service Restart".to_owned()));
    let ours = String::from_utf8(root::Root::read(&kernel, IRQBALANCE).unwrap()).unwrap();
    kernel.set(IRQBALANCE, &format!("{ours}# a line of somebody\n"));
    assert_eq!(undone(&take_back(&kernel, &medium)), [&Undone::Restored]);
    let now = String::from_utf8(root::Root::read(&kernel, IRQBALANCE).unwrap()).unwrap();
    assert_eq!(now, format!("{ADMINS}# a line of somebody\n"));
}

/// Files in /etc may be of any encoding.
#[test]
fn a_byte_that_is_no_text_stays_the_administrators() {
    let latin = b"# caf\xe9\nIRQBALANCE_ARGS=\"--policyscript='/etc/my.sh'\"\n";
    let mut tree = tree();
    tree.file(IRQBALANCE, latin);
    let (kernel, medium) = (Simulated::new(tree), MemoryMedium::default());
    let bytes = || root::Root::read(&kernel, IRQBALANCE).unwrap();
    let changes = vec![planned(None, Place::BannedInterrupts, Form::Numbers, "40 41")];
    let receipts = carry_out(&kernel, &medium, changes);
    assert_eq!(receipts.receipts[0].outcome, Outcome::Applied, "{receipts:?}");
    assert!(bytes().starts_with(latin));
    // Somebody adds a line: ours are taken out of what is there now.
    let theirs = [&bytes()[..], b"# \xff\n"].concat();
    Kernel::replace(&kernel, IRQBALANCE, Some(&theirs)).unwrap();
    assert_eq!(undone(&take_back(&kernel, &medium)), [&Undone::Restored]);
    assert_eq!(bytes(), [&latin[..], b"# \xff\n"].concat());
}

#[test]
fn what_our_write_never_changed_is_no_business_of_ours() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let changes = vec![
        drive(&kernel, "rq_affinity", Form::Number, "3"),
        file("/proc/sys/vm/swappiness", Form::Number, "10"),
    ];
    apply(&kernel, &mut journal(&medium), &plan(changes), &keep_going()).unwrap();
    kernel.other(&format!("{QUEUE}/rq_affinity"), "2").unwrap();
    assert_eq!(undone(&take_back(&kernel, &medium)), [&Undone::Restored, &Undone::Nothing]);
    assert_eq!(read(&kernel, &format!("{QUEUE}/rq_affinity")), "2");
    assert_eq!(journal(&medium).transactions(), []);
}

#[test]
fn what_is_applied_is_told_as_a_plan_with_the_values_from_before() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    carry_out(&kernel, &medium, vec![drive(&kernel, "scheduler", Form::Selected, "none")]);
    let journal = journal(&medium);
    let all = Selection::All;
    let plan = crate::applied_plan(&kernel, journal.transactions(), &all).unwrap();
    let last = plan.changes.last().unwrap();
    let path = "/sys/block/nvme0n1/queue/scheduler".to_owned();
    assert_eq!(last.place, Place::File { path });
    assert_eq!((last.from.as_deref(), last.to.as_str()), (Ok("mq-deadline"), "none"));
    // The requests that the scheduler took along, so that undoing brings them back after it.
    let is_requests =
        |one: &Planned| matches!(&one.place, Place::File { path } if path.ends_with("nr_requests"));
    let requests = plan.changes.iter().find(|one| is_requests(one)).unwrap();
    assert_eq!(requests.from.as_deref(), Ok("64"));
    let none = crate::applied_plan(&kernel, journal.transactions(), &Selection::Transaction(9));
    assert!(matches!(none, Err(crate::ApplyError::NoTransaction(9))));
}

#[test]
fn a_person_who_wants_it_to_end_gets_everything_back() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let changes = vec![drive(&kernel, "scheduler", Form::Selected, "none")];
    let options = options();
    options.stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let came = apply(&kernel, &mut journal(&medium), &plan(changes), &options).unwrap();
    assert_eq!((came.ending, came.is_interrupted), (Ending::Undone, true));
    assert_eq!(left(&kernel), [""; 0]);
}

#[test]
fn a_change_that_was_interrupted_says_that_it_was_taken_back() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let refused = drive(&kernel, "rq_affinity", Form::Number, "3");
    let changes = vec![file("/proc/sys/vm/swappiness", Form::Number, "10"), refused];
    let came = apply(&kernel, &mut journal(&medium), &plan(changes), &options()).unwrap();
    assert_eq!((came.ending, came.is_interrupted), (Ending::Undone, false));
    let undone: Vec<_> = came.receipts.iter().map(|one| one.undone.clone()).collect();
    assert_eq!(undone, [Some(Undone::Restored), Some(Undone::Nothing)]);
    assert_eq!(came.receipts[0].outcome, Outcome::Applied);
}

#[test]
fn what_a_kept_value_goes_back_to_is_what_is_told() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let path = "/proc/sys/vm/swappiness";
    for value in ["20", "10"] {
        carry_out(&kernel, &medium, vec![file(path, Form::Number, value)]);
    }
    kernel.other(path, "33").unwrap();
    let kept: Vec<Reverted> = take_back(&kernel, &medium)
        .into_iter()
        .filter(|one| matches!(one.undone, Undone::Kept { .. }))
        .collect();
    let told: Vec<&str> = kept.iter().map(|one| one.before.as_str()).collect();
    let forced = revert(&kernel, &mut journal(&medium), &Selection::All, Force::Overwrite).unwrap();
    assert_eq!(undone(&forced.reverted), [&Undone::Restored]);
    assert_eq!(told, [read(&kernel, path)], "it was told what --force writes");
    assert_eq!(read(&kernel, path), "60");
}

#[test]
fn a_name_that_the_journal_has_not_is_refused() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    carry_out(&kernel, &medium, vec![file("/proc/sys/vm/swappiness", Form::Number, "10")]);
    carry_out(&kernel, &medium, vec![drive(&kernel, "nomerges", Form::Number, "2")]);
    for (selection, names) in [
        (Selection::Setting("swapiness".to_owned()), vec!["nomerges", "swappiness"]),
        (Selection::Device("eth7".to_owned()), vec!["nvme0n1"]),
    ] {
        let plan = crate::applied_plan(&kernel, journal(&medium).transactions(), &selection);
        let reverted = revert(&kernel, &mut journal(&medium), &selection, Force::Respect);
        for error in [plan.unwrap_err(), reverted.unwrap_err()] {
            let ApplyError::NothingOf { known, .. } = error else { panic!("{error}") };
            assert_eq!(known, names);
        }
    }
    let selection = Selection::Device("nvme0n1".to_owned());
    let reverted = revert(&kernel, &mut journal(&medium), &selection, Force::Respect).unwrap();
    assert_eq!(undone(&reverted.reverted), [&Undone::Restored]);
}

#[test]
fn what_belongs_to_another_network_namespace_is_left_there() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let path = "/proc/sys/net/ipv4/tcp_rmem";
    let own = "4096\t131072\t6291456";
    kernel.enter_network("net:[1]");
    let changes = [(path, Form::Numbers, "4096 131072 16777216"), SWAP];
    carry_out(&kernel, &medium, changes.map(|(path, form, to)| file(path, form, to)).to_vec());
    // The other namespace has a value of its own, and its own change of it.
    kernel.enter_network("net:[2]");
    kernel.set(path, own);
    let standing = |kernel: &Simulated| -> Vec<crate::Standing> {
        let verified = crate::verify(kernel, journal(&medium).transactions()).unwrap();
        verified.into_iter().map(|one| one.standing).collect()
    };
    assert_eq!(standing(&kernel), [crate::Standing::Elsewhere, crate::Standing::AsSet]);
    carry_out(&kernel, &medium, vec![file(path, Form::Numbers, "4096 131072 8388608")]);
    assert_eq!(
        standing(&kernel),
        [crate::Standing::AsSet, crate::Standing::Elsewhere, crate::Standing::AsSet]
    );
    let reverted = take_back(&kernel, &medium);
    assert_eq!(undone(&reverted), [&Undone::Restored, &Undone::Restored, &Undone::Elsewhere]);
    assert_eq!(read(&kernel, path), own);
    kernel.enter_network("net:[1]");
    kernel.set(path, "4096 131072 16777216");
    assert_eq!(undone(&take_back(&kernel, &medium)), [&Undone::Restored]);
    assert_eq!((read(&kernel, path).as_str(), journal(&medium).transactions().len()), (own, 0));
}

const SWAP: (&str, Form, &str) = ("/proc/sys/vm/swappiness", Form::Number, "10");
