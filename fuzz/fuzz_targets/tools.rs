// SPDX-License-Identifier: MIT OR Apache-2.0
//! What other tools wrote: the first byte chooses a parser, the others are what it reads.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    match run::fuzz::PARSERS.get(usize::from(*first)) {
        Some(parser) => (parser.parse)(rest),
        None => drop(store::read_bundle(&String::from_utf8_lossy(rest))),
    }
});
