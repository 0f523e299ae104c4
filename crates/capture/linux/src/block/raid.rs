// SPDX-License-Identifier: MIT OR Apache-2.0
//! Controllers that show drives as something else than they are.
//!
//! A server whose NVMe backplane is wired to a RAID controller has no `/dev/nvme*`: its drives are
//! `/dev/sdX`, behind the controller's firmware and its one queue pair a CPU at best. What is
//! likely behind is told by the controller's channel, by `raid_level`, and by the model's name.

use machine::{DriveKind, HiddenBy};
use units::PciAddress;

/// Drivers of RAID controllers that hide their drives even when they pass them through.
const RAID: [&str; 5] = ["megaraid_sas", "mpi3mr", "smartpqi", "hpsa", "aacraid"];
/// Drivers of host adapters that show drives as they are, but for RAID volumes and NVMe drives.
const ADAPTERS: [&str; 2] = ["mpt3sas", "mpt2sas"];

/// What a SCSI disk says of itself.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Told<'a> {
    /// `vendor`, 8 characters at most.
    pub(super) vendor: &'a str,
    /// `model`, 16 characters at most.
    pub(super) model: &'a str,
    /// `raid_level` (hpsa, smartpqi): `RAID 1`, or `N/A` for a drive.
    pub(super) raid_level: Option<&'a str>,
    /// SCSI channel: the second number of `H:C:T:L`.
    pub(super) channel: Option<u32>,
}

/// What hides behind a SCSI disk of `driver`, and what kind of drive it then is; none where the
/// driver shows drives as they are.
pub(super) fn hidden(
    driver: &str,
    function: PciAddress,
    told: &Told<'_>,
) -> Option<(HiddenBy, DriveKind)> {
    let raid = RAID.contains(&driver);
    if !raid && !ADAPTERS.contains(&driver) {
        return None;
    }
    let (likely, kind) = if is_nvme(told) {
        ("NVMe drive shown as SCSI disk", DriveKind::Scsi)
    } else if is_volume(driver, told) {
        (
            "logical drive of a RAID controller; the drives below it are not shown",
            DriveKind::RaidVolume,
        )
    } else if !raid {
        return None;
    } else if told.vendor == "ATA" {
        ("SATA drive passed through by a RAID controller", DriveKind::Sata)
    } else {
        ("SAS drive passed through by a RAID controller", DriveKind::Sas)
    };
    Some((HiddenBy { driver: driver.to_owned(), function, likely: likely.to_owned() }, kind))
}

/// Firmware that translates NVMe to SCSI answers INQUIRY with the vendor `NVMe` (NVM Express: SCSI
/// Translation Reference); some answer with the drive's own model instead. The prefixes are those
/// of families that are made with an NVMe interface only, from their makers' part numbers.
fn is_nvme(told: &Told<'_>) -> bool {
    const FAMILIES: [&str; 14] = [
        "MZWL",
        "MZQL",
        "MZPL",
        "MZVL",
        "SSDPE",
        "SSDPF",
        "SSDPD",
        "MTFDH",
        "MTFDKC",
        "MTFDKB",
        "MTFDL",
        "KCM",
        "KCD",
        "DELL ENT NVME",
    ];
    let model = told.model.to_ascii_uppercase();
    // The maker's name stands before the part number at times: `SAMSUNG MZWLR3T8`.
    let family = |word: &str| FAMILIES.iter().any(|family| word.starts_with(family));
    let named = model.contains("NVME") || family(&model) || model.split(' ').any(family);
    told.vendor.eq_ignore_ascii_case("nvme") || named
}

fn is_volume(driver: &str, told: &Told<'_>) -> bool {
    if let Some(level) = told.raid_level {
        return level != "N/A";
    }
    let by_channel = match (driver, told.channel) {
        // MEGASAS_MAX_PD_CHANNELS: channels 0 and 1 are drives, 2 and 3 logical drives.
        ("megaraid_sas", Some(channel)) => channel >= 2,
        // CONTAINER_CHANNEL of aacraid.
        ("aacraid", Some(channel)) => channel == 0,
        _ => false,
    };
    by_channel || is_volume_model(&told.model.to_ascii_uppercase())
}

/// `PERC H755N Front`, `LOGICAL VOLUME`, `MR9560-16i`, `RAID 930-8i`.
fn is_volume_model(model: &str) -> bool {
    const NAMES: [&str; 6] =
        ["PERC", "LOGICAL VOLUME", "LOGICAL DRIVE", "VIRTUAL D", "SERVERAID", "RAID"];
    let mega =
        model.strip_prefix("MR").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    mega || NAMES.iter().any(|name| model.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_is_told_by_channel_level_and_model() {
        let function = "01:00.0".parse().unwrap();
        let told = |vendor, model, raid_level, channel| Told { vendor, model, raid_level, channel };
        let cases = [
            (
                "megaraid_sas",
                told("DELL", "PERC H755N Front", None, Some(2)),
                Some(DriveKind::RaidVolume),
            ),
            (
                "megaraid_sas",
                told("NVMe", "Dell Ent NVMe P5", None, Some(0)),
                Some(DriveKind::Scsi),
            ),
            ("mpi3mr", told("SAMSUNG", "MZWLR3T8HBLS", None, Some(0)), Some(DriveKind::Scsi)),
            (
                "mpi3mr",
                told("DELL", "PERC H965i Front", None, Some(1)),
                Some(DriveKind::RaidVolume),
            ),
            ("megaraid_sas", told("ATA", "MZ7L33T8HBLA0D3", None, Some(0)), Some(DriveKind::Sata)),
            ("smartpqi", told("HPE", "EG001200JWJNQ", Some("N/A"), Some(0)), Some(DriveKind::Sas)),
            (
                "smartpqi",
                told("HPE", "LOGICAL VOLUME", Some("RAID 1"), Some(1)),
                Some(DriveKind::RaidVolume),
            ),
            ("aacraid", told("ASR8405", "data", None, Some(0)), Some(DriveKind::RaidVolume)),
            ("mpt3sas", told("SEAGATE", "ST16000NM002G", None, Some(0)), None),
            ("mpt3sas", told("LSI", "Logical Volume", None, Some(1)), Some(DriveKind::RaidVolume)),
            ("ahci", told("ATA", "MZ7L33T8HBLA0D3", None, Some(0)), None),
        ];
        for (driver, told, wanted) in cases {
            let found = hidden(driver, function, &told).map(|(_, kind)| kind);
            assert_eq!(found, wanted, "{driver} {told:?}");
        }
    }
}
