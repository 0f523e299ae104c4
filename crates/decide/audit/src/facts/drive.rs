// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts about drives.

use machine::{Drive, Fact, Managed, Why};
use setting::{Evidence, Part};
use units::PciAddress;

use super::{Answer, switch};
use crate::context::Context;
use crate::lines;

/// What is asked of one device.
type Ask = fn(&Context<'_>, &Drive) -> Fact<String>;

/// What the answer rests on.
type From = fn(&Context<'_>, &Drive) -> Vec<Evidence>;

/// Answers a fact about drives.
pub(super) fn answer(context: &Context<'_>, fact: &str) -> Option<Vec<Answer>> {
    let (ask, evidence): (Ask, From) = match fact {
        "apst" => (|_, drive| apst(drive), apst_lines),
        "drive-irqs" => (irqs, irq_lines),
        "drive-queues" => (|_, drive| queues(drive), queue_lines),
        _ => return None,
    };
    let answers =
        context.machine.drives.iter().map(|drive| {
            Answer::device(&drive.name, ask(context, drive), evidence(context, drive))
        });
    Some(answers.collect())
}

/// The controller in `/sys/class/nvme`. A namespace that hangs from its function has none there, and
/// is called after the function.
fn controller(drive: &Drive) -> Option<&machine::Controller> {
    let path = drive.controllers.first().filter(|_| crate::devices::is_nvme(drive))?;
    path.name.starts_with("nvme").then_some(path)
}

/// What a person would type to ask the drive; only NVMe has it.
fn apst_lines(_: &Context<'_>, drive: &Drive) -> Vec<Evidence> {
    match controller(drive) {
        Some(path) => {
            let name = &path.name;
            let file = format!("/sys/class/nvme/{name}/power/pm_qos_latency_tolerance_us");
            let words = format!("nvme get-feature -f 0x0c /dev/{name}");
            let asked = matches!(drive.apst, Ok(Some(_)));
            let answer = asked.then(|| Evidence::new(words, Part::Answer));
            std::iter::once(Evidence::file(file)).chain(answer).collect()
        }
        None => vec![listed(drive)],
    }
}

/// Where the drive's vectors may go; where there are none, the function's list of them.
fn irq_lines(context: &Context<'_>, drive: &Drive) -> Vec<Evidence> {
    let functions: Vec<_> = drive.controllers.iter().filter_map(|path| path.function).collect();
    let irqs = functions.iter().flat_map(|function| context.io_irqs(*function)).take(4);
    let targets: Vec<_> = irqs.map(|irq| lines::irq(irq.number, "smp_affinity")).collect();
    let vectors =
        |at: &PciAddress| Evidence::new(format!("/sys/bus/pci/devices/{at}/msi_irqs"), Part::Names);
    match (targets.is_empty(), functions.first()) {
        (false, _) => targets,
        (true, Some(at)) => vec![vectors(at)],
        (true, None) => vec![listed(drive)],
    }
}

fn queue_lines(_: &Context<'_>, drive: &Drive) -> Vec<Evidence> {
    match controller(drive) {
        Some(path) => {
            vec![Evidence::file(format!("/sys/class/nvme/{}/queue_count", path.name))]
        }
        None if drive.queues.is_empty() => {
            let none = Part::Name("mq".to_owned());
            let class = format!("/sys/class/block/{}", drive.name);
            vec![Evidence::new(format!("/sys/block/{}", drive.name), none).or(class)]
        }
        None => vec![Evidence::new(format!("/sys/block/{}/mq", drive.name), Part::Names)],
    }
}

/// That the drive is there, for what it has no sign of.
fn listed(drive: &Drive) -> Evidence {
    match controller(drive) {
        Some(path) => Evidence::new("/sys/class/nvme", Part::Name(path.name.clone())),
        None => Evidence::new("/sys/block", Part::Name(drive.name.clone())).or("/sys/class/block"),
    }
}

fn apst(drive: &Drive) -> Fact<String> {
    match &drive.apst {
        Ok(None) => Ok("not supported".to_owned()),
        Ok(Some(enabled)) => Ok(switch(*enabled)),
        Err(why) => Err(why.clone()),
    }
}

/// Managed where the kernel places all I/O vectors; else near when every one stays on the node of
/// its function.
fn irqs(context: &Context<'_>, drive: &Drive) -> Fact<String> {
    let mut word = None;
    for function in drive.controllers.iter().filter_map(|path| path.function) {
        let node = context.devices.function(function).and_then(|function| function.node);
        for irq in context.io_irqs(function) {
            if irq.managed != Managed::No {
                word = word.or(Some("managed"));
                continue;
            }
            let near = node.and_then(|node| context.places.cpus(node)).ok_or(Why::Absent)?;
            if !context.target(irq).is_subset(near) {
                return Ok("far".to_owned());
            }
            word = Some("near");
        }
    }
    word.map(str::to_owned).ok_or(Why::Absent)
}

fn queues(drive: &Drive) -> Fact<String> {
    let told = drive.controllers.iter().map(|path| path.queues).max().unwrap_or(0);
    let listed = u32::try_from(drive.queues.len()).unwrap_or(u32::MAX);
    match told.max(listed) {
        0 => Err(Why::Absent),
        queues => Ok(queues.to_string()),
    }
}
