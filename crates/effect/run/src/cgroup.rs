// SPDX-License-Identifier: MIT OR Apache-2.0
//! A cgroup v2 cpuset: what children of the command cannot leave, as they can an affinity.
//!
//! The group stays when the command has ended: nobody is left to take it away, and an empty group
//! costs nothing. `rmdir` removes it. Where there is no command in the end, what was made goes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use place::{Placement, Policy};
use units::CpuSet;

use crate::Error;

/// `CGROUP2_SUPER_MAGIC` (include/uapi/linux/magic.h).
const CGROUP2: u64 = 0x6367_7270;

/// A group that this process went into. Dropped, it goes where it came from, and takes the group
/// away if it made it: a process that becomes its command drops nothing.
#[derive(Debug)]
pub(crate) struct Entered {
    made: Option<PathBuf>,
    /// Where this process was before.
    before: Option<PathBuf>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let Some(made) = &self.made else { return };
        if let Some(before) = &self.before {
            let _ = write(&before.join("cgroup.procs"), "0");
        }
        // With a process in it the kernel refuses, and nothing is lost.
        let _ = fs::remove_dir(made);
    }
}

/// Moves this process into a group with the placement's CPUs and, where memory is bound, nodes.
pub(crate) fn enter(folder: &Path, placement: &Placement) -> Result<Entered, Error> {
    let mut entered = Entered { made: make(folder)?, before: None };
    fill(folder, placement)?;
    entered.before = before(folder);
    write(&folder.join("cgroup.procs"), "0")?;
    Ok(entered)
}

/// The folder of the group that this process is in, by its path from the top of the hierarchy that
/// `folder` is in: `0::/user.slice/…` (cgroups(7)).
fn before(folder: &Path) -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let is_top = |above: &&Path| above.parent().is_none_or(|parent| !is_group(parent));
    let top = folder.ancestors().filter(|above| is_group(above)).find(is_top)?;
    Some(top.join(own))
}

fn is_group(folder: &Path) -> bool {
    rustix::fs::statfs(folder)
        .is_ok_and(|system| u64::try_from(system.f_type).is_ok_and(|kind| kind == CGROUP2))
}

/// Makes the group where only it is missing, holds that it is one, and gives it if it is new.
fn make(folder: &Path) -> Result<Option<PathBuf>, Error> {
    let existing = if folder.is_dir() { Some(folder) } else { folder.parent() };
    if !existing.is_some_and(is_group) {
        let what = "it is no folder of a cgroup v2 hierarchy".to_owned();
        return Err(Error::Cgroup { path: folder.to_owned(), what });
    }
    match fs::create_dir(folder) {
        Ok(()) => Ok(Some(folder.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(Error::Cgroup { path: folder.to_owned(), what: error.to_string() }),
    }
}

/// Writes the cpuset and reads back what it came to.
fn fill(folder: &Path, placement: &Placement) -> Result<(), Error> {
    let file = |name: &str| folder.join(name);
    if placement.memory.policy == Policy::Bind {
        write(&file("cpuset.mems"), &placement.memory.nodes.to_string())?;
        compare(file("cpuset.mems.effective"), &placement.memory.nodes)?;
    }
    write(&file("cpuset.cpus"), &placement.cpus.to_string())?;
    compare(file("cpuset.cpus.effective"), &placement.cpus)
}

fn write(file: &Path, text: &str) -> Result<(), Error> {
    let failed = |error: io::Error| {
        let what = match error.kind() {
            io::ErrorKind::NotFound => "it has no such file: cpuset is not handed to it".to_owned(),
            _ => format!("writing {text:?}: {error}"),
        };
        Error::Cgroup { path: file.to_owned(), what }
    };
    // Not created: a cgroup has the file or has it not.
    let mut opened = fs::OpenOptions::new().write(true).open(file).map_err(failed)?;
    io::Write::write_all(&mut opened, text.as_bytes()).map_err(failed)
}

fn compare(path: PathBuf, wanted: &CpuSet) -> Result<(), Error> {
    let text = fs::read_to_string(&path)
        .map_err(|error| Error::Cgroup { path: path.clone(), what: error.to_string() })?;
    if CpuSet::from_list(text.trim()).is_ok_and(|left| left == *wanted) {
        return Ok(());
    }
    let what = format!("it was to be {wanted} and is {:?}", text.trim());
    Err(Error::Cgroup { path, what })
}

#[cfg(test)]
mod tests {
    use super::*;
    use place::Memory;

    fn placement(policy: Policy) -> Placement {
        let list = |text| CpuSet::from_list(text).unwrap();
        let memory = Memory { policy, nodes: list("1") };
        Placement { cpus: list("4-7"), memory, ..Placement::default() }
    }

    /// A folder with the files of a group whose kernel answers `cpus` and `mems`.
    fn group(cpus: &str, mems: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("cpuset.cpus", ""),
            ("cpuset.mems", ""),
            ("cpuset.cpus.effective", cpus),
            ("cpuset.mems.effective", mems),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    #[test]
    fn a_cpuset_is_written_and_read_back() {
        let folder = group("4-7\n", "1\n");
        fill(folder.path(), &placement(Policy::Bind)).unwrap();
        let read = |name| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!((read("cpuset.cpus"), read("cpuset.mems")), ("4-7".into(), "1".into()));
    }

    #[test]
    fn a_group_that_was_made_for_nothing_goes() {
        let folder = tempfile::tempdir().unwrap();
        let made = folder.path().join("made");
        fs::create_dir(&made).unwrap();
        drop(Entered { made: None, before: None });
        assert!(made.exists(), "one that was there stays");
        drop(Entered { made: Some(made.clone()), before: None });
        assert!(!made.exists());
    }

    #[test]
    fn memory_that_is_only_preferred_is_not_bound() {
        let folder = group("4-7\n", "0-1\n");
        fill(folder.path(), &placement(Policy::Prefer)).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("cpuset.mems")).unwrap(), "");
    }

    #[test]
    fn what_the_parent_narrows_is_refused() {
        let error = fill(group("4-5\n", "1\n").path(), &placement(Policy::Bind)).unwrap_err();
        assert!(error.to_string().ends_with("it was to be 4-7 and is \"4-5\""), "{error}");
    }

    #[test]
    fn a_group_without_the_controller_and_a_plain_folder_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = fill(folder.path(), &placement(Policy::Bind)).unwrap_err();
        assert!(error.to_string().contains("cpuset is not handed to it"), "{error}");
        let error = make(&folder.path().join("new")).unwrap_err();
        assert!(error.to_string().contains("no folder of a cgroup v2"), "{error}");
        assert!(!folder.path().join("new").exists());
    }
}
