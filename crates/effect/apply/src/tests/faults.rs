// SPDX-License-Identifier: MIT OR Apache-2.0
//! Disks that stay full, values that cannot be read, and boots that reset only a part.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use journal::Medium;
use rustix::io::Errno;

use super::*;
use crate::{ApplyError, Standing, verify};

/// A medium with room for so many more records.
#[derive(Debug, Clone)]
struct Filling {
    inner: MemoryMedium,
    room: Arc<AtomicUsize>,
}

impl Filling {
    fn on(inner: &MemoryMedium, room: usize) -> Self {
        Self { inner: inner.clone(), room: Arc::new(AtomicUsize::new(room)) }
    }

    fn journal(&self) -> Journal {
        Journal::on(Box::new(self.clone()), Path::new("journal")).unwrap()
    }

    fn is_full(&self) -> bool {
        self.room.load(Ordering::Relaxed) == 0
    }
}

impl Medium for Filling {
    fn read(&mut self) -> io::Result<Vec<u8>> {
        self.inner.read()
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.is_full() {
            self.inner.append(&bytes[..bytes.len() / 3])?;
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.room.fetch_sub(1, Ordering::Relaxed);
        self.inner.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn cut(&mut self, bytes: usize) -> io::Result<()> {
        self.inner.cut(bytes)
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.is_full() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.inner.replace(bytes)
    }
}

#[test]
fn a_disk_that_stays_full_leaves_no_byte_and_says_what_came() {
    for (name, changes) in goals(&kernel()) {
        let whole = MemoryMedium::default();
        carry_out(&kernel(), &whole, changes.clone());
        let text = String::from_utf8(whole.bytes()).unwrap();
        // All that is intended is one write with the begin.
        let is_begun = |line: &&str| {
            ["intend", "ready"].iter().any(|word| line.contains(&format!("\"record\":\"{word}\"")))
        };
        let records = text.lines().filter(|line| !is_begun(line)).count();
        for room in 1..records {
            let (kernel, medium) = (kernel(), MemoryMedium::default());
            let mut journal = Filling::on(&medium, room).journal();
            let ended = apply(&kernel, &mut journal, &plan(changes.clone()), &options());
            drop(journal);
            let case = format!("{name}, {room} of {records}");
            match ended {
                Err(ApplyError::Journal(_)) => assert_eq!(kernel.writes(), [""; 0], "{case}"),
                Err(ApplyError::TakenBack(_)) => {}
                other => panic!("{case}: {other:?}"),
            }
            assert_eq!(left(&kernel), [""; 0], "{case}");
            take_back(&kernel, &medium);
            assert_eq!(super::journal(&medium).transactions(), [], "{case}");
        }
    }
}

#[test]
fn a_revert_on_a_full_disk_says_what_it_took_back() {
    for (name, changes) in goals(&kernel()) {
        let (kernel, medium) = (kernel(), MemoryMedium::default());
        carry_out(&kernel, &medium, changes);
        let mut full = Filling::on(&medium, 0).journal();
        let reverts = revert(&kernel, &mut full, &Selection::All, Force::Respect).unwrap();
        drop(full);
        assert!(reverts.untold.is_some() && !reverts.reverted.is_empty(), "{name}");
        let odd: Vec<_> = reverts
            .reverted
            .iter()
            .filter(|one| !matches!(one.undone, Undone::Restored | Undone::Nothing))
            .collect();
        assert!(odd.is_empty(), "{name}: {odd:?}");
        assert_eq!(left(&kernel), [""; 0], "{name}");
        // Once there is room it is told, and nothing is written twice.
        let writes = kernel.writes().len();
        take_back(&kernel, &medium);
        assert_eq!((journal(&medium).transactions().len(), kernel.writes().len()), (0, writes));
    }
}

/// Only what is gone is missing; of what cannot be read nobody knows.
#[test]
fn what_cannot_be_read_is_no_device_that_is_gone() {
    let path = "/proc/sys/vm/swappiness";
    for errno in [Errno::IO, Errno::PERM] {
        let mut at = 0;
        loop {
            let (kernel, medium) = (kernel(), MemoryMedium::default());
            let changes = vec![
                file(path, Form::Number, "10"),
                drive(&kernel, "nomerges", Form::Number, "2"),
                interrupt(&kernel, "eth0", 0, 0, "2"),
            ];
            carry_out(&kernel, &medium, changes);
            let clock = Clock::default().with_read(at, errno);
            let kernel = kernel.with_clock(clock.clone());
            let came = revert(&kernel, &mut journal(&medium), &Selection::All, Force::Respect);
            let is_over = at >= clock.reads();
            let kernel = kernel.with_clock(Clock::default());
            let case = format!("{errno:?} at question {at}");
            match came {
                Err(why) => assert!(matches!(why, ApplyError::NoBoot(_)), "{case}: {why}"),
                Ok(reverts) => {
                    let is_missing = |one: &&Reverted| one.undone == Undone::Missing;
                    let missing = reverts.reverted.iter().find(is_missing);
                    assert!(missing.is_none(), "{case}: {missing:?}");
                    let is_stuck = reverts.reverted.iter().any(Reverted::is_stuck);
                    let clean = left(&kernel).is_empty();
                    assert!(clean || is_stuck, "{case}: {:?}", reverts.reverted);
                }
            }
            take_back(&kernel, &medium);
            assert_eq!(left(&kernel), [""; 0], "{case}");
            assert_eq!(journal(&medium).transactions(), [], "{case}");
            if is_over {
                break;
            }
            at += 1;
        }
        assert!(at > 10, "{at} questions");
    }
}

/// Some forty questions of each plan, spread over all that it asks.
#[test]
fn a_question_without_an_answer_undoes_all_or_says_so() {
    for (name, changes) in goals(&kernel()) {
        let clock = Clock::default();
        let all = kernel().with_clock(clock.clone());
        carry_out(&all, &MemoryMedium::default(), changes.clone());
        let reads = clock.reads();
        assert!(reads > 20, "{name}: {reads}");
        for (at, errno) in (0..reads)
            .step_by((reads / 40).max(1))
            .flat_map(|at| [Errno::IO, Errno::PERM].map(|errno| (at, errno)))
        {
            let kernel = kernel().with_clock(Clock::default().with_read(at, errno));
            let medium = MemoryMedium::default();
            let plan = plan(changes.clone());
            let ended = apply(&kernel, &mut journal(&medium), &plan, &options());
            let kernel = kernel.with_clock(Clock::default());
            let case = format!("{name}, {errno:?} at question {at} of {reads}");
            match ended.map(|receipts| receipts.ending) {
                Ok(Ending::Undone) | Err(ApplyError::TakenBack(_)) => {
                    assert_eq!(left(&kernel), [""; 0], "{case}");
                }
                Ok(Ending::Done | Ending::Stuck)
                | Err(ApplyError::NoBoot(_) | ApplyError::LeftBehind(_)) => {}
                Err(other) => panic!("{case}: {other}"),
            }
            let reverted = take_back(&kernel, &medium);
            assert!(!reverted.iter().any(Reverted::is_stuck), "{case}: {reverted:?}");
            assert_eq!(left(&kernel), [""; 0], "{case}: {reverted:?}");
        }
    }
}

/// A kernel that another one starts finds some registers as they were left.
#[test]
fn a_kexec_resets_only_a_part() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let uncore = "/sys/devices/system/cpu/intel_uncore_frequency/package_00_die_00/min_freq_khz";
    let swappiness = "/proc/sys/vm/swappiness";
    carry_out(
        &kernel,
        &medium,
        vec![file(uncore, Form::Number, "1000000"), file(swappiness, Form::Number, "10")],
    );
    kernel.set("/proc/sys/kernel/random/boot_id", "started by another\n");
    kernel.set(swappiness, "60\n");
    let verified = verify(&kernel, journal(&medium).transactions()).unwrap();
    let standings: Vec<_> = verified.iter().map(|one| &one.standing).collect();
    assert_eq!(standings, [&Standing::AsSet, &Standing::Reset]);
    // Whoever applies next drops what is reset, and nothing else.
    carry_out(&kernel, &medium, vec![drive(&kernel, "nomerges", Form::Number, "2")]);
    let reverted = take_back(&kernel, &medium);
    let all: Vec<_> = reverted.iter().map(|one| &one.undone).collect();
    assert_eq!(all, [&Undone::Restored, &Undone::Restored]);
    assert_eq!(read(&kernel, uncore), "800000");
    assert_eq!(left(&kernel), [""; 0]);
    // A reset gives them back as they were.
    carry_out(&kernel, &medium, vec![file(uncore, Form::Number, "1000000")]);
    let kernel = kernel.rebooted("a reset");
    let reset = take_back(&kernel, &medium);
    assert_eq!(reset[0].undone, Undone::Reset);
}
