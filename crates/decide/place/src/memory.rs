// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which nodes' memory is used.
//!
//! Bound to several nodes, the kernel still takes pages from the one nearest to the CPU that asks
//! (mm/mempolicy.c: `policy_node` with the zonelist of the local node, since Linux 2.6.26), so that a
//! union of nodes costs nothing over one.

use machine::{Machine, Node, Site};
use units::{Cpu, CpuSet};

use crate::sides::{Sides, nearest, set};
use crate::{Ask, LeftOut, Memory, Placement, Policy, Refusal};

/// Fills in where memory comes from.
pub(crate) fn choose(
    site: &Site,
    ask: &Ask,
    sides: &Sides,
    placement: &mut Placement,
) -> Result<(), Refusal> {
    placement.memory.policy = ask.policy;
    if site.machine.nodes.is_empty() || ask.policy == Policy::Local {
        placement.memory = Memory { policy: Policy::Local, nodes: CpuSet::new() };
        return Ok(());
    }
    let near = with_memory(&site.machine, &placement.nodes.clone(), placement);
    let allowed = site.memory_allowed.as_ref().map_or(near.clone(), |nodes| near.and(nodes));
    let refused = near.minus(&allowed);
    if !refused.is_empty() {
        placement.left_out.push(LeftOut {
            what: "memory of nodes",
            which: refused,
            why: "the cpuset does not allow it".to_owned(),
        });
    }
    if allowed.is_empty() {
        let left_out = placement.left_out.iter().filter(|left| left.what != "CPUs").cloned();
        let (devices, left_out) = (sides.devices(), left_out.collect());
        return Err(Refusal::NoMemory { devices, left_out });
    }
    placement.memory.nodes = allowed;
    Ok(())
}

/// Those of `nodes` that have memory; for each of the others the nearest that has.
fn with_memory(machine: &Machine, nodes: &CpuSet, placement: &mut Placement) -> CpuSet {
    let mut found = CpuSet::new();
    let near = machine.nodes.iter().filter(|node| nodes.contains(Cpu(node.id.0)));
    for node in near {
        if has_memory(node) {
            found = found.or(&set(node.id));
            continue;
        }
        let why = match nearest(machine, node.id, has_memory) {
            Some((others, distance)) => {
                let why = format!("it has none; nearest is node {others}, at distance {distance}");
                found = found.or(&others);
                why
            }
            None => "it has none, and no distances tell what is nearest".to_owned(),
        };
        let (what, which) = ("memory of nodes", set(node.id));
        placement.left_out.push(LeftOut { what, which, why });
    }
    found
}

/// Whether a node has memory, as far as it tells.
fn has_memory(node: &Node) -> bool {
    node.memory.as_ref().map_or(true, |size| size.0 > 0)
}
