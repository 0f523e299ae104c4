// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts of trees in memory: who raised them when signs disagree.

use machine::{NicKind, PciClass};
use root::MemoryRoot;
use units::CpuSet;

use super::*;

fn function(address: &str, driver: &str, class: (u8, u8), irqs: &[u32]) -> Function {
    Function {
        class: PciClass { base: class.0, sub: class.1, interface: 0 },
        driver: Some(driver.to_owned()),
        irqs: irqs.to_vec(),
        ..Function::new(address.parse().unwrap())
    }
}

fn nic(name: &str, address: &str) -> Nic {
    let mut root = MemoryRoot::new();
    root.symlink(
        &format!("/sys/class/net/{name}"),
        &format!("../../devices/pci0000:00/{address}/net/{name}"),
    );
    root.file(&format!("/sys/devices/pci0000:00/{address}/net/{name}/mtu"), "1500");
    root.symlink(&format!("/sys/devices/pci0000:00/{address}/net/{name}/device"), "../..");
    let mut nics = crate::net::read(&root, &[], &mut Troubles::default());
    assert_eq!(nics[0].kind, NicKind::Physical);
    nics.remove(0)
}

fn tree(lines: &[&str]) -> MemoryRoot {
    let mut root = MemoryRoot::new();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    root.file(INTERRUPTS, format!("           CPU0       CPU1\n{text}"));
    root
}

fn sources(
    root: &MemoryRoot,
    functions: &[Function],
    nics: &[Nic],
) -> Vec<(u32, Option<IrqSource>)> {
    let irqs = read(root, text(root), functions, nics, &mut Troubles::default());
    irqs.into_iter().map(|irq| (irq.number, irq.source)).collect()
}

fn told(source: &Option<IrqSource>) -> (Option<&str>, Option<u32>, bool, bool) {
    let source = source.as_ref();
    (
        source.map(|source| source.device.as_str()),
        source.and_then(|source| source.queue),
        source.is_some_and(|source| source.is_io),
        source.is_some_and(|source| source.by_msi),
    )
}

#[test]
fn an_interface_that_was_renamed_is_told_by_its_vectors() {
    let root = tree(&[
        " 40:          1          0   PCI-MSI 5-edge      eth1-TxRx-0",
        " 41:          1          0   PCI-MSI 6-edge      eth1",
        " 42:          1          0   PCI-MSI 7-edge      eth10-TxRx-0",
    ]);
    let functions = [
        function("0000:01:00.0", "ixgbe", (2, 0), &[40, 41]),
        function("0000:02:00.0", "ixgbe", (2, 0), &[42, 43]),
    ];
    // The interface now called eth1 is not the one that was called so when the driver was loaded.
    let nics = [nic("ens1f0", "0000:01:00.0"), nic("eth1", "0000:02:00.0")];
    let found = sources(&root, &functions, &nics);
    assert_eq!(told(&found[0].1), (Some("ens1f0"), Some(0), true, true));
    assert_eq!(told(&found[1].1), (Some("ens1f0"), None, false, true));
    assert_eq!(told(&found[2].1), (Some("eth1"), Some(0), true, true));
    // A vector that nothing listens to still exists.
    assert_eq!(found[3].0, 43);
    assert_eq!(told(&found[3].1), (Some("eth1"), None, false, true));
}

#[test]
fn without_msi_irqs_names_are_equal_or_not() {
    let root = tree(&[
        " 40:          1          0   PCI-MSI 5-edge      eth1-TxRx-0",
        " 41:          1          0   PCI-MSI 6-edge      eth10-TxRx-3",
        " 42:          1          0   PCI-MSI 7-edge      i40e-ens7-TxRx-3",
        " 43:          1          0   PCI-MSIX-0000:03:00.0 7-edge      ens77-TxRx-3",
    ]);
    let functions = [
        function("0000:01:00.0", "ixgbe", (2, 0), &[]),
        function("0000:02:00.0", "ixgbe", (2, 0), &[]),
        function("0000:03:00.0", "i40e", (2, 0), &[]),
    ];
    let nics =
        [nic("eth1", "0000:01:00.0"), nic("eth10", "0000:02:00.0"), nic("ens7", "0000:03:00.0")];
    let found = sources(&root, &functions, &nics);
    let functions: Vec<_> = found
        .iter()
        .map(|(_, source)| source.as_ref().and_then(|s| s.function).map(|f| f.to_string()))
        .collect();
    let expected = ["0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "0000:03:00.0"];
    assert_eq!(functions, expected.map(|text| Some(text.to_owned())));
    assert_eq!(told(&found[3].1), (Some("ens7"), Some(3), true, false));
}

#[test]
fn a_pin_belongs_to_no_one_when_several_claim_it() {
    let root = tree(&[
        "  0:         40          0   IO-APIC    2-edge      timer",
        " 16:          1          0   IO-APIC   16-fasteoi   ehci_hcd:usb1, mmc0",
        " 17:          1          0   IO-APIC   17-fasteoi   ata_piix",
        " 18:          1          0   IO-APIC   18-fasteoi   i801_smbus",
    ]);
    let functions = [
        function("0000:00:1a.0", "ehci-pci", (0x0c, 3), &[16]),
        function("0000:00:1b.0", "sdhci-pci", (0x08, 5), &[16]),
        function("0000:00:1f.1", "ata_piix", (0x01, 1), &[17]),
        function("0000:00:1f.3", "", (0x0c, 5), &[0]),
    ];
    let found = sources(&root, &functions, &[]);
    let devices: Vec<_> = found.iter().map(|(number, source)| (*number, told(source).0)).collect();
    assert_eq!(devices, [(0, None), (16, None), (17, Some("0000:00:1f.1")), (18, None)]);
    assert_eq!(told(&found[2].1), (Some("0000:00:1f.1"), None, true, false));
}

/// `irq` of a function whose messages cannot be listed is a pin that it does not use.
#[test]
fn a_pin_is_no_vector_while_messages_are_on() {
    let mut root = tree(&[" 11:          1          0   IO-APIC 11-fasteoi   acpi"]);
    root.file("/sys/bus/pci/devices/0000:01:00.0/msi_irqs/40", "msix");
    let functions = [function("0000:01:00.0", "r8169", (2, 0), &[11])];
    assert_eq!(told(&sources(&root, &functions, &[])[0].1).0, None);
}

#[test]
fn a_single_vector_carries_all_traffic() {
    let root = tree(&[
        " 40:          1          0   PCI-MSI 5-edge      eth0",
        " 41:          1          0   PCI-MSI 6-edge      ahci[0000:00:1f.2]",
        " 42:          1          0   PCI-MSI 7-edge      xhci_hcd",
    ]);
    let functions = [
        function("0000:01:00.0", "r8169", (2, 0), &[40]),
        function("0000:00:1f.2", "ahci", (1, 6), &[41]),
        function("0000:00:14.0", "xhci_hcd", (0x0c, 3), &[42]),
    ];
    let mut root = root;
    for function in &functions {
        let irq = function.irqs[0];
        root.file(&format!("/sys/bus/pci/devices/{}/msi_irqs/{irq}", function.address), "msi");
    }
    let found = sources(&root, &functions, &[nic("eth0", "0000:01:00.0")]);
    let io: Vec<bool> = found.iter().map(|(_, source)| told(source).2).collect();
    assert_eq!(io, [true, true, false]);
}

#[test]
fn names_that_were_cut_tell_no_queue() {
    let root = tree(&[
        " 40:          1          0   PCI-MSI 5-edge      enp134s0f0-TxRx-1",
        " 41:          1          0   PCI-MSI 6-edge      enp134s0f0-TxRx-1",
        " 42:          1          0   PCI-MSI 7-edge      enp134s0f0-TxRx-2",
    ]);
    let nics = [nic("enp134s0f0", "0000:86:00.0")];
    let found = sources(&root, &[], &nics);
    let queues: Vec<_> = found.iter().map(|(_, source)| told(source).1).collect();
    assert_eq!(queues, [None, None, Some(2)]);
}

#[test]
fn files_of_an_interrupt() {
    let mut root = tree(&[
        " 40:          1          0   PCI-MSI 5-edge      nvme0q1",
        " 41:          1          0   PCI-MSI 6-edge      nvme0q0",
        " 42:          1          0   PCI-MSI 6-edge      x",
    ]);
    root.file_with_mode("/proc/irq/40/smp_affinity_list", "4-7\n", 0o444)
        .file("/proc/irq/40/effective_affinity_list", "5\n")
        .file("/proc/irq/40/affinity_hint", "00000000,000000f0\n")
        .file("/proc/irq/41/smp_affinity", "ff\n")
        .file("/proc/irq/42/smp_affinity_list", "all\n")
        .refuse("/proc/irq/42/effective_affinity_list", Why::Failed("EIO".to_owned()));
    let irqs = read(&root, text(&root), &[], &[], &mut Troubles::default());
    let set = |text| CpuSet::from_list(text).unwrap();
    assert_eq!(irqs[0].affinity, Ok(set("4-7")));
    assert_eq!(irqs[0].effective, Ok(set("5")));
    assert_eq!(irqs[0].hint, set("4-7"));
    assert_eq!(irqs[0].managed, Managed::Told);
    assert_eq!(irqs[1].affinity, Ok(set("0-7")));
    assert_eq!(irqs[1].managed, Managed::No);
    assert_eq!(irqs[2].affinity, Err(Why::Unparsed("all".to_owned())));
    assert_eq!(irqs[2].effective, Err(Why::Failed("EIO".to_owned())));
}

#[test]
fn without_the_table_the_folders_tell_the_numbers() {
    let mut root = MemoryRoot::new();
    root.file("/proc/irq/9/smp_affinity_list", "0\n").folder("/proc/irq/10");
    root.file("/proc/irq/default_smp_affinity", "f\n");
    let irqs = read(&root, text(&root), &[], &[], &mut Troubles::default());
    assert_eq!(irqs.iter().map(|irq| irq.number).collect::<Vec<_>>(), [9, 10]);
    assert_eq!(irqs[1].affinity, Err(Why::Absent));
}

#[test]
fn a_refused_table_is_a_trouble() {
    let mut root = MemoryRoot::new();
    root.refuse(INTERRUPTS, Why::Denied);
    let mut troubles = Troubles::default();
    assert_eq!(read(&root, text(&root), &[], &[], &mut troubles), []);
    assert_eq!(troubles.into_list()[0].path, INTERRUPTS);
}
