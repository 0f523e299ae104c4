// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the threads of a load on drives sit.
//!
//! Near a drive: one thread a hardware queue, up to the cores of its node that may be used, siblings
//! last; no two drives on one core; memory on the drive's node. Far is the node furthest away, which is
//! how a person sees what distance costs; spread is all nodes in turn; a list is what was asked.

use std::collections::BTreeSet;

use machine::{Drive, Machine};
use units::{Cpu, CpuSet, NodeId};

/// Where threads are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Where {
    /// On the drive's node.
    #[default]
    Near,
    /// On the node furthest from the drive.
    Far,
    /// On all nodes, in turn.
    Spread,
    /// On these CPUs, as they are.
    On(CpuSet),
}

/// Where one thread sits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    /// The drive that it works on.
    pub drive: String,
    /// Its CPU.
    pub cpu: Cpu,
    /// The node for its memory: the drive's; none where that is unknown.
    pub memory_node: Option<NodeId>,
    /// The hardware queue that the CPU submits to; none where the kernel does not tell.
    pub queue: Option<u32>,
    /// That queue's interrupt and the CPUs that it comes to.
    pub interrupt: Option<(u32, CpuSet)>,
}

/// Why threads have no seats.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSeat {
    /// No such drive.
    #[error("this machine has no drive called {0:?}")]
    NoDrive(String),
    /// A place near or far from something whose place is unknown.
    #[error("the node of {0} is unknown: name CPUs, or spread")]
    NoNode(String),
    /// More drives, or threads, than cores.
    #[error("{wanted} cores are needed, and {there} may be used there")]
    FewCores {
        /// How many are needed.
        wanted: usize,
        /// How many there are.
        there: usize,
    },
}

/// A CPU that may be used.
#[derive(Debug, Clone, Copy)]
struct Chair {
    cpu: Cpu,
    core: Cpu,
    rank: usize,
}

/// Seats for `threads` threads on each drive; where not told, as many as it has queues that these CPUs
/// submit to, up to its share of the cores. In the order of the drives.
///
/// # Errors
/// A drive that is not there or whose node is unknown, or fewer cores than drives.
pub fn seats(
    machine: &Machine,
    drives: &[&str],
    wanted: &Where,
    threads: Option<usize>,
) -> Result<Vec<Seat>, NoSeat> {
    let drives: Vec<&Drive> =
        drives.iter().map(|name| drive(machine, name)).collect::<Result<_, _>>()?;
    let chairs: Vec<Vec<Chair>> =
        drives.iter().map(|drive| chairs(machine, drive, wanted)).collect::<Result<_, _>>()?;
    let counts = counts(&drives, &chairs, threads)?;
    let taken = deal(&drives, &chairs, &counts)?;
    let seat = |(drive, cpus): (&&Drive, Vec<Cpu>)| {
        cpus.into_iter().map(|cpu| seat(machine, drive, cpu)).collect::<Vec<_>>()
    };
    Ok(drives.iter().zip(taken).flat_map(seat).collect())
}

fn drive<'a>(machine: &'a Machine, name: &str) -> Result<&'a Drive, NoSeat> {
    let found = machine.drives.iter().find(|drive| drive.name == name);
    found.ok_or_else(|| NoSeat::NoDrive(name.to_owned()))
}

fn node(drive: &Drive) -> Option<NodeId> {
    drive.controllers.iter().find_map(|controller| controller.node)
}

/// The CPUs for a drive, in the order in which they are taken: first threads of cores, siblings last.
fn chairs(machine: &Machine, drive: &Drive, wanted: &Where) -> Result<Vec<Chair>, NoSeat> {
    if let Where::On(cpus) = wanted {
        let usable = cpus.and(&machine.cpus.online).and(&machine.cpus.allowed);
        return Ok(ordered(machine, &usable));
    }
    let all = machine.usable(&machine.cpus.online);
    let unknown = || NoSeat::NoNode(drive.name.clone());
    match (wanted, machine.nodes.as_slice()) {
        (_, [] | [_]) => Ok(ordered(machine, &all)),
        (Where::Spread, nodes) => {
            let lists = nodes.iter().map(|node| ordered(machine, &all.and(&node.cpus)));
            let mut chairs = in_turn(lists.collect());
            chairs.sort_by_key(|chair| chair.rank);
            Ok(chairs)
        }
        (Where::Far, _) => {
            let far = furthest(machine, node(drive).ok_or_else(unknown)?).ok_or_else(unknown)?;
            Ok(ordered(machine, &all.and(&far)))
        }
        (_, nodes) => {
            let own = node(drive).ok_or_else(unknown)?;
            let own = nodes.iter().find(|node| node.id == own).ok_or_else(unknown)?;
            Ok(ordered(machine, &all.and(&own.cpus)))
        }
    }
}

/// The CPUs of the node with the greatest distance from one.
fn furthest(machine: &Machine, from: NodeId) -> Option<CpuSet> {
    let own = machine.nodes.iter().find(|node| node.id == from)?;
    let distance = |id: NodeId| own.distances.iter().find(|(to, _)| *to == id).map(|one| one.1);
    let others = machine.nodes.iter().filter(|node| node.id != from && !node.cpus.is_empty());
    let far = others.max_by_key(|node| (distance(node.id), std::cmp::Reverse(node.id)));
    far.map(|node| node.cpus.clone())
}

/// First threads of all cores, then second ones, each in the order of their numbers.
fn ordered(machine: &Machine, cpus: &CpuSet) -> Vec<Chair> {
    let mut seen: Vec<(Cpu, usize)> = Vec::new();
    let mut chair = |cpu: Cpu| {
        let thread = machine.cpus.threads.iter().find(|thread| thread.cpu == cpu);
        let core = thread.map_or(cpu, |thread| thread.core);
        let rank = match seen.iter_mut().find(|(known, _)| *known == core) {
            Some((_, rank)) => {
                *rank += 1;
                *rank
            }
            None => {
                seen.push((core, 0));
                0
            }
        };
        Chair { cpu, core, rank }
    };
    let mut chairs: Vec<Chair> = cpus.iter().map(&mut chair).collect();
    chairs.sort_by_key(|chair| (chair.rank, chair.cpu));
    chairs
}

fn in_turn(lists: Vec<Vec<Chair>>) -> Vec<Chair> {
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest).flat_map(|at| lists.iter().filter_map(move |list| list.get(at))).copied().collect()
}

/// How many threads each drive gets.
fn counts(
    drives: &[&Drive],
    chairs: &[Vec<Chair>],
    threads: Option<usize>,
) -> Result<Vec<usize>, NoSeat> {
    let cores =
        |chairs: &Vec<Chair>| chairs.iter().map(|chair| chair.core).collect::<BTreeSet<_>>();
    let share = |(drive, own): (&&Drive, &Vec<Chair>)| {
        let there = cores(own);
        // Drives whose CPUs are the same cores share them.
        let sharing = chairs.iter().filter(|other| !cores(other).is_disjoint(&there)).count();
        if there.len() < sharing.max(1) {
            return Err(NoSeat::FewCores { wanted: sharing.max(1), there: there.len() });
        }
        let most = there.len() / sharing.max(1);
        Ok(threads.unwrap_or_else(|| queues(drive, own).clamp(1, most.max(1))))
    };
    drives.iter().zip(chairs).map(share).collect()
}

/// How many of a drive's queues these CPUs submit to; as many as there are CPUs where the kernel does
/// not tell.
fn queues(drive: &Drive, chairs: &[Chair]) -> usize {
    if drive.queues.is_empty() {
        return chairs.len();
    }
    let used = |queue: &&machine::Queue| chairs.iter().any(|chair| queue.cpus.contains(chair.cpu));
    drive.queues.iter().filter(used).count()
}

/// Gives each drive its CPUs, one at a time in turn. A core that one drive has is no other's.
fn deal(
    drives: &[&Drive],
    chairs: &[Vec<Chair>],
    counts: &[usize],
) -> Result<Vec<Vec<Cpu>>, NoSeat> {
    let mut taken: Vec<Vec<Chair>> = vec![Vec::new(); drives.len()];
    for round in 0..counts.iter().copied().max().unwrap_or(0) {
        for (at, ((drive, own), count)) in drives.iter().zip(chairs).zip(counts).enumerate() {
            if round >= *count {
                continue;
            }
            let few = || {
                let there = taken.iter().map(Vec::len).sum();
                NoSeat::FewCores { wanted: counts.iter().sum(), there }
            };
            let best = best(drive, own, &taken, at).ok_or_else(few)?;
            taken.iter_mut().skip(at).take(1).for_each(|mine| mine.push(best));
        }
    }
    let cpus = |chairs: Vec<Chair>| chairs.into_iter().map(|chair| chair.cpu).collect();
    Ok(taken.into_iter().map(cpus).collect())
}

/// The next CPU for a drive: of those left with the lowest rank among their core's threads one that
/// submits to a queue that the drive has not yet, else the first.
fn best(drive: &Drive, own: &[Chair], taken: &[Vec<Chair>], at: usize) -> Option<Chair> {
    let is_free = |chair: &&Chair| {
        let collides = |(other, one): (usize, &Chair)| {
            if other == at { one.cpu == chair.cpu } else { one.core == chair.core }
        };
        let all = taken.iter().enumerate();
        !all.flat_map(|(other, all)| all.iter().map(move |one| (other, one))).any(collides)
    };
    let free: Vec<&Chair> = own.iter().filter(is_free).collect();
    let rank = free.iter().map(|chair| chair.rank).min()?;
    let mine = taken.get(at).map(Vec::as_slice).unwrap_or_default();
    let is_new = |chair: &&&Chair| {
        let queue = queue(drive, chair.cpu);
        queue.is_some() && mine.iter().all(|one| self::queue(drive, one.cpu) != queue)
    };
    let lowest = || free.iter().filter(|chair| chair.rank == rank);
    lowest().find(is_new).or_else(|| lowest().next()).map(|chair| **chair)
}

fn queue(drive: &Drive, cpu: Cpu) -> Option<u32> {
    drive.queues.iter().find(|queue| queue.cpus.contains(cpu)).map(|queue| queue.number)
}

fn seat(machine: &Machine, drive: &Drive, cpu: Cpu) -> Seat {
    let queue = queue(drive, cpu);
    Seat {
        drive: drive.name.clone(),
        cpu,
        memory_node: node(drive),
        queue,
        interrupt: queue.and_then(|queue| interrupt(machine, drive, queue)),
    }
}

/// The interrupt of a hardware queue. NVMe numbers its I/O queues from 1, for 0 is the admin queue, and
/// the block layer from 0.
fn interrupt(machine: &Machine, drive: &Drive, queue: u32) -> Option<(u32, CpuSet)> {
    let functions: Vec<_> = drive.controllers.iter().filter_map(|one| one.function).collect();
    let is_nvme = drive.controllers.iter().any(|one| one.driver.as_deref() == Some("nvme"));
    let number = if is_nvme { queue.checked_add(1)? } else { queue };
    let serves = |irq: &&machine::Irq| {
        irq.source.as_ref().is_some_and(|source| {
            source.is_io
                && source.queue == Some(number)
                && source.function.is_some_and(|function| functions.contains(&function))
        })
    };
    let irq = machine.irqs.iter().find(serves)?;
    let cpus = irq.effective.clone().or_else(|_| irq.affinity.clone()).ok()?;
    Some((irq.number, cpus))
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Queue;
    use support::made::{Order, Place, Shape, add_drive, server, set};

    /// Two packages of one node with 8 cores of two threads, and drives on the nodes named. CPUs 0-7
    /// and 16-23 are on node 0.
    fn machine(nodes: &[u32]) -> Machine {
        let shape = Shape { packages: 2, nodes: 1, cores: 8, threads: 2, order: Order::Linear };
        let mut machine = server(shape);
        for (number, node) in (0..).zip(nodes) {
            add_drive(&mut machine, Place { number, node: *node });
        }
        for drive in &mut machine.drives {
            let queue = |cpu: u32| Queue { number: cpu, cpus: [Cpu(cpu)].into_iter().collect() };
            drive.queues = (0..32).map(queue).collect();
        }
        machine
    }

    fn cpus(seats: &[Seat], drive: &str) -> CpuSet {
        seats.iter().filter(|seat| seat.drive == drive).map(|seat| seat.cpu).collect()
    }

    fn near(machine: &Machine, drives: &[&str], threads: Option<usize>) -> Vec<Seat> {
        seats(machine, drives, &Where::Near, threads).unwrap()
    }

    #[test]
    fn a_drive_gets_the_cores_of_its_node_and_siblings_last() {
        let machine = machine(&[1]);
        let found = near(&machine, &["nvme0n1"], None);
        assert_eq!(cpus(&found, "nvme0n1"), set("8-15"));
        assert!(found.iter().all(|seat| seat.memory_node == Some(NodeId(1))));
        let more = near(&machine, &["nvme0n1"], Some(10));
        assert_eq!(cpus(&more, "nvme0n1"), set("8-15,24-25"));
    }

    #[test]
    fn each_thread_has_its_queue_and_that_queues_interrupt() {
        let machine = machine(&[0]);
        for seat in near(&machine, &["nvme0n1"], None) {
            assert_eq!(seat.queue, Some(seat.cpu.0));
            // Queue 0 of the block layer is the first I/O queue, nvme0q1, which comes to its CPU.
            let comes_to = seat.interrupt.map(|(_, cpus)| cpus);
            assert_eq!(comes_to, Some([seat.cpu].into_iter().collect()));
        }
    }

    #[test]
    fn few_queues_are_few_threads_each_with_another_one() {
        let mut machine = machine(&[0]);
        let queue = |(number, list)| Queue { number, cpus: set(list) };
        let lists = [(0, "0-3,16-19"), (1, "4-7,20-23"), (2, "8-15,24-31")];
        machine.drives[0].queues = lists.map(queue).to_vec();
        let found = near(&machine, &["nvme0n1"], None);
        assert_eq!(cpus(&found, "nvme0n1"), set("0,4"));
    }

    #[test]
    fn two_drives_never_share_a_core() {
        let machine = machine(&[0, 0, 0, 1]);
        let drives = ["nvme0n1", "nvme1n1", "nvme2n1", "nvme3n1"];
        let found = near(&machine, &drives, None);
        let counts = drives.map(|drive| cpus(&found, drive).len());
        assert_eq!(counts, [2, 2, 2, 8]);
        let cores: Vec<u32> = found.iter().map(|seat| seat.cpu.0 % 16).collect();
        let apart: BTreeSet<u32> = cores.iter().copied().collect();
        assert_eq!(apart.len(), cores.len());
        let crowd = ["nvme0n1", "nvme1n1"];
        let error = seats(&machine, &crowd, &Where::Near, Some(9)).unwrap_err();
        assert!(matches!(error, NoSeat::FewCores { wanted: 18, .. }), "{error}");
    }

    #[test]
    fn far_and_spread_and_a_list_are_what_was_asked() {
        let machine = machine(&[0]);
        let of = |wanted: Where, threads| {
            cpus(&seats(&machine, &["nvme0n1"], &wanted, threads).unwrap(), "nvme0n1")
        };
        assert_eq!(of(Where::Far, None), set("8-15"));
        assert_eq!(of(Where::Spread, Some(4)), set("0-1,8-9"));
        assert_eq!(of(Where::On(set("3,19,40")), None), set("3"));
        assert_eq!(of(Where::On(set("3,19,40")), Some(2)), set("3,19"));
        let far = seats(&machine, &["nvme0n1"], &Where::Far, Some(1)).unwrap();
        assert_eq!(far[0].memory_node, Some(NodeId(0)));
    }

    #[test]
    fn what_is_unknown_is_no_place() {
        let mut machine = machine(&[0]);
        machine.drives[0].controllers[0].node = None;
        let refused = |wanted| seats(&machine, &["nvme0n1"], &wanted, None).unwrap_err();
        assert_eq!(refused(Where::Near), NoSeat::NoNode("nvme0n1".to_owned()));
        assert_eq!(refused(Where::Far), NoSeat::NoNode("nvme0n1".to_owned()));
        assert!(seats(&machine, &["nvme0n1"], &Where::Spread, None).is_ok());
        let error = seats(&machine, &["sda"], &Where::Near, None).unwrap_err();
        assert_eq!(error, NoSeat::NoDrive("sda".to_owned()));
    }
}
