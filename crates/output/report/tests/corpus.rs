// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every captured and every synthetic machine is drawn, within its width, with no device left out.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use machine::Machine;
use nearside_report::{Style, findings, irqs, json, lanes, near, screen, svg, topology, tree};
use support::{Capture, Failed, Need, Trial, failed, trial};
use unicode_width::UnicodeWidthStr;

fn main() {
    let captures = support::lab_captures().into_iter().chain(support::tree_captures());
    let mut trials: Vec<Trial> = captures.map(of_capture).collect();
    if trials.is_empty() {
        trials.push(trial("corpus::captures", &[Need::Captures], || Ok(())));
    }
    // The largest one is drawn in the end-to-end tests, where its tree is made once.
    let names = synthetic::names().filter(|name| *name != "thousand-cpus");
    trials.extend(names.map(|name| {
        trial(format!("corpus::synthetic::{name}"), &[], move || {
            let description = synthetic::parse(synthetic::named(name).unwrap()).map_err(failed)?;
            check(&linux::read(&description.build()))
        })
    }));
    support::run(trials)
}

fn of_capture(capture: Capture) -> Trial {
    trial(format!("corpus::{}", capture.name), &[Need::Captures], move || {
        let roots = capture.roots().map_err(failed)?;
        roots.iter().try_for_each(|root| {
            let machine = linux::read(&root::DirRoot::open(root).map_err(failed)?);
            check(&machine).map_err(|error| failed(format!("{}: {error:?}", root.display())))
        })
    })
}

fn check(machine: &Machine) -> Result<(), Failed> {
    for width in [80, 132, 200] {
        let style = Style { width, color: false, unicode: true };
        for text in drawings(machine, &style) {
            fits(&text, width)?;
        }
    }
    every_device_is_in_the_picture(machine)?;
    the_document_reads_back(machine)
}

fn drawings(machine: &Machine, style: &Style) -> Vec<String> {
    let found = findings::Found {
        goal: setting::Goal::Throughput,
        findings: &[],
        observations: &[],
        unknown: &machine.unknown,
        named: "--from corpus",
    };
    let mut texts = vec![
        topology::draw(machine, style),
        tree::draw(machine, style),
        lanes::draw(machine, style),
        screen::draw(machine, &found, screen::Standing::Replayed, style),
        findings::draw(&found, findings::Detail::Full, style),
    ];
    let drives = machine.drives.iter().map(|drive| drive.name.as_str());
    let names = drives.chain(machine.nics.iter().map(|nic| nic.name.as_str()));
    for name in names {
        texts.push(irqs::draw(machine, name, style).unwrap());
        texts.push(near::draw(machine, name, style).unwrap());
    }
    texts
}

fn fits(text: &str, width: usize) -> Result<(), Failed> {
    let command = |line: &str| line.contains("numactl ") || line.contains("taskset ");
    match text.lines().find(|line| line.width() > width && !command(line)) {
        Some(line) => Err(failed(format!("wider than {width}: {line}"))),
        None => Ok(()),
    }
}

fn every_device_is_in_the_picture(machine: &Machine) -> Result<(), Failed> {
    let picture = svg::draw(machine);
    for drive in &machine.drives {
        if !picture.contains(&format!(">{}<", drive.name)) {
            return Err(failed(format!("{} is not in the picture", drive.name)));
        }
    }
    // What is cut carries its whole text as a title.
    if let Some((before, _)) = picture.split_once("<title>") {
        let cut = before.lines().next_back().unwrap_or_default();
        return Err(failed(format!("cut in the picture: {cut}")));
    }
    what_the_picture_tells(machine, &picture)
}

/// Memory that is free, bonds, RDMA devices and the controllers that hide drives are in it.
fn what_the_picture_tells(machine: &Machine, picture: &str) -> Result<(), Failed> {
    let mut told: Vec<String> = Vec::new();
    let nodes = machine.nodes.iter().filter(|node| !node.cpus.is_empty());
    told.extend(nodes.filter_map(|node| match (&node.memory, &node.memory_free) {
        (Ok(size), Ok(free)) if size.0 > 0 && free.0 > 0 => Some(format!("{free} free")),
        _ => None,
    }));
    let has_function = |nic: &&machine::Nic| nic.function.is_some();
    let masters = machine.nics.iter().filter(has_function).filter_map(|nic| nic.master.as_ref());
    told.extend(masters.map(|master| format!(">in {master}<")));
    let is_shown =
        |name: &str| machine.nics.iter().any(|nic| nic.name == name && has_function(&nic));
    let of_port = |device: &machine::RdmaDevice| {
        let ports = device.ports.iter().filter_map(|port| port.netdev.as_deref());
        ports.filter(|name| is_shown(name)).count() > 0
    };
    told.extend(machine.rdma.iter().filter(|one| of_port(one)).map(|one| one.name.clone()));
    let hidden = machine.drives.iter().filter_map(|drive| drive.hidden_by.as_ref());
    told.extend(hidden.map(|hidden| hidden.function.to_string()));
    match told.iter().find(|text| !picture.contains(text.as_str())) {
        Some(text) => Err(failed(format!("the picture does not tell {text:?}"))),
        None => Ok(()),
    }
}

fn the_document_reads_back(machine: &Machine) -> Result<(), Failed> {
    let document = json::topology(machine);
    let text = serde_json::to_string(&document).map_err(failed)?;
    let back: json::Topology = serde_json::from_str(&text).map_err(failed)?;
    let threads: usize = document.packages.iter().map(|package| package.threads).sum();
    if back != document || threads > machine.cpus.threads.len() {
        return Err(failed("the document does not read back, or counts a thread twice"));
    }
    Ok(())
}
