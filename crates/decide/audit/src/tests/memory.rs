// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory: population, speed, nodes without CPUs.

use machine::NodeKind;
use setting::Severity;
use units::{Bytes, CpuSet};

use super::{made, of, one};

#[test]
fn nodes_with_different_memory_are_found() {
    let mut machine = made::healthy();
    machine.nodes[1].memory = Ok(Bytes(90 << 30));
    assert_eq!(of(&machine, "memory-population"), []);
    machine.nodes[1].memory = Ok(Bytes(32 << 30));
    let finding = one(&machine, "memory-population");
    assert_eq!(finding.severity, Severity::Medium);
    assert_eq!(finding.observed, "node 1 has 32 GiB, node 0 has 96 GiB");
    machine.nodes[1].memory = Ok(Bytes(0));
    assert_eq!(one(&machine, "memory-population").severity, Severity::High);
    made::into_guest(&mut machine);
    assert_eq!(of(&machine, "memory-population"), []);
}

#[test]
fn empty_channels_are_counted() {
    let mut machine = made::healthy();
    let channel = |letter: &str, gib| made::dimm(&format!("P0 CHANNEL {letter}"), gib, 4800, 4800);
    machine.dimms = vec![channel("A", 32), channel("B", 32), channel("C", 0), channel("C", 0)];
    assert_eq!(one(&machine, "memory-population").observed, "1 of 3 memory channels are empty");
    machine.dimms = vec![channel("A", 32), channel("A", 0), channel("B", 32), channel("B", 0)];
    assert_eq!(of(&machine, "memory-population"), []);
    // A locator that names no channel tells nothing.
    machine.dimms = vec![made::dimm("BANK 0", 32, 4800, 4800), made::dimm("BANK 1", 0, 4800, 4800)];
    assert_eq!(of(&machine, "memory-population"), []);
}

#[test]
fn slowed_modules_are_found() {
    let mut machine = made::healthy();
    machine.dimms = vec![made::dimm("A1", 32, 4800, 4800)];
    assert_eq!(of(&machine, "memory-speed"), []);
    machine.dimms = vec![made::dimm("A1", 32, 4800, 4400), made::dimm("A2", 0, 0, 0)];
    let finding = one(&machine, "memory-speed");
    assert_eq!((finding.severity, finding.observed.as_str()), (Severity::Low, "4400 MT/s"));
}

#[test]
fn nodes_without_cpus_get_a_note() {
    let mut machine = made::healthy();
    let mut pmem = made::node(2, CpuSet::new(), 512);
    pmem.kind = NodeKind::PersistentMemory;
    machine.nodes.push(pmem);
    let finding = one(&machine, "memory-only-nodes");
    assert_eq!(finding.severity, Severity::Note);
    assert!(finding.title.contains("persistent memory"), "{}", finding.title);
    machine.nodes[2].kind = NodeKind::Empty;
    machine.nodes[2].memory = Ok(Bytes(0));
    assert_eq!(of(&machine, "memory-only-nodes"), []);
}
