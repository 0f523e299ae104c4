// SPDX-License-Identifier: MIT OR Apache-2.0
//! What processor it is, from the first block of `/proc/cpuinfo`.

use machine::{Fact, Why};
use root::Root;

use crate::cpu::cpuinfo;

/// A processor by its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) name: Fact<String>,
    pub(super) vendor: Fact<String>,
    pub(super) family_model: Fact<(u32, u32)>,
    pub(super) flags: Vec<String>,
}

pub(super) fn read(root: &dyn Root) -> Model {
    match cpuinfo::head(root) {
        Ok(pairs) => model(&pairs),
        Err(why) => Model {
            name: Err(why.clone()),
            vendor: Err(why.clone()),
            family_model: Err(why),
            flags: Vec::new(),
        },
    }
}

fn model(pairs: &[(String, String)]) -> Model {
    let value = |key: &str| pairs.iter().find(|(name, _)| name == key).map(|(_, value)| &**value);
    let number = |key| value(key).and_then(|text: &str| text.parse::<u32>().ok());
    let arm = value("CPU implementer").and_then(hex).map(|code| arm(code, value("CPU part")));
    let (arm_vendor, arm_name) = arm.unzip();
    let flags = ["flags", "Features", "features"].iter().find_map(|key| value(key));
    // POWER: `cpu		: POWER9, altivec supported`; s390: `machine = 2817` of its line.
    let power = || value("cpu").map(str::to_owned);
    let s390 = || pairs.iter().find_map(|(key, line)| s390(key, line));
    let name = value("model name").map(squeeze).or(arm_name).or_else(power).or_else(s390);
    let is_power = name.as_ref().is_some_and(|name| name.starts_with("POWER"));
    let vendor = value("vendor_id").map(str::to_owned).or(arm_vendor);
    Model {
        name: name.filter(|name| !name.is_empty()).ok_or(Why::Absent),
        vendor: vendor.or_else(|| is_power.then(|| "IBM".to_owned())).ok_or(Why::Absent),
        family_model: number("cpu family").zip(number("model")).ok_or(Why::Absent),
        flags: flags.into_iter().flat_map(str::split_whitespace).map(str::to_owned).collect(),
    }
}

/// Old Xeons pad their name: `Intel(R) Xeon(R) CPU           X5570  @ 2.93GHz`.
fn squeeze(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// `processor 0: version = FF,  identification = 29AA14,  machine = 2817`.
fn s390(key: &str, line: &str) -> Option<String> {
    key.strip_prefix("processor ")?;
    let (_, machine) = line.split_once("machine = ")?;
    Some(format!("IBM {}", machine.split_whitespace().next()?))
}

/// Implementer and part of ARM's MIDR (arch/arm64/include/asm/cputype.h), for server cores; others
/// keep their number.
fn arm(implementer: u32, part: Option<&str>) -> (String, String) {
    let number = part.and_then(hex).unwrap_or(0);
    let (vendor, name) = match (implementer, number) {
        (0x41, 0xd03) => ("ARM", "Cortex-A53"),
        (0x41, 0xd07) => ("ARM", "Cortex-A57"),
        (0x41, 0xd08) => ("ARM", "Cortex-A72"),
        (0x41, 0xd0c) => ("ARM", "Neoverse-N1"),
        (0x41, 0xd40) => ("ARM", "Neoverse-V1"),
        (0x41, 0xd49) => ("ARM", "Neoverse-N2"),
        (0x41, 0xd4f) => ("ARM", "Neoverse-V2"),
        (0x41, 0xd84) => ("ARM", "Neoverse-V3"),
        (0x41, 0xd8e) => ("ARM", "Neoverse-N3"),
        (0x41, _) => ("ARM", ""),
        (0x42, 0x516) | (0x43, 0x0af) => ("Cavium", "ThunderX2"),
        (0x43, 0x0a1) => ("Cavium", "ThunderX"),
        (0x43, _) => ("Cavium", ""),
        (0x46, 0x001) => ("Fujitsu", "A64FX"),
        (0x48, 0xd01) => ("HiSilicon", "TaiShan v110 (Kunpeng 920)"),
        (0x48, _) => ("HiSilicon", ""),
        (0x4e, _) => ("NVIDIA", ""),
        (0x50, 0x000) => ("APM", "X-Gene"),
        (0x51, 0xc00) => ("Qualcomm", "Falkor"),
        (0x61, _) => ("Apple", ""),
        (0x70, 0x662) => ("Phytium", "FTC662"),
        (0x70, 0x663) => ("Phytium", "FTC663"),
        (0xc0, 0xac3) => ("Ampere", "Ampere-1"),
        (0xc0, 0xac4) => ("Ampere", "Ampere-1a"),
        (0xc0, _) => ("Ampere", ""),
        _ => ("", ""),
    };
    let vendor = if vendor.is_empty() { format!("{implementer:#04x}") } else { vendor.to_owned() };
    let part = part.unwrap_or("unknown");
    let name = if name.is_empty() { format!("part {part}") } else { name.to_owned() };
    (vendor.clone(), format!("{vendor} {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use root::MemoryRoot;

    #[test]
    fn every_dialect_names_its_processor() {
        let xeon = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 26\n\
                    model name\t: Intel(R) Xeon(R) CPU           X5570  @ 2.93GHz\n\
                    flags\t\t: fpu vmx\n\nprocessor\t: 1\nmodel name\t: other\n";
        let kunpeng = "processor\t: 0\nBogoMIPS\t: 200.00\nFeatures\t: fp asimd\n\
                       CPU implementer\t: 0x48\nCPU part\t: 0xd01\n";
        let power = "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n";
        let s390 = "vendor_id       : IBM/S390\nfeatures\t: esan3 zarch\n\
                    processor 0: version = FF,  identification = 29AA14,  machine = 2817\n";
        for (text, name, vendor, family_model, flags) in [
            (xeon, "Intel(R) Xeon(R) CPU X5570 @ 2.93GHz", "GenuineIntel", Some((6, 26)), 2),
            (kunpeng, "HiSilicon TaiShan v110 (Kunpeng 920)", "HiSilicon", None, 2),
            (power, "POWER9, altivec supported", "IBM", None, 0),
            (s390, "IBM 2817", "IBM/S390", None, 2),
        ] {
            let mut root = MemoryRoot::new();
            root.file("/proc/cpuinfo", text);
            let model = read(&root);
            assert_eq!(model.name.as_deref(), Ok(name));
            assert_eq!(model.vendor.as_deref(), Ok(vendor));
            assert_eq!((model.family_model.ok(), model.flags.len()), (family_model, flags));
        }
    }

    #[test]
    fn an_unknown_arm_core_keeps_its_number() {
        assert_eq!(arm(0x99, Some("0x123")).1, "0x99 part 0x123");
        assert_eq!(arm(0x41, Some("0xfff")).1, "ARM part 0xfff");
        assert_eq!(arm(0x41, None).1, "ARM part unknown");
    }
}
