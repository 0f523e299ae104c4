// SPDX-License-Identifier: MIT OR Apache-2.0
//! The guard before anything is written to a block device.
//!
//! ```text
//! name (no link, there, a block device) ─> serial number ─> claims ─> hold (O_EXCL) ─> claims again
//!                                                              ─> signatures ─> Guard (kept all run)
//! ```
//!
//! It refuses by name. What is asked of the kernel in one step can be otherwise in the next, so that
//! uses are looked for once before the device is held, for a word that helps, and once after it. The
//! hold keeps mounts, swap, md, device mapper and other exclusive users away until it is dropped.

mod identity;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use linux::{Claimed, HEAD, TAIL};
use root::LiveRoot;

pub use identity::identity;
use identity::{Node, node};
pub(crate) use identity::{block_of, number};

/// A block device that is held for a run: nobody else can mount it, swap to it or hold it.
#[derive(Debug)]
pub struct Guard {
    /// The exclusive opening; dropped with the guard.
    held: File,
    claimed: Claimed,
}

impl Guard {
    /// What it is.
    pub fn claimed(&self) -> &Claimed {
        &self.claimed
    }

    /// Its number, as the kernel has it.
    pub(crate) fn number(&self) -> io::Result<u64> {
        Ok(self.held.metadata()?.rdev())
    }
}

/// Why a device is not written to.
#[derive(Debug, thiserror::Error)]
#[error("{} is not written to: {why}", .path.display())]
pub struct Refused {
    /// As it was named.
    pub path: PathBuf,
    /// Why.
    pub why: Why,
}

/// What speaks against writing.
#[derive(Debug, thiserror::Error)]
pub enum Why {
    /// Nothing is there, and nothing is made.
    #[error("there is no such file")]
    Absent,
    /// It is reached through a link.
    #[error("it is reached through a link, and is {}: name that", .0.display())]
    Link(PathBuf),
    /// No block device.
    #[error("it is {0}, not a block device")]
    NotBlock(&'static str),
    /// Nobody told which one it is to be.
    #[error("its identity was not told: name its {0}, {1}, if it is the one that is meant")]
    NoToken(&'static str, String),
    /// Another one is meant.
    #[error("its {0} is {1}, and {2} was told")]
    Other(&'static str, String, String),
    /// It cannot be told which one it is.
    #[error("it has neither a serial number nor a size that tells it from others")]
    Anonymous,
    /// It is in use.
    #[error("{}", list(.0))]
    Claimed(Vec<linux::Claim>),
    /// Somebody may use it, and that cannot be seen.
    #[error("it cannot be seen {}: run it as root, and outside of a container", unseen(.0))]
    Unseen(Vec<linux::Unseen>),
    /// Something stands on it.
    #[error("it bears the signature of {}; wipefs(8) takes it away", .0.join(", "))]
    Signed(Vec<&'static str>),
    /// The kernel lets nobody hold it.
    #[error("somebody holds it exclusively, and no table of the kernel tells who")]
    Held,
    /// It became another one while it was looked at.
    #[error("it changed while it was looked at")]
    Changed,
    /// A question that the kernel did not answer.
    #[error("{0}: {1}")]
    Kernel(&'static str, io::Error),
}

fn list(claims: &[linux::Claim]) -> String {
    let texts: Vec<String> = claims.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

fn unseen(unseen: &[linux::Unseen]) -> String {
    let texts: Vec<String> = unseen.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

/// Takes a device for writing. `token` is its serial number, for a partition or a namespace among
/// others with its number and size behind it; for a device without one, its size in bytes
/// ([`identity()`]).
///
/// # Errors
/// Whatever speaks against writing to it.
pub fn guard(root: &LiveRoot, path: &Path, token: Option<&str>) -> Result<Guard, Refused> {
    take(root, path, token).map_err(|why| Refused { path: path.to_owned(), why })
}

fn take(root: &LiveRoot, path: &Path, token: Option<&str>) -> Result<Guard, Why> {
    let node = node(root, path)?;
    let claimed = unclaimed(root, &node)?;
    identity::check(&claimed, token)?;
    let held = hold(&node)?;
    let claimed_still = unclaimed(root, &node)?;
    let is_same = |one: &Claimed, other: &Claimed| {
        (&one.serial, &one.bytes, one.kin) == (&other.serial, &other.bytes, other.kin)
    };
    if !is_same(&claimed_still, &claimed) {
        return Err(Why::Changed);
    }
    unsigned(&held)?;
    Ok(Guard { held, claimed })
}

/// What uses the device; refused where anything does, or could without being seen.
fn unclaimed(root: &LiveRoot, node: &Node) -> Result<Claimed, Why> {
    let claimed = linux::claims(root, &node.number()).map_err(|_| Why::Changed)?;
    match (claimed.claims.is_empty(), claimed.unseen.is_empty()) {
        (false, _) => Err(Why::Claimed(claimed.claims)),
        (true, false) => Err(Why::Unseen(claimed.unseen)),
        (true, true) => Ok(claimed),
    }
}

/// Opens it so that nobody else can use it, and holds that it is still the same.
fn hold(node: &Node) -> Result<File, Why> {
    // Never O_CREAT: where the device has gone since, nothing may come in its place.
    let flags = libc::O_EXCL | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(&node.path);
    let held = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::EBUSY) => Why::Held,
        _ => Why::Kernel("holding it", error),
    })?;
    let now = held.metadata().map_err(|error| Why::Kernel("looking at it", error))?;
    if now.rdev() == node.device { Ok(held) } else { Err(Why::Changed) }
}

/// Reads its beginning and its end; refused where anything stands there.
fn unsigned(held: &File) -> Result<(), Why> {
    let failed = |error| Why::Kernel("reading it", error);
    let bytes = rustix::fs::seek(held, rustix::fs::SeekFrom::End(0))
        .map_err(|error| failed(error.into()))?;
    let part = |from: u64, most: usize| {
        let length = usize::try_from(bytes - from).unwrap_or(most).min(most);
        let mut part = vec![0; length];
        held.read_exact_at(&mut part, from).map(|()| part)
    };
    let head = part(0, HEAD).map_err(failed)?;
    let tail = bytes.saturating_sub(u64::try_from(TAIL).unwrap_or(0));
    let tail = part(tail, TAIL).map_err(failed)?;
    let names = linux::signatures(&head, &tail, bytes);
    if names.is_empty() { Ok(()) } else { Err(Why::Signed(names)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &Path) -> String {
        let root = LiveRoot::open().unwrap();
        guard(&root, path, Some("any")).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_block_device_is_refused_by_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let cases = [
            (file.clone(), "a regular file, not a block device".to_owned()),
            (folder.path().to_owned(), "a folder, not a block device".to_owned()),
            ("/dev/null".into(), "a character device, not a block device".to_owned()),
            (link, format!("reached through a link, and is {}: name that", file.display())),
        ];
        for (path, wanted) in cases {
            let error = refusal(&path);
            assert_eq!(error, format!("{} is not written to: it is {wanted}", path.display()));
        }
    }

    #[test]
    fn a_typo_makes_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nvme9n1");
        assert!(refusal(&path).ends_with("there is no such file"));
        assert!(!path.exists());
    }
}
