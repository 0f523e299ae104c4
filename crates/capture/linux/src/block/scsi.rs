// SPDX-License-Identifier: MIT OR Apache-2.0
//! Disks that come through a SCSI host: SATA, SAS, RAID controllers, USB, virtio-scsi, iSCSI.

use machine::{Controller, Drive, DriveKind, Fact, Why};
use root::Dir;

use super::disk::{Disk, filled};
use super::place::Functions;
use super::raid::{self, Told};

/// Reads a SCSI disk; none for a device without a SCSI host in its path.
pub(super) fn read(disk: &Disk<'_>, functions: &Functions<'_>) -> Option<Drive> {
    let host = disk.numbered("host")?;
    let device = disk.device();
    let vendor = filled(device.text("vendor"));
    let model = filled(device.text("model"));
    let function = disk.function().and_then(|address| functions.get(address));
    let driver = function.and_then(|function| function.driver.as_deref());
    let transport = transport(disk);
    let level = device.text("raid_level").ok();
    let told = Told {
        vendor: vendor.as_deref().unwrap_or_default(),
        model: model.as_deref().unwrap_or_default(),
        raid_level: level.as_deref(),
        channel: channel(&device),
    };
    let hidden = function
        .zip(driver)
        .and_then(|(function, driver)| raid::hidden(driver, function.address, &told));
    let (hidden_by, by_raid) = hidden.unzip();
    let kind = by_raid.unwrap_or_else(|| kind(disk, transport, driver, told.vendor));
    let mut drive = disk.drive(kind);
    let controller = Controller {
        name: host.to_owned(),
        function: function.map(|function| function.address),
        node: function.and_then(|function| function.node),
        driver: driver.map(str::to_owned),
        queues: u32::try_from(drive.queues.len()).unwrap_or(u32::MAX),
        transport: transport.to_owned(),
        state: String::new(),
        address: None,
        link_power: link_power(disk, host),
        link_rate: link_rate(disk),
        ana_state: None,
    };
    drive.firmware = filled(device.text("rev"));
    drive.serial = serial(&device);
    drive.wwid = filled(device.text("wwid")).or(drive.wwid);
    drive.model = model;
    drive.hidden_by = hidden_by;
    drive.controllers = vec![controller];
    Some(drive)
}

fn kind(disk: &Disk<'_>, transport: &str, driver: Option<&str>, vendor: &str) -> DriveKind {
    match transport {
        "sata" => DriveKind::Sata,
        // A SATA drive behind a SAS adapter says ATA (SCSI / ATA Translation).
        "sas" if vendor == "ATA" => DriveKind::Sata,
        "sas" => DriveKind::Sas,
        "usb" => DriveKind::Other,
        _ if is_paravirtual(disk, driver) => DriveKind::Paravirtual,
        // Adapters of old kernels have no SAS transport class in the path.
        _ if vendor == "ATA" => DriveKind::Sata,
        _ => DriveKind::Scsi,
    }
}

/// Hyper-V's disks hang from its bus, VMware's from its own adapter.
fn is_paravirtual(disk: &Disk<'_>, driver: Option<&str>) -> bool {
    driver == Some("vmw_pvscsi") || disk.parts().any(|part| part.starts_with("VMBUS"))
}

/// How the disk is reached, by the parts of its path.
fn transport(disk: &Disk<'_>) -> &'static str {
    let starts = |prefix: &str| disk.parts().any(|part| part.starts_with(prefix));
    if disk.numbered("ata").is_some() {
        "sata"
    } else if starts("end_device-") {
        "sas"
    } else if disk.numbered("usb").is_some() {
        "usb"
    } else if disk.numbered("session").is_some() {
        "iscsi"
    } else if starts("rport-") {
        "fc"
    } else if disk.numbered("virtio").is_some() {
        "virtio"
    } else {
        "scsi"
    }
}

/// The channel in `0:2:0:0`, the device folder's name.
fn channel(device: &Dir<'_>) -> Option<u32> {
    let (_, name) = device.path().rsplit_once('/')?;
    let mut numbers = name.split(':').skip(1);
    numbers.next()?.parse().ok()
}

/// Unit serial number from `vpd_pg80`: four bytes of header, then text (SCSI Primary Commands).
fn serial(device: &Dir<'_>) -> Fact<String> {
    let page = device.root().read(&device.join("vpd_pg80"))?;
    parse_serial(&page).ok_or_else(|| Why::Unparsed("unit serial number page".to_owned()))
}

pub(crate) fn parse_serial(page: &[u8]) -> Option<String> {
    let length = usize::from(u16::from_be_bytes([*page.get(2)?, *page.get(3)?]));
    let text = page.get(4..)?;
    let text = std::str::from_utf8(text.get(..length).unwrap_or(text)).ok()?;
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// `med_power_with_dipm` and the like; only AHCI hosts have the file.
fn link_power(disk: &Disk<'_>, host: &str) -> Option<String> {
    let path = format!("/sys/class/scsi_host/{host}/link_power_management_policy");
    filled(root::text(disk.dir.root(), &path)).ok()
}

/// `6.0 Gbps` of the SATA link, `12.0 Gbit` of the first phy of the nearest SAS port.
fn link_rate(disk: &Disk<'_>) -> Option<String> {
    let root = disk.dir.root();
    let known = |text: Fact<String>| {
        let unknown = |text: &String| text.starts_with('<') || text.starts_with("Unknown");
        filled(text).ok().filter(|text| !unknown(text))
    };
    if let Some(port) = disk.numbered("ata").and_then(|part| part.strip_prefix("ata")) {
        return known(root::text(root, &format!("/sys/class/ata_link/link{port}/sata_spd")));
    }
    let port = disk.parts().rev().find(|part| part.starts_with("port-"))?;
    let (above, _) = disk.dir.path().split_once(&format!("/{port}/"))?;
    let names = root.list(&format!("{above}/{port}")).ok()?;
    let phy = names.iter().find(|name| name.starts_with("phy-"))?;
    known(root::text(root, &format!("/sys/class/sas_phy/{phy}/negotiated_linkrate")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serial_numbers_are_cut_out_of_their_page() {
        assert_eq!(parse_serial(b"\0\x80\0\x08  S1234 "), Some("S1234".to_owned()));
        assert_eq!(parse_serial(b"\0\x80\xff\xffS1234"), Some("S1234".to_owned()));
        for page in [&b""[..], b"\0\x80\0", b"\0\x80\0\x02  ", b"\0\x80\0\x01\xff"] {
            assert_eq!(parse_serial(page), None, "{page:?}");
        }
    }
}
