// SPDX-License-Identifier: MIT OR Apache-2.0
//! The planner on machines made for one thing each.

mod drives;
mod moved;
mod queues;
mod wishes;

use audit::Subject;
use catalogue::Catalogue;
use machine::{
    Carries, Channels, CoreKind, Function, Irq, IrqSource, Machine, Managed, Nic, NicKind, Node,
    NodeFrom, Pause, Rings, RxQueue, Service, Thread, TxQueue, Why,
};
use setting::{Goal, LeftWhy, Observation, Place, Plan};
use units::{BitRate, Cpu, CpuSet, NodeId, PackageId};

use crate::{Named, Queues, Refusal, Request, check, plan, script, undo_script};

/// irqbalance as it runs, with the text of its file.
fn irqbalance(file: &str) -> Service {
    Service {
        name: "irqbalance".to_owned(),
        running: Ok(true),
        enabled: Ok(true),
        seen: None,
        configuration: Some(("/etc/default/irqbalance".to_owned(), file.to_owned())),
    }
}

/// Two nodes of 40 CPUs, one thread a core: CPUs 0 to 39 and 40 to 79.
fn machine() -> Machine {
    let list = |text: &str| CpuSet::from_list(text).unwrap();
    let node = |id: u32, cpus: &str| Node {
        distances: vec![(NodeId(0), 10 + 11 * id), (NodeId(1), 21 - 11 * id)],
        ..Node::new(NodeId(id), list(cpus))
    };
    let mut machine =
        Machine { nodes: vec![node(0, "0-39"), node(1, "40-79")], ..Machine::default() };
    machine.cpus.online = list("0-79");
    machine.cpus.allowed = list("0-79");
    machine.cpus.threads = (0..80)
        .map(|cpu| Thread {
            node: Some(NodeId(cpu / 40)),
            package: Ok(PackageId(cpu / 40)),
            kind: CoreKind::Uniform,
            ..Thread::new(Cpu(cpu))
        })
        .collect();
    machine
}

/// A port on node 1 with `queues` queues, whose interrupts may go anywhere.
fn add_port(machine: &mut Machine, name: &str, bus: u8, queues: u32) {
    let address = format!("0000:{bus:02x}:00.0").parse().unwrap();
    let mut function = Function::new(address);
    function.node = Some(NodeId(1));
    function.node_from = NodeFrom::Own;
    function.driver = Some("mlx5_core".to_owned());
    machine.functions.push(function);
    let all = || Ok(machine.cpus.online.clone());
    let rx = |number| RxQueue { number, rps: Ok(CpuSet::new()), flow_count: Ok(0) };
    let tx = |number| TxQueue { number, xps: Ok(CpuSet::new()) };
    machine.nics.push(Nic {
        name: name.to_owned(),
        kind: NicKind::Physical,
        mac: Ok(format!("02:00:00:00:00:{bus:02x}")),
        function: Some(address),
        node: Some(NodeId(1)),
        driver: Some("mlx5_core".to_owned()),
        firmware: None,
        speed: Ok(BitRate(100_000_000_000)),
        state: "up".to_owned(),
        mtu: Ok(1500),
        master: None,
        lower: Vec::new(),
        upper: Vec::new(),
        virtual_functions: None,
        rx_queues: (0..queues).map(rx).collect(),
        tx_queues: (0..queues).map(tx).collect(),
        channels: Ok(Channels { combined: Some((queues, 128)), ..Channels::default() }),
        rings: Ok(Rings { rx: Some((512, 8192)), tx: Some((512, 8192)), ..Rings::default() }),
        coalescing: Err(Why::NotSupported),
        pause: Ok(Pause { receive: true, transmit: true }),
        features: Ok(Vec::new()),
        receive_spread: Err(Why::NotSupported),
        port: None,
        in_use: true,
    });
    let first = machine.irqs.iter().map(|irq| irq.number).max().unwrap_or(100) + 1;
    let irq = |queue: u32| Irq {
        number: first + queue,
        actions: vec![format!("mlx5_comp{queue}@pci:{address}")],
        chip: "PCI-MSI".to_owned(),
        source: Some(IrqSource {
            function: Some(address),
            device: name.to_owned(),
            queue: Some(queue),
            is_io: true,
            by_msi: true,
        }),
        affinity: all(),
        effective: all(),
        hint: CpuSet::new(),
        managed: Managed::No,
        counts: Vec::new(),
    };
    let irqs: Vec<Irq> = (0..queues).map(irq).collect();
    machine.irqs.extend(irqs);
}

fn observed(setting: &str, value: &str) -> Observation {
    Observation {
        setting: setting.to_owned(),
        device: None,
        value: Ok(value.to_owned()),
        reason: String::new(),
        evidence: Vec::new(),
    }
}

fn planned(machine: &Machine, observations: &[Observation], request: &Request) -> Plan {
    let catalogue = Catalogue::built_in();
    let goal = request.goal.unwrap_or_default();
    let subject = Subject { machine, observations, catalogue: &catalogue, goal };
    check(&subject, request).unwrap();
    plan(&subject, request)
}

fn names(text: &[&str]) -> Request {
    let named = text.iter().map(|text| text.parse().unwrap()).collect();
    Request { named, ..Request::default() }
}

fn goal() -> Request {
    Request { goal: Some(Goal::Throughput), ..Request::default() }
}

/// The CPUs of a device's queues, in the order of the queues.
fn queues(plan: &Plan, device: &str) -> Vec<String> {
    let of = |one: &&setting::Planned| {
        matches!(one.place, Place::Interrupt { queue: Some(_), .. })
            && one.device.as_ref().is_some_and(|own| own.name == device)
    };
    plan.changes.iter().filter(of).map(|one| one.to.clone()).collect()
}

fn left(plan: &Plan, setting: &str) -> Vec<LeftWhy> {
    plan.left.iter().filter(|left| left.setting == setting).map(|left| left.why).collect()
}

fn settings(plan: &Plan) -> Vec<&str> {
    plan.changes.iter().map(|one| one.setting.as_str()).collect()
}

#[test]
fn a_list_is_taken_in_its_own_order() {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 4);
    let plan = planned(&machine, &[], &names(&["nic-irq-placement=3,1@eth0"]));
    assert_eq!(queues(&plan, "eth0"), ["3", "1", "3", "1"]);
    // CPUs 32 and above, and above 64, where masks have several words.
    let plan = planned(&machine, &[], &names(&["nic-irq-placement=cpus:36,65-66@eth0"]));
    assert_eq!(queues(&plan, "eth0"), ["36", "65", "66", "36"]);
}

#[test]
fn eth1_is_not_eth10() {
    let mut machine = machine();
    add_port(&mut machine, "eth10", 0x81, 2);
    add_port(&mut machine, "eth1", 0x82, 2);
    let plan = planned(&machine, &[], &names(&["nic-irq-placement=5@eth1"]));
    assert_eq!(queues(&plan, "eth1"), ["5", "5"]);
    assert!(queues(&plan, "eth10").is_empty());
}

#[test]
fn the_forms_of_the_vendors_scripts() {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 3);
    let to = |value: &str| {
        let request = names(&[&format!("nic-irq-placement={value}@eth0")]);
        queues(&planned(&machine, &[], &request), "eth0")
    };
    assert_eq!(to("near"), ["40", "41", "42"]);
    assert_eq!(to("node:0"), ["0", "1", "2"]);
    assert_eq!(to("whole-node"), ["40-79", "40-79", "40-79"]);
    assert_eq!(to("whole-node:0"), ["0-39", "0-39", "0-39"]);
}

#[test]
fn ports_of_a_node_share_its_cores() {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 24);
    add_port(&mut machine, "eth1", 0x82, 24);
    machine.cpus.isolated = CpuSet::from_list("40-41").unwrap();
    let plan = planned(&machine, &[], &goal());
    let all: Vec<String> = [queues(&plan, "eth0"), queues(&plan, "eth1")].concat();
    assert_eq!(all.len(), 48);
    for cpu in 42..80 {
        let count = all.iter().filter(|to| **to == cpu.to_string()).count();
        assert!((1..=2).contains(&count), "CPU {cpu}: {count}");
    }
    assert!(!all.iter().any(|to| to == "40" || to == "41"), "isolated");
}

#[test]
fn xps_gives_each_cpu_a_queue() {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 8);
    let plan = planned(&machine, &[], &goal());
    let mut all = CpuSet::new();
    let xps: Vec<CpuSet> = plan
        .changes
        .iter()
        .filter(|one| one.setting == "xps-placement")
        .map(|one| CpuSet::from_list(&one.to).unwrap())
        .collect();
    for (number, set) in (0..).zip(&xps) {
        assert!(set.contains(Cpu(40 + number)) && !all.overlaps(set), "{set}");
        all = all.or(set);
    }
    assert_eq!((xps.len(), all), (8, machine.cpus.online.clone()));
}

#[test]
fn more_queues_than_cores_become_fewer_only_if_asked() {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 64);
    let keep = planned(&machine, &[], &goal());
    assert_eq!(queues(&keep, "eth0").len(), 64);
    assert!(!settings(&keep).contains(&"nic-channels"));
    let fit = Request { queues: Queues::Fit, ..goal() };
    // The only port may carry the login.
    assert_eq!(left(&planned(&machine, &[], &fit), "nic-channels"), [LeftWhy::LockOut]);
    let named = Request { devices: vec!["eth0".to_owned()], ..fit };
    let plan = planned(&machine, &[], &named);
    assert_eq!(plan.changes.first().map(|one| one.to.as_str()), Some("combined=40"));
    assert_eq!(queues(&plan, "eth0").len(), 40);
    let text = script(&plan, &machine);
    assert!(text.contains("run ethtool -L 'eth0' 'combined' '40'"), "{text}");
    assert!(text.contains("irq_at '0000:81:00.0' 1 '40'"), "{text}");
}

#[test]
fn irqbalance_is_told_what_to_leave_and_stopped_only_if_asked() {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 2);
    let quiet = planned(&machine, &[], &goal());
    assert!(!quiet.changes.iter().any(|one| one.place == Place::BannedInterrupts));
    machine.host.services.push(irqbalance("OPTIONS=-i7"));
    let plan = planned(&machine, &[], &goal());
    let first = plan.changes.first().unwrap();
    assert_eq!((&first.place, first.to.as_str()), (&Place::BannedInterrupts, "7 101 102"));
    // The command that its finding names does no more than that.
    let alone = planned(&machine, &[], &Request { only: vec!["irqbalance".into()], ..goal() });
    let places: Vec<&Place> = alone.changes.iter().map(|one| &one.place).collect();
    assert_eq!(places, [&Place::BannedInterrupts]);
    assert_eq!(alone.left, []);
    let stopped = planned(&machine, &[], &names(&["irqbalance=stopped"]));
    let unit = "irqbalance.service".to_owned();
    assert_eq!(stopped.changes.first().map(|one| &one.place), Some(&Place::Service { unit }));
}

#[test]
fn a_link_that_carries_something_is_dropped_only_by_name() {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 2);
    add_port(&mut machine, "eth1", 0x82, 2);
    machine.carriers.insert("eth0".to_owned(), [Carries::Login].into());
    let request = Request { queues: Queues::Fit, ..goal() };
    machine.nodes[1].cpus = CpuSet::from_list("79").unwrap();
    let plan = planned(&machine, &[], &request);
    let dropped: Vec<_> = plan.changes.iter().filter_map(|one| one.drops_link.as_deref()).collect();
    assert_eq!(dropped, ["eth1"]);
    let left: Vec<_> = plan.left.iter().filter(|left| left.why == LeftWhy::LockOut).collect();
    assert!(left.iter().all(|left| left.because.contains("carries the login")), "{left:#?}");
    assert_eq!(left.len(), 1);
    let named = planned(&machine, &[], &names(&["nic-rx-ring=4096@eth0"]));
    assert_eq!(named.changes.first().and_then(|one| one.drops_link.as_deref()), Some("eth0"));
}

/// What a plan drops where `wish` changes two ports, and the login goes over a third device.
fn dropped_beside(change: impl Fn(&mut Machine)) -> Vec<String> {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 2);
    add_port(&mut machine, "eth1", 0x82, 2);
    add_port(&mut machine, "login", 0x83, 2);
    machine.nodes[1].cpus = CpuSet::from_list("79").unwrap();
    machine.carriers.insert("login".to_owned(), [Carries::Login].into());
    change(&mut machine);
    let plan = planned(&machine, &[], &Request { queues: Queues::Fit, ..goal() });
    plan.changes.iter().filter_map(|one| one.drops_link.clone()).collect()
}

#[test]
fn what_carries_the_login_in_kernel_or_card_is_not_dropped() {
    assert_eq!(dropped_beside(|_| {}), ["eth0", "eth1"]);
    let switched = dropped_beside(|machine| {
        let login = machine.nics.iter_mut().find(|nic| nic.name == "login").unwrap();
        (login.function, login.kind) = (None, NicKind::Virtual);
        let port = machine.nics.iter_mut().find(|nic| nic.name == "eth0").unwrap();
        port.master = Some("ovs-system".to_owned());
    });
    assert_eq!(switched, ["eth1"], "a port of the Open vSwitch bridge that has the address");
    let virtual_one = dropped_beside(|machine| {
        let physical = machine.nics.iter().find(|nic| nic.name == "eth0").unwrap().function;
        let login = machine.nics.iter().find(|nic| nic.name == "login").unwrap().function;
        let mut functions = machine.functions.iter_mut();
        let function = functions.find(|one| Some(one.address) == login).unwrap();
        function.physical_function = physical;
    });
    assert_eq!(virtual_one, ["eth1"], "the physical function of the login's virtual one");
}

fn checked(machine: &Machine, request: &Request) -> Result<(), Refusal> {
    let catalogue = Catalogue::built_in();
    let goal = request.goal.unwrap_or_default();
    check(&Subject { machine, observations: &[], catalogue: &catalogue, goal }, request)
}

#[test]
fn a_named_carrier_adds_to_what_is_guarded() {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 2);
    add_port(&mut machine, "eth1", 0x82, 2);
    machine.nodes[1].cpus = CpuSet::from_list("79").unwrap();
    let carries =
        |name: &str| Request { queues: Queues::Fit, carries: vec![name.to_owned()], ..goal() };
    let dropped = |machine: &Machine, name: &str| -> Vec<String> {
        let plan = planned(machine, &[], &carries(name));
        plan.changes.iter().filter_map(|one| one.drops_link.clone()).collect()
    };
    for name in ["eth0", "eth1"] {
        assert_eq!(dropped(&machine, name), Vec::<String>::new(), "the other may carry the login");
    }
    machine.carriers.insert("eth0".to_owned(), [Carries::Login].into());
    assert_eq!(dropped(&machine, "eth0"), ["eth1"]);
    assert_eq!(dropped(&machine, "eth1"), Vec::<String>::new());
    let refusal = checked(&machine, &carries("eht1")).unwrap_err();
    assert_eq!(refusal.what, "this machine has no network device called \"eht1\"");
    assert_eq!(refusal.help, "it has eth0, eth1");
}

#[test]
fn what_guards_the_machine_is_left_even_when_named() {
    let request = names(&["net.ipv4.tcp_syncookies=0", "kernel.randomize_va_space=0"]);
    let plan = planned(&machine(), &[], &request);
    assert!(plan.changes.is_empty());
    assert!(plan.left.iter().all(|left| left.why == LeftWhy::Security));
    assert_eq!(plan.left.len(), 2);
}

#[test]
fn queues_and_steering_by_name() {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 2);
    let plan = planned(&machine, &[], &names(&["xps-placement=matched@eth0"]));
    assert_eq!(settings(&plan), ["xps-placement", "xps-placement"]);
    machine.nics[0].rx_queues[1].rps = Ok(CpuSet::from_list("0-3").unwrap());
    let plan = planned(&machine, &[], &names(&["rps-placement=off@eth0"]));
    let to: Vec<&str> = plan.changes.iter().map(|one| one.to.as_str()).collect();
    assert_eq!(to, [""]);
    machine.irqs.clear();
    let plan = planned(&machine, &[], &names(&["nic-irq-placement=near@eth0"]));
    assert_eq!(left(&plan, "nic-irq-placement"), [LeftWhy::Prerequisite]);
}

#[test]
fn what_is_named_last_counts() {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 2);
    add_port(&mut machine, "eth1", 0x82, 2);
    let request = names(&["nic-rx-ring=1024", "nic-rx-ring=4096@eth1"]);
    let plan = planned(&machine, &[], &request);
    let to: Vec<&str> = plan.changes.iter().map(|one| one.to.as_str()).collect();
    assert_eq!(to, ["rx=1024", "rx=4096"]);
}

#[test]
fn one_of_a_pair_is_written_and_bounds_stay_bounds() {
    let seen = [observed("dirty-bytes", "0"), observed("dirty-ratio", "20")];
    let plan = planned(&machine(), &seen, &names(&["dirty-bytes=268435456", "dirty-ratio=5"]));
    assert_eq!(settings(&plan), ["dirty-bytes"]);
    assert_eq!(left(&plan, "dirty-ratio"), [LeftWhy::Conflict]);
    let seen =
        [observed("uncore-min-frequency", "800000"), observed("uncore-max-frequency", "1600000")];
    let up = ["uncore-min-frequency=2000000", "uncore-max-frequency=2200000"];
    let plan = planned(&machine(), &seen, &names(&up));
    assert_eq!(settings(&plan), ["uncore-max-frequency", "uncore-min-frequency"]);
    let percent = [observed("min-performance", "20"), observed("max-performance", "40")];
    let plan = planned(&machine(), &percent, &names(&["min-performance=50", "max-performance=60"]));
    assert_eq!(settings(&plan), ["max-performance", "min-performance"]);
    let down = ["uncore-max-frequency=700000", "uncore-min-frequency=600000"];
    let plan = planned(&machine(), &seen, &names(&down));
    assert_eq!(settings(&plan), ["uncore-min-frequency", "uncore-max-frequency"]);
    let undo = undo_script(&plan, &machine());
    let (max, min) = (undo.find("max_freq_khz"), undo.find("min_freq_khz"));
    assert!(max < min, "the way back goes up: {undo}");
    let plan = planned(&machine(), &seen, &names(&["uncore-min-frequency=1700000"]));
    assert_eq!(left(&plan, "uncore-min-frequency"), [LeftWhy::Prerequisite]);
}

#[test]
fn managed_vectors_are_left_and_said_so_if_asked() {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 4);
    machine.irqs.iter_mut().for_each(|irq| irq.managed = Managed::Told);
    assert!(queues(&planned(&machine, &[], &goal()), "eth0").is_empty());
    let plan = planned(&machine, &[], &names(&["nic-irq-placement=near@eth0"]));
    assert_eq!(left(&plan, "nic-irq-placement"), [LeftWhy::Managed]);
}

#[test]
fn a_paravirtual_driver_with_a_queue_for_each_cpu_keeps_its_spread() {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 80);
    machine.nics[0].kind = NicKind::Paravirtual;
    // vmxnet3 leaves all of its queues where the first one is.
    assert_eq!(queues(&planned(&machine, &[], &goal()), "eth0").len(), 80);
    for (cpu, irq) in (0..).zip(&mut machine.irqs) {
        irq.affinity = Ok([Cpu(cpu)].into_iter().collect());
    }
    assert!(queues(&planned(&machine, &[], &goal()), "eth0").is_empty());
    let mut few = self::machine();
    add_port(&mut few, "eth0", 0x81, 4);
    few.nics[0].kind = NicKind::Paravirtual;
    assert_eq!(queues(&planned(&few, &[], &goal()), "eth0"), ["40", "41", "42", "43"]);
}

/// virtio-net keeps the vectors of channels that were given up.
#[test]
fn vectors_of_no_queue_take_no_core() {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 4);
    add_port(&mut machine, "eth1", 0x82, 2);
    machine.nics[0].rx_queues.truncate(2);
    machine.nics[0].tx_queues.truncate(2);
    let plan = planned(&machine, &[], &goal());
    assert_eq!(queues(&plan, "eth0"), ["40", "41"]);
    assert_eq!(queues(&plan, "eth1"), ["42", "43"]);
}

#[test]
fn a_placement_that_is_near_already_is_left_alone() {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 4);
    for irq in &mut machine.irqs {
        irq.affinity = Ok(CpuSet::from_list("70-79").unwrap());
    }
    let plan = planned(&machine, &[], &goal());
    assert!(queues(&plan, "eth0").is_empty());
    assert!(
        plan.equal.iter().any(|(setting, count)| setting == "nic-irq-placement" && *count == 4)
    );
}

#[test]
fn hostile_names_reach_no_script() {
    for name in ["$(reboot)", "a'b", "-rf", "../x", "a\nreboot"] {
        let mut machine = machine();
        add_port(&mut machine, name, 0x81, 2);
        let plan = planned(&machine, &[], &goal());
        for text in [script(&plan, &machine), undo_script(&plan, &machine)] {
            let commands = text.lines().filter(|line| !line.trim_start().starts_with('#'));
            let bare: String = commands.flat_map(|line| line.split('\'').step_by(2)).collect();
            assert!(
                !bare.contains("reboot") && !bare.contains("-rf") && !bare.contains(".."),
                "{text}"
            );
        }
    }
}

#[test]
fn a_request_is_refused_with_what_to_do() {
    let machine = machine();
    let catalogue = Catalogue::built_in();
    let subject = Subject {
        machine: &machine,
        observations: &[],
        catalogue: &catalogue,
        goal: Goal::Throughput,
    };
    let refused = |text: &str| check(&subject, &names(&[text])).unwrap_err().to_string();
    assert!(refused("swappines=1").contains("did you mean \"swappiness\"?"));
    assert_eq!(
        refused("block-scheduler=fast"),
        "block-scheduler does not take \"fast\"\nhelp: values: none, mq-deadline, kyber, bfq"
    );
    for (typed, help) in [
        ("swappiness=low", "a number from 0 to 200"),
        ("swappiness=500", "a number from 0 to 200"),
        ("swappiness=-1", "a number from 0 to 200"),
        ("mtu=70000", "a number from 68 to 65535"),
        ("mtu=abc", "a number from 68 to 65535"),
        ("nic-rx-usecs=many", "its form is a number"),
    ] {
        assert!(refused(typed).ends_with(&format!("help: {help}")), "{}", refused(typed));
    }
    assert!(!refused("foo=1").contains("did you mean"), "c1e is not near foo");
    let own = refused("swappiness=10@eth0");
    assert!(own.starts_with("swappiness is the machine's, and eth0 has none"), "{own}");
    let twice = check(&subject, &names(&["swappiness=10", "swappiness=20"])).unwrap_err();
    assert_eq!(twice.what, "swappiness is asked for twice: 10 and 20");
    assert!(check(&subject, &names(&["swappiness=10", "swappiness=10"])).is_ok());
    assert!(refused("nic-rx-ring=1@eth7").contains("no device called \"eth7\""));
    assert!(refused("nic-irq-placement=left").contains("does not take"));
    assert!("swappiness".parse::<Named>().is_err());
}

#[test]
fn a_device_says_what_it_takes() {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 4);
    let catalogue = Catalogue::built_in();
    let subject = Subject {
        machine: &machine,
        observations: &[],
        catalogue: &catalogue,
        goal: Goal::Latency,
    };
    let refused = check(&subject, &names(&["nic-channels=129@eth0"])).unwrap_err();
    assert_eq!(refused.what, "nic-channels does not take \"129\" on eth0");
    assert!(refused.help.starts_with("eth0 takes combined from 1 to 128;"), "{refused}");
    assert!(check(&subject, &names(&["nic-channels=128@eth0"])).is_ok());
}

#[test]
fn what_is_named_and_left_is_known_from_what_the_goal_leaves() {
    let mut machine = machine();
    add_port(&mut machine, "eth0", 0x81, 4);
    machine.nics[0].rings = Err(Why::NotSupported);
    let request = Request { goal: Some(Goal::Throughput), ..names(&["nic-rx-ring=4096@eth0"]) };
    let plan = planned(&machine, &[], &request);
    let named: Vec<&str> = plan
        .left
        .iter()
        .filter(|left| crate::was_named(&machine, &request, left))
        .map(|left| left.setting.as_str())
        .collect();
    assert_eq!(named, ["nic-rx-ring"], "{:#?}", plan.left);
}

#[test]
fn what_a_plan_is_narrowed_to_is_answered() {
    let only = |setting: &str| Request {
        goal: Some(Goal::Throughput),
        only: vec![setting.to_owned()],
        ..Request::default()
    };
    let because = |seen: &[Observation], setting: &str| {
        let plan = planned(&machine(), seen, &only(setting));
        assert!(plan.changes.is_empty());
        plan.left.iter().map(|left| left.because.clone()).collect::<Vec<_>>()
    };
    let as_wanted = [observed("swappiness", "5")];
    assert_eq!(because(&as_wanted, "swappiness"), [""; 0]);
    let plan = planned(&machine(), &as_wanted, &only("swappiness"));
    assert_eq!(plan.equal, [("swappiness".to_owned(), 1)]);
    assert_eq!(because(&[], "swappiness"), ["nothing here has this setting"]);
    let wish = because(&[], "mtu");
    assert_eq!(wish, ["the goal throughput has no wish for it: --set mtu=VALUE"]);
    let mut unknown = observed("swappiness", "");
    unknown.value = Err(Why::Denied);
    assert_eq!(
        because(&[unknown], "swappiness"),
        ["its value here is not known: permission denied"]
    );
}

#[test]
fn a_link_without_hardware_takes_what_it_has_by_name() {
    let mut machine = machine();
    add_port(&mut machine, "bond0", 0x81, 1);
    machine.nics[0].kind = NicKind::Bond;
    let plan = planned(&machine, &[], &names(&["mtu=9000@bond0", "nic-tx-queue-length=77@bond0"]));
    assert_eq!(settings(&plan), ["mtu", "nic-tx-queue-length"]);
    let mtu = plan.changes.first().unwrap();
    assert_eq!((mtu.from.as_deref(), mtu.drops_link.as_deref()), (Ok("1500"), Some("bond0")));
    // Without its name nothing is wished of it.
    let plan = planned(&machine, &[], &names(&["mtu=9000"]));
    assert!(plan.changes.is_empty());
    machine.carriers.insert("bond0".to_owned(), [Carries::DefaultRoute].into());
    let request = names(&["mtu=9000@bond0"]);
    let plan = planned(&machine, &[], &request);
    let dropped = crate::dropped_links(&machine, &request, &plan);
    let expected = [("bond0".to_owned(), "carries the default route".to_owned())];
    assert_eq!(dropped, expected.into());
}

#[test]
fn a_limit_that_zeroes_another_comes_back_by_the_other() {
    let seen = [observed("dirty-bytes", "0"), observed("dirty-ratio", "20")];
    let plan = planned(&machine(), &seen, &names(&["dirty-bytes=268435456"]));
    let undo = undo_script(&plan, &machine());
    assert!(undo.contains("put \"$ROOT\"'/proc/sys/vm/dirty_ratio' '20'"), "{undo}");
    assert!(!undo.contains("dirty_bytes' '0'"), "{undo}");
    let unknown = [observed("dirty-bytes", "0")];
    let plan = planned(&machine(), &unknown, &names(&["dirty-bytes=268435456"]));
    let undo = undo_script(&plan, &machine());
    assert!(undo.contains("fail '/proc/sys/vm/dirty_bytes"), "{undo}");
}
