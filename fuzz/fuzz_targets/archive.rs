// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parser of the table that is called so.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    root::fuzz::parser("archive").inspect(|parser| (parser.parse)(bytes));
});
