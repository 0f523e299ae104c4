// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drives and network devices by what does not move when a kernel counts anew: a serial number, a
//! function.
//!
//! `serial:S6XYNA0R123456` is a drive, `nic:0000:81:00.0` the network device of a function and
//! `mac:02:00:00:00:00:01` one of several that share theirs.

use crate::{Drive, Machine, Nic};

const SERIAL: &str = "serial:";
const FUNCTION: &str = "nic:";
const MAC: &str = "mac:";

impl Machine {
    /// What a drive or network device is, whatever it is called; none where nothing tells it from
    /// all others.
    pub fn identity(&self, name: &str) -> Option<String> {
        let plain = name.strip_prefix("/dev/").unwrap_or(name);
        let drive = self.drives.iter().find(|drive| drive.name == plain).map(of_drive);
        let nic = || self.nics.iter().find(|nic| nic.name == plain).map(|nic| self.of_nic(nic));
        let identity = drive.or_else(nic).flatten()?;
        // Firmware gives the same serial number to many drives sometimes.
        (self.called(&identity) == Some(plain)).then_some(identity)
    }

    /// The name of what an identity stands for; none where it is no identity, or not that of one
    /// device here.
    pub fn called(&self, identity: &str) -> Option<&str> {
        let drives =
            self.drives.iter().filter(|drive| of_drive(drive).as_deref() == Some(identity));
        let is_same = |nic: &&Nic| match identity.strip_prefix(MAC) {
            Some(mac) => nic.mac.as_ref().is_ok_and(|own| own.eq_ignore_ascii_case(mac)),
            None => by_function(nic).as_deref() == Some(identity),
        };
        let drives = drives.map(|drive| drive.name.as_str());
        let nics = self.nics.iter().filter(|nic| nic.function.is_some()).filter(is_same);
        let mut found = drives.chain(nics.map(|nic| nic.name.as_str()));
        let first = found.next();
        first.filter(|_| found.next().is_none())
    }

    fn of_nic(&self, nic: &Nic) -> Option<String> {
        let same = self.nics.iter().filter(|other| other.function == nic.function);
        match same.count() {
            1 => by_function(nic),
            _ => nic.mac.as_ref().ok().map(|mac| format!("{MAC}{mac}")),
        }
    }
}

/// Whether a text is spelled as an identity is.
pub fn is_identity(text: &str) -> bool {
    [SERIAL, FUNCTION, MAC].iter().any(|kind| text.starts_with(kind))
}

fn of_drive(drive: &Drive) -> Option<String> {
    let serial = drive.serial.as_ref().ok()?.trim();
    // What has another meaning on a command line is spelled no way.
    let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, ',' | '@' | '=' | '"' | '\'');
    (!serial.is_empty() && serial.chars().all(is_plain)).then(|| format!("{SERIAL}{serial}"))
}

fn by_function(nic: &Nic) -> Option<String> {
    nic.function.map(|function| format!("{FUNCTION}{function}"))
}
