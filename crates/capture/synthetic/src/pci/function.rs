// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files of one PCI function.

use units::PciAddress;

use crate::Place;
use crate::build::Build;
use crate::config_space::{self, Express, PortType, Registers};
use crate::text::mask;

/// A function and what its files say.
pub(super) struct Written<'a> {
    pub(super) path: &'a str,
    pub(super) address: PciAddress,
    pub(super) registers: &'a Registers,
    pub(super) place: &'a Place,
    pub(super) told: i32,
    pub(super) driver: &'a str,
}

pub(super) fn write(build: &mut Build<'_>, written: &Written<'_>) {
    let Written { path, address, registers, .. } = written;
    let near = build.topology.near(written.told);
    let bits = build.topology.bits;
    let tree = &mut build.tree;
    let [vendor, device] = registers.id;
    let [subvendor, subdevice] = registers.subsystem;
    tree.lines(
        path,
        [
            ("vendor", format!("{vendor:#06x}")),
            ("device", format!("{device:#06x}")),
            ("subsystem_vendor", format!("{subvendor:#06x}")),
            ("subsystem_device", format!("{subdevice:#06x}")),
            ("class", format!("{:#08x}", registers.class)),
            ("revision", format!("{:#04x}", registers.revision)),
            ("numa_node", written.told.to_string()),
            ("local_cpulist", near.to_string()),
            ("local_cpus", mask(&near, bits)),
            ("irq", "0".to_owned()),
            ("enable", u32::from(!written.driver.is_empty()).to_string()),
            ("msi_bus", "1".to_owned()),
            ("d3cold_allowed", "1".to_owned()),
            ("power_state", "D0".to_owned()),
            ("driver_override", "(null)".to_owned()),
            ("dma_mask_bits", "64".to_owned()),
            ("ari_enabled", "0".to_owned()),
            ("broken_parity_status", "0".to_owned()),
        ],
    );
    tree.text(format!("{path}/config"), config_space::bytes(registers));
    tree.text(format!("{path}/resource"), resources());
    write_names(build, written);
    write_power(build, written);
    if let Some(express) = &registers.express {
        write_link(build, written, express);
    }
    write_iommu(build, path, *address);
}

/// Seven lines of start, end and flags; a port has more, and nobody reads them.
fn resources() -> String {
    "0x0000000000000000 0x0000000000000000 0x0000000000000000\n".repeat(7)
}

fn write_names(build: &mut Build<'_>, written: &Written<'_>) {
    let Written { path, address, registers, driver, .. } = written;
    let ([vendor, device], [subvendor, subdevice]) = (registers.id, registers.subsystem);
    let class = registers.class;
    let (base, sub, interface) = (class >> 16, class >> 8 & 0xff, class & 0xff);
    let modalias = format!(
        "pci:v{vendor:08X}d{device:08X}sv{subvendor:08X}sd{subdevice:08X}\
         bc{base:02x}sc{sub:02x}i{interface:02x}"
    );
    let bound = if driver.is_empty() { String::new() } else { format!("DRIVER={driver}\n") };
    let uevent = format!(
        "{bound}PCI_CLASS={class:X}\nPCI_ID={vendor:04X}:{device:04X}\n\
         PCI_SUBSYS_ID={subvendor:04X}:{subdevice:04X}\nPCI_SLOT_NAME={address}\nMODALIAS={modalias}\n"
    );
    let tree = &mut build.tree;
    tree.line(format!("{path}/modalias"), &modalias);
    tree.text(format!("{path}/uevent"), uevent);
    tree.link(format!("{path}/subsystem"), "/sys/bus/pci");
    tree.link(format!("/sys/bus/pci/devices/{address}"), path);
    if !driver.is_empty() {
        let folder = format!("/sys/bus/pci/drivers/{driver}");
        tree.link(format!("{path}/driver"), &folder);
        tree.link(format!("{folder}/{address}"), path);
        tree.link(format!("{folder}/module"), &format!("/sys/module/{}", driver.replace('-', "_")));
    }
}

fn write_power(build: &mut Build<'_>, written: &Written<'_>) {
    let control = &written.place.runtime_pm;
    let enabled = if control == "on" { "forbidden" } else { "enabled" };
    build.tree.lines(
        &format!("{}/power", written.path),
        [
            ("control", control.clone()),
            ("runtime_status", "active".to_owned()),
            ("runtime_enabled", enabled.to_owned()),
            ("runtime_usage", "2".to_owned()),
            ("wakeup", "disabled".to_owned()),
        ],
    );
}

fn write_link(build: &mut Build<'_>, written: &Written<'_>, express: &Express) {
    let path = written.path;
    let tree = &mut build.tree;
    for name in ["aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal"] {
        tree.text(format!("{path}/{name}"), aer(name));
    }
    if express.kind == PortType::Integrated {
        return;
    }
    tree.lines(
        path,
        [
            ("current_link_speed", express.now.speed_text().to_owned()),
            ("current_link_width", express.now.width.to_string()),
            ("max_link_speed", express.best.speed_text().to_owned()),
            ("max_link_width", express.best.width.to_string()),
        ],
    );
    // The kernel shows a state's file at the lower end only, where both ends offer the state
    // (drivers/pci/pcie/aspm.c); a firmware that keeps ASPM hides them all.
    let lower = matches!(express.kind, PortType::Endpoint | PortType::Upstream);
    if lower && !build.description.host.forbids_aspm {
        if express.best.generation < 3 || express.aspm[0] {
            tree.line(format!("{path}/link/l0s_aspm"), u32::from(express.aspm[0]));
        }
        tree.line(format!("{path}/link/l1_aspm"), u32::from(express.aspm[1]));
        for state in ["l1_1_aspm", "l1_2_aspm", "l1_1_pcipm", "l1_2_pcipm"] {
            tree.line(format!("{path}/link/{state}"), 0);
        }
    } else {
        tree.folder(format!("{path}/link"));
    }
}

/// Counters of errors, a line each, the sum last (drivers/pci/pcie/aer.c).
fn aer(name: &str) -> String {
    let (kinds, total): (&[&str], &str) = match name {
        "aer_dev_correctable" => (
            &["RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout", "NonFatalErr", "CorrIntErr"],
            "TOTAL_ERR_COR",
        ),
        "aer_dev_fatal" => (&["Undefined", "DLP", "SDES", "TLP", "FCP"], "TOTAL_ERR_FATAL"),
        _ => (&["Undefined", "DLP", "SDES", "TLP", "FCP"], "TOTAL_ERR_NONFATAL"),
    };
    let lines: String = kinds.iter().map(|kind| format!("{kind} 0\n")).collect();
    format!("{lines}{total} 0\n")
}

fn write_iommu(build: &mut Build<'_>, path: &str, address: PciAddress) {
    if build.description.host.iommu.is_none() {
        return;
    }
    let group = format!("/sys/kernel/iommu_groups/{}", build.next_iommu_group);
    build.next_iommu_group += 1;
    build.tree.link(format!("{path}/iommu_group"), &group);
    build.tree.link(format!("{group}/devices/{address}"), path);
    build.tree.line(format!("{group}/type"), "DMA-FQ");
}

/// `sriov_*` of a physical function, and its virtual functions from device 2 of its bus on.
pub(super) fn write_virtual(build: &mut Build<'_>, written: &Written<'_>, counts: [u32; 2]) {
    let [now, most] = counts;
    if most == 0 {
        return;
    }
    build.tree.line(format!("{}/sriov_totalvfs", written.path), most);
    build.tree.line(format!("{}/sriov_numvfs", written.path), now);
    let (parent, _) = written.path.rsplit_once('/').unwrap_or_default();
    // A bus holds 32 devices of 8 functions; device 2 is where the offset of 16 leads. The second
    // physical function counts on from the end of the first one's functions.
    for index in 0..now.min(112) {
        let place = 16 + u32::from(written.address.function) * 112 + index;
        let device = u8::try_from(place >> 3).unwrap_or(31);
        let function = u8::try_from(place & 7).unwrap_or(0);
        if device > 31 {
            return;
        }
        let address = PciAddress { device, function, ..written.address };
        let path = format!("{parent}/{address}");
        let [vendor, device] = written.registers.id;
        let registers = Registers {
            id: [vendor, device.wrapping_add(1)],
            virtual_functions: None,
            vectors: 8,
            ..written.registers.clone()
        };
        let virtual_one =
            Written { path: &path, address, registers: &registers, driver: "", ..*written };
        write(build, &virtual_one);
        build.tree.link(format!("{path}/physfn"), written.path);
        build.tree.link(format!("{}/virtfn{index}", written.path), &path);
    }
}

/// `/sys/bus/pci/slots/NAME`: `0000:21:00` without a function.
pub(super) fn write_slot(
    build: &mut Build<'_>,
    slot: &str,
    bus: u8,
    domain: u32,
    express: Express,
) {
    let folder = format!("/sys/bus/pci/slots/{slot}");
    build.tree.lines(
        &folder,
        [
            ("address", format!("{domain:04x}:{bus:02x}:00")),
            ("cur_bus_speed", express.now.speed_text().to_owned()),
            ("max_bus_speed", express.best.speed_text().to_owned()),
            ("power", "1".to_owned()),
        ],
    );
}
