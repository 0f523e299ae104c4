// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON documents hold exactly the fields that others build on.

mod machines;

use std::collections::BTreeSet;

use machines::{findings, storage_server};
use nearside_report::json;
use serde_json::Value;

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect()
}

fn names(text: &str) -> BTreeSet<&str> {
    text.split_whitespace().collect()
}

#[test]
fn topology_1_has_its_fields() {
    let mut machine = storage_server();
    machine.unknown.push(machine::Trouble {
        what: "PCI config space beyond 64 bytes".to_owned(),
        why: machine::Why::Denied,
        path: "/sys/bus/pci/devices/0000:10:00.0/config".to_owned(),
    });
    let document = serde_json::to_value(json::topology(&machine)).unwrap();
    let expected = [
        (
            "",
            "schema host cpus packages nodes numbering siblings sub_numa smt l3 functions drives \
             nics gpus irqs lanes unknown",
        ),
        ("/host", "vendor product firmware kernel virtual"),
        ("/cpus", "online offline allowed isolated"),
        ("/packages/0", "id dies nodes cores threads"),
        ("/nodes/0", "id package cpus memory_bytes distances"),
        ("/sub_numa", "kind per_package why"),
        ("/smt", "threads_per_core state"),
        ("/l3/0", "cpus bytes"),
        (
            "/functions/0",
            "address class vendor device names driver node node_from local_cpus slot link",
        ),
        ("/functions/0/link", "speed_gts width best_speed_gts best_width limited_by"),
        ("/drives/0", "name kind model serial bytes controllers holders"),
        ("/drives/0/controllers/0", "name function node queues"),
        ("/nics/0", "name function node speed_bits mtu queues master"),
        ("/gpus/0", "name function node"),
        ("/irqs/0", "irq device queue cpus effective_cpus managed"),
        ("/lanes/0", "root node lanes bytes_per_second used_by"),
        ("/unknown/0", "what why path"),
    ];
    for (place, fields) in expected {
        let value = document.pointer(place).unwrap_or_else(|| panic!("no {place}"));
        assert_eq!(keys(value), names(fields), "{place}");
    }
    assert_eq!(document["schema"], "topology/1");
    assert_eq!(document["numbering"], "linear");
    assert_eq!(document["cpus"]["online"], "0-255");
    assert_eq!(document["nodes"][1]["distances"], serde_json::json!([21, 10]));
}

#[test]
fn a_degraded_link_says_what_it_could_be_and_what_limits_it() {
    let document = serde_json::to_value(json::topology(&storage_server())).unwrap();
    let link = |address: &str| {
        let functions = document["functions"].as_array().unwrap();
        functions.iter().find(|f| f["address"] == address).unwrap()["link"].clone()
    };
    let trained = link("0000:13:00.0");
    assert_eq!((&trained["width"], &trained["best_width"]), (&2.into(), &4.into()));
    assert_eq!(trained["limited_by"], "trained");
    let slot = link("0000:95:00.0");
    assert_eq!((&slot["speed_gts"], &slot["best_speed_gts"]), (&8.0.into(), &32.0.into()));
    assert_eq!(slot["limited_by"], "port");
    assert_eq!(link("0000:10:00.0")["limited_by"], Value::Null);
}

#[test]
fn audit_1_has_its_fields() {
    let seen = |value| setting::Observation {
        setting: "numa-balancing".to_owned(),
        device: None,
        value,
        reason: String::new(),
        evidence: vec![setting::Evidence::quoted("/proc/sys/kernel/numa_balancing", "1")],
    };
    let observations = [seen(Ok("1".to_owned())), seen(Err(machine::Why::Denied))];
    let audit = json::audit(setting::Goal::Latency, &observations, &findings(), &[]);
    let document = serde_json::to_value(audit).unwrap();
    let expected = [
        ("", "schema goal settings findings unknown"),
        ("/settings/0", "setting device observed unknown reason evidence"),
        (
            "/findings/0",
            "id setting device devices severity confidence observed wanted because evidence effect \
             cost owner change",
        ),
        ("/findings/0/evidence/0", "path content means"),
        ("/findings/0/effect", "text source measured"),
        ("/findings/0/change", "from to reboot at_once"),
    ];
    for (place, fields) in expected {
        let value = document.pointer(place).unwrap_or_else(|| panic!("no {place}"));
        assert_eq!(keys(value), names(fields), "{place}");
    }
    assert_eq!(document["goal"], "latency");
    assert_eq!(document["settings"][1]["observed"], Value::Null);
    assert_eq!(document["settings"][1]["unknown"], "permission denied");
    assert_eq!(document["findings"][0]["severity"], "high");
    assert_eq!(document["findings"][0]["effect"]["measured"], true);
}
