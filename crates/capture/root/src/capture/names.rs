// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names as a capture shows them.

use crate::Record;
use crate::family::Family;
use crate::redact::Redactor;

/// The names of a record, each replaced once: most stand there a thousand times.
pub(super) struct Names<'a> {
    family: &'a Family,
    /// By number; nothing where names stay.
    shown: Vec<String>,
}

impl<'a> Names<'a> {
    /// In the order of the names, so that the same names give the same replacements.
    pub(super) fn new(record: &'a Record, redactor: Option<&mut Redactor>) -> Self {
        let family = record.family();
        let mut shown = Vec::new();
        if let Some(redactor) = redactor {
            let mut sorted: Vec<(&str, usize)> = family.all().zip(0..).collect();
            sorted.sort_unstable();
            shown.resize_with(sorted.len(), String::new);
            for (name, number) in sorted {
                shown[number] = redactor.name(name);
            }
        }
        Self { family, shown }
    }

    /// What stands for the name of this number.
    pub(super) fn shown(&self, number: u32) -> &str {
        match self.shown.get(number as usize) {
            Some(shown) => shown,
            None => self.family.name(number),
        }
    }

    /// What stands for a name that may belong to nothing in the record.
    pub(super) fn of(&self, name: &str, redactor: Option<&mut Redactor>) -> String {
        match (self.family.find(name), redactor) {
            (Some(number), _) => self.shown(number).to_owned(),
            (None, Some(redactor)) => redactor.name(name),
            (None, None) => name.to_owned(),
        }
    }
}
