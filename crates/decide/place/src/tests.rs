// SPDX-License-Identifier: MIT OR Apache-2.0
//! Placements on machines of a few lines.

use machine::{
    Cache, CacheKind, CoreKind, End, Fact, Irq, IrqSource, Machine, Managed, Node, NodeFrom, Site,
    Target, Thread, Why,
};
use proptest::prelude::*;
use units::{Bytes, Cpu, CpuSet, NodeId, PciAddress};

use crate::{Ask, Interrupts, Placement, Policy, Refusal, place};

fn list(text: &str) -> CpuSet {
    CpuSet::from_list(text).unwrap()
}

fn address(text: &str) -> PciAddress {
    text.parse().unwrap()
}

/// Two nodes of four cores with two threads (n, n + 8), two L3 domains each; node 2 is memory only.
fn machine() -> Machine {
    let node = |id: u32, cpus, distances: [u32; 3]| Node {
        memory: Ok(Bytes(1 << 30)),
        distances: (0..).map(NodeId).zip(distances).collect(),
        ..Node::new(NodeId(id), list(cpus))
    };
    let domain = |cpus| {
        let (level, kind, size) = (3, CacheKind::Unified, Ok(Bytes(1 << 25)));
        Cache { level, kind, size, cpus: list(cpus) }
    };
    let mut machine = Machine {
        nodes: vec![
            node(0, "0-3,8-11", [10, 21, 17]),
            node(1, "4-7,12-15", [21, 10, 28]),
            node(2, "", [17, 28, 10]),
        ],
        caches: ["0-1,8-9", "2-3,10-11", "4-5,12-13", "6-7,14-15"].map(domain).to_vec(),
        ..Machine::default()
    };
    machine.cpus.online = list("0-15");
    machine.cpus.allowed = list("0-15");
    machine.cpus.threads = (0..16)
        .map(|cpu| Thread { core: Cpu(cpu % 8), rank: cpu / 8, ..Thread::new(Cpu(cpu)) })
        .collect();
    machine
}

fn end(device: &str, node: Option<u32>) -> End {
    End {
        device: device.to_owned(),
        function: Some(address("0000:17:00.0")),
        node: node.map(NodeId),
        node_from: NodeFrom::Own,
        local_cpus: CpuSet::new(),
        doubt: None,
    }
}

fn near(machine: Machine, ends: Vec<End>) -> Site {
    let target = |end: End| Target { asked: end.device.clone(), ends: vec![end], way: Vec::new() };
    let targets = ends.into_iter().map(target).collect();
    Site { machine, targets, memory_allowed: Err(Why::Absent) }
}

fn site(node: u32) -> Site {
    near(machine(), vec![end("nvme0n1", Some(node))])
}

fn cores(count: u32) -> Ask {
    Ask { cores: Some(count.try_into().unwrap()), ..Ask::default() }
}

fn first_threads(ask: Ask) -> Ask {
    Ask { threads_per_core: Some(1.try_into().unwrap()), ..ask }
}

/// `CPUs on memory`.
fn text(placement: &Placement) -> String {
    format!("{} on {}", placement.cpus, placement.memory.nodes)
}

fn placed(site: &Site, ask: &Ask) -> String {
    place(site, ask).map_or_else(|refusal| refusal.to_string(), |placement| text(&placement))
}

#[test]
fn a_drive_gets_its_node() {
    assert_eq!(placed(&site(0), &Ask::default()), "0-3,8-11 on 0");
    assert_eq!(placed(&site(1), &Ask::default()), "4-7,12-15 on 1");
    let why = place(&site(1), &Ask::default()).unwrap().because;
    assert_eq!(why, ["nvme0n1 is on node 1, as the firmware says"]);
}

#[test]
fn cores_are_whole_and_spread_over_l3_domains() {
    assert_eq!(placed(&site(0), &cores(1)), "0,8 on 0");
    assert_eq!(placed(&site(0), &cores(2)), "0,2,8,10 on 0");
    assert_eq!(placed(&site(0), &first_threads(cores(3))), "0-2 on 0");
    assert_eq!(placed(&site(0), &first_threads(Ask::default())), "0-3 on 0");
    let wanted = "5 cores are asked for and 4 near nvme0n1 can be used";
    assert_eq!(placed(&site(0), &cores(5)), wanted);
}

#[test]
fn fast_and_whole_cores_come_first() {
    let mut machine = machine();
    for thread in machine.cpus.threads.iter_mut().filter(|thread| thread.core == Cpu(0)) {
        thread.kind = CoreKind::Efficiency;
    }
    for thread in machine.cpus.threads.iter_mut().filter(|thread| thread.core != Cpu(0)) {
        thread.kind = CoreKind::Performance;
    }
    machine.cpus.isolated = list("10");
    let site = near(machine, vec![end("eth0", Some(0))]);
    assert_eq!(placed(&site, &cores(2)), "1,3,9,11 on 0");
    let all = place(&site, &cores(4)).unwrap();
    assert_eq!(text(&all), "0-3,8-9,11 on 0");
    assert!(all.doubts.iter().any(|doubt| doubt.contains("CPUs 2 have siblings")), "{all:?}");
}

#[test]
fn what_may_not_be_used_is_left_out_with_its_reason() {
    let mut machine = machine();
    machine.cpus.online = list("0-14");
    machine.cpus.allowed = list("0-7,12-15");
    machine.cpus.isolated = list("5");
    let site = near(machine, vec![end("nvme0n1", Some(1))]);
    let placement = place(&site, &Ask::default()).unwrap();
    assert_eq!(text(&placement), "4,6-7,12-14 on 1");
    let left: Vec<String> = placement.left_out.iter().map(ToString::to_string).collect();
    assert_eq!(left, ["CPUs 15: offline", "CPUs 5: isolated, and not named with --cpus"]);
    let named = Ask { among: Some(list("5,6,15")), ..Ask::default() };
    assert_eq!(placed(&site, &named), "5-6 on 1");
    let far = Ask { among: Some(list("0-3")), ..Ask::default() };
    let refusal = placed(&site, &far);
    assert!(
        refusal.starts_with("no CPU near nvme0n1 can be used: CPUs 15: offline; "),
        "{refusal}"
    );
    assert!(refusal.ends_with("CPUs 4-7,12-14: not among the CPUs named"), "{refusal}");
}

#[test]
fn isolated_cpus_that_are_named_come_with_a_warning() {
    let mut machine = machine();
    machine.cpus.isolated = list("2-3");
    let site = near(machine, vec![end("eth0", Some(0))]);
    let named = Ask { among: Some(list("2-3")), ..Ask::default() };
    let placement = place(&site, &named).unwrap();
    assert_eq!(text(&placement), "2-3 on 0");
    assert!(placement.doubts[0].contains("does not spread threads over them"));
}

#[test]
fn a_node_that_is_unknown_is_never_guessed() {
    let unknown = near(machine(), vec![end("vda", None)]);
    let refused = Err(Refusal::NodeUnknown { device: "vda".to_owned() });
    assert_eq!(place(&unknown, &Ask::default()), refused);
    let mut everywhere = end("vda", None);
    everywhere.local_cpus = list("0-15");
    assert_eq!(place(&near(machine(), vec![everywhere]), &Ask::default()), refused);
    let mut absent = end("vda", Some(7));
    assert_eq!(place(&near(machine(), vec![absent.clone()]), &Ask::default()), refused);
    absent.local_cpus = list("4-7");
    assert_eq!(placed(&near(machine(), vec![absent]), &Ask::default()), "4-7 on 1");
}

#[test]
fn a_node_without_cpus_or_memory_leads_to_the_nearest() {
    assert_eq!(placed(&site(2), &Ask::default()), "0-3,8-11 on 0");
    let mut lone = machine();
    lone.nodes[2].distances.clear();
    let refusal = placed(&near(lone, vec![end("gpu", Some(2))]), &Ask::default());
    assert_eq!(refusal, "node 2 of gpu has no CPUs, and no distances tell which are near");
    let mut bare = machine();
    bare.nodes[0].memory = Ok(Bytes(0));
    let placement = place(&near(bare, vec![end("sda", Some(0))]), &Ask::default()).unwrap();
    assert_eq!(text(&placement), "0-3,8-11 on 2");
    let left = placement.left_out[0].to_string();
    assert_eq!(left, "memory of nodes 0: it has none; nearest is node 2, at distance 17");
}

#[test]
fn a_machine_without_nodes_has_one_memory() {
    let mut machine = machine();
    machine.nodes.clear();
    let placement = place(&near(machine, vec![end("sda", None)]), &Ask::default()).unwrap();
    assert_eq!((placement.cpus, placement.memory.policy), (list("0-15"), Policy::Local));
}

#[test]
fn devices_on_two_nodes_get_both() {
    let ends = vec![end("nvme0n1", Some(0)), end("eth1", Some(1))];
    let site = near(machine(), ends);
    let placement = place(&site, &cores(3)).unwrap();
    assert_eq!(text(&placement), "0,2,4,8,10,12 on 0-1");
    let doubt = "the devices are on different nodes, so that no CPU is near all of them: nvme0n1 on \
                 node 0; eth1 on node 1";
    assert_eq!(placement.doubts, [doubt]);
}

#[test]
fn memory_that_the_cpuset_forbids_is_refused() {
    let ends = vec![end("nvme0n1", Some(0)), end("eth1", Some(1))];
    let mut site = near(machine(), ends);
    site.memory_allowed = Ok(list("1-2"));
    let placement = place(&site, &Ask::default()).unwrap();
    assert_eq!(text(&placement), "0-15 on 1");
    assert_eq!(
        placement.left_out[0].to_string(),
        "memory of nodes 0: the cpuset does not allow it"
    );
    site.memory_allowed = Ok(list("2"));
    assert!(matches!(place(&site, &Ask::default()), Err(Refusal::NoMemory { .. })));
    let local = Ask { policy: Policy::Local, ..Ask::default() };
    assert_eq!(placed(&site, &local), "0-15 on ");
}

fn irq(number: u32, effective: Fact<&str>, count: u64, managed: Managed) -> Irq {
    Irq {
        number,
        actions: Vec::new(),
        chip: String::new(),
        source: Some(IrqSource {
            function: Some(address("0000:17:00.0")),
            device: "eth0".to_owned(),
            queue: Some(number),
            is_io: true,
            by_msi: true,
        }),
        affinity: Err(Why::Absent),
        effective: effective.map(list),
        hint: CpuSet::new(),
        managed,
        counts: if count > 0 { vec![(number, count)] } else { Vec::new() },
    }
}

fn avoiding(irqs: Vec<Irq>, ask: Ask) -> Placement {
    let site = near(Machine { irqs, ..machine() }, vec![end("eth0", Some(0))]);
    place(&site, &Ask { interrupts: Interrupts::Avoid, ..ask }).unwrap()
}

#[test]
fn cores_with_interrupts_are_left_out_while_others_remain() {
    let irqs = vec![
        irq(1, Ok("9"), 5, Managed::No),
        irq(2, Ok("2"), 0, Managed::No),
        irq(3, Ok("3"), 9, Managed::Told),
    ];
    let placement = avoiding(irqs, Ask::default());
    assert_eq!(text(&placement), "0,2-3,8,10-11 on 0");
    assert_eq!(
        placement.left_out[0].to_string(),
        "CPUs 1,9: their cores serve the devices' interrupts"
    );
    assert!(placement.because[1].contains("(1 of them)"), "{placement:?}");
}

#[test]
fn the_busiest_go_first_and_a_full_node_is_shared() {
    let busy = |number: u32, count| irq(number, Err(Why::Absent), count, Managed::No);
    let all = || vec![busy(0, 1), busy(1, 9), busy(2, 4), busy(3, 2)];
    assert_eq!(text(&avoiding(all(), cores(2))), "0,3,8,11 on 0");
    let shared = avoiding(all(), Ask::default());
    assert_eq!(text(&shared), "0-3,8-11 on 0");
    assert!(shared.doubts[0].starts_with("4 of the 4 cores"), "{shared:?}");
}

fn any_set() -> impl Strategy<Value = CpuSet> {
    proptest::collection::btree_set(0_u32..16, 0..16)
        .prop_map(|cpus| cpus.into_iter().map(Cpu).collect())
}

proptest! {
    /// Whatever is asked: CPUs are near, online, allowed, as many as asked, and nothing vanishes
    /// without a reason.
    #[test]
    fn a_placement_keeps_to_its_limits(
        (online, allowed, isolated) in (any_set(), any_set(), any_set()),
        nodes in proptest::collection::vec(0_u32..3, 1..4),
        (count, threads) in (0_u32..6, 0_u32..3),
        avoid in any::<bool>(),
        busy in proptest::collection::vec((0_u32..16, 0_u64..9), 0..6),
    ) {
        let mut machine = machine();
        machine.cpus.online = online.clone();
        machine.cpus.allowed = allowed.clone();
        machine.cpus.isolated = isolated.clone();
        machine.cpus.threads.iter_mut().for_each(|thread| thread.online = online.contains(thread.cpu));
        machine.irqs =
            busy.into_iter().map(|(cpu, n)| irq(cpu, Err(Why::Absent), n, Managed::No)).collect();
        let ends = nodes.iter().map(|node| end(&format!("d{node}"), Some(*node))).collect();
        let ask = Ask {
            cores: count.try_into().ok(),
            threads_per_core: threads.try_into().ok(),
            interrupts: if avoid { Interrupts::Avoid } else { Interrupts::Share },
            ..Ask::default()
        };
        let site = near(machine, ends);
        let Ok(placement) = place(&site, &ask) else { return Ok(()) };
        let near = site.machine.nodes.iter().filter(|node| placement.nodes.contains(Cpu(node.id.0)));
        let near = near.fold(CpuSet::new(), |all, node| all.or(&node.cpus));
        let usable = near.and(&online).and(&allowed).minus(&isolated);
        prop_assert!(!placement.cpus.is_empty() && placement.cpus.is_subset(&usable));
        if count > 0 {
            prop_assert_eq!(placement.cores.len(), count as usize);
        }
        if threads > 0 {
            prop_assert!(placement.cores.iter().all(|core| core.len() <= threads as usize));
        }
        if count == 0 && threads == 0 {
            let out = placement.left_out.iter().filter(|left| left.what == "CPUs");
            let out = out.fold(CpuSet::new(), |all, left| all.or(&left.which));
            prop_assert_eq!(placement.cpus.or(&out), near);
            prop_assert!(!placement.cpus.overlaps(&out));
        }
    }
}
