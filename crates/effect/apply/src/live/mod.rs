// SPDX-License-Identifier: MIT OR Apache-2.0
//! The live machine takes orders.

mod holder;
pub mod persist;
mod systemd;
pub mod take_back;

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use machine::{Fact, Feature, Why};
use root::{EthtoolValues, LiveRoot, Question, Root};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use setting::Ethtool;

pub use self::holder::hold_idle_latency;
use crate::kernel::OWN_SPREAD;
use crate::{Kernel, ServiceOrder, pairs};

/// Values that are on or off.
const SWITCHES: [&str; 2] = ["adaptive-rx", "adaptive-tx"];
const PAUSE_SWITCHES: [&str; 3] = ["autoneg", "rx", "tx"];

impl Kernel for LiveRoot {
    fn write(&self, path: &str, bytes: &[u8]) -> Result<(), Errno> {
        let file = open(path)?;
        let written = rustix::io::retry_on_intr(|| rustix::io::write(&file, bytes))?;
        // An attribute takes a write whole or not at all; the rest would be a write of its own.
        if written == bytes.len() { Ok(()) } else { Err(Errno::IO) }
    }

    fn write_at(&self, path: &str, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        let file = open(path)?;
        let written = rustix::io::retry_on_intr(|| rustix::io::pwrite(&file, bytes, offset))?;
        if written == bytes.len() { Ok(()) } else { Err(Errno::IO) }
    }

    fn replace(&self, path: &str, bytes: Option<&[u8]>) -> Result<(), Errno> {
        replace(Path::new(path), bytes)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }

    fn sweep(&self, path: &str) {
        sweep(Path::new(path));
    }

    fn ethtool(&self, nic: &str, what: &Ethtool) -> Fact<String> {
        let told = |values, switches: &[&str]| {
            let all = self.ethtool_values(nic, values)?;
            if all.is_empty() {
                return Err(Why::NotSupported);
            }
            Ok(pairs::from_numbers(all, switches))
        };
        match what {
            Ethtool::Channels => told(EthtoolValues::Channels, &[]),
            Ethtool::Rings => told(EthtoolValues::Rings, &[]),
            Ethtool::Coalescing => told(EthtoolValues::Coalescing, &SWITCHES),
            Ethtool::Pause => told(EthtoolValues::Pause, &PAUSE_SWITCHES),
            Ethtool::Features => {
                let text = self.ask(&Question::Features(nic.to_owned()))?;
                let all: Vec<Feature> =
                    serde_json::from_str(&text).map_err(|_| Why::unparsed(&text))?;
                Ok(pairs::features(&all))
            }
            Ethtool::ReceiveSpread => {
                let spread = self.receive_spread(nic)?;
                Ok(spread.table.iter().map(u32::to_string).collect::<Vec<_>>().join(" "))
            }
        }
    }

    fn set_ethtool(&self, nic: &str, what: &Ethtool, values: &str) -> Result<(), Errno> {
        let set = |what| {
            let values = pairs::numbers(values).ok_or(Errno::INVAL)?;
            self.set_ethtool_values(nic, what, &values)
        };
        match what {
            Ethtool::Channels => set(EthtoolValues::Channels),
            Ethtool::Rings => set(EthtoolValues::Rings),
            Ethtool::Coalescing => set(EthtoolValues::Coalescing),
            Ethtool::Pause => set(EthtoolValues::Pause),
            Ethtool::Features => {
                let asked = |(name, value): (String, String)| {
                    let is_on = pairs::asked(&value) == "on";
                    (name, is_on)
                };
                let all: Vec<(String, bool)> =
                    pairs::parse(values).into_iter().map(asked).collect();
                self.set_features(nic, &all)
            }
            Ethtool::ReceiveSpread if values == OWN_SPREAD => self.reset_receive_spread(nic),
            Ethtool::ReceiveSpread => {
                let queues: Option<Vec<u32>> =
                    values.split_whitespace().map(|word| word.parse().ok()).collect();
                self.set_receive_spread(nic, &queues.ok_or(Errno::INVAL)?)
            }
        }
    }

    fn flow_rules(&self, nic: &str) -> Fact<u32> {
        self.flow_rules(nic)
    }

    fn service(&self, unit: &str) -> Fact<bool> {
        systemd::is_active(unit)
    }

    fn set_service(&self, unit: &str, order: ServiceOrder) -> Result<(), Errno> {
        systemd::order(unit, order)
    }

    fn set_idle_latency(&self, bound_us: Option<u32>) -> Result<(), Errno> {
        holder::set(self, bound_us)
    }
}

/// Opens a file of the kernel for writing; nothing is created or cut.
fn open(path: &str) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY, Mode::empty())
}

/// Removes the half of a file that a killed [`replace`] left. Mostly there is none.
fn sweep(path: &Path) {
    let _ = fs::remove_file(fresh(&real(path)));
}

/// A file that is a link is replaced where it lies.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Puts a file in place of another with its mode and owner, so that no moment sees half of it.
fn replace(path: &Path, bytes: Option<&[u8]>) -> std::io::Result<()> {
    let path = real(path);
    let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
    let Some(bytes) = bytes else {
        fs::remove_file(&path)?;
        return File::open(folder)?.sync_all();
    };
    let fresh = fresh(&path);
    fill(&fresh, &path, bytes).and_then(|()| fs::rename(&fresh, &path)).inspect_err(|_| {
        // Half of a file helps nobody; the failure is what is told.
        let _ = fs::remove_file(&fresh);
    })?;
    File::open(folder)?.sync_all()
}

/// Writes a file with the mode and the owner of another, down to the disk.
fn fill(fresh: &Path, old: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o644).open(fresh)?;
    if let Ok(old) = fs::metadata(old) {
        file.set_permissions(fs::Permissions::from_mode(old.mode() & 0o7777))?;
        fchown(&file, Some(old.uid()), Some(old.gid()))?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}

fn fresh(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".nearside-new");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_on_disk_is_replaced_with_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("irqbalance");
        let text = path.to_str().unwrap();
        let root = LiveRoot::open().unwrap();
        root.replace(text, Some(b"a")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        root.replace(text, Some(b"bc")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"bc");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
        // A process that was killed in between.
        let half = folder.path().join("irqbalance.nearside-new");
        fs::write(&half, "b").unwrap();
        root.sweep(text);
        assert!(!half.exists() && path.exists());
        root.replace(text, None).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(root.replace(text, None), Err(Errno::NOENT));
    }

    #[test]
    fn a_file_of_the_kernel_is_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let text = path.to_str().unwrap();
        let root = LiveRoot::open().unwrap();
        assert_eq!(Kernel::write(&root, text, b"1"), Err(Errno::NOENT));
        fs::write(&path, "abcdef").unwrap();
        root.write_at(text, 2, b"XY").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"abXYef");
    }
}
