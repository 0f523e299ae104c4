// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads the name of an interrupt's action: which device, which queue, what for.
//!
//! Drivers name their vectors as they like. What they have in common is an order: a driver's name
//! that may be left out, the device, a word for the kind of vector, a queue number:
//! `i40e-ens7f0-TxRx-45`, `nvme0q3`, `mlx5_comp3@pci:0000:86:00.0`, `megasas1-msix12`.

use units::PciAddress;

/// What the name of an action tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name<'a> {
    /// What is left without the kind and the queue: `nvme0`, `i40e-ens7f0`, `virtio1`.
    pub(crate) base: &'a str,
    /// A PCI address inside the name.
    pub(crate) address: Option<PciAddress>,
    /// The word in front of the queue's number: `TxRx`, `msix`, `req`; empty when there is none.
    pub(crate) word: &'a str,
    /// Queue number.
    pub(crate) queue: Option<u32>,
    /// What the vector is for.
    pub(crate) purpose: Purpose,
}

/// What a vector is for, by its name alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Completions or packets of one queue, or of all.
    Queue,
    /// Administration, configuration, link changes, errors.
    Other,
    /// The name does not tell: `eth0`, `xhci_hcd`, `smartpqi`.
    Unclear,
}

/// Words in front of a queue number, lower case: each stands in the driver that the comment names.
const QUEUE_WORDS: &[&str] = &[
    "block", // gve (`ntfy-block.3`)
    "blk",   // gve (`ntfy-blk3`)
    "comp",  // mlx5_core, mlx4 (`mlx4-comp-3`)
    "cq",    // hisi_sas
    "fp",    // bnx2x, qede
    "msix",  // megaraid_sas, mpi3mr, mpt3sas, hpsa
    "q",     // be2net, mana
    "qp",    // qla2xxx
    "ring", "rx", // e1000e, ena (`Tx-Rx`), igb, enic, tg3, cxgb4 (`Rx3`)
    "rxq", "rxtx", // vmxnet3, octeontx2
    "tx",   // e1000e, igb, enic, tg3
    "txq", "txrx", // igb, ixgbe, i40e, ice, iavf, bnxt, hns3
    "vec",  // atlantic
];

/// Words for vectors that carry neither packets nor completions.
const OTHER_WORDS: &[&str] = &[
    "admin", "adminq", "aerdrv", "async", "aux", "cmd", "config", "control", "ctrl", "cursor",
    "err", "error", "event", "health", "link", "mbx", "mgmnt", "mgmt", "misc", "notify", "other",
    "pages", "pme", "ptp", "sp", "stats", "status",
];

/// Reads one action's name.
pub(crate) fn parse(action: &str) -> Name<'_> {
    let address = address(action);
    let body = body(action, address.is_some());
    if let Some(name) = nvme(body).or_else(|| virtio(body)) {
        return name;
    }
    let stem = body.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = body.get(stem.len()..).and_then(|digits| digits.parse().ok());
    let joined = stem.trim_end_matches(SEPARATORS);
    let (base, word) = last_word(joined);
    let lower = word.to_ascii_lowercase();
    if OTHER_WORDS.contains(&lower.as_str()) {
        return Name { base, address, word, queue: None, purpose: Purpose::Other };
    }
    // i40e's flow director has a vector of its own, which carries no packets
    // (drivers/net/ethernet/intel/i40e/i40e_main.c): `i40e-0000:19:00.0:fdir-TxRx-0`.
    if let (base, "fdir") = last_word(base) {
        return Name { base, address, word: "fdir", queue: None, purpose: Purpose::Other };
    }
    if QUEUE_WORDS.contains(&lower.as_str()) && word.len() < body.len() {
        let base = without_second_word(base, &lower);
        return Name { base, address, word, queue: number, purpose: Purpose::Queue };
    }
    if is_cut_queue_word(&lower) && number.is_none() && body.len() >= CUT_LENGTH {
        return Name { base, address, word, queue: None, purpose: Purpose::Queue };
    }
    Name { base: body, address, word: "", queue: None, purpose: Purpose::Unclear }
}

const SEPARATORS: [char; 5] = ['-', '.', '_', ' ', ':'];

/// Drivers print names into buffers of `IFNAMSIZ` (16) bytes or little more.
const CUT_LENGTH: usize = 14;

/// `eth0-TxR`: the name did not fit the driver's buffer.
fn is_cut_queue_word(word: &str) -> bool {
    word.len() >= 2 && ("txrx".starts_with(word) || "rxtx".starts_with(word))
}

/// The name without an address and what frames it.
fn body(action: &str, has_address: bool) -> &str {
    if !has_address {
        return action;
    }
    // `mlx5_comp3@pci:ADDRESS`, `ahci[ADDRESS]`; in `ice-ADDRESS:misc` the word is behind it.
    let front = action.split(['@', '[']).next().unwrap_or(action);
    let behind = action.rsplit(['.', ':', '-']).next().unwrap_or_default();
    if front.len() < action.len() || behind.is_empty() { front } else { action }
}

/// `nvme0q3`: queue 0 is for administration.
fn nvme(body: &str) -> Option<Name<'_>> {
    let (base, queue) = body.rsplit_once('q')?;
    let digits = base.strip_prefix("nvme")?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let queue = queue.parse().ok().filter(|_| plain)?;
    let (queue, purpose) = match queue {
        0 => (None, Purpose::Other),
        queue => (Some(queue), Purpose::Queue),
    };
    Some(Name { base, address: None, word: "q", queue, purpose })
}

/// `virtio1-req.0`: a virtio device and its virtqueue (drivers/virtio/virtio_pci_common.c). Which
/// of them carry traffic depends on the device: `input` is a console's or a random generator's,
/// `input.0` a network device's.
fn virtio(body: &str) -> Option<Name<'_>> {
    let (base, queue) = body.split_once('-')?;
    let digits = base.strip_prefix("virtio")?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let (word, number) = match queue.rsplit_once('.') {
        Some((word, number)) => (word, number.parse().ok()),
        None => (queue, None),
    };
    let purpose = match (word, number) {
        ("req" | "input" | "output", Some(_)) | ("request" | "requests" | "rx" | "tx", _) => {
            Purpose::Queue
        }
        // All queues of a device that got too few vectors.
        ("virtqueues", _) => Purpose::Unclear,
        _ => Purpose::Other,
    };
    let queue = number.filter(|_| purpose == Purpose::Queue);
    plain.then_some(Name { base, address: None, word, queue, purpose })
}

/// Splits `i40e-ens7f0-TxRx` into `i40e-ens7f0` and `TxRx`. A word needs a separator in front:
/// the `f` of `ens7f0` is none.
fn last_word(joined: &str) -> (&str, &str) {
    match joined.rfind(SEPARATORS) {
        Some(at) => (joined[..at].trim_end_matches(SEPARATORS), &joined[at + 1..]),
        None => ("", joined),
    }
}

/// `eth0-Tx-Rx` and `eth0-ntfy-block` have two words in front of the number.
fn without_second_word<'a>(base: &'a str, word: &str) -> &'a str {
    let (front, second) = last_word(base);
    let second = second.to_ascii_lowercase();
    let is_pair = matches!((second.as_str(), word), ("tx", "rx") | ("ntfy", "block" | "blk"));
    if is_pair { front } else { base }
}

/// A PCI address in the full form, anywhere in the name or in a chip's name.
pub(crate) fn address(text: &str) -> Option<PciAddress> {
    let inside = |c: char| c.is_ascii_hexdigit() || c == ':' || c == '.';
    text.split(|c: char| !inside(c))
        .map(|part| part.trim_matches([':', '.']))
        .filter(|part| part.len() >= "0000:00:00.0".len())
        .find_map(|part| part.parse().ok().or_else(|| before_word(part)))
}

/// `0000:19:00.0:fd` of `i40e-0000:19:00.0:fdir-TxRx-0`: the word behind begins like a number.
fn before_word(part: &str) -> Option<PciAddress> {
    part.rsplit_once(':').and_then(|(front, _)| front.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::Purpose::{Other, Queue, Unclear};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_that_drivers_give() {
        let cases = [
            ("nvme0q3", "nvme0", Some(3), Queue),
            ("nvme10q128", "nvme10", Some(128), Queue),
            ("nvme0q0", "nvme0", None, Other),
            ("virtio1-req.0", "virtio1", Some(0), Queue),
            ("virtio1-config", "virtio1", None, Other),
            ("virtio0-input.0", "virtio0", Some(0), Queue),
            ("virtio0-output.3", "virtio0", Some(3), Queue),
            ("virtio0-reporting_vq", "virtio0", None, Other),
            ("virtio2-requests", "virtio2", None, Queue),
            ("virtio5-input", "virtio5", None, Other),
            ("virtio2-virtqueues", "virtio2", None, Unclear),
            ("virtio0-inflate", "virtio0", None, Other),
            ("eth0-TxRx-3", "eth0", Some(3), Queue),
            ("eth10-rx-0", "eth10", Some(0), Queue),
            ("eth0-rxtx-7", "eth0", Some(7), Queue),
            ("eth0-event-8", "eth0", None, Other),
            ("eth0-Tx-Rx-5", "eth0", Some(5), Queue),
            ("eth0-fp-2", "eth0", Some(2), Queue),
            ("eth0-sp-0", "eth0", None, Other),
            ("eth0-q4", "eth0", Some(4), Queue),
            ("eth0-Rx3", "eth0", Some(3), Queue),
            ("eth0-ntfy-block.3", "eth0", Some(3), Queue),
            ("i40e-ens7f0-TxRx-45", "i40e-ens7f0", Some(45), Queue),
            ("ice-ens1f1np1-TxRx-1", "ice-ens1f1np1", Some(1), Queue),
            ("megasas1-msix12", "megasas1", Some(12), Queue),
            ("mpi3mr0-msix3", "mpi3mr0", Some(3), Queue),
            ("eth0", "eth0", None, Unclear),
            ("ens7f0", "ens7f0", None, Unclear),
            ("smartpqi", "smartpqi", None, Unclear),
            ("xhci_hcd", "xhci_hcd", None, Unclear),
            ("PCIe PME", "PCIe", None, Other),
            ("enp134s0f0-TxR", "enp134s0f0", None, Queue),
            ("timer", "timer", None, Unclear),
        ];
        for (text, base, queue, purpose) in cases {
            let name = parse(text);
            assert_eq!((name.base, name.queue, name.purpose), (base, queue, purpose), "{text}");
            assert_eq!(name.address, None, "{text}");
        }
    }

    #[test]
    fn names_that_hold_an_address() {
        let cases = [
            ("mlx5_comp3@pci:0000:86:00.0", "0000:86:00.0", Some(3), Queue),
            ("mlx5_async0@pci:0000:86:00.0", "0000:86:00.0", None, Other),
            ("mana_q0@pci:7870:00:00.0", "7870:00:00.0", Some(0), Queue),
            ("ena-mgmnt@pci:0000:00:05.0", "0000:00:05.0", None, Other),
            ("gve-ntfy-blk3@pci:0000:00:04.0", "0000:00:04.0", Some(3), Queue),
            ("ice-0000:86:00.0:misc", "0000:86:00.0", None, Other),
            ("i40e-0000:19:00.1:misc", "0000:19:00.1", None, Other),
            ("i40e-0000:19:00.0:fdir-TxRx-0", "0000:19:00.0", None, Other),
            ("iavf-0000:19:02.1:mbx", "0000:19:02.1", None, Other),
            ("hns3-0000:bd:00.0-TxRx-4", "0000:bd:00.0", Some(4), Queue),
            ("ahci[0000:00:1f.2]", "0000:00:1f.2", None, Unclear),
            ("nvme@10000:e1:00.0", "10000:e1:00.0", None, Unclear),
        ];
        for (text, address, queue, purpose) in cases {
            let name = parse(text);
            assert_eq!(name.address.map(|a| a.to_string()).as_deref(), Some(address), "{text}");
            assert_eq!((name.queue, name.purpose), (queue, purpose), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_name_is_read(text in "\\PC{0,40}") {
            let name = parse(&text);
            prop_assert!(text.contains(name.base));
        }

        #[test]
        fn any_likely_name_is_read(text in "[a-z0-9q.:@\\-_\\[\\]TR ]{0,24}") {
            let name = parse(&text);
            prop_assert!(text.contains(name.base));
        }
    }
}
