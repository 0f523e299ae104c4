// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a thread sits: its CPU, and the node of its memory; set, and read back.

use record::{PlacedThread, QueueInterrupt};
use root::Root;
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
pub(crate) fn take(seat: &Seat) -> Result<(), run::Error> {
    seat.cpu.map_or(Ok(()), |cpu| run::bind(&[cpu].into_iter().collect()))
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
            let allowed = || rustix::thread::sched_getaffinity(None).unwrap();
            let first = (0..1024).find(|cpu| allowed().is_set(*cpu)).unwrap();
            let seat = |cpu| Seat { cpu: Some(Cpu(cpu)), ..Seat::default() };
            take(&seat(u32::try_from(first).unwrap())).unwrap();
            assert_eq!(allowed().count(), 1);
            // Beyond what a fixed set holds, too, the kernel is asked.
            for absent in [1023, 4096, 65_535] {
                assert!(take(&seat(absent)).is_err(), "{absent}");
            }
            assert_eq!(allowed().count(), 1);
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
