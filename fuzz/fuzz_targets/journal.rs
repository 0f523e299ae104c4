// SPDX-License-Identifier: MIT OR Apache-2.0
//! Journals: as they are, and with checksums and numbers made to fit, so that records are reached.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = journal::parse(bytes);
    let _ = journal::parse(&journal::fuzz::sealed(bytes));
});
