// SPDX-License-Identifier: MIT OR Apache-2.0
//! ACPI tables: MADT, SRAT, SLIT, FADT.
//!
//! They say what the firmware decided before the kernel took over: the order in which it lists
//! processors (which is the order of CPU numbers), which proximity domain each belongs to, and
//! whether it keeps ASPM for itself. Only root may read them. Layouts are those of the ACPI
//! specification 6.5, chapter 5.2.

pub(crate) mod tables;

use machine::{Acpi, Fact};
use root::{Dir, Root};
use units::Cpu;

use crate::{Troubles, cpu::cpuinfo};

const FOLDER: &str = "/sys/firmware/acpi/tables";

pub(crate) fn read(root: &dyn Root, troubles: &mut Troubles) -> Acpi {
    let dir = Dir::new(root, FOLDER);
    let mut tables = dir.list().unwrap_or_default();
    tables.retain(|name| !matches!(name.as_str(), "data" | "dynamic"));
    let mut table = |name: &str| table(&dir, name, troubles);
    let (madt, srat, slit, fadt) = (table("APIC"), table("SRAT"), table("SLIT"), table("FACP"));
    Acpi {
        madt: madt.and_then(|bytes| tables::madt(&bytes)),
        srat_cpus: srat.clone().and_then(|bytes| tables::srat_cpus(&bytes)),
        srat_memory: srat.and_then(|bytes| tables::srat_memory(&bytes)),
        slit: slit.and_then(|bytes| tables::slit(&bytes)),
        fadt_no_aspm: fadt.and_then(|bytes| tables::fadt_no_aspm(&bytes)),
        tables,
        apic_ids: apic_ids(root),
    }
}

/// A table's bytes, cut to the length that it states. A wrong checksum is told and believed no
/// less: the kernel itself goes on with such a table.
fn table(dir: &Dir<'_>, name: &str, troubles: &mut Troubles) -> Fact<Vec<u8>> {
    let path = dir.join(name);
    let what = format!("ACPI table {name}");
    let bytes = dir.root().read(&path).inspect_err(|why| match why {
        machine::Why::Denied => troubles.note("ACPI tables", why, &path),
        why => troubles.note(&what, why, &path),
    })?;
    let checked = tables::check(&bytes, name);
    let (bytes, sum) = checked.inspect_err(|why| troubles.note(&what, why, &path))?;
    if sum != 0 {
        let why = machine::Why::Unparsed(format!("checksum off by {sum}"));
        troubles.note(&format!("whether ACPI table {name} is whole"), &why, &path);
    }
    Ok(bytes.to_vec())
}

fn apic_ids(root: &dyn Root) -> Vec<(Cpu, u32)> {
    let entries = cpuinfo::entries(root).unwrap_or_default();
    entries.into_iter().filter_map(|entry| Some((entry.cpu, entry.apic?))).collect()
}
