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
        owner: None,
        network: None,
        guard: None,
    }
}

fn on(medium: &MemoryMedium) -> Journal {
    Journal::on(Box::new(medium.clone()), Path::new("journal")).unwrap()
}

/// Begins a transaction of which nothing else is told yet.
fn begin(journal: &mut Journal, why: &str) -> u64 {
    let transaction = journal.next_transaction();
    journal.append(Record::Begin(Begin { transaction, ..head(why) })).unwrap();
    transaction
}

/// Two changes that are intended.
fn intents() -> Vec<Intent> {
    (0..2).map(|index| intent(&format!("/proc/sys/{index}"))).collect()
}

/// A transaction of two changes, both made.
fn write(journal: &mut Journal) -> u64 {
    let id = journal.intend(head("apply"), &intents()).unwrap();
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

/// Intentions go to the medium by one write: as far as it came, nothing was written for them.
#[test]
fn intentions_are_all_told_or_none_may_be_written() {
    let medium = MemoryMedium::default();
    let length = {
        on(&medium);
        medium.bytes().len()
    };
    let id = on(&medium).intend(head("apply"), &intents()).unwrap();
    let whole = medium.bytes();
    for cut in length..whole.len() {
        let torn = on(&MemoryMedium::with(whole[..cut].to_vec()));
        let transaction = torn.transaction(id);
        let is_none = |index| transaction.is_none_or(|one| !one.may_be_written(index));
        assert!((0..2).all(is_none), "cut at {cut}");
    }
    assert!(on(&medium).transaction(id).is_some_and(|one| one.may_be_written(0)));
}

#[test]
fn a_torn_end_is_cut_wherever_it_is_torn() {
    let medium = MemoryMedium::default();
    write(&mut on(&medium));
    let whole = medium.bytes();
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for length in 0..whole.len() {
        let torn = MemoryMedium::with(whole[..length].to_vec());
        let mut journal = on(&torn);
        write(&mut journal);
        assert_eq!(on(&torn).transactions(), journal.transactions(), "torn at {length}");
        let mut zeros = whole[..length].to_vec();
        zeros.resize(whole.len() + 4096, 0);
        if length < first {
            // Longer than what was ever written to it: it is something else.
            let other = MemoryMedium::with(zeros.clone());
            let refused = Journal::on(Box::new(other.clone()), Path::new("journal"));
            assert!(matches!(refused, Err(JournalError::NotJournal)), "zeros from {length}");
            assert_eq!(other.bytes(), zeros);
            zeros.truncate(if length == 0 { 0 } else { first - 1 });
        }
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
    let says = "the journal has the format \"journal/2.0\"; this nearside knows \"journal/1.2\"";
    assert_eq!(message("journal/2", 0), says);
    assert!(message("journal/1", 3).contains("\"journal/1.3\""));
}

/// A journal of an older minor version, and what is left of one whose process died at its first line.
#[test]
fn an_older_format_is_read_and_written_on() {
    for minor in 0..read::MINOR {
        let head = Record::Journal { schema: read::SCHEMA.to_owned(), minor, last: 6 };
        let medium = MemoryMedium::with(line::encode(0, &head).unwrap());
        assert_eq!(write(&mut on(&medium)), 7);
        assert_eq!(on(&medium).transactions().len(), 1);
        let head = Record::Journal { schema: read::SCHEMA.to_owned(), minor, last: 0 };
        let mut torn = line::encode(0, &head).unwrap();
        torn.truncate(torn.len() / 2);
        assert_eq!(write(&mut on(&MemoryMedium::with(torn))), 1);
    }
}

#[test]
fn who_made_a_transaction_is_read_again() {
    let medium = MemoryMedium::default();
    let owner = Some(Owner { user: 0, login: Some(1000), name: Some("anna".to_owned()) });
    let begin = Begin { owner: owner.clone(), ..head("apply") };
    let id = on(&medium).intend(begin, &intents()).unwrap();
    let told = |journal: &Journal| journal.transaction(id).and_then(|one| one.begin.owner.clone());
    assert_eq!(told(&on(&medium)), owner);
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
    assert_eq!(begin(&mut on(&medium), "next"), second + 1);
}

#[test]
fn only_the_change_in_flight_may_be_written() {
    let medium = MemoryMedium::default();
    let mut journal = on(&medium);
    let id = begin(&mut journal, "apply");
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

/// A floor that waits for its ceiling is tried again last: those behind it come first.
#[test]
fn what_waits_and_what_comes_before_it_may_be_written() {
    let medium = MemoryMedium::default();
    let mut journal = on(&medium);
    let id = begin(&mut journal, "apply");
    for index in 0..4 {
        let intent = Box::new(intent("/proc/sys/a"));
        journal.append(Record::Intend { transaction: id, index, intent }).unwrap();
    }
    journal.append(Record::Ready { transaction: id }).unwrap();
    let may = |medium: &MemoryMedium| {
        let journal = on(medium);
        let transaction = journal.transaction(id).unwrap();
        (0..4).map(|index| transaction.may_be_written(index)).collect::<Vec<_>>()
    };
    journal.append(Record::Wait { transaction: id, index: 0 }).unwrap();
    assert_eq!(may(&medium), [true, true, false, false]);
    for index in [1, 2] {
        let receipt =
            Receipt { outcome: Outcome::Applied, after: None, witnesses: Vec::new(), path: None };
        journal.append(Record::Receipt { transaction: id, index, receipt }).unwrap();
        assert_eq!(may(&medium)[index + 1..], [true, false][..3 - index]);
        assert!(may(&medium)[..=index].iter().all(|may| *may));
    }
    let other = write(&mut journal);
    undo(&mut journal, other, 0);
    undo(&mut journal, other, 1);
    journal.compact().unwrap();
    assert_eq!(may(&medium), [true; 4], "a rewritten journal tells it as well");
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

/// `--journal FILE` with the path of something else.
#[test]
fn a_file_that_is_no_journal_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let newer = line::encode(0, &Record::Ready { transaction: 1 }).unwrap();
    for other in [
        &b"\x7fELF\x02\x01\x01\0\0\0\0"[..],
        &[0; 100],
        &[0; 5000],
        b"one line without its end",
        b"text\nwith\0NUL\n",
        b"{",
        br#"{"blake3":"0000"#,
        br#"{"blake3":"0000", "key": 1}"#,
        b"\n",
        &newer,
    ] {
        let path = folder.path().join("other");
        std::fs::write(&path, other).unwrap();
        let is_begun = read::begins_ours(other);
        match Journal::open(&path, Wait::Refuse) {
            Ok(_) => assert!(is_begun, "{other:?}"),
            Err(error) => {
                assert!(matches!(error, JournalError::NotJournal) && !is_begun, "{error}");
                assert_eq!(std::fs::read(&path).unwrap(), other);
            }
        }
        assert!(matches!(Journal::look(&path), Ok(_) | Err(JournalError::NotJournal)));
    }
    std::fs::write(folder.path().join("long"), [0_u8; 5000]).unwrap();
    let _ = Journal::open(&folder.path().join("long"), Wait::Refuse);
    assert!(!folder.path().join("long.lock").exists(), "nothing is made beside another file");
    assert!(matches!(Journal::open(folder.path(), Wait::Refuse), Err(JournalError::NotJournal)));
}

/// Memory in which boot, cuts and writes go as a test says.
#[derive(Debug, Clone, Default)]
struct Odd {
    inner: MemoryMedium,
    boot: &'static str,
    is_full: std::sync::Arc<std::sync::atomic::AtomicBool>,
}

impl Odd {
    fn is_full(&self) -> bool {
        self.is_full.load(std::sync::atomic::Ordering::Relaxed)
    }
}

impl Medium for Odd {
    fn read(&mut self) -> std::io::Result<Vec<u8>> {
        self.inner.read()
    }

    fn append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if self.is_full() {
            self.inner.append(&bytes[..bytes.len() / 2])?;
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        self.inner.append(bytes)
    }

    fn sync(&mut self) -> std::io::Result<()> {
        Ok(())
    }

    fn cut(&mut self, bytes: usize) -> std::io::Result<()> {
        match self.is_full() {
            true => Err(std::io::ErrorKind::StorageFull.into()),
            false => self.inner.cut(bytes),
        }
    }

    fn replace(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.inner.replace(bytes)
    }

    fn boot(&self) -> Option<String> {
        Some(self.boot.to_owned())
    }
}

#[test]
fn half_a_line_that_could_not_be_cut_is_cut_before_the_next() {
    let medium = Odd::default();
    let mut journal = Journal::on(Box::new(medium.clone()), Path::new("journal")).unwrap();
    let id = write(&mut journal);
    medium.is_full.store(true, std::sync::atomic::Ordering::Relaxed);
    let sound = medium.inner.bytes();
    let record = Record::Undo { transaction: id, index: 0, undone: Undone::Restored };
    assert!(journal.append(record).is_err());
    assert!(medium.inner.bytes().len() > sound.len());
    medium.is_full.store(false, std::sync::atomic::Ordering::Relaxed);
    undo(&mut journal, id, 1);
    assert_eq!(on(&medium.inner).transactions(), journal.transactions());
    assert!(journal.transactions()[0].entries[0].undone.is_none());
}

#[test]
fn a_hole_that_a_loss_of_power_left_ends_the_journal() {
    let medium = MemoryMedium::default();
    let (mut journal, mut lengths) = (on(&medium), Vec::new());
    write(&mut journal);
    lengths.push(medium.bytes().len());
    undo(&mut journal, 1, 0);
    lengths.push(medium.bytes().len());
    undo(&mut journal, 1, 1);
    let sound = medium.bytes();
    // From the begin of a line, and from its middle: pages know no lines.
    for begin in [lengths[0], lengths[0] + 40] {
        let mut bytes = sound.clone();
        bytes[begin..lengths[1] - 3].fill(0);
        let opened = |boot| {
            let inner = MemoryMedium::with(bytes.clone());
            let odd = Odd { inner: inner.clone(), boot, ..Odd::default() };
            Journal::on(Box::new(odd), Path::new("journal")).map(|journal| (journal, inner))
        };
        let refused = opened("b").unwrap_err();
        assert!(refused.to_string().starts_with("line 9: "), "{refused}");
        let (mut journal, inner) = opened("another").unwrap();
        assert_eq!(inner.bytes(), sound[..lengths[0]]);
        assert!(journal.transactions()[0].entries[0].receipt.is_some());
        write(&mut journal);
        assert_eq!(on(&inner).transactions(), journal.transactions());
    }
    // Damage that is no hole is refused in any boot.
    let mut bytes = sound;
    bytes[lengths[0] + 80] ^= 1;
    let odd = Odd { inner: MemoryMedium::with(bytes), boot: "another", ..Odd::default() };
    assert!(Journal::on(Box::new(odd), Path::new("journal")).is_err());
}

#[test]
fn a_record_of_what_was_never_begun_is_not_written() {
    let medium = MemoryMedium::default();
    let mut journal = on(&medium);
    let id = write(&mut journal);
    let before = medium.bytes();
    let receipt =
        Receipt { outcome: Outcome::Applied, after: None, witnesses: Vec::new(), path: None };
    for record in [
        Record::Ready { transaction: 9 },
        Record::Receipt { transaction: id, index: 2, receipt },
        Record::Intend { transaction: id, index: 5, intent: Box::new(intent("/proc/sys/a")) },
        Record::Begin(Begin { transaction: id, ..head("again") }),
        Record::Wait { transaction: id, index: 2 },
        Record::Undoing { transaction: id, indexes: vec![7], kept: Vec::new() },
    ] {
        let refused = journal.append(record).unwrap_err();
        assert!(matches!(refused, JournalError::Dangling { .. }), "{refused}");
    }
    assert_eq!(medium.bytes(), before);
    assert_eq!(on(&medium).transactions(), journal.transactions());
}

#[test]
fn a_journal_in_the_folder_of_now_is_rewritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let mut journal = Journal::open(&path, Wait::Refuse).unwrap();
    let id = write(&mut journal);
    undo(&mut journal, id, 0);
    undo(&mut journal, id, 1);
    assert_eq!(Journal::look(&path).unwrap(), [], "what is undone is not listed");
    journal.compact().unwrap();
    write(&mut journal);
    assert_eq!(Journal::look(&path).unwrap(), journal.transactions());
    assert!(!folder.path().join("journal.new").exists());
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
