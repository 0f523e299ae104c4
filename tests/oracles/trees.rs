// SPDX-License-Identifier: MIT OR Apache-2.0
//! Trees of real machines: lstopo and lscpu run on each, and what the README says is true of it.

use std::fs;
use std::path::Path;
use std::process::Command;

use support::{Capture, Failed, Need, Trial, failed, trial};

use crate::document::{self, Document, plain};
use crate::facts::{Excuse, Facts, differences, judge};
use crate::{lscpu, lstopo};

/// Differences that are no mistakes, by root.
const EXCUSES: &[Excuse] = &[
    ("r640-gold6230-dangling", "lstopo 0000:02:00.0 node", DANGLING),
    ("r640-gold6230-dangling", "lstopo 0000:03:00.0 node", DANGLING),
    ("r640-gold6230-dangling", "lstopo 0000:18:00.0 node", DANGLING),
    ("r640-gold6230-dangling", "lstopo 0000:19:", DANGLING),
    ("r640-gold6230-dangling", "lstopo 0000:86:00.0 node", DANGLING),
    ("r640-gold6230-dangling", "lstopo 0000:87:00.0 node", DANGLING),
    ("r640-gold6230-dangling", "lstopo 0000:88:00.0 node", DANGLING),
    ("r640-gold6230-dangling", "lstopo 0000:89:00.0 node", DANGLING),
    (
        "hwloc-64amd64-4s2n4ca2co/64amd64-4s2n4ca2co",
        "lstopo package",
        "lstopo splits the two threads of a Bulldozer module into cores; kernel and lscpu do not",
    ),
    (
        "hwloc-32em64t-2n8c+dax+nvme+mic+dimms/32em64t-2n8c+1mic",
        "lstopo 0000:00:11.0",
        "lstopo leaves out a bridge with nothing below it",
    ),
    ("hwloc-offline-cpu0-node0/offline-cpu0-node0", "lscpu node :", OFFLINE_NODE),
    (
        "lscpu-s390-kvm/s390-kvm",
        "lstopo node 0",
        "the tree has no node folder; lstopo makes one up",
    ),
    ("lscpu-s390-kvm/s390-kvm", "lstopo package", NO_PACKAGE),
    ("lscpu-s390-kvm/s390-kvm", "lscpu packages", NO_PACKAGE),
    ("lscpu-s390-kvm/s390-kvm", "lscpu numbering", NO_PACKAGE),
    ("lscpu-s390-kvm/s390-kvm", "lscpu node :", "lscpu prints nothing for CPUs without a node"),
    ("lscpu-ppc64-POWER7/ppc64-POWER7", "lstopo package", NO_PACKAGE),
    ("lscpu-ppc64-POWER7/ppc64-POWER7", "lscpu packages", NO_PACKAGE),
    ("lscpu-ppc64-POWER7/ppc64-POWER7", "lscpu numbering", NO_PACKAGE),
];

const OFFLINE_NODE: &str = "lscpu prints nothing as the node of CPUs whose node is offline";
const DANGLING: &str =
    "the link dangles, and its target names the bridge above, which tells a node";
const NO_PACKAGE: &str = "physical_package_id is -1, which is unknown; the tools make packages up";

/// (root, pointer into the document, value): the README's table.
const README: &[(&str, &str, &str)] = &[
    ("r740xd-gold6230-rt", "#packages", "2"),
    ("r740xd-gold6230-rt", "#nodes", "2"),
    ("r740xd-gold6230-rt", "/numbering", "round-robin"),
    ("r740xd-gold6230-rt", "/siblings", "second-half"),
    ("r740xd-gold6230-rt", "/cpus/online", "0-79"),
    ("r740xd-gold6230-rt", "functions 0000:3e:00.0 node", "0"),
    ("r740xd-gold6230-rt", "functions 0000:86:00.0 node", "1"),
    ("r740xd-gold6130-nosmt", "/numbering", "round-robin"),
    ("r740xd-gold6130-nosmt", "/siblings", "none"),
    ("r740xd-gold6130-nosmt", "/cpus/online", "0-31"),
    ("r740xd-gold6130-nosmt", "functions 0000:af:00.0 node", "1"),
    ("r640-gold6230-dangling", "#functions", "304"),
    ("r640-gold6230-dangling", "/numbering", "round-robin"),
    ("r640-gold6230-dangling", "functions 0000:85:00.0 node", "1"),
    ("r640-gold6230-dangling", "functions 0000:86:00.0 node", "1"),
    ("r640-gold6230-dangling", "functions 0000:89:00.0 node", "1"),
    ("vm-kvm-q35-12vcpu", "/cpus/online", "0-11"),
    ("vm-kvm-q35-12vcpu", "#functions", "25"),
    ("vm-kvm-q35-12vcpu", "functions -", "25"),
    ("vm-gce-2vcpu", "#nodes", "1"),
    ("vm-gce-2vcpu", "/cpus/online", "0-1"),
    ("dell-2x-l5640", "#nodes", "2"),
    ("dell-2x-l5640", "/nodes/0/package", "1"),
    ("dell-2x-l5640", "/cpus/online", "0-23"),
    ("vm-offline-cpus", "/cpus/offline", "2-3"),
    ("snc2-pmem-server-desktop/sysfs/server", "#packages", "2"),
    ("snc2-pmem-server-desktop/sysfs/server", "#nodes", "6"),
    ("snc2-pmem-server-desktop/sysfs/server", "/cpus/online", "0-111"),
    ("snc2-pmem-server-desktop/sysfs/server", "/cpus/isolated", "4-7,60-63"),
    ("snc2-pmem-server-desktop/sysfs/server", "/sub_numa/kind", "snc"),
    ("hwloc-32em64t-2n8c+dax+nvme+mic+dimms/32em64t-2n8c+1mic", "#functions", "137"),
    ("hwloc-32em64t-2n8c+dax+nvme+mic+dimms/32em64t-2n8c+1mic", "functions -", "93"),
    ("hwloc-32em64t-2n8c+dax+nvme+mic+dimms/32em64t-2n8c+1mic", "functions 0000:00:02.0 node", "0"),
    (
        "hwloc-32em64t-2n8c+dax+nvme+mic+dimms/32em64t-2n8c+1mic",
        "functions 0000:00:02.0 local_cpus",
        "0-3",
    ),
    ("hwloc-40intel64-2g2n4c+pcilocality/40intel64-2g2n4c+pci", "#functions", "37"),
    ("hwloc-40intel64-2g2n4c+pcilocality/40intel64-2g2n4c+pci", "functions -", "36"),
    ("hwloc-40intel64-2g2n4c+pcilocality/40intel64-2g2n4c+pci", "/numbering", "round-robin"),
    ("hwloc-32intel64-2p8co2t+8ve/32intel64-2p8co2t+8ve", "#functions", "28"),
    ("hwloc-32intel64-2p8co2t+8ve/32intel64-2p8co2t+8ve", "functions -", "0"),
    ("hwloc-48amd64-4pa2n6c-sparse/48amd64-4d2n6c-sparse", "/nodes/3/id", "33"),
    ("hwloc-48amd64-4pa2n6c-sparse/48amd64-4d2n6c-sparse", "/nodes/7/id", "73"),
    ("hwloc-16amd64-8n2c/16amd64-8n2c", "#packages", "8"),
    ("hwloc-16amd64-8n2c-cpusets/16amd64-8n2c-cpusets", "/cpus/allowed", "0-3,5-6,12-15"),
    ("hwloc-128arm-2pa2n8cluster4co/128arm-2pa2n8cluster4co", "/packages/0/id", "36"),
    ("hwloc-128arm-2pa2n8cluster4co/128arm-2pa2n8cluster4co", "/packages/1/id", "8442"),
    ("hwloc-nvidiagpunumanodes/nvidiagpunumanodes", "#nodes", "8"),
    ("hwloc-nvidiagpunumanodes/nvidiagpunumanodes", "/nodes/7/id", "255"),
    ("hwloc-nvidiagpunumanodes/nvidiagpunumanodes", "/nodes/7/cpus", ""),
    ("hwloc-memorysidecaches/memorysidecaches", "#nodes", "4"),
    ("hwloc-memorysidecaches/memorysidecaches", "/sub_numa/kind", "snc"),
];

pub(crate) fn trials() -> Vec<Trial> {
    let needs = [Need::Captures, Need::Tool("lstopo-no-graphics"), Need::Tool("lscpu")];
    let check = |capture: Capture| {
        trial(format!("trees/{}", capture.name), &needs, move || check(&capture))
    };
    support::tree_captures().into_iter().map(check).collect()
}

fn check(capture: &Capture) -> Result<(), Failed> {
    let folder = capture.folder().map_err(failed)?;
    let mut wrong = Vec::new();
    for root in capture.roots().map_err(failed)? {
        let below = root.strip_prefix(&folder).map_err(failed)?.display().to_string();
        let name = format!("{}/{below}", capture.name);
        let name = name.trim_end_matches('/');
        let document = document::topology(&["--from".as_ref(), root.as_os_str()])?;
        let mut found = readme(name, &document);
        found.extend(ask_lstopo(&root, &document)?);
        found.extend(ask_lscpu(&root, &document)?);
        wrong.extend(
            judge(name, found, EXCUSES).err().and_then(|error| error.message().map(str::to_owned)),
        );
    }
    if wrong.is_empty() { Ok(()) } else { Err(failed(wrong.join("\n"))) }
}

fn readme(name: &str, document: &Document) -> Vec<String> {
    let rows = README.iter().filter(|row| row.0 == name);
    let wrong = rows.filter(|(_, at, value)| value_at(document, at) != *value);
    wrong
        .map(|(_, at, value)| {
            format!("README {at}: said {value}, the document {}", value_at(document, at))
        })
        .collect()
}

/// `#nodes` counts a list, `functions 0000:3e:00.0 node` is a field, `/cpus/online` a pointer.
fn value_at(document: &Document, at: &str) -> String {
    let words: Vec<&str> = at.split(' ').collect();
    match words.as_slice() {
        ["functions", address, field] => {
            plain(&document.find("functions", "address", address)[*field])
        }
        ["functions", "-"] => {
            let functions = document.list("functions").iter();
            functions.filter(|function| function["node_from"] != "own").count().to_string()
        }
        [list] if list.starts_with('#') => document.list(&list[1..]).len().to_string(),
        _ => plain(document.at(at)),
    }
}

fn ask_lstopo(root: &Path, document: &Document) -> Result<Vec<String>, Failed> {
    if !root.join("sys/devices/system/cpu/cpu0").exists() {
        return Ok(Vec::new());
    }
    let objects = lstopo::run(root)?;
    let mut said = lstopo::said(&objects, document);
    tell_nodes(root, &mut said);
    let texts = differences("lstopo", &said, &lstopo::ours(document));
    Ok(texts.into_iter().map(|text| format!("lstopo {text}")).collect())
}

/// lstopo takes the place of a function from `local_cpus` alone, and one place for all that hangs
/// on a root bus. Where it knows none, the tree's own `numa_node` speaks.
fn tell_nodes(root: &Path, said: &mut Facts) {
    let functions = fs::read_dir(root.join("sys/bus/pci/devices")).into_iter().flatten().flatten();
    for function in functions {
        let about = format!("{} node", function.file_name().to_string_lossy());
        let text = fs::read_to_string(function.path().join("numa_node")).unwrap_or_default();
        if said.is(&about, "-") && text.trim().parse::<u32>().is_ok() {
            said.say(about, text.trim());
        }
    }
}

/// What `lscpu --sysroot` says, where it can read the tree.
fn ask_lscpu(root: &Path, document: &Document) -> Result<Vec<String>, Failed> {
    let has = |file: &str| root.join(file).exists();
    if !has("proc/cpuinfo") || !has("sys/devices/system/cpu/possible") {
        return Ok(Vec::new());
    }
    let mut command = Command::new("lscpu");
    command.arg("--sysroot").arg(root).arg("-p=CPU,NODE,SOCKET,CORE").env("LC_ALL", "C");
    let output = command.output().map_err(failed)?;
    let rows = lscpu::rows(&String::from_utf8_lossy(&output.stdout));
    let texts = differences("lscpu", &lscpu::said(&rows), &lscpu::ours(document));
    Ok(texts.into_iter().map(|text| format!("lscpu {text}")).collect())
}
