// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine as it would be read after a plan: what each change does to the model.

use machine::{Irq, IrqSource, Machine, Managed, Nic, RxQueue, TxQueue};
use setting::{Ethtool, Place, Plan, Planned};
use units::{CpuSet, PciAddress};

use crate::Seen;

/// Whether what came of a change can be read at all. What a process holds open cannot.
pub(crate) fn shows(planned: &Planned) -> bool {
    planned.place != Place::IdleLatency
}

/// The machine and its observations after a plan.
pub(crate) fn after(seen: &Seen, plan: &Plan) -> Seen {
    let mut after = Seen {
        machine: seen.machine.clone(),
        observations: seen.observations.clone(),
        catalogue: seen.catalogue.clone(),
    };
    for planned in &plan.changes {
        match &planned.place {
            Place::File { path } => file(&mut after, planned, path),
            Place::Interrupt { .. } => interrupt(&mut after.machine, planned),
            Place::Ethtool { what } => ethtool(&mut after.machine, planned, what),
            Place::MaxReadRequest => {
                let at = planned.device.as_ref().and_then(|device| device.function);
                let mut functions = after.machine.functions.iter_mut();
                let function = functions.find(|one| Some(one.address) == at).unwrap();
                function.config.mrrs = Ok(planned.to.parse().unwrap());
            }
            Place::Service { .. } => {
                let services = after.machine.host.services.iter_mut();
                services.for_each(|service| service.running = Ok(planned.to == "running"));
            }
            Place::BannedInterrupts => banned(&mut after.machine, &planned.to),
            Place::IdleLatency => {}
        }
    }
    after
}

fn banned(machine: &mut Machine, to: &str) {
    // A function stands for the interrupts that its queues have by then.
    let of_function = |at: PciAddress| {
        let is_own = |irq: &&Irq| {
            let own = irq.source.as_ref().filter(|source| source.function == Some(at));
            own.is_some_and(|source| source.is_io)
        };
        machine.irqs.iter().filter(is_own).map(|irq| irq.number.to_string()).collect()
    };
    let numbers = |word: &str| -> Vec<String> {
        word.parse().map_or_else(|_| vec![word.to_owned()], of_function)
    };
    let words: Vec<String> =
        to.split(' ').flat_map(numbers).map(|number| format!("--banirq={number}")).collect();
    let text = format!("OPTIONS=\"{}\"", words.join(" "));
    let mut services = machine.host.services.iter_mut();
    let service = services.find(|service| service.name == "irqbalance").unwrap();
    service.configuration = Some(("/etc/default/irqbalance".to_owned(), text));
}

fn nic<'a>(machine: &'a mut Machine, planned: &Planned) -> &'a mut Nic {
    let name = &planned.device.as_ref().unwrap().name;
    machine.nics.iter_mut().find(|nic| nic.name == *name).unwrap()
}

fn number(path: &str, before: &str) -> u32 {
    let rest = path.split_once(before).unwrap().1;
    rest.split('/').next().unwrap().parse().unwrap()
}

fn file(after: &mut Seen, planned: &Planned, path: &str) {
    let machine = &mut after.machine;
    let to = planned.to.clone();
    let set = || CpuSet::from_list(&to).unwrap();
    let function = planned.device.as_ref().and_then(|device| device.function);
    match planned.setting.as_str() {
        "xps-placement" => {
            let queue = number(path, "/tx-");
            let all = &mut nic(machine, planned).tx_queues;
            all.iter_mut().find(|one| one.number == queue).unwrap().xps = Ok(set());
        }
        "rps-placement" => {
            let queue = number(path, "/rx-");
            let all = &mut nic(machine, planned).rx_queues;
            all.iter_mut().find(|one| one.number == queue).unwrap().rps = Ok(set());
        }
        "mtu" => nic(machine, planned).mtu = Ok(to.parse().unwrap()),
        "turbo-boost" => machine.power.turbo = Ok(to == "on"),
        "nvme-apst" => {
            for drive in &mut machine.drives {
                if drive.controllers.iter().any(|path| path.function == function) {
                    drive.apst = Ok(Some(false));
                }
            }
        }
        "pcie-aspm" => {
            let mut functions = machine.functions.iter_mut();
            let one = functions.find(|one| Some(one.address) == function).unwrap();
            let aspm = &mut one.link.as_mut().unwrap().aspm;
            aspm.enabled = Ok(machine::AspmStates { l0s: false, l1: false });
            aspm.files.iter_mut().for_each(|(_, on)| *on = false);
        }
        setting => observed(after, setting, planned),
    }
}

/// CPUs that agree are one observation: all of them are changed or none.
fn observed(after: &mut Seen, setting: &str, planned: &Planned) {
    let name = planned.device.as_ref().map(|device| device.name.as_str());
    let cpu = name.and_then(|name| name.strip_prefix("cpu ")).and_then(|cpu| cpu.parse().ok());
    let is_of =
        |label: Option<&str>| match (cpu, label.and_then(|label| label.strip_prefix("cpu "))) {
            (Some(cpu), Some(list)) => CpuSet::from_list(list).unwrap().contains(units::Cpu(cpu)),
            _ => label == name,
        };
    let mut found = false;
    for seen in after.observations.iter_mut().filter(|seen| seen.setting == setting) {
        if is_of(seen.device.as_deref()) {
            seen.value = Ok(planned.to.clone());
            found = true;
        }
    }
    assert!(found, "{setting} of {name:?} was never observed");
}

fn interrupt(machine: &mut Machine, planned: &Planned) {
    let Place::Interrupt { queue, ordinal } = planned.place else { return };
    let at = planned.device.as_ref().unwrap().function.unwrap();
    let cpus = CpuSet::from_list(&planned.to).unwrap();
    let mut own: Vec<&mut Irq> =
        machine.irqs.iter_mut().filter(|irq| is_of(irq, at, queue)).collect();
    own.sort_by_key(|irq| irq.number);
    let irq = own.into_iter().nth(usize::try_from(ordinal).unwrap()).expect("it was planned");
    assert_eq!(irq.managed, Managed::No, "managed vectors are left");
    irq.affinity = Ok(cpus.clone());
    irq.effective = Ok(cpus);
}

fn is_of(irq: &Irq, at: PciAddress, queue: Option<u32>) -> bool {
    irq.source.as_ref().is_some_and(|source| source.function == Some(at) && source.queue == queue)
}

fn ethtool(machine: &mut Machine, planned: &Planned, what: &Ethtool) {
    if *what == Ethtool::ReceiveSpread {
        let spread = nic(machine, planned).receive_spread.as_mut().unwrap();
        let queues: u32 = planned.to.parse().unwrap();
        assert!(spread.queues.is_none_or(|most| queues <= most), "the kernel refuses {queues}");
        spread.table = (0..queues).cycle().take(spread.table.len()).collect();
        return;
    }
    for word in planned.to.split(' ') {
        let (key, value) = word.split_once('=').unwrap();
        let number = || value.parse::<u32>().unwrap();
        let on = value == "on";
        if *what == Ethtool::Channels {
            channels(machine, planned, number());
            continue;
        }
        let nic = nic(machine, planned);
        match (what, key) {
            (Ethtool::Rings, "rx") => nic.rings.as_mut().unwrap().rx.as_mut().unwrap().0 = number(),
            (Ethtool::Rings, "tx") => nic.rings.as_mut().unwrap().tx.as_mut().unwrap().0 = number(),
            (Ethtool::Coalescing, "adaptive-rx") => {
                nic.coalescing.as_mut().unwrap().adaptive_rx = Some(on);
            }
            (Ethtool::Coalescing, "rx-usecs") => {
                nic.coalescing.as_mut().unwrap().rx_usecs = Some(number());
            }
            (Ethtool::Pause, "rx") => nic.pause.as_mut().unwrap().receive = on,
            (Ethtool::Pause, "tx") => nic.pause.as_mut().unwrap().transmit = on,
            (Ethtool::Features, _) => {
                let name = match key {
                    "gro" => "rx-gro",
                    "lro" => "rx-lro",
                    "tso" => "tx-tcp-segmentation",
                    _ => "rx-ntuple-filter",
                };
                let features = nic.features.as_mut().unwrap();
                features.iter_mut().find(|one| one.name == name).unwrap().active = on;
            }
            other => panic!("{other:?} is never planned"),
        }
    }
}

/// Queues come and go with their interrupts; affinity and XPS are the driver's again.
fn channels(machine: &mut Machine, planned: &Planned, count: u32) {
    let device = planned.device.as_ref().unwrap();
    let at = device.function.unwrap();
    let nic = nic(machine, planned);
    nic.channels.as_mut().unwrap().combined.as_mut().unwrap().0 = count;
    if let Ok(spread) = &mut nic.receive_spread {
        let is_own = spread.is_default();
        let fits = spread.table.iter().all(|queue| *queue < count);
        assert!(is_own || fits, "the kernel refuses {count} channels");
        spread.queues = Some(count);
        if is_own {
            spread.table = (0..count).cycle().take(spread.table.len()).collect();
        }
    }
    let template = nic.rx_queues.first().cloned();
    nic.rx_queues =
        (0..count).filter_map(|number| Some(RxQueue { number, ..template.clone()? })).collect();
    let template = nic.tx_queues.first().cloned();
    nic.tx_queues =
        (0..count).filter_map(|number| Some(TxQueue { number, ..template.clone()? })).collect();
    let queues = |machine: &Machine| {
        let own = machine.irqs.iter().filter_map(|irq| irq.source.as_ref());
        let mut numbers: Vec<u32> = own
            .filter(|source| source.function == Some(at) && source.is_io)
            .filter_map(|source| source.queue)
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    };
    let before = queues(machine);
    let count = usize::try_from(count).unwrap();
    let gone: Vec<u32> = before.iter().skip(count).copied().collect();
    machine.irqs.retain(|irq| !gone.iter().any(|queue| is_of(irq, at, Some(*queue))));
    let Some((first, last)) = before.first().zip(before.last()) else { return };
    let pattern: Vec<Irq> =
        machine.irqs.iter().filter(|irq| is_of(irq, at, Some(*first))).cloned().collect();
    let mut number = machine.irqs.iter().map(|irq| irq.number).max().unwrap_or(0);
    for queue in (last + 1..).take(count.saturating_sub(before.len())) {
        for irq in &pattern {
            number += 1;
            let source = IrqSource { queue: Some(queue), ..irq.source.clone().unwrap() };
            machine.irqs.push(Irq { number, source: Some(source), ..irq.clone() });
        }
    }
}
