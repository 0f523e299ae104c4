// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all threads together used of the kernel.
//!
//! Threads are made alike and need not come out alike: locked memory is counted for all of a person's
//! threads together, and huge pages come from one pool.

use record::{Flag, FlagState};

use crate::region::Pages;
use crate::session::Setup;

/// The flags of a run: used is what every thread used.
pub(crate) fn of_all(setups: &[Setup], clock: &str) -> Vec<Flag> {
    let mut flags: Vec<Flag> = Vec::new();
    for one in setups.iter().flat_map(|setup| &setup.flags) {
        if !flags.iter().any(|flag| flag.name == one.name) {
            flags.push(Flag { name: one.name.clone(), state: of_each(setups, &one.name) });
        }
    }
    flags.extend(pages(setups));
    let state = FlagState::Used;
    flags.push(Flag { name: clock.to_owned(), state });
    flags
}

/// What became of one flag: where some threads were refused it, the kernel's word and how many.
fn of_each(setups: &[Setup], name: &str) -> FlagState {
    let found = |setup: &Setup| setup.flags.iter().find(|flag| flag.name == name).cloned();
    let states: Vec<FlagState> = setups.iter().filter_map(found).map(|flag| flag.state).collect();
    let refused = |state: &FlagState| match state {
        FlagState::Refused { errno } => Some(errno.clone()),
        FlagState::Used | FlagState::NotAsked => None,
    };
    let errnos: Vec<String> = states.iter().filter_map(refused).collect();
    match (errnos.first(), states.first()) {
        (Some(errno), _) => FlagState::Refused { errno: some(errno, errnos.len(), setups.len()) },
        (None, Some(state)) => state.clone(),
        (None, None) => FlagState::NotAsked,
    }
}

fn some(errno: &str, refused: usize, all: usize) -> String {
    if refused == all { errno.to_owned() } else { format!("{errno} in {refused} of {all} threads") }
}

/// The pages that memory is of; the better ones are refused where not all threads have them.
fn pages(setups: &[Setup]) -> Vec<Flag> {
    let count = |pages| setups.iter().filter(|setup| setup.pages == pages).count();
    let all = [Pages::Huge, Pages::Advised, Pages::Small].map(|pages| (pages, count(pages)));
    let mut had = all.iter().filter(|(_, count)| *count > 0).peekable();
    let mut flags = Vec::new();
    while let Some((pages, count)) = had.next() {
        let is_last = had.peek().is_none();
        let missing = setups.len() - count;
        let state = match is_last {
            // The worst that any thread has: all have these, or better ones.
            true => FlagState::Used,
            false => FlagState::Refused { errno: some("ENOMEM", missing, setups.len()) },
        };
        flags.push(Flag { name: name(*pages).to_owned(), state });
    }
    flags
}

fn name(pages: Pages) -> &'static str {
    match pages {
        Pages::Huge => "MAP_HUGETLB",
        Pages::Advised => "MADV_HUGEPAGE",
        Pages::Small => "pages of 4 KiB",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(thread: u32, pages: Pages, state: FlagState) -> Setup {
        let flags = vec![Flag { name: "IORING_REGISTER_BUFFERS".to_owned(), state }];
        Setup { thread, flags, pages, memory_node: None }
    }

    #[test]
    fn what_some_threads_were_refused_was_not_used() {
        let refused = |errno: &str| FlagState::Refused { errno: errno.to_owned() };
        let setups = [
            setup(0, Pages::Huge, FlagState::Used),
            setup(1, Pages::Huge, refused("ENOMEM")),
            setup(2, Pages::Advised, refused("ENOMEM")),
        ];
        let flag = |name: &str, state| Flag { name: name.to_owned(), state };
        assert_eq!(
            of_all(&setups, "tsc"),
            [
                flag("IORING_REGISTER_BUFFERS", refused("ENOMEM in 2 of 3 threads")),
                flag("MAP_HUGETLB", refused("ENOMEM in 1 of 3 threads")),
                flag("MADV_HUGEPAGE", FlagState::Used),
                flag("tsc", FlagState::Used),
            ]
        );
        let alike =
            [setup(0, Pages::Small, FlagState::Used), setup(1, Pages::Small, FlagState::Used)];
        assert!(of_all(&alike, "tsc").iter().all(|flag| flag.state == FlagState::Used));
        let none = [setup(0, Pages::Small, refused("EPERM"))];
        assert_eq!(of_all(&none, "tsc")[0].state, refused("EPERM"));
    }
}
