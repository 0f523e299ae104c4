// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who is whose child in a tree, by name.
//!
//! A large machine is a hundred thousand entries, and `topology/core_id` stands there a thousand
//! times: names are kept once, and one table holds all folders.

use std::sync::Arc;

use foldhash::HashMap;

/// Children by folder and name. Folders and children are numbers of the owner's.
#[derive(Debug, Clone, Default)]
pub(crate) struct Family {
    names: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
    children: HashMap<(u32, u32), u32>,
}

impl Family {
    /// The child of a folder.
    pub(crate) fn child(&self, folder: u32, name: &str) -> Option<u32> {
        let name = self.find(name)?;
        self.children.get(&(folder, name)).copied()
    }

    /// Gives a folder a child, and tells the number of its name.
    pub(crate) fn add(&mut self, folder: u32, name: &str, child: u32) -> u32 {
        let name = self.number(name);
        self.children.insert((folder, name), child);
        name
    }

    /// Takes a child away.
    pub(crate) fn remove(&mut self, folder: u32, name: u32) {
        self.children.remove(&(folder, name));
    }

    /// A name by its number.
    pub(crate) fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", |name| name)
    }

    /// A name as it is kept, where it is.
    pub(crate) fn shared(&self, name: &str) -> Arc<str> {
        self.numbers.get_key_value(name).map_or_else(|| name.into(), |(kept, _)| Arc::clone(kept))
    }

    /// All names, by their numbers.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    /// The number of a name that is kept.
    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// The number of a name.
    pub(crate) fn number(&mut self, name: &str) -> u32 {
        if let Some(known) = self.find(name) {
            return known;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let name: Arc<str> = name.into();
        self.names.push(Arc::clone(&name));
        self.numbers.insert(name, number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once_and_a_child_found_in_its_folder() {
        let mut family = Family::default();
        let name = family.add(0, "cpu0", 1);
        assert_eq!(family.add(7, "cpu0", 8), name);
        assert_eq!(family.all().collect::<Vec<_>>(), ["cpu0"]);
        assert_eq!((family.child(0, "cpu0"), family.child(7, "cpu0")), (Some(1), Some(8)));
        assert_eq!((family.child(1, "cpu0"), family.child(0, "cpu1")), (None, None));
        family.remove(0, name);
        assert_eq!((family.child(0, "cpu0"), family.child(7, "cpu0")), (None, Some(8)));
    }
}
