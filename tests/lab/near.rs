// SPDX-License-Identifier: MIT OR Apache-2.0
//! `exec` against numactl, both seen from inside the child; and what a cgroup adds.

use nearside_lab::{Guest, Kernel};
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
    in_a_cgroup(&mut guest)?;
    guest.off().map_err(failed)?;
    Ok(())
}

/// Says where it is, what it may use, and whether it gets out by its own affinity.
const HELD: &str = "sh -c 'cat /proc/self/cgroup; grep _allowed_list: /proc/self/status; \
    taskset -pc FAR $$ >/dev/null 2>&1 && echo out || echo held'";

/// A child leaves an affinity by another one, and a cpuset by none. The group is there when the
/// command has ended, and is not where the command never began.
fn in_a_cgroup(guest: &mut Guest) -> Result<(), Failed> {
    let top = "/sys/fs/cgroup";
    said(
        guest,
        &format!("mountpoint -q {top} || mount -t cgroup2 cgroup2 {top}; mkdir {top}/none"),
    )?;
    let drives = "for c in /sys/class/nvme/nvme*; do \
        test $(cat $c/device/numa_node) = 0 && echo ${c##*/}n1; done | head -n 1";
    let drive = said(guest, drives)?;
    let cpus = |node: u32| format!("cat /sys/devices/system/node/node{node}/cpulist");
    let (near, far) = (said(guest, &cpus(0))?, said(guest, &cpus(1))?);
    let inside = HELD.replace("FAR", far.trim());
    let exec = |group: &str, command: &str| {
        let drive = drive.trim();
        format!(
            "nearside exec --near {drive} --memory bind --cgroup {top}/{group} -- {command} 2>&1"
        )
    };
    // Without the controller there is no cpuset to fill, and what was made goes again.
    let refused = said(guest, &format!("{} || ls {top}/none", exec("none/near", "true")))?;
    let is_plain = refused.contains("cpuset is not handed to it") && !refused.contains("near\n");
    ensure(is_plain, || refused.clone())?;
    said(guest, &format!("echo +cpuset > {top}/cgroup.subtree_control"))?;
    let own = said(guest, &exec("near", &inside))?;
    let wanted =
        format!("0::/near\nCpus_allowed_list:\t{0}\nMems_allowed_list:\t0\nheld\n", near.trim());
    ensure(own.trim() == wanted.trim(), || format!("{own}\nwanted:\n{wanted}"))?;
    // An affinity alone holds nobody.
    let free = format!("nearside exec --near {} -- {inside}", drive.trim());
    let free = said(guest, &free)?;
    ensure(free.trim().ends_with("out"), || free.clone())?;
    said(guest, &format!("rmdir {top}/near {top}/none"))?;
    Ok(())
}
