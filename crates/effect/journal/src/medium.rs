// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a journal is written on: a locked file, or memory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::read::{MOST, begins_ours};
use crate::{JournalError, line};

/// What a journal is written on.
pub trait Medium: Send {
    /// All that is there.
    ///
    /// # Errors
    /// It cannot be read.
    fn read(&mut self) -> io::Result<Vec<u8>>;

    /// Adds bytes at the end.
    ///
    /// # Errors
    /// They cannot be written, or only in part.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Waits until all that was added is safe from a loss of power.
    ///
    /// # Errors
    /// The disk failed.
    fn sync(&mut self) -> io::Result<()>;

    /// Cuts what follows so many bytes.
    ///
    /// # Errors
    /// It cannot be cut.
    fn cut(&mut self, bytes: usize) -> io::Result<()>;

    /// Puts other contents in place of all, at once or not at all. They are safe from a loss of power
    /// after the next [`Medium::sync`] at the latest.
    ///
    /// # Errors
    /// The old contents are still there.
    fn replace(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// The boot in which it is read, where that is told: what a loss of power leaves is told from
    /// damage by it.
    fn boot(&self) -> Option<String> {
        None
    }
}

/// What to do while another process holds the journal.
pub enum Wait<'a> {
    /// Give up at once.
    Refuse,
    /// Wait for it, after telling its process number where that is known.
    Tell(&'a mut dyn FnMut(Option<u32>)),
}

impl std::fmt::Debug for Wait<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Refuse => "Refuse",
            Self::Tell(_) => "Tell",
        })
    }
}

/// A file, locked by a second file beside it: its own name passes to another file when it is
/// rewritten, and a lock would stay with the old one.
#[derive(Debug)]
pub struct FileMedium {
    path: PathBuf,
    file: File,
    /// Whether the folder may not have the file's name on disk yet.
    is_named: bool,
    _lock: File,
}

impl FileMedium {
    /// Opens the file and locks it, making it and its folder where they are missing.
    ///
    /// # Errors
    /// It cannot be made, or another process holds it and `wait` says to refuse.
    pub fn open(path: &Path, wait: Wait<'_>) -> Result<Self, JournalError> {
        let failed = |what| move |source| JournalError::Io { what, path: path.to_owned(), source };
        // Before a lock is made beside it.
        refuse_special(path).map_err(failed("open"))?;
        make_folder(folder_of(path)).map_err(failed("make the folder of"))?;
        let lock = open_own(&beside(path, "lock"), &Purpose::Lock).map_err(failed("lock"))?;
        hold(&lock, path, wait)?;
        let file = open_own(path, &Purpose::Append).map_err(failed("open"))?;
        // Whoever made it may have died before its name was safe.
        Ok(Self { path: path.to_owned(), file, is_named: false, _lock: lock })
    }
}

/// The folder that a file lies in.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Makes a folder and those above it, and the name of each safe from a loss of power.
fn make_folder(folder: &Path) -> io::Result<()> {
    let made: Vec<&Path> = folder.ancestors().take_while(|each| !is_folder(each)).collect();
    if made.is_empty() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    made.into_iter().rev().try_for_each(|each| sync_folder(folder_of(each)))
}

/// The empty path is the folder of now.
fn is_folder(path: &Path) -> bool {
    path.as_os_str().is_empty() || path.is_dir()
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Refuses a file that is something else before anything is made beside it.
pub(crate) fn demand_journal(path: &Path) -> Result<(), JournalError> {
    let Ok(metadata) = fs::metadata(path) else { return Ok(()) };
    if !metadata.is_file() {
        return Err(JournalError::NotJournal);
    }
    let failed = |source| JournalError::Io { what: "read", path: path.to_owned(), source };
    let mut first = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(FIRST_MOST).read_to_end(&mut first).map_err(failed)?;
    let is_ours = first.starts_with(line::BEGIN.as_bytes()) || begins_ours(&first);
    if is_ours { Ok(()) } else { Err(JournalError::NotJournal) }
}

/// More bytes than the first line of a journal has.
const FIRST_MOST: u64 = 256;

/// The name of this boot (Documentation/admin-guide/sysctl/kernel.rst).
pub(crate) fn boot_now() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

enum Purpose {
    Lock,
    Append,
}

/// Opens a file of ours: never through a link, never one that others may read.
fn open_own(path: &Path, purpose: &Purpose) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let flags = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
    options.mode(0o600).custom_flags(flags).create(true).read(true);
    match purpose {
        Purpose::Lock => options.write(true).truncate(false),
        Purpose::Append => options.append(true),
    };
    options.open(path)
}

/// [`is_held`] has the lock for microseconds; whoever changes a machine has it for longer.
const GLANCES: u32 = 5;
const GLANCE: Duration = Duration::from_millis(10);

fn hold(lock: &File, path: &Path, wait: Wait<'_>) -> Result<(), JournalError> {
    let failed = |errno: Errno| JournalError::Io {
        what: "lock",
        path: path.to_owned(),
        source: errno.into(),
    };
    let mut tried = flock(lock, FlockOperation::NonBlockingLockExclusive);
    // Whoever waits needs no second look.
    let glances = if matches!(wait, Wait::Refuse) { GLANCES } else { 0 };
    for _ in 0..glances {
        if tried != Err(Errno::WOULDBLOCK) {
            break;
        }
        std::thread::sleep(GLANCE);
        tried = flock(lock, FlockOperation::NonBlockingLockExclusive);
    }
    match tried {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => {
            let pid = holder(lock);
            match wait {
                Wait::Refuse => return Err(JournalError::Held { path: path.to_owned(), pid }),
                Wait::Tell(tell) => tell(pid),
            }
            rustix::io::retry_on_intr(|| flock(lock, FlockOperation::LockExclusive))
                .map_err(failed)?;
        }
        Err(errno) => return Err(failed(errno)),
    }
    // Who holds it is told for the sake of the message only.
    let _ = lock.set_len(0).and_then(|()| {
        rustix::io::pwrite(lock, format!("{}\n", std::process::id()).as_bytes(), 0)?;
        Ok(())
    });
    Ok(())
}

/// Whether a process holds the journal at a path now.
pub(crate) fn is_held(path: &Path) -> bool {
    let Ok(lock) = File::open(beside(path, "lock")) else { return false };
    flock(&lock, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
}

fn holder(lock: &File) -> Option<u32> {
    let mut bytes = [0; 16];
    let read = rustix::io::pread(lock, &mut bytes, 0).ok()?;
    std::str::from_utf8(bytes.get(..read)?).ok()?.trim().parse().ok()
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

impl Medium for FileMedium {
    fn read(&mut self) -> io::Result<Vec<u8>> {
        read_file(&self.path)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        if !self.is_named {
            sync_folder(folder_of(&self.path))?;
            self.is_named = true;
        }
        Ok(())
    }

    fn cut(&mut self, bytes: usize) -> io::Result<()> {
        self.file.set_len(bytes as u64)?;
        self.file.sync_all()
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        let path = beside(&self.path, "new");
        let mut fresh = open_own(&path, &Purpose::Append)?;
        let written = fresh
            .set_len(0)
            .and_then(|()| fresh.write_all(bytes))
            .and_then(|()| fresh.sync_all())
            .and_then(|()| fs::rename(&path, &self.path));
        if let Err(error) = written {
            // A full disk is not to be left fuller.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        // From here on the fresh file is the journal, whether its name is safe yet or not.
        self.file = fresh;
        self.is_named = sync_folder(folder_of(&self.path)).is_ok();
        Ok(())
    }

    fn boot(&self) -> Option<String> {
        boot_now()
    }
}

/// A FIFO would be waited for, and a device has no end.
fn refuse_special(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(Errno::ISDIR.into()),
        Ok(there) if !there.is_file() => Err(io::Error::other("it is no plain file")),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A file's bytes, up to the most that a journal has.
pub(crate) fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    refuse_special(path)?;
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Memory that outlives the journal on it: for tests that let the process "die".
#[derive(Debug, Clone, Default)]
pub struct MemoryMedium {
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl MemoryMedium {
    /// What is on it.
    pub fn bytes(&self) -> Vec<u8> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A medium with these bytes on it.
    pub fn with(bytes: Vec<u8>) -> Self {
        Self { bytes: Arc::new(Mutex::new(bytes)) }
    }

    fn change(&self, change: impl FnOnce(&mut Vec<u8>)) {
        change(&mut self.bytes.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Medium for MemoryMedium {
    fn read(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.bytes())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.change(|all| all.extend_from_slice(bytes));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn cut(&mut self, bytes: usize) -> io::Result<()> {
        self.change(|all| all.truncate(bytes));
        Ok(())
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.change(|all| *all = bytes.to_vec());
        Ok(())
    }
}
