// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tells interrupts that the kernel places by itself from those that may be moved.
//!
//! Since Linux 6.18 the mode of `smp_affinity_list` tells: a managed vector's has no write bit. An
//! older kernel keeps the bit and answers EIO to the write, so the driver decides.

use machine::Managed;

use super::name::{Name, Purpose};

/// Write bits of `smp_affinity_list`.
const WRITE: u32 = 0o222;

/// Storage drivers that ask for managed vectors (`PCI_IRQ_AFFINITY`) and name a queue's number:
/// with the number of vectors in front that stay movable (`irq_affinity.pre_vectors`), which carry
/// administration and events.
const DRIVERS: &[(&str, u32)] = &[
    ("hpsa", 0),            // drivers/scsi/hpsa.c
    ("megaraid_sas", 1),    // low_latency_index_start of megaraid_sas_base.c
    ("mpi3mr", 1),          // mpi3mr_fw.c: vector 0 is the admin queue's
    ("mpt3sas", 0),         // mpt3sas_base.c; up to 8 in front, where a fast controller says so
    ("pm80xx", 1),          // pm8001_init.c: queue 0 is for housekeeping
    ("hisi_sas_v3_hw", 16), // BASE_VECTORS_V3_HW
];

/// Drivers whose vectors are all managed and carry no number in their name.
const WHOLE_DRIVERS: &[&str] = &["smartpqi"];

/// What the modes of all interrupts tell together.
///
/// A copy of a tree may have lost the modes: where no file can be written, or where none is
/// read-only, they say nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Modes {
    /// Some files have write bits and some have none: each speaks for its interrupt.
    Tell,
    /// All are alike.
    Silent,
}

impl Modes {
    /// Judges the modes of many interrupts' files.
    pub(crate) fn of(modes: impl Iterator<Item = u32> + Clone) -> Self {
        let writable = modes.clone().any(|mode| mode & WRITE != 0);
        let read_only = modes.clone().any(|mode| mode & WRITE == 0);
        if writable && read_only { Self::Tell } else { Self::Silent }
    }
}

/// Whether one interrupt is managed.
pub(crate) fn judge(
    modes: Modes,
    mode: Option<u32>,
    driver: Option<&str>,
    name: Option<&Name<'_>>,
) -> Managed {
    match (modes, mode) {
        (Modes::Tell, Some(mode)) if mode & WRITE == 0 => Managed::Told,
        (Modes::Tell, Some(_)) => Managed::No,
        _ if name.is_some_and(|name| is_managed(driver, name)) => Managed::ByDriver,
        _ => Managed::No,
    }
}

/// Whether an interrupt is one of those in front, which carries no completions of requests.
pub(crate) fn is_in_front(driver: Option<&str>, name: &Name<'_>) -> bool {
    let (Some(driver), Some(queue)) = (driver, name.queue) else { return false };
    DRIVERS.iter().any(|(known, first)| *known == driver && queue < *first)
}

fn is_managed(driver: Option<&str>, name: &Name<'_>) -> bool {
    let is_queue = name.purpose == Purpose::Queue;
    let nvme = is_numbered(name.base, "nvme") && driver.is_none_or(|driver| driver == "nvme");
    let virtio = is_numbered(name.base, "virtio");
    match (driver, name.queue) {
        (_, Some(_)) if nvme && is_queue => true,
        // Both virtio-blk and virtio-net are bound to `virtio-pci`; only the former asks for
        // managed vectors, and calls its virtqueues `req.N` (drivers/block/virtio_blk.c).
        (_, Some(_)) if virtio => name.word == "req",
        (Some(driver), Some(queue)) if is_queue => {
            DRIVERS.iter().any(|(known, first)| *known == driver && queue >= *first)
        }
        (Some(driver), _) => WHOLE_DRIVERS.contains(&driver),
        _ => false,
    }
}

fn is_numbered(text: &str, word: &str) -> bool {
    let digits = text.strip_prefix(word).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::irq::name;

    fn judge_name(driver: &str, action: &str) -> Managed {
        judge(Modes::Silent, Some(0o644), Some(driver), Some(&name::parse(action)))
    }

    #[test]
    fn drivers_that_ask_for_managed_vectors() {
        let managed = [
            ("nvme", "nvme0q1"),
            ("virtio-pci", "virtio1-req.0"),
            ("megaraid_sas", "megasas1-msix12"),
            ("mpi3mr", "mpi3mr0-msix3"),
            ("mpt3sas", "mpt3sas0-msix0"),
            ("mpt3sas", "mpt2sas1-msix12"),
            ("smartpqi", "smartpqi"),
        ];
        for (driver, action) in managed {
            assert_eq!(judge_name(driver, action), Managed::ByDriver, "{action}");
        }
        let movable = [
            ("nvme", "nvme0q0"),
            ("virtio-pci", "virtio1-config"),
            ("virtio-pci", "virtio0-input.0"),
            ("megaraid_sas", "megasas1-msix0"),
            ("mlx5_core", "mlx5_comp3@pci:0000:86:00.0"),
            ("i40e", "i40e-ens7f0-TxRx-45"),
            ("ahci", "ahci[0000:00:1f.2]"),
        ];
        for (driver, action) in movable {
            assert_eq!(judge_name(driver, action), Managed::No, "{action}");
        }
    }

    #[test]
    fn vectors_in_front_carry_no_completions() {
        let of = |driver: &str, action: &str| is_in_front(Some(driver), &name::parse(action));
        assert!(of("mpi3mr", "mpi3mr1-msix0") && of("megaraid_sas", "megasas0-msix0"));
        assert!(!of("mpi3mr", "mpi3mr1-msix1") && !of("mpt3sas", "mpt3sas0-msix0"));
        assert!(!of("mlx5_core", "mlx5_comp0@pci:0000:86:00.0"));
    }

    #[test]
    fn modes_tell_only_where_they_differ() {
        let of = |modes: &[u32]| Modes::of(modes.iter().copied());
        assert_eq!(of(&[0o644, 0o444]), Modes::Tell);
        assert_eq!(of(&[0o444, 0o444]), Modes::Silent);
        assert_eq!(of(&[0o644]), Modes::Silent);
        let queue = name::parse("nvme0q1");
        assert_eq!(judge(Modes::Tell, Some(0o444), None, None), Managed::Told);
        assert_eq!(judge(Modes::Tell, Some(0o644), Some("nvme"), Some(&queue)), Managed::No);
        assert_eq!(judge(Modes::Silent, Some(0o444), Some("i40e"), None), Managed::No);
    }
}
