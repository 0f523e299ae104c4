// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of containers and virtual machines in the paths of control groups.
//!
//! The same names are folders below /sys/fs/cgroup: whatever is replaced in the one is in the other.

use std::collections::{BTreeMap, BTreeSet};

use super::Known;
use super::known::run;
use super::map::Map;
use super::place::{host, scan};
use super::scan::Form;

/// Folders whose next part is a name that a person gave: LXC's (lxc.container.conf(5),
/// `lxc.cgroup.dir`), libvirt's (libvirt.org/cgroups.html).
const PARENTS: [&str; 6] = ["lxc", "lxc.payload", "lxc.monitor", "lxc.pivot", "machine", "qemu"];

/// Beginnings of a part behind which a name stands; systemd writes a dash as `\x2d`
/// (systemd.unit(5)).
const HEADS: [&str; 9] = [
    "lxc.payload.",
    "lxc.monitor.",
    "lxc.pivot.",
    "machine-qemu\\x2d",
    "machine-lxc\\x2d",
    "machine-",
    "systemd-nspawn@",
    "qemu-",
    "lxc-",
];

const TAILS: [&str; 5] = [".scope", ".service", ".slice", ".libvirt-qemu", ".libvirt-lxc"];

/// Hexadecimal digits that are an id: Docker's and Podman's have 64.
const ID: usize = 32;

/// Names that are replaced, by themselves, and those that must stay since they stand elsewhere too.
#[derive(Debug, Default)]
pub(super) struct Groups {
    shown: BTreeMap<String, String>,
    spared: BTreeSet<String>,
}

impl Groups {
    /// Learns the names in a process's control groups.
    pub(super) fn learn(&mut self, text: &str, map: &mut Map) {
        for line in text.lines() {
            let mut parent = "";
            for part in line.split('/') {
                if let Some(shown) = shown(parent, part, map) {
                    self.shown.insert(part.to_owned(), shown);
                }
                parent = part;
            }
        }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// What stands for a folder's name, if it is that of a group.
    pub(super) fn name(&self, name: &str) -> Option<&str> {
        self.shown.get(name).map(String::as_str)
    }

    /// A name that is something else's too: replaced, it would be another one there.
    pub(super) fn spare(&mut self, name: &str) {
        if self.shown.remove(name).is_some() {
            self.spared.insert(name.to_owned());
        }
    }

    /// Replaces the parts of a path; what is no such name is scanned.
    pub(super) fn redact(&self, path: &mut [u8], map: &mut Map, known: &Known) {
        let mut parent = String::new();
        for part in path.split_mut(|byte| *byte == b'/') {
            let text = String::from_utf8_lossy(part).into_owned();
            match shown(&parent, &text, map) {
                Some(shown) if shown.len() == part.len() && !self.spared.contains(&text) => {
                    part.copy_from_slice(shown.as_bytes());
                }
                _ => scan(part, Form::Addresses, map, known),
            }
            parent = text;
        }
    }
}

/// What is shown for a part of a path; none where it is no secret.
fn shown(parent: &str, part: &str, map: &mut Map) -> Option<String> {
    if let Some(shown) = id(part, map) {
        return Some(shown);
    }
    let head = HEADS.iter().find(|head| part.starts_with(**head)).copied();
    let head = head.or_else(|| PARENTS.contains(&parent).then_some(""))?;
    let rest = part.strip_prefix(head)?;
    let tail = TAILS.iter().find(|tail| rest.ends_with(**tail)).copied().unwrap_or_default();
    let name = rest.strip_suffix(tail)?;
    // `qemu-3-db01`: a number before the name.
    let digits = name.len() - name.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let after = name.get(digits..)?;
    let dash = ["\\x2d", "-"].into_iter().find(|dash| digits > 0 && after.starts_with(dash));
    let skip = dash.map_or(0, |dash| digits + dash.len());
    let (number, name) = name.split_at_checked(skip)?;
    if name.is_empty() || name.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let pieces: Vec<String> = name.split("\\x2d").map(|piece| host(piece, map)).collect();
    Some(format!("{head}{number}{}{tail}", pieces.join("\\x2d")))
}

/// A part with an id in it: 32 hexadecimal digits or more, or a UUID, its dashes maybe `_`.
fn id(part: &str, map: &mut Map) -> Option<String> {
    let is_uuid = |text: &[u8]| {
        text.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => matches!(byte, b'-' | b'_'),
            _ => byte.is_ascii_hexdigit(),
        })
    };
    let mut shown = String::with_capacity(part.len());
    let mut at = 0;
    while let Some(first) = part.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = part.as_bytes().get(at..)?;
        let uuid = rest.get(..36).filter(|text| is_uuid(text)).map_or(0, <[u8]>::len);
        let word = run(rest);
        let digits = if word.iter().all(u8::is_ascii_hexdigit) { word.len() } else { 0 };
        let len = if digits >= ID { digits } else { uuid };
        let next = at + len.max(first.len_utf8());
        match (len, part.get(at..next)) {
            (0, Some(text)) => shown.push_str(text),
            (_, Some(text)) => shown.push_str(&map.text(text)),
            (_, None) => return None,
        }
        at = next;
    }
    (shown != part).then_some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str) -> String {
        let mut bytes = path.as_bytes().to_vec();
        Groups::default().redact(&mut bytes, &mut Map::new([4; 32]), &Known::default());
        assert_eq!(bytes.len(), path.len());
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn names_of_containers_and_machines_go_and_what_is_around_them_stays() {
        for (path, secret, kept) in [
            ("7:cpuset:/lxc/acme-billing/ns", "acme", "7:cpuset:/lxc/"),
            ("/lxc.payload/acmebilling/init.scope", "acme", "/init.scope"),
            ("0::/lxc.payload.acmebilling/x", "acme", "0::/lxc.payload."),
            ("0::/lxc.monitor.acmebilling", "acme", "0::/lxc.monitor."),
            (
                "/machine.slice/machine-qemu\\x2d3\\x2dacme\\x2dbilling.scope/emulator",
                "acme",
                "/machine.slice/machine-qemu\\x2d3\\x2d",
            ),
            ("/machine.slice/machine-acmebilling.scope", "acme", ".scope"),
            ("/machine/qemu-2-acmebilling.libvirt-qemu/vcpu0", "acme", ".libvirt-qemu/vcpu0"),
            ("/libvirt/qemu/acmebilling", "acme", "/libvirt/qemu/"),
            ("/é.4c4c45440058a1b2c3d4e5f60718293a", "4c4c4544", "/é."),
            (
                "/kubepods.slice/kubepods-pod4c4c4544_0058_4110_804d_c5c04f504c31.slice",
                "4c4c4544",
                "/kubepods.slice/kubepods-pod",
            ),
        ] {
            let shown = told(path);
            assert!(!shown.contains(secret), "{shown}");
            assert!(shown.contains(kept), "{shown}");
        }
        for path in [
            "/user.slice/user-1000.slice/session-3.scope",
            "/system.slice/sshd.service",
            "/lxc/101/ns",
            "/machine.slice",
            "/",
        ] {
            assert_eq!(told(path), path);
        }
    }

    #[test]
    fn a_name_that_is_something_elses_too_stays_in_both() {
        let mut map = Map::new([4; 32]);
        let mut groups = Groups::default();
        groups.learn("7:cpuset:/lxc/net/web\n0::/lxc/web7\n", &mut map);
        assert!(groups.name("net").is_some() && groups.name("web7").is_some());
        groups.spare("net");
        let mut bytes = b"/lxc/net".to_vec();
        groups.redact(&mut bytes, &mut map, &Known::default());
        assert_eq!((bytes.as_slice(), groups.name("net")), (&b"/lxc/net"[..], None));
    }
}
