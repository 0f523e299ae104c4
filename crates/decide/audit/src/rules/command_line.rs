// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of the kernel's command line that override the firmware, or take hardware away.
//!
//! Meanings are those of Documentation/admin-guide/kernel-parameters.txt. Options that only set
//! CPUs apart (isolcpus, nohz_full) override nothing and are not listed here.

use machine::CommandLine;
use setting::{Goal, Severity};

use crate::context::Context;
use crate::draft::Draft;
use crate::lines;
use crate::words;

const ID: &str = "command-line-overrides";

/// An option found, and what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Override {
    /// As written: `idle=poll`.
    pub(crate) text: String,
    means: &'static str,
    severity: Severity,
}

/// How much an option matters.
#[derive(Clone, Copy)]
enum Weight {
    /// The same whatever the goal.
    Always(Severity),
    /// Meant for low delay: a note for that goal, little for throughput, more for shared hosts.
    Spins,
    /// Keeps idle states shallow: what both goals of dedicated machines want, much for shared ones.
    Shallow,
}

/// Key, value (any where empty; one of its comma-separated parts else), weight, meaning.
type Row = (&'static str, &'static str, Weight, &'static str);

const HIGH: Weight = Weight::Always(Severity::High);
const MEDIUM: Weight = Weight::Always(Severity::Medium);
const LOW: Weight = Weight::Always(Severity::Low);
const NOTE: Weight = Weight::Always(Severity::Note);

const OPTIONS: &[Row] = &[
    ("numa", "off", HIGH, "hides all NUMA nodes: nothing can be placed near its device"),
    ("numa", "fake", MEDIUM, "makes up NUMA nodes that the hardware does not have"),
    ("pci", "nomsi", HIGH, "takes MSI and MSI-X away: one interrupt a device"),
    ("acpi", "off", HIGH, "hides the firmware's tables: nodes, cores and routing with them"),
    ("noacpi", "", HIGH, "hides the firmware's interrupt routing"),
    ("maxcpus", "", MEDIUM, "leaves CPUs offline that the firmware offers"),
    ("nr_cpus", "", MEDIUM, "caps the number of CPUs that the kernel will ever use"),
    ("nosmp", "", HIGH, "uses one CPU alone"),
    ("nosmt", "", LOW, "switches off the second thread of each core, whatever the firmware says"),
    ("mem", "", MEDIUM, "caps the memory that the kernel uses"),
    (
        "idle",
        "poll",
        Weight::Spins,
        "keeps every idle CPU spinning: C-states of the firmware are \
      unused, the SMT sibling and turbo pay for it",
    ),
    ("idle", "halt", LOW, "allows no idle state but HALT, whatever the firmware offers"),
    ("idle", "nomwait", LOW, "keeps the kernel from MWAIT, and with it from the deeper C-states"),
    (
        "intel_idle.max_cstate",
        "",
        Weight::Shallow,
        "caps the C-states of intel_idle, whatever the firmware offers",
    ),
    (
        "processor.max_cstate",
        "",
        Weight::Shallow,
        "caps the C-states of acpi_idle, whatever the firmware offers",
    ),
    ("cpuidle.off", "1", Weight::Shallow, "switches the choice of idle states off"),
    ("intel_pstate", "disable", LOW, "hands frequency to another driver than the processor's own"),
    ("amd_pstate", "disable", LOW, "hands frequency to another driver than the processor's own"),
    ("cpufreq.off", "1", MEDIUM, "leaves frequency to the firmware alone"),
    (
        "pcie_aspm",
        "force",
        MEDIUM,
        "switches ASPM on even where the firmware says it does not work",
    ),
    ("pcie_aspm", "off", NOTE, "leaves ASPM as the firmware set it: it does not switch it off"),
    (
        "pcie_aspm.policy",
        "powersave",
        MEDIUM,
        "puts every idle link to sleep, whatever the firmware set",
    ),
    ("pcie_aspm.policy", "powersupersave", MEDIUM, "puts every idle link into its deepest sleep"),
    (
        "pcie_port_pm",
        "force",
        LOW,
        "lets ports sleep even where the firmware says it does not work",
    ),
    ("intel_iommu", "off", NOTE, "leaves the IOMMU off although firmware offers it"),
    ("amd_iommu", "off", NOTE, "leaves the IOMMU off although firmware offers it"),
    ("iommu", "off", NOTE, "leaves the IOMMU off although firmware offers it"),
    ("iommu", "strict", LOW, "flushes the IOMMU's cache at each unmap: costs fast ports much"),
    ("iommu.strict", "1", LOW, "flushes the IOMMU's cache at each unmap: costs fast ports much"),
    ("nox2apic", "", LOW, "keeps interrupt controllers in the older mode"),
    ("intremap", "off", NOTE, "switches interrupt remapping off"),
    ("noapic", "", HIGH, "leaves the I/O APIC unused"),
    (
        "clocksource",
        "hpet",
        MEDIUM,
        "reads time from a slow device: each time stamp of an I/O costs a microsecond",
    ),
    (
        "clocksource",
        "acpi_pm",
        MEDIUM,
        "reads time from a slow device: each time stamp of an I/O costs a microsecond",
    ),
    ("tsc", "unstable", MEDIUM, "gives the fast clock up"),
    ("notsc", "", MEDIUM, "gives the fast clock up"),
    ("mitigations", "off", NOTE, "runs without protection against speculation attacks"),
];

/// The options on the line that override firmware or take hardware away, in order.
pub(crate) fn overrides(line: &CommandLine) -> Vec<Override> {
    judged(line, Goal::Throughput)
}

fn judged(line: &CommandLine, goal: Goal) -> Vec<Override> {
    let mut found: Vec<Override> = Vec::new();
    for (key, value) in &line.options {
        let value = value.as_deref().unwrap_or_default();
        for (name, part, weight, means) in OPTIONS {
            // The kernel reads `-` and `_` in names as the same (kernel/params.c, parameqn).
            let same = key.replace('-', "_") == *name;
            let applies = part.is_empty()
                || value.split([',', ':']).any(|word| word == *part || fakes(part, word));
            let text = if value.is_empty() { key.clone() } else { format!("{key}={value}") };
            if same && applies && !found.iter().any(|known| known.text == text) {
                found.push(Override { text, means, severity: severity(*weight, goal) });
            }
        }
    }
    found
}

/// `numa=fake=4` says its number behind a second sign.
fn fakes(part: &str, word: &str) -> bool {
    part == "fake" && word.starts_with("fake=")
}

fn severity(weight: Weight, goal: Goal) -> Severity {
    match (weight, goal) {
        (Weight::Always(severity), _) => severity,
        (Weight::Spins, Goal::Latency) => Severity::Note,
        (Weight::Spins, Goal::Throughput) => Severity::Low,
        (Weight::Shallow, Goal::Latency | Goal::Throughput) => Severity::Note,
        (Weight::Spins | Weight::Shallow, Goal::Balanced) => Severity::Medium,
    }
}

/// One finding for each option that matters, one for all that matter little, and one for those that
/// somebody who tunes for this goal sets on purpose: worth knowing, and to be left alone.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    let line = &context.machine.host.command_line;
    let found = judged(line, context.goal);
    let found = found.into_iter().filter(|option| is_worth(context, option));
    let (much, little): (Vec<_>, Vec<_>) =
        found.partition(|option| option.severity >= Severity::Medium);
    let (meant, little): (Vec<_>, Vec<_>) =
        little.into_iter().partition(|option| option.severity == Severity::Note);
    let mut drafts: Vec<Draft> = much.iter().map(draft).collect();
    for options in [little, meant] {
        match options.as_slice() {
            [] => {}
            [one] => drafts.push(draft(one)),
            several => drafts.extend(together(several)),
        }
    }
    drafts
}

fn together(options: &[Override]) -> Option<Draft> {
    let severity = options.iter().map(|option| option.severity).max()?;
    let texts: Vec<&str> = options.iter().map(|option| option.text.as_str()).collect();
    let said = options.iter().map(|option| format!("{} {}", option.text, short(option.means)));
    let title = format!(
        "{} on the kernel's command line override the firmware: {}",
        words::count(options.len(), "option"),
        texts.join(", ")
    );
    let draft = Draft::new(ID, severity, title).because(said.collect::<Vec<_>>().join("; "));
    let draft = removal(draft, options, severity, "without them");
    Some(draft.evidence(lines::command_line(texts.first()?)))
}

fn by_hand(text: &str) -> String {
    format!("# take {text} off the kernel's command line, then reboot")
}

/// What a guest's memory and CPUs are is its host's choice; what is no loss is not worth a note.
fn is_worth(context: &Context<'_>, option: &Override) -> bool {
    let placement = option.text.starts_with("numa=off");
    let quiet = option.severity == Severity::Note
        && (context.is_guest() || context.is("desktop") || option.text == "mitigations=off");
    let pointless = placement && context.places.packages().len() < 2;
    !(quiet || pointless)
}

fn draft(option: &Override) -> Draft {
    let text = &option.text;
    let title = format!("{text} on the kernel's command line {}", short(option.means));
    let draft = Draft::new(ID, option.severity, title)
        .because(format!("{text} {}", option.means))
        .evidence(lines::command_line(text));
    removal(draft, std::slice::from_ref(option), option.severity, &format!("without {text}"))
}

/// How to take options off the line; of those that are noted only, nobody is told to.
fn removal(draft: Draft, options: &[Override], severity: Severity, without: &str) -> Draft {
    let texts: Vec<&str> = options.iter().map(|option| option.text.as_str()).collect();
    match severity {
        Severity::Note => draft.values(texts.join(" "), "as it is, where it is meant"),
        _ => draft
            .values(texts.join(" "), without)
            .change(options.iter().map(|option| by_hand(&option.text))),
    }
}

/// The meaning up to the first colon: enough for a list.
fn short(means: &str) -> &str {
    means.split(':').next().unwrap_or(means)
}
