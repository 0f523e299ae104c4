// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts of storage controllers: managed vectors are right as they are; the others that carry
//! requests belong on the controller's node. What carries none, an NVMe controller's admin queue for
//! one, fires seldom: it is left where it may be taken there, and moved where it cannot.

use std::collections::BTreeSet;

use machine::{Drive, DriveKind};
use setting::Device;
use units::{NodeId, PciAddress};

use super::pool::{Pool, Pools};
use super::ports::managed_by_kernel;
use super::vector::{Vector, Vectors, by_queue};
use super::wish::Where;
use super::{
    Asked, DRIVE, Move, Taken, by_goal, demand_online, doubt, has_far_nodes, impossible, named,
    reach,
};
use crate::device;
use crate::draft::{Draft, Work};

/// A controller with interrupts.
struct Controller<'a> {
    device: Device,
    node: NodeId,
    vectors: &'a [Vector<'a>],
}

/// Places the interrupts of all storage controllers.
pub(super) fn place(
    work: &Work<'_>,
    vectors: &Vectors<'_>,
    pools: &mut Pools<'_>,
    taken: &mut Taken,
    draft: &mut Draft,
) {
    for controller in controllers(work, vectors) {
        let managed = controller.vectors.iter().filter(|one| !one.is_movable()).count();
        match named(work, DRIVE, &controller.device) {
            Some(value) => {
                if managed > 0 {
                    draft.leave(managed_by_kernel(DRIVE, &controller.device.name, value));
                }
                if let Err(because) = by_name(work, &controller, value, pools, taken, draft) {
                    draft.leave(impossible(DRIVE, &controller.device.name, value, &because));
                }
            }
            None if by_goal(work, DRIVE, &controller.device) => {
                draft.equal(DRIVE, u64::try_from(managed).unwrap_or(0));
                if has_far_nodes(work)
                    && let Some(pool) = pools.near(controller.node)
                {
                    near(work, &controller, pool, taken, draft);
                }
            }
            None => {}
        }
    }
}

/// Controllers on PCI with their drives; paravirtual ones are the hypervisor's business.
fn controllers<'a>(work: &Work<'a>, vectors: &'a Vectors<'a>) -> Vec<Controller<'a>> {
    let mut all: BTreeSet<PciAddress> = BTreeSet::new();
    let is_real = |drive: &&Drive| {
        !matches!(drive.kind, DriveKind::Virtio | DriveKind::Paravirtual | DriveKind::NvmeFabrics)
    };
    for drive in work.machine().drives.iter().filter(is_real) {
        all.extend(device::functions_of(drive));
    }
    let controller = |at: PciAddress| {
        let node = work.machine().function(at)?.node?;
        let vectors = vectors.of_function(at);
        Some(Controller { device: device::function(at), node, vectors })
    };
    all.into_iter().filter_map(controller).collect()
}

fn near(
    work: &Work<'_>,
    controller: &Controller<'_>,
    pool: &mut Pool,
    taken: &mut Taken,
    draft: &mut Draft,
) {
    let is_far = |one: &Vector<'_>| {
        reach(work, one).is_some_and(|cpus| !cpus.is_empty() && !cpus.is_subset(&pool.wide))
    };
    let is_away = |one: &Vector<'_>| {
        reach(work, one).is_some_and(|cpus| !cpus.is_empty() && !cpus.overlaps(&pool.wide))
    };
    let queues = by_queue(controller.vectors);
    let is_spread = queues.len() > 1;
    let is_moved = is_spread && queues.iter().flatten().any(is_far);
    let whole = pool.cpus.to_string();
    let others = controller.vectors.iter().filter(|one| one.is_movable());
    for vector in others.filter(|one| !(is_spread && one.is_io)) {
        let is_wrong = if vector.is_io { is_far(vector) } else { is_away(vector) };
        if is_wrong {
            put(work, controller, vector, whole.clone(), Asked::ByGoal, taken, draft);
        } else {
            draft.equal(DRIVE, 1);
        }
    }
    if !is_spread {
        return;
    }
    for queue in &queues {
        let Some(cpu) = pool.take().filter(|_| is_moved) else {
            draft.equal(DRIVE, u64::try_from(queue.len()).unwrap_or(0));
            continue;
        };
        for vector in queue {
            put(work, controller, vector, cpu.to_string(), Asked::ByGoal, taken, draft);
        }
    }
}

fn put(
    work: &Work<'_>,
    controller: &Controller<'_>,
    vector: &Vector<'_>,
    to: String,
    asked: Asked,
    taken: &mut Taken,
    draft: &mut Draft,
) {
    taken.placed.extend(vector.irq.map(|irq| irq.number));
    let because = match asked {
        Asked::ByName => "asked for by name".to_owned(),
        Asked::ByGoal => {
            let doubt = doubt(work, DRIVE, &controller.device.name);
            format!("the controller hangs on node {}{doubt}", controller.node)
        }
    };
    let device = controller.device.clone();
    draft.change(Move { setting: DRIVE, device, vector, to, because }.drafted(work, asked));
}

fn by_name(
    work: &Work<'_>,
    controller: &Controller<'_>,
    value: &str,
    pools: &mut Pools<'_>,
    taken: &mut Taken,
    draft: &mut Draft,
) -> Result<(), String> {
    let movable: Vec<&Vector<'_>> =
        controller.vectors.iter().filter(|one| one.is_movable()).collect();
    let none = || "that node has no CPU that may take interrupts".to_owned();
    let cpus: Vec<String> = match value.parse::<Where>()? {
        Where::Cpus(cpus) => {
            demand_online(work, &cpus)?;
            cpus.iter().map(ToString::to_string).collect()
        }
        Where::Near | Where::Whole(None) => {
            vec![pools.near(controller.node).ok_or_else(none)?.cpus.to_string()]
        }
        Where::Node(node) | Where::Whole(Some(node)) => {
            vec![pools.exactly(node).ok_or_else(none)?.cpus.to_string()]
        }
    };
    for (vector, to) in movable.into_iter().zip(cpus.iter().cycle()) {
        put(work, controller, vector, to.clone(), Asked::ByName, taken, draft);
    }
    Ok(())
}
