// SPDX-License-Identifier: MIT OR Apache-2.0
//! The queues of network ports.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Nic, NicKind, NodeFrom};
use setting::{Device, Ethtool, Left, LeftWhy, Owner, Place, Reboot};
use units::{Cpu, CpuSet, NodeId, PciAddress};

use super::pool::Pools;
use super::vector::{Vector, Vectors, by_queue, with_channels};
use super::wish::Where;
use super::{
    Asked, Move, NIC, Taken, by_goal, demand_online, doubt, found, has_far_nodes, impossible,
    named, reach, steering,
};
use crate::draft::{Draft, Work};
use crate::{device, words};

/// A port and what it is wanted to be.
pub(crate) struct Port<'a> {
    pub(crate) nic: &'a Nic,
    pub(crate) device: Device,
    pub(crate) node: NodeId,
    /// Vectors of each queue that there will be.
    pub(crate) queues: Vec<Vec<Vector<'a>>>,
    /// Vectors that carry no packets.
    others: Vec<Vector<'a>>,
    /// Whether a change of channels comes first, which resets all of it.
    pub(crate) is_reset: bool,
}

/// Places the queues of all ports.
pub(crate) fn place(
    work: &Work<'_>,
    vectors: &Vectors<'_>,
    pools: &mut Pools<'_>,
    taken: &mut Taken,
    draft: &mut Draft,
) {
    let mut nodes: BTreeMap<NodeId, Vec<Port<'_>>> = BTreeMap::new();
    for port in ports(work, vectors, draft) {
        match named(work, NIC, &port.device) {
            Some(value) => by_name(work, &port, value, pools, taken, draft),
            None => nodes.entry(port.node).or_default().push(port),
        }
    }
    for (node, ports) in nodes {
        of_node(work, node, &ports, pools, taken, draft);
    }
}

/// Ports with a function of known place and interrupts that may be moved: each function once.
pub(super) fn ports<'a>(
    work: &Work<'a>,
    vectors: &Vectors<'a>,
    draft: &mut Draft,
) -> Vec<Port<'a>> {
    let mut seen: BTreeSet<PciAddress> = BTreeSet::new();
    let mut ports = Vec::new();
    for nic in &work.machine().nics {
        if !matches!(nic.kind, NicKind::Physical | NicKind::VirtualFunction | NicKind::Paravirtual)
            || !words::is_name(&nic.name)
        {
            continue;
        }
        let Some(function) = nic.function else { continue };
        if !seen.insert(function) {
            continue;
        }
        ports.extend(port(work, nic, vectors.of_function(function), draft));
    }
    ports.sort_by(|a, b| {
        a.nic.function.cmp(&b.nic.function).then_with(|| words::natural(&a.nic.name, &b.nic.name))
    });
    ports
}

fn port<'a>(
    work: &Work<'a>,
    nic: &'a Nic,
    vectors: &[Vector<'a>],
    draft: &mut Draft,
) -> Option<Port<'a>> {
    let device = device::nic(nic);
    let function = work.machine().function(nic.function?)?;
    let queues = by_queue(vectors);
    if queues.is_empty() {
        let managed = vectors.iter().filter(|vector| vector.is_io).count();
        if let (Some(value), 1..) = (named(work, NIC, &device), managed) {
            draft.leave(managed_by_kernel(NIC, &nic.name, value));
        }
        return None;
    }
    let channels = channels_after(draft, &nic.name);
    Some(Port {
        nic,
        node: nic.node.or(function.node).or_else(|| only_node(work))?,
        queues: match channels {
            Some(count) => with_channels(queues, count),
            None => in_use(nic, queues),
        },
        others: vectors.iter().filter(|one| !one.is_io && one.is_movable()).cloned().collect(),
        is_reset: channels.is_some(),
        device,
    })
}

/// Queues that carry packets: virtio-net keeps the vectors of channels that were given up, and what
/// never fires must not take a core from another port.
fn in_use<'a>(nic: &Nic, mut queues: Vec<Vec<Vector<'a>>>) -> Vec<Vec<Vector<'a>>> {
    let is_numbered = |queue: &Vec<Vector<'_>>| queue.iter().all(|vector| vector.queue.is_some());
    let count = nic.rx_queues.len().max(nic.tx_queues.len());
    if count > 0 && queues.iter().all(is_numbered) {
        queues.truncate(count);
    }
    queues
}

/// On a machine with one node that is where every device is.
fn only_node(work: &Work<'_>) -> Option<NodeId> {
    match work.machine().nodes.as_slice() {
        [one] => Some(one.id),
        _ => None,
    }
}

/// What is said of vectors that the kernel places.
pub(super) fn managed_by_kernel(setting: &str, device: &str, value: &str) -> Left {
    Left {
        setting: setting.to_owned(),
        devices: vec![device.to_owned()],
        wanted: value.to_owned(),
        owner: Owner::Os,
        reboot: Reboot::None,
        why: LeftWhy::Managed,
        because: "the kernel places these vectors by itself, one queue for the CPUs that use it"
            .to_owned(),
        by_hand: Vec::new(),
    }
}

/// The channels that a port will have, where the plan changes them.
pub(super) fn channels_after(draft: &Draft, nic: &str) -> Option<usize> {
    let change = draft.changes.iter().find(|one| {
        one.planned.place == Place::Ethtool { what: Ethtool::Channels }
            && one.planned.device.as_ref().is_some_and(|device| device.name == nic)
    })?;
    let words = change.planned.to.split_whitespace();
    words.filter_map(|word| word.strip_prefix("combined=")).find_map(|count| count.parse().ok())
}

/// The ports of one node share its cores. They are left as they are where each interrupt can be
/// taken on the node only: a person who put them there had a reason.
fn of_node(
    work: &Work<'_>,
    node: NodeId,
    ports: &[Port<'_>],
    pools: &mut Pools<'_>,
    taken: &mut Taken,
    draft: &mut Draft,
) {
    let Some(pool) = pools.near(node) else { return };
    let working: Vec<&Port<'_>> = ports.iter().filter(|port| is_worth(work, port)).collect();
    let far = has_far_nodes(work);
    let is_wrong = |port: &&&Port<'_>| {
        far && by_goal(work, NIC, &port.device)
            && (port.is_reset || is_far(work, port, &pool.wide) || is_piled(work, port, pool.cores))
    };
    let wrong: Vec<&str> =
        working.iter().filter(is_wrong).map(|port| port.nic.name.as_str()).collect();
    let is_triggered = !wrong.is_empty();
    for port in working {
        let cpus: Vec<Cpu> = port.queues.iter().map_while(|_| pool.take()).collect();
        if named(work, super::XPS, &port.device).is_some() {
            let own = taken_on(work, port);
            let is_spread = own.iter().collect::<BTreeSet<_>>().len() == own.len();
            let users = if is_spread { &own } else { &cpus };
            steering::transmit(work, port, users, Asked::ByName, draft);
        }
        if !far || !by_goal(work, NIC, &port.device) {
            // Asked for alone, irqbalance leaves the queues where they are.
            if far && by_goal(work, super::BALANCE, &port.device) {
                keep_from_balance(port, taken);
            }
            continue;
        }
        if is_triggered {
            let because = because(work, port, &wrong);
            move_queues(work, port, &cpus, &because, Asked::ByGoal, taken, draft);
            move_others(work, port, &pool.wide, &pool.cpus, &because, taken, draft);
        } else {
            settle(work, port, taken, draft);
        }
        let is_crossed = found(work, super::XPS, &port.nic.name).is_some();
        if is_triggered {
            steering::transmit(work, port, &cpus, Asked::ByGoal, draft);
        } else if is_crossed {
            steering::transmit(work, port, &taken_on(work, port), Asked::ByGoal, draft);
        }
    }
}

/// Whether the goal places a port: its link is up, and its driver does not spread it on purpose.
fn is_worth(work: &Work<'_>, port: &Port<'_>) -> bool {
    let nic = port.nic;
    let is_up = nic.state == "up" || (nic.state == "unknown" && nic.speed.is_ok());
    let node_from = nic.function.and_then(|at| work.machine().function(at)).map(|f| f.node_from);
    match nic.kind {
        NicKind::Paravirtual => {
            let cpus = work.machine().cpus.online.len();
            let is_on_purpose = port.queues.len() >= cpus && is_spread(work, port);
            is_up && !is_on_purpose && node_from == Some(NodeFrom::Own)
        }
        _ => is_up,
    }
}

/// Whether no two queues share a CPU. virtio-net gives each CPU its own; vmxnet3 has as many queues and
/// leaves all of them where they are.
fn is_spread(work: &Work<'_>, port: &Port<'_>) -> bool {
    let mut all = CpuSet::new();
    for queue in &port.queues {
        let Some(cpus) = queue.first().and_then(|vector| reach(work, vector)) else { return true };
        if all.overlaps(&cpus) {
            return false;
        }
        all = all.or(&cpus);
    }
    true
}

fn is_far(work: &Work<'_>, port: &Port<'_>, near: &CpuSet) -> bool {
    port.queues
        .iter()
        .flatten()
        .any(|one| reach(work, one).is_some_and(|cpus| !cpus.is_subset(near)))
}

/// Whether all of several queues wait for one CPU.
fn is_piled(work: &Work<'_>, port: &Port<'_>, cores: usize) -> bool {
    let mut all = CpuSet::new();
    for vector in port.queues.iter().flatten() {
        let Some(cpus) = reach(work, vector) else { return false };
        all = all.or(&cpus);
    }
    port.queues.len() > 1 && cores > 1 && all.len() == 1
}

/// Why a port's interrupts are moved: for its own sake, or for that of others on its node.
fn because(work: &Work<'_>, port: &Port<'_>, wrong: &[&str]) -> String {
    let (name, node) = (&port.nic.name, port.node);
    if wrong.contains(&name.as_str()) {
        let doubt = if port.is_reset { "" } else { doubt(work, NIC, name) };
        return format!("{name} hangs on node {node}: one core there serves each queue{doubt}");
    }
    format!(
        "{name} shares the cores of node {node} with {}, whose queues are moved there: none shall \
         serve two while others serve none",
        wrong.join(", ")
    )
}

/// The first CPU that each queue is taken on now.
fn taken_on(work: &Work<'_>, port: &Port<'_>) -> Vec<Cpu> {
    let first = |queue: &Vec<Vector<'_>>| reach(work, queue.first()?)?.first();
    port.queues.iter().map_while(first).collect()
}

/// Keeps a port's queues as they are, also where its device is opened again.
fn settle(work: &Work<'_>, port: &Port<'_>, taken: &mut Taken, draft: &mut Draft) {
    let cpus = &work.machine().cpus;
    let free = cpus.online.minus(&cpus.isolated);
    for vector in port.queues.iter().flatten() {
        let Some(irq) = vector.irq else { continue };
        taken.placed.insert(irq.number);
        taken.queues.insert(irq.number);
        match &irq.affinity {
            Ok(affinity) if affinity.is_subset(&free) => {
                let to = affinity.to_string();
                let because = format!("{} is near already, and stays so", port.nic.name);
                move_one(work, port, vector, to, because, Asked::ByGoal, taken, draft);
            }
            _ => draft.equal(NIC, 1),
        }
    }
}

fn move_queues(
    work: &Work<'_>,
    port: &Port<'_>,
    cpus: &[Cpu],
    because: &str,
    asked: Asked,
    taken: &mut Taken,
    draft: &mut Draft,
) {
    for (queue, cpu) in port.queues.iter().zip(cpus) {
        for vector in queue {
            let to = cpu.to_string();
            move_one(work, port, vector, to, because.to_owned(), asked, taken, draft);
        }
    }
    keep_from_balance(port, taken);
}

/// irqbalance is to leave a port's queues alone.
fn keep_from_balance(port: &Port<'_>, taken: &mut Taken) {
    if port.is_reset {
        taken.renumbered.extend(port.nic.function);
    } else {
        let irqs = port.queues.iter().flatten().filter_map(|vector| vector.irq);
        taken.queues.extend(irqs.map(|irq| irq.number));
    }
}

#[expect(clippy::too_many_arguments, reason = "a move, who asked for it, and where it goes")]
fn move_one(
    work: &Work<'_>,
    port: &Port<'_>,
    vector: &Vector<'_>,
    to: String,
    because: String,
    asked: Asked,
    taken: &mut Taken,
    draft: &mut Draft,
) {
    taken.placed.extend(vector.irq.map(|irq| irq.number));
    let device = port.device.clone();
    draft.change(Move { setting: NIC, device, vector, to, because }.drafted(work, asked));
}

/// Vectors for links, mailboxes and errors go anywhere on the node, along with the queues: they fire
/// seldom, and alone are not worth a change.
fn move_others(
    work: &Work<'_>,
    port: &Port<'_>,
    near: &CpuSet,
    cpus: &CpuSet,
    because: &str,
    taken: &mut Taken,
    draft: &mut Draft,
) {
    for vector in &port.others {
        match reach(work, vector) {
            Some(reach) if !reach.is_subset(near) || port.is_reset => {
                let to = cpus.to_string();
                move_one(work, port, vector, to, because.to_owned(), Asked::ByGoal, taken, draft);
            }
            Some(_) => draft.equal(NIC, 1),
            None => {}
        }
    }
}

fn by_name(
    work: &Work<'_>,
    port: &Port<'_>,
    value: &str,
    pools: &mut Pools<'_>,
    taken: &mut Taken,
    draft: &mut Draft,
) {
    match chosen(work, port, value, pools) {
        Ok(Chosen::Each(cpus)) => {
            move_queues(work, port, &cpus, "asked for by name", Asked::ByName, taken, draft);
            if work.request.goal.is_some() || named(work, super::XPS, &port.device).is_some() {
                steering::transmit(work, port, &cpus, Asked::ByName, draft);
            }
        }
        Ok(Chosen::All(cpus)) => {
            for vector in port.queues.iter().flatten() {
                let because = "asked for by name".to_owned();
                let to = cpus.to_string();
                move_one(work, port, vector, to, because, Asked::ByName, taken, draft);
            }
            keep_from_balance(port, taken);
        }
        Err(because) => draft.leave(impossible(NIC, &port.nic.name, value, &because)),
    }
}

/// CPUs as a name chose them.
enum Chosen {
    /// One for each queue.
    Each(Vec<Cpu>),
    /// All of them for each queue.
    All(CpuSet),
}

fn chosen(
    work: &Work<'_>,
    port: &Port<'_>,
    value: &str,
    pools: &mut Pools<'_>,
) -> Result<Chosen, String> {
    let none = |node: NodeId| format!("node {node} has no CPU that may take interrupts");
    match value.parse::<Where>()? {
        Where::Near => {
            let pool = pools.near(port.node).ok_or_else(|| none(port.node))?;
            Ok(Chosen::Each(port.queues.iter().map_while(|_| pool.take()).collect()))
        }
        Where::Node(node) => {
            let pool = pools.exactly(node).ok_or_else(|| none(node))?;
            Ok(Chosen::Each(port.queues.iter().map_while(|_| pool.take()).collect()))
        }
        Where::Whole(node) => {
            let pool = match node {
                Some(node) => pools.exactly(node),
                None => pools.near(port.node),
            };
            Ok(Chosen::All(pool.ok_or_else(|| none(node.unwrap_or(port.node)))?.cpus.clone()))
        }
        Where::Cpus(cpus) => {
            demand_online(work, &cpus)?;
            Ok(Chosen::Each(cpus.iter().copied().cycle().take(port.queues.len()).collect()))
        }
    }
}
