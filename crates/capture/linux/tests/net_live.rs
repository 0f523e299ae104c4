// SPDX-License-Identifier: MIT OR Apache-2.0
//! Live answers against what `ethtool` prints on the same device.
//!
//! A pair of veth devices in a network namespace of its own gives the same devices everywhere; the
//! machine's own interfaces give real drivers.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::process::Command;

use machine::{Channels, Coalescing, Feature, Rings};
use root::{LiveRoot, Question, Root};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::de::DeserializeOwned;
use support::{Failed, Need, failed, trial};

fn main() {
    let ethtool = Need::Tool("ethtool");
    support::run(vec![
        trial("net_live::veth", &[Need::Root, ethtool, Need::Tool("ip")], veth),
        trial("net_live::own_interfaces", &[ethtool], own_interfaces),
        trial("net_live::absent", &[], absent),
    ]);
}

/// A network namespace that goes when the test ends, however it ends.
struct Namespace(String);

impl Namespace {
    fn new() -> Result<Self, Failed> {
        let name = format!("nearside-test-{}", std::process::id());
        run("ip", &["netns", "add", &name])?;
        let namespace = Self(name);
        let link = ["-n", &namespace.0, "link", "add", "near0", "type", "veth", "peer", "near1"];
        run("ip", &[&link[..], &["numrxqueues", "4", "numtxqueues", "4"]].concat())
            .or_else(|_| run("ip", &link))?;
        Ok(namespace)
    }

    /// Moves this thread inside; threads of other tests stay where they are.
    fn enter(&self) -> Result<(), Failed> {
        let file = File::open(format!("/run/netns/{}", self.0))?;
        use std::os::fd::AsFd;
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).map_err(failed)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = run("ip", &["netns", "del", &self.0]);
    }
}

fn run(tool: &str, arguments: &[&str]) -> Result<String, Failed> {
    let output = Command::new(tool).args(arguments).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        Ok(text)
    } else {
        Err(failed(format!("{tool} {arguments:?}: {error}")))
    }
}

fn veth() -> Result<(), Failed> {
    let namespace = Namespace::new()?;
    // In a thread of its own, which takes its namespace with it when it ends.
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            namespace.enter()?;
            let root = LiveRoot::open().map_err(failed)?;
            compare(&root, "near0").and_then(|()| compare(&root, "lo"))
        });
        inside.join().map_err(|_| failed("the thread ended badly"))?
    })
}

fn own_interfaces() -> Result<(), Failed> {
    let root = LiveRoot::open().map_err(failed)?;
    let names = root.list("/sys/class/net").unwrap_or_default();
    names.iter().filter(|name| *name != "bonding_masters").try_for_each(|name| compare(&root, name))
}

fn absent() -> Result<(), Failed> {
    let root = LiveRoot::open().map_err(failed)?;
    for question in [Question::Channels, Question::Rings, Question::Features, Question::Driver] {
        same(
            "no-such-nic",
            &root.ask(&question("no-such-nic".to_owned())),
            &Err(machine::Why::Absent),
        )?;
    }
    let user: u32 = answer(&root, &Question::User).ok_or_else(|| failed("no user"))?;
    let said = run("id", &["-u"])?;
    same("user", &user.to_string().as_str(), &said.trim())
}

fn answer<T: DeserializeOwned>(root: &LiveRoot, question: &Question) -> Option<T> {
    serde_json::from_str(&root.ask(question).ok()?).ok()
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), Failed> {
    if found == expected {
        Ok(())
    } else {
        Err(failed(format!("{what}: {found:?}, ethtool {expected:?}")))
    }
}

fn compare(root: &LiveRoot, name: &str) -> Result<(), Failed> {
    let owned = || name.to_owned();
    let channels: Option<Channels> = answer(root, &Question::Channels(owned()));
    let said = run("ethtool", &["-l", name]).ok().map(|text| pairs(&text));
    same("channels", &channels.map(channel_pairs), &said)?;
    let rings: Option<Rings> = answer(root, &Question::Rings(owned()));
    let said = run("ethtool", &["-g", name]).ok().map(|text| ring_pairs(&pairs(&text)));
    same("rings", &rings.map(rings_found), &said)?;
    let coalescing: Option<Coalescing> = answer(root, &Question::Coalescing(owned()));
    let said = run("ethtool", &["-c", name]).ok().map(|text| coalescing_said(&text));
    same("coalescing", &coalescing, &said)?;
    let pause: Option<(bool, bool)> = answer(root, &Question::Pause(owned()));
    let said = run("ethtool", &["-a", name]).ok();
    let on = |text: &str, key: &str| value(text, key) == Some("on");
    same("pause", &pause, &said.map(|text| (on(&text, "RX:"), on(&text, "TX:"))))?;
    compare_driver(root, name)?;
    compare_features(root, name)?;
    compare_said(root, name)
}

/// What `ethtool` prints, kept as a sosreport keeps it, answers as the kernel did.
fn compare_said(live: &LiveRoot, name: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let commands = folder.path().join("sos_commands/networking");
    fs::create_dir_all(&commands)?;
    fs::create_dir_all(folder.path().join("sys/class"))?;
    let owned = || name.to_owned();
    let questions = [
        ("-l", Question::Channels(owned())),
        ("-g", Question::Rings(owned())),
        ("-c", Question::Coalescing(owned())),
        ("-a", Question::Pause(owned())),
        ("-k", Question::Features(owned())),
        ("-i", Question::Driver(owned())),
        ("-x", Question::ReceiveSpread(owned())),
    ];
    for (flag, _) in &questions {
        let output = Command::new("ethtool").args([*flag, name]).output()?;
        let text = [output.stderr, output.stdout].concat();
        fs::write(commands.join(format!("ethtool_{flag}_{name}")), text)?;
    }
    let said = root::open(folder.path(), None)?.root;
    for (flag, question) in questions {
        let [asked, said] = [live.ask(&question), said.ask(&question)];
        let title = format!("{name} {flag}");
        if flag == "-k" {
            same(&title, &said.map(|json| by_name(&json)), &asked.map(|json| by_name(&json)))?;
        } else {
            same(&title, &said, &asked)?;
        }
    }
    Ok(())
}

/// Features in one order. What is asked for of a feature that nobody can change is not printed.
fn by_name(json: &str) -> Option<Vec<Feature>> {
    let mut features: Vec<Feature> = serde_json::from_str(json).ok()?;
    features.sort_by(|a, b| a.name.cmp(&b.name));
    features.iter_mut().filter(|f| f.fixed).for_each(|f| f.wanted = false);
    Some(features)
}

fn compare_driver(root: &LiveRoot, name: &str) -> Result<(), Failed> {
    let driver: Option<BTreeMap<String, String>> = answer(root, &Question::Driver(name.to_owned()));
    let said = run("ethtool", &["-i", name]).ok().map(|text| {
        let keys = [
            ("driver", "driver:"),
            ("version", "version:"),
            ("firmware", "firmware-version:"),
            ("bus", "bus-info:"),
        ];
        let text = |key: &str| value(&text, key).unwrap_or_default().to_owned();
        keys.map(|(name, key)| (name.to_owned(), text(key))).into_iter().collect()
    });
    same("driver", &driver, &said)
}

/// `ethtool -k` prints kernel names for most features; the few it renames and sums up are left out.
fn compare_features(root: &LiveRoot, name: &str) -> Result<(), Failed> {
    let features: Vec<Feature> =
        answer(root, &Question::Features(name.to_owned())).unwrap_or_default();
    let text = run("ethtool", &["-k", name])?;
    let mut compared = 0;
    for feature in &features {
        let Some(said) = value(&text, &format!("{}:", feature.name)) else { continue };
        let found = match (feature.active, feature.fixed) {
            (true, true) => "on [fixed]",
            (true, false) => "on",
            (false, true) => "off [fixed]",
            (false, false) => "off",
        };
        let said = said.split(" [requested").next().unwrap_or(said).trim();
        same(&feature.name, &found, &said)?;
        compared += 1;
    }
    same("many features were compared", &(compared > 30), &true)
}

fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.trim().strip_prefix(key)).map(str::trim)
}

/// Each key of `-l` and `-g` stands twice: at most, then now.
fn pairs(text: &str) -> BTreeMap<String, (u32, u32)> {
    let mut most = BTreeMap::new();
    let mut pairs = BTreeMap::new();
    for line in text.lines() {
        let Some((key, number)) = line.split_once(':') else { continue };
        let Ok(number) = number.trim().parse::<u32>() else { continue };
        match most.get(key) {
            None => drop(most.insert(key.to_owned(), number)),
            Some(most) => drop(pairs.insert(key.to_owned(), (number, *most))),
        }
    }
    pairs
}

fn channel_pairs(channels: Channels) -> BTreeMap<String, (u32, u32)> {
    let Channels { rx, tx, other, combined } = channels;
    named(&[("RX", rx), ("TX", tx), ("Other", other), ("Combined", combined)])
}

fn rings_found(rings: Rings) -> BTreeMap<String, (u32, u32)> {
    let Rings { rx, rx_mini, rx_jumbo, tx } = rings;
    named(&[("RX", rx), ("RX Mini", rx_mini), ("RX Jumbo", rx_jumbo), ("TX", tx)])
}

fn named(pairs: &[(&str, Option<(u32, u32)>)]) -> BTreeMap<String, (u32, u32)> {
    pairs.iter().filter_map(|(key, pair)| Some(((*key).to_owned(), (*pair)?))).collect()
}

/// Rings only: `-g` prints other figures, too.
fn ring_pairs(all: &BTreeMap<String, (u32, u32)>) -> BTreeMap<String, (u32, u32)> {
    let keys = ["RX", "RX Mini", "RX Jumbo", "TX"];
    all.iter()
        .filter(|(key, _)| keys.contains(&key.as_str()))
        .map(|(k, v)| (k.clone(), *v))
        .collect()
}

/// `Adaptive RX: off  TX: n/a`, then `rx-usecs: 8`.
fn coalescing_said(text: &str) -> Coalescing {
    let adaptive = value(text, "Adaptive RX:").unwrap_or_default();
    let (rx, tx) = adaptive.split_once("TX:").unwrap_or((adaptive, ""));
    let switch = |word: &str| match word.trim() {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    };
    let number = |key: &str| value(text, key)?.parse().ok();
    Coalescing {
        adaptive_rx: switch(rx),
        adaptive_tx: switch(tx),
        rx_usecs: number("rx-usecs:"),
        rx_frames: number("rx-frames:"),
        tx_usecs: number("tx-usecs:"),
        tx_frames: number("tx-frames:"),
    }
}
