// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers that QEMU has no option for: link rate and width, a GPU's ids, a drive's model.
//!
//! QEMU 7.2 makes every emulated endpoint a 2.5 GT/s x1 one and knows no rate above 16 GT/s. The
//! configuration space of a device is an ordinary buffer in its process, which is found by what
//! `query-pci` says of the device once the firmware has placed it, and written to while the guest
//! is stopped. A root port's status follows the endpoint by itself; its capability is written too.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Qmp;
use super::arguments::port_id;
use super::memory::Memory;
use crate::error::{At, Error, Result};
use crate::machine::{Device, Drive, Gpu, Kind, Link, Machine};

/// A function's conventional configuration space.
const SPACE: usize = 256;
/// Vendor and subsystem vendor with which QEMU's Identify Controller begins.
const IDENTIFY: u32 = 0x1af4_1b36;
const FIRMWARE_PATIENCE: Duration = Duration::from_secs(120);

/// A buffer that begins as a configuration space or an Identify Controller does.
struct Candidate {
    address: u64,
    bytes: Vec<u8>,
}

/// Whether a device has anything that is written here.
fn needs_patch(device: &Device) -> bool {
    let identified = |kind: &Kind| match kind {
        Kind::Drive(drive) => drive.model.is_some() || drive.revision.is_some(),
        Kind::Gpu(_) => true,
        Kind::Nic(_) => false,
    };
    device.link.is_some() || identified(&device.kind)
}

/// Lets the firmware place the devices, stops the guest, writes the registers. The guest stays
/// stopped.
pub(crate) fn write_registers(qmp: &mut Qmp, process: u32, machine: &Machine) -> Result<()> {
    let mut devices = machine.devices();
    devices.retain(needs_patch);
    if devices.is_empty() {
        return Ok(());
    }
    let placed = firmware(qmp, &devices)?;
    let registers = Registers::find(placed, process, machine)?;
    devices.iter().try_for_each(|device| registers.patch(device))
}

/// Gives a device of a running guest another link; a root port's best stays the machine's.
pub(crate) fn retrain(
    qmp: &mut Qmp,
    process: u32,
    machine: &Machine,
    device: &Device,
) -> Result<()> {
    qmp.call("stop", &json!({}))?;
    let placed = functions(&qmp.call("query-pci", &json!({}))?);
    let written = Registers::find(placed, process, machine)
        .and_then(|registers| registers.links(device, registers.space(&device.id)?));
    qmp.call("cont", &json!({}))?;
    written
}

/// Runs the firmware until every device has an address, and stops the guest; what `query-pci` says.
fn firmware(qmp: &mut Qmp, devices: &[Device]) -> Result<Vec<Value>> {
    let begun = Instant::now();
    qmp.call("cont", &json!({}))?;
    let ids: Vec<String> =
        devices.iter().flat_map(|device| [device.id.clone(), port_id(&device.id)]).collect();
    loop {
        let functions = functions(&qmp.call("query-pci", &json!({}))?);
        let ready = |id: &String| find(&functions, id).is_some_and(is_placed);
        if ids.iter().all(ready) {
            qmp.call("stop", &json!({}))?;
            return Ok(functions);
        }
        if begun.elapsed() > FIRMWARE_PATIENCE {
            let device = ids.iter().find(|id| !ready(id)).cloned().unwrap_or_default();
            return Err(Error::Registers { device, found: 0 });
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Every function, those behind bridges too.
fn functions(buses: &Value) -> Vec<Value> {
    fn walk(devices: &Value, into: &mut Vec<Value>) {
        for device in devices.as_array().into_iter().flatten() {
            walk(&device["pci_bridge"]["devices"], into);
            into.push(device.clone());
        }
    }
    let mut all = Vec::new();
    buses.as_array().into_iter().flatten().for_each(|bus| walk(&bus["devices"], &mut all));
    all
}

fn find<'a>(functions: &'a [Value], id: &str) -> Option<&'a Value> {
    functions.iter().find(|function| function["qdev_id"] == id)
}

fn vendor_and_device(function: &Value) -> Option<u32> {
    let part = |name: &str| u32::try_from(function["id"][name].as_u64()?).ok();
    Some(part("device")? << 16 | part("vendor")?)
}

/// The memory regions that have an address: number of the base register, address.
fn regions(function: &Value) -> impl Iterator<Item = (usize, u64)> {
    let regions = function["regions"].as_array().into_iter().flatten();
    regions.filter(|region| region["type"] == "memory").filter_map(|region| {
        // An unplaced one is at -1.
        let address = region["address"].as_u64().filter(|at| *at != u64::MAX && *at != 0)?;
        Some((usize::try_from(region["bar"].as_u64()?).ok()?, address))
    })
}

fn secondary_bus(function: &Value) -> Option<u64> {
    function["pci_bridge"]["bus"]["secondary"].as_u64().filter(|bus| *bus != 0)
}

fn is_placed(function: &Value) -> bool {
    secondary_bus(function).is_some() || regions(function).next().is_some()
}

/// Whether a buffer is the configuration space of a function.
fn is_space_of(candidate: &Candidate, function: &Value) -> bool {
    let bytes = &candidate.bytes;
    let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
    if !candidate.address.is_multiple_of(8) || word(bytes, 0) != vendor_and_device(function) {
        return false;
    }
    if let Some(secondary) = secondary_bus(function) {
        let primary = function["pci_bridge"]["bus"]["number"].as_u64();
        return u64::from(byte(0x19)) == secondary && Some(u64::from(byte(0x18))) == primary;
    }
    let mut regions = regions(function).peekable();
    regions.peek().is_some() && regions.all(|(bar, address)| base(bytes, bar) == Some(address))
}

/// The address in a base register, 64 bits wide where its type says so.
fn base(bytes: &[u8], bar: usize) -> Option<u64> {
    let low = word(bytes, 0x10 + 4 * bar)?;
    let wide = low & 6 == 4;
    let high = if wide { word(bytes, 0x14 + 4 * bar)? } else { 0 };
    Some(u64::from(high) << 32 | u64::from(low & !0xf))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// The memory of a stopped guest's QEMU, the functions in it, and where they may be.
struct Registers {
    memory: Memory,
    functions: Vec<Value>,
    candidates: Vec<Candidate>,
}

impl Registers {
    fn find(functions: Vec<Value>, process: u32, machine: &Machine) -> Result<Self> {
        let node_bytes = u64::from(machine.memory_mib) << 20;
        let memory = Memory::open(process, node_bytes).at("QEMU's memory")?;
        let words: Vec<u32> =
            functions.iter().filter_map(vendor_and_device).chain([IDENTIFY]).collect();
        let mut candidates = Vec::new();
        memory.find(&words, SPACE, |address, bytes| {
            candidates.push(Candidate { address, bytes: bytes.to_vec() });
        });
        Ok(Self { memory, functions, candidates })
    }

    /// The configuration space of a device of QEMU's.
    fn space(&self, id: &str) -> Result<&Candidate> {
        let function = find(&self.functions, id);
        let is = |c: &&Candidate| function.is_some_and(|function| is_space_of(c, function));
        only(id, self.candidates.iter().filter(is))
    }

    fn patch(&self, device: &Device) -> Result<()> {
        let own = self.space(&device.id)?;
        self.links(device, own)?;
        match &device.kind {
            Kind::Gpu(gpu) => self.ids(own, gpu).at(&device.id),
            Kind::Drive(drive) if drive.model.is_some() || drive.revision.is_some() => {
                self.identify(&device.serial(), drive)
            }
            Kind::Drive(_) | Kind::Nic(_) => Ok(()),
        }
    }

    fn links(&self, device: &Device, own: &Candidate) -> Result<()> {
        let (Some(now), Some(best)) = (device.link, device.best_link) else { return Ok(()) };
        for place in [own, self.space(&port_id(&device.id))?] {
            link(place, now, best, &self.memory).at(&device.id)?;
        }
        Ok(())
    }

    fn ids(&self, own: &Candidate, gpu: &Gpu) -> io::Result<()> {
        let [vendor, device, subvendor, subdevice] = gpu.pci;
        for (at, value) in [(0, vendor), (2, device), (0x2c, subvendor), (0x2e, subdevice)] {
            self.memory.write(own.address + at, &value.to_le_bytes())?;
        }
        self.memory.write(own.address + 9, &gpu.class.to_le_bytes()[..3])
    }

    /// Model and firmware revision, which follow the serial number (NVMe base 2.0, figure 275).
    fn identify(&self, serial: &str, drive: &Drive) -> Result<()> {
        let padded = format!("{serial:20}");
        let is = |c: &&Candidate| c.bytes.get(4..24) == Some(padded.as_bytes());
        let identify = only(serial, self.candidates.iter().filter(is))?;
        for (at, width, text) in [(24, 40, &drive.model), (64, 8, &drive.revision)] {
            let Some(text) = text else { continue };
            let padded = format!("{text:width$}");
            self.memory.write(identify.address + at, padded.as_bytes()).at(serial)?;
        }
        Ok(())
    }
}

fn only<'a>(id: &str, mut found: impl Iterator<Item = &'a Candidate>) -> Result<&'a Candidate> {
    match (found.next(), found.count()) {
        (Some(one), 0) => Ok(one),
        (first, more) => {
            let found = more + usize::from(first.is_some());
            Err(Error::Registers { device: id.to_owned(), found })
        }
    }
}

/// Writes Link Capabilities, Link Status and, where the capability has it, Link Capabilities 2
/// (PCI Express 6.0, 7.5.3).
fn link(space: &Candidate, now: Link, best: Link, memory: &Memory) -> io::Result<()> {
    const CAPABILITIES: usize = 0x0c;
    const STATUS: usize = 0x12;
    const CAPABILITIES_2: usize = 0x2c;
    let missing = || io::Error::new(io::ErrorKind::NotFound, "no PCIe capability");
    let bytes = &space.bytes;
    let at = capability(bytes, 0x10).ok_or_else(missing)?;
    let encode = |link: Link| u16::from(link.code) | u16::from(link.width) << 4;
    let capabilities = word(bytes, at + CAPABILITIES).ok_or_else(missing)? & !0x3ff;
    let status = half(bytes, at + STATUS).ok_or_else(missing)? & !0x3ff;
    let write =
        |offset: usize, value: &[u8]| memory.write(space.address + (at + offset) as u64, value);
    write(CAPABILITIES, &(capabilities | u32::from(encode(best))).to_le_bytes())?;
    write(STATUS, &(status | encode(now)).to_le_bytes())?;
    let version = half(bytes, at + 2).ok_or_else(missing)? & 0xf;
    if version >= 2 {
        // All rates up to the best, from bit 1 on.
        let rates = ((1_u32 << best.code) - 1) << 1;
        write(CAPABILITIES_2, &rates.to_le_bytes())?;
    }
    Ok(())
}

/// Where a capability is, by its id; 48 fit.
fn capability(bytes: &[u8], id: u8) -> Option<usize> {
    let mut at = usize::from(*bytes.get(0x34)?);
    for _ in 0..48 {
        if at < 0x40 {
            return None;
        }
        if *bytes.get(at)? == id {
            return Some(at);
        }
        at = usize::from(*bytes.get(at + 1)?);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint() -> Candidate {
        let mut bytes = vec![0; SPACE];
        bytes[..4].copy_from_slice(&[0x36, 0x1b, 0x10, 0]);
        bytes[0x10..0x18].copy_from_slice(&[4, 0, 0, 0xfe, 0x80, 3, 0, 0]);
        bytes[0x34] = 0x40;
        bytes[0x40..0x44].copy_from_slice(&[0x11, 0x80, 0, 0]);
        bytes[0x80..0x84].copy_from_slice(&[0x10, 0, 2, 0]);
        Candidate { address: 4096, bytes }
    }

    #[test]
    fn a_function_is_known_by_where_the_firmware_put_it() {
        let mut function = json!({
            "id": {"vendor": 0x1b36, "device": 0x10},
            "regions": [{"bar": 0, "type": "memory", "address": 0x380_fe00_0000_u64}],
        });
        assert!(is_space_of(&endpoint(), &function));
        assert!(!is_space_of(&Candidate { address: 4100, ..endpoint() }, &function));
        function["regions"][0]["address"] = json!(-1);
        assert!(!is_placed(&function) && !is_space_of(&endpoint(), &function));
    }

    #[test]
    fn the_capability_is_found_and_a_ring_ends() {
        let mut space = endpoint();
        assert_eq!(capability(&space.bytes, 0x10), Some(0x80));
        space.bytes[0x41] = 0x40;
        assert_eq!(capability(&space.bytes, 0x10), None);
    }
}
