// SPDX-License-Identifier: MIT OR Apache-2.0
//! One boot of a machine: nearside, numactl, hwloc and the kernel, each against the machine's file.

use std::collections::BTreeMap;

use nearside_lab::{Guest, Kernel, Machine, nearside};
use serde_json::Value;
use support::{Failed, failed};

use crate::facts::{Facts, same};
use crate::ours::Ours;
use crate::{images, wanted};

pub(crate) fn look(name: &str, kernel: Kernel) -> Result<(), Failed> {
    let machine = Machine::named(name).map_err(failed)?;
    let mut guest = images()?.boot(&machine, kernel).map_err(failed)?;
    guest.put(&nearside().map_err(failed)?, "/usr/local/bin/nearside").map_err(failed)?;
    let running = said(&mut guest, "uname -r")?;
    if !running.starts_with(&format!("{kernel}.")) {
        return Err(failed(format!("kernel {running} runs, not {kernel}")));
    }
    let document = said(&mut guest, "nearside topology --json")?;
    let document: Value = serde_json::from_str(&document).map_err(failed)?;
    let addresses = addresses(&mut guest)?;
    let ours = Ours { document: &document, addresses: &addresses };
    let mut facts = ours.facts();
    let promised = wanted::topology(&machine);
    facts.extend(ours.firmware().intersection(&promised).cloned());
    same("nearside", &promised, &facts)?;
    let text = said(&mut guest, "numactl --hardware")?;
    same("numactl", &wanted::shape(&machine), &numactl(&text))?;
    hwloc(&mut guest, &machine, &document)?;
    power(&mut guest, &machine)?;
    eprintln!(
        "{name} {kernel}: up after {:.1} s, {:.1} s of CPU in all",
        guest.boot_time().as_secs_f64(),
        guest.cpu_seconds()
    );
    guest.off().map_err(failed)?;
    Ok(())
}

pub(crate) fn said(guest: &mut Guest, script: &str) -> Result<String, Failed> {
    guest.run(script).and_then(nearside_lab::Output::ok).map_err(failed)
}

fn addresses(guest: &mut Guest) -> Result<BTreeMap<String, String>, Failed> {
    let text = said(guest, "cd /sys/class/net && grep . */address")?;
    // Example: eth0/address:02:00:00:00:00:04
    let line = |line: &str| {
        let (name, address) = line.split_once("/address:")?;
        Some((name.to_owned(), address.to_owned()))
    };
    Ok(text.lines().filter_map(line).collect())
}

// Example:
//   node 0 cpus: 0 1 2 3
//   node distances:
//   node   0   1
//     0:  10  21
fn numactl(text: &str) -> Facts {
    let mut nodes: BTreeMap<usize, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
    let list = |text: &str| text.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    for line in text.lines() {
        let Some((key, rest)) = line.split_once(':') else { continue };
        match key.split_whitespace().collect::<Vec<_>>().as_slice() {
            ["node", node, "cpus"] => {
                nodes.entry(node.parse().unwrap_or(usize::MAX)).or_default().0 = list(rest);
            }
            [node] if node.parse::<usize>().is_ok() => {
                nodes.entry(node.parse().unwrap_or(usize::MAX)).or_default().1 = list(rest);
            }
            _ => {}
        }
    }
    let fact = |(node, (cpus, distances)): (&usize, &(Vec<usize>, Vec<usize>))| {
        format!("node {node}: CPUs {cpus:?}, distances {distances:?}")
    };
    nodes.iter().map(fact).collect()
}

/// hwloc's packages and cores, and the node that it gives each device that nearside found.
fn hwloc(guest: &mut Guest, machine: &Machine, document: &Value) -> Result<(), Failed> {
    let cpus = &machine.cpus;
    let (packages, cores) = (cpus.packages, cpus.packages * cpus.cores_of_package());
    let counts = said(guest, "hwloc-calc -N package all; hwloc-calc -N core all")?;
    let counts: Vec<&str> = counts.split_whitespace().collect();
    let promised: Facts = [format!("{packages} packages, {cores} cores")].into();
    same("hwloc", &promised, &[format!("{} packages, {} cores", counts[0], counts[1])].into())?;
    let functions = document["functions"].as_array().cloned().unwrap_or_default();
    let mut ours = Facts::new();
    let mut script = String::new();
    for function in functions.iter().filter(|function| function["node_from"] == "own") {
        let address = function["address"].as_str().unwrap_or("?");
        ours.insert(format!("{address} {}", function["node"]));
        script.push_str(&format!(
            "echo {address} $(hwloc-calc --physical-output -I numa pci={address})\n"
        ));
    }
    // hwloc shows no bridge that has nothing below it, and a function only where it has a class.
    let text = said(guest, &script)?;
    let theirs: Facts = text.lines().filter(|line| line.contains(' ')).map(str::to_owned).collect();
    let known: Vec<&str> = theirs.iter().filter_map(|line| line.split(' ').next()).collect();
    ours.retain(|fact| fact.split(' ').next().is_some_and(|address| known.contains(&address)));
    if known.len() < machine.devices().len() {
        return Err(failed(format!("hwloc knows {} functions only", known.len())));
    }
    same("hwloc", &ours, &theirs)
}

/// C-states and frequencies as the kernel took them from our table.
fn power(guest: &mut Guest, machine: &Machine) -> Result<(), Failed> {
    let firmware = &machine.firmware;
    let script = "cat /sys/devices/system/cpu/cpu0/cpuidle/state[1-9]/latency 2>/dev/null\n\
                  echo f $(cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_available_frequencies \
                  2>/dev/null)";
    let text = said(guest, script)?;
    let (latencies, frequencies) = text.split_once('f').unwrap_or((&text, ""));
    let list = |text: &str| -> Vec<u32> {
        text.split_whitespace().filter_map(|number| number.parse().ok()).collect()
    };
    let wanted_states: Vec<u32> = firmware.c_states_us.iter().map(|us| u32::from(*us)).collect();
    let wanted_mhz: Vec<u32> = firmware.frequencies_mhz.iter().map(|mhz| u32::from(*mhz)).collect();
    let mhz: Vec<u32> = list(frequencies).iter().map(|khz| khz / 1000).collect();
    let fact = |states: &[u32], mhz: &[u32]| {
        Facts::from([format!("C-states of {states:?} us"), format!("frequencies {mhz:?} MHz")])
    };
    same("the kernel", &fact(&wanted_states, &wanted_mhz), &fact(&list(latencies), &mhz))
}
