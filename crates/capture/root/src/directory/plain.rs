// SPDX-License-Identifier: MIT OR Apache-2.0
//! Paths of a tree that lead through no link, so that where they lead is asked once.
//!
//! Readers ask for the files of one folder after another, and for folders side by side. A root is
//! one pass over a machine: what was no link stays none.

use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::HashSet;

/// The paths, as `/sys/devices/pci0000:00`: no `.`, no `..`, no slash at the end.
#[derive(Debug, Default)]
pub(super) struct Plain {
    known: Mutex<HashSet<Box<str>>>,
}

impl Plain {
    fn known(&self) -> MutexGuard<'_, HashSet<Box<str>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn knows(&self, path: &str) -> bool {
        self.known().contains(path)
    }

    pub(super) fn keep(&self, path: &str) {
        self.known().insert(path.into());
    }

    /// The longest beginning of a path that is known, and the rest.
    pub(super) fn start<'a>(&self, path: &'a str) -> (&'a str, &'a str) {
        let (known, mut start) = (self.known(), path);
        while !start.is_empty() && !known.contains(start) {
            start = start.rsplit_once('/').map_or("", |(above, _)| above);
        }
        path.split_at(start.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_is_found() {
        let plain = Plain::default();
        plain.keep("/sys");
        plain.keep("/sys/bus");
        for (path, start) in [
            ("/sys/bus", "/sys/bus"),
            ("/sys/bus/pci/devices", "/sys/bus"),
            ("/sys/business", "/sys"),
            ("/sys/../sys/bus", "/sys"),
            ("/proc", ""),
            ("/", ""),
            ("", ""),
        ] {
            assert_eq!(plain.start(path).0, start, "{path}");
        }
    }
}
