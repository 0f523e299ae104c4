// SPDX-License-Identifier: MIT OR Apache-2.0
//! `exec` against numactl, both seen from inside the child.

use nearside_lab::Kernel;
use support::{Failed, failed};

use crate::change::{self, ensure};
use crate::look::said;

/// CPUs and memory that the child may use, and the policy of its own memory.
const INSIDE: &str = "sh -c 'grep _allowed_list: /proc/self/status; \
    cut -d\" \" -f2 /proc/self/numa_maps | sort -u'";

pub(crate) fn like_numactl(machine: &str, kernel: Kernel) -> Result<(), Failed> {
    let mut guest = change::guest(machine, kernel, None)?;
    let drives = said(
        &mut guest,
        "for c in /sys/class/nvme/nvme*; do echo ${c##*/}n1 $(cat $c/device/numa_node); done",
    )?;
    let mut seen = Vec::new();
    for line in drives.lines() {
        let Some((drive, node)) = line.split_once(' ') else { continue };
        let bind = format!("--cpunodebind={node} --membind={node}");
        let theirs = said(&mut guest, &format!("numactl {bind} {INSIDE}"))?;
        let words = format!("nearside exec --near {drive} --memory bind -- {INSIDE}");
        let own = said(&mut guest, &words)?;
        ensure(own == theirs, || format!("near {drive}:\n{own}\nnumactl {bind}:\n{theirs}"))?;
        seen.push(own);
    }
    seen.sort();
    seen.dedup();
    ensure(seen.len() >= 2, || format!("all drives of {machine} are alike: {drives}"))?;
    eprintln!("{machine}/{kernel}: exec is numactl on {} nodes", seen.len());
    guest.off().map_err(failed)?;
    Ok(())
}
