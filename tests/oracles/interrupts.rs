// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts as `/proc/interrupts` names them and `/proc/irq` places them.

use std::fs;
use std::path::Path;

use support::{Failed, failed};

use crate::document::{Document, plain};
use crate::facts::Facts;

/// What the last word of a line says: `nvme1q0`, `virtio1-req.3`, `eth0-rxtx-0`.
///
/// Of an NVMe drive queue 0 is for administration. What virtio calls input and output are queues
/// of the interface above it. The kernel places vectors of NVMe queues and of virtio disks.
fn device(name: &str, tree: &Path) -> (String, String, bool) {
    let none = || "-".to_owned();
    if let Some((drive, queue)) = name.strip_prefix("nvme").and_then(|rest| rest.split_once('q')) {
        let queue = if queue == "0" { none() } else { queue.to_owned() };
        return (format!("nvme{drive}"), queue.clone(), queue != "-");
    }
    if let Some((bus, part)) = name.split_once('-').filter(|(bus, _)| bus.starts_with("virtio")) {
        let above = interface_on(bus, tree);
        let queue = part.rsplit_once('.').map_or_else(none, |(_, queue)| queue.to_owned());
        return (above.unwrap_or_else(|| bus.to_owned()), queue, part.starts_with("req."));
    }
    if let Some((interface, part)) =
        name.split_once('-').filter(|(name, _)| name.starts_with("eth"))
    {
        let queue = part.split_once('-').filter(|(kind, _)| *kind != "event");
        let queue = queue.map_or_else(none, |(_, queue)| queue.to_owned());
        return (interface.to_owned(), queue, false);
    }
    let in_brackets = name.split(['[', ']']).nth(1).filter(|text| text.contains(':'));
    match in_brackets {
        Some(address) => (address.to_owned(), none(), false),
        None if name.starts_with("eth") => (name.to_owned(), none(), false),
        None => (none(), none(), false),
    }
}

/// The interface whose device is this one: `/sys/class/net/eth0` leads to `.../virtio3/net/eth0`.
fn interface_on(bus: &str, tree: &Path) -> Option<String> {
    let interfaces = fs::read_dir(tree.join("sys/class/net")).ok()?.flatten();
    let leads = |entry: &fs::DirEntry| {
        let target = fs::read_link(entry.path()).unwrap_or_default();
        target.iter().any(|part| part == bus)
    };
    let found = interfaces.into_iter().find(leads)?;
    Some(found.file_name().to_string_lossy().into_owned())
}

pub(crate) fn said(tree: &Path) -> Result<Facts, Failed> {
    let mut facts = Facts::default();
    let text = fs::read_to_string(tree.join("proc/interrupts")).map_err(failed)?;
    for line in text.lines().skip(1) {
        let Some((irq, rest)) = line.split_once(':') else { continue };
        let Ok(irq) = irq.trim().parse::<u32>() else { continue };
        let name = rest.split_whitespace().last().unwrap_or_default();
        let (device, queue, managed) = match port(irq, tree, name) {
            Some(port) => (port, "-".to_owned(), false),
            None => device(name, tree),
        };
        let mut say = |what: &str, text: String| facts.say(format!("irq {irq} {what}"), text);
        say("device", device);
        say("queue", queue);
        say("managed", managed.to_string());
        let file = |name: &str| {
            let path = tree.join("proc/irq").join(irq.to_string()).join(name);
            fs::read_to_string(path).map_or_else(|_| "-".to_owned(), |text| text.trim().to_owned())
        };
        say("cpus", file("smp_affinity_list"));
        say("effective", file("effective_affinity_list"));
    }
    Ok(facts)
}

/// The root port whose services (`PCIe PME, aerdrv`) raise an interrupt: the function that lists it.
fn port(irq: u32, tree: &Path, name: &str) -> Option<String> {
    let is_service = ["aerdrv", "PME", "pciehp", "dpc"].iter().any(|word| name.contains(word));
    let functions = fs::read_dir(tree.join("sys/bus/pci/devices")).ok().filter(|_| is_service)?;
    let has = |path: &Path| path.join("msi_irqs").join(irq.to_string()).exists();
    let found = functions.flatten().find(|function| has(&function.path()))?;
    Some(found.file_name().to_string_lossy().into_owned())
}

pub(crate) fn ours(document: &Document) -> Facts {
    let mut facts = Facts::default();
    for irq in document.list("irqs") {
        let mut say =
            |what: &str, text: String| facts.say(format!("irq {} {what}", irq["irq"]), text);
        say("device", plain(&irq["device"]));
        say("queue", plain(&irq["queue"]));
        say("managed", plain(&irq["managed"]));
        say("cpus", plain(&irq["cpus"]));
        say("effective", plain(&irq["effective_cpus"]));
    }
    facts
}
