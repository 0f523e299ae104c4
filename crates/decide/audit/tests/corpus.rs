// SPDX-License-Identifier: MIT OR Apache-2.0
//! The audit on made-up machines, the lab's captures and real trees.
//!
//! Three things hold everywhere: evidence is what the kernel's file says, the degraded links are
//! those that lspci marks, and an ordinary guest hears nothing.

use std::collections::BTreeSet;

use catalogue::Catalogue;
use machine::{Machine, Virtual};
use nearside_audit::{Audit, Subject, audit, is_about};
use root::{DirRoot, Root};
use setting::{Evidence, Finding, Goal, Severity};
use support::words::{Told, well_said};
use support::{Capture, Failed, Need, Trial, failed, lab_captures, tree_captures, trial};

mod log;

use log::Log;

const GOALS: [Goal; 3] = [Goal::Throughput, Goal::Latency, Goal::Balanced];

fn main() {
    let mut trials = Vec::new();
    for capture in lab_captures() {
        let name = format!("lab/{}", capture.name);
        trials.push(trial(name, &[Need::Captures], move || lab(&capture)));
    }
    for capture in tree_captures() {
        let name = format!("tree/{}", capture.name);
        trials.push(trial(name, &[Need::Captures], move || trees(&capture)));
    }
    for (name, check) in KNOWN {
        let capture = tree_captures().into_iter().find(|capture| capture.name == *name);
        trials.push(trial(format!("known/{name}"), &[Need::Captures], move || {
            let capture = capture.ok_or("the capture is not in the folder")?;
            let mut seen = Vec::new();
            for root in capture.roots()? {
                seen.extend(
                    Seen::of(&DirRoot::open(&root).map_err(failed)?, Goal::Throughput)
                        .audit
                        .findings,
                );
            }
            check(&seen)
        }));
    }
    for (name, check) in MADE_UP {
        trials.push(Trial::test(format!("synthetic/{name}"), move || made_up(name, *check)));
    }
    support::run(trials)
}

/// A machine and what the audit says of it.
struct Seen {
    machine: Machine,
    audit: Audit,
}

impl Seen {
    fn of(root: &dyn Root, goal: Goal) -> Self {
        let machine = linux::read(root);
        let catalogue = Catalogue::built_in();
        let observations = linux::observe(root, &machine, catalogue.settings());
        let subject =
            Subject { machine: &machine, observations: &observations, catalogue: &catalogue, goal };
        let audit = audit(&subject);
        Self { machine, audit }
    }

    fn findings(&self, id: &str) -> Vec<&Finding> {
        self.audit.findings.iter().filter(|finding| finding.id == id).collect()
    }

    fn above(&self, severity: Severity) -> Vec<&str> {
        let findings = self.audit.findings.iter().filter(|finding| finding.severity > severity);
        findings.map(|finding| finding.id.as_str()).collect()
    }
}

/// Holds on any machine, for any goal.
fn holds(root: &dyn Root) -> Result<(), Failed> {
    for goal in GOALS {
        let log = Log::of(root);
        let mut seen = Seen::of(&log, goal);
        for finding in &seen.audit.findings {
            if finding.evidence.is_empty() {
                return Err(format!("{goal:?}: no evidence: {finding:#?}").into());
            }
            let Finding { title, because, observed, wanted, severity_from, .. } = finding;
            well_said(&Told { title, because, observed, wanted, severity_from })
                .map_err(|what| failed(format!("{goal:?}: {what}")))?;
        }
        lines_are_of_the_log(&log, &mut seen.audit)?;
        let quiet = seen.findings("drive-irq-placement");
        if quiet.iter().any(|finding| finding.devices.iter().any(|name| name.starts_with("nvme"))) {
            return Err(format!("managed vectors taken for a fault: {quiet:#?}").into());
        }
        let guest = matches!(seen.machine.host.virtual_machine, Virtual::Yes { .. });
        let loud = seen.above(Severity::Low).into_iter().filter(|id| *id != "pcie-link");
        let loud: Vec<&str> = loud.collect();
        if guest && !loud.is_empty() {
            return Err(format!("{goal:?}: a guest is told {loud:?}").into());
        }
    }
    Ok(())
}

/// Whether every line of evidence is one of the log of what was read, and says what it said.
fn lines_are_of_the_log(log: &Log<'_>, audit: &mut Audit) -> Result<(), Failed> {
    log.close();
    let Audit { settings, findings } = audit;
    let lines = settings.iter_mut().flat_map(|observation| &mut observation.evidence);
    let lines = lines.chain(findings.iter_mut().flat_map(|finding| &mut finding.evidence));
    let mut lines: Vec<&mut Evidence> = lines.collect();
    linux::quote(log, lines.iter_mut().map(|line| &mut **line));
    let wrong = lines.iter().filter_map(|line| Some(format!("{line:?}: {}", log.fault(line)?)));
    let wrong: Vec<String> = wrong.take(5).collect();
    if wrong.is_empty() { Ok(()) } else { Err(failed(wrong.join("\n"))) }
}

fn lab(capture: &Capture) -> Result<(), Failed> {
    let root = DirRoot::open(&capture.tree()?).map_err(failed)?;
    holds(&root)?;
    let seen = Seen::of(&root, Goal::Throughput);
    degraded(&seen, &capture.say("lspci-vvv.txt")?)?;
    let numbered = seen.findings("madt-core-enumeration").len();
    let expected = usize::from(capture.name.contains("round-robin"));
    if numbered == expected { Ok(()) } else { Err(format!("numbering: {numbered}").into()) }
}

/// The links below their best are those that lspci marks as downgraded.
fn degraded(seen: &Seen, lspci: &str) -> Result<(), Failed> {
    let mut address = "";
    let mut told = BTreeSet::new();
    for line in lspci.lines() {
        if line.starts_with(|letter: char| letter.is_ascii_hexdigit()) {
            address = line.split_whitespace().next().unwrap_or_default();
        } else if line.contains("LnkSta:") && line.contains("(downgraded)") {
            told.insert(address);
        }
    }
    let findings = seen.findings("pcie-link");
    let is_found = |address: &&str| {
        findings.iter().any(|finding| is_about(finding, &seen.machine, &format!("0000:{address}")))
    };
    let missed: Vec<&&str> = told.iter().filter(|address| !is_found(address)).collect();
    let found: usize = findings.iter().map(|finding| finding.devices.len()).sum();
    if missed.is_empty() && found == told.len() {
        return Ok(());
    }
    Err(format!("lspci marks {told:?}, missed {missed:?}, found {found}").into())
}

fn trees(capture: &Capture) -> Result<(), Failed> {
    for root in capture.roots()? {
        let root = DirRoot::open(&root).map_err(failed)?;
        holds(&root).map_err(|error| failed(format!("{}: {error:?}", capture.name)))?;
    }
    Ok(())
}

type Check = fn(&[Finding]) -> Result<(), Failed>;

/// What is known of some trees.
const KNOWN: &[(&str, Check)] = &[
    ("r740xd-gold6230-rt", |seen| {
        expect(seen, "command-line-overrides", "idle=poll")?;
        expect(seen, "madt-core-enumeration", "round-robin")
    }),
    ("hwloc-40intel64-2g2n4c+pcilocality", |seen| expect(seen, "misleading-firmware", "36 of 37")),
    ("dell-2x-l5640", |seen| expect(seen, "misleading-firmware", "nodes 0 and 1")),
    ("hwloc-nvidiagpunumanodes", |seen| {
        expect(seen, "memory-only-nodes", "GPU memory")?;
        silent(seen, "misleading-firmware")
    }),
    ("hwloc-offline-cpu0-node0", |seen| silent(seen, "node-interleaving")),
    ("hybrid-laptop", |seen| silent(seen, "")),
    ("vm-kvm-q35-12vcpu", |seen| silent(seen, "")),
    ("vm-gce-2vcpu", |seen| silent(seen, "")),
    ("vm-offline-cpus", |seen| silent(seen, "")),
];

/// What the made-up machines were made for.
const MADE_UP: &[(&str, Check)] = &[
    ("healthy-two-socket", |seen| {
        let loud = seen.iter().find(|finding| finding.severity > Severity::Note);
        loud.map_or(Ok(()), |finding| Err(failed(&finding.title)))
    }),
    ("virtual-machine", |seen| silent(seen, "")),
    ("epyc-7551", |seen| {
        expect(seen, "nic-irq-placement", "2,6,10,14,18,22,26,30")?;
        expect(seen, "irqbalance", "running")
    }),
    ("r770-factory", |seen| {
        expect(seen, "madt-core-enumeration", "round-robin")?;
        expect(seen, "sub-numa-cluster", "off")?;
        expect(seen, "c-states", "us to leave")?;
        expect(seen, "pcie-aspm", "l1")
    }),
    ("r770-snc-linear", |seen| {
        silent(seen, "madt-core-enumeration")?;
        silent(seen, "sub-numa-cluster")?;
        silent(seen, "pcie-aspm")
    }),
    ("r7725xd", |seen| {
        // Its idle states are those of its kernel's defaults: the one thing to say.
        let mut others = seen.iter().filter(|finding| finding.id != "c-states");
        let loud = others.find(|finding| finding.severity > Severity::Low);
        loud.map_or(Ok(()), |finding| Err(failed(&finding.title)))
    }),
    ("sick-two-socket", |seen| {
        for (id, says) in SICK {
            expect(seen, id, says)?;
        }
        Ok(())
    }),
];

const SICK: &[(&str, &str)] = &[
    ("nic-irq-placement", "node 1"),
    ("rps-placement", "ens1f0"),
    ("pcie-link", "x2"),
    ("pcie-link", "16 GT/s x4"),
    ("device-node-unknown", "nvme4n1"),
    ("misleading-firmware", "ens2f0"),
    ("memory-population", "node 1"),
    ("memory-speed", "MT/s"),
    ("mtu-path", "bond0"),
    ("irqbalance", "running"),
    ("isolated-cpu-interrupts", "4-7"),
    ("madt-core-enumeration", "round-robin"),
    ("block-scheduler", "mq-deadline"),
    ("sata-link-power", "med_power_with_dipm"),
    ("pcie-mps", "128"),
    ("pcie-mrrs", "512"),
    ("pcie-extended-tags", "ens1f0"),
    ("zone-reclaim", "1"),
];

fn made_up(name: &str, check: Check) -> Result<(), Failed> {
    let text = synthetic::named(name).ok_or("no such machine")?;
    let root = synthetic::parse(text).map_err(failed)?.build();
    check(&Seen::of(&root, Goal::Throughput).audit.findings)?;
    holds(&root)
}

/// A finding of the rule says these words: in title, value, wish or reason.
fn expect(seen: &[Finding], id: &str, says: &str) -> Result<(), Failed> {
    let of: Vec<&Finding> = seen.iter().filter(|finding| finding.id == id).collect();
    let has = |finding: &&&Finding| {
        let Finding { title, observed, wanted, because, .. } = finding;
        [title, observed, wanted, because].iter().any(|text| text.contains(says))
    };
    match of.iter().find(has) {
        Some(_) => Ok(()),
        None => Err(format!("no {id} says {says:?}: {of:#?}").into()),
    }
}

/// The rule is silent; all rules are, but for notes, where none is named.
fn silent(seen: &[Finding], id: &str) -> Result<(), Failed> {
    let said = seen.iter().find(|finding| {
        if id.is_empty() { finding.severity > Severity::Note } else { finding.id == id }
    });
    said.map_or(Ok(()), |finding| Err(failed(format!("{finding:#?}"))))
}
