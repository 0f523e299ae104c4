// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every parser of the fuzz tables with any bytes, and with its own example bent: read or refused,
//! never a panic. What `fuzz/` does for minutes with a nightly compiler, this does for a second.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use proptest::prelude::*;
use root::fuzz::Parser;

fn parsers() -> Vec<&'static Parser> {
    root::fuzz::PARSERS.iter().chain(linux::fuzz::PARSERS).chain(run::fuzz::PARSERS).collect()
}

/// The example with bytes overwritten, a piece repeated, and an end cut off or put on.
fn bent(example: &[u8], pokes: &[(usize, u8)], repeat: (usize, usize), tail: &[u8]) -> Vec<u8> {
    let mut bytes = example.to_vec();
    for (at, byte) in pokes {
        let at = at % bytes.len().max(1);
        bytes.get_mut(at).into_iter().for_each(|old| *old = *byte);
    }
    let (start, times) = (repeat.0 % (bytes.len() + 1), repeat.1);
    let piece = bytes.split_off(start);
    for _ in 0..times {
        bytes.extend(&piece);
    }
    bytes.extend(tail);
    bytes
}

#[test]
fn every_example_is_read() {
    let parsers = parsers();
    assert!(parsers.len() > 40, "the tables are whole");
    parsers.iter().for_each(|parser| (parser.parse)(parser.example));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        parsers().iter().for_each(|parser| (parser.parse)(&bytes));
    }

    #[test]
    fn bent_examples_are_read_or_refused(
        pokes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..4),
        repeat in (any::<usize>(), 0_usize..5),
        tail in prop::collection::vec(any::<u8>(), 0..8),
    ) {
        for parser in parsers() {
            (parser.parse)(&bent(parser.example, &pokes, repeat, &tail));
        }
    }

    #[test]
    fn any_description_or_entry_is_read_or_refused(text in "\\PC{0,80}", cut in any::<usize>()) {
        let _ = synthetic::parse(&text);
        let machine = synthetic::named("virtual-machine").unwrap_or_default();
        let cut: String = machine.chars().take(cut % 3000).collect();
        let _ = synthetic::parse(&(cut + &text));
        let _ = catalogue::Catalogue::with_folder([("x.toml".to_owned(), text)]);
    }
}
