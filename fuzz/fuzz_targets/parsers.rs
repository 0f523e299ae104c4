// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first byte chooses a parser, the others are what it reads.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    if let Some(parser) = linux::fuzz::PARSERS.get(usize::from(*first)) {
        (parser.parse)(rest);
    } else if *first == u8::MAX {
        root::fuzz::parser("netlink answer").inspect(|parser| (parser.parse)(rest));
    }
});
