// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places every interrupt of a made-up machine that lies in a folder, for `cargo xtask bench`.
//!
//! ```text
//! place_cost wish MACHINE TREE OUT   the interrupts of a machine as a tree; two plans, each every
//!                                    interrupt on another CPU, and as lists
//! place_cost place TREE JOURNAL PLAN...   carries out the first plan that is not carried out yet
//! ```
//!
//! What runs is `apply` as the program has it: devices and interrupts looked up in the tree, bytes
//! before read, a journal in a real file with its fsync, each write read back. Only what takes the
//! writes differs: plain files below a folder, for no machine here has thousands of interrupts. The
//! tree has what placing reads and no more, so that it fits where the kernel's own files are: in memory.
//! Plain files are cut by a write as the kernel's own are replaced by it, and all may be written, as
//! before Linux 6.12 where managed vectors refuse only when they are asked.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use journal::{Journal, Wait};
use machine::{Fact, Why};
use nearside_apply::{Ending, Kernel, Options, Receipts, ServiceOrder, apply};
use root::{DirRoot, Question, Root};
use rustix::io::Errno;
use setting::{Device, DeviceKind, Ethtool, Form, Outcome, Place, Plan, Planned};
use units::PciAddress;

/// CPUs of the machine that the interrupts go round.
const CPUS: u32 = 1024;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["wish", machine, tree, out] => {
            wish(&DirRoot::open(Path::new(machine))?, Path::new(tree), Path::new(out))
        }
        ["place", tree, journal, plans @ ..] => place(Path::new(tree), Path::new(journal), plans),
        _ => Err("place_cost wish MACHINE TREE OUT | place_cost place TREE JOURNAL PLAN...".into()),
    }
}

/// Writes `plan-a`, `plan-b` and, as a script reads them, `list-a`, `list-b`: number and CPU a line.
fn wish(machine: &dyn Root, tree: &Path, out: &Path) -> Result<(), Box<dyn Error>> {
    let mut plans = [Plan::default(), Plan::default()];
    let mut lists = [String::new(), String::new()];
    for name in machine.list("/sys/bus/pci/devices").map_err(|why| why.to_string())? {
        let Ok(function) = name.parse::<PciAddress>() else { continue };
        let mut times: BTreeMap<Option<u32>, u32> = BTreeMap::new();
        for vector in linux::vectors(machine, function) {
            let ordinal = times.entry(vector.queue).or_insert(0);
            let place = Place::Interrupt { queue: vector.queue, ordinal: *ordinal };
            *ordinal += 1;
            if !lay(machine, tree, function, vector.number)? {
                continue;
            }
            for (at, (plan, list)) in (0..).zip(plans.iter_mut().zip(&mut lists)) {
                let cpu = (vector.number + at * CPUS / 2) % CPUS;
                plan.changes.push(change(function, place.clone(), cpu));
                list.push_str(&format!("{} {cpu}\n", vector.number));
            }
        }
    }
    // Made-up machines have no boot.
    put(&tree.join("proc/sys/kernel/random/boot_id"), b"a made-up boot\n")?;
    for ((name, plan), list) in ["a", "b"].into_iter().zip(&plans).zip(lists) {
        put(&out.join(format!("plan-{name}")), serde_json::to_string(plan)?.as_bytes())?;
        put(&out.join(format!("list-{name}")), list.as_bytes())?;
    }
    Ok(())
}

/// An interrupt in the tree, as it is on the machine; whether it has CPUs there.
fn lay(
    machine: &dyn Root,
    tree: &Path,
    function: PciAddress,
    number: u32,
) -> Result<bool, Box<dyn Error>> {
    let folder = format!("/proc/irq/{number}");
    let own = tree.join(folder.trim_start_matches('/'));
    put(&tree.join(format!("sys/bus/pci/devices/{function}/msi_irqs/{number}")), b"")?;
    fs::create_dir_all(&own)?;
    for name in machine.list(&folder).map_err(|why| why.to_string())? {
        match machine.read(&format!("{folder}/{name}")) {
            Ok(bytes) if name == "smp_affinity_list" => put(&own.join(name), &bytes)?,
            Ok(_) => {}
            // Its action: a folder.
            Err(_) => fs::create_dir_all(own.join(name))?,
        }
    }
    Ok(own.join("smp_affinity_list").is_file())
}

fn put(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, bytes)
}

fn change(function: PciAddress, place: Place, cpu: u32) -> Planned {
    let kind = DeviceKind::Function;
    let device = Device {
        name: function.to_string(),
        kind,
        function: Some(function),
        serial: None,
        port: None,
    };
    Planned {
        setting: "nic-irq-placement".to_owned(),
        device: Some(device),
        place,
        form: Form::CpuList,
        from: Err(Why::Absent),
        to: cpu.to_string(),
        because: String::new(),
        cost: String::new(),
        drops_link: None,
    }
}

/// Rounds begin with the other plan carried out, by whichever of the two programs.
fn place(tree: &Path, journal: &Path, plans: &[&str]) -> Result<(), Box<dyn Error>> {
    let kernel = Folder { tree: tree.to_owned(), root: DirRoot::open(tree)? };
    for path in plans {
        let plan: Plan = serde_json::from_str(&fs::read_to_string(path)?)?;
        if is_carried_out(&kernel, &plan) {
            continue;
        }
        let _ = fs::remove_file(journal);
        let mut journal = Journal::open(journal, Wait::Refuse)?;
        let came = apply(&kernel, &mut journal, &plan, &Options::default())?;
        return judge(&came, plan.changes.len());
    }
    Err("each of the plans is carried out already".into())
}

/// By its first interrupt: plans are carried out whole.
fn is_carried_out(root: &dyn Root, plan: &Plan) -> bool {
    let Some(first) = plan.changes.first() else { return true };
    let function = first.device.as_ref().and_then(|device| device.function);
    let Place::Interrupt { queue, .. } = first.place else { return false };
    let vectors = function.map(|function| linux::vectors(root, function)).unwrap_or_default();
    let own = vectors.iter().find(|vector| vector.queue == queue);
    own.is_some_and(|vector| {
        let path = format!("/proc/irq/{}/smp_affinity_list", vector.number);
        root::text(root, &path).as_ref() == Ok(&first.to)
    })
}

fn judge(came: &Receipts, wanted: usize) -> Result<(), Box<dyn Error>> {
    let is_applied = |receipt: &&nearside_apply::Receipt| receipt.outcome == Outcome::Applied;
    let applied = came.receipts.iter().filter(is_applied).count();
    if came.ending == Ending::Done && applied == wanted {
        return Ok(());
    }
    Err(format!("{applied} of {wanted} interrupts were placed, {:?}", came.ending).into())
}

/// A folder that takes orders.
#[derive(Debug)]
struct Folder {
    tree: PathBuf,
    root: DirRoot,
}

impl Root for Folder {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        self.root.read(path)
    }

    fn read_with_mode(&self, path: &str) -> (Fact<Vec<u8>>, Fact<u32>) {
        self.root.read_with_mode(path)
    }

    fn stream(&self, path: &str) -> Fact<Box<dyn BufRead + '_>> {
        self.root.stream(path)
    }

    fn list(&self, path: &str) -> Fact<Vec<String>> {
        self.root.list(path)
    }

    fn link(&self, path: &str) -> Fact<String> {
        self.root.link(path)
    }

    fn resolve(&self, path: &str) -> Fact<String> {
        self.root.resolve(path)
    }

    fn mode(&self, path: &str) -> Fact<u32> {
        self.root.mode(path)
    }

    fn ask(&self, question: &Question) -> Fact<String> {
        self.root.ask(question)
    }
}

impl Kernel for Folder {
    fn write(&self, path: &str, bytes: &[u8]) -> Result<(), Errno> {
        let path = self.tree.join(path.trim_start_matches('/'));
        let file = OpenOptions::new().write(true).truncate(true).open(path);
        let written = file.and_then(|mut file| file.write(bytes));
        match written {
            Ok(count) if count == bytes.len() => Ok(()),
            Ok(_) => Err(Errno::IO),
            Err(error) => Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
        }
    }

    fn write_at(&self, _: &str, _: u64, _: &[u8]) -> Result<(), Errno> {
        Err(Errno::OPNOTSUPP)
    }

    fn replace(&self, _: &str, _: Option<&[u8]>) -> Result<(), Errno> {
        Err(Errno::OPNOTSUPP)
    }

    fn sweep(&self, _: &str) {}

    fn ethtool(&self, _: &str, _: &Ethtool) -> Fact<String> {
        Err(Why::NotSupported)
    }

    fn set_ethtool(&self, _: &str, _: &Ethtool, _: &str) -> Result<(), Errno> {
        Err(Errno::OPNOTSUPP)
    }

    fn flow_rules(&self, _: &str) -> Fact<u32> {
        Err(Why::NotSupported)
    }

    fn service(&self, _: &str) -> Fact<bool> {
        Err(Why::NotSupported)
    }

    fn set_service(&self, _: &str, _: ServiceOrder) -> Result<(), Errno> {
        Err(Errno::OPNOTSUPP)
    }

    fn set_idle_latency(&self, _: Option<u32>) -> Result<(), Errno> {
        Err(Errno::OPNOTSUPP)
    }
}
