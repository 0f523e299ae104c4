// SPDX-License-Identifier: MIT OR Apache-2.0
//! The process that holds `/dev/cpu_dma_latency` open.
//!
//! The kernel keeps the bound only while the file is open (Documentation/power/pm_qos_interface.rst),
//! so something has to live on: a process of its own that notes its number and its bound in
//! `/run/nearside/idle-latency` as `1234 10`. A reboot ends both. Before it is started the note says
//! `0 10`, so that a holder that comes after its starter was killed is known of, too.

use machine::{Fact, Why};
use root::{Root, text};

/// Where the holder notes what it holds.
pub(crate) const NOTE: &str = "/run/nearside/idle-latency";
/// What its command line holds, so that a number that went to another process is not taken for it.
pub const HOLD_VERB: &str = "hold-idle-latency";

/// The bound that is held, in microseconds; none where nobody holds one for us.
pub(crate) fn bound(root: &dyn Root) -> Fact<Option<u32>> {
    Ok(holder(root)?.map(|(_, bound_us)| bound_us))
}

/// The number of the process of a holder that is being started.
pub(crate) const STARTING: u32 = 0;

/// Process and bound of a holder that lives or is being started.
pub(crate) fn holder(root: &dyn Root) -> Fact<Option<(u32, u32)>> {
    let note = match text(root, NOTE) {
        Err(Why::Absent) => return Ok(None),
        note => note?,
    };
    let Some(found) = parse(&note) else { return Ok(None) };
    if found.0 == STARTING {
        return Ok(Some(found));
    }
    let line = match root.read(&format!("/proc/{}/cmdline", found.0)) {
        Err(Why::Absent) => return Ok(None),
        // Whose process that is nobody knows: it may hold the bound.
        line => line?,
    };
    let is_ours = line.split(|byte| *byte == 0).any(|word| word == HOLD_VERB.as_bytes());
    Ok(is_ours.then_some(found))
}

/// `1234 10`.
fn parse(note: &str) -> Option<(u32, u32)> {
    let (process, bound_us) = note.trim().split_once(' ')?;
    Some((process.parse().ok()?, bound_us.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use root::MemoryRoot;

    #[test]
    fn a_holder_that_died_holds_nothing() {
        let mut root = MemoryRoot::new();
        assert_eq!(bound(&root), Ok(None));
        root.file(NOTE, "1234 10\n").file("/proc/1234/cmdline", "/usr/bin/other\0");
        assert_eq!(bound(&root), Ok(None));
        root.file("/proc/1234/cmdline", "nearside\0hold-idle-latency\x0010\0");
        assert_eq!(bound(&root), Ok(Some(10)));
        root.file(NOTE, "0 10\n");
        assert_eq!(bound(&root), Ok(Some(10)), "it is on its way");
        root.file(NOTE, "odd");
        assert_eq!(bound(&root), Ok(None));
    }
}
