// SPDX-License-Identifier: MIT OR Apache-2.0
//! The PCI tree against lspci: what it said on the lab's machines, and what it says of dumps.

#![expect(clippy::print_stdout, reason = "how much was compared belongs in a test's output")]

mod pci_support;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use machine::{Ability, AcsRedirect, AspmStates, Fact, Function, L1Substates, PortKind, Why};
use pci_support::{Told, parse, parse_dump};
use root::{DirRoot, MemoryRoot};
use support::{Capture, Failed, Need, Trial, failed, lab_captures, trial};
use units::Transfers;

fn main() {
    let mut trials: Vec<Trial> = lab_captures()
        .into_iter()
        .map(|capture| {
            let name = format!("lab/{}", capture.name);
            trial(name, &[Need::Captures], move || compare_lab(&capture))
        })
        .collect();
    let dumps = support::shared().map(|shared| shared.join("captures/text/lspci"));
    let entries = dumps.and_then(|folder| std::fs::read_dir(folder).ok());
    let mut paths: Vec<_> =
        entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = format!("dump/{}", path.file_name().unwrap_or_default().to_string_lossy());
        trials.push(trial(name, &[Need::Tool("lspci")], move || compare_dump(&path)));
    }
    if trials.is_empty() {
        trials.push(trial("captures", &[Need::Captures], || Ok(())));
    }
    support::run(trials)
}

/// Whether a comparison knows of the running machine, or of registers alone.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    Live,
    Dump,
}

fn compare_lab(capture: &Capture) -> Result<(), Failed> {
    let root = DirRoot::open(&capture.tree()?).map_err(failed)?;
    let functions = nearside_linux::read(&root).functions;
    compare(&functions, &parse(&capture.say("lspci-vvv.txt")?), Source::Live)
}

fn compare_dump(path: &Path) -> Result<(), Failed> {
    let spaces = parse_dump(&String::from_utf8_lossy(&std::fs::read(path)?));
    let mut root = MemoryRoot::new();
    for (address, bytes) in &spaces {
        root.file(&format!("/sys/bus/pci/devices/{address}/config"), bytes.clone());
    }
    let functions = nearside_linux::read(&root).functions;
    let output = Command::new("lspci").arg("-F").arg(path).args(["-vvv", "-nn"]).output()?;
    compare(&functions, &parse(&String::from_utf8_lossy(&output.stdout)), Source::Dump)
}

fn compare(
    functions: &[Function],
    told: &BTreeMap<String, Told>,
    source: Source,
) -> Result<(), Failed> {
    let addresses: Vec<String> = functions.iter().map(|each| each.address.to_string()).collect();
    let wanted: Vec<String> = told.keys().cloned().collect();
    let mut differences = Differences::default();
    differences.check("all", "addresses", &sorted(addresses), &sorted(wanted));
    for function in functions {
        let address = function.address.to_string();
        let Some(told) = told.get(&address) else { continue };
        let mut here = |what: &str, ours: String, theirs: String| {
            differences.check(&address, what, &ours, &theirs);
        };
        identity(function, told, source, &mut here);
        registers(function, told, &mut here);
        link(function, told, &mut here);
    }
    differences.verdict(functions.len())
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

type Check<'a> = dyn FnMut(&str, String, String) + 'a;

fn identity(function: &Function, told: &Told, source: Source, check: &mut Check<'_>) {
    let class = format!("{:02x}{:02x}", function.class.base, function.class.sub);
    check("class", class, told.class.clone());
    let ids = format!("[{:04x}:{:04x}]", function.vendor, function.device);
    check("ids", ids, told.ids.clone());
    if let Some(subsystem) = &told.subsystem {
        let ids = format!("[{:04x}:{:04x}]", function.subsystem_vendor, function.subsystem_device);
        check("subsystem", ids, subsystem.clone());
    }
    if source == Source::Live {
        // Editions of pci.ids differ in blanks (`GH100[H100 SXM5 80GB]`), on these machines in no more.
        let name = format!("{} {}", function.names.vendor, function.names.device);
        check("name", name.replace(' ', ""), told.name.replace(' ', ""));
        check("class name", function.names.class.clone(), told.class_name.clone());
        check("driver", format!("{:?}", function.driver), format!("{:?}", told.driver));
        let node = function.node.map(|node| node.0.to_string());
        let group = function.iommu_group.map(|group| group.to_string());
        check("IOMMU group", format!("{group:?}"), format!("{:?}", told.iommu_group));
        if told.node.is_some() {
            check("node", format!("{node:?}"), format!("{:?}", told.node));
        }
    }
}

fn registers(function: &Function, told: &Told, check: &mut Check<'_>) {
    let config = &function.config;
    let kind = told.express_kind().map(|kind| match kind {
        "Endpoint" => "Endpoint",
        "Legacy Endpoint" => "LegacyEndpoint",
        "Root Port" => "Root",
        "Upstream Port" => "Upstream",
        "Downstream Port" => "Downstream",
        "PCI-Express to PCI/PCI-X Bridge" | "PCI/PCI-X to PCI-Express Bridge" => "Bridge",
        "Root Complex Integrated Endpoint" => "Integrated",
        "Root Complex Event Collector" => "EventCollector",
        other => other,
    });
    let ours = function.port.map(|port: PortKind| format!("{port:?}"));
    if kind.is_some() {
        check("kind", format!("{ours:?}"), format!("{:?}", kind.map(str::to_owned)));
    }
    check("MPS", text(&config.mps), word(told, "DevCtl:", "MaxPayload"));
    check("MPS at most", text(&config.mps_supported), word(told, "DevCap:", "MaxPayload"));
    check("MRRS", text(&config.mrrs), word(told, "DevCtl:", "MaxReadReq"));
    check(
        "relaxed ordering",
        text(&config.relaxed_ordering),
        flag(told.flag("DevCtl:", "RlxdOrd")),
    );
    let (can, on) = split(&config.extended_tags);
    check("extended tags supported", can, flag(told.flag("DevCap:", "ExtTag")));
    check("extended tags on", on, flag(told.flag("DevCtl:", "ExtTag")));
    let (can, on) = split(&config.ten_bit_tags);
    if told.section("DevCap2:").is_some() {
        check("10-bit tags supported", can, flag(told.flag("DevCap2:", "10BitTagReq")));
        check("10-bit tags on", on, flag(told.flag("DevCtl2:", "10BitTagReq")));
    }
    let acs = told.section("ACSCtl:").map(|_| {
        let is_on = |name| told.flag("ACSCtl:", name) == Some(true);
        AcsRedirect { requests: is_on("ReqRedir"), completions: is_on("CmpltRedir") }
    });
    check(
        "ACS redirect",
        format!("{:?}", config.acs_redirect.clone().ok().flatten()),
        format!("{acs:?}"),
    );
    let aer = told.text.contains("] Advanced Error Reporting");
    check("AER", format!("{}", config.aer == Ok(true)), format!("{aer}"));
}

fn link(function: &Function, told: &Told, check: &mut Check<'_>) {
    let Some(_) = told.section("LnkCap:") else {
        check("link", format!("{}", function.link.is_some()), "false".to_owned());
        return;
    };
    let integrated = matches!(function.port, Some(PortKind::Integrated | PortKind::EventCollector));
    if integrated {
        // lspci prints link registers there where the capability's version is 1; there is no link.
        return;
    }
    let Some(link) = &function.link else {
        check("link", "none".to_owned(), "some".to_owned());
        return;
    };
    check("speed", speed(&link.speed), known_speed(told.word("LnkSta:", "Speed")));
    check("width", width(&link.width), known_width(told.word("LnkSta:", "Width")));
    // As the kernel, we believe the list of supported speeds where there is one: on one dump the
    // older field says 2.5 GT/s for a port that runs at 8.
    let listed = told.word("LnkCap2:", "Supported Link Speeds:");
    let listed = listed.and_then(|speeds| speeds.split('-').next_back());
    let best = listed.filter(|word| word.ends_with("GT/s")).or(told.word("LnkCap:", "Speed"));
    check("best speed", speed(&link.own.speed), known_speed(best));
    check("best width", width(&link.own.width), known_width(told.word("LnkCap:", "Width")));
    let below =
        |now: &Fact<Transfers>| matches!((now, &link.own.speed), (Ok(now), Ok(own)) if now < own);
    let narrow = matches!((&link.width, &link.own.width), (Ok(now), Ok(own)) if now < own);
    let marked = told.section("LnkSta:").is_some_and(|text| text.contains("(downgraded)"));
    // lspci marks lower ends only, and compares with the older field, as above.
    let same_field = listed.is_none() || listed == told.word("LnkCap:", "Speed");
    if same_field && !function.is_upper_end() {
        check("below its best", format!("{}", below(&link.speed) || narrow), format!("{marked}"));
    }
    let aspm = |text: &str| AspmStates { l0s: text.contains("L0s"), l1: text.contains("L1") };
    let supported = told.section("LnkCap:").and_then(|text| text.split("ASPM ").nth(1));
    let supported = supported.map(|text| aspm(text.split([',', ';']).next().unwrap_or("")));
    check(
        "ASPM supported",
        text(&link.aspm.supported),
        format!("{:?}", supported.unwrap_or_default()),
    );
    let enabled = told.section("LnkCtl:").and_then(|text| text.split("ASPM ").nth(1));
    let enabled = enabled.map(|text| text.split(';').next().unwrap_or(""));
    let enabled = enabled
        .map(|text| if text.contains("Enabled") { aspm(text) } else { AspmStates::default() });
    check("ASPM on", text(&link.aspm.enabled), format!("{:?}", enabled.unwrap_or_default()));
    if told.section("L1SubCtl1:").is_some() {
        let on =
            |names: [&str; 2]| names.iter().any(|name| told.flag("L1SubCtl1:", name) == Some(true));
        let (l1_1, l1_2) = (on(["PCI-PM_L1.1", "ASPM_L1.1"]), on(["PCI-PM_L1.2", "ASPM_L1.2"]));
        let theirs = L1Substates { l1_1, l1_2 };
        check("L1 substates", text(&link.aspm.l1_substates), format!("{theirs:?}"));
    }
}

const NONE: &str = "none";

fn text<T: std::fmt::Debug>(fact: &Fact<T>) -> String {
    match fact {
        Ok(value) => format!("{value:?}"),
        Err(Why::NotSupported) => NONE.to_owned(),
        Err(why) => format!("{why:?}"),
    }
}

fn split(fact: &Fact<Ability>) -> (String, String) {
    let one = fact.clone().map(|ability| ability.supported);
    let other = fact.clone().map(|ability| ability.enabled);
    (text(&one), text(&other))
}

fn word(told: &Told, section: &str, key: &str) -> String {
    told.word(section, key).unwrap_or(NONE).to_owned()
}

fn flag(flag: Option<bool>) -> String {
    flag.map_or_else(|| NONE.to_owned(), |on| format!("{on:?}"))
}

fn speed(fact: &Fact<Transfers>) -> String {
    fact.as_ref().map_or_else(|_| NONE.to_owned(), |speed| speed.to_string().replace(' ', ""))
}

fn width(fact: &Fact<u8>) -> String {
    fact.as_ref().map_or_else(|_| NONE.to_owned(), |width| format!("x{width}"))
}

fn known_speed(word: Option<&str>) -> String {
    word.filter(|word| word.ends_with("GT/s")).unwrap_or(NONE).to_owned()
}

fn known_width(word: Option<&str>) -> String {
    word.filter(|word| *word != "x0").unwrap_or(NONE).to_owned()
}

#[derive(Default)]
struct Differences {
    lines: Vec<String>,
    checked: usize,
}

impl Differences {
    fn check<T: std::fmt::Debug + PartialEq>(
        &mut self,
        address: &str,
        what: &str,
        ours: &T,
        theirs: &T,
    ) {
        self.checked += 1;
        if ours != theirs {
            self.lines.push(format!("{address} {what}: ours {ours:?}, lspci's {theirs:?}"));
        }
    }

    fn verdict(self, functions: usize) -> Result<(), Failed> {
        if functions == 0 {
            return Err("no function was read".into());
        }
        println!("{functions} functions, {} comparisons", self.checked);
        if self.lines.is_empty() { Ok(()) } else { Err(self.lines.join("\n").into()) }
    }
}
