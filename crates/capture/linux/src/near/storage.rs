// SPDX-License-Identifier: MIT OR Apache-2.0
//! Block devices: partitions, volumes, native NVMe multipath, drives behind a network.

use super::fabric::{self, Fabric};
use super::find::{Finder, above, last};
use crate::block::disk::{is_number, is_partition};

const BLOCK: [&str; 2] = ["/sys/class/block", "/sys/block"];
const NVME: &str = "/sys/class/nvme";
const VIRTUAL: &str = "/sys/devices/virtual/";

impl Finder<'_> {
    /// A block device by the kernel's name; whether there is one.
    pub(super) fn block(&mut self, name: &str) -> bool {
        if let Some(path) = self.entry(&BLOCK, name) {
            self.block_at(&path);
            return true;
        }
        // A copied tree may list whole disks only.
        let bare = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let disks = [bare, bare.strip_suffix('p').unwrap_or(bare)];
        let disk = disks.into_iter().find(|disk| !disk.is_empty() && is_partition(disk, name));
        let path = disk.and_then(|disk| self.entry(&BLOCK, disk));
        let path = path.filter(|path| self.root.list(&format!("{path}/{name}")).is_ok());
        path.inspect(|path| self.block_at(path)).is_some()
    }

    /// A file of `/dev` by its number: `259:1`.
    pub(super) fn device_number(&mut self, kind: &str, number: &str) -> bool {
        let folder = format!("/sys/dev/{kind}");
        let path = self.entry(&[&folder], number);
        match (kind, path) {
            ("block", Some(path)) => self.block_at(&path),
            (_, Some(path)) => self.node_at(&path),
            ("block", None) => return self.search_number(number),
            (_, None) => return false,
        }
        true
    }

    /// A copied tree may lack `/sys/dev`: then every disk and partition is asked for its number.
    fn search_number(&mut self, number: &str) -> bool {
        let is = |finder: &Self, path: &str| {
            finder.text(&format!("{path}/dev")).is_some_and(|text| text == number)
        };
        let names: Vec<String> = BLOCK.iter().flat_map(|folder| self.list(folder)).collect();
        for path in names.iter().filter_map(|name| self.entry(&BLOCK, name)) {
            let disk = last(&path);
            let parts = self.list(&path).into_iter().filter(|part| is_partition(disk, part));
            let parts: Vec<String> = parts.map(|part| format!("{path}/{part}")).collect();
            if is(self, &path) || parts.iter().any(|part| is(self, part)) {
                self.block_at(&path);
                return true;
            }
        }
        false
    }

    fn block_at(&mut self, path: &str) {
        let (name, folder) = (last(path), above(path));
        if is_partition(last(folder), name) {
            return self.block_at(folder);
        }
        if !self.enter("block", name) {
            return;
        }
        if path.contains("/nvme-subsystem/") {
            self.head(name, folder);
        } else if path.contains("/nvme-fabrics/") {
            self.fabrics(name, folder);
        } else if path.starts_with(VIRTUAL) {
            self.volume(name, path);
        } else if let Some(session) = session(path) {
            self.iscsi(name, session);
        } else {
            self.end(name, path.to_owned());
        }
    }

    /// The drives below md, device mapper, bcache and loops.
    fn volume(&mut self, name: &str, path: &str) {
        if let Some(file) = self.text(&format!("{path}/loop/backing_file")) {
            self.step(format!("{name} is backed by {file}"));
            return self.deeper(|finder| finder.path(&file, None, None));
        }
        let members = self.list(&format!("{path}/slaves"));
        if members.is_empty() {
            return self.dead_end(nothing_below(name));
        }
        let label = self.text(&format!("{path}/dm/name"));
        let label = label.map(|label| format!(" ({label})")).unwrap_or_default();
        self.step(format!("{name}{label} lies over {}", members.join(", ")));
        let folder = format!("{path}/slaves");
        for member in &members {
            self.deeper(|finder| finder.member(&folder, member));
        }
    }

    /// A member by name; by its link where a copied tree lists whole disks only.
    fn member(&mut self, folder: &str, name: &str) {
        if self.block(name) {
            return;
        }
        match self.root.link(&format!("{folder}/{name}")) {
            Ok(target) => self.block_at(&crate::pci::follow(folder, &target)),
            Err(why) => self.dead_end(format!("{name}: {why}")),
        }
    }

    /// A device-mapper volume by its name: `vg0-data`.
    pub(super) fn labelled(&mut self, label: &str) -> bool {
        let mapped = |name: &String| name.strip_prefix("dm-").is_some_and(is_number);
        let names: Vec<String> = BLOCK.iter().flat_map(|folder| self.list(folder)).collect();
        let path = names.iter().filter(|name| mapped(name)).find_map(|name| {
            let path = self.entry(&BLOCK, name)?;
            (self.text(&format!("{path}/dm/name"))? == label).then_some(path)
        });
        path.inspect(|path| self.block_at(path)).is_some()
    }

    /// A name below `/dev` with a folder in it: `mapper/vg0-data`, `vg0/data`, `md/store`.
    pub(super) fn node_name(&mut self, name: &str) -> bool {
        let Some((folder, rest)) = name.split_once('/') else { return self.block(name) };
        match folder {
            "mapper" => self.labelled(rest),
            // cciss/c0d0: the kernel writes the slash as an exclamation mark.
            _ if self.block(&name.replace('/', "!")) => true,
            // LVM doubles the dashes of a group's and of a volume's name.
            _ => {
                let double = |text: &str| text.replace('-', "--");
                self.labelled(&format!("{}-{}", double(folder), double(rest)))
            }
        }
    }

    /// Every controller that reaches the head of a native multipath drive.
    fn head(&mut self, name: &str, subsystem: &str) {
        let entries = self.list(subsystem);
        let controllers: Vec<&String> = entries.iter().filter(|name| is_controller(name)).collect();
        if controllers.is_empty() {
            return self.dead_end(format!("{name} has no path: no controller reaches it now"));
        }
        let is_only = controllers.len() == 1;
        for controller in controllers {
            // Paths of one drive are ends of their own: they may lie on different nodes.
            let device = if is_only { name.to_owned() } else { format!("{name} by {controller}") };
            if let Some(path) = self.entry(&[subsystem, NVME], controller) {
                self.controller_at(&device, &path);
            }
        }
    }

    /// An NVMe controller by name; whether there is one.
    pub(super) fn controller(&mut self, name: &str) -> bool {
        let path = self.entry(&[NVME], name).filter(|_| is_controller(name));
        path.inspect(|path| self.controller_at(name, path)).is_some()
    }

    fn controller_at(&mut self, device: &str, path: &str) {
        if path.contains("/nvme-fabrics/") {
            return self.fabrics(device, path);
        }
        self.end(device, path.to_owned());
    }

    /// What carries a controller over fabrics.
    fn fabrics(&mut self, device: &str, controller: &str) {
        let text = |name: &str| self.text(&format!("{controller}/{name}")).unwrap_or_default();
        let (transport, address) = (text("transport"), text("address"));
        let name = last(controller).to_owned();
        match fabric::parse(&transport, &address) {
            Fabric::Interface(nic) => {
                self.step(format!("{device} is reached by {name} over {transport} from {nic}"));
                if !self.nic(&nic) {
                    self.dead_end(format!("this machine has no interface called {nic}"));
                }
            }
            Fabric::Address(address) => {
                self.step(format!("{device} is reached by {name} over {transport} at {address}"));
                self.address(&address);
            }
            Fabric::FibreChannel(port) => {
                self.step(format!("{device} is reached by {name} over fc from port {port}"));
                self.fibre_channel(&port);
            }
            Fabric::Loop => self.dead_end(format!(
                "{device} is served by this kernel itself (nvme-loop): what it lies on stands in \
                 its target's configuration"
            )),
            Fabric::Unknown => self.dead_end(format!(
                "{device} is reached over {}, and its address does not tell from where",
                if transport.is_empty() { "fabrics" } else { &transport }
            )),
        }
    }

    /// A session of software iSCSI has no function above it: its connection's address tells.
    fn iscsi(&mut self, name: &str, session: &str) {
        let connections = self.list(session);
        let connection = connections.iter().find(|entry| entry.starts_with("connection"));
        let address = connection.and_then(|connection| {
            let folder = format!("{session}/{connection}/iscsi_connection/{connection}");
            self.text(&format!("{folder}/address"))
                .or_else(|| self.text(&format!("{folder}/persistent_address")))
        });
        match address {
            Some(address) => {
                self.step(format!("{name} is reached over iSCSI at {address}"));
                self.address(&address);
            }
            None => self.dead_end(format!("{name} is reached over iSCSI, at an unknown address")),
        }
    }
}

/// The folder of the iSCSI session in a path without a PCI function.
fn session(path: &str) -> Option<&str> {
    let is_session = |part: &&str| part.strip_prefix("session").is_some_and(is_number);
    let part = path.split('/').find(is_session)?;
    let end = path.find(&format!("/{part}/"))? + 1 + part.len();
    let has_function = crate::net::function_in(path).is_some();
    path.get(..end).filter(|_| !has_function)
}

fn is_controller(name: &str) -> bool {
    name.strip_prefix("nvme").is_some_and(is_number)
}

fn nothing_below(name: &str) -> String {
    let numbered = |prefix| name.strip_prefix(prefix).is_some_and(is_number);
    if numbered("zram") || numbered("ram") {
        format!("{name} is kept in memory")
    } else if numbered("nbd") {
        format!("{name} is served by a process over a socket")
    } else if numbered("loop") {
        format!("{name} has no file behind it")
    } else {
        format!("{name} is virtual, and the kernel names nothing below it")
    }
}
