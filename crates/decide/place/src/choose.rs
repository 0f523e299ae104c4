// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which CPUs are used of those near the devices.
//!
//! All that may be used, unless a number of cores is asked for. Those are spread: in turn over the
//! nodes, and within a node in turn over its L3 domains, since what works for a drive or a NIC moves
//! buffers and shares little, and each L3 domain adds cache and its own way to memory. The fast
//! cores of a hybrid processor come before the small ones, and whole cores before those of which
//! some threads belong to others.

use std::collections::{BTreeMap, BTreeSet};

use machine::{CoreKind, Machine, Managed, Site, Thread};
use units::{Cpu, CpuSet};

use crate::refusal::NOT_NAMED;
use crate::sides::Sides;
use crate::{Ask, Interrupts, LeftOut, Placement, Refusal};

/// Fills in the CPUs.
pub(crate) fn cpus(
    site: &Site,
    ask: &Ask,
    sides: &Sides,
    placement: &mut Placement,
) -> Result<(), Refusal> {
    let usable = usable(&site.machine, ask, sides.cpus(), placement);
    if usable.is_empty() {
        let (devices, left_out) = (sides.devices(), placement.left_out.clone());
        return Err(Refusal::NoCpus { devices, left_out });
    }
    tell_isolated(&site.machine, &usable, placement);
    if *ask == (Ask { policy: ask.policy, among: ask.among.clone(), ..Ask::default() }) {
        placement.cpus = usable;
        return Ok(());
    }
    let cores = by_core(&site.machine, &usable);
    let cores = match ask.interrupts {
        Interrupts::Share => cores,
        Interrupts::Avoid => avoid(site, ask, cores, placement),
    };
    let cores = match ask.cores {
        None => cores,
        Some(wanted) => {
            let wanted = wanted.get();
            let cores = spread(&site.machine, cores);
            let there = cores.len();
            if there < wanted as usize {
                let (devices, left_out) = (sides.devices(), placement.left_out.clone());
                return Err(Refusal::FewCores { devices, wanted, there, left_out });
            }
            cores.into_iter().take(wanted as usize).collect()
        }
    };
    tell_shared(&site.machine, &cores, ask, placement);
    let most = ask.threads_per_core.map_or(usize::MAX, |most| most.get() as usize);
    placement.cores = cores.into_iter().map(|core| first_threads(core, most)).collect();
    placement.cpus = placement.cores.iter().fold(CpuSet::new(), |all, core| all.or(core));
    Ok(())
}

fn first_threads(core: Core, most: usize) -> CpuSet {
    core.cpus.iter().take(most).collect()
}

/// Those of `near` that may be used; the others are noted with the first reason against them.
fn usable(machine: &Machine, ask: &Ask, near: CpuSet, placement: &mut Placement) -> CpuSet {
    let cpus = &machine.cpus;
    let mut left = near;
    let mut keep = |kept: CpuSet, why: &str| {
        let out = left.minus(&kept);
        if !out.is_empty() {
            let why = why.to_owned();
            placement.left_out.push(LeftOut { what: "CPUs", which: out, why });
        }
        left = left.and(&kept);
        left.clone()
    };
    keep(cpus.online.clone(), "offline");
    keep(cpus.allowed.clone(), "not allowed to this process (cpuset, affinity)");
    match &ask.among {
        Some(among) => keep(among.clone(), NOT_NAMED),
        None => {
            let others = cpus.online.minus(&cpus.isolated);
            keep(others, "isolated, and not named with --cpus")
        }
    }
}

/// The scheduler does not balance load over isolated CPUs (isolcpus, cpuset partitions).
fn tell_isolated(machine: &Machine, usable: &CpuSet, placement: &mut Placement) {
    let isolated = usable.and(&machine.cpus.isolated);
    if isolated.len() > 1 {
        placement.doubts.push(format!(
            "CPUs {isolated} are isolated: the kernel does not spread threads over them, so that a \
             command must pin its own"
        ));
    }
}

/// A core and the threads of it that may be used.
#[derive(Debug, Clone)]
struct Core {
    name: Cpu,
    cpus: CpuSet,
    kind: CoreKind,
    /// Whether all its online threads may be used.
    is_whole: bool,
}

/// Cores by their first thread. A CPU of which no thread was read is a core of its own.
fn by_core(machine: &Machine, usable: &CpuSet) -> Vec<Core> {
    let mut threads: BTreeMap<Cpu, Vec<&Thread>> = BTreeMap::new();
    for thread in &machine.cpus.threads {
        threads.entry(thread.core).or_default().push(thread);
    }
    let known: CpuSet = machine.cpus.threads.iter().map(|thread| thread.cpu).collect();
    let core = |(name, threads): (&Cpu, &Vec<&Thread>)| {
        let all: CpuSet =
            threads.iter().filter(|thread| thread.online).map(|thread| thread.cpu).collect();
        let kind = threads.first().map(|thread| thread.kind).unwrap_or_default();
        Core { name: *name, cpus: all.and(usable), kind, is_whole: all.is_subset(usable) }
    };
    let alone = |cpu: Cpu| {
        let cpus = [cpu].into_iter().collect();
        Core { name: cpu, cpus, kind: CoreKind::Uniform, is_whole: true }
    };
    let cores = threads.iter().map(core).filter(|core| !core.cpus.is_empty());
    let mut cores: Vec<Core> = cores.chain(usable.minus(&known).iter().map(alone)).collect();
    cores.sort_by_key(|core| core.name);
    cores
}

/// Leaves out the cores that serve the devices' interrupts, the busiest first, as long as enough
/// others remain.
fn avoid(site: &Site, ask: &Ask, cores: Vec<Core>, placement: &mut Placement) -> Vec<Core> {
    let counts = served(site, placement);
    let load = |core: &Core| -> u64 {
        core.cpus.iter().map(|cpu| counts.get(&cpu).copied().unwrap_or(0)).sum()
    };
    let is_busy = |core: &Core| core.cpus.iter().any(|cpu| counts.contains_key(&cpu));
    let mut busy: Vec<(u64, Cpu)> =
        cores.iter().filter(|core| is_busy(core)).map(|core| (load(core), core.name)).collect();
    busy.sort_unstable_by(|a, b| b.cmp(a));
    let spare = match ask.cores {
        Some(needed) => cores.len().saturating_sub(needed.get() as usize),
        // Where every core serves some, the others that were to remain are none.
        None if busy.len() == cores.len() => 0,
        None => busy.len(),
    };
    if busy.len() > spare {
        placement.doubts.push(format!(
            "{} of the {} cores near the devices serve their interrupts, so that some of those are \
             used all the same",
            busy.len(),
            cores.len()
        ));
    }
    let avoided: BTreeSet<Cpu> = busy.iter().take(spare).map(|(_, name)| *name).collect();
    let (out, cores): (Vec<Core>, Vec<Core>) =
        cores.into_iter().partition(|core| avoided.contains(&core.name));
    let which = out.iter().fold(CpuSet::new(), |all, core| all.or(&core.cpus));
    if !which.is_empty() {
        let why = "their cores serve the devices' interrupts".to_owned();
        placement.left_out.push(LeftOut { what: "CPUs", which, why });
    }
    cores
}

/// How often each CPU that serves the devices' interrupts was interrupted by them. Managed vectors
/// do not count: they come to the CPU that asked for the I/O. Nor do those that never came.
fn served(site: &Site, placement: &mut Placement) -> BTreeMap<Cpu, u64> {
    let ends = site.targets.iter().flat_map(|target| &target.ends);
    let functions: BTreeSet<_> = ends.filter_map(|end| end.function).collect();
    let mut counts: BTreeMap<Cpu, u64> = BTreeMap::new();
    let mut managed = 0_usize;
    for irq in &site.machine.irqs {
        let function = irq.source.as_ref().and_then(|source| source.function);
        if !function.is_some_and(|function| functions.contains(&function)) {
            continue;
        }
        if irq.managed != Managed::No {
            managed += 1;
            continue;
        }
        let total =
            irq.counts.iter().map(|(_, count)| count).fold(0_u64, |a, b| a.saturating_add(*b));
        let cpus = match irq.effective.as_ref().ok().filter(|cpus| !cpus.is_empty()) {
            Some(cpus) => cpus.clone(),
            // Where it goes now is not told: where it went is.
            None => irq.counts.iter().map(|(cpu, _)| Cpu(*cpu)).collect(),
        };
        for cpu in cpus.iter().filter(|_| total > 0) {
            let count = counts.entry(cpu).or_default();
            *count = count.saturating_add(total);
        }
    }
    if managed > 0 {
        placement.because.push(format!(
            "interrupts that the kernel places ({managed} of them) come to the CPU that asked for \
             the I/O: they are not avoided"
        ));
    }
    if counts.is_empty() {
        placement.because.push("no other interrupt of the devices has come yet".to_owned());
    }
    counts
}

/// Cores in the order in which they are taken.
fn spread(machine: &Machine, cores: Vec<Core>) -> Vec<Core> {
    let mut nodes: BTreeMap<Option<u32>, BTreeMap<Option<Cpu>, Vec<Core>>> = BTreeMap::new();
    for core in cores {
        let node = machine.nodes.iter().find(|node| node.cpus.overlaps(&core.cpus));
        let domain = machine.l3_domains().find(|cache| cache.cpus.overlaps(&core.cpus));
        let domain = domain.and_then(|cache| cache.cpus.first());
        nodes.entry(node.map(|node| node.id.0)).or_default().entry(domain).or_default().push(core);
    }
    let nodes = nodes.into_values().map(|domains| in_turn(domains.into_values().collect()));
    let mut cores = in_turn(nodes.collect());
    // A stable order: the turns stay within each kind.
    cores.sort_by_key(|core| (core.kind, !core.is_whole));
    cores
}

/// The first of each list, then the second of each, and so on.
fn in_turn<T>(lists: Vec<Vec<T>>) -> Vec<T> {
    let mut lists: Vec<_> = lists.into_iter().map(Vec::into_iter).collect();
    let mut all = Vec::new();
    loop {
        let before = all.len();
        all.extend(lists.iter_mut().filter_map(Iterator::next));
        if all.len() == before {
            return all;
        }
    }
}

/// Half a core is less than what was asked for.
fn tell_shared(machine: &Machine, cores: &[Core], ask: &Ask, placement: &mut Placement) {
    if ask.cores.is_none() {
        return;
    }
    let partial = cores.iter().filter(|core| !core.is_whole);
    let partial = partial.fold(CpuSet::new(), |all, core| all.or(&core.cpus));
    if !partial.is_empty() {
        placement.doubts.push(format!(
            "the cores of CPUs {partial} have siblings that are isolated or not allowed here: what \
             runs there takes its share"
        ));
    }
    let domains: BTreeSet<Option<Cpu>> = machine
        .l3_domains()
        .filter(|cache| cores.iter().any(|core| cache.cpus.overlaps(&core.cpus)))
        .map(|cache| cache.cpus.first())
        .collect();
    if domains.len() > 1 {
        let text = format!("{} cores are spread over {} L3 domains", cores.len(), domains.len());
        placement.because.push(text);
    }
}
