// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every embedded machine, written to a folder, against what lstopo, lscpu and lspci make of it.

mod lscpu;
mod lspci;
mod lstopo;

use std::path::{Path, PathBuf};
use std::process::Command;

use nearside_synthetic as synthetic;
use support::{Failed, Need, Trial, failed, trial};
use synthetic::Description;

/// A machine in a folder of its own, which goes with it.
pub(crate) struct Written {
    pub(crate) description: Description,
    folder: tempfile::TempDir,
}

impl Written {
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Names of the PCI functions, as sysfs lists them.
    pub(crate) fn functions(&self) -> Result<Vec<String>, Failed> {
        let mut names: Vec<String> = std::fs::read_dir(self.path().join("sys/bus/pci/devices"))?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<std::io::Result<_>>()?;
        names.sort();
        Ok(names)
    }

    /// A file of a PCI function.
    pub(crate) fn of_function(&self, function: &str, file: &str) -> PathBuf {
        self.path().join("sys/bus/pci/devices").join(function).join(file)
    }

    /// Online CPUs.
    pub(crate) fn online(&self) -> u64 {
        let offline = u64::try_from(self.description.cpu.offline.len()).unwrap_or(0);
        self.description.cpu.count() - offline
    }
}

/// Parts of a path that none of the three tools asks for, and that are most of a tree: leaving
/// them out is what keeps the test short.
const UNASKED: [&str; 8] = [
    "/mq/",
    "/queues/",
    "/msi_irqs/",
    "/cpuidle/",
    "/cpufreq/",
    "/cache/index0/",
    "/cache/index1/",
    "/proc/irq",
];

/// Writes a machine; the huge one at an eighth of its size, for a test's sake.
fn write(name: &str) -> Result<Written, Failed> {
    let text = synthetic::named(name).ok_or_else(|| failed("no such machine"))?;
    let divisor = if name == "thousand-cpus" { 8 } else { 1 };
    let description = synthetic::parse(text)?.scaled(divisor);
    let mut tree = description.tree();
    tree.entries.retain(|path, _| !UNASKED.iter().any(|part| path.contains(part)));
    // Ten thousands of small files are slow on a disk.
    let memory = Path::new("/dev/shm");
    let folder = match tempfile::tempdir_in(memory) {
        Ok(folder) => folder,
        Err(_) => tempfile::tempdir()?,
    };
    tree.write_to(folder.path())?;
    Ok(Written { description, folder })
}

/// Standard output of a tool; an error where it fails.
pub(crate) fn output(command: &mut Command) -> Result<String, Failed> {
    let output = command.output()?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(failed(format!("{command:?}: {} {errors}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Fails with both values where they differ.
pub(crate) fn equal<T: PartialEq + std::fmt::Debug>(
    what: &str,
    told: T,
    described: T,
) -> Result<(), Failed> {
    match told == described {
        true => Ok(()),
        false => {
            Err(failed(format!("{what}: the tool says {told:?}, the description {described:?}")))
        }
    }
}

fn check(name: &str) -> Result<(), Failed> {
    let machine = write(name)?;
    lstopo::check(&machine)?;
    lscpu::check(&machine)?;
    lspci::check(&machine)
}

fn main() {
    let tools = ["lstopo-no-graphics", "lscpu", "lspci"].map(Need::Tool);
    // The files of `faulty` are broken on purpose, so that tools and description must differ.
    let sound = synthetic::names().filter(|name| *name != "faulty");
    let trials: Vec<Trial> =
        sound.map(|name| trial(format!("oracles::{name}"), &tools, move || check(name))).collect();
    support::run(trials);
}
