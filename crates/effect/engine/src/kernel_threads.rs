// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPU time of threads that the kernel adds to this process for io_uring.
//!
//! `iou-wrk-*` carry out what cannot be done without waiting, `iou-sqp-*` submit. They are no part of
//! any of our threads' time, and leaving them out would make the ways that use them look free.

use std::fs;

/// Their CPU time so far, in ns (`/proc/self/task/N/schedstat`, first word). Those that have ended are
/// not among them; the kernel keeps idle ones for seconds.
pub(crate) fn cpu_ns() -> u64 {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return 0 };
    let of = |task: fs::DirEntry| {
        let text = |name: &str| fs::read_to_string(task.path().join(name)).ok();
        let is_helper = text("comm")?.starts_with("iou-");
        is_helper.then(|| text("schedstat")).flatten()?.split(' ').next()?.parse::<u64>().ok()
    };
    tasks.flatten().filter_map(of).fold(0, u64::saturating_add)
}
