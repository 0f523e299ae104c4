// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine as data: processors, nodes, distances, devices and what the firmware says.
//!
//! Everything that a test compares with is answered here, so that the same file is both the recipe
//! and the truth: which CPU is where, which node a device hangs from, how its link trained.

mod check;
mod cpus;
mod device;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::{At, Error, Result};

pub use cpus::{Cpu, Cpus, Numbering};
pub use device::{Backing, Device, Drive, DriveBus, Gpu, Kind, Link, Nic, NicModel, Wiring};

/// A machine of the lab.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The file's name without `.toml`.
    #[serde(skip)]
    pub name: String,
    /// What is told to a person, one sentence.
    pub about: String,
    /// Packages, dies, cores, threads and how they are numbered.
    pub cpus: Cpus,
    /// Memory of each node, in MiB.
    pub memory_mib: u32,
    /// The SLIT, a row a node; empty where the firmware has none.
    #[serde(default)]
    pub distances: Vec<Vec<u8>>,
    /// What the firmware says of the machine.
    #[serde(default)]
    pub firmware: Firmware,
    /// Drives, in groups that share everything but their ids.
    #[serde(default, rename = "drive")]
    pub drives: Vec<Drive>,
    /// Network interfaces, likewise.
    #[serde(default, rename = "nic")]
    pub nics: Vec<Nic>,
    /// Functions that look like GPUs and have no driver, likewise.
    #[serde(default, rename = "gpu")]
    pub gpus: Vec<Gpu>,
    /// Links that trained below their best: a device's id and what it got.
    #[serde(default)]
    pub degraded: BTreeMap<String, Link>,
}

/// What the firmware says: DMI, ACPI power states, the IOMMU.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Firmware {
    /// DMI system manufacturer.
    pub vendor: Option<String>,
    /// DMI product name.
    pub product: Option<String>,
    /// DMI firmware version.
    pub version: Option<String>,
    /// Exit latencies of the C-states, in microseconds, shallowest first; none without `_CST`.
    #[serde(default)]
    pub c_states_us: Vec<u16>,
    /// Frequencies of `_PSS` in MHz, highest first; none without.
    #[serde(default)]
    pub frequencies_mhz: Vec<u16>,
    /// Whether there is a VT-d unit with interrupt remapping.
    #[serde(default)]
    pub vtd: bool,
}

impl Machine {
    /// A machine from the text of its file.
    ///
    /// # Errors
    /// A key is unknown, missing or contradicts another; the message says which and where.
    pub fn parse(file: &Path, text: &str) -> Result<Self> {
        let refuse = |message: String| Error::Machine { file: file.to_owned(), message };
        let mut machine: Self =
            toml::from_str(text).map_err(|error| refuse(error.to_string().trim_end().into()))?;
        machine.name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        check::check(&machine).map_err(refuse)?;
        Ok(machine)
    }

    /// The machine of a file.
    ///
    /// # Errors
    /// As [`Machine::parse`], or the file cannot be read.
    pub fn read(file: &Path) -> Result<Self> {
        Self::parse(file, &std::fs::read_to_string(file).at(file)?)
    }

    /// The machine of a name in `lab/machines`, or of a path.
    ///
    /// # Errors
    /// As [`Machine::read`], or there is none of that name.
    pub fn named(name: &str) -> Result<Self> {
        let file = folder().join(format!("{name}.toml"));
        if file.is_file() {
            return Self::read(&file);
        }
        if name.ends_with(".toml") {
            return Self::read(Path::new(name));
        }
        Err(Error::NoMachine { name: name.to_owned(), known: names()? })
    }

    /// Every device, in the order of the file: drives, NICs, GPUs.
    pub fn devices(&self) -> Vec<Device> {
        let drives = self.drives.iter().flat_map(Drive::devices);
        let nics = self.nics.iter().flat_map(Nic::devices);
        let gpus = self.gpus.iter().flat_map(Gpu::devices);
        let mut devices: Vec<Device> = drives.chain(nics).chain(gpus).collect();
        for device in &mut devices {
            device.link = self.degraded.get(&device.id).copied().or(device.best_link);
        }
        devices
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u16 {
        self.cpus.packages * self.cpus.nodes_per_package
    }
}

/// The names of the machines in `lab/machines`.
///
/// # Errors
/// The folder cannot be read.
pub fn names() -> Result<Vec<String>> {
    let folder = folder();
    let files = std::fs::read_dir(&folder).at(&folder)?.flatten();
    let name = |file: PathBuf| Some(file.file_name()?.to_str()?.strip_suffix(".toml")?.to_owned());
    let mut names: Vec<String> = files.filter_map(|file| name(file.path())).collect();
    names.sort();
    Ok(names)
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("machines")
}

#[cfg(test)]
mod tests;
