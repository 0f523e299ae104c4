// SPDX-License-Identifier: MIT OR Apache-2.0
//! Host, CPUs, nodes, caches.

use machine::{Cache, CacheKind, Host, Machine, Node, Smt, Thread, Why};
use units::{Bytes, Cpu, CpuSet, NodeId, PackageId};

/// How the cores of a machine are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Node after node.
    Linear,
    /// A core of each node in turn.
    RoundRobin,
}

/// What a machine's CPUs look like. Second threads are numbered after all first ones.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Packages.
    pub packages: u32,
    /// Nodes of a package.
    pub nodes: u32,
    /// Cores of a node.
    pub cores: u32,
    /// Threads of a core.
    pub threads: u32,
    /// How the cores are numbered.
    pub order: Order,
}

impl Shape {
    fn node_count(self) -> u32 {
        self.packages * self.nodes
    }

    fn thread(self, cpu: u32) -> Thread {
        let all = self.node_count() * self.cores;
        let core = cpu % all;
        let node = match self.order {
            Order::Linear => core / self.cores,
            Order::RoundRobin => core % self.node_count(),
        };
        Thread {
            package: Ok(PackageId(node / self.nodes)),
            die: Ok(0),
            core: Cpu(core),
            rank: cpu / all,
            node: Some(NodeId(node)),
            ..Thread::new(Cpu(cpu))
        }
    }
}

/// A machine of that shape, without devices: a server of no maker's, one L3 cache and 96 GiB a node.
pub fn server(shape: Shape) -> Machine {
    let mut machine = Machine { host: host(), ..Machine::default() };
    let count = shape.node_count() * shape.cores * shape.threads;
    machine.cpus.threads = (0..count).map(|cpu| shape.thread(cpu)).collect();
    machine.cpus.online = machine.cpus.threads.iter().map(|thread| thread.cpu).collect();
    machine.cpus.allowed = machine.cpus.online.clone();
    let state = if shape.threads > 1 { "on" } else { "notsupported" };
    machine.cpus.smt = Smt { threads_per_core: shape.threads, state: state.to_owned() };
    for id in 0..shape.node_count() {
        add_node(&mut machine, shape, id);
    }
    machine
}

/// `packages` of `nodes` each, `cores` a node, one thread a core.
pub fn bare(packages: u32, nodes: u32, cores: u32, order: Order) -> Machine {
    server(Shape { packages, nodes, cores, threads: 1, order })
}

fn host() -> Host {
    Host {
        vendor: Ok("Example Inc.".to_owned()),
        product: Ok("Server 24".to_owned()),
        firmware: Ok("1.4.2 (03/02/2026)".to_owned()),
        kernel: Ok("6.12.0".to_owned()),
        cpu_model: Ok("Example 9000 64-Core Processor".to_owned()),
        cpu_vendor: Ok("GenuineIntel".to_owned()),
        cpu_family_model: Ok((6, 143)),
        cpu_flags: ["monitor", "vmx", "x2apic"].map(str::to_owned).to_vec(),
        ..Host::default()
    }
}

fn add_node(machine: &mut Machine, shape: Shape, id: u32) {
    let here = machine.cpus.threads.iter().filter(|thread| thread.node == Some(NodeId(id)));
    let cpus: CpuSet = here.map(|thread| thread.cpu).collect();
    let distance = |other: u32| match other {
        other if other == id => 10,
        other if other / shape.nodes == id / shape.nodes => 12,
        _ => 21,
    };
    machine.caches.push(Cache {
        level: 3,
        kind: CacheKind::Unified,
        size: Ok(Bytes(32 << 20)),
        cpus: cpus.clone(),
    });
    machine.nodes.push(Node {
        memory_free: Ok(Bytes(81 << 30)),
        distances: (0..shape.node_count()).map(|other| (NodeId(other), distance(other))).collect(),
        ..node(id, cpus, 96)
    });
}

/// A node of `gib` GiB that nobody uses yet.
pub fn node(id: u32, cpus: CpuSet, gib: u64) -> Node {
    let memory = Ok::<_, Why>(Bytes(gib << 30));
    Node { memory: memory.clone(), memory_free: memory, ..Node::new(NodeId(id), cpus) }
}

/// The CPUs of a list: `0-3,8`.
pub fn set(list: &str) -> CpuSet {
    CpuSet::from_list(list).expect("a test writes a list")
}
