// SPDX-License-Identifier: MIT OR Apache-2.0
//! How interrupts take other CPUs.

use root::Root;
use rustix::io::Errno;
use units::CpuSet;

use super::files::{parse_mask, possible, print_mask};
use super::{Simulated, files};

/// A write to a file in `/proc/irq`.
pub(super) fn write(kernel: &Simulated, path: &str, text: &str, mode: u32) -> Result<(), Errno> {
    let Some((folder, name)) = path.rsplit_once('/') else { return Err(Errno::NOENT) };
    if name == "default_smp_affinity" {
        for (path, text) in files::write(kernel, path, text.trim())? {
            kernel.state().files.put(&path, text.into_bytes());
        }
        return Ok(());
    }
    // Managed: EPERM since Linux 6.12, where the file has no write bit, EIO before.
    if mode & 0o222 == 0 {
        return Err(Errno::PERM);
    }
    if is_managed(kernel, folder) || folder.ends_with("/0") {
        return Err(Errno::IO);
    }
    if text.is_empty() {
        return Ok(());
    }
    let cpus = match name {
        "smp_affinity_list" => parse_list(kernel, text.trim())?,
        "smp_affinity" => parse_mask(kernel, text.trim())?,
        _ => return Err(Errno::IO),
    };
    let online = kernel.online();
    if !cpus.overlaps(&online) {
        return Err(Errno::INVAL);
    }
    if cpus.and(&online).is_subset(&kernel.state().full) {
        return Err(Errno::NOSPC);
    }
    place(kernel, folder, &cpus);
    Ok(())
}

/// Sets both spellings; where the interrupt goes now follows later.
pub(super) fn place(kernel: &Simulated, folder: &str, cpus: &CpuSet) {
    let mask = print_mask(kernel, cpus);
    let mut state = kernel.state();
    state.files.put(&format!("{folder}/smp_affinity"), format!("{mask}\n").into_bytes());
    state.files.put(&format!("{folder}/smp_affinity_list"), format!("{cpus}\n").into_bytes());
}

/// An interrupt comes.
pub(super) fn fire(kernel: &Simulated, number: u32) {
    let folder = format!("/proc/irq/{number}");
    let list = kernel.text(&format!("{folder}/smp_affinity_list")).unwrap_or_default();
    let first = CpuSet::from_list(&list).ok().and_then(|cpus| cpus.and(&kernel.online()).first());
    if let Some(cpu) = first {
        let list = format!("{folder}/effective_affinity_list");
        kernel.state().files.put(&list, format!("{cpu}\n").into_bytes());
    }
}

fn parse_list(kernel: &Simulated, text: &str) -> Result<CpuSet, Errno> {
    let cpus = CpuSet::from_list(text).map_err(|_| Errno::INVAL)?;
    let highest = possible(kernel).iter().last();
    if cpus.iter().last() > highest {
        return Err(Errno::RANGE);
    }
    Ok(cpus)
}

/// Queues of NVMe drives and of virtio disks.
fn is_managed(kernel: &Simulated, folder: &str) -> bool {
    let names = kernel.list(folder).unwrap_or_default();
    names.iter().any(|name| {
        let queue = name.strip_prefix("nvme").and_then(|rest| rest.split_once('q'));
        let is_queue = queue.is_some_and(|(controller, queue)| {
            controller.parse::<u32>().is_ok() && queue.parse::<u32>().is_ok_and(|queue| queue > 0)
        });
        is_queue || name.contains("-req.")
    })
}
