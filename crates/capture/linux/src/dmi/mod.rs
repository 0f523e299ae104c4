// SPDX-License-Identifier: MIT OR Apache-2.0
//! SMBIOS: memory modules, slots, and the machine's names.
//!
//! The whole table is `/sys/firmware/dmi/tables/DMI`; where only its pieces were copied, they are
//! `/sys/firmware/dmi/entries/TYPE-INSTANCE/raw`. Both are for root only. Offsets are those of the
//! SMBIOS reference specification 3.7.

mod identity;
mod memory;
mod slot;
mod structure;

use machine::{Dimm, Fact, Why};
use root::{Dir, Root};
use units::Bytes;

use crate::Troubles;
pub(crate) use identity::{Identity, identity};
pub(crate) use slot::{Slot, slots};
use structure::Structure;

/// The whole table of a machine with thousands of modules is below this.
const MOST: usize = 1 << 20;

/// Memory modules and empty slots, in the order of the table.
pub(crate) fn read(root: &dyn Root, troubles: &mut Troubles) -> Vec<Dimm> {
    let table = match table(root) {
        Ok(table) => table,
        Err(why) => {
            troubles.note("memory modules (SMBIOS)", &why, "/sys/firmware/dmi/tables/DMI");
            return Vec::new();
        }
    };
    let modules = structures(&table).filter_map(|structure| memory::module(&structure));
    modules.filter_map(|module| dimm(module, troubles)).collect()
}

/// A module of unknown size is told apart from an empty slot.
fn dimm(module: memory::Module, troubles: &mut Troubles) -> Option<Dimm> {
    match module.size {
        Ok(size) => Some(Dimm { size: Bytes(size), ..module.dimm }),
        Err(why) => {
            let what = format!("size of memory module {}", module.dimm.locator);
            troubles.note(&what, &why, "/sys/firmware/dmi/tables/DMI");
            None
        }
    }
}

/// The bytes of all structures, one after the other.
fn table(root: &dyn Root) -> Fact<Vec<u8>> {
    root.read("/sys/firmware/dmi/tables/DMI").or_else(|why| entries(root).ok_or(why))
}

/// The table put together again from its pieces, of the types that are read here.
fn entries(root: &dyn Root) -> Option<Vec<u8>> {
    let dir = Dir::new(root, "/sys/firmware/dmi/entries");
    let mut names: Vec<(u8, u32, String)> =
        dir.list().ok()?.into_iter().filter_map(numbered).collect();
    names.retain(|(kind, ..)| matches!(kind, 0 | 1 | 9 | 17 | 41));
    names.sort();
    let mut table = Vec::new();
    let mut denied = 0;
    for (_, _, name) in &names {
        match root.read(&dir.join(&format!("{name}/raw"))) {
            Ok(bytes) if table.len() + bytes.len() <= MOST => table.extend(bytes),
            Ok(_) => break,
            Err(Why::Denied) => denied += 1,
            Err(_) => {}
        }
    }
    (denied == 0 && !table.is_empty()).then_some(table)
}

/// `17-3` is the fourth memory device.
fn numbered(name: String) -> Option<(u8, u32, String)> {
    let (kind, instance) = name.split_once('-')?;
    Some((kind.parse().ok()?, instance.parse().ok()?, name))
}

/// The formatted area of a memory module's structure, and the file that holds it: the table, or
/// its own piece where only those were copied.
pub(crate) fn module(root: &dyn Root, locator: &str, bank: &str) -> Fact<(String, Vec<u8>)> {
    let whole = "/sys/firmware/dmi/tables/DMI";
    let of = |path: &str| {
        let table = root.read(path)?;
        let found = structures(&table).find(|structure| {
            let module = memory::module(structure);
            module.is_some_and(|module| module.dimm.locator == locator && module.dimm.bank == bank)
        });
        Ok((path.to_owned(), found.ok_or(Why::Absent)?.area().to_vec()))
    };
    of(whole).or_else(|why| {
        let names = root.list("/sys/firmware/dmi/entries").unwrap_or_default();
        let modules = names.iter().filter(|name| name.starts_with("17-"));
        let paths = modules.map(|name| format!("/sys/firmware/dmi/entries/{name}/raw"));
        { paths }.find_map(|path| of(&path).ok()).ok_or(why)
    })
}

/// Every structure of a table through every parser of one.
pub(crate) fn parse_all(table: &[u8]) {
    for structure in structures(table) {
        let _ = (memory::module(&structure), slot::slot(&structure));
        let _: Vec<_> = (0..=u8::MAX).map(|at| structure.string(usize::from(at))).collect();
    }
}

fn structures(table: &[u8]) -> impl Iterator<Item = Structure<'_>> {
    structure::Structures(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use root::MemoryRoot;
    use structure::tests::structure;

    fn module(locator: &str, size: u16) -> Vec<u8> {
        let mut body = vec![0; 0x28 - 4];
        body[0x0c - 4..0x0e - 4].copy_from_slice(&size.to_le_bytes());
        body[0x10 - 4] = 1;
        structure(17, &body, &[locator])
    }

    #[test]
    fn table_and_pieces_say_the_same() {
        let mut whole = MemoryRoot::new();
        let table = [module("A1", 16384), module("A2", 0), structure(127, &[], &[])].concat();
        whole.file("/sys/firmware/dmi/tables/DMI", table);
        let mut pieces = MemoryRoot::new();
        pieces
            .file("/sys/firmware/dmi/entries/17-10/raw", module("A2", 0))
            .file("/sys/firmware/dmi/entries/17-2/raw", module("A1", 16384))
            .file("/sys/firmware/dmi/entries/4-0/raw", "");
        for root in [whole, pieces] {
            let dimms = read(&root, &mut Troubles::default());
            let seen: Vec<_> = dimms.iter().map(|d| (d.locator.as_str(), d.size.0)).collect();
            assert_eq!(seen, [("A1", 16 << 30), ("A2", 0)]);
            let (path, bytes) = super::module(&root, "A2", "").unwrap();
            assert!(path.ends_with("tables/DMI") || path.ends_with("17-10/raw"), "{path}");
            assert_eq!((bytes[0], bytes.len()), (17, 0x28));
        }
    }

    #[test]
    fn an_unknown_size_is_no_empty_slot() {
        let mut root = MemoryRoot::new();
        root.file("/sys/firmware/dmi/tables/DMI", module("B1", 0xffff));
        let mut troubles = Troubles::default();
        assert_eq!(read(&root, &mut troubles), []);
        assert_eq!(troubles.into_list()[0].what, "size of memory module B1");
    }

    #[test]
    fn a_refusal_is_told() {
        let mut root = MemoryRoot::new();
        root.refuse("/sys/firmware/dmi/tables/DMI", Why::Denied);
        let mut troubles = Troubles::default();
        assert_eq!(read(&root, &mut troubles), []);
        assert_eq!(troubles.into_list()[0].why, Why::Denied);
    }
}
