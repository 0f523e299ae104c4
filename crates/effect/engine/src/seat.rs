// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a thread sits: its CPU, and the node of its memory; set, and read back.

use std::io;

use record::{PlacedThread, QueueInterrupt};
use root::Root;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use units::{Cpu, NodeId};

/// Where a thread is to be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seat {
    /// Its CPU; none where it may move.
    pub cpu: Option<Cpu>,
    /// The node of its memory; none where that is left to the kernel.
    pub memory_node: Option<NodeId>,
    /// The interrupts that its CPU's hardware queues come with, for the record.
    pub interrupts: Vec<QueueInterrupt>,
}

/// Binds this thread to the seat's CPU.
///
/// # Errors
/// The kernel refused, or bound it to something else.
pub(crate) fn take(seat: &Seat) -> io::Result<()> {
    let Some(Cpu(cpu)) = seat.cpu else { return Ok(()) };
    let number = usize::try_from(cpu).unwrap_or(usize::MAX);
    if number >= CpuSet::MAX_CPU {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let mut wanted = CpuSet::new();
    wanted.set(number);
    sched_setaffinity(None, &wanted)?;
    // A cpuset that forbids the CPU makes the kernel choose others without a word.
    if sched_getaffinity(None)? == wanted {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::EINVAL))
    }
}

/// The record of a seat that was taken. `memory_node` is what the kernel says of the pages.
pub(crate) fn taken(
    root: &dyn Root,
    thread: u32,
    targets: Vec<u32>,
    seat: &Seat,
    memory_node: Option<u16>,
) -> PlacedThread {
    PlacedThread {
        thread,
        targets,
        cpu: seat.cpu,
        node: seat.cpu.and_then(|cpu| node_of(root, cpu)),
        memory_node: memory_node.map(|node| NodeId(node.into())),
        interrupts: seat.interrupts.clone(),
    }
}

/// The node of a CPU: the link `node1` in its folder.
fn node_of(root: &dyn Root, Cpu(cpu): Cpu) -> Option<NodeId> {
    let names = root.list(&format!("/sys/devices/system/cpu/cpu{cpu}")).ok()?;
    let number = |name: &String| name.strip_prefix("node")?.parse().ok();
    names.iter().find_map(number).map(NodeId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_is_taken_or_refused() {
        let thread = std::thread::spawn(|| {
            let allowed = sched_getaffinity(None).unwrap();
            let first = (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).unwrap();
            let seat = |cpu| Seat { cpu: Some(Cpu(cpu)), ..Seat::default() };
            take(&seat(u32::try_from(first).unwrap())).unwrap();
            assert_eq!(sched_getaffinity(None).unwrap().count(), 1);
            assert!(take(&seat(1023)).is_err() && take(&seat(u32::MAX)).is_err());
            take(&Seat::default()).unwrap();
        });
        thread.join().unwrap();
    }

    #[test]
    fn the_node_of_a_cpu_is_its_link() {
        let mut root = root::MemoryRoot::new();
        root.file("/sys/devices/system/cpu/cpu5/node3/x", "");
        assert_eq!(node_of(&root, Cpu(5)), Some(NodeId(3)));
        assert_eq!(node_of(&root, Cpu(6)), None);
    }
}
