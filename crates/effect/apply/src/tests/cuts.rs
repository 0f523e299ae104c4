// SPDX-License-Identifier: MIT OR Apache-2.0
//! The process dies after every record and every write, while applying and while taking back.

use journal::{MemoryMedium, Transaction};
use rustix::io::Errno;

use super::*;
use crate::simulated::Fault;
use crate::{ApplyError, Standing, settle, verify};

/// Applies with a fault at an operation; how many operations there were.
fn run(kernel: &Simulated, clock: &Clock, medium: &MemoryMedium, changes: &[Planned]) -> usize {
    if let Ok(mut journal) = cutting(medium, clock) {
        let _ = apply(kernel, &mut journal, &plan(changes.to_vec()), &options());
    }
    clock.count()
}

/// Takes everything back with a clock; how many operations there were.
fn back(kernel: &Simulated, clock: &Clock, medium: &MemoryMedium) -> usize {
    if let Ok(mut journal) = cutting(medium, clock) {
        let _ = revert(kernel, &mut journal, &Selection::All, Force::Respect);
    }
    clock.count()
}

fn fresh(clock: &Clock) -> Simulated {
    let kernel = kernel().with_clock(clock.clone());
    kernel.run_service("irqbalance.service");
    kernel
}

fn is_clean(kernel: &Simulated, medium: &MemoryMedium, name: &str) {
    let reverted = take_back(kernel, medium);
    let stuck: Vec<_> = reverted
        .iter()
        .filter(|one| matches!(one.undone, Undone::Failed { .. } | Undone::Kept { .. }))
        .collect();
    assert!(stuck.is_empty(), "{name}: {stuck:?}");
    assert_eq!(left(kernel), [""; 0], "{name}");
    assert_eq!(journal(medium).transactions(), [], "{name}");
}

/// The kernel as a process that begins anew finds it: the clock of the dead one is gone.
fn survived(kernel: Simulated) -> Simulated {
    kernel.with_clock(Clock::default())
}

#[test]
fn a_cut_anywhere_while_applying_leaves_no_byte() {
    for (name, changes) in goals(&kernel()) {
        let clock = Clock::default();
        let operations = run(&fresh(&clock), &clock, &MemoryMedium::default(), &changes);
        assert!(operations > 2 * changes.len(), "{name}: {operations}");
        for at in 0..operations {
            let clock = Clock::default().with(at, Fault::Cut);
            let (kernel, medium) = (fresh(&clock), MemoryMedium::default());
            run(&kernel, &clock, &medium, &changes);
            is_clean(&survived(kernel), &medium, &format!("{name}, cut at {at} of {operations}"));
        }
    }
}

/// Intentions are one write to the journal, which may come to the medium in part.
#[test]
fn a_cut_anywhere_in_the_intentions_leaves_nothing_to_do() {
    for (name, changes) in goals(&kernel()) {
        let medium = MemoryMedium::default();
        run(&fresh(&Clock::default()), &Clock::default(), &medium, &changes);
        let bytes = medium.bytes();
        let text = String::from_utf8(bytes.clone()).unwrap();
        let line = |record: &str| text.find(&format!("\"record\":\"{record}\"")).unwrap();
        let (begin, ready) = (line("begin"), line("ready"));
        for length in (begin..ready).step_by(61) {
            let medium = MemoryMedium::with(bytes[..length].to_vec());
            let kernel = fresh(&Clock::default());
            is_clean(&kernel, &medium, &format!("{name}, cut at byte {length}"));
            assert_eq!(kernel.writes(), [""; 0], "{name}, cut at byte {length}");
        }
    }
}

#[test]
fn a_cut_anywhere_while_taking_back_leaves_no_byte() {
    for (name, changes) in goals(&kernel()) {
        let medium = MemoryMedium::default();
        let kernel = fresh(&Clock::default());
        run(&kernel, &Clock::default(), &medium, &changes);
        let clock = Clock::default();
        let operations = back(&kernel.with_clock(clock.clone()), &clock, &medium);
        assert!(operations > changes.len(), "{name}: {operations}");
        for at in 0..operations {
            let medium = MemoryMedium::default();
            let kernel = fresh(&Clock::default());
            run(&kernel, &Clock::default(), &medium, &changes);
            let clock = Clock::default().with(at, Fault::Cut);
            let kernel = kernel.with_clock(clock.clone());
            back(&kernel, &clock, &medium);
            is_clean(&survived(kernel), &medium, &format!("{name}, cut at {at} of {operations}"));
        }
    }
}

/// Every second cut while applying, every third while taking that back.
#[test]
fn two_deaths_in_a_row_leave_no_byte() {
    for (name, changes) in goals(&kernel()) {
        let clock = Clock::default();
        let operations = run(&fresh(&clock), &clock, &MemoryMedium::default(), &changes);
        for first in (changes.len()..operations).step_by(3) {
            for second in (0..60).step_by(4) {
                let clock = Clock::default().with(first, Fault::Cut);
                let (kernel, medium) = (fresh(&clock), MemoryMedium::default());
                run(&kernel, &clock, &medium, &changes);
                let clock = Clock::default().with(second, Fault::Cut);
                let kernel = kernel.with_clock(clock.clone());
                back(&kernel, &clock, &medium);
                is_clean(&survived(kernel), &medium, &format!("{name}, {first} then {second}"));
            }
        }
    }
}

#[test]
fn an_error_at_any_operation_undoes_all_or_says_so() {
    let faults = [
        Fault::Errno(Errno::IO),
        Fault::Errno(Errno::PERM),
        Fault::Errno(Errno::BUSY),
        Fault::Errno(Errno::NOSPC),
        Fault::Errno(Errno::INVAL),
        Fault::Errno(Errno::OVERFLOW),
        Fault::Short,
    ];
    for (name, changes) in goals(&kernel()) {
        let clock = Clock::default();
        let operations = run(&fresh(&clock), &clock, &MemoryMedium::default(), &changes);
        for (at, fault) in (0..operations).flat_map(|at| faults.map(|fault| (at, fault))) {
            let clock = Clock::default().with(at, fault);
            let (kernel, medium) = (fresh(&clock), MemoryMedium::default());
            let Ok(mut journal) = cutting(&medium, &clock) else { continue };
            let case = format!("{name}, {fault:?} at {at} of {operations}");
            let ended = apply(&kernel, &mut journal, &plan(changes.clone()), &options());
            drop(journal);
            let kernel = survived(kernel);
            match ended.map(|receipts| receipts.ending) {
                // EIO and EPERM of an interrupt mean that the kernel places it, ENOSPC another CPU.
                Ok(Ending::Done) => is_clean(&kernel, &medium, &case),
                Ok(Ending::Undone) | Err(ApplyError::TakenBack(_)) => {
                    assert_eq!(left(&kernel), [""; 0], "{case}");
                }
                Err(ApplyError::Journal(_)) => is_clean(&kernel, &medium, &case),
                other => panic!("{case}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_loss_of_power_leaves_only_what_is_on_disk() {
    let (_, first) = goals(&kernel()).swap_remove(0);
    // Behind all others, its receipt and theirs may be lost while it is on disk.
    let mut last = first.clone();
    last.rotate_left(1);
    assert_eq!(last.last().unwrap().place, Place::BannedInterrupts);
    for changes in [first, last] {
        lose_power(&changes);
    }
}

fn lose_power(changes: &[Planned]) {
    let medium = MemoryMedium::default();
    let kernel = fresh(&Clock::default());
    run(&kernel, &Clock::default(), &medium, changes);
    let bytes = medium.bytes();
    let text = String::from_utf8(bytes.clone()).unwrap();
    let synced = text.find("\"record\":\"ready\"").unwrap();
    let synced = synced + text[synced..].find('\n').unwrap() + 1;
    let mut kernel = kernel;
    for length in synced..=bytes.len() {
        if length % 97 != 0 && length != synced && length != bytes.len() {
            continue;
        }
        let medium = MemoryMedium::with(bytes[..length].to_vec());
        kernel = kernel.rebooted(&format!("boot-{length}"));
        let numbers = (40..44).collect();
        let file = crate::banned::with(ADMINS.as_bytes(), "IRQBALANCE_ARGS", &numbers).unwrap();
        kernel.set(IRQBALANCE, &String::from_utf8(file).unwrap());
        let reverted = take_back(&kernel, &medium);
        let file = |one: &&Reverted| one.path == IRQBALANCE;
        assert_eq!(reverted.iter().find(file).unwrap().undone, Undone::Restored, "at {length}");
        assert!(reverted.iter().filter(|one| !file(one)).all(|one| one.undone == Undone::Reset));
        assert_eq!(read(&kernel, IRQBALANCE), ADMINS.trim());
        assert_eq!(journal(&medium).transactions(), []);
    }
}

#[test]
fn a_transaction_that_was_cut_short_stands_in_the_way() {
    let clock = Clock::default().with(8, Fault::Cut);
    let (kernel, medium) = (fresh(&clock), MemoryMedium::default());
    let changes: Vec<Planned> = (0..4)
        .map(|at| {
            let path = ["swappiness", "stat_interval", "min_free_kbytes", "zone_reclaim_mode"][at];
            file(&format!("/proc/sys/vm/{path}"), Form::Number, "3")
        })
        .collect();
    run(&kernel, &clock, &medium, &changes);
    let kernel = survived(kernel);
    let is_open = |transaction: &Transaction| transaction.end.is_none();
    assert!(journal(&medium).transactions().iter().any(is_open));
    let refused = apply(&kernel, &mut journal(&medium), &plan(changes.clone()), &options());
    assert!(matches!(refused, Err(ApplyError::Unfinished(1))), "{refused:?}");
    take_back(&kernel, &medium);
    assert_eq!(carry_out(&kernel, &medium, changes).ending, Ending::Done);
}

/// The numbers are those of other devices in the next boot.
#[test]
fn bans_of_an_earlier_boot_are_drift_until_they_are_settled() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let bans = || vec![planned(None, Place::BannedInterrupts, Form::Numbers, "40 41")];
    carry_out(&kernel, &medium, bans());
    let standings = |kernel: &Simulated| -> Vec<Standing> {
        let verified = verify(kernel, journal(&medium).transactions()).unwrap();
        verified.into_iter().map(|one| one.standing).collect()
    };
    assert_eq!(standings(&kernel), [Standing::AsSet]);
    let kernel = kernel.rebooted("second");
    assert_eq!(standings(&kernel), [Standing::Outdated]);
    settle(&kernel, &mut journal(&medium)).unwrap();
    assert_eq!((standings(&kernel), read(&kernel, IRQBALANCE)), (vec![], ADMINS.trim().to_owned()));
    assert_eq!(journal(&medium).transactions(), []);
    // Of somebody who wrote to the file since, every byte stays.
    carry_out(&kernel, &medium, bans());
    let theirs = read(&kernel, IRQBALANCE).replace("# ours", "# theirs");
    kernel.set(IRQBALANCE, &theirs);
    let kernel = kernel.rebooted("third");
    settle(&kernel, &mut journal(&medium)).unwrap();
    assert_eq!(read(&kernel, IRQBALANCE), ADMINS.trim().replace("# ours", "# theirs"));
}

#[test]
fn what_a_reboot_has_reset_leaves_the_journal() {
    let medium = MemoryMedium::default();
    let mut kernel = kernel();
    for boot in ["second", "third"] {
        let changes = vec![
            file("/proc/sys/vm/swappiness", Form::Number, "10"),
            drive(&kernel, "nomerges", Form::Number, "2"),
        ];
        let receipts = carry_out(&kernel, &medium, changes);
        assert_eq!(receipts.ending, Ending::Done);
        assert_eq!(journal(&medium).transactions().len(), 1);
        kernel = kernel.rebooted(boot);
        assert_eq!(read(&kernel, "/proc/sys/vm/swappiness"), "60");
    }
    let clock = Clock::default().with(7, Fault::Cut);
    let dying = kernel.with_clock(clock.clone());
    let changes = [file("/proc/sys/vm/swappiness", Form::Number, "10")];
    run(&dying, &clock, &medium, &changes);
    assert!(clock.is_dead());
    let kernel = dying.rebooted("fourth");
    assert_eq!(carry_out(&kernel, &medium, changes.to_vec()).ending, Ending::Done);
    take_back(&kernel, &medium);
    assert_eq!(left(&kernel), [""; 0]);
}
