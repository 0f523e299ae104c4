// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is true of every machine, however little of it could be read.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::Value;
use units::CpuSet;

use crate::pipeline::Said;
use crate::schema;

type Wrong = Result<(), String>;

static TOPOLOGY: LazyLock<Value> =
    LazyLock::new(|| parsed(include_str!("../../schemas/topology-1.json")));
static AUDIT: LazyLock<Value> =
    LazyLock::new(|| parsed(include_str!("../../schemas/audit-1.json")));

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

/// Holds what was said against what is true of every machine.
///
/// # Errors
/// What is wrong.
pub(crate) fn hold(said: &Said) -> Wrong {
    schema::hold(&TOPOLOGY, &said.topology).map_err(|wrong| format!("topology/1 {wrong}"))?;
    for audit in &said.audits {
        schema::hold(&AUDIT, audit).map_err(|wrong| format!("audit/1 {wrong}"))?;
    }
    let document = &said.topology;
    cpus(document)?;
    names_are_names_of_one(document)?;
    nodes_exist(document)?;
    packages(document)?;
    links(document)?;
    lanes(document)?;
    for drawing in &said.drawings {
        if drawing.chars().any(|c| c.is_control() && c != '\n') {
            return Err("a drawing holds control characters".to_owned());
        }
    }
    Ok(())
}

fn ensure(holds: bool, wrong: impl FnOnce() -> String) -> Wrong {
    if holds { Ok(()) } else { Err(wrong()) }
}

/// The objects of an array.
pub(crate) fn each<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

fn set(value: &Value) -> Result<CpuSet, String> {
    let text = value.as_str().unwrap_or_default();
    CpuSet::from_list(text).map_err(|error| format!("CPUs {text:?}: {error}"))
}

/// Totals never exceed what is there.
fn cpus(document: &Value) -> Wrong {
    let cpus = &document["cpus"];
    let (online, offline) = (set(&cpus["online"])?, set(&cpus["offline"])?);
    ensure(!online.overlaps(&offline), || format!("both online and offline: {cpus}"))?;
    ensure(set(&cpus["allowed"])?.is_subset(&online), || format!("allowed and offline: {cpus}"))?;
    for cache in each(document, "l3") {
        ensure(!set(&cache["cpus"])?.is_empty(), || "an L3 cache of no CPU".to_owned())?;
    }
    let threads: u64 = each(document, "packages").filter_map(|p| p["threads"].as_u64()).sum();
    let there = online.len() + offline.len();
    ensure(threads <= there as u64, || format!("{threads} threads in packages, {there} CPUs"))
}

fn names_are_names_of_one(document: &Value) -> Wrong {
    for (section, key) in [
        ("packages", "id"),
        ("nodes", "id"),
        ("functions", "address"),
        ("drives", "name"),
        ("nics", "name"),
        ("gpus", "function"),
        ("irqs", "irq"),
        ("lanes", "root"),
    ] {
        let mut seen = BTreeSet::new();
        for item in each(document, section) {
            let name = item[key].to_string();
            ensure(seen.insert(name.clone()), || format!("two {section} called {name}"))?;
        }
    }
    Ok(())
}

/// A node that a device is on is one of the machine's.
fn nodes_exist(document: &Value) -> Wrong {
    let nodes: BTreeSet<u64> = each(document, "nodes").filter_map(|n| n["id"].as_u64()).collect();
    let controllers = each(document, "drives").flat_map(|drive| each(drive, "controllers"));
    let devices = ["functions", "nics", "gpus", "lanes"];
    let devices = devices.into_iter().flat_map(|section| each(document, section));
    for device in devices.chain(controllers) {
        let exists = device["node"].as_u64().is_none_or(|node| nodes.contains(&node));
        ensure(exists || nodes.is_empty(), || format!("on a node that is not there: {device}"))?;
    }
    for node in each(document, "nodes") {
        let count = each(node, "distances").count();
        ensure(count <= nodes.len(), || format!("{count} distances, {} nodes", nodes.len()))?;
    }
    Ok(())
}

fn packages(document: &Value) -> Wrong {
    for package in each(document, "packages") {
        let count = |key: &str| package[key].as_u64().unwrap_or(0);
        let fits = count("cores") <= count("threads")
            && count("dies") <= count("cores").max(1)
            && count("nodes") <= count("threads")
            && count("threads") > 0;
        ensure(fits, || format!("impossible counts: {package}"))?;
    }
    Ok(())
}

/// Speeds of the generations (Link Control 2) and widths that links have (Link
/// Capabilities; both PCI Express Base 6.0, chapter 7).
fn links(document: &Value) -> Wrong {
    const SPEEDS: [f64; 7] = [2.5, 5.0, 8.0, 16.0, 32.0, 64.0, 128.0];
    const WIDTHS: [u64; 7] = [1, 2, 4, 8, 12, 16, 32];
    for function in each(document, "functions") {
        let link = &function["link"];
        let speed = |key: &str| link[key].as_f64().is_none_or(|speed| SPEEDS.contains(&speed));
        let width = |key: &str| link[key].as_u64().is_none_or(|width| WIDTHS.contains(&width));
        let is_link = speed("speed_gts") && speed("best_speed_gts");
        ensure(is_link && width("width") && width("best_width"), || format!("no link: {link}"))?;
    }
    Ok(())
}

/// A root complex's lanes are those of devices that are there.
fn lanes(document: &Value) -> Wrong {
    let addresses: BTreeSet<&str> =
        each(document, "functions").filter_map(|f| f["address"].as_str()).collect();
    for root in each(document, "lanes") {
        let users: Vec<&str> = each(root, "used_by").filter_map(Value::as_str).collect();
        let known = users.iter().all(|user| addresses.contains(user));
        let most = users.len() as u64 * 32;
        let lanes = root["lanes"].as_u64().unwrap_or(u64::MAX);
        ensure(known && lanes <= most, || format!("lanes of no device: {root}"))?;
    }
    Ok(())
}
