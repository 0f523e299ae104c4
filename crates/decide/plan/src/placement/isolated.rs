// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts that are aimed at isolated CPUs go to those that are there for them.

use machine::{Irq, Managed};
use units::CpuSet;

use super::pool::Pools;
use super::vector::Vectors;
use super::{Asked, ISOLATED, Move, Taken, by_goal};
use crate::device;
use crate::draft::{Draft, Work};

/// Moves what neither a port's nor a controller's placement has moved already.
pub(super) fn place(work: &Work<'_>, pools: &mut Pools<'_>, taken: &mut Taken, draft: &mut Draft) {
    let cpus = &work.machine().cpus;
    let isolated = cpus.isolated.and(&cpus.online);
    let is_named = work.request.named.iter().any(|one| one.setting == ISOLATED);
    if isolated.is_empty() || (work.request.goal.is_none() && !is_named) {
        return;
    }
    let asked = if is_named { Asked::ByName } else { Asked::ByGoal };
    let all = Vectors::of(work.machine());
    for irq in work.machine().irqs.iter().filter(|irq| is_there(work, irq, &isolated)) {
        let Some(at) = irq.source.as_ref().and_then(|source| source.function) else { continue };
        let device = device::function(at);
        let mut vectors = all.of_function(at).iter();
        let vector = vectors.find(|one| one.irq.is_some_and(|own| own.number == irq.number));
        let node = work.machine().function(at).and_then(|function| function.node);
        let pool = node.and_then(|node| pools.near(node)).map(|pool| pool.cpus.clone());
        let to = pool.unwrap_or_else(|| cpus.online.minus(&isolated));
        let is_asked = is_named || by_goal(work, ISOLATED, &device);
        let (Some(vector), true, false) = (vector, is_asked, to.is_empty()) else { continue };
        if !taken.placed.insert(irq.number) {
            continue;
        }
        let because = format!("CPUs {isolated} were set apart, and this interrupt is aimed there");
        let to = to.to_string();
        draft.change(Move { setting: ISOLATED, device, vector, to, because }.drafted(work, asked));
    }
}

/// At isolated CPUs alone: a wide set leaves the choice to the kernel.
fn is_there(work: &Work<'_>, irq: &Irq, isolated: &CpuSet) -> bool {
    let reach = irq.affinity.as_ref().map(|cpus| cpus.and(&work.machine().cpus.online));
    irq.managed == Managed::No
        && !irq.actions.is_empty()
        && reach.is_ok_and(|cpus| !cpus.is_empty() && cpus.is_subset(isolated))
}
