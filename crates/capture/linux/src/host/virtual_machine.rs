// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signs that the kernel runs in a virtual machine. Names are those of systemd-detect-virt.

use machine::Virtual;
use root::{Root, text};

use super::model::Model;
use crate::dmi::Identity;

/// What firmware calls itself in a guest, as a beginning of vendor, product or BIOS vendor.
const NAMES: &[(&str, &str)] = &[
    ("KVM", "kvm"),
    ("OpenStack", "kvm"),
    ("KubeVirt", "kvm"),
    ("RHEV Hypervisor", "kvm"),
    ("Amazon EC2", "amazon"),
    ("Google Compute Engine", "google"),
    ("VMware", "vmware"),
    ("innotek GmbH", "oracle"),
    ("VirtualBox", "oracle"),
    ("Xen", "xen"),
    ("Bochs", "bochs"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
    ("Hyper-V", "microsoft"),
    ("Nutanix AHV", "kvm"),
    ("Alibaba Cloud ECS", "kvm"),
    ("QEMU", "qemu"),
];

/// Looks for signs, the surest first.
pub(super) fn read(root: &dyn Root, identity: &Identity, model: &Model) -> Virtual {
    let has_flag = model.flags.iter().any(|flag| flag == "hypervisor");
    let is_x86 = model.family_model.is_ok();
    xen(root)
        .or_else(|| by_firmware(identity, is_x86 && !model.flags.is_empty() && !has_flag))
        .map(|found| refine(root, found))
        .or_else(|| by_clock(root))
        .or_else(|| by_device_tree(root))
        .or_else(|| sysinfo(&text(root, "/proc/sysinfo").ok()?))
        .or_else(|| by_devices(root, has_flag || identity.vendor.is_err()))
        .or_else(|| by_processor(model, has_flag))
        .filter(|_| !is_xen_dom0(root))
        .map_or(Virtual::No, |(name, sign)| Virtual::Yes { name: name.to_owned(), sign })
}

pub(crate) type Found = (&'static str, String);

/// Xen's first domain drives the hardware: it is no guest in what matters here.
fn is_xen_dom0(root: &dyn Root) -> bool {
    text(root, "/proc/xen/capabilities").is_ok_and(|text| text.contains("control_d"))
}

fn xen(root: &dyn Root) -> Option<Found> {
    let kind = text(root, "/sys/hypervisor/type").ok()?;
    (kind == "xen").then(|| ("xen", "/sys/hypervisor/type: xen".to_owned()))
}

/// Clouds give the same names to their bare-metal instances, where x86 lacks the hypervisor flag.
fn by_firmware(identity: &Identity, is_bare_metal: bool) -> Option<Found> {
    let texts = [
        ("product_name", &identity.product),
        ("sys_vendor", &identity.vendor),
        ("bios_vendor", &identity.bios_vendor),
    ];
    let known = texts.into_iter().filter_map(|(file, text)| Some((file, text.as_deref().ok()?)));
    let (file, text, name) = known.into_iter().find_map(|(file, text)| {
        let (_, name) = NAMES.iter().find(|(start, _)| text.starts_with(start))?;
        Some((file, text, *name))
    })?;
    let is_cloud = matches!(name, "amazon" | "google" | "kvm");
    (!is_cloud || !is_bare_metal).then(|| (name, format!("dmi/id/{file}: {text}")))
}

/// QEMU's firmware says QEMU under KVM too: the clock tells them apart.
fn refine(root: &dyn Root, found: Found) -> Found {
    match found.0 {
        "qemu" => by_clock(root).unwrap_or(found),
        _ => found,
    }
}

/// Clocks that only a hypervisor offers.
fn by_clock(root: &dyn Root) -> Option<Found> {
    let path = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    let clocks = text(root, path).ok()?;
    let clocks: Vec<_> = clocks.split_whitespace().collect();
    let known = [
        ("kvm-clock", "kvm"),
        ("xen", "xen"),
        ("hyperv_clocksource_tsc_page", "microsoft"),
        ("hyperv_clocksource_msr", "microsoft"),
        ("vmware-tsc", "vmware"),
    ];
    let (clock, name) = known.into_iter().find(|(clock, _)| clocks.contains(clock))?;
    Some((name, format!("{path}: {clock}")))
}

/// POWER and ARM guests without SMBIOS: `linux,kvm`, `xen,xen`, or a partition of PowerVM.
fn by_device_tree(root: &dyn Root) -> Option<Found> {
    let path = "/proc/device-tree/hypervisor/compatible";
    let compatible = text(root, path).unwrap_or_default();
    let known = [("linux,kvm", "kvm"), ("xen", "xen"), ("vmware", "vmware")];
    if let Some((_, name)) = known.into_iter().find(|(word, _)| compatible.contains(word)) {
        return Some((name, format!("{path}: {}", compatible.replace('\0', " "))));
    }
    let partition = "/proc/device-tree/ibm,partition-name";
    root.mode(partition).ok().map(|_| ("powervm", format!("{partition} is there")))
}

/// s390: `VM00 Control Program: z/VM    6.1.0` or `KVM/Linux`; a plain partition has no such line.
pub(crate) fn sysinfo(text: &str) -> Option<Found> {
    let line = text.lines().find(|line| line.starts_with("VM00 Control Program:"))?;
    let name = if line.contains("KVM") { "kvm" } else { "zvm" };
    Some((
        name,
        format!("/proc/sysinfo: {}", line.split_whitespace().collect::<Vec<_>>().join(" ")),
    ))
}

/// PCI devices that only a hypervisor has, in the second word of a line of /proc/bus/pci/devices:
/// `0020 80eecafe 14 ...`. Asked only of guests and of machines without SMBIOS.
fn by_devices(root: &dyn Root, is_asked: bool) -> Option<Found> {
    let path = "/proc/bus/pci/devices";
    let devices = if is_asked { text(root, path).ok()? } else { return None };
    let known = [
        ("80eecafe", "oracle"),
        ("15ad0740", "vmware"),
        ("15ad0710", "vmware"),
        ("58530001", "xen"),
        ("1ab84000", "parallels"),
    ];
    let ids = devices.lines().filter_map(|line| line.split_whitespace().nth(1));
    let (id, name) =
        ids.filter_map(|id| known.into_iter().find(|(device, _)| *device == id)).next()?;
    Some((name, format!("{path}: {id}")))
}

/// The processor's own word, which names no hypervisor.
fn by_processor(model: &Model, has_flag: bool) -> Option<Found> {
    match model.vendor.as_deref() {
        Ok("User Mode Linux") => Some(("uml", "/proc/cpuinfo: User Mode Linux".to_owned())),
        _ if has_flag => Some(("vm-other", "/proc/cpuinfo: flag hypervisor".to_owned())),
        // A partition's kernel sees the architecture level, not the chip.
        _ if model.name.as_ref().is_ok_and(|name| name.contains("(architected)")) => {
            Some(("powervm", "/proc/cpuinfo: POWER (architected)".to_owned()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dmi;
    use root::MemoryRoot;

    const CLOCKS: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";

    fn name(files: &[(&str, &str)]) -> String {
        let mut root = MemoryRoot::new();
        for (path, text) in files {
            root.file(path, *text);
        }
        match read(&root, &dmi::identity(&root), &super::super::model::read(&root)) {
            Virtual::No => "none".to_owned(),
            Virtual::Yes { name, sign } => {
                assert!(!sign.is_empty());
                name
            }
        }
    }

    #[test]
    fn each_hypervisor_by_its_sign() {
        let vendor = "/sys/class/dmi/id/sys_vendor";
        let product = "/sys/class/dmi/id/product_name";
        let guest =
            ("/proc/cpuinfo", "processor: 0\ncpu family: 6\nmodel: 85\nflags: hypervisor\n");
        let metal = ("/proc/cpuinfo", "processor: 0\ncpu family: 6\nmodel: 85\nflags: fpu\n");
        let power = ("/proc/cpuinfo", "processor: 0\ncpu: POWER7 (architected), altivec\n");
        for (files, expected) in [
            (&[metal][..], "none"),
            (&[guest], "vm-other"),
            (&[guest, (vendor, "QEMU\n")], "qemu"),
            (&[guest, (vendor, "QEMU\n"), (CLOCKS, "kvm-clock tsc\n")], "kvm"),
            (&[(vendor, "Dell Inc."), guest, (CLOCKS, "hyperv_clocksource_msr\n")], "microsoft"),
            (&[guest, (vendor, "Amazon EC2\n")], "amazon"),
            (&[metal, (vendor, "Amazon EC2\n")], "none"),
            (&[(vendor, "Google"), (product, "Google Compute Engine\n")], "google"),
            (&[guest, (product, "VMware Virtual Platform")], "vmware"),
            (&[(product, "VirtualBox")], "oracle"),
            (&[("/sys/hypervisor/type", "xen\n")], "xen"),
            (
                &[("/sys/hypervisor/type", "xen\n"), ("/proc/xen/capabilities", "control_d\n")],
                "none",
            ),
            (&[("/proc/sysinfo", "VM00 Control Program: z/VM    6.1.0\n")], "zvm"),
            (&[("/proc/sysinfo", "VM00 Control Program: KVM/Linux\n")], "kvm"),
            (&[("/proc/sysinfo", "LPAR Number: 9\n")], "none"),
            (&[("/proc/device-tree/ibm,partition-name", "lp1\0")], "powervm"),
            (&[power], "powervm"),
            (&[("/proc/bus/pci/devices", "0010\t80eebeef\t12\n0020\t80eecafe\t14\n")], "oracle"),
            (&[metal, (vendor, "HPE"), ("/proc/bus/pci/devices", "0020\t80eecafe\n")], "none"),
            (&[("/proc/device-tree/hypervisor/compatible", "linux,kvm\0")], "kvm"),
            (&[(vendor, "Oracle Corporation"), (product, "ORACLE SERVER X8-2"), metal], "none"),
        ] {
            assert_eq!(name(files), expected, "{files:?}");
        }
    }
}
