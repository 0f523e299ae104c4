// SPDX-License-Identifier: MIT OR Apache-2.0
//! `/proc/cpuinfo`: one block a CPU, in a different dialect for every architecture.

use std::io::{BufRead, Read};

use machine::Fact;
use root::Root;
use units::{Cpu, PackageId};

/// The most of the file that is read: 8,192 CPUs need about 12 MB.
const MOST: u64 = 32 << 20;

/// What one block says of one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) cpu: Cpu,
    /// `physical id` (x86).
    pub(crate) package: Option<PackageId>,
    /// `core id` (x86), unique within its package only.
    pub(crate) core: Option<u32>,
    /// `apicid` (x86).
    pub(crate) apic: Option<u32>,
}

/// All CPUs of the file, in its order.
pub(crate) fn entries(root: &dyn Root) -> Fact<Vec<Entry>> {
    let mut reader = root.stream("/proc/cpuinfo")?.take(MOST);
    let mut blocks = Blocks::default();
    let mut line = Vec::new();
    while matches!(reader.read_until(b'\n', &mut line), Ok(1..)) {
        blocks.line(&String::from_utf8_lossy(&line));
        line.clear();
    }
    Ok(blocks.done)
}

/// The lines up to the end of the first CPU's block, as (key, value): the kernel writes the file as
/// it is read, so that a thousand CPUs cost no more than one.
pub(crate) fn head(root: &dyn Root) -> Fact<Vec<(String, String)>> {
    let mut reader = root.stream("/proc/cpuinfo")?.take(1 << 16);
    let mut pairs: Vec<(String, String)> = Vec::new();
    let mut line = Vec::new();
    while matches!(reader.read_until(b'\n', &mut line), Ok(1..)) {
        match pair(&String::from_utf8_lossy(&line)) {
            // s390 has a head without a number before its processors.
            Some(("processor", _)) if pairs.iter().any(|(key, _)| key == "processor") => break,
            Some((key, value)) => pairs.push((key.to_owned(), value.to_owned())),
            None => {}
        }
        line.clear();
    }
    Ok(pairs)
}

/// A whole file at once, for tests.
pub(crate) fn parse(text: &str) -> Vec<Entry> {
    let mut blocks = Blocks::default();
    text.lines().for_each(|line| blocks.line(line));
    blocks.done
}

#[derive(Default)]
struct Blocks {
    done: Vec<Entry>,
}

impl Blocks {
    /// Takes one line: `physical id\t: 0`, or on s390 `processor 0: version = FF, ...`.
    fn line(&mut self, line: &str) {
        let Some((key, value)) = pair(line) else { return };
        let number = || value.parse::<u32>().ok();
        if let Some(cpu) = processor(key, value) {
            self.done.push(Entry { cpu, package: None, core: None, apic: None });
        } else if let Some(entry) = self.done.last_mut() {
            match key {
                "physical id" => entry.package = number().map(PackageId),
                "core id" => entry.core = number(),
                "apicid" => entry.apic = number(),
                _ => {}
            }
        }
    }
}

fn processor(key: &str, value: &str) -> Option<Cpu> {
    let number = match key {
        "processor" => value,
        _ => key.strip_prefix("processor ")?,
    };
    number.parse().ok().map(Cpu)
}

fn pair(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    Some((key.trim(), value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_dialect_names_its_cpus() {
        let x86 = "processor\t: 0\nphysical id\t: 1\ncore id\t\t: 9\napicid\t\t: 50\n\n\
                   processor\t: 4\nphysical id\t: 0\n";
        let first =
            Entry { cpu: Cpu(0), package: Some(PackageId(1)), core: Some(9), apic: Some(50) };
        let second = Entry { cpu: Cpu(4), package: Some(PackageId(0)), core: None, apic: None };
        assert_eq!(parse(x86), [first, second]);
        let s390 = "vendor_id       : IBM/S390\n# processors    : 3\n\
                    processor 0: version = FF,  identification = 29AA14,  machine = 2817\n";
        assert_eq!(parse(s390).len(), 1);
        assert_eq!(parse("processor : x\nphysical id: 3\n"), []);
    }

    proptest! {
        #[test]
        fn any_text_parses(text in "(processor|core id|\\PC{0,9}|\t: |[0-9]{1,12}|\n){0,40}") {
            let _ = parse(&text);
        }
    }
}
