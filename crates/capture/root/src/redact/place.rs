// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which file holds which kind of secret, and how it is replaced there.

use super::binary;
use super::known::{Known, host_name, is_placeholder, run};
use super::line;
use super::map::Map;
use super::scan::{Form, Scan, hex_bytes, put_hex};

/// What a file holds, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Nothing but a serial or an asset tag.
    Serial,
    /// Nothing but a host's or domain's name.
    Host,
    /// A MAC, or a fabric's address.
    Address,
    /// A world-wide name in one of many forms.
    WorldWideName,
    /// Hexadecimal digits that are one identifier, separators among them.
    Digits,
    /// The same in full, an RDMA port's.
    Gid,
    /// A device-mapper UUID: a word for the owner, then letters and digits at random.
    MapperUuid,
    /// An NVMe qualified name: the subsystem's, or the host's own.
    Nqn,
    HostNqn,
    /// Text in which IP addresses stand.
    Addresses,
    /// IPv4 addresses as eight hexadecimal digits, as /proc/net/route has them.
    HexAddresses,
    /// IPv6 addresses as 32 hexadecimal digits, as /proc/net/if_inet6 has them.
    HexAddresses6,
    CommandLine,
    Mounts,
    ControlGroups,
    DmiTable,
    Vpd,
    Config,
    Inquiry,
    Page80,
    Page83,
    /// An ACPI table that holds a licence key.
    AcpiKey,
    /// Anything else.
    Text,
}

/// What the file at a path holds.
pub(super) fn role(path: &str) -> Role {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let parent = folder.rsplit('/').next().unwrap_or_default();
    match name {
        "serial" | "serial_number" | "serial-number" | "system-id" | "product_serial"
        | "board_serial" | "chassis_serial" | "chassis_asset_tag" | "board_asset_tag"
        | "asset_tag" => Role::Serial,
        "hostname" | "domainname" | "nodename" => Role::Host,
        "address" if folder.contains("/nvme") => Role::Addresses,
        "address" | "permaddr" => Role::Address,
        "uuid" if parent == "dm" => Role::MapperUuid,
        "uuid" | "nguid" | "eui" | "product_uuid" | "boot_id" | "machine-id" | "phys_port_id"
        | "phys_switch_id" | "node_guid" | "sys_image_guid" | "port_guid" => Role::Digits,
        "default_gid" => Role::Gid,
        _ if parent == "gids" => Role::Gid,
        "wwid"
        | "wwn"
        | "port_name"
        | "node_name"
        | "fabric_name"
        | "permanent_port_name"
        | "sas_address"
        | "enclosure_identifier"
        | "hostid"
        | "unique_id" => Role::WorldWideName,
        "subsysnqn" => Role::Nqn,
        "hostnqn" => Role::HostNqn,
        "vpd" => Role::Vpd,
        "config" if folder.contains("/pci") => Role::Config,
        "inquiry" => Role::Inquiry,
        "vpd_pg80" => Role::Page80,
        "vpd_pg83" => Role::Page83,
        "DMI" => Role::DmiTable,
        "raw" if folder.contains("/dmi/entries/") => Role::DmiTable,
        "MSDM" | "SLIC" => Role::AcpiKey,
        "mounts" | "mountinfo" | "mountstats" | "swaps" | "backing_file" => Role::Mounts,
        "cgroup" | "cpuset" if folder.starts_with("/proc/") => Role::ControlGroups,
        "cmdline" | "bootconfig" if folder == "/proc" => Role::CommandLine,
        "uevent" | "traddr" | "host_traddr" | "src_addr" => Role::Addresses,
        _ => network(path, name),
    }
}

fn network(path: &str, name: &str) -> Role {
    let in_proc = path.starts_with("/proc/") && path.contains("/net/");
    match name {
        "route" | "tcp" | "udp" | "udplite" | "raw" if in_proc => Role::HexAddresses,
        "if_inet6" | "ipv6_route" | "tcp6" | "udp6" | "raw6" if in_proc => Role::HexAddresses6,
        _ if in_proc || path.starts_with("/etc/") => Role::Addresses,
        _ => Role::Text,
    }
}

/// Whether what the file holds is looked for elsewhere too.
pub(super) fn teaches(path: &str) -> bool {
    matches!(
        role(path),
        Role::Serial
            | Role::Host
            | Role::Address
            | Role::ControlGroups
            | Role::DmiTable
            | Role::Vpd
            | Role::Page80
    )
}

/// Replaces what a file holds, in place.
pub(super) fn redact(path: &str, bytes: &mut [u8], map: &mut Map, known: &Known) {
    let role = role(path);
    match role {
        Role::DmiTable => return binary::redact_dmi(bytes, map, known),
        Role::Vpd => return binary::redact_vpd(bytes, map, known),
        Role::Config => return binary::redact_config(bytes, map),
        Role::Inquiry => return binary::redact_inquiry(bytes, map),
        Role::Page80 => return binary::redact_page80(bytes, map),
        Role::Page83 => return binary::redact_page83(bytes, map, known),
        Role::AcpiKey => return bytes.iter_mut().skip(36).for_each(|byte| *byte = 0),
        _ => {}
    }
    let inner = trimmed(bytes);
    match role {
        Role::Serial if !inner.contains(&b'\n') => whole(inner, |text| serial(text, map)),
        Role::Host => whole(inner, |text| host(text, map)),
        Role::Digits => digits(inner, map, known),
        Role::Gid => gid(inner, map),
        Role::MapperUuid => mapper_uuid(bytes, map, known),
        Role::WorldWideName => world_wide_name(inner, map, known),
        Role::Nqn | Role::HostNqn => nqn(inner, role, map, known),
        Role::HexAddresses => runs(bytes, 8, |run| hex_address(run, map)),
        Role::HexAddresses6 => runs(bytes, 32, |run| gid(run, map)),
        Role::Addresses => scan(bytes, Form::Addresses, map, known),
        Role::CommandLine => line::command_line(bytes, map, known),
        Role::Mounts => line::mounts(bytes, map, known),
        Role::ControlGroups => line::control_groups(bytes, map, known),
        _ => scan(bytes, Form::Text, map, known),
    }
}

pub(super) fn scan(bytes: &mut [u8], form: Form, map: &mut Map, known: &Known) {
    Scan { map, known, form }.run(bytes);
}

/// A text without white space and NULs at its ends.
pub(super) fn trimmed(bytes: &mut [u8]) -> &mut [u8] {
    let is_blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0;
    let end = bytes.iter().rposition(|byte| !is_blank(byte)).map_or(0, |last| last + 1);
    let start = bytes[..end].iter().position(|byte| !is_blank(byte)).unwrap_or(end);
    &mut bytes[start..end]
}

/// Replaces a whole text by another of the same length.
pub(super) fn whole(bytes: &mut [u8], make: impl FnOnce(&str) -> String) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        // A serial is ASCII; what is none has no shape to keep.
        bytes.iter_mut().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'x');
        return;
    };
    let made = make(text);
    if made.len() == bytes.len() {
        bytes.copy_from_slice(made.as_bytes());
    }
}

pub(super) fn serial(text: &str, map: &mut Map) -> String {
    if is_placeholder(text) { text.to_owned() } else { map.text(text) }
}

/// A host's name, but for those that every machine has.
pub(super) fn host(text: &str, map: &mut Map) -> String {
    match text {
        "(none)" | "localhost" | "localhost.localdomain" => text.to_owned(),
        _ => host_name(text, map),
    }
}

/// Every run of at least `least` letters and digits.
pub(super) fn runs(bytes: &mut [u8], least: usize, mut each: impl FnMut(&mut [u8])) {
    let mut at = 0;
    while at < bytes.len() {
        let len = run(&bytes[at..]).len();
        if len >= least {
            each(&mut bytes[at..at + len]);
        }
        at += len.max(1);
    }
}

/// `LVM-` and 64 letters and digits, `mpath-3600...`, and cryptsetup's
/// `CRYPT-LUKS2-32 digits-NAME`, whose name is mostly `luks-` and the same digits with dashes: whatever
/// stands elsewhere in one of its forms is one thing here too.
pub(super) fn mapper_uuid(text: &mut [u8], map: &mut Map, known: &Known) {
    runs(text, 16, |run| {
        // Behind the digit for its kind, what multipath names is a world-wide name (scsi_id(8)).
        let kind = usize::from(matches!(run.len(), 17 | 33));
        let is_hex = matches!(run.len(), 17 | 32 | 33) && run.iter().all(u8::is_ascii_hexdigit);
        let mut scan = Scan { map: &mut *map, known, form: Form::Text };
        if !is_hex || scan.hex(&mut run[kind..]).is_none() {
            whole(run, |text| map.text(text));
        }
    });
    scan(text, Form::Text, map, known);
}

fn just_digits(text: &[u8]) -> Option<Vec<u8>> {
    let is_separator = |byte: &u8| matches!(byte, b' ' | b':' | b'-');
    let digits: Vec<u8> = text.iter().copied().filter(|byte| !is_separator(byte)).collect();
    hex_bytes(&digits)
}

pub(super) fn digits(text: &mut [u8], map: &mut Map, known: &Known) {
    let mapped = match just_digits(text) {
        Some(value) if value.len() == 6 => value.try_into().ok().map(|mac| map.mac(mac).to_vec()),
        Some(value) if value.len() == 8 => value.try_into().ok().map(|eui| map.eui64(eui).to_vec()),
        Some(value) if value.len() > 6 => Some(map.bytes(&value)),
        _ => None,
    };
    match mapped {
        Some(mapped) => put_hex(text, &mapped),
        None => scan(text, Form::Text, map, known),
    }
}

fn gid(text: &mut [u8], map: &mut Map) {
    if let Some(gid) = just_digits(text).and_then(|value| <[u8; 16]>::try_from(value).ok()) {
        put_hex(text, &map.gid(gid));
    }
}

/// `0102A8C0` is 192.168.2.1. A network's mask is no address.
fn hex_address(text: &mut [u8], map: &mut Map) {
    let Some(Ok(mut octets)) = hex_bytes(text).map(<[u8; 4]>::try_from) else { return };
    octets.reverse();
    let number = u32::from_be_bytes(octets);
    if number.leading_ones() + number.trailing_zeros() >= 32 {
        return;
    }
    if let Ok(address) = map.ipv4(octets).parse::<std::net::Ipv4Addr>() {
        let mut octets = address.octets();
        octets.reverse();
        put_hex(text, &octets);
    }
}

/// `naa.5000c500a1b2c3d4`, `0x5000c500a1b2c3d4`, `eui.0025385b71b01c2d`,
/// `nvme.144d-533658594e41-53414d53554e47-00000001` (vendor, serial and model as hexadecimal
/// text, and namespace), `t10.ATA     Model      SERIAL`.
pub(super) fn world_wide_name(text: &mut [u8], map: &mut Map, known: &Known) {
    if text.starts_with(b"nvme.") {
        let part = text.split_mut(|&byte| byte == b'-').nth(1).unwrap_or_default();
        let Some(mut serial) = hex_bytes(part) else { return };
        whole(trimmed(&mut serial), |text| self::serial(text, map));
        put_hex(part, &serial);
        return;
    }
    if text.starts_with(b"t10.") {
        let start =
            text.iter().rposition(|byte| matches!(byte, b' ' | b'_')).map_or(4, |at| at + 1);
        whole(&mut text[start..], |text| self::serial(text, map));
        return;
    }
    if text.len() == 36 && just_digits(text).is_some_and(|value| value.len() == 16) {
        // A UUID, which is told the same wherever it stands.
        return digits(text, map, known);
    }
    runs(text, 12, |run| {
        let skip = if run.starts_with(b"0x") { 2 } else { 0 };
        let _ = Scan { map, known, form: Form::Text }.hex(&mut run[skip..]);
    });
    // A short one in another form, or a UUID.
    if !text.iter().any(|byte| *byte == b'.' || *byte == b'x') {
        scan(text, Form::Text, map, known);
    }
}

/// `nqn.2014-08.org.nvmexpress:uuid:...`, `nqn.1994-11.com.samsung:nvme:PM1733:2.5-inch:SERIAL`.
/// The authority that names a subsystem is its vendor; a host's is its owner.
pub(super) fn nqn(text: &mut [u8], role: Role, map: &mut Map, known: &Known) {
    if !text.windows(6).any(|part| part == b":uuid:") {
        nqn_words(text, role, map);
    }
    scan(text, Form::Text, map, known);
}

fn nqn_words(text: &mut [u8], role: Role, map: &mut Map) {
    let is_standard = text.windows(14).any(|part| part == b"org.nvmexpress");
    let start = match role {
        Role::HostNqn if !is_standard => {
            text.iter().position(|&byte| byte == b'.').map(|at| at + 8)
        }
        _ => text.iter().position(|&byte| byte == b':'),
    };
    let Some(rest) = start.and_then(|start| text.get_mut(start..)) else { return };
    let least = if role == Role::HostNqn { 1 } else { 8 };
    runs(rest, least, |run| {
        let has_digit = run.iter().any(u8::is_ascii_digit);
        if role == Role::HostNqn || has_digit {
            whole(run, |text| map.text(text));
        }
    });
}
