// SPDX-License-Identifier: MIT OR Apache-2.0
//! Journals written, torn, damaged and read again.

use std::path::Path;

use proptest::prelude::*;
use setting::{Form, Outcome, Place, Undone};

use super::*;

fn intent(path: &str) -> Intent {
    Intent {
        setting: "s".to_owned(),
        device: None,
        place: Place::File { path: path.to_owned() },
        part: String::new(),
        path: path.to_owned(),
        form: Form::Number,
        before: Raw::text("1\n"),
        to: "2".to_owned(),
        write: Raw::text("2\n"),
        witnesses: Vec::new(),
    }
}

fn head(why: &str) -> Begin {
    Begin {
        transaction: 0,
        boot: "b".to_owned(),
        at: "2026-01-01T00:00:00Z".to_owned(),
        version: "0.1.0".to_owned(),
        why: why.to_owned(),
        network: None,
        guard: None,
    }
}

fn on(medium: &MemoryMedium) -> Journal {
    Journal::on(Box::new(medium.clone()), Path::new("journal")).unwrap()
}

/// A transaction of two changes, both made.
fn write(journal: &mut Journal) -> u64 {
    let id = journal.begin(head("apply")).unwrap();
    for index in 0..2 {
        let intent = Box::new(intent(&format!("/proc/sys/{index}")));
        journal.append(Record::Intend { transaction: id, index, intent }).unwrap();
    }
    journal.append(Record::Ready { transaction: id }).unwrap();
    journal.sync().unwrap();
    for index in 0..2 {
        let receipt = Receipt {
            outcome: Outcome::Applied,
            after: Some(Raw::text("2\n")),
            witnesses: Vec::new(),
            path: None,
        };
        journal.append(Record::Receipt { transaction: id, index, receipt }).unwrap();
    }
    journal.append(Record::End { transaction: id, how: End::Done }).unwrap();
    id
}

fn undo(journal: &mut Journal, transaction: u64, index: usize) {
    let undone = Undone::Restored;
    journal.append(Record::Undo { transaction, index, undone }).unwrap();
}

#[test]
fn what_was_written_is_read_again() {
    let medium = MemoryMedium::default();
    let mut journal = on(&medium);
    write(&mut journal);
    let again = on(&medium);
    assert_eq!(again.transactions(), journal.transactions());
    assert_eq!(again.transactions()[0].end, Some(End::Done));
    assert!(again.transactions()[0].entries.iter().all(|entry| entry.receipt.is_some()));
}

#[test]
fn a_torn_end_is_cut_wherever_it_is_torn() {
    let medium = MemoryMedium::default();
    write(&mut on(&medium));
    let whole = medium.bytes();
    for length in 0..whole.len() {
        let torn = MemoryMedium::with(whole[..length].to_vec());
        let mut journal = on(&torn);
        write(&mut journal);
        assert_eq!(on(&torn).transactions(), journal.transactions(), "torn at {length}");
        let mut zeros = whole[..length].to_vec();
        zeros.resize(whole.len() + 4096, 0);
        let zeroed = on(&MemoryMedium::with(zeros));
        let cut = on(&MemoryMedium::with(whole[..length].to_vec()));
        assert_eq!(zeroed.transactions(), cut.transactions(), "zeros from {length}");
    }
}

#[test]
fn damage_in_the_middle_is_refused_by_its_line() {
    let medium = MemoryMedium::default();
    write(&mut on(&medium));
    let text = String::from_utf8(medium.bytes()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let message = |lines: &[&str]| {
        let bytes = format!("{}\n", lines.join("\n"));
        parse(bytes.as_bytes()).unwrap_err().to_string()
    };
    let altered = lines[2].replace("/proc/sys/0", "/proc/sys/9");
    let mut other = lines.clone();
    other[2] = &altered;
    let says = "line 3: the checksum does not match the record; the journal was altered or damaged";
    assert_eq!(message(&other), says);
    other.remove(2);
    assert_eq!(message(&other), "line 3: record 3 where 2 should be; lines are missing or doubled");
    let mut other = lines.clone();
    other[3] = "{}";
    assert_eq!(message(&other), "line 4: no record: it does not begin with a checksum");
    assert_eq!(message(&["hello"]), "line 1: not a nearside journal");
    let begin = lines[1];
    assert_eq!(message(&[begin]), "line 1: not a nearside journal");
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let message = |schema: &str, minor| {
        let record = Record::Journal { schema: schema.to_owned(), minor, last: 0 };
        parse(&line::encode(0, &record).unwrap()).unwrap_err().to_string()
    };
    let says = "the journal has the format \"journal/2.0\"; this nearside knows \"journal/1.1\"";
    assert_eq!(message("journal/2", 0), says);
    assert!(message("journal/1", 2).contains("\"journal/1.2\""));
}

#[test]
fn what_is_fully_undone_is_dropped_and_numbers_go_on() {
    let medium = MemoryMedium::default();
    let mut journal = on(&medium);
    let (first, second) = (write(&mut journal), write(&mut journal));
    undo(&mut journal, first, 0);
    undo(&mut journal, first, 1);
    undo(&mut journal, second, 0);
    let expected = journal.transaction(second).cloned();
    journal.compact().unwrap();
    let mut again = on(&medium);
    assert_eq!(again.transactions(), journal.transactions());
    assert_eq!(again.transactions().to_vec(), expected.into_iter().collect::<Vec<_>>());
    undo(&mut again, second, 1);
    again.compact().unwrap();
    assert_eq!(again.transactions(), []);
    assert_eq!(on(&medium).begin(head("next")).unwrap(), second + 1);
}

#[test]
fn only_the_change_in_flight_may_be_written() {
    let medium = MemoryMedium::default();
    let mut journal = on(&medium);
    let id = journal.begin(head("apply")).unwrap();
    for index in 0..3 {
        let intent = Box::new(intent("/proc/sys/a"));
        journal.append(Record::Intend { transaction: id, index, intent }).unwrap();
    }
    let may = |journal: &Journal| {
        let transaction = journal.transaction(id).unwrap();
        (0..3).map(|index| transaction.may_be_written(index)).collect::<Vec<_>>()
    };
    assert_eq!(may(&journal), [false, false, false]);
    journal.append(Record::Ready { transaction: id }).unwrap();
    assert_eq!(may(&journal), [true, false, false]);
    let receipt =
        Receipt { outcome: Outcome::Applied, after: None, witnesses: Vec::new(), path: None };
    journal.append(Record::Receipt { transaction: id, index: 0, receipt }).unwrap();
    assert_eq!(may(&journal), [true, true, false]);
}

#[test]
fn a_file_is_ours_alone_and_held_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nearside/journal");
    let mut journal = Journal::open(&path, Wait::Refuse).unwrap();
    write(&mut journal);
    let mode = |path: &Path| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
    };
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    let held = Journal::open(&path, Wait::Refuse).unwrap_err();
    let me = std::process::id();
    assert!(matches!(held, JournalError::Held { pid: Some(pid), .. } if pid == me), "{held}");
    let waiting = std::thread::spawn({
        let path = path.clone();
        move || {
            let mut told = None;
            let journal = Journal::open(&path, Wait::Tell(&mut |pid| told = pid)).unwrap();
            (told, journal.transactions().len())
        }
    });
    std::thread::sleep(std::time::Duration::from_millis(100));
    undo(&mut journal, 1, 0);
    undo(&mut journal, 1, 1);
    journal.compact().unwrap();
    write(&mut journal);
    write(&mut journal);
    drop(journal);
    assert_eq!(waiting.join().unwrap(), (Some(me), 2));
    assert_eq!(Journal::look(&path).unwrap().len(), 2);
    assert_eq!(Journal::look(&folder.path().join("none")).unwrap(), []);
}

#[test]
fn a_link_in_the_place_of_the_journal_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    std::os::unix::fs::symlink(folder.path().join("other"), &path).unwrap();
    assert!(Journal::open(&path, Wait::Refuse).is_err());
    assert!(!folder.path().join("other").exists());
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = parse(&bytes);
    }

    #[test]
    fn any_altered_journal_is_read_or_refused(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let medium = MemoryMedium::default();
        write(&mut on(&medium));
        let mut bytes = medium.bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = parse(&bytes);
    }
}
