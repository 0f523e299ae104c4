// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way from a name to devices.

use std::collections::BTreeSet;

use machine::{Lost, LostWhy};
use root::Root;

use super::{Addresses, Asked};
use crate::pci::follow;

/// Things met after which a way is given up: more than any server has drives.
const MOST: usize = 1 << 14;
/// Layers after which a way is given up: stacks of volumes are a few high.
const DEEPEST: usize = 64;
/// The most steps that are told: a bridge may have a thousand ports.
const TOLD: usize = 16;

/// A device, and its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) device: String,
    /// Below `/sys/devices`, where links could be read.
    pub(super) path: String,
    pub(super) doubt: Option<String>,
}

/// Goes from a name to the devices below it.
pub(super) struct Finder<'a> {
    pub(super) root: &'a dyn Root,
    pub(super) addresses: Addresses,
    ends: Vec<Found>,
    way: Vec<String>,
    /// Why some ways ended without a device.
    dead: Vec<String>,
    seen: BTreeSet<String>,
    depth: usize,
    /// Why what is found from here on is only likely.
    doubt: Option<String>,
}

impl<'a> Finder<'a> {
    /// The devices below what was named, and the steps to them.
    pub(super) fn find(
        root: &'a dyn Root,
        addresses: Addresses,
        asked: &Asked,
    ) -> Result<(Vec<Found>, Vec<String>), Lost> {
        let mut finder = Self {
            root,
            addresses,
            ends: Vec::new(),
            way: Vec::new(),
            dead: Vec::new(),
            seen: BTreeSet::new(),
            depth: 0,
            doubt: None,
        };
        let known = match asked {
            Asked::Name(name) => finder.name(name),
            Asked::Node { kind, number, .. } => finder.device_number(kind, number),
            Asked::Path { path, number, mount, .. } => {
                finder.path(path, number.as_deref(), *mount);
                true
            }
        };
        let Self { mut ends, way, dead, .. } = finder;
        if !ends.is_empty() {
            ends.dedup();
            return Ok((ends, way));
        }
        let reason = || dead.into_iter().next().unwrap_or_else(|| "the way to it ends".to_owned());
        let why = if known { LostWhy::NoDevice(reason()) } else { LostWhy::NoSuchName };
        Err(Lost { asked: asked.name().to_owned(), way, why })
    }

    /// A device by any of its names; whether there is one.
    fn name(&mut self, name: &str) -> bool {
        let name = name.strip_prefix("/dev/").unwrap_or(name);
        if name.is_empty() || name.contains('\0') || matches!(name, "." | "..") {
            return false;
        }
        if name.contains('/') {
            return self.node_name(name);
        }
        self.block(name)
            || self.controller(name)
            || self.nic(name)
            || self.hardware(name)
            || self.labelled(name)
    }

    /// Notes a device at the end of the way.
    pub(super) fn end(&mut self, device: &str, path: String) {
        let is_new = self.ends.iter().all(|end| end.device != device);
        if is_new {
            self.ends.push(Found { device: device.to_owned(), path, doubt: self.doubt.clone() });
        }
    }

    /// Notes a step of the way.
    pub(super) fn step(&mut self, text: String) {
        if self.way.len() < TOLD {
            self.way.push(text);
        }
    }

    /// Notes why a way ends here.
    pub(super) fn dead_end(&mut self, why: impl Into<String>) {
        self.dead.push(why.into());
    }

    /// Whether something is met for the first time, and the way is not too long.
    pub(super) fn enter(&mut self, kind: &str, name: &str) -> bool {
        self.seen.len() < MOST && self.seen.insert(format!("{kind} {name}"))
    }

    /// Goes on one layer below.
    pub(super) fn deeper(&mut self, go: impl FnOnce(&mut Self)) {
        if self.depth >= DEEPEST {
            return self.dead_end("more layers lie below it than any server has");
        }
        self.depth += 1;
        go(self);
        self.depth -= 1;
    }

    /// Goes on with what is only likely.
    pub(super) fn likely(&mut self, why: String, go: impl FnOnce(&mut Self)) {
        let before = self.doubt.replace(why);
        go(self);
        self.doubt = before;
    }

    /// Where the entry `name` of one of `folders` lies, by the text of its link.
    pub(super) fn entry(&self, folders: &[&str], name: &str) -> Option<String> {
        folders.iter().find_map(|folder| {
            let entry = format!("{folder}/{name}");
            match self.root.link(&entry) {
                Ok(target) => Some(follow(folder, &target)),
                Err(_) => self.root.list(&entry).ok().map(|_| entry),
            }
        })
    }

    /// A file's text, where there is one that is not empty.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        root::text(self.root, path).ok().filter(|text| !text.is_empty())
    }

    pub(super) fn list(&self, folder: &str) -> Vec<String> {
        self.root.list(folder).unwrap_or_default()
    }
}

/// The last part of a path.
pub(super) fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// The folder that a path lies in.
pub(super) fn above(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(above, _)| above)
}
