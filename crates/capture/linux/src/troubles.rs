// SPDX-License-Identifier: MIT OR Apache-2.0
//! What could not be read, gathered so that a thousand refusals of one kind are one line.

use machine::{Trouble, Why};

/// Refusals and failures met while reading, one entry for each kind of thing.
#[derive(Debug, Default)]
pub struct Troubles {
    list: Vec<Trouble>,
}

impl Troubles {
    /// Notes that `what` is unknown, because `path` answered `why`. The first path of a kind is
    /// kept. A plain absence is no trouble and is dropped.
    pub fn note(&mut self, what: &str, why: &Why, path: &str) {
        let known = self.list.iter().any(|trouble| trouble.what == what);
        if *why != Why::Absent && !known {
            let (what, why, path) = (what.to_owned(), why.clone(), path.to_owned());
            self.list.push(Trouble { what, why, path });
        }
    }

    /// Notes an error and passes the value on.
    pub fn keep<T>(&mut self, what: &str, path: &str, fact: Result<T, Why>) -> Option<T> {
        fact.inspect_err(|why| self.note(what, why, path)).ok()
    }

    /// Notes what another reader met, after all that was noted here.
    pub fn add(&mut self, others: Self) {
        others.list.iter().for_each(|other| self.note(&other.what, &other.why, &other.path));
    }

    /// All of them, in the order met.
    pub fn into_list(self) -> Vec<Trouble> {
        self.list
    }
}
