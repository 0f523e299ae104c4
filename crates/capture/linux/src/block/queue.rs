// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hardware queues of a block device, and the CPUs that submit to each.

use machine::Queue;
use root::Dir;
use units::CpuSet;

use crate::pci::Files;

/// Reads `mq/N/cpu_list` of a block device's folder, by number.
pub(super) fn read(dir: &Dir<'_>, files: &Files) -> Vec<Queue> {
    if !files.has("mq") {
        return Vec::new();
    }
    let mq = dir.sub("mq");
    let names = mq.list().unwrap_or_default();
    let mut queues: Vec<Queue> = names.iter().filter_map(|name| queue(&mq, name)).collect();
    queues.sort_unstable_by_key(|queue| queue.number);
    queues
}

/// The list reads `0, 8`, and nothing at all where all its CPUs are isolated.
fn queue(mq: &Dir<'_>, name: &str) -> Option<Queue> {
    let number = name.parse().ok()?;
    let text = mq.text(&format!("{name}/cpu_list")).ok()?;
    Some(Queue { number, cpus: CpuSet::from_list(&text).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use root::MemoryRoot;

    #[test]
    fn queues_are_in_the_order_of_their_numbers() {
        let mut root = MemoryRoot::new();
        root.file("/d/mq/10/cpu_list", "3\n")
            .file("/d/mq/2/cpu_list", "0, 8\n")
            .file("/d/mq/3/cpu_list", "\n")
            .file("/d/mq/4/cpu_list", "what\n");
        let dir = Dir::new(&root, "/d");
        let files = Files::of(&dir).unwrap();
        let told: Vec<(u32, String)> =
            read(&dir, &files).iter().map(|queue| (queue.number, queue.cpus.to_string())).collect();
        assert_eq!(told, [(2, "0,8".to_owned()), (3, String::new()), (10, "3".to_owned())]);
    }
}
