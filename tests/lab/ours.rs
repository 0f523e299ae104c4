// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `topology/1` says, in the words of `wanted`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::facts::{Facts, numbers};

/// The document and the hardware addresses of the interfaces.
pub(crate) struct Ours<'a> {
    pub(crate) document: &'a Value,
    /// By interface.
    pub(crate) addresses: &'a BTreeMap<String, String>,
}

impl Ours<'_> {
    pub(crate) fn facts(&self) -> Facts {
        let mut facts = self.shape();
        let document = self.document;
        facts.insert(format!(
            "numbering {}, siblings {}",
            text(&document["numbering"]),
            text(&document["siblings"])
        ));
        let packages = list(&document["packages"]);
        let split = packages.first().map_or(0, |package| number(&package["nodes"]));
        let sub = text(&document["sub_numa"]["kind"]) != "none";
        facts.insert(format!("{} packages of {split} nodes, sub-NUMA {sub}", packages.len()));
        facts.extend(list(&document["drives"]).iter().filter_map(|drive| self.drive(drive)));
        facts.extend(list(&document["nics"]).iter().filter_map(|nic| self.nic(nic)));
        facts.extend(list(&document["gpus"]).iter().map(|gpu| self.gpu(gpu)));
        facts
    }

    /// What the firmware says of itself; only asked for where the file says something.
    pub(crate) fn firmware(&self) -> Facts {
        let host = &self.document["host"];
        ["vendor", "product", "firmware"].map(|key| format!("{key} {}", text(&host[key]))).into()
    }

    pub(crate) fn shape(&self) -> Facts {
        let node = |node: &Value| {
            let cpus = numbers(text(&node["cpus"]));
            let distances: Vec<u64> = list(&node["distances"]).iter().map(number).collect();
            format!("node {}: CPUs {cpus:?}, distances {distances:?}", number(&node["id"]))
        };
        list(&self.document["nodes"]).iter().map(node).collect()
    }

    /// The lab's own two disks are virtio and no part of a machine.
    fn drive(&self, drive: &Value) -> Option<String> {
        let kind = text(&drive["kind"]);
        if kind == "virtio" {
            return None;
        }
        let controller = &drive["controllers"][0];
        let place = self.place(&controller["function"]);
        let name = format!("drive {}", text(&drive["serial"]));
        let node = node(&controller["node"]);
        if kind != "nvme" {
            return Some(format!("{name}: node {node}, {place}"));
        }
        let vectors = self.vectors(text(&controller["name"]));
        let managed = vectors.iter().filter(|irq| irq["managed"] == true).count();
        let queues = number(&controller["queues"]);
        let all = vectors.len();
        Some(format!(
            "{name}: node {node}, {place}, {queues} queues, {managed} managed vectors of {all}"
        ))
    }

    fn nic(&self, nic: &Value) -> Option<String> {
        let name = text(&nic["name"]);
        let address = self.addresses.get(name).filter(|_| name != "lo")?;
        let (node, place) = (node(&nic["node"]), self.place(&nic["function"]));
        Some(format!("NIC {address}: node {node}, {place}, {} queues", number(&nic["queues"])))
    }

    fn gpu(&self, gpu: &Value) -> String {
        let function = self.function(&gpu["function"]);
        let part = |key: &str| text(&function[key]).to_owned();
        let name = format!("GPU {}:{} {}", part("vendor"), part("device"), part("class"));
        format!("{name}: node {}, {}", node(&gpu["node"]), self.place(&gpu["function"]))
    }

    fn function(&self, address: &Value) -> &Value {
        let functions = list(&self.document["functions"]);
        functions.iter().find(|function| function["address"] == *address).unwrap_or(&Value::Null)
    }

    fn place(&self, address: &Value) -> String {
        let link = &self.function(address)["link"];
        if link.is_null() {
            return "no link".to_owned();
        }
        let part = |rate: &str, width: &str| {
            format!("{:?}x{}", link[rate].as_f64().unwrap_or(0.0), number(&link[width]))
        };
        format!("{} of {}", part("speed_gts", "width"), part("best_speed_gts", "best_width"))
    }

    fn vectors(&self, device: &str) -> Vec<&Value> {
        list(&self.document["irqs"]).iter().filter(|irq| irq["device"] == device).collect()
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(u64::MAX)
}

fn node(value: &Value) -> String {
    value.as_u64().map_or_else(|| "?".to_owned(), |node| node.to_string())
}
