// SPDX-License-Identifier: MIT OR Apache-2.0
//! A loss of power at every byte and every step of a write.
//!
//! What was written and not brought to disk may be there, gone or torn afterwards, and a new name
//! that was not may be there or not; all of these are tried.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::{failed, measured, run};
use crate::disk::{Disk, RealDisk};
use crate::{Store, Wanted, files};

/// A disk that loses power after so many bytes and steps.
#[derive(Clone, Default)]
struct Dying(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    left: usize,
    /// Files whose contents have not been brought to disk.
    unsynced: Vec<PathBuf>,
    /// Names that have not been: old, new.
    unnamed: Vec<(PathBuf, PathBuf)>,
    /// Folders whose names have not been.
    folders: Vec<PathBuf>,
}

impl Dying {
    fn after(left: usize) -> Self {
        Self(Arc::new(Mutex::new(State { left, ..State::default() })))
    }

    /// Spends steps; as many as are left where there are too few.
    fn spend(&self, wanted: usize) -> Result<(), usize> {
        let mut state = self.0.lock().unwrap();
        match state.left.checked_sub(wanted) {
            Some(left) => {
                state.left = left;
                Ok(())
            }
            None => Err(std::mem::take(&mut state.left)),
        }
    }

    fn step(&self) -> io::Result<()> {
        self.spend(1).map_err(|_| dead())
    }

    fn left(&self) -> usize {
        self.0.lock().unwrap().left
    }
}

fn dead() -> io::Error {
    io::Error::other("no power")
}

impl Disk for Dying {
    fn make_folder(&mut self, folder: &Path) -> io::Result<()> {
        self.step()?;
        let is_new = !folder.exists();
        RealDisk.make_folder(folder)?;
        self.0.lock().unwrap().folders.extend(is_new.then(|| folder.to_owned()));
        Ok(())
    }

    fn write_new(&mut self, file: &Path, bytes: &[u8]) -> io::Result<()> {
        self.step()?;
        self.0.lock().unwrap().unsynced.push(file.to_owned());
        match self.spend(bytes.len()) {
            Ok(()) => RealDisk.write_new(file, bytes),
            Err(some) => {
                RealDisk.write_new(file, &bytes[..some])?;
                Err(dead())
            }
        }
    }

    fn sync(&mut self, file: &Path) -> io::Result<()> {
        self.step()?;
        self.0.lock().unwrap().unsynced.retain(|other| other != file);
        Ok(())
    }

    fn sync_folder(&mut self, folder: &Path) -> io::Result<()> {
        self.step()?;
        let mut state = self.0.lock().unwrap();
        state.unnamed.retain(|(_, new)| new.parent() != Some(folder));
        state.folders.retain(|other| other.parent() != Some(folder));
        Ok(())
    }

    fn rename_new(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.rename_new(from, to)?;
        self.0.lock().unwrap().unnamed.push((from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&mut self, file: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.remove(file)
    }
}

/// What a loss of power may leave of what was not brought to disk.
#[derive(Debug, Clone, Copy)]
enum Left {
    All,
    Nothing,
    Torn,
}

impl Left {
    fn take(self, state: &State) {
        for (old, new) in &state.unnamed {
            if !matches!(self, Self::All) && new.exists() {
                fs::rename(new, old).unwrap();
            }
        }
        // With a folder goes what is in it, synced or not.
        for folder in state.folders.iter().filter(|_| !matches!(self, Self::All)) {
            let _ = fs::remove_dir_all(folder);
        }
        for file in state.unsynced.iter().filter(|file| file.exists()) {
            let bytes = fs::read(file).unwrap();
            match self {
                Self::All => {}
                Self::Nothing => fs::write(file, b"").unwrap(),
                Self::Torn => fs::write(file, vec![0; bytes.len()]).unwrap(),
            }
        }
    }
}

/// Adds a second run with so many steps; whether power lasted.
fn add_until(folder: &Path, steps: usize, left: Left) -> (bool, usize) {
    let disk = Dying::after(steps);
    let mut store = Store::on(folder, Box::new(disk.clone())).unwrap();
    let added = store.add(&run(2, failed()));
    drop(store);
    left.take(&disk.0.lock().unwrap());
    (added.is_ok(), disk.left())
}

/// A store with one run, in a folder of its own.
fn with_one() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    Store::open(folder.path()).unwrap().add(&run(1, measured())).unwrap();
    folder
}

#[test]
fn at_most_the_run_in_flight_is_lost() {
    const PLENTY: usize = 1 << 20;
    let (lasted, left) = add_until(with_one().path(), PLENTY, Left::Nothing);
    assert!(lasted);
    let all = PLENTY - left;
    assert!(all > 500, "the write has {all} bytes and steps");
    let folder = with_one();
    for steps in 0..all {
        for left in [Left::All, Left::Nothing, Left::Torn] {
            let (lasted, _) = add_until(folder.path(), steps, left);
            assert!(!lasted, "{steps} of {all} steps were enough");
            check(folder.path(), steps, left);
            // For the next loss.
            let second = files::path(folder.path(), &run(2, failed()).id);
            let _ = fs::remove_file(second);
        }
    }
}

/// The first run is whole; the second is whole or not there; the store takes it again.
fn check(folder: &Path, steps: usize, left: Left) {
    assert_eq!(
        files::read(&files::path(folder, &run(1, measured()).id)).unwrap(),
        run(1, measured())
    );
    let second = files::path(folder, &run(2, failed()).id);
    if second.exists() {
        assert_eq!(files::read(&second).unwrap(), run(2, failed()), "{steps} {left:?}");
    }
    let names = files::ids(folder, "202603").unwrap();
    assert_eq!(names.len(), 1 + usize::from(second.exists()), "{steps} {left:?}");
    // A store is opened now and then: its index is another file, which its own tests cut.
    if steps.is_multiple_of(64) {
        let mut store = Store::open(folder).unwrap();
        assert_eq!(store.list(&Wanted::default()).unwrap().len(), names.len());
        assert!(store.unread().unwrap().is_empty());
        store.add(&run(2, failed())).unwrap();
        assert_eq!(store.list(&Wanted::default()).unwrap().len(), 2);
    }
}

/// The first of all: nothing of the way to it was there.
#[test]
fn the_first_run_of_a_store_is_safe() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("deep/store");
    for steps in 0..1 << 12 {
        let (lasted, _) = add_until(&folder, steps, Left::Nothing);
        let path = files::path(&folder, &run(2, failed()).id);
        assert_eq!(path.exists(), lasted, "{steps}");
        if lasted {
            assert_eq!(files::read(&path).unwrap(), run(2, failed()));
            return;
        }
    }
    panic!("no number of steps was enough");
}

#[test]
fn what_a_crash_left_unfinished_is_replaced() {
    let folder = with_one();
    add_until(folder.path(), 500, Left::All);
    let month = folder.path().join("runs/202603");
    let unfinished = || {
        let names = fs::read_dir(&month).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with(".new-")).count()
    };
    assert_eq!(unfinished(), 1);
    // Of another process, which is gone; and of one that may be in another container.
    let left = |pid: &str, hours: u64| {
        let path = month.join(format!(".new-20260305-x-{pid}"));
        let file = fs::File::create(&path).unwrap();
        let time = std::time::SystemTime::now() - std::time::Duration::from_secs(hours * 3600);
        file.set_modified(time).unwrap();
    };
    left("4194305", 2);
    left("4194306", 0);
    left("1", 2);
    left("1x", 30);
    assert_eq!(unfinished(), 5);
    Store::open(folder.path()).unwrap().add(&run(2, failed())).unwrap();
    assert_eq!(unfinished(), 2);
}
