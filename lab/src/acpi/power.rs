// SPDX-License-Identifier: MIT OR Apache-2.0
//! C-states and frequencies of every processor, in an SSDT of our own.
//!
//! Every C-state is entered with HLT and calls itself C1: one that is entered by reading an I/O port
//! returns at once under TCG, and all idle processors spin.

use super::aml::{self, Space};
use super::{Identity, table};
use crate::machine::Machine;

const IDENTITY: Identity = Identity {
    signature: *b"SSDT",
    revision: 2,
    oem: *b"LAB   ",
    table: *b"LABPOWER",
    oem_revision: 1,
};

/// Ports that QEMU leaves unused; a write asks for a frequency, a read gives the current one.
const CONTROL_PORT: u64 = 0x5a0;
const STATUS_PORT: u64 = 0x5a2;

pub(super) fn table_of(machine: &Machine) -> Option<Vec<u8>> {
    let firmware = &machine.firmware;
    let mut content = Vec::new();
    if !firmware.c_states_us.is_empty() {
        content.extend(c_states(&firmware.c_states_us));
    }
    if !firmware.frequencies_mhz.is_empty() {
        content.extend(frequencies(&firmware.frequencies_mhz));
    }
    if content.is_empty() {
        return None;
    }
    let places = 0..machine.cpus.in_place().len();
    let scope = |place| {
        // QEMU's names of processors (`hw/acpi/cpu.c`).
        let path = ["_SB_".to_owned(), "CPUS".to_owned(), format!("C{place:03X}")];
        aml::scope(&path, &content)
    };
    Some(table(&IDENTITY, &places.flat_map(scope).collect::<Vec<u8>>()))
}

/// `_CST`: the count, then register, type, latency and power of each (ACPI 6.5, 8.4.1, `_CST`).
fn c_states(latencies_us: &[u16]) -> Vec<u8> {
    const TYPE_C1: u32 = 1;
    const FULL_POWER_MW: u32 = 1000;
    let state = |(number, latency): (u32, &u16)| {
        let register = aml::register(Space::FixedHardware, 0, 0);
        let power = aml::integer(FULL_POWER_MW / (number + 1));
        let latency = aml::integer(u32::from(*latency));
        aml::package(&[register, aml::integer(TYPE_C1), latency, power])
    };
    let mut elements = vec![aml::integer(u32::try_from(latencies_us.len()).unwrap_or_default())];
    elements.extend((0..).zip(latencies_us).map(state));
    aml::name("_CST", &aml::package(&elements))
}

/// `_PCT`, `_PSS` and `_PPC`: where to ask, what there is, and that all of it may be used (8.4.5).
fn frequencies(frequencies_mhz: &[u16]) -> Vec<u8> {
    const LATENCY_US: u32 = 10;
    let state = |(number, mhz): (u32, &u16)| {
        let mhz = u32::from(*mhz);
        // Milliwatts, about what a core of a server takes at such a frequency.
        let numbers = [mhz, mhz * 6, LATENCY_US, LATENCY_US, number, number];
        aml::package(&numbers.map(aml::integer))
    };
    let registers =
        [CONTROL_PORT, STATUS_PORT].map(|port| aml::register(Space::SystemIo, 16, port));
    let states: Vec<_> = (0..).zip(frequencies_mhz).map(state).collect();
    [
        aml::name("_PCT", &aml::package(&registers)),
        aml::name("_PSS", &aml::package(&states)),
        aml::name("_PPC", &aml::integer(0)),
    ]
    .concat()
}
