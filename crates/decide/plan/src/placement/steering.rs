// SPDX-License-Identifier: MIT OR Apache-2.0
//! XPS to match the interrupts, and RPS that stays near.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Fact, Nic};
use setting::{Form, Place};
use units::{Cpu, CpuSet};

use super::pool::Pools;
use super::ports::{Port, channels_after};
use super::{Asked, RPS, XPS, by_goal, change, found, named};
use crate::device;
use crate::draft::{Draft, Drafted, Work};

/// Gives every CPU a transmit queue of a port: a queue's own is that of its interrupt and its
/// siblings; the rest take the queues in turn, whole cores at a time.
///
/// Not where the queues are not one for each interrupt: several traffic classes, XDP queues.
pub(super) fn transmit(
    work: &Work<'_>,
    port: &Port<'_>,
    cpus: &[Cpu],
    asked: Asked,
    draft: &mut Draft,
) {
    let known = port.nic.tx_queues.iter().filter(|queue| queue.xps.is_ok()).count();
    let is_matched = port.is_reset || port.nic.tx_queues.len() == port.queues.len();
    let wanted = by_goal(work, XPS, &port.device) || named(work, XPS, &port.device).is_some();
    if known == 0 || !is_matched || cpus.len() != port.queues.len() || !wanted {
        return;
    }
    let users = users(work, cpus);
    for (number, users) in users.iter().enumerate() {
        let queue = port.nic.tx_queues.get(number);
        let from: Fact<String> = match queue.map(|queue| queue.xps.as_ref()) {
            Some(Ok(cpus)) => Ok(cpus.to_string()),
            Some(Err(why)) => Err(why.clone()),
            None => Err(machine::Why::Absent),
        };
        let number = queue.map_or(number, |queue| queue.number as usize);
        let path = format!("/sys/class/net/{{device}}/queues/tx-{number}/xps_cpus");
        let because = "each transmit queue belongs to the CPUs near its interrupt".to_owned();
        let drafted = file(work, XPS, port.nic, path, from, users.to_string(), because);
        let drafted = Drafted { is_named: asked == Asked::ByName, ..drafted };
        draft.change(drafted);
    }
}

/// The CPUs of each queue. The kernel takes offline and isolated ones out of XPS without a word
/// (net/core/net-sysfs.c), so they are not given any.
fn users(work: &Work<'_>, cpus: &[Cpu]) -> Vec<CpuSet> {
    let all = &work.machine().cpus;
    let free = all.online.minus(&all.isolated);
    let mut cores: BTreeMap<Cpu, Vec<Cpu>> = BTreeMap::new();
    for thread in all.threads.iter().filter(|thread| free.contains(thread.cpu)) {
        cores.entry(thread.core).or_default().push(thread.cpu);
    }
    let core_of: BTreeMap<Cpu, Cpu> =
        cores.iter().flat_map(|(core, cpus)| cpus.iter().map(|cpu| (*cpu, *core))).collect();
    let own: BTreeSet<Cpu> = cpus.iter().copied().collect();
    let mut given: BTreeSet<Cpu> = own.clone();
    let mut sets: Vec<CpuSet> = Vec::with_capacity(cpus.len());
    for cpu in cpus {
        let mut set: CpuSet = [*cpu].into_iter().filter(|cpu| free.contains(*cpu)).collect();
        let siblings = core_of.get(cpu).and_then(|core| cores.get(core));
        for sibling in siblings.into_iter().flatten().filter(|sibling| !own.contains(sibling)) {
            if given.insert(*sibling) {
                set.insert(*sibling);
            }
        }
        sets.push(set);
    }
    let mut turn = 0_usize;
    for threads in cores.values() {
        let rest: Vec<Cpu> = threads.iter().copied().filter(|cpu| given.insert(*cpu)).collect();
        let count = sets.len().max(1);
        if let (false, Some(set)) = (rest.is_empty(), sets.get_mut(turn % count)) {
            rest.into_iter().for_each(|cpu| set.insert(cpu));
            turn = turn.wrapping_add(1);
        }
    }
    sets
}

/// RPS that leads away from a port's node: off where the port itself spreads packets over several
/// queues, else onto the CPUs of its node.
pub(super) fn receive(work: &Work<'_>, pools: &mut Pools<'_>, draft: &mut Draft) {
    for nic in &work.machine().nics {
        let device = device::nic(nic);
        let name = named(work, RPS, &device);
        let is_found = by_goal(work, RPS, &device) && found(work, RPS, &nic.name).is_some();
        if (name.is_none() && !is_found) || !crate::words::is_name(&nic.name) {
            continue;
        }
        let near = nic.node.and_then(|node| pools.near(node)).map(|pool| pool.cpus.clone());
        let is_off = name == Some("off") || (name.is_none() && nic.rx_queues.len() > 1);
        let Some(to) = (if is_off { Some(CpuSet::new()) } else { near }) else { continue };
        let most = channels_after(draft, &nic.name).unwrap_or(usize::MAX);
        for queue in nic.rx_queues.iter().take(most) {
            let Ok(from) = &queue.rps else { continue };
            if name.is_none() && from.is_empty() {
                continue;
            }
            let path = format!("/sys/class/net/{{device}}/queues/rx-{}/rps_cpus", queue.number);
            let because = match is_off {
                true => "its queues spread packets already; RPS moves them once more".to_owned(),
                false => format!("packets of {} are handled on its node", nic.name),
            };
            let drafted = file(work, RPS, nic, path, Ok(from.to_string()), to.to_string(), because);
            draft.change(Drafted { is_named: name.is_some(), ..drafted });
        }
    }
}

fn file(
    work: &Work<'_>,
    setting: &str,
    nic: &Nic,
    path: String,
    from: Fact<String>,
    to: String,
    because: String,
) -> Drafted {
    let place = Place::File { path };
    change(work, setting, device::nic(nic), place, Form::CpuMask, from, to, because)
}
