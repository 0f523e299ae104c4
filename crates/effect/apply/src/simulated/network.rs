// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ethtool sets, and how drivers take it.

use std::collections::BTreeMap;

use machine::{Channels, Coalescing, Fact, Feature, ReceiveSpread, Rings};
use root::{Question, Root};
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use setting::{Ethtool, feature_name};
use units::{Cpu, CpuSet, PciAddress};

use super::files::print_mask;
use super::{Simulated, interrupts};
use crate::kernel::OWN_SPREAD;
use crate::pairs::{self, Pairs};

/// Features that need scatter-gather (`netdev_fix_features`, net/core/dev.c).
const NEED_SCATTER: [&str; 2] = ["tx-tcp-segmentation", "tx-generic-segmentation"];
const SCATTER: &str = "tx-scatter-gather";

/// A network device as ethtool knows it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Port {
    driver: String,
    channels: Option<Channels>,
    rings: Option<Rings>,
    coalescing: Option<Coalescing>,
    /// Negotiated, receive, transmit.
    pause: Option<[bool; 3]>,
    features: Vec<Feature>,
    spread: Vec<u32>,
    /// Whether somebody set the spread (`IFF_RXFH_CONFIGURED`), so that it stays when channels change.
    is_spread_set: bool,
    /// Rules of flow steering.
    rules: u32,
}

/// The devices of a tree, by what it answers to questions.
pub(super) fn ports(root: &dyn Root) -> BTreeMap<String, Port> {
    let names = root.list("/sys/class/net").unwrap_or_default();
    names.into_iter().map(|name| (name.clone(), port(root, &name))).collect()
}

fn port(root: &dyn Root, name: &str) -> Port {
    let own = || name.to_owned();
    let driver: serde_json::Value = json(root, &Question::Driver(own())).unwrap_or_default();
    let channels: Option<Channels> = json(root, &Question::Channels(own()));
    let queues = channels.as_ref().and_then(|channels| channels.combined).map(|(now, _)| now);
    let pause: Option<[bool; 2]> = json(root, &Question::Pause(own()));
    let spread: Option<ReceiveSpread> = json(root, &Question::ReceiveSpread(own()));
    Port {
        is_spread_set: spread.as_ref().is_some_and(|spread| !spread.is_default()),
        spread: spread.map(|spread| spread.table).or(queues.map(even)).unwrap_or_default(),
        driver: driver["driver"].as_str().unwrap_or_default().to_owned(),
        rings: json(root, &Question::Rings(own())),
        coalescing: json(root, &Question::Coalescing(own())),
        pause: pause.map(|[rx, tx]| [true, rx, tx]),
        features: json(root, &Question::Features(own())).unwrap_or_default(),
        channels,
        rules: 0,
    }
}

fn json<T: DeserializeOwned>(root: &dyn Root, question: &Question) -> Option<T> {
    serde_json::from_str(&root.ask(question).ok()?).ok()
}

/// 128 entries over so many queues.
fn even(queues: u32) -> Vec<u32> {
    (0..queues.max(1)).cycle().take(128).collect()
}

/// The answer of now; none for questions that nothing here changes.
pub(super) fn answer(ports: &BTreeMap<String, Port>, question: &Question) -> Option<Fact<String>> {
    let json = |value: Option<serde_json::Value>| value.map(|value| Ok(value.to_string()));
    let value = |value: serde_json::Result<serde_json::Value>| value.ok();
    match question {
        Question::Channels(name) => {
            json(ports.get(name)?.channels.as_ref().map(serde_json::to_value).and_then(value))
        }
        Question::Rings(name) => {
            json(ports.get(name)?.rings.as_ref().map(serde_json::to_value).and_then(value))
        }
        Question::Coalescing(name) => {
            json(ports.get(name)?.coalescing.as_ref().map(serde_json::to_value).and_then(value))
        }
        Question::Pause(name) => {
            let [_, rx, tx] = ports.get(name)?.pause?;
            json(serde_json::to_value([rx, tx]).ok())
        }
        Question::ReceiveSpread(name) => {
            let port = ports.get(name)?;
            let spread = ReceiveSpread {
                queues: combined(port).map(|(now, _)| now),
                table: port.spread.clone(),
            };
            json((!port.spread.is_empty()).then(|| serde_json::to_value(spread)).and_then(value))
        }
        Question::Features(name) => {
            let features = &ports.get(name)?.features;
            json((!features.is_empty()).then(|| serde_json::to_value(features)).and_then(value))
        }
        _ => None,
    }
}

/// Somebody sets so many rules of flow steering.
pub(super) fn set_rules(kernel: &Simulated, nic: &str, rules: u32) {
    if let Some(port) = kernel.state().ports.get_mut(nic) {
        port.rules = rules;
    }
}

impl Port {
    pub(super) fn rules(&self) -> u32 {
        self.rules
    }

    /// What is told of one kind of values.
    pub(super) fn told(&self, what: &Ethtool) -> Option<String> {
        let numbers = |all: [(&'static str, Option<(u32, u32)>); 4]| {
            let there = all.into_iter().filter_map(|(name, pair)| Some((name, pair?.0)));
            pairs::from_numbers(there, &[])
        };
        match what {
            Ethtool::Channels => self.channels.as_ref().map(|c| {
                numbers([("rx", c.rx), ("tx", c.tx), ("other", c.other), ("combined", c.combined)])
            }),
            Ethtool::Rings => self.rings.as_ref().map(|r| {
                numbers([
                    ("rx", r.rx),
                    ("rx-mini", r.rx_mini),
                    ("rx-jumbo", r.rx_jumbo),
                    ("tx", r.tx),
                ])
            }),
            Ethtool::Coalescing => self.coalescing.as_ref().map(|c| {
                let switch = |name, on: Option<bool>| Some((name, u32::from(on?)));
                let number = |name, number: Option<u32>| Some((name, number?));
                let all = [
                    switch("adaptive-rx", c.adaptive_rx),
                    switch("adaptive-tx", c.adaptive_tx),
                    number("rx-usecs", c.rx_usecs),
                    number("rx-frames", c.rx_frames),
                    number("tx-usecs", c.tx_usecs),
                    number("tx-frames", c.tx_frames),
                ];
                pairs::from_numbers(all.into_iter().flatten(), &["adaptive-rx", "adaptive-tx"])
            }),
            Ethtool::Pause => self.pause.map(|[autoneg, rx, tx]| {
                let all = [("autoneg", autoneg), ("rx", rx), ("tx", tx)];
                let all = all.into_iter().map(|(name, on)| (name, u32::from(on)));
                pairs::from_numbers(all, &["autoneg", "rx", "tx"])
            }),
            Ethtool::Features => {
                (!self.features.is_empty()).then(|| pairs::features(&self.features))
            }
            Ethtool::ReceiveSpread => (!self.spread.is_empty())
                .then(|| self.spread.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")),
        }
    }
}

/// Sets values of a device.
pub(super) fn set(
    kernel: &Simulated,
    nic: &str,
    what: &Ethtool,
    values: &str,
) -> Result<(), Errno> {
    let mut port = kernel.state().ports.get(nic).cloned().ok_or(Errno::NODEV)?;
    let wanted = pairs::parse(values);
    match what {
        Ethtool::Channels => return channels(kernel, nic, port, &wanted),
        Ethtool::Rings => {
            let rings = port.rings.as_mut().ok_or(Errno::OPNOTSUPP)?;
            for (name, value) in &wanted {
                let pair = match name.as_str() {
                    "rx" => &mut rings.rx,
                    "tx" => &mut rings.tx,
                    "rx-mini" => &mut rings.rx_mini,
                    "rx-jumbo" => &mut rings.rx_jumbo,
                    _ => return Err(Errno::INVAL),
                };
                take(pair, value)?;
            }
        }
        Ethtool::Coalescing => {
            coalesce(port.coalescing.as_mut().ok_or(Errno::OPNOTSUPP)?, &wanted)?;
        }
        Ethtool::Pause => {
            let pause = port.pause.as_mut().ok_or(Errno::OPNOTSUPP)?;
            for (name, value) in &wanted {
                let at = ["autoneg", "rx", "tx"].iter().position(|known| known == name);
                let slot = at.and_then(|at| pause.get_mut(at)).ok_or(Errno::INVAL)?;
                *slot = value == "on";
            }
        }
        Ethtool::Features => {
            features(&mut port.features, &wanted);
            let mut filters = port.features.iter().filter(|one| one.name == feature_name("ntuple"));
            if !filters.all(|filter| filter.active) {
                port.rules = 0;
            }
        }
        Ethtool::ReceiveSpread => set_spread(&mut port, values)?,
    }
    kernel.state().ports.insert(nic.to_owned(), port);
    Ok(())
}

/// As the live machine sets it: a table that is the kernel's own becomes the kernel's.
fn set_spread(port: &mut Port, values: &str) -> Result<(), Errno> {
    let (queues, _) = combined(port).ok_or(Errno::OPNOTSUPP)?;
    if values == OWN_SPREAD {
        (port.spread, port.is_spread_set) = (even(queues), false);
        return Ok(());
    }
    let table: Option<Vec<u32>> = values.split_whitespace().map(|word| word.parse().ok()).collect();
    let table = table.filter(|table| table.len() == port.spread.len());
    let table = table.filter(|table| table.iter().all(|queue| *queue < queues));
    let spread = ReceiveSpread { queues: Some(queues), table: table.ok_or(Errno::INVAL)? };
    port.is_spread_set = !spread.is_default();
    port.spread = spread.table;
    Ok(())
}

fn take(pair: &mut Option<(u32, u32)>, value: &str) -> Result<(), Errno> {
    let (now, most) = pair.as_mut().ok_or(Errno::INVAL)?;
    let value: u32 = value.parse().map_err(|_| Errno::INVAL)?;
    if value == 0 || value > *most {
        return Err(Errno::INVAL);
    }
    *now = value;
    Ok(())
}

fn coalesce(coalescing: &mut Coalescing, wanted: &Pairs) -> Result<(), Errno> {
    for (name, value) in wanted {
        let number = || value.parse::<u32>().map_err(|_| Errno::INVAL).map(Some);
        match name.as_str() {
            "adaptive-rx" => coalescing.adaptive_rx = Some(value == "on"),
            "adaptive-tx" => coalescing.adaptive_tx = Some(value == "on"),
            "rx-usecs" => coalescing.rx_usecs = number()?,
            "rx-frames" => coalescing.rx_frames = number()?,
            "tx-usecs" => coalescing.tx_usecs = number()?,
            "tx-frames" => coalescing.tx_frames = number()?,
            _ => return Err(Errno::INVAL),
        }
    }
    Ok(())
}

/// What is asked for is noted; what is active follows, as far as other features allow. A feature
/// that cannot change stays without a word.
fn features(all: &mut [Feature], wanted: &Pairs) {
    for feature in all.iter_mut().filter(|feature| !feature.fixed) {
        if let Some(value) = wanted.get(&feature.name) {
            feature.wanted = pairs::asked(value) == "on";
        }
        feature.active = feature.wanted;
    }
    let scatters = all.iter().any(|feature| feature.name == SCATTER && feature.active);
    let has_scatter = all.iter().any(|feature| feature.name == SCATTER);
    for feature in all.iter_mut().filter(|f| NEED_SCATTER.contains(&f.name.as_str())) {
        feature.active &= scatters || !has_scatter;
    }
}

fn combined(port: &Port) -> Option<(u32, u32)> {
    port.channels.as_ref()?.combined
}

/// Other channels: queues are made anew, affinity and XPS begin at the driver's choice, interrupts
/// get new numbers but with virtio.
fn channels(kernel: &Simulated, nic: &str, mut port: Port, wanted: &Pairs) -> Result<(), Errno> {
    let channels = port.channels.as_mut().ok_or(Errno::OPNOTSUPP)?;
    for (name, value) in wanted {
        let pair = match name.as_str() {
            "combined" => &mut channels.combined,
            "rx" => &mut channels.rx,
            "tx" => &mut channels.tx,
            "other" => &mut channels.other,
            _ => return Err(Errno::INVAL),
        };
        take(pair, value)?;
    }
    let (queues, _) = combined(&port).ok_or(Errno::OPNOTSUPP)?;
    let used = port.spread.iter().max().copied().unwrap_or(0);
    match port.is_spread_set {
        // `ethtool_check_max_channel`: a table that somebody set must fit.
        true if used >= queues => return Err(Errno::INVAL),
        true => {}
        false => port.spread = even(queues),
    }
    let keeps_numbers = port.driver == "virtio_net";
    kernel.state().ports.insert(nic.to_owned(), port);
    make_queues(kernel, nic, queues);
    make_interrupts(kernel, nic, queues, keeps_numbers);
    Ok(())
}

/// The CPUs that a driver spreads over by itself: every `queues`th.
fn spread_of(kernel: &Simulated, queue: u32, queues: u32) -> CpuSet {
    let online = kernel.online();
    let own = |index: u32| index % queues.max(1) == queue;
    (0_u32..).zip(online.iter()).filter(|(index, _)| own(*index)).map(|(_, cpu)| cpu).collect()
}

fn make_queues(kernel: &Simulated, nic: &str, queues: u32) {
    let folder = format!("{}/queues", kernel.real(&format!("/sys/class/net/{nic}")));
    let old = kernel.list(&folder).unwrap_or_default();
    let none = print_mask(kernel, &CpuSet::new());
    for name in &old {
        let number = name.rsplit_once('-').and_then(|(_, number)| number.parse::<u32>().ok());
        if number.is_some_and(|number| number >= queues) {
            kernel.state().files.remove(&format!("{folder}/{name}"));
        }
    }
    for queue in 0..queues {
        let (rx, tx) = (format!("{folder}/rx-{queue}"), format!("{folder}/tx-{queue}"));
        let xps = print_mask(kernel, &spread_of(kernel, queue, queues));
        let is_new = !old.contains(&format!("rx-{queue}"));
        let mut state = kernel.state();
        if is_new {
            state.files.forget(&rx);
            state.files.forget(&tx);
            // RPS of queues that stay is kept; new ones have none.
            state.files.put(&format!("{rx}/rps_cpus"), format!("{none}\n").into_bytes());
            state.files.put(&format!("{rx}/rps_flow_cnt"), b"0\n".to_vec());
        }
        state.files.put(&format!("{tx}/xps_cpus"), format!("{xps}\n").into_bytes());
    }
}

fn make_interrupts(kernel: &Simulated, nic: &str, queues: u32, keeps_numbers: bool) {
    let device = kernel.real(&format!("/sys/class/net/{nic}"));
    let is_function = |part: &&str| part.parse::<PciAddress>().is_ok();
    let Some(function) = device.rsplit('/').find(is_function).and_then(|part| part.parse().ok())
    else {
        return;
    };
    let old = linux::vectors(kernel, function);
    let names: Vec<(u32, Option<u32>, String)> = old
        .iter()
        .filter_map(|vector| Some((vector.number, vector.queue, action(kernel, vector.number)?)))
        .collect();
    let folder = kernel.real(&format!("/sys/bus/pci/devices/{function}/msi_irqs"));
    let wanted = wanted_names(&names, queues);
    let all = kernel.list("/proc/irq").unwrap_or_default();
    let highest = all.iter().filter_map(|name| name.parse::<u32>().ok()).max().unwrap_or(24);
    for (number, ..) in &names {
        let mut state = kernel.state();
        state.files.remove(&format!("/proc/irq/{number}"));
        state.files.remove(&format!("{folder}/{number}"));
    }
    let first = names.first().map_or(24, |(number, ..)| *number);
    let from = if keeps_numbers { first } else { highest + 1 };
    for (number, (name, queue)) in (from..).zip(wanted) {
        let irq = format!("/proc/irq/{number}");
        let cpus = match queue {
            Some(queue) => spread_of(kernel, queue, queues),
            None => kernel.online(),
        };
        {
            let mut state = kernel.state();
            state.files.forget(&irq);
            state.files.forget(&format!("{folder}/{number}"));
            state.files.put(&format!("{folder}/{number}"), b"msix\n".to_vec());
            state.files.put(&format!("{irq}/{name}/.made"), Vec::new());
            let effective = cpus.first().unwrap_or(Cpu(0));
            let list = format!("{irq}/effective_affinity_list");
            state.files.put(&list, format!("{effective}\n").into_bytes());
        }
        interrupts::place(kernel, &irq, &cpus);
    }
}

fn action(kernel: &Simulated, number: u32) -> Option<String> {
    let names = kernel.list(&format!("/proc/irq/{number}")).ok()?;
    let is_file = |name: &str| name.contains("affinity") || matches!(name, "node" | "spurious");
    names.into_iter().find(|name| !is_file(name))
}

/// Names of the vectors of so many queues, after those that there are: first those without a queue.
fn wanted_names(names: &[(u32, Option<u32>, String)], queues: u32) -> Vec<(String, Option<u32>)> {
    let others = names.iter().filter(|(_, queue, _)| queue.is_none());
    let mut wanted: Vec<(String, Option<u32>)> =
        others.map(|(_, _, name)| (name.clone(), None)).collect();
    let patterns: Vec<(String, String)> = names
        .iter()
        .filter(|(_, queue, _)| *queue == Some(0))
        .filter_map(|(_, _, name)| {
            // `mlx5_comp0@pci:...`, `ice-eth0-TxRx-0`, `virtio0-input.0`.
            let at = name.split('@').next()?.rfind('0')?;
            Some((name.get(..at)?.to_owned(), name.get(at + 1..)?.to_owned()))
        })
        .collect();
    for queue in 0..queues {
        for (before, after) in &patterns {
            wanted.push((format!("{before}{queue}{after}"), Some(queue)));
        }
    }
    wanted
}
