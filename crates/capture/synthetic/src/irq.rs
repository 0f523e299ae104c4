// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts: /proc/interrupts, /proc/irq and the `msi_irqs` of functions.

use std::fmt::Write;

use units::{Cpu, CpuSet, PciAddress};

use crate::host::release_at_least;
use crate::text::{mask, noise};
use crate::topology::Topology;
use crate::{Description, Tree};

/// Interrupts below this number are the IO-APIC's; messages begin here on a machine with one.
const FIRST_MESSAGE: u32 = 24;

/// Legacy interrupts that every server shows: number, trigger, action.
const LEGACY: [(u32, &str, &str); 4] =
    [(0, "edge", "timer"), (4, "edge", "ttyS0"), (8, "edge", "rtc0"), (9, "fasteoi", "acpi")];

/// Rows after the numbered ones that have a column a CPU.
const NAMED: [(&str, &str); 14] = [
    ("NMI", "Non-maskable interrupts"),
    ("LOC", "Local timer interrupts"),
    ("SPU", "Spurious interrupts"),
    ("PMI", "Performance monitoring interrupts"),
    ("IWI", "IRQ work interrupts"),
    ("RTR", "APIC ICR read retries"),
    ("RES", "Rescheduling interrupts"),
    ("CAL", "Function call interrupts"),
    ("TLB", "TLB shootdowns"),
    ("TRM", "Thermal event interrupts"),
    ("THR", "Threshold APIC interrupts"),
    ("DFR", "Deferred Error APIC interrupts"),
    ("MCE", "Machine check exceptions"),
    ("MCP", "Machine check polls"),
];

/// Who chose the CPUs of a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// The kernel, for good: a managed vector.
    Managed,
    /// The driver at first, and anybody later.
    Freely,
}

/// A vector that a driver asks for.
#[derive(Debug, Clone)]
pub(crate) struct Vector {
    /// `nvme0q1`: what /proc/interrupts shows.
    pub(crate) action: String,
    pub(crate) cpus: CpuSet,
    pub(crate) hint: CpuSet,
    pub(crate) chosen: Chosen,
}

impl Vector {
    pub(crate) fn free(action: String, cpus: CpuSet) -> Self {
        Self { action, cpus, hint: CpuSet::new(), chosen: Chosen::Freely }
    }

    pub(crate) fn managed(action: String, cpus: CpuSet) -> Self {
        Self { action, cpus, hint: CpuSet::new(), chosen: Chosen::Managed }
    }
}

/// A vector with its number and device.
#[derive(Debug)]
struct Row {
    number: u32,
    chip: String,
    hardware: u32,
    trigger: &'static str,
    vector: Vector,
    node: i32,
}

/// All interrupts of the machine.
#[derive(Debug, Default)]
pub(crate) struct Interrupts {
    rows: Vec<Row>,
}

impl Interrupts {
    pub(crate) fn new(topology: &Topology) -> Self {
        let legacy = |(number, trigger, action): &(u32, &'static str, &str)| Row {
            number: *number,
            chip: "IO-APIC".to_owned(),
            hardware: if *number == 0 { 2 } else { *number },
            trigger,
            vector: Vector::free((*action).to_owned(), topology.online.clone()),
            node: -1,
        };
        Self { rows: LEGACY.iter().map(legacy).collect() }
    }

    /// Gives a function its vectors; the number of the first.
    pub(crate) fn attach(
        &mut self,
        tree: &mut Tree,
        description: &Description,
        function: &crate::pci::Attached,
        vectors: Vec<Vector>,
    ) {
        let first = self.rows.last().map_or(FIRST_MESSAGE, |row| row.number + 1).max(FIRST_MESSAGE);
        for (index, vector) in (0..).zip(vectors) {
            let number = first + index;
            tree.line(format!("{}/msi_irqs/{number}", function.path), "msix");
            let (chip, hardware) = chip(description, function.address, index);
            let node = function.told;
            self.rows.push(Row { number, chip, hardware, trigger: "edge", vector, node });
        }
    }

    pub(crate) fn write(&self, tree: &mut Tree, description: &Description, topology: &Topology) {
        for row in &self.rows {
            write_folder(tree, description, topology, row);
        }
        let default = mask(&topology.online, topology.bits);
        tree.line("/proc/irq/default_smp_affinity", default);
        tree.text("/proc/interrupts", self.table(topology));
    }

    /// The text of /proc/interrupts: a column for each online CPU (kernel/irq/proc.c,
    /// arch/x86/kernel/irq.c).
    fn table(&self, topology: &Topology) -> String {
        let highest = self.rows.last().map_or(0, |row| row.number);
        // The kernel widens the first column with the number of interrupts it could have.
        let digits = if highest >= 1000 { 4 } else { 3 };
        let columns: Vec<Cpu> = topology.online.iter().collect();
        let rows = self.rows.len() + NAMED.len() + 3;
        let mut text = String::with_capacity(rows * (columns.len() * 11 + 80));
        let _ = write!(text, "{:width$}", "", width = digits + 8);
        for cpu in &columns {
            let _ = write!(text, "CPU{:<8}", cpu.0);
        }
        text.push('\n');
        self.rows.iter().for_each(|row| row_text(&mut text, row, digits, &columns));
        named_rows(&mut text, digits, &columns);
        text
    }
}

/// ` 60:          0          0   PCI-MSI 29884417-edge      nvme2q1` before 6.2;
/// `151:  3   IR-PCI-MSIX-0000:19:00.0    0-edge      i40e-eno1-TxRx-0` since then.
fn row_text(text: &mut String, row: &Row, digits: usize, columns: &[Cpu]) {
    let _ = write!(text, "{:>digits$}: ", row.number);
    let target = effective(row);
    for cpu in columns {
        let mine = Some(*cpu) == target;
        let count = if mine { noise(u64::from(row.number)) % 1_000_000 } else { 0 };
        push_count(text, count);
    }
    let trigger = format!("-{:<8}", row.trigger);
    let (chip, hardware) = (&row.chip, row.hardware);
    let _ = writeln!(text, " {chip:>8} {hardware:>digits$}{trigger}  {}", row.vector.action);
}

/// `"%10u "`; most of a table is zeros, and formatting them one by one is what would take time.
fn push_count(text: &mut String, count: u64) {
    if count == 0 {
        text.push_str("         0 ");
    } else {
        let _ = write!(text, "{count:>10} ");
    }
}

fn named_rows(text: &mut String, digits: usize, columns: &[Cpu]) {
    for (name, words) in NAMED {
        let _ = write!(text, "{name:>digits$}: ");
        for cpu in columns {
            let busy = matches!(name, "LOC" | "CAL" | "RES" | "TLB" | "MCP");
            let count = if busy { noise(u64::from(cpu.0)) % 100_000 } else { 0 };
            push_count(text, count);
        }
        let _ = writeln!(text, "  {words}");
    }
    for name in ["ERR", "MIS"] {
        let _ = writeln!(text, "{name:>digits$}: {:>10}", 0);
    }
}

/// Where an interrupt goes: the kernel takes the CPU of the set with the fewest vectors; here one
/// that depends on the number, so that neighbours do not all land on the same.
fn effective(row: &Row) -> Option<Cpu> {
    let count = u64::try_from(row.vector.cpus.len()).unwrap_or(0);
    let index = noise(u64::from(row.number)).checked_rem(count)?;
    row.vector.cpus.iter().nth(usize::try_from(index).unwrap_or(0))
}

/// Chip and hardware number of a message. Since 6.2 each function has its own domain, named after
/// it, and numbers its messages from 0; before, the number holds the function's address.
fn chip(description: &Description, address: PciAddress, index: u32) -> (String, u32) {
    let remapped = if description.host.iommu.is_some() { "IR-" } else { "" };
    if release_at_least(&description.kernel.release, 6, 2) {
        (format!("{remapped}PCI-MSIX-{address}"), index)
    } else {
        (format!("{remapped}PCI-MSI"), crate::pci::requester(address) << 11 | index)
    }
}

fn write_folder(tree: &mut Tree, description: &Description, topology: &Topology, row: &Row) {
    let folder = format!("/proc/irq/{}", row.number);
    let vector = &row.vector;
    // Since 6.12 the file of a managed vector cannot be written at all; before, writing is EIO.
    let new = release_at_least(&description.kernel.release, 6, 12);
    let mode = if vector.chosen == Chosen::Managed && new { 0o444 } else { 0o644 };
    let line = |set: &CpuSet| format!("{}\n", mask(set, topology.bits));
    tree.text_with_mode(format!("{folder}/smp_affinity"), line(&vector.cpus), mode);
    tree.text_with_mode(format!("{folder}/smp_affinity_list"), format!("{}\n", vector.cpus), mode);
    let target: CpuSet = effective(row).into_iter().collect();
    tree.text_with_mode(format!("{folder}/effective_affinity"), line(&target), 0o444);
    let list = format!("{target}\n");
    tree.text_with_mode(format!("{folder}/effective_affinity_list"), list, 0o444);
    tree.text_with_mode(format!("{folder}/affinity_hint"), line(&vector.hint), 0o444);
    // A managed vector belongs to its CPUs' node, not to its device's.
    let node = match (vector.chosen, vector.cpus.first()) {
        (Chosen::Managed, Some(cpu)) => topology.node_of(cpu).to_string(),
        _ => row.node.to_string(),
    };
    tree.text_with_mode(format!("{folder}/node"), format!("{node}\n"), 0o444);
    let spurious = "count 0\nunhandled 0\nlast_unhandled 0 ms\n";
    tree.text_with_mode(format!("{folder}/spurious"), spurious, 0o444);
    tree.folder(format!("{folder}/{}", vector.action.replace('/', "!")));
}
