// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spread of received packets, queues that channels make, and interrupts that they number anew.

use units::PciAddress;

use super::*;
use crate::{Standing, verify};

fn spread(kernel: &dyn Kernel, to: &str) -> Planned {
    nic(kernel, "eth0", Ethtool::ReceiveSpread, to)
}

fn channels(kernel: &dyn Kernel, to: &str) -> Planned {
    nic(kernel, "eth0", Ethtool::Channels, to)
}

fn table(kernel: &Simulated) -> String {
    kernel.ethtool("eth0", &Ethtool::ReceiveSpread).unwrap()
}

/// The queues of a table, 128 entries in turn.
fn in_turn(queues: &[u32]) -> String {
    let entries = queues.iter().cycle().take(128).map(u32::to_string);
    entries.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_spread_is_even_and_comes_back_to_the_kernels_own() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let receipts = carry_out(&kernel, &medium, vec![spread(&kernel, "2")]);
    assert_eq!(receipts.receipts[0].outcome, Outcome::Applied);
    assert_eq!(table(&kernel), in_turn(&[0, 1]));
    let again = carry_out(&kernel, &medium, vec![spread(&kernel, "2")]);
    assert_eq!(again.receipts[0].outcome, Outcome::Equal);
    let verified = verify(&kernel, journal(&medium).transactions()).unwrap();
    assert!(verified.iter().all(|one| one.standing == Standing::AsSet), "{verified:?}");
    take_back(&kernel, &medium);
    // Whether somebody set it is part of the state: channels are refused by it.
    assert_eq!(left(&kernel), [""; 0]);
}

#[test]
fn fewer_channels_than_a_set_table_uses_are_refused_as_the_kernel_does() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let own = in_turn(&[3, 2, 1, 0]);
    kernel.other_ethtool("eth0", &Ethtool::ReceiveSpread, &own).unwrap();
    let before = kernel.differences();
    let alone = carry_out(&kernel, &medium, vec![channels(&kernel, "combined=2")]);
    let refused = Outcome::Refused { errno: "EINVAL".to_owned() };
    assert_eq!((&alone.receipts[0].outcome, alone.ending), (&refused, Ending::Undone));
    let changes = vec![spread(&kernel, "2"), channels(&kernel, "combined=2")];
    let receipts = carry_out(&kernel, &medium, changes);
    assert_eq!(receipts.ending, Ending::Done, "{receipts:?}");
    let reverted = take_back(&kernel, &medium);
    assert!(reverted.iter().all(|one| !one.is_stuck()), "{reverted:?}");
    assert_eq!(table(&kernel), own);
    let is_of_nic = |line: &&String| line.starts_with("ethtool");
    assert_eq!(kernel.differences().iter().find(is_of_nic), before.iter().find(is_of_nic));
}

#[test]
fn channels_go_back_past_a_table_of_ours() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let changes = vec![channels(&kernel, "combined=8"), spread(&kernel, "6")];
    assert_eq!(carry_out(&kernel, &medium, changes).ending, Ending::Done);
    assert_eq!(table(&kernel), in_turn(&[0, 1, 2, 3, 4, 5]));
    let reverted = take_back(&kernel, &medium);
    assert!(reverted.iter().all(|one| one.undone == Undone::Restored), "{reverted:?}");
    assert_eq!(left(&kernel), [""; 0]);
}

#[test]
fn somebodys_table_stays_when_ours_is_taken_back() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    carry_out(&kernel, &medium, vec![spread(&kernel, "2")]);
    let theirs = in_turn(&[2, 3]);
    kernel.other_ethtool("eth0", &Ethtool::ReceiveSpread, &theirs).unwrap();
    let reverted = take_back(&kernel, &medium);
    assert_eq!(reverted[0].undone, Undone::Kept { found: theirs.clone() });
    assert_eq!(table(&kernel), theirs);
}

#[test]
fn files_of_all_queues_are_those_of_the_queues_to_come_too() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let changes = || {
        vec![
            channels(&kernel, "combined=8"),
            queue(&kernel, "eth0", "rx-*/rps_flow_cnt", Form::Number, "1024"),
        ]
    };
    let receipts = carry_out(&kernel, &medium, changes());
    assert_eq!(receipts.ending, Ending::Done, "{receipts:?}");
    let of_queues = receipts.receipts.iter().filter(|one| one.setting == "rps_flow_cnt");
    assert_eq!(of_queues.filter(|one| one.outcome == Outcome::Applied).count(), 8);
    for queue in 0..8 {
        let path = format!("/sys/class/net/eth0/queues/rx-{queue}/rps_flow_cnt");
        assert_eq!(read(&kernel, &path), "1024");
    }
    let again = carry_out(&kernel, &medium, changes());
    assert!(again.receipts.iter().all(|one| one.outcome == Outcome::Equal), "{again:?}");
    take_back(&kernel, &medium);
    assert_eq!(left(&kernel), [""; 0]);
}

#[test]
fn queues_that_go_take_their_files_along() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let changes = vec![
        channels(&kernel, "combined=2"),
        queue(&kernel, "eth0", "rx-*/rps_flow_cnt", Form::Number, "1024"),
    ];
    let receipts = carry_out(&kernel, &medium, changes);
    assert_eq!(receipts.ending, Ending::Done, "{receipts:?}");
    take_back(&kernel, &medium);
    assert_eq!(left(&kernel), [""; 0]);
}

/// Numbers of the interrupts of a NIC's queues.
fn numbers(kernel: &Simulated, function: PciAddress) -> Vec<u32> {
    let vectors = linux::vectors(kernel, function).into_iter();
    vectors.filter(|vector| vector.queue.is_some()).map(|vector| vector.number).collect()
}

#[test]
fn irqbalance_leaves_queues_alone_that_channels_number_anew() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let function = device(&kernel, DeviceKind::Nic, "eth0").function.unwrap();
    let before = numbers(&kernel, function);
    let ban = |to: &str| planned(None, Place::BannedInterrupts, Form::Numbers, to);
    let changes = || vec![channels(&kernel, "combined=6"), ban(&format!("9 {function}"))];
    let receipts = carry_out(&kernel, &medium, changes());
    assert_eq!(receipts.ending, Ending::Done, "{receipts:?}");
    let now = numbers(&kernel, function);
    assert!(now.len() == 6 && now.iter().all(|number| !before.contains(number)));
    let file = read(&kernel, IRQBALANCE);
    assert!(now.iter().chain(&[9]).all(|number| file.contains(&format!("--banirq={number}"))));
    assert!(before.iter().all(|number| !file.contains(&format!("--banirq={number} "))), "{file}");
    let writes = kernel.writes().len();
    let again = carry_out(&kernel, &medium, changes());
    assert!(again.receipts.iter().all(|one| one.outcome == Outcome::Equal), "{again:?}");
    assert_eq!(kernel.writes().len(), writes);
    let verified = verify(&kernel, journal(&medium).transactions()).unwrap();
    assert!(verified.iter().all(|one| !one.is_drift()), "{verified:?}");
    // Numbered anew by somebody: the file names interrupts that are gone.
    kernel.other_ethtool("eth0", &Ethtool::Channels, "combined=5").unwrap();
    let verified = verify(&kernel, journal(&medium).transactions()).unwrap();
    assert!(verified.iter().any(|one| one.is_drift() && one.path == IRQBALANCE), "{verified:?}");
    take_back(&kernel, &medium);
    assert_eq!(read(&kernel, IRQBALANCE), ADMINS.trim());
}

/// As a plan writes them: with spaces.
#[test]
fn interrupts_are_banned_in_the_words_of_a_plan() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let ban = planned(None, Place::BannedInterrupts, Form::Numbers, "40 42");
    let receipts = carry_out(&kernel, &medium, vec![ban]);
    assert_eq!(receipts.receipts[0].outcome, Outcome::Applied);
    assert!(read(&kernel, IRQBALANCE).contains("--banirq=40 --banirq=42"));
}
